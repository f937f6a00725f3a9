"""Tables out of anything: the import graph of the packages that are installed here.

    python examples/import_graph.py [FOLDER]

Every module in this interpreter's site-packages is a node, and an import of one by another is an edge. Files
are parsed, never imported. What a module says of itself (its docstring) and four counts are its features;
its class is the top-level package it belongs to. The script writes

- modules.csv: id (the dotted name), docstring, lines, functions, classes, imports, package;
- imports.csv: source (who imports), target (what is imported);

and runs `kernode fit` on them. Each of its three runs draws a tenth of the modules, trains on 8 %, chooses
by 2 % and is tested on the other nine tenths. Then the model is asked which modules are alike, and which it
takes for another package's.

Two things to know before being impressed. Modules mostly import from their own package, so label propagation,
which only follows edges from labelled modules, is hard to beat here, and the learned kernel is ahead of it
by little, if at all. And no column spells the package's name, but many docstrings do. Both shares are
printed, and the report of `kernode fit` has beside its accuracy what features alone and edges alone reach,
and says whether one of them is ahead.

Left out, and counted aloud: tests, vendored copies of other packages, files that are no importable module or
do not parse, packages with fewer than 100 modules or more than 1,000 (torch alone would be a third of the
graph), and all but the ten largest of the others. Packages installed in editable mode lie elsewhere and are
not seen. Other environments give other figures.
"""

from __future__ import annotations

import ast
import csv
import subprocess
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kernode as kn

SMALLEST, LARGEST = 100, 1000  # modules of a package
PACKAGES = 10  # at most
TESTS = {"tests", "test", "testing", "conftest"}  # names of folders and files; test_… as well
VENDORED = {"_vendor", "vendor", "_vendored", "vendored", "externals", "extern"}
ASKED = (
    "networkx.algorithms.dag",
    "scipy.sparse.linalg._eigen",
    "sklearn.svm._base",
)  # which are like these?


@dataclass(frozen=True)
class Module:
    """What a parsed file says: a row of modules.csv, and whom it may import."""

    name: str
    docstring: str
    lines: int
    functions: int
    classes: int
    imports: tuple[tuple[str, ...], ...]  # for each name that is imported, what it can mean, best first


def main(folder: Path) -> None:
    """Find, parse, write tables, fit, ask."""
    files, left_out = find_modules(site_packages())
    print(f"{len(files):,} modules found; left out before: {listed(left_out) or 'nothing'}")
    kept = largest_packages(files, SMALLEST, LARGEST, PACKAGES)
    if len(kept) < 2:
        sys.exit(f"Fewer than two packages here have {SMALLEST} to {LARGEST} modules. Lower SMALLEST.")
    others = Counter(map(package_of, files)) - Counter(kept)
    print(f"kept: {listed(kept)}")
    print(f"not kept: {others.total():,} modules of {len(others)} packages, among them ", end="")
    print(listed(dict(others.most_common(3))))

    modules = {}
    for name, path in files.items():
        if package_of(name) in kept and (module := parse(name, path)):
            modules[name] = module
    edges, elsewhere = import_edges(modules)
    inside = [edge for edge in edges if package_of(edge[0]) == package_of(edge[1])]
    told = [module for module in modules.values() if module.docstring]
    spelled = [module for module in told if package_of(module.name).lower() in module.docstring.lower()]
    print(f"{sum(kept.values()) - len(modules)} files of those kept do not parse; {len(modules):,} are nodes")
    print(f"{len(edges):,} edges, {100 * len(inside) / len(edges):.1f} % of them within a package; ", end="")
    print(f"{elsewhere:,} imports lead to no node (standard library, compiled modules, packages not kept)")
    print(f"{len(told):,} modules have a docstring; {len(spelled):,} of these spell the package's name")

    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "imports.csv", ["source", "target"], edges)
    head = ["id", "docstring", "lines", "functions", "classes", "imports", "package"]
    write(folder / "modules.csv", head, (row(module) for module in modules.values()))

    # One thread: enough for this graph, steady on a busy machine, the same bits whatever the number of cores.
    options = "--split 0.08/0.02/0.9 --replicas 3 --set run.threads=1 --predictions predicted.csv --quiet"
    options = f"--variant fast {options} -o imports.safetensors"
    command = f"fit imports.csv --nodes modules.csv --label package {options}"
    print(f"\n$ kernode {command}", flush=True)
    if subprocess.run([sys.executable, "-m", "kernode", *command.split()], cwd=folder).returncode:
        sys.exit("kernode fit did not end well: see above.")

    print("\nMost alike:")
    graph = kn.read_table(folder / "imports.csv", folder / "modules.csv", label="package")
    model = kn.load_model(folder / "imports.safetensors", graph=graph)
    for name in ASKED:
        if name in modules:  # another environment may not have it
            alike = ", ".join(f"{other} {value:.3f}" for other, value in model.similar(name, k=3))
            print(f"  {name}: {alike}")
    taught = set(graph.node_names[np.unique(model.model_.train)].tolist())
    print_mistakes(folder / "predicted.csv", edges, taught)


def package_of(name: str) -> str:
    """The top-level package of a module."""
    return name.partition(".")[0]


def site_packages() -> list[Path]:
    """Where this interpreter's packages are: one folder, or two where compiled ones have their own."""
    return [Path(path) for path in dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))]


def find_modules(folders: Iterable[Path]) -> tuple[dict[str, Path], Counter[str]]:
    """Files by their modules' dotted names, and how many files were left out, by reason."""
    files: dict[str, Path] = {}
    left_out: Counter[str] = Counter()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):  # a/b/__init__.py comes before a/b.py, and wins in Python
            parts = path.relative_to(folder).with_suffix("").parts
            if not all(part.isidentifier() for part in parts):
                left_out["whose path is no module's name"] += 1
            elif any(part in TESTS or part.startswith("test_") for part in parts):
                left_out["tests"] += 1
            elif not VENDORED.isdisjoint(parts):
                left_out["vendored"] += 1
            elif (name := ".".join(parts).removesuffix(".__init__")) in files:
                left_out["hidden by another of the same name"] += 1
            else:
                files[name] = path
    return files, left_out


def largest_packages(names: Iterable[str], smallest: int, largest: int, most: int) -> dict[str, int]:
    """Numbers of modules of the largest packages within bounds; of equals the first by name."""
    sizes = Counter(map(package_of, names))
    ranked = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return dict([(name, size) for name, size in ranked if smallest <= size <= largest][:most])


def parse(name: str, path: Path) -> Module | None:
    """Read a file without running it; None where it is no Python of this version."""
    source = path.read_bytes()  # bytes: the parser looks for the coding cookie itself
    try:
        with warnings.catch_warnings():  # of other people's odd escapes
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    inside = list(statements(tree.body))
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    return Module(
        name=name,
        docstring=" ".join((ast.get_docstring(tree) or "").split()),
        lines=len(source.splitlines()),
        functions=sum(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) for one in inside),
        classes=sum(isinstance(one, ast.ClassDef) for one in inside),
        imports=tuple(meant for one in inside for meant in imported(one, package)),
    )


def statements(block: list[ast.stmt]) -> Iterator[ast.AST]:
    """All statements, those inside of others too: imports hide in functions and under `if`."""
    for one in block:
        yield one
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(one, part, []))


def imported(statement: ast.AST, package: str) -> list[tuple[str, ...]]:
    """What each name of an import statement in a package can mean: modules, the likelier first.

    `from x import y` means the module x.y where there is one, and something inside of x elsewhere.
    """
    if isinstance(statement, ast.Import):
        return [(alias.name,) for alias in statement.names]
    if not isinstance(statement, ast.ImportFrom):
        return []
    start = statement.module or ""
    if statement.level:  # one dot is the package itself, each further dot one package up
        above = package.split(".")
        above = above[: max(0, len(above) - statement.level + 1)]
        if not any(above):  # beyond the top: Python would refuse it, too
            return [() for _ in statement.names]
        start = ".".join([*above, start] if start else above)
    return [(f"{start}.{alias.name}", start) for alias in statement.names]


def import_edges(modules: dict[str, Module]) -> tuple[list[tuple[str, str]], int]:
    """Pairs (who imports, what), each once, without imports of oneself; how many imports lead to no node."""
    edges, elsewhere = set(), 0
    for module in modules.values():
        for meant in module.imports:
            target = next((name for name in meant if name in modules), None)
            if target is None:
                elsewhere += 1
            elif target != module.name:
                edges.add((module.name, target))
    return sorted(edges), elsewhere


def print_mistakes(predicted: Path, edges: list[tuple[str, str]], taught: set[str]) -> None:
    """Of the modules that taught no run, those that are taken for another package's, the surest first."""
    partners: dict[str, Counter[str]] = {}
    for source, target in edges:
        partners.setdefault(source, Counter())[package_of(target)] += 1
        partners.setdefault(target, Counter())[package_of(source)] += 1
    with predicted.open(encoding="utf-8", newline="") as file:
        asked = [one for one in csv.DictReader(file) if one["node"] not in taught]
    wrong = [one for one in asked if one["class"] != package_of(one["node"])]
    wrong.sort(key=lambda one: (-float(one[f"p_{one['class']}"]), one["node"]))
    print(
        f"\n{len(wrong):,} of the {len(asked):,} modules that taught no run are taken for another package's:"
    )
    for one in wrong[:8]:
        name, found = one["node"], one["class"]
        links = partners.get(name, Counter())
        print(f"  {name}: {found}, p = {float(one[f'p_{found}']):.2f}; ", end="")
        print(f"of its {links.total()} edges {links[found]} lead to {found}, {links[package_of(name)]} home")


def row(module: Module) -> list[str | int]:
    """A module's cells; an empty docstring is a gap."""
    counts = [module.lines, module.functions, module.classes, len(module.imports)]
    return [module.name, module.docstring, *counts, package_of(module.name)]


def write(path: Path, head: list[str], rows: Iterable[Iterable[str | int]]) -> None:
    """A CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)


def listed(counts: dict[str, int]) -> str:
    """The counts of a dictionary in words."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
