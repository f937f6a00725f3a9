"""The graph that a command is about: a name, a file, or people's own tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from kernode.cli.console import say
from kernode.cli.streams import harmless
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.cli.model_source import Opened
    from kernode.graph import Graph


def graph_from(data: str, nodes: Path | None = None, **columns: Any) -> Graph:
    """The graph that a data argument and the table options name."""
    from kernode.cli.ranks import loaded, several
    from kernode.io import read_table
    from kernode.io.tables import is_table

    given = {name: value for name, value in columns.items() if value is not None}
    if is_table(data) and not several():
        return read_table(data, nodes, **table_options(given))
    if nodes is not None or given:
        option = "nodes" if nodes is not None else next(iter(given))
        option = "no-header" if given.get(option) is False else option
        raise InputError(
            f"--{option} is for tables of edges (CSV, TSV, Parquet, Arrow), which {data} is not."
        )
    return loaded(data)


def table_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a command as the arguments of ``read_table``."""
    parsers: dict[str, Callable[[str], Any]] = {
        "features": parse_features,
        "unknown": lambda text: text.split(","),
    }
    return {name: parsers[name](value) if name in parsers else value for name, value in given.items()}


def parse_features(text: str) -> dict[str, str | None]:
    """Columns, each with its kind or None.

    >>> parse_features("year, venue:category")
    {'year': None, 'venue': 'category'}
    """
    columns = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, kind = part.rpartition(":") if ":" in part else (part, "", "")
        columns[name.strip()] = kind.strip() or None
    return columns


def require_labels(graph: Graph, label: str | None) -> None:
    """Say which column could hold the classes where none does."""
    if (graph.labels >= 0).any() or graph.encoding is None:
        return
    if label is not None:
        raise InputError(f"column {label!r} of the nodes names no class. Fill it for some nodes.")
    if passed_over := [note for note in graph.notes if note.startswith("did not take a column as label")]:
        raise InputError(f"no node has a class: {passed_over[0]}")
    names = ", ".join(column.name for column in graph.encoding.columns)
    hint = f", one of {names}" if names else ""
    raise InputError(f"no node has a class. Pass --nodes FILE and --label COLUMN{hint}.")


def notes_of(read: Graph | Opened) -> list[str]:
    """What was assumed about tables and done to them."""
    return list(read.notes)


def print_notes(read: Graph | Opened) -> None:
    """The same on stdout."""
    for note in notes_of(read):
        say(f"  [dim]on the way in:[/] {escape(note)}")


def print_notes_on_rows(read: Graph | Opened, graph: Graph) -> None:
    """On stderr, beside data on stdout: what was done to rows; what columns become is as it was."""
    usual = {"made undirected", *(graph.encoding.describe() if graph.encoding else ())}
    for note in read.notes:
        if note not in usual:
            sys.stderr.write(f"kernode: on the way in: {harmless(note)}\n")
