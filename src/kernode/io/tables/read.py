"""From tables to a graph: ids to positions, columns to features, rows that cannot be used to repairs.

DuckDB numbers the ids and joins the edges to them, out of core where they are many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import numpy as np
from scipy import sparse

from kernode.errors import InputError, bad_setting, warn
from kernode.graph import Graph
from kernode.graph.adjacency import undirected
from kernode.graph.graph import Origin
from kernode.io.tables.edges import INTEGERS, Ends, ends_like, find_ends, id_sql
from kernode.io.tables.encoding import (
    Encoding,
    Features,
    UnknownLabels,
    learn_columns,
    looks_at,
    new_categories,
    read_values,
    require_order,
    require_room,
    unreadable,
)
from kernode.io.tables.kinds import Column, is_text
from kernode.io.tables.labels import LABELS, Labels, NotClassesError, read_labels
from kernode.io.tables.notation import Clues
from kernode.io.tables.repairs import Repair
from kernode.io.tables.source import DATABASES, database, is_text_file, open_table
from kernode.io.tables.structure import Structure
from kernode.io.tables.table import IDS, Reading, Table, choose, first, require, require_rows
from kernode.io.tables.text_files import require_encoding

_POSITIONS = 64  # of nodes without any features
_MOST_POSITIONS = 10_000
_FAR = 2**40  # rows that no table has
_LOOKED_AT = 20_000  # names in which words may recur
_ROUNDED = r"-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{1,3}"  # what a spreadsheet makes of a long number
_MENTIONED = "SELECT s AS pos FROM pair UNION ALL SELECT t FROM pair"
# Ids without what often differs between two tables: case, blanks, leading zeros, a decimal point.
_FOLDED = (
    r"regexp_replace(regexp_replace(lower(nfc_normalize(id)), '[\s\x{00A0}]+', '', 'g'), "
    r"'^0*([0-9]+)(?:[.,]0+)?$', '\1')"
)


@dataclass(frozen=True)
class TableOrigin(Origin):
    """What the columns became, to be repeated on other tables, and the rows that were dropped or changed.

    ``values``: the columns by name, of n values each, as they were read; text and lists are not kept.
    ``listed``: which nodes the tables of nodes list; None where all of them.
    """

    encoding: Encoding
    repairs: tuple[Repair, ...] = ()
    values: Mapping[str, np.ndarray] | None = None
    listed: np.ndarray | None = None

    def placed(self, features: Any, adjacency: sparse.csr_array, names: np.ndarray | None) -> Any:
        """Positions of nodes belong to the edges they were computed from."""
        return features if names is None else self.encoding.placed(features, adjacency, names)


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
    source_prefix: str | None = None,
    target_prefix: str | None = None,
    negative: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    like: Any = None,
    name: str | None = None,
) -> Graph:
    """Read a graph from a table of edges and one or several tables of nodes.

    A table is a file (CSV, TSV, Parquet, JSON, JSON Lines, Arrow, Excel), a table or query of a database
    (``duckdb:shop.db?follows``, ``sqlite:shop.db?SELECT …``), a data frame of pandas or polars, anything
    with an Arrow stream, or a dictionary of columns. Several tables of nodes are joined by their ids.

    - ``source``, ``target``, ``weight``: columns of the edges; ``id``, ``label``: columns of the nodes.
      Where they are not given, columns with usual names are taken, else the first ones. Ids may be of
      any type; nodes that only edges mention are added without features.
    - ``source_prefix``, ``target_prefix``: put before the ids of each end, to keep users apart from items
      that are numbered alike.
    - ``negative``: what to do with weights below 0, "absolute" or "drop"; they are refused if None.
    - ``features``: names of columns (all but id and label if None), or names with their kinds: number, log,
      flag, category, text, tokens, date, vector. Kinds that are not given are guessed.
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
    with open_tables(**locals()) as tables:
        pairs = tables.con.execute("SELECT * FROM pair").fetchnumpy()
        adjacency, notes = undirected(np.column_stack([pairs["s"], pairs["t"]]), pairs.get("w"), tables.n)
        learned, x = tables.encoded(adjacency)
        facts = tables.facts(learned, (*notes, *tables.notes(int(adjacency.nnz))))
        return Graph(adjacency, x, node_names=tables.names, **vars(facts))


@dataclass(frozen=True)
class Nodes:
    """A table of nodes by the column of its ids."""

    table: Table
    id: str
    place: np.ndarray | None = None  # the node of each row, −1 for none

    @cached_property
    def id_sql(self) -> str:
        """SQL of the ids."""
        return id_sql(self.table, [self.id])[0]

    @classmethod
    def of(cls, table: Table, id: str | None) -> Nodes:
        """The ids by name, by a usual name, or in the first column."""
        if not table.columns:
            sentence = f"{table.name} has no columns. A table of nodes needs one for their ids."
            raise InputError(sentence, "missing", setting="id")
        column = choose(table, id, "id", IDS)
        if column is None:
            column = table.columns[0]
            table = table.noted(f"took {column!r} as id")
        return cls(replace(table, hidden=table.hidden - {column}), column)

    def require_ids(self) -> None:
        """Raise where the first column was taken for the ids, and repeats or has a node for its name."""
        table, cell = self.table, self.id_sql
        if self.id.lower() in IDS:
            return
        if table.names_by_looks is not None and first(
            table.con.execute(
                f"SELECT 1 FROM ids SEMI JOIN ({_MENTIONED}) USING (pos) WHERE id = ?", [self.id]
            )
        ):
            raise InputError(
                f"{table.name}, row {table.names_by_looks}: {self.id!r} is a node of the edges, where names "
                "of "
                "columns should stand. Say whether the first row is a header.", "ambiguous", setting="header",
            )  # fmt: skip
        again = table.one(
            f"{cell}, list_sort(list({table.row}))[:2] AS rows",
            f"WHERE {cell} IS NOT NULL GROUP BY {cell} HAVING count(*) > 1 ORDER BY rows[2] LIMIT 1",
        )
        if again is not None:
            rows = " and ".join(map(str, table.numbers(again[1])))
            raise InputError(
                f"{table.name}: {self.id!r}, the first column, repeats {again[0]!r} (rows {rows}). Which "
                "column holds "
                f"the ids? Name one of {', '.join(table.types)}.", "ambiguous", setting="id",
            )  # fmt: skip

    def placed(self) -> Nodes:
        """With the node of each row; rows without an id, or with one that was there before, are repairs."""
        table = self.table
        rows = f"SELECT {self.id_sql} AS id, {table.row} AS r FROM {table.view}"
        sql = f"SELECT coalesce(pos, -1) AS pos FROM ({rows}) LEFT JOIN ids USING (id) ORDER BY r"
        place = np.asarray(table.con.execute(sql).fetchnumpy()["pos"], np.int64)
        lacking = np.flatnonzero(place < 0)
        if len(lacking):
            table = table.repaired(lacking, "had no id")
            require_rows(table, len(place) - len(lacking))
        placed = replace(self, place=place)
        repeated = np.flatnonzero(~placed.kept & (place >= 0))
        table = table.repaired(repeated, "repeated an id") if len(repeated) else table
        return replace(placed, table=table)

    @property
    def kept(self) -> np.ndarray:
        """Which rows are the first of a node."""
        assert self.place is not None
        kept = np.zeros(len(self.place), bool)
        kept[np.unique(self.place, return_index=True)[1]] = True
        return kept & (self.place >= 0)

    def rows(self, n: int) -> np.ndarray:
        """The first row of each of n nodes, −1 for none."""
        assert self.place is not None
        rows, kept = np.full(n, -1, np.int64), np.flatnonzero(self.kept)
        rows[self.place[kept]] = kept
        return rows


@dataclass(frozen=True)
class Tables:
    """Tables of nodes and edges in one DuckDB connection, ids numbered: n nodes, those listed first.

    The connection holds ``ids(id, k, pos)`` and ``pair(s, t, w)``, a row for each usable row of the edges,
    ``w`` only where edges have weights.
    """

    con: Any
    name: str
    ends: Ends
    names: np.ndarray  # n
    listed: np.ndarray | None  # n: which nodes the tables of nodes list; None where all, or without tables
    labels: Labels
    encoding: Encoding
    positions: int  # of nodes in the graph that are features, too
    values: Mapping[str, np.ndarray]  # of the feature columns, n each
    said: tuple[str, ...]
    repairs: tuple[Repair, ...]

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.ends.weight is not None

    def encoded(self, adjacency: sparse.csr_array) -> tuple[Encoding, Any]:
        """What the columns became, and X: n × f."""
        learned = self.encoding
        if self.positions:
            learned = replace(learned, structure=Structure.learn(adjacency, self.positions))
        return learned, learned.features(self.values, adjacency, self.names)

    def facts(self, learned: Encoding, notes: tuple[str, ...]) -> SimpleNamespace:
        """All else that a graph holds."""
        kept = {one.name: self.values[one.name] for one in learned.columns if one.is_kept}
        origin = TableOrigin(learned, self.repairs, kept, self.listed)
        described = (*notes, *map(str, self.repairs), *learned.describe())
        labels, classes = self.labels.numbers, self.labels.names
        return SimpleNamespace(
            name=self.name, labels=labels, class_names=classes, notes=described, origin=origin
        )

    def notes(self, entries: int) -> tuple[str, ...]:
        """What was done to the tables; ``entries``: of the adjacency."""
        if entries:
            return self.said
        ((loops,),) = self.con.execute("SELECT count(*) FROM pair").fetchall()
        looped = f"{loops:,} joined a node to itself" if loops else ""
        why = "; ".join(filter(None, (*map(str, self.ends.table.repairs), looped))) or "none is listed"
        sentence = f"the graph has no edge: {why}; only features can tell nodes apart"
        warn(f"{sentence}.")
        return (sentence, *self.said)


@contextmanager
def open_tables(edges: Any, nodes: Any = None, **options: Any) -> Iterator[Tables]:
    """Open tables of edges and nodes for a while; the options are those of :func:`read_table`."""
    said = SimpleNamespace(**dict.fromkeys(_OPTIONS) | options)
    edges, nodes = _from_address(edges, nodes)
    several = [] if nodes is None else list(nodes) if isinstance(nodes, list | tuple) else [nodes]
    like = encoding_of(said.like)
    if like is not None:
        for option in _OPTIONS:
            if getattr(said, option) is not None and option not in ("encoding", "header", "like", "name"):
                sentence = f"{option} is what like has already. Leave one of them out."
                raise InputError(sentence, "no-effect", setting=option)
        said.id, said.label, said.features = like.id, like.label, [column.name for column in like.columns]
    elif not several and (said.id, said.label, said.features) != (None, None, None):
        sentence = "id, label and features are columns of the nodes. Give that table, too."
        raise InputError(sentence, "missing", setting="nodes")
    _require_text(said, edges, *several)
    said.features = [said.features] if isinstance(said.features, str) else said.features
    clues = Clues(said.decimal, said.dates)
    with database() as con:
        tables = open_nodes(
            con, several, said.id, (said.label, *(said.features or ())), said.encoding, said.header
        )
        if like is None:
            named = frozenset(filter(None, (said.source, said.target, said.weight)))
            reading = Reading(said.encoding, said.header, named, of_edges=True)
            ends = find_ends(con, edges, reading, said, clues, [(one.table, one.id_sql) for one in tables])
        else:
            ends = ends_like(con, edges, like, said.encoding)
        number_ids(con, tables, ends)
        if like is None and said.id is None and tables:
            tables[0].require_ids()
        names, listed, about_names = _names(con, tables, ends)
        tables = [one.placed() for one in tables]
        of = column_tables(tables)
        for at, one in enumerate(tables):
            fetched = of if said.features is None else (*said.features, said.label)
            require_room(one.table, [name for name in fetched if of.get(name) == at])
        labels, column, about_labels = _labels(tables, of, said, like, names)
        read = (
            _learned(tables, of, ends, column, labels, said.features, clues)
            if like is None
            else read_like(tables, of, like)
        )
        learned, values, repairs, about_columns = read
        values = {one: aligned(values[one], tables[of[one]].rows(len(names)), len(names)) for one in values}
        sources = [*(one.table for one in tables), ends.table]
        notes = [note for table in sources for note in table.notes]
        yield Tables(
            con, said.name or _name_of(edges), ends, names, listed, labels, learned,
            _positions(said.positions, learned) if like is None else 0, values,
            (*notes, *about_names, *about_labels, *labels.notes, *about_columns),
            (*(one for table in sources for one in table.repairs), *repairs),
        )  # fmt: skip


_OPTIONS: tuple[str, ...] = tuple(read_table.__kwdefaults__ or ())


def open_nodes(
    con: Any,
    nodes: list[Any],
    id: str | None,
    columns: Sequence[str | None],
    encoding: str | None,
    header: bool | None,
) -> list[Nodes]:
    """Open tables of nodes; ``columns``: those that are known by name."""
    reading = Reading(encoding, header, frozenset(filter(None, (id, *columns))), id)
    found = [open_table(con, one, "nodes", reading) for one in nodes]
    return [Nodes.of(one, id if at == 0 or id in one.types else None) for at, one in enumerate(found)]


def _from_address(edges: Any, nodes: Any) -> tuple[Any, Any]:
    """``duckdb:FILE?edges=QUERY&nodes=QUERY`` as two tables."""
    file, _, query = (
        edges.partition("?") if isinstance(edges, str) and edges.startswith(DATABASES) else ("", "", "")
    )
    parts = (part.partition("=") for part in re.split("&(?=nodes=|edges=)", query))
    named = {name: f"{file}?{unquote(value)}" for name, _, value in parts if name in ("edges", "nodes")}
    return named.get("edges", edges), named.get("nodes") if nodes is None else nodes


def _require_text(said: Any, *tables: Any) -> None:
    """Raise where options about text files are wrong, or are about none."""
    if said.encoding is not None:
        require_encoding(said.encoding)
    for option in ("encoding", "header"):
        if getattr(said, option) is not None and not any(map(is_text_file, tables)):
            sentence = f"the {option} is about text files (CSV, TSV), of which there is none. Leave it out."
            raise InputError(sentence, "no-effect", setting=option)


def encoding_of(like: Any) -> Encoding | None:
    """The encoding of a graph, a model or an estimator."""
    if like is None or isinstance(like, Encoding):
        return like
    encoding = getattr(getattr(like, "model_", like), "encoding", None)  # an estimator holds a model
    if not isinstance(encoding, Encoding):
        raise bad_setting("like", "a graph or model that was read from tables", type(like).__name__)
    return encoding


def _name_of(edges: Any) -> str:
    """The name of a graph: the edges' file name without its endings."""
    if isinstance(edges, str) and edges.startswith(DATABASES):
        edges = edges.partition(":")[2].partition("?")[0]
    return (Path(edges).name.split(".")[0] if isinstance(edges, str | Path) else "") or "edges"


def _positions(wanted: int | None, learned: Encoding) -> int:
    """How many positions describe a node: as asked for, or as nothing else does."""
    if wanted is None:
        return 0 if learned.columns else _POSITIONS
    if not isinstance(wanted, int | np.integer) or not 0 <= wanted <= _MOST_POSITIONS:
        raise bad_setting("positions", f"an integer from 0 to {_MOST_POSITIONS:,}", wanted)
    return int(wanted) or (0 if learned.columns else _POSITIONS)


def number_ids(con: Any, tables: Sequence[Nodes], ends: Ends | None) -> None:
    """Make ``ids`` and ``pair``: listed nodes first, as they come, then sources, then targets.

    Ids that are integers in all tables are joined as such, which takes half the memory of text.
    """
    columns = [(one.table, one.id, one.id_sql, "true") for one in tables]
    if ends is not None:
        usable = f"{ends.has_ends} AND {ends.has_weight}"
        both = zip((ends.source, ends.target), ends.ids, strict=True)
        columns += [(ends.table, column, cell, usable) for column, cell in both]
    integers = all(table.types[column] in INTEGERS for table, column, *_ in columns)
    if integers and not (ends is not None and any(ends.prefixes)):
        columns = [(table, column, table.sql(column), usable) for table, column, _, usable in columns]
    everyone = " UNION ALL ".join(
        f"SELECT {cell} AS key, {at * _FAR} + {table.row} AS k FROM {table.view} WHERE {usable}"
        for at, (table, _, cell, usable) in enumerate(columns)
    )
    once = f"SELECT key, min(k) AS k FROM ({everyone}) WHERE key IS NOT NULL GROUP BY key"
    con.execute(
        f"CREATE TABLE keys AS SELECT key, k, row_number() OVER (ORDER BY k) - 1 AS pos FROM ({once})"
    )
    con.execute("CREATE VIEW ids AS SELECT key::VARCHAR AS id, k, pos FROM keys")
    pairs = "SELECT 0::INTEGER AS s, 0::INTEGER AS t WHERE false"
    if ends is not None:
        (table, _, source, usable), (_, _, target, _) = columns[-2:]
        weight = "" if ends.weight is None else f", {ends.weight_sql} AS w"
        rows = f"SELECT {source} AS source, {target} AS target{weight} FROM {table.view} WHERE {usable}"
        pairs = f"SELECT a.pos::INTEGER AS s, b.pos::INTEGER AS t{', w' if weight else ''} FROM ({rows}) "
        pairs += "JOIN keys a ON source = a.key JOIN keys b ON target = b.key"
    con.execute(f"CREATE TABLE pair AS {pairs}")


def _names(
    con: Any, tables: Sequence[Nodes], ends: Ends
) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    """Names of all nodes, which of them are listed, and a note on the others; doubtful ones are refused."""
    border = len(tables) * _FAR
    found = con.execute("SELECT id, k FROM ids ORDER BY pos").fetchnumpy()
    names, n = np.asarray(found["id"]).astype(str), int((found["k"] < border).sum())
    added = len(names) - n
    if not len(names):
        why = "; ".join(
            str(one) for table in (*(one.table for one in tables), ends.table) for one in table.repairs
        )
        raise InputError(f"the tables hold no edge and no node. {why or 'Check the files'}.", "too-few")
    rounded, example = first(
        con.execute(f"SELECT count(*), arg_min(id, k) FROM ids WHERE regexp_full_match(id, '{_ROUNDED}')")
    )
    if rounded:
        plural = f"{rounded:,} ids are numbers" if rounded > 1 else "1 id is a number"
        warn(
            f"{plural} that a spreadsheet has rounded, such as {example!r}: different nodes may have become "
            "one. "
            "Save the tables again with ids as text."
        )
    if not tables or not added:
        return names, None, ()
    near = first(
        con.execute(
            f"WITH folded AS (SELECT id, k, {_FOLDED} AS f FROM ids) SELECT count(*) OVER (), a.id, b.id "
            "FROM folded a "
            f"JOIN (SELECT f, arg_min(id, k) AS id FROM folded WHERE k < {border} GROUP BY f) b USING (f) "
            f"WHERE a.k >= {border} ORDER BY a.k LIMIT 1"
        )
    )
    where = f"column {tables[0].id!r} of {tables[0].table.name}"
    if n and not first(con.execute(f"SELECT 1 FROM ({_MENTIONED}) WHERE pos < {n} LIMIT 1")):
        hint = "Name the columns of the ids, the source and the target."
        if near is not None:
            hint = f"{near[1]!r} and {near[2]!r} differ only in how they are written. Write ids alike."
        raise InputError(
            f"no node of {ends.source!r} and {ends.target!r}, such as {str(names[n])!r}, is listed in "
            f"{where}, which has "
            f"ids such as {str(names[0])!r}. {hint}", "conflict", setting=("id", "source", "target"),
        )  # fmt: skip
    if near is not None:
        warn(
            f"{near[0]:,} of {added:,} node{'s' * (added > 1)} that only edges mention "
            f"{'differs' if near[0] == 1 else 'differ'} from listed ones only in how they are written, such "
            "as "
            f"{near[1]!r} and {near[2]!r} in {where}. Write ids alike in both."
        )
    return names, np.arange(len(names)) < n, added_note(names[n:].tolist())


def added_note(names: Sequence[str]) -> tuple[str, ...]:
    """A note on nodes that are only in the edges."""
    if not names:
        return ()
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return (
        f"added {len(names):,} node{'s' * (len(names) > 1)} that only edges mention, without features: "
        f"{shown}",
    )


def column_tables(tables: Sequence[Nodes]) -> dict[str, int]:
    """Which table has a column, by its name."""
    of: dict[str, int] = {}
    for at, one in enumerate(tables):
        for name in one.table.columns:
            if at and name == one.id:
                continue
            if name in of:
                both = f"{tables[of[name]].table.name} and {one.table.name}"
                sentence = f"{both} both have a column {name!r}. Rename one of them."
                raise InputError(sentence, "duplicate", column=name)
            of[name] = at
    return of


def _labels(
    tables: Sequence[Nodes], of: Mapping[str, int], said: Any, like: Encoding | None, names: np.ndarray
) -> tuple[Labels, str | None, tuple[str, ...]]:
    """Classes of all nodes, their column, and notes; a column that has only the name is passed over."""
    column: str | None = said.label
    notes: tuple[str, ...] = ()
    if like is not None:
        column = column if column in of else None  # a table to predict for need not know the answers
    elif column is not None and column not in of:
        require(tables[0].table, [column], "label")
    elif column is None:
        usual = [name for wanted in LABELS for name in of if name.lower() == wanted]
        if usual:
            column, table = usual[0], tables[of[usual[0]]].table
            notes = (f"{table.name}: took {column!r} as label",)
            if len(usual) > 1 and said.features is None:
                warn(
                    f"{table.name}: {column!r} is the label, and {usual[1]!r} is a feature, which may tell "
                    "the "
                    "answer. Name another column as label, or name the features without it."
                )
    if column is None and said.unknown is not None:
        sentence = "texts that mean not known are about the column of the classes. Name it."
        raise InputError(sentence, "missing", setting="label")
    none = Labels(np.full(len(names), -1, np.int64), () if like is None else like.classes)
    if column is None:
        return none, None, ()
    unknown = None if said.unknown is None else UnknownLabels.given(said.unknown)
    if like is not None:
        unknown = like.unknown or UnknownLabels.usual()
    one = tables[of[column]]
    assert one.place is not None
    try:
        labels = read_labels(
            one.table, column, one.place, names, unknown, None if like is None else like.classes
        )
    except NotClassesError as error:
        if said.label is not None:
            raise
        return none, None, (f"did not take a column as label by its name alone: {error}",)
    return labels, column, notes


_Read = tuple[Encoding, dict[str, np.ndarray], list[Repair], list[str]]


def _learned(
    tables: Sequence[Nodes],
    of: Mapping[str, int],
    ends: Ends,
    label: str | None,
    labels: Labels,
    features: Features | None,
    clues: Clues,
) -> _Read:
    """What these tables' columns become, to be repeated on others, their values, repairs and notes."""
    hints = [] if features is not None or not tables else _hint_of_names(tables[0])
    if features is None:
        features = [name for name in of if name not in (tables[0].id, label)]
    for name in features:
        if name not in of:
            require(tables[0].table, [name], "features")
    if label is not None and label in features:
        sentence = f"column {label!r} is the label and cannot be a feature. Take it out of features."
        raise InputError(sentence, "conflict", setting="features")
    kinds = dict(features) if isinstance(features, Mapping) else dict.fromkeys(features)
    columns: list[Column] = []
    left: list[str] = []
    notations: list[Any] = []
    values: dict[str, np.ndarray] = {}
    for at, one in enumerate(tables):
        own = {name: kind for name, kind in kinds.items() if of[name] == at}
        if len(one.table):
            looks = looks_at(one.table, dict.fromkeys([*(set(one.table.columns) - {one.id}), *own]))
            found = learn_columns(one.table, own, replace(clues, looks=looks), one.kept)
            columns, left, notations = columns + found[0], left + found[1], notations + found[2]
            values |= found[3]
    columns.sort(key=lambda column: list(kinds).index(column.name))
    weight = ends.notation if ends.notation is not None and not ends.notation.is_plain else None
    encoding = Encoding(
        tuple(columns), None, tables[0].id if tables else None, ends.source, ends.target, ends.weight, label,
        labels.names, tuple(left), tuple(notations), weight, labels.unknown, ends.prefixes, ends.negative,
    )  # fmt: skip
    repairs: list[Repair] = []
    for column in columns:
        one, notation = tables[of[column.name]], encoding.notation(column)
        repairs += unreadable(one.table, column, notation, values[column.name], one.kept, later=False)
    return encoding, values, repairs, hints


def _hint_of_names(nodes: Nodes) -> list[str]:
    """A note where ids are made of words that recur: they may tell as much as a column."""
    table, cell = nodes.table, nodes.id_sql
    n = min(len(table), _LOOKED_AT)
    if not is_text(table.types[nodes.id]) or n < 50:
        return []
    words = "unnest(regexp_extract_all(lower(id), '[a-z]{3,}')) AS w"
    often = f"SELECT w FROM names GROUP BY w HAVING count(DISTINCT id) BETWEEN 2 AND {n // 4}"
    ((shared,),) = table.con.execute(
        f"WITH names AS (SELECT id, {words} FROM (SELECT {cell} AS id FROM {table.view} LIMIT {n})) "
        f"SELECT count(DISTINCT id) FROM names SEMI JOIN ({often}) USING (w)"
    ).fetchall()
    hint = f"{table.name}: the ids have words that recur; {nodes.id}:text among the features would use them"
    return [hint] if 2 * shared >= n else []


def read_like(tables: Sequence[Nodes], of: Mapping[str, int], like: Encoding) -> _Read:
    """Values of columns that were learned from other tables, repairs and notes."""
    if like.columns and not tables:
        needed = ", ".join(column.name for column in like.columns)
        sentence = f"the model needs the columns {needed}. Give a table of nodes that has them."
        raise InputError(sentence, "missing", setting="nodes")
    values: dict[str, np.ndarray] = {}
    repairs: list[Repair] = []
    notes: list[str] = []
    for column in like.columns:
        if column.name not in of:
            require(tables[0].table, [column.name], "features")
        one, notation = tables[of[column.name]], like.notation(column)
        require_order(one.table, notation)
        values[column.name] = read_values(one.table, column, notation)
        repairs += unreadable(one.table, column, notation, values[column.name], one.kept, later=True)
        notes += new_categories(one.table, column, values[column.name][one.kept])
    return like, values, repairs, notes


def aligned(values: np.ndarray | None, rows: np.ndarray | None, n: int) -> np.ndarray:
    """Values of n nodes: those of their rows, missing where they have none."""
    if values is None or rows is None:
        return np.full(n, None, object)
    found = np.full(n, np.nan) if values.dtype.kind == "f" else np.full(n, None, object)
    found[rows >= 0] = values[rows[rows >= 0]]
    return found
