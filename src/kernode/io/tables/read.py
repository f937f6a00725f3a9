"""From tables to a graph: ids to positions, columns to features, rows that cannot be used to repairs.

DuckDB numbers the ids and joins the edges to them, out of core where they are many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
    learn_column,
    new_categories,
    read_values,
    require_order,
    require_room,
    unreadable,
)
from kernode.io.tables.kinds import KINDS, Column
from kernode.io.tables.labels import (
    LABELS,
    USUAL,
    Labels,
    NotClassesError,
    UnknownLabels,
    read_labels,
    read_numbers,
    require_task,
)
from kernode.io.tables.notation import Clues, looks_at
from kernode.io.tables.source import DATABASES, database, is_text_file, open_table
from kernode.io.tables.structure import Structure
from kernode.io.tables.table import IDS, Reading, Repair, Table, choose, first, require, require_rows
from kernode.io.tables.text_files import require_encoding
from kernode.progress import report_progress

POSITIONS = 64  # of nodes without any features
_MOST_POSITIONS = 10_000
_FAR = 2**40  # rows that no table has
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
    task: str = "auto",
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
    - ``task``: "classes" or "numbers", what the label column holds; "auto" takes many different numbers as
      numbers, and all else as classes.
    - ``source_prefix``, ``target_prefix``: put before the ids of each end, to keep users apart from items
      that are numbered alike.
    - ``negative``: what to do with weights below 0, "absolute" or "drop"; they are refused if None.
    - ``features``: names of columns (all but id and label if None), or names with their kinds: number, log,
      flag, category, text, tokens, date, vector. Kinds that are not given are guessed.
    - ``positions``: how many random-projection positions every node gets with its degree; None for 64
      where there are no feature columns and for none (no degree either) elsewhere.
    - ``unknown``: the texts of the label column that mean it is not known, besides empty cells; None
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


_OPTIONS: tuple[str, ...] = tuple(read_table.__kwdefaults__ or ())
_WITH_LIKE = ("encoding", "header", "like", "name")


@contextmanager
def open_tables(
    edges: Any, nodes: Any = None, *, graph: Graph | None = None, **given: Any
) -> Iterator[Tables]:
    """Open tables of edges and nodes for a while; the options are those of :func:`read_table`.

    ``graph``: the one at which they arrive. Its nodes are numbered first, and edges may be None.
    """
    edges, nodes = _from_address(edges, nodes)
    several = [] if nodes is None else list(nodes) if isinstance(nodes, list | tuple) else [nodes]
    options = SimpleNamespace(**dict.fromkeys(_OPTIONS) | given)
    require_task(options.task)
    options.task = None if options.task == "auto" else options.task
    stated = [option for option in _OPTIONS if getattr(options, option) is not None]
    options.like = encoding_of(options.like)
    if options.like is not None:
        if twice := [option for option in stated if option not in _WITH_LIKE]:
            sentence = f"{twice[0]} is what like has already. Leave one of them out."
            raise InputError(sentence, "no-effect", setting=twice[0])
        options.id, options.label = options.like.id, options.like.label
        options.features = [column.name for column in options.like.columns]
    elif not several and {"id", "label", "features"} & set(stated):
        sentence = "id, label and features are columns of the nodes. Give that table, too."
        raise InputError(sentence, "missing", setting="nodes")
    if options.encoding is not None:
        require_encoding(options.encoding)
    for option in {"encoding", "header"} & set(stated):
        if graph is None and not any(map(is_text_file, (edges, *several))):
            sentence = f"the {option} is about text files (CSV, TSV), of which there is none. Leave it out."
            raise InputError(sentence, "no-effect", setting=option)
    options.features = [options.features] if isinstance(options.features, str) else options.features
    with database() as con:
        yield Tables(con, edges, several, options, graph)


def _from_address(edges: Any, nodes: Any) -> tuple[Any, Any]:
    """``duckdb:FILE?edges=QUERY&nodes=QUERY`` as two tables."""
    if not (isinstance(edges, str) and edges.startswith(DATABASES)):
        return edges, nodes
    file, _, query = edges.partition("?")
    parts = (part.partition("=") for part in re.split("&(?=nodes=|edges=)", query))
    named = {name: f"{file}?{unquote(value)}" for name, _, value in parts if name in ("edges", "nodes")}
    return named.get("edges", edges), named.get("nodes") if nodes is None else nodes


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


class Nodes:
    """A table of nodes by the column of its ids: as given, with a usual name, or the first."""

    def __init__(self, table: Table, id: str | None) -> None:
        if not table.columns:
            sentence = f"{table.name} has no columns. A table of nodes needs one for their ids."
            raise InputError(sentence, "missing", setting="id")
        column = choose(table, id, "id", IDS)
        if column is None:
            column = table.columns[0]
            table = table.noted(f"took {column!r} as id")
        self.table, self.id = table, column
        self.id_sql = id_sql(table, [column])[0]
        self.clues = Clues()  # of the other columns

    def require_ids(self) -> None:
        """Raise where the first column was taken for the ids, and repeats or has a node for its name."""
        table, cell = self.table, self.id_sql
        if self.id.lower() in IDS:
            return
        edge = f"SELECT 1 FROM ids SEMI JOIN ({_MENTIONED}) USING (pos) WHERE id = ?"
        if table.names_by_looks is not None and first(table.con.execute(edge, [self.id])):
            where = f"{table.name}, row {table.names_by_looks}"
            what = f"{where}: {self.id!r} is a node of the edges, where names of columns should stand"
            sentence = f"{what}. Say whether the first row is a header."
            raise InputError(sentence, "ambiguous", setting="header")
        again = table.one(
            f"{cell}, list_sort(list({table.row}))[:2] AS rows",
            f"WHERE {cell} IS NOT NULL GROUP BY {cell} HAVING count(*) > 1 ORDER BY rows[2] LIMIT 1",
        )
        if again is not None:
            rows = " and ".join(map(str, table.numbers(again[1])))
            what = f"{self.id!r}, the first column, repeats {again[0]!r} (rows {rows})"
            fix = f"Which column holds the ids? Name one of {', '.join(table.types)}."
            raise table.error(f"{what}. {fix}", "ambiguous", setting="id")

    def find(self, names: np.ndarray, known: int) -> None:
        """Find the node of each row; rows without an id, or with one that was there before, are repairs.

        ``known``: how many of the nodes are in a graph already, and may not be listed again.
        """
        table = self.table
        rows = f"SELECT {self.id_sql} AS id, {table.row} AS r FROM {table.view}"
        sql = f"SELECT coalesce(pos, -1) AS pos FROM ({rows}) LEFT JOIN ids USING (id) ORDER BY r"
        self.place = place = np.asarray(table.con.execute(sql).fetchnumpy()["pos"], np.int64)  # −1 for none
        has_id = place >= 0
        if not has_id.all():
            table = table.repaired(np.flatnonzero(~has_id), "had no id")
            require_rows(table, has_id.sum())
        for row in np.flatnonzero(has_id & (place < known))[:1]:
            name = str(names[place[row]])
            sentence = f"{name!r} is in the graph already. Leave it out: nodes there keep their features."
            raise table.error(sentence, "duplicate", row=row, name=name)
        nodes, at = np.unique(place, return_index=True)
        self.rows = np.full(len(names), -1, np.int64)  # the first of each node, −1 for none
        self.rows[nodes[nodes >= 0]] = at[nodes >= 0]
        self.kept = np.zeros(len(place), bool)  # whether a row is the first of a node
        self.kept[at[nodes >= 0]] = True
        self.table = table.repaired(np.flatnonzero(has_id & ~self.kept), "repeated an id")


class Tables:
    """Tables of nodes and edges in one DuckDB connection, ids numbered: n nodes, those listed first.

    The connection holds ``ids(id, pos)`` and ``pair(s, t, w)``, a row for each usable row of the edges,
    ``w`` only where edges have weights. Where the tables arrive at a graph its ``known`` nodes come first,
    and ``values`` and ``listed`` are those of the others.
    """

    names: np.ndarray  # n
    listed: np.ndarray  # which nodes the tables of nodes list
    labels: Labels
    encoding: Encoding
    values: dict[str, np.ndarray]  # of the feature columns
    positions = 0  # of nodes in the graph that are features, too

    def __init__(self, con: Any, edges: Any, nodes: list[Any], options: Any, graph: Graph | None) -> None:
        self.con, self.options, self.graph, self.name = con, options, graph, options.name or _name_of(edges)
        self.like: Encoding | None = options.like
        self.clues = Clues(options.decimal, options.dates)
        self.known = 0 if graph is None else graph.n_nodes
        self.about: list[str] = []  # notes on more than one table
        self.unreadable: list[Repair] = []
        self._open(edges, nodes)
        self._number_ids()
        self._find_nodes()
        self._read_labels()
        values = self._learn() if self.like is None else self._read_like(self.like)
        self.values = {one.name: self._of_nodes(one, values) for one in self.encoding.columns}

    def _open(self, edges: Any, nodes: list[Any]) -> None:
        options = self.options
        named = frozenset(filter(None, (options.id, options.label, *(options.features or ()))))
        reading = Reading(options.encoding, options.header, named, options.id)
        found = [open_table(self.con, one, "nodes", reading) for one in nodes]
        ids = [options.id if one is found[0] or options.id in one.types else None for one in found]
        self.nodes = [Nodes(one, id) for one, id in zip(found, ids, strict=True)]
        self.ends: Ends | None = None
        if self.like is None:
            listed = [(one.table, one.id_sql) for one in self.nodes]
            self.ends = find_ends(self.con, edges, options, self.clues, listed)
        elif edges is not None:
            self.ends = ends_like(self.con, edges, self.like, options.encoding)

    def _number_ids(self) -> None:
        """Make ``ids`` and ``pair``: listed nodes first, as they come, then sources, then targets.

        Ids that are integers in all tables are joined as such, which takes half the memory of text.
        """
        con, ends = self.con, self.ends
        columns = [(one.table, one.id, one.id_sql, "true") for one in self.nodes]
        if self.graph is not None:
            names = {"id": np.asarray(self.graph.node_names, object)}
            known = Nodes(open_table(con, names, "known", Reading()), "id")
            columns.insert(0, (known.table, known.id, known.id_sql, "true"))
        if ends is not None:
            both = zip((ends.source, ends.target), ends.ids, strict=True)
            columns += [(ends.table, column, cell, ends.usable) for column, cell in both]
        integers = all(table.types[column] in INTEGERS for table, column, *_ in columns)
        if integers and not (ends is not None and any(ends.prefixes)):
            columns = [(table, column, table.sql(column), usable) for table, column, _, usable in columns]
        everyone = " UNION ALL ".join(
            f"SELECT {cell} AS key, {at * _FAR} + {table.row} AS k FROM {table.view} WHERE {usable}"
            for at, (table, _, cell, usable) in enumerate(columns)
        )
        once = f"SELECT key, min(k) AS k FROM ({everyone}) WHERE key IS NOT NULL GROUP BY key"
        number = "row_number() OVER (ORDER BY k) - 1"
        con.execute(f"CREATE TABLE keys AS SELECT key, {number} AS pos FROM ({once})")
        con.execute("CREATE VIEW ids AS SELECT key::VARCHAR AS id, pos FROM keys")
        pairs = "SELECT 0::INTEGER AS s, 0::INTEGER AS t WHERE false"
        if ends is not None:
            (table, _, source, usable), (_, _, target, _) = columns[-2:]
            weight = "" if ends.weight is None else f", {ends.weights} AS w"
            rows = f"SELECT {source} AS source, {target} AS target{weight} FROM {table.view} WHERE {usable}"
            pairs = f"SELECT a.pos::INTEGER AS s, b.pos::INTEGER AS t{', w' if weight else ''} FROM ({rows}) "
            pairs += "JOIN keys a ON source = a.key JOIN keys b ON target = b.key"
        con.execute(f"CREATE TABLE pair AS {pairs}")
        found = con.execute("SELECT id FROM ids ORDER BY pos").fetchnumpy()["id"]
        self.names = np.asarray(found).astype(str)
        if not self.n:
            why = "; ".join(map(str, self.repairs)) or "Check the files"
            raise InputError(f"the tables hold no edge and no node. {why}.", "too-few")

    def _find_nodes(self) -> None:
        """Find the rows of every node, the table of every column, and ids that are in doubt."""
        options = self.options
        if self.like is None and options.id is None and self.nodes:
            self.nodes[0].require_ids()
        for one in self.nodes:
            one.find(self.names, self.known)
        listed = [one.rows[self.known :] >= 0 for one in self.nodes]
        self.listed = np.any(listed, axis=0) if listed else np.zeros(self.n - self.known, bool)
        if self.graph is None:
            self._check_ids()
        added = self.names[self.known :][~self.listed].tolist()
        if added and (self.nodes or self.graph is not None):
            shown = ", ".join(added[:5]) + (", …" if len(added) > 5 else "")
            count = f"{len(added):,} node{'s' * (len(added) > 1)}"
            self.about.append(f"added {count} that only edges mention, without features: {shown}")
        self.of: dict[str, Nodes] = {}  # the table of each column
        for at, one in enumerate(self.nodes):
            own = [name for name in one.table.columns if not (at and name == one.id)]
            for name in own:
                if name in self.of:
                    both = f"{self.of[name].table.name} and {one.table.name}"
                    sentence = f"{both} both have a column {name!r}. Rename one of them."
                    raise InputError(sentence, "duplicate", column=name)
            self.of |= dict.fromkeys(own, one)
            fetched = own if options.features is None else {*own} & {*options.features, options.label}
            require_room(one.table, fetched)

    def _require(self, column: str, role: str) -> Nodes:
        """The table that has a column, or raise."""
        return self.of.get(column) or self.of[require(self.nodes[0].table, column, role)]

    def _check_ids(self) -> None:
        """Refuse ids of edges of which none is listed; warn of rounded ones and different spellings."""
        con, n, added = self.con, int(self.listed.sum()), int((~self.listed).sum())
        query = f"SELECT count(*), arg_min(id, pos) FROM ids WHERE regexp_full_match(id, '{_ROUNDED}')"
        rounded, example = first(con.execute(query))
        if rounded:
            plural = f"{rounded:,} ids are numbers" if rounded > 1 else "1 id is a number"
            what = f"{plural} that a spreadsheet has rounded, such as {example!r}"
            warn(f"{what}: different nodes may have become one. Save the tables again with ids as text.")
        if not self.nodes or not added:
            return
        near = first(
            con.execute(
                f"WITH folded AS (SELECT id, pos, {_FOLDED} AS f FROM ids) "
                "SELECT count(*) OVER (), a.id, b.id FROM folded a "
                f"JOIN (SELECT f, arg_min(id, pos) AS id FROM folded WHERE pos < {n} GROUP BY f) b USING (f) "
                f"WHERE a.pos >= {n} ORDER BY a.pos LIMIT 1"
            )
        )
        where = f"column {self.nodes[0].id!r} of {self.nodes[0].table.name}"
        if n and not first(con.execute(f"SELECT 1 FROM ({_MENTIONED}) WHERE pos < {n} LIMIT 1")):
            assert self.ends is not None
            what = f"no node of {self.ends.source!r} and {self.ends.target!r}, such as {str(self.names[n])!r}"
            hint = "Name the columns of the ids, the source and the target."
            if near is not None:
                hint = f"{near[1]!r} and {near[2]!r} differ only in how they are written. Write ids alike."
            what += f", is listed in {where}, which has ids such as {str(self.names[0])!r}"
            raise InputError(f"{what}. {hint}", "conflict", setting=("id", "source", "target"))
        if near is not None:
            some = f"{near[0]:,} of {added:,} node{'s' * (added > 1)} that only edges mention"
            some += " differs" if near[0] == 1 else " differ"
            such = f"only in how they are written, such as {near[1]!r} and {near[2]!r} in {where}"
            warn(f"{some} from listed ones {such}. Write ids alike in both.")

    def _read_labels(self) -> None:
        """Read the classes of all nodes; a column that has only the name of one is passed over."""
        options, like, of = self.options, self.like, self.of
        self.label: str | None = options.label
        if like is not None:
            self.label = self.label if self.label in of else None  # answers need not be known
        elif self.label is not None:
            self._require(self.label, "label")
        elif usual := [name for wanted in LABELS for name in of if name.lower() == wanted]:
            self.label = usual[0]
            if len(usual) > 1 and options.features is None:
                where = f"{of[self.label].table.name}: {self.label!r} is the label"
                what = f"{where}, and {usual[1]!r} is a feature, which may tell the answer"
                warn(f"{what}. Name another column as label, or name the features without it.")
        classes = None if like is None else like.classes if self.graph is None else self.graph.class_names
        self.labels = Labels(np.full(self.n, -1, np.int64), classes or ())
        if self.label is None:
            if options.unknown is not None or options.task is not None:
                what = "texts that mean not known are" if options.task is None else f"{options.task} are"
                sentence = f"{what} about the column to predict. Name it."
                raise InputError(sentence, "missing", setting="label")
            return
        unknown = None if options.unknown is None else UnknownLabels.given(options.unknown)
        if like is not None:
            unknown = like.unknown or USUAL
        one = of[self.label]
        read = (one.table, self.label, one.place, self.names, unknown)
        try:
            if like is not None and like.numbers is not None:
                self.labels = read_numbers(*read, like.numbers)
            else:
                task, clues = options.task or ("auto" if options.label else None), lambda: self._clues(one)
                self.labels = read_labels(*read, classes, task=task, clues=clues)
        except NotClassesError as error:
            if options.label is not None:
                raise
            self.label = None
            self.about.append(f"did not take a column as label by its name alone: {error}")
            return
        if options.label is None:
            self.about.append(f"{one.table.name}: took {self.label!r} as label")
        self.about += self.labels.notes

    def _clues(self, one: Nodes, features: Mapping[str, Any] | None = None) -> Clues:
        """How a table's columns of text look, its ids only among the features; each is looked at once."""
        own = [name for name in one.table.columns if name != one.id or name in (features or ())]
        new = looks_at(one.table, [name for name in own if name not in one.clues.looks])
        one.clues = replace(self.clues, looks={**one.clues.looks, **new})
        return one.clues

    def _learn(self) -> dict[str, np.ndarray]:
        """Learn what the columns become, and return their values by row."""
        of, nodes, ends, label, features = self.of, self.nodes, self.ends, self.label, self.options.features
        assert ends is not None
        if features is None:
            features = [name for name in of if name not in (nodes[0].id, label)]
        kinds = dict(features) if isinstance(features, Mapping) else dict.fromkeys(features)
        for name, kind in kinds.items():
            self._require(name, "features")
            if kind is not None and kind not in KINDS:
                wanted = f"columns with kinds among {', '.join(KINDS)}"
                raise bad_setting("features", wanted, f"{name}:{kind}")
        if label is not None and label in kinds:
            sentence = f"column {label!r} is the label and cannot be a feature. Take it out of features."
            raise InputError(sentence, "conflict", setting="features")
        for one in nodes:
            self._clues(one, kinds)
        columns, left_out, notations, values = [], [], [], {}
        for done, (name, kind) in enumerate(kinds.items()):
            report_progress("columns", done, len(kinds))
            one = of[name]
            if not len(one.place):
                continue
            found = learn_column(one.table, name, kind, one.clues, one.kept)
            if isinstance(found, str):
                left_out.append(f"{name}: left out, {found}")
                continue
            column, notation, values[name] = found
            columns.append(column)
            notations += [] if notation is None or notation.is_plain else [notation]
        weight = None if ends.notation is None or ends.notation.is_plain else ends.notation
        self.encoding = Encoding(
            tuple(columns), None, nodes[0].id if nodes else None, ends.source, ends.target,
            ends.weight, label, self.labels.names, tuple(left_out), tuple(notations),
            weight, self.labels.unknown, ends.prefixes, ends.negative, self.labels.notation,
        )  # fmt: skip
        self.positions = _position_count(self.options.positions, self.encoding)
        return values

    def _read_like(self, like: Encoding) -> dict[str, np.ndarray]:
        """Return the values by row of columns that were learned from other tables."""
        self.encoding = like
        values: dict[str, np.ndarray] = {}
        if not self.nodes:
            if like.columns and self.graph is None:
                needed = ", ".join(column.name for column in like.columns)
                sentence = f"the model needs the columns {needed}. Give a table of nodes that has them."
                raise InputError(sentence, "missing", setting="nodes")
            return values
        for column in like.columns:
            one, notation = self._require(column.name, "features"), like.notation(column)
            require_order(one.table, notation)
            found = values[column.name] = read_values(one.table, type(column), column.name, notation)
            self.about += new_categories(one.table, column, found[one.kept])
        return values

    def _of_nodes(self, column: Column, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The values of a column for each node that is not known: those of its row, missing without one."""
        if column.name not in values:
            return np.full(self.n - self.known, None, object)
        one, own = self.of[column.name], values[column.name]
        later = self.like is not None
        self.unreadable += unreadable(one.table, column, own, one.kept, later=later)
        rows = one.rows[self.known :]
        found = np.full(len(rows), np.nan) if own.dtype.kind == "f" else np.full(len(rows), None, object)
        found[rows >= 0] = own[rows[rows >= 0]]
        return found

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.ends is not None and self.ends.weight is not None

    @property
    def _sources(self) -> list[Table]:
        return [*(one.table for one in self.nodes), *([] if self.ends is None else [self.ends.table])]

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Rows of all tables that were dropped or changed."""
        return (*(one for table in self._sources for one in table.repairs), *self.unreadable)

    def notes(self, entries: int) -> tuple[str, ...]:
        """What was done to the tables; ``entries``: of the adjacency."""
        notes = (*(note for table in self._sources for note in table.notes), *self.about)
        if entries:
            return notes
        loops = first(self.con.execute("SELECT count(*) FROM pair"))[0]
        looped = f"{loops:,} joined a node to itself" if loops else ""
        dropped = () if self.ends is None else map(str, self.ends.table.repairs)
        why = "; ".join(filter(None, (*dropped, looped))) or "none is listed"
        sentence = f"the graph has no edge: {why}; only features can tell nodes apart"
        warn(f"{sentence}.")
        return (sentence, *notes)

    def encoded(self, adjacency: sparse.csr_array) -> tuple[Encoding, Any]:
        """What the columns became, and X: n × f."""
        learned = self.encoding
        if self.positions:
            learned = replace(learned, structure=Structure.learn(adjacency, self.positions))
        return learned, learned.features(self.values, adjacency, self.names)

    def facts(self, learned: Encoding, notes: tuple[str, ...]) -> SimpleNamespace:
        """All else that a graph holds."""
        kept = {one.name: self.values[one.name] for one in learned.columns if one.is_kept}
        listed = None if self.listed.all() or not self.nodes else self.listed
        origin = TableOrigin(learned, self.repairs, kept, listed)
        described = (*notes, *map(str, self.repairs), *learned.describe())
        labels, classes, targets = self.labels.numbers, self.labels.names, self.labels.targets
        return SimpleNamespace(
            name=self.name, labels=labels, class_names=classes, notes=described, origin=origin,
            targets=targets, target_name="" if targets is None else self.label,
        )  # fmt: skip


def _position_count(wanted: int | None, learned: Encoding) -> int:
    """How many positions describe a node: as asked for, or as nothing else does."""
    wanted = 0 if wanted is None else wanted
    if not isinstance(wanted, int | np.integer) or not 0 <= wanted <= _MOST_POSITIONS:
        raise bad_setting("positions", f"an integer from 0 to {_MOST_POSITIONS:,}", wanted)
    return int(wanted) or (0 if learned.columns else POSITIONS)
