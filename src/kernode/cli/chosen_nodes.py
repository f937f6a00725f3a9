"""What ``embed`` and ``gram`` share: which nodes they are about, and where there is room for them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernode.cli.console import check_writable
from kernode.compute.machine import readable
from kernode.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from kernode.graph import Graph

OnlyOption = Annotated[
    str | None, typer.Option(help="Rows: a,b,c or a file with one per line; all nodes if not given.")
]


def chosen(graph: Graph, given: str | None, option: str) -> np.ndarray:
    """Indices of the nodes that an option names; all of them if it is not given."""
    import numpy as np

    from kernode.graph import positions

    if given is None:
        return positions(range(graph.n_nodes))
    names = [name.strip() for name in _listed(given)]
    names = [name for name in names if name]
    if not names:
        raise InputError(f"{option}: {given} names no node. Give a,b,c or a file with one per line.")
    nodes = graph.find(names if graph.node_names is not None else _numbers(names, option))
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"{option} has {names_of(graph, values[counts > 1])[0]} twice. List each node once.")
    return nodes


def one_node(graph: Graph, name: str, option: str) -> int:
    """The index of the node that an option names."""
    if graph.node_names is None and not (name.isascii() and name.isdigit()):
        raise InputError(f"{option}: {name!r} is no index, and the graph's nodes have no names.")
    return int(graph.find([name if graph.node_names is not None else int(name)])[0])


def _listed(given: str) -> list[str]:
    try:
        return Path(given).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{given} is not a text file in UTF-8. Give one node per line.") from None
    except (OSError, ValueError):  # no such file, or text that cannot be the name of one
        return given.split(",")


def _numbers(names: list[str], option: str) -> list[int]:
    for name in names:
        if not name.isascii() or not name.isdigit():
            raise InputError(
                f"{option}: {name!r} is neither a file nor an index, and the graph's nodes have no names."
            )
    return [int(name) for name in names]


def names_of(graph: Graph, nodes: np.ndarray) -> np.ndarray:
    """Names of nodes, or their indices where the graph has no names."""
    from kernode.graph import typed_names

    return nodes if graph.node_names is None else typed_names(graph.node_names)[nodes]


def check_place(path: Path, extensions: Iterable[str]) -> None:
    """Say before anything is computed that a file cannot be written, or is of no known kind."""
    if path.suffix.lower() not in extensions:
        raise InputError(f"{path}: the extension must be one of {', '.join(extensions)}.")
    check_writable(path)


def check_room(path: Path, size: int) -> None:
    """Refuse a file that the disk has no room for."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    free = shutil.disk_usage(folder).free
    if size > free:
        raise InputError(
            f"{path} would take {readable(size)}, and {folder} has {readable(free)} free. "
            "Choose fewer nodes with --only, or another place."
        )
