"""Debian's packages: from the raw text of `apt-cache dumpavail` to a model of their sections.

    python examples/debian_packages.py [PACKAGES] [VARIANT]

Packages are nodes, dependencies are edges, and name, description and maintainer are features. A tenth of the
packages chooses the epoch, a fifth is tested once. A linear SVC has the same features and no edges.
"""

import re
import shutil
import subprocess
import sys
from collections import Counter

from sklearn.svm import LinearSVC

import kernode as kn

FIELD = re.compile(r"^(Package|Section|Description|Depends|Maintainer): (.*)", re.MULTILINE)
DEPENDENCY = re.compile(r"(?:^|[,|] *)([a-z0-9][a-z0-9+.-]*)")  # without versions; all of several choices
FEWEST = 10  # packages: a smaller section, as a cut may have, counts as not known


def read_packages(most: int) -> dict[str, dict[str, str]]:
    """Fields of the first packages, by name; none where there is no apt-cache."""
    if shutil.which("apt-cache") is None:
        return {}
    text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    stanzas = [dict(FIELD.findall(stanza)) for stanza in text.split("\n\n", most)[:most]]
    return {fields["Package"]: fields for fields in stanzas if fields}


def main(most: str = "1000000", variant: str = "k3-tuned") -> None:
    """Parse, read both tables, fit, compare, ask."""
    packages = read_packages(int(most))
    if not packages:
        print("apt-cache is missing or lists no packages. Run this on Debian, after apt-get update.")
        return
    needed = {name: set(DEPENDENCY.findall(one.get("Depends", ""))) for name, one in packages.items()}
    pairs = [(name, other) for name in packages for other in sorted(needed[name] & packages.keys())]
    edges = {"source": [pair[0] for pair in pairs], "target": [pair[1] for pair in pairs]}
    columns = ("Package", "Description", "Maintainer", "Section")
    nodes = {key: [one.get(key) for one in packages.values()] for key in columns}
    sizes = Counter(nodes["Section"])
    nodes["Section"] = [one if sizes[one] >= FEWEST else None for one in nodes["Section"]]
    kinds = {"Package": "text", "Description": "text", "Maintainer": "category"}
    graph = kn.read_table(edges, nodes, id="Package", label="Section", features=kinds, name="debian")
    print(graph, *graph.notes, sep="\n")

    split = kn.io.random_split(graph.labels, (0.7, 0.1, 0.2), seed=0)
    model = kn.NodeKernelClassifier(variant, random_state=0).fit(graph=graph, split=split)
    svc = LinearSVC().fit(graph.features[split.train], graph.labels[split.train])
    right = svc.score(graph.features[split.test], graph.labels[split.test])
    print(model.report(), f"linear SVC on the features: {100 * right:.2f} %", sep="\n")
    asked = "firefox-esr" if "firefox-esr" in packages else next(iter(packages))
    print(f"most similar to {asked}:", *model.similar(asked, k=5), model.explain(asked), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
