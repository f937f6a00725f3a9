"""From tables to a graph: ids to indices, columns to features, rows that cannot be used to repairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernode.errors import InputError, bad_setting, warn
from kernode.graph import Graph
from kernode.graph.adjacency import undirected
from kernode.io.tables.arrow import pa
from kernode.io.tables.columns import Column, Encoding, Structure
from kernode.io.tables.columns.encoding import Features, UnknownLabels, learn_columns
from kernode.io.tables.columns.find_notation import (
    Clues,
    find_notations,
    new_categories,
    require_notation,
    require_readable,
    shown,
)
from kernode.io.tables.columns.notation import Notation, rewritten
from kernode.io.tables.edges import Edges, read_edges
from kernode.io.tables.files import IDS, is_text_file, read
from kernode.io.tables.labels import LABELS, Labels, NoClassesError, read_labels
from kernode.io.tables.nodes import Listed, aligned, all_ids, notes_on_joined
from kernode.io.tables.table import Repair, Table, TableOrigin, choose, places, require
from kernode.io.tables.text_files import Reading, require_encoding

_POSITIONS = 64  # of nodes without any features
_MOST_POSITIONS = 10_000
_ROLES = ("id", "source", "target", "weight", "label")


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
    unknown: str | Sequence[str] | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    like: Any = None,
    name: str | None = None,
) -> Graph:
    """Read a graph from a table of edges and a table of nodes: CSV, TSV, Parquet, Arrow, or in memory.

    - ``source``, ``target``, ``weight``: columns of the edges; ``id``, ``label``: columns of the nodes.
      Where they are not given, columns with usual names are taken, else the first ones. Ids may be of
      any type; nodes that only edges mention are added without features.
    - ``features``: names of columns (all but id and label if None), or names with their kinds: number,
      flag, category, text, date, vector. Kinds that are not given are guessed.
    - ``positions``: how many random-projection positions every node gets with its degree; None for 64
      where there are no feature columns and for none (no degree either) elsewhere.
    - ``unknown``: the texts of the label column that mean a class is not known, besides empty cells; None
      for NA and its like, words such as "unknown", and −1 among integers from 0 up.
    - ``decimal``: "," or ".", and ``dates``: "dmy" or "mdy", where a table leaves in doubt how its numbers
      or dates are written.
    - ``encoding``: of text files without a mark (BOM), by Python's name for it; None for UTF-8, and
      Windows-1252 where they are not UTF-8.
    - ``header``: whether the first row of text files holds the columns' names; None for as it looks.
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
    if like is not None:
        _refuse_beside_like(locals())
        id, source, target, weight, label = like.id, like.source, like.target, like.weight, like.label
        features = [column.name for column in like.columns]
    elif nodes is None and (id, label, features) != (None, None, None):
        raise InputError(
            "id, label and features are columns of the nodes. Give that table, too.",
            "missing",
            setting="nodes",
        )
    require_text(encoding, header, edges, nodes)
    features = [features] if isinstance(features, str) else features
    of_nodes = Reading(encoding, header, named(id, label, *(features or ())), id)
    listed = Listed.of(None if nodes is None else read(nodes, "nodes", of_nodes), id)
    clues = Clues(decimal=decimal, dates=dates)
    of_edges = Reading(encoding, header, named(source, target, weight), of_edges=True)
    pairs = read_edges(
        read(edges, "edges", of_edges),
        source,
        target,
        weight,
        written=clues if like is None else like.weights_written,
        listed=listed.ids,
        guess=like is None,
    )
    found = _Found.of(listed, pairs, id_is_named=id is not None)
    listed = found.listed
    label, labels, label_notes = _labels(found, label, features, like, unknown)
    learned = like or _learned(found, label, labels, features, positions, clues)
    require_columns(listed.table, learned)
    strange: tuple[str, ...] = ()
    if like is not None and listed.table is not None:
        require_notation(listed.table.name, listed.table.columns, like.all_notations)
        strange = new_categories(listed.table.name, listed.table.columns, like.columns)
    columns = None if listed.table is None else learned.plain(listed.table.columns)
    missing = unreadable(learned, listed.table, columns, later=like is not None)
    repairs = (*listed.repairs, *pairs.repairs, *missing)
    return Graph(
        found.adjacency,
        learned.features(found.aligned(columns), found.adjacency, found.names),
        labels.numbers,
        class_names=labels.names,
        node_names=found.names,
        name=name or _name_of(edges),
        notes=(*found.notes, *label_notes, *labels.notes, *strange, *map(str, repairs), *learned.describe()),
        origin=TableOrigin(learned, repairs),
    )


def named(*columns: str | None) -> frozenset[str]:
    """Those that have a name."""
    return frozenset(column for column in columns if column is not None)


def require_text(encoding: str | None, header: bool | None, *tables: Any) -> None:
    """Raise where options about text files are wrong, or are about none."""
    if encoding is not None:
        require_encoding(encoding)
    for option, value in (("encoding", encoding), ("header", header)):
        if value is not None and not any(map(is_text_file, tables)):
            raise InputError(
                f"the {option} is about text files (CSV, TSV), of which there is none. Leave it out.",
                "no-effect",
                setting=option,
            )


@dataclass(frozen=True)
class _Found:
    """Both tables together: n nodes, those listed first, and the edges between them."""

    listed: Listed
    pairs: Edges
    names: np.ndarray  # n
    adjacency: sparse.csr_array  # n × n
    notes: tuple[str, ...]

    @classmethod
    def of(cls, listed: Listed, pairs: Edges, *, id_is_named: bool) -> _Found:
        """Nodes that only edges mention are added."""
        mentions = np.bincount(pairs.ends.ravel(), minlength=len(pairs.ids)) > 0
        mentioned = pairs.ids.filter(pa.array(mentions)).unique()
        if not id_is_named:
            _refuse_node_as_names(listed, mentioned)
            listed = listed.settled(mentioned)
        added = mentioned.filter(pa.array(places(mentioned, listed.ids) < 0))
        ids = all_ids(listed, added, pairs, none_is_listed=len(added) == len(mentioned))
        adjacency, notes = undirected(places(pairs.ids, ids)[pairs.ends], pairs.weights, len(ids))
        names = np.array(ids.to_pylist(), dtype=str)
        notes = (*notes, *notes_on_joined(listed, added, pairs, np.diff(adjacency.indptr)))
        return cls(listed, pairs, names, adjacency, notes)

    def aligned(self, columns: Any) -> Any:
        """Columns of the listed nodes with a row for each of the n, empty for those that are not listed."""
        table = self.listed.table
        return None if table is None else aligned(replace(table, columns=columns), len(self.names)).columns

    def labels(self, column: str | None, like: Encoding | None, unknown: Any) -> Labels:
        """Classes of the n nodes."""
        n, known = len(self.names), () if like is None else like.classes
        if column is None:
            if unknown is not None:
                raise InputError(
                    "texts that mean not known are about the column of the classes. Name it.",
                    "missing",
                    setting="label",
                )
            return Labels(np.full(n, -1), known)
        if like is not None:
            return read_labels(self.listed, column, n, like.unknown or UnknownLabels.usual(), known)
        given = None if unknown is None else UnknownLabels.given(unknown)
        return read_labels(self.listed, column, n, given)


def _refuse_node_as_names(listed: Listed, mentioned: Any) -> None:
    """Raise where the first row of a table of nodes, taken for names, has a node of the edges for its id."""
    table = listed.table
    if table is None or table.names_by_looks is None or listed.id in IDS:
        return
    if listed.id in mentioned.to_pylist():
        raise InputError(
            f"{table.name}, row {table.names_by_looks}: {listed.id!r} is a node of the edges, where names of "
            "columns should stand. Say whether the first row is a header.",
            "ambiguous",
            setting="header",
        )


def _learned(
    found: _Found,
    label: str | None,
    labels: Labels,
    features: Features | None,
    positions: int | None,
    clues: Clues,
) -> Encoding:
    """What these tables' columns become, to be repeated on others."""
    listed, pairs, table = found.listed, found.pairs, found.listed.table
    columns: tuple[Column, ...] = ()
    left_out: tuple[str, ...] = ()
    notations: tuple[Notation, ...] = ()
    if table is not None:
        if features is None:
            features = [name for name in table.column_names if name not in (listed.id, label)]
        require(table, list(features), "features")
        if label is not None and label in features:
            raise InputError(
                f"column {label!r} is the label and cannot be a feature. Take it out of features.",
                "conflict",
                setting="features",
            )
        if len(table):
            others = {name: table[name] for name in table.column_names if name != listed.id}
            clues = replace(clues, table=table.name, delimiter=table.delimiter, others=others)
            notations = find_notations(table.columns, features, clues)
            columns, left_out = learn_columns(rewritten(table.columns, notations), features)
            kept = {column.name for column in columns}
            notations = tuple(one for one in notations if one.column in kept and not one.is_plain)
    most = _MOST_POSITIONS
    if positions is not None and not (isinstance(positions, int | np.integer) and 0 <= positions <= most):
        raise bad_setting("positions", f"an integer from 0 to {most:,}", positions)
    structure = None
    if positions or (positions is None and not columns):
        structure = Structure.learn(found.adjacency, int(positions or _POSITIONS))
    roles = (listed.id, pairs.source, pairs.target, pairs.weight, label)
    return Encoding(
        columns, structure, *roles, labels.names, left_out, notations, pairs.notation, labels.unknown
    )


def _labels(
    found: _Found, label: str | None, features: Features | None, like: Encoding | None, unknown: Any
) -> tuple[str | None, Labels, tuple[str, ...]]:
    """The column of the classes, the classes, and notes; a column that has only the name is passed over."""
    column, notes = label_column(found.listed.table, label, features, guess=like is None)
    try:
        return column, found.labels(column, like, unknown), notes
    except NoClassesError as error:
        if label is not None:
            raise
        passed_over = f"did not take a column as label by its name alone: {error}"
        return None, found.labels(None, like, unknown), (passed_over,)


def label_column(
    table: Table | None, label: str | None, features: Features | None, *, guess: bool
) -> tuple[str | None, tuple[str, ...]]:
    """The column of the classes, and a note where it was guessed."""
    if table is None or (not guess and label not in table.column_names):
        return None, ()  # a table to predict for need not know the answers
    found = choose(table, label, "label", LABELS)
    if found is None:
        return None, ()
    others = [name for name in table.column_names if name.lower() in LABELS and name != found]
    if others and features is None and label is None:
        warn(
            f"{table.name}: {found!r} is the label, and {others[0]!r} is a feature, which may tell the "
            "answer. Name another column as label, or name the features without it."
        )
    return found, (f"{table.name}: took {found!r} as label",) if label is None else ()


def require_columns(table: Table | None, encoding: Encoding) -> None:
    """Raise unless a table has the columns that are features."""
    if encoding.columns and table is None:
        needed = ", ".join(column.name for column in encoding.columns)
        raise InputError(
            f"the model needs the columns {needed}. Give a table of nodes that has them.",
            "missing",
            setting="nodes",
        )
    if table is not None:
        require(table, [column.name for column in encoding.columns], "features")


def unreadable(encoding: Encoding, table: Table | None, columns: Any, *, later: bool) -> tuple[Repair, ...]:
    """Values that are not of their column's kind, named as missing; ``columns``: the table's, plain.

    ``later``: whether the kinds are those of an earlier table; then most values must be of them.
    """
    if table is None:
        return ()
    of = {column.name: column for column in encoding.columns}
    repairs: list[Repair] = []
    for name, rows in encoding.unreadable(columns).items():
        if not len(rows):
            continue
        if later:
            require_readable(table.name, of[name], table[name], rows)
        what = f"had no {of[name].kind} there but {shown(table[name], rows)}"
        repairs += Repair.of(table.name, what, f"took {name!r} as missing in", table.rows[rows])
    return tuple(repairs)


def _encoding_of(like: Any) -> Encoding | None:
    if like is None or isinstance(like, Encoding):
        return like
    encoding = getattr(getattr(like, "model_", like), "encoding", None)  # an estimator holds a model
    if not isinstance(encoding, Encoding):
        raise bad_setting("like", "a graph or model that was read from tables", type(like).__name__)
    return encoding


def _refuse_beside_like(given: Mapping[str, Any]) -> None:
    for option in (*_ROLES, "features", "positions", "unknown", "decimal", "dates"):
        if given[option] is not None:
            raise InputError(
                f"{option} is what like has already. Leave one of them out.", "no-effect", setting=option
            )


def _name_of(edges: Any) -> str:
    """The name of a graph: the edges' file name without its endings."""
    return (Path(edges).name.split(".")[0] if isinstance(edges, str | Path) else "") or "edges"
