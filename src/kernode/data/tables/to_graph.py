"""From tables to a graph: ids to indices, columns to features, rows that cannot be used to repairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.data.tables.choose import choose, require
from kernode.data.tables.columns import Column, Encoding, Structure
from kernode.data.tables.columns.encoding import Features, learn_columns
from kernode.data.tables.edges import Edges, read_edges
from kernode.data.tables.files import Table, read
from kernode.data.tables.ids import places
from kernode.data.tables.nodes import LABELS, aligned, read_labels, read_nodes, said_missing
from kernode.data.tables.origin import TableOrigin
from kernode.data.tables.repairs import Repair
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.adjacency import undirected

_POSITIONS = 64  # of nodes without any features


def read_table(
    edges: Any,
    nodes: Any = None,
    *,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    label: str | None = None,
    features: str | Features | None = None,
    positions: int | None = None,
    like: Any = None,
    name: str | None = None,
) -> Graph:
    """Read a graph from a table of edges and a table of nodes: CSV, TSV, Parquet, Arrow, or in memory.

    - ``source``, ``target``, ``weight``: columns of the edges; ``id``, ``label``: columns of the nodes.
      Where they are not given, columns with usual names are taken, else the first ones. Ids may be of
      any type; nodes that only edges mention are added without features.
    - ``features``: names of columns (all but id and label if None), or names with their kinds: number,
      flag, category, text, date, vector. Kinds that are not given are guessed.
    - ``positions``: how many random-projection positions every node gets beside its degree; None for 64
      where there are no feature columns and for none (no degree either) elsewhere.
    - ``like``: a graph that was read from tables with the same columns, or its ``encoding``; then
      everything is done to these tables as it was done to those.
    - ``name``: of the graph; the edges' file name without its endings if None.

    Rows that cannot be used are dropped or repaired, and named: ``graph.repairs``. What was done to the
    columns stands in ``graph.encoding``, and both in words in ``graph.notes``.

    >>> edges = {"source": ["ann", "bob", "ann"], "target": ["bob", "eve", "eve"]}
    >>> people = {"id": ["ann", "bob"], "age": [31, 44], "vet": [True, False], "likes": ["tea", None]}
    >>> graph = read_table(edges, people, label="likes")
    >>> graph
    Graph('edges': 3 nodes, 3 edges, 3 features, 1 classes)
    >>> graph.encoding.feature_names
    ('constant', 'age', 'vet')
    >>> print(*graph.notes, sep="\\n")
    made undirected
    added 1 node that only edges mention, without features: eve
    age: number, standardised (mean 37.5, deviation 6.5)
    vet: yes or no
    """
    like = _encoding_of(like)
    guess = like is None
    if like is not None:
        _refuse_beside_like(locals())
        id, source, target, weight, label = like.id, like.source, like.target, like.weight, like.label
    elif nodes is None and (id, label, features) != (None, None, None):
        raise InputError("id, label and features are columns of the nodes. Give that table too: nodes=.")
    listed = _Listed.of(None if nodes is None else read(nodes, "nodes"), id)
    pairs = read_edges(read(edges, "edges"), source, target, weight, guess=guess)
    found = _Found.of(listed, pairs)
    label = _label(listed.table, label, guess=guess)
    labels, classes = found.labels(label, () if like is None else like.classes)
    encoding = like or _learned(found, label, classes, features, positions)
    require_columns(listed.table, encoding)
    repairs = (*listed.repairs, *pairs.repairs, *unreadable(encoding, listed.table))
    return Graph(
        found.adjacency,
        encoding.features(found.columns, found.adjacency, found.names),
        labels,
        class_names=classes,
        node_names=found.names,
        name=name or _name_of(edges, "edges"),
        notes=(*found.notes, *map(str, repairs), *encoding.describe()),
        origin=TableOrigin(encoding, repairs),
    )


@dataclass(frozen=True)
class _Listed:
    """What the table of nodes lists; without such a table, nothing."""

    id: str | None
    ids: Any  # large_string
    table: Table | None

    @classmethod
    def of(cls, table: Table | None, id: str | None) -> _Listed:
        import pyarrow as pa

        if table is None:
            return cls(None, pa.array([], pa.large_string()), None)
        return cls(*read_nodes(table, id))

    @property
    def repairs(self) -> tuple[Repair, ...]:
        return () if self.table is None else self.table.repairs


@dataclass(frozen=True)
class _Found:
    """Both tables together: n nodes, those listed first, and the edges between them."""

    listed: _Listed
    pairs: Edges
    names: np.ndarray  # n
    adjacency: sparse.csr_array  # n × n
    notes: tuple[str, ...]

    @classmethod
    def of(cls, listed: _Listed, pairs: Edges) -> _Found:
        """Nodes that only edges mention are added."""
        import pyarrow as pa

        named = np.bincount(pairs.ends.ravel(), minlength=len(pairs.ids)) > 0
        mentioned = pairs.ids.filter(pa.array(named)).unique()
        added = mentioned.filter(pa.array(places(mentioned, listed.ids) < 0))
        if listed.table is not None and len(listed.ids) and len(added) == len(mentioned) > 0:
            raise InputError(
                f"no node of {pairs.source!r} and {pairs.target!r}, such as {mentioned[0].as_py()!r}, is "
                f"listed in column {listed.id!r} of {listed.table.name}. Pass id=, source= and target=."
            )
        ids = pa.concat_arrays([listed.ids, added])
        if not len(ids):
            why = "; ".join(str(repair) for repair in (*listed.repairs, *pairs.repairs))
            raise InputError(f"the tables hold no edge and no node. {why or 'Check the files'}.")
        adjacency, notes = undirected(places(pairs.ids, ids)[pairs.ends], pairs.weights, len(ids))
        names = np.array(ids.to_pylist(), dtype=str)
        said = (
            said_added(added) if listed.table is not None else ()
        )  # without a table edges mention all of them
        of_columns = () if listed.table is None else listed.table.notes
        return cls(listed, pairs, names, adjacency, (*notes, *of_columns, *pairs.notes, *said))

    @property
    def columns(self) -> Any:
        """The table of nodes with a row for each of the n, empty for those it does not list."""
        table = self.listed.table
        return None if table is None else aligned(table, len(self.names)).columns

    def labels(self, column: str | None, known: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
        """Classes of the n nodes, and their names, known ones first."""
        table = self.listed.table
        if table is None or column is None:
            return np.full(len(self.names), -1), known
        return read_labels(table[column], len(self.names), known)


def _learned(
    found: _Found,
    label: str | None,
    classes: tuple[str, ...],
    features: str | Features | None,
    positions: int | None,
) -> Encoding:
    """What these tables' columns become, to be repeated on others."""
    listed, pairs, table = found.listed, found.pairs, found.listed.table
    columns: tuple[Column, ...] = ()
    left_out: tuple[str, ...] = ()
    if table is not None:
        if features is None:
            features = [name for name in table.column_names if name not in (listed.id, label)]
        features = [features] if isinstance(features, str) else features
        require(table, list(features), "features")
        if label is not None and label in features:
            raise InputError(
                f"column {label!r} is the label and cannot be a feature. Take it out of features."
            )
        if len(table):
            columns, left_out = learn_columns(table.columns, features)
    if positions is not None and (not isinstance(positions, int | np.integer) or positions < 0):
        raise InputError(f"positions must be an integer ≥ 0. Got {positions!r}.")
    structure = None
    if positions or (positions is None and not columns):
        structure = Structure.learn(found.adjacency, int(positions or _POSITIONS))
    roles = (listed.id, pairs.source, pairs.target, pairs.weight, label)
    return Encoding(columns, structure, *roles, classes, left_out)


def _label(table: Table | None, label: str | None, *, guess: bool) -> str | None:
    if table is None or (not guess and label not in table.column_names):
        return None  # a table to predict for need not know the answers
    return choose(table, label, "label", LABELS)


def require_columns(table: Table | None, encoding: Encoding) -> None:
    """Raise unless a table has the columns that are features."""
    if encoding.columns and table is None:
        needed = ", ".join(column.name for column in encoding.columns)
        raise InputError(f"the model needs the columns {needed}. Give a table of nodes that has them.")
    if table is not None:
        require(table, [column.name for column in encoding.columns], "features")


def unreadable(encoding: Encoding, table: Table | None) -> tuple[Repair, ...]:
    """Values that are not of their column's kind, and labels that say there is none: named as missing."""
    if table is None:
        return ()
    kinds = {column.name: column.kind for column in encoding.columns}
    repairs = [
        Repair.of(table.name, f"had no {kinds[name]} there", f"took {name!r} as missing in", table.rows[rows])
        for name, rows in encoding.unreadable(table.columns).items()
    ]
    if encoding.label in table.column_names:
        repairs.append(said_missing(table, encoding.label))
    return tuple(repair for found in repairs for repair in found)


def said_added(ids: Any) -> tuple[str, ...]:
    """A note on nodes that no table of nodes lists."""
    count = len(ids)
    if not count:
        return ()
    shown = ", ".join(ids[:5].to_pylist()) + (", …" if count > 5 else "")
    plural = "s" if count > 1 else ""
    return (f"added {count:,} node{plural} that only edges mention, without features: {shown}",)


def _encoding_of(like: Any) -> Encoding | None:
    if like is None or isinstance(like, Encoding):
        return like
    encoding = getattr(getattr(like, "model_", like), "encoding", None)  # an estimator holds a model
    if not isinstance(encoding, Encoding):
        raise InputError(
            f"like= must be a graph or model that was read from tables. Got {type(like).__name__}"
            f"{'' if encoding is None and not hasattr(like, 'encoding') else ' without columns'}."
        )
    return encoding


def _refuse_beside_like(given: Mapping[str, Any]) -> None:
    for option in ("id", "source", "target", "weight", "label", "features", "positions"):
        if given[option] is not None:
            raise InputError(f"{option}= is what like= has already. Leave one of them out.")


def _name_of(source: Any, otherwise: str) -> str:
    if isinstance(source, str | Path):
        return Path(source).name.split(".")[0] or otherwise
    return otherwise
