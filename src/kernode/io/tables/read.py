"""From tables to a graph: ids to positions, columns to features, rows that cannot be used to repairs.

DuckDB numbers the ids and joins the edges to them, out of core where they are many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from scipy import sparse

from kernode.errors import InputError, bad_setting, warn
from kernode.graph import Graph
from kernode.graph.adjacency import undirected
from kernode.graph.graph import Origin
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
from kernode.io.tables.kinds import Column, is_list, is_text
from kernode.io.tables.labels import LABELS, Labels, NotClassesError, read_labels
from kernode.io.tables.notation import Clues, NumberNotation, number_notation, text, trimmed
from kernode.io.tables.repairs import Repair
from kernode.io.tables.source import (
    DATABASES,
    IDS,
    Reading,
    Table,
    choose,
    database,
    first,
    is_text_file,
    left_out,
    open_table,
    require,
    require_encoding,
    require_rows,
)
from kernode.io.tables.structure import Structure

_ENDS = (  # usual names of an edge's two columns
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("head", "tail"), ("node1", "node2"),
    ("id1", "id2"), ("citing", "cited"), ("follower", "followee"), ("fromnodeid", "tonodeid"),
    ("sender", "receiver"), ("sender", "recipient"), ("payer", "payee"), ("caller", "callee"), ("von", "nach"),
)  # fmt: skip
SOURCES, TARGETS = zip(*_ENDS, strict=True)
WEIGHTS = ("weight", "weights", "w")
_OF_MANY = 5  # a column of ends names at least every so many-th listed node
_LONGEST = 1000  # characters: numpy holds every name in as much room as the longest takes
_POSITIONS = 64  # of nodes without any features
_MOST_POSITIONS = 10_000
_SHOWN = 5  # names in a note
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_ROUNDED = r"-?[0-9]([.,][0-9]+)?[eE]\+[0-9]{1,3}"  # what a spreadsheet makes of a long number
_NEGATIVE = ("absolute", "drop")


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


def read_table(edges: Any, nodes: Any = None, **options: Any) -> Graph:
    """Read a graph from a table of edges and one or several tables of nodes.

    A table is a file (CSV, TSV, Parquet, JSON, JSON Lines, Arrow, Excel), a table or query of a database
    (``duckdb:shop.db?follows``, ``sqlite:shop.db?SELECT …``), a data frame of pandas or polars, anything with an
    Arrow stream, or a dictionary of columns. Several tables of nodes are joined by their ids.

    - ``source``, ``target``, ``weight``: columns of the edges; ``id``, ``label``: columns of the nodes.
      Where they are not given, columns with usual names are taken, else the first ones. Ids may be of
      any type; nodes that only edges mention are added without features.
    - ``source_prefix``, ``target_prefix``: put before the ids of each end, to keep users apart from items that
      are numbered alike.
    - ``negative``: what to do with weights below 0, "absolute" or "drop"; refused if None.
    - ``features``: names of columns (all but id and label if None), or names with their kinds: number, log,
      flag, category, text, tokens, date, vector. Kinds that are not given are guessed.
    - ``positions``: how many random-projection positions every node gets with its degree; None for 64
      where there are no feature columns and for none (no degree either) elsewhere.
    - ``unknown``: the texts of the label column that mean a class is not known, besides empty cells; None
      for NA and its like, words such as "unknown", and −1 among integers from 0 up.
    - ``decimal``: "," or ".", and ``dates``: "dmy" or "mdy", where a table leaves in doubt how its numbers
      or dates are written.
    - ``encoding``: of text files without a mark (BOM), by Python's name for it; None for UTF-8, and what
      charset-normalizer finds where they are not UTF-8.
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
    with open_tables(edges, nodes, **options) as tables:
        pairs = tables.pairs()
        adjacency, notes = undirected(np.column_stack([pairs["s"], pairs["t"]]), pairs.get("w"), tables.n)
        return Graph(
            adjacency,
            tables.features(adjacency),
            tables.labels.numbers,
            class_names=tables.labels.names,
            node_names=tables.names,
            name=tables.name,
            notes=(*notes, *tables.notes(int(adjacency.nnz))),
            origin=tables.origin(),
        )


@dataclass(frozen=True)
class Ends:
    """The table of edges by its roles."""

    table: Table
    source: str
    target: str
    weight: str | None
    notation: NumberNotation | None = None  # of the weights, where they are text
    negative: str | None = None
    prefixes: tuple[str, ...] = ("", "")


@dataclass(frozen=True)
class Tables:
    """Tables of nodes and edges in one DuckDB connection, ids numbered: n nodes, those listed first.

    The connection holds ``ids(id, pos)`` and ``pair(s, t, w)``, a row for each usable row of the edges, ``w``
    only where edges have weights.
    """

    con: Any
    name: str
    ends: Ends
    listed: tuple[Table, ...]  # tables of nodes
    id: str | None  # of the first of them
    rows: tuple[np.ndarray, ...]  # for each of them, which of its rows each node has: n, −1 for none
    names: np.ndarray  # n
    added: int  # nodes that only edges mention
    labels: Labels
    encoding: Encoding
    column_tables: Mapping[str, int]  # which table of nodes has a column
    said: tuple[str, ...]  # notes
    repairs: tuple[Repair, ...]
    values: Mapping[str, np.ndarray]  # of the feature columns, n each

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.ends.weight is not None

    def pairs(self) -> dict[str, np.ndarray]:
        """Positions of both ends, and weights, of each edge."""
        return dict(self.con.execute("SELECT * FROM pair").fetchnumpy())

    def features(self, adjacency: sparse.csr_array) -> Any:
        """X: n × f."""
        return self.encoding.features(self.values, adjacency, self.names)

    def origin(self) -> TableOrigin:
        """What is kept of the tables with the graph."""
        kept = {one.name: self.values[one.name] for one in self.encoding.columns if one.is_kept}
        mask = None
        if self.added and self.listed:
            mask = np.arange(self.n) < self.n - self.added
        return TableOrigin(self.encoding, self.repairs, kept, mask)

    def notes(self, entries: int) -> tuple[str, ...]:
        """What was done to the tables; ``entries``: of the adjacency."""
        no_edge: tuple[str, ...] = ()
        if not entries:
            loops = first(self.con.execute("SELECT count(*) FROM pair"))[0]
            looped = f"{loops:,} joined a node to itself" if loops else ""
            why = "; ".join(filter(None, (*map(str, self.ends.table.repairs), looped))) or "none is listed"
            no_edge = (f"the graph has no edge: {why}; only features can tell nodes apart",)
            warn(f"{no_edge[0]}.")
        return (*no_edge, *self.said, *map(str, self.repairs), *self.encoding.describe())


@contextmanager
def open_tables(
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
) -> Iterator[Tables]:
    """Open tables of edges and nodes for a while; the options are those of :func:`read_table`."""
    edges, nodes = _from_address(edges, nodes)
    several = [] if nodes is None else list(nodes) if isinstance(nodes, list | tuple) else [nodes]
    like = encoding_of(like)
    if like is not None:
        given = locals()
        for option in ("id", "source", "target", "weight", "label", "features", "positions", "unknown", "decimal",
                       "dates", "source_prefix", "target_prefix", "negative"):  # fmt: skip
            if given[option] is not None:
                sentence = f"{option} is what like has already. Leave one of them out."
                raise InputError(sentence, "no-effect", setting=option)
        id, label, features = like.id, like.label, [column.name for column in like.columns]
    elif not several and (id, label, features) != (None, None, None):
        sentence = "id, label and features are columns of the nodes. Give that table, too."
        raise InputError(sentence, "missing", setting="nodes")
    if negative not in (None, *_NEGATIVE):
        raise bad_setting("negative", " or ".join(_NEGATIVE), negative)
    require_text(encoding, header, edges, *several)
    features = [features] if isinstance(features, str) else features
    clues = Clues(decimal, dates)
    with database() as con:
        named = frozenset(one for one in (id, label, *(features or ())) if one is not None)
        listed = [open_table(con, one, "nodes", Reading(encoding, header, named, id)) for one in several]
        reading = Reading(encoding, header, frozenset(filter(None, (source, target, weight))), of_edges=True)
        if like is None:
            table = open_table(con, edges, "edges", reading)
            prefixes = (source_prefix or "", target_prefix or "")
            listed, ids = with_ids(listed, id)
            table = _with_first_edge(table, edges, reading, listed, ids)
            ends = _found_ends(table, source, target, weight, prefixes, listed, ids)
            ends = _with_weights(ends, clues, negative)
        else:
            listed, ids = with_ids(listed, id)
            ends = edges_like(con, edges, like, encoding)
        number_ids(con, listed, ids, ends)
        if like is None and id is None and listed:
            listed, ids = _settled(con, listed, ids, ends)
        yield _opened(
            con, name or _name_of(edges), ends, listed, ids, label, features, positions, unknown, clues, like
        )


def _opened(
    con: Any,
    name: str,
    ends: Ends,
    listed: list[Table],
    ids: list[str],
    label: str | None,
    features: Features | None,
    positions: int | None,
    unknown: Any,
    clues: Clues,
    like: Encoding | None,
) -> Tables:
    """Tables whose ids are numbered, their columns read."""
    names, added, said = _nodes(con, listed, ids, ends)
    n = len(names)
    placed = [places(con, table, id) for table, id in zip(listed, ids, strict=True)]
    listed = [without_repeats(table, place) for table, place in zip(listed, placed, strict=True)]
    rows = tuple(first_rows(place, n) for place in placed)
    of = column_tables(listed, ids)
    column, label_notes = _label_column(listed, of, label, features, like)
    fetched = {column, *(of if features is None else features)}
    for table in listed:
        require_room(table, [one for one in table.columns if one in fetched])
    labels = Labels(np.full(n, -1, np.int64), () if like is None else like.classes)
    if column is None and unknown is not None:
        sentence = "texts that mean not known are about the column of the classes. Name it."
        raise InputError(sentence, "missing", setting="label")
    if column is not None:
        at = of[column]
        given = None if unknown is None else UnknownLabels.given(unknown)
        try:
            if like is None:
                labels = read_labels(listed[at], column, placed[at], names, given)
            else:
                texts = like.unknown or UnknownLabels.usual()
                labels = read_labels(listed[at], column, placed[at], names, texts, like.classes)
        except NotClassesError as error:
            if label is not None:
                raise
            column, label_notes = None, (f"did not take a column as label by its name alone: {error}",)
    learned, values, repairs, notes = (
        _learned(listed, ids, of, ends, column, labels, features, clues)
        if like is None
        else read_like(listed, of, like)
    )
    if like is None:
        learned = replace(learned, structure=_structure(con, n, positions, learned))
    of_nodes = {one: aligned(values[one], rows[of[one]], n) for one in values}
    all_notes = (*(note for table in listed for note in table.notes), *ends.table.notes, *said, *label_notes,
                 *labels.notes, *notes)  # fmt: skip
    all_repairs = (*(one for table in listed for one in table.repairs), *ends.table.repairs, *repairs)
    return Tables(
        con, name, ends, tuple(listed), ids[0] if ids else None, rows, names, added, labels, learned, of, all_notes,
        all_repairs, of_nodes,
    )  # fmt: skip


def _from_address(edges: Any, nodes: Any) -> tuple[Any, Any]:
    """``duckdb:FILE?edges=QUERY&nodes=QUERY`` as two tables."""
    if not (isinstance(edges, str) and edges.startswith(DATABASES)):
        return edges, nodes
    file, _, query = edges.partition("?")
    named = dict(
        part.split("=", 1)
        for part in re.split(r"&(?=nodes=|edges=)", query)
        if part.startswith(("edges=", "nodes="))
    )
    if "edges" not in named:
        return edges, nodes
    found = [f"{file}?{unquote(named[one])}" if one in named else None for one in ("edges", "nodes")]
    return found[0], found[1] if nodes is None else nodes


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


# Ids


def id_sql(table: Table, columns: Sequence[str], prefixes: Sequence[str] = ("", "")) -> list[str]:
    """SQL of columns of ids: text, NULL where there is none.

    One type for all, because files disagree: 17 in a database is "17" in a CSV file, and 17.0 where pandas had
    to make room for a missing one.
    """
    found, whole = [], True
    for column in columns:
        cell, type_ = table.sql(column), table.types[column]
        if is_list(type_) or type_.startswith(("STRUCT", "MAP", "BLOB", "UNION", "JSON")):
            raise InputError(
                f"{table.name}: column {column!r} holds {type_}, which cannot be an id. "
                "Name another column, or write its values as text.",
                "unsupported",
                column=column,
            )
        if type_ in ("FLOAT", "DOUBLE") or type_.startswith("DECIMAL"):
            exact = f"isfinite({cell}::DOUBLE) AND floor({cell}) = {cell} AND abs({cell}) < 9007199254740992"
            if table.one(f"bool_and({exact}) FILTER (NOT isnan({cell}::DOUBLE))")[0]:
                cell = f"TRY_CAST({cell} AS BIGINT)"
            cell = f"nullif({cell}::VARCHAR, 'nan')"
        elif is_text(type_):
            cell = f"nullif({trimmed(cell)}, '')"
            longest, texts_whole = table.one(
                rf"max(length({cell})), bool_and(regexp_full_match({cell}, '-?[0-9]+(\.0+)?'))"
            )
            if (longest or 0) > _LONGEST:
                raise InputError(
                    f"{table.name}: an id in {column!r} has {longest:,} characters. Ids have at most {_LONGEST:,}: "
                    "name another column, or shorten them.",
                    "too-large",
                    what="id",
                )
            whole = whole and texts_whole is not False
        else:
            cell = f"{cell}::VARCHAR"
        found.append(cell)
    if whole:
        found = [
            rf"regexp_replace({cell}, '\.0+$', '')" if is_text(table.types[column]) else cell
            for cell, column in zip(found, columns, strict=True)
        ]
    pairs = zip(found, prefixes, strict=False)
    return [f"{text(prefix)} || {cell}" if prefix else cell for cell, prefix in pairs]


def with_ids(listed: list[Table], id: str | None) -> tuple[list[Table], list[str]]:
    """Tables of nodes with the columns of their ids; by a usual name or the first where none is named."""
    found: list[str] = []
    for at, table in enumerate(listed):
        if not table.columns:
            sentence = f"{table.name} has no columns. A table of nodes needs one for their ids."
            raise InputError(sentence, "missing", setting="id")
        wanted = id if at == 0 or id in table.types else None
        column = choose(table, wanted, "id", IDS)
        if column is None:
            column = table.columns[0]
            listed[at] = table.noted(f"{table.name}: took {column!r} as id")
        listed[at] = replace(listed[at], hidden=listed[at].hidden - {column})
        found.append(column)
    return listed, found


def number_ids(con: Any, listed: list[Table], ids: list[str], ends: Ends | None) -> None:
    """Make the tables ``ids`` and ``pair``: listed nodes first, in their order, then sources, then targets."""
    far = 2**40  # rows that no table has
    parts = [
        f"SELECT {id_sql(table, [id])[0]} AS id, {at * far} + {table.row} AS k FROM {table.view}"
        for at, (table, id) in enumerate(zip(listed, ids, strict=True))
    ]
    pairs = "SELECT 0::INTEGER AS s, 0::INTEGER AS t WHERE false"
    if ends is not None:
        edges = ends.table
        source, target = id_sql(edges, [ends.source, ends.target], ends.prefixes)
        usable = f"{source} IS NOT NULL AND {target} IS NOT NULL AND {_usable_weight(ends)}"
        for at, cell in enumerate((source, target)):
            offset = (len(listed) + at) * far
            parts.append(f"SELECT {cell} AS id, {offset} + {edges.row} AS k FROM {edges.view} WHERE {usable}")
        weight = "" if ends.weight is None else f", {_weight_sql(ends)} AS w"
        pairs = (
            f"SELECT a.pos::INTEGER AS s, b.pos::INTEGER AS t{', w' if weight else ''} FROM (SELECT {source} AS source, "
            f"{target} AS target{weight} FROM {edges.view} WHERE {usable}) JOIN ids a ON source = a.id JOIN ids b ON "
            "target = b.id"
        )
    con.execute("DROP TABLE IF EXISTS pair")
    con.execute("DROP TABLE IF EXISTS ids")
    con.execute(
        "CREATE TABLE ids AS SELECT id, k, row_number() OVER (ORDER BY k) - 1 AS pos FROM (SELECT id, min(k) AS k "
        f"FROM ({' UNION ALL '.join(parts)}) WHERE id IS NOT NULL GROUP BY id)"
    )
    con.execute(f"CREATE TABLE pair AS {pairs}")


def _settled(con: Any, listed: list[Table], ids: list[str], ends: Ends) -> tuple[list[Table], list[str]]:
    """The column of ids, unless the first was taken and the edges show that it holds none.

    Then the column without a name is taken where it has all nodes that edges mention; else a repeated id is
    refused.
    """
    table, id = listed[0], ids[0]
    mentioned = {row[0] for row in con.execute("SELECT DISTINCT id FROM ids SEMI JOIN (SELECT s AS pos FROM pair "
                 "UNION ALL SELECT t FROM pair) USING (pos)").fetchall()}  # fmt: skip
    if table.names_by_looks is not None and id.lower() not in IDS and id in mentioned:
        raise InputError(
            f"{table.name}, row {table.names_by_looks}: {id!r} is a node of the edges, where names of "
            "columns should stand. Say whether the first row is a header.",
            "ambiguous",
            setting="header",
        )
    if id.lower() in IDS:
        return listed, ids
    cell = id_sql(table, [id])[0]
    rows, distinct = table.one(f"count({cell}), count(DISTINCT {cell})")
    known = {row[0] for row in table.ask(f"DISTINCT {cell}").fetchall()}
    matched = len(mentioned & known)
    doubtful = 4 * (rows - distinct) > rows or 2 * matched < len(mentioned)
    if table.index is not None and matched < len(mentioned) and doubtful:
        other = id_sql(table, [table.index])[0]
        by_index = {row[0] for row in table.ask(f"DISTINCT {other}").fetchall()}
        if mentioned <= by_index and len(by_index) == len(table):
            in_file = table.delimiter is not None
            what = table.index if in_file else "the data frame's index"
            notes = [
                note
                for note in table.notes
                if note not in (left_out(table.name, what), f"{table.name}: took {id!r} as id")
            ]
            notes.append(
                f"{table.name}: took {what}, which has no name, as id: it has the nodes of the edges"
            )
            listed[0] = replace(table, hidden=table.hidden - {table.index}, notes=tuple(notes))
            ids[0] = table.index
            number_ids(con, listed, ids, ends)
            return listed, ids
    if rows > distinct:
        repeated, first, second = table.one(
            f"{cell}, min({table.row}), list_sort(list({table.row}))[2]",
            f"WHERE {cell} IS NOT NULL GROUP BY {cell} HAVING count(*) > 1 ORDER BY 3 LIMIT 1",
        )
        numbers = table.numbers([first, second])
        raise InputError(
            f"{table.name}: {id!r}, the first column, repeats {repeated!r} (rows {numbers[0]} and {numbers[1]}). "
            f"Which column holds the ids? Name one of {', '.join(table.columns)}.",
            "ambiguous",
            setting="id",
        )
    return listed, ids


def _nodes(
    con: Any, listed: list[Table], ids: list[str], ends: Ends
) -> tuple[np.ndarray, int, tuple[str, ...]]:
    """Names of all nodes, how many of them only edges mention, and a note on these; doubtful ones are refused."""
    border = len(listed) * 2**40
    names = [row[0] for row in con.execute("SELECT id FROM ids ORDER BY pos").fetchall()]
    n_listed = first(con.execute(f"SELECT count(*) FROM ids WHERE k < {border}"))[0]
    added = len(names) - n_listed
    if not names:
        why = "; ".join(str(one) for table in (*listed, ends.table) for one in table.repairs)
        raise InputError(f"the tables hold no edge and no node. {why or 'Check the files'}.", "too-few")
    if listed and added:
        fold = r"regexp_replace(regexp_replace(lower(nfc_normalize(id)), '[\s\x{00A0}]+', '', 'g'), '^0*([0-9]+)(?:[.,]0+)?$', '\1')"
        near = first(con.execute(
            f"WITH folded AS (SELECT id, k, {fold} AS f FROM ids) SELECT count(*) OVER (), a.id, b.id FROM folded a "
            f"JOIN (SELECT f, arg_min(id, k) AS id FROM folded WHERE k < {border} GROUP BY f) b USING (f) "
            f"WHERE a.k >= {border} ORDER BY a.k LIMIT 1"
        ))
        mentioned = (
            first(con.execute(f"SELECT 1 FROM pair, ids WHERE k < {border} AND pos IN (s, t) LIMIT 1"))
            if n_listed
            else None
        )
        if n_listed and mentioned is None:
            hint = "Name the columns of the ids, the source and the target."
            if near is not None:
                hint = f"{near[1]!r} and {near[2]!r} differ only in how they are written. Write ids alike."
            raise InputError(
                f"no node of {ends.source!r} and {ends.target!r}, such as {names[n_listed]!r}, is listed in column "
                f"{ids[0]!r} of {listed[0].name}, which has ids such as {names[0]!r}. {hint}",
                "conflict",
                setting=("id", "source", "target"),
            )
        if near is not None:
            warn(
                f"{near[0]:,} of {added:,} node{'s' * (added > 1)} that only edges mention "
                f"{'differs' if near[0] == 1 else 'differ'} from listed ones only in how they are written, such as "
                f"{near[1]!r} and {near[2]!r} in column {ids[0]!r} of {listed[0].name}. Write ids alike in both."
            )
    rounded, example = first(con.execute(
        f"SELECT count(*), arg_min(id, k) FROM ids WHERE regexp_full_match(id, '{_ROUNDED}')"
    ))
    if rounded:
        plural = f"{rounded:,} ids are numbers" if rounded > 1 else "1 id is a number"
        warn(
            f"{plural} that a spreadsheet has rounded, such as {example!r}: different nodes may have become one. "
            "Save the tables again with ids as text."
        )
    return np.array(names, dtype=str), added, added_note(names[n_listed:]) if listed else ()


def added_note(names: Sequence[str]) -> tuple[str, ...]:
    """A note on nodes that are only in the edges."""
    if not len(names):
        return ()
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return (
        f"added {len(names):,} node{'s' * (len(names) > 1)} that only edges mention, without features: {shown}",
    )


def places(con: Any, table: Table, id: str) -> np.ndarray:
    """The node of each row of a table, −1 where it has no id."""
    cell = id_sql(table, [id])[0]
    found = con.execute(
        f"SELECT coalesce(pos, -1) AS pos FROM (SELECT {cell} AS id, {table.row} AS r FROM {table.view}) LEFT JOIN ids "
        "USING (id) ORDER BY r"
    ).fetchnumpy()["pos"]
    return np.asarray(found, np.int64)


def first_rows(place: np.ndarray, n: int) -> np.ndarray:
    rows = np.full(n, -1, np.int64)
    there = np.flatnonzero(place >= 0)[::-1]  # the last assignment stays, which is of the first row
    rows[place[there]] = there
    return rows


def without_repeats(table: Table, place: np.ndarray) -> Table:
    """The table with repairs of rows that have no id, or one that was there before."""
    lacking = np.flatnonzero(place < 0)
    if len(lacking):
        table = table.repaired(lacking, "had no id")
        require_rows(table, len(place) - len(lacking))
    first = np.zeros(len(place), bool)
    first[np.unique(place, return_index=True)[1]] = True
    repeated = np.flatnonzero(~first & (place >= 0))
    return table.repaired(repeated, "repeated an id") if len(repeated) else table


# Edges


def _with_first_edge(
    table: Table, source: Any, reading: Reading, listed: list[Table], ids: list[str]
) -> Table:
    """The table with its first row as data, where that looks like names and names a node of the graph."""
    names = table.columns
    if table.names_by_looks is None or len(names) < 2:
        return table
    if {*SOURCES, *TARGETS, *WEIGHTS} & {name.lower() for name in names}:
        return table
    columns = [(table, trimmed(table.sql(name))) for name in names[:2]]
    columns += [(one, id_sql(one, [id])[0]) for one, id in zip(listed, ids, strict=True)]
    for name in names[:2]:
        if any(one.one("1", f"WHERE {cell} = {text(name)} LIMIT 1") for one, cell in columns):
            again = open_table(table.con, source, "edges", replace(reading, header=False))
            return replace(
                again,
                notes=tuple(note.replace("it is to be data", f"{name!r} is a node") for note in again.notes),
            )
    return table


def _found_ends(
    table: Table,
    source: str | None,
    target: str | None,
    weight: str | None,
    prefixes: tuple[str, ...],
    listed: list[Table],
    ids: list[str],
) -> Ends:
    """The columns of both ends and of the weights, by name or by usual names."""
    names = table.columns
    if len(names) < 2:
        has = f"only the column {names[0]!r}" if names else "no columns"
        sentence = f"{table.name} has {has}. It needs two, separated by commas or tabs: source and target."
        raise InputError(sentence, "missing", what="columns")
    found = choose(table, source, "source", SOURCES), choose(table, target, "target", TARGETS)
    if found[0] is None and found[1] is None:
        found = names[0], names[1]
        _refuse_other_ends(table, found, weight, listed, ids)
        if not any(prefixes):
            _refuse_two_numberings(table, *found)
        table = table.noted(f"{table.name}: took {names[0]!r} as source and {names[1]!r} as target")
    one, other = found
    if one is None or other is None or one == other:
        lacking = "source" if one is None else "target"
        sentence = f"{table.name}: which column is the {lacking}? Name one of {', '.join(names)}."
        raise InputError(sentence, "ambiguous", setting=lacking)
    column = choose(table, weight, "weight", WEIGHTS)
    if weight is None and column is not None:
        table = table.noted(f"{table.name}: took {column!r} as weight")
    others = [name for name in names if name not in (one, other, column)]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        table = table.noted(f"{table.name}: ignored {_list(others[:_SHOWN])}{more}")
    return Ends(table, one, other, column, prefixes=prefixes)


def _refuse_other_ends(
    table: Table, ends: tuple[str, str], weight: str | None, listed: list[Table], ids: list[str]
) -> None:
    """Raise where one of the first two columns holds no listed node, and a later column does.

    A rating or an hour may look like the ids of a few nodes; ends are ids of many.
    """
    if not listed or not len(listed[0]):
        return
    known = f"(SELECT DISTINCT {id_sql(listed[0], ids[:1])[0]} AS id FROM {listed[0].view})"
    count = first(table.con.execute(f"SELECT count(*) FROM {known}"))[0]

    def share(column: str) -> float:
        try:
            cell = id_sql(table, [column])[0]
        except InputError:
            return 0.0
        there, all_ = first(table.con.execute(
            f"SELECT count(k.id), count(*) FROM (SELECT DISTINCT {cell} AS id FROM {table.view} WHERE {cell} IS NOT NULL) "
            f"LEFT JOIN {known} k USING (id)"
        ))
        return there / all_ if _OF_MANY * there >= count and all_ else 0.0

    strange = [name for name in ends if not share(name)]
    no_ends = {weight, *WEIGHTS}
    fits = (
        [
            one
            for one in table.columns
            if one not in no_ends and one.lower() not in no_ends and share(one) >= 0.5
        ]
        if strange
        else []
    )
    if set(fits) <= set(ends):
        return
    hold = f"{_list(fits)} do" if len(fits) > 1 else f"{fits[0]!r} does"
    raise InputError(
        f"{table.name}: {strange[0]!r}, one of the first two columns, holds no id of the table of nodes, "
        f"and {hold}. Name the columns of the source and the target.",
        "ambiguous",
        setting=("source", "target"),
    )


def _refuse_two_numberings(table: Table, source: str, target: str) -> None:
    """Raise where two differently named columns are each numbered from 0 or 1: users and items, not nodes alike."""
    stems = [re.sub(r"[^a-z]|id$", "", name.lower()) for name in (source, target)]
    if stems[0] in stems[1] or stems[1] in stems[0]:
        return
    about = []
    for name in (source, target):
        cell = f"TRY_CAST({table.sql(name)} AS BIGINT)"
        about.append(
            table.one(
                f"min({cell}), max({cell}), count(DISTINCT {cell}), count(*) - count({cell})"
            )
        )
    dense = all(
        low is not None and 0 <= low <= 10 and not other and 2 * count > high - low
        for low, high, count, other in about
    )
    cells = [
        f"SELECT DISTINCT TRY_CAST({table.sql(name)} AS BIGINT) AS x FROM {table.view}"
        for name in (source, target)
    ]
    if not dense or min(one[2] for one in about) < 10:
        return
    both = first(table.con.execute(f"SELECT count(*) FROM (({cells[0]}) INTERSECT ({cells[1]}))"))[0]
    if 2 * both > min(one[2] for one in about):
        raise InputError(
            f"{table.name}: {source!r} and {target!r} are each numbered from {min(one[0] for one in about)} up, and "
            f"{both:,} numbers are in both. Are these the same nodes? Then name both columns as source and target. If "
            "they are of two kinds, keep them apart with a prefix for the ids of each.",
            "ambiguous",
            setting=("source_prefix", "target_prefix"),
        )


def _list(names: list[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last


def _number_sql(ends: Ends) -> str:
    """SQL of the weights as they are written."""
    table, weight = ends.table, ends.weight
    assert weight is not None
    cell = table.sql(weight)
    if is_text(table.types[weight]):
        return (ends.notation or NumberNotation(weight)).sql(cell)
    return f"TRY_CAST({cell} AS DOUBLE)"


def _weight_sql(ends: Ends) -> str:
    number = _number_sql(ends)
    return f"TRY_CAST({f'abs({number})' if ends.negative == 'absolute' else number} AS FLOAT)"


def _usable_weight(ends: Ends) -> str:
    return (
        "true"
        if ends.weight is None
        else f"coalesce({_weight_sql(ends)} > 0 AND isfinite({_weight_sql(ends)}), false)"
    )


def _with_weights(ends: Ends, clues: Clues, negative: str | None) -> Ends:
    """Edges with how their weights are written, and repairs of the rows that cannot be used."""
    table, weight = ends.table, ends.weight
    ends = replace(ends, negative=negative)
    if weight is not None:
        if is_list(table.types[weight]) or table.types[weight].startswith(
            ("STRUCT", "MAP", "BLOB", "DATE", "TIME")
        ):
            raise InputError(
                f"{table.name}: column {weight!r} holds {table.types[weight]}, which cannot be weights. "
                "Name another column as weight, or rename it.",
                "setting",
                setting="weight",
            )
        if is_text(table.types[weight]):
            others = (one for one in table.columns if one not in (ends.source, ends.target))
            looks = looks_at(table, others)
            found = number_notation(table, weight, looks[weight], replace(clues, looks=looks), sure=True)
            ends = replace(ends, notation=found)
        if negative is None:
            _refuse_negative(ends)
    return _repaired(ends)


def _refuse_negative(ends: Ends) -> None:
    table = ends.table
    below, row, value = table.one(
        f"count(*), min({table.row}), arg_min({_number_sql(ends)}, {table.row})",
        f"WHERE {_number_sql(ends)} < 0",
    )
    if below:
        raise InputError(
            f"{table.name}, row {table.numbers([row])[0]}: column {ends.weight!r} has {below:,} weights below 0, such as "
            f"{value:g}, and a weight says how strong an edge is. Take their absolute value, drop these edges, or rename "
            "the column to have no weights.",
            "ambiguous",
            setting="negative",
        )


def _repaired(ends: Ends) -> Ends:
    """Edges whose rows that cannot be used are named."""
    table = ends.table
    source, target = id_sql(table, [ends.source, ends.target], ends.prefixes)
    lacking = f"{source} IS NULL OR {target} IS NULL"
    rows = [row[0] for row in table.ask(table.row, f"WHERE {lacking}").fetchall()]
    total = len(table)
    if rows:
        table = table.repaired(rows, "lacked one of the two nodes")
        require_rows(table, total - len(rows))
    if ends.weight is not None:
        bad = [
            row[0]
            for row in table.ask(
                table.row, f"WHERE NOT ({lacking}) AND NOT {_usable_weight(ends)}"
            ).fetchall()
        ]
        if bad and len(bad) == total - len(rows):
            raise InputError(
                f"{table.name}, row {table.numbers([0])[0]}: column {ends.weight!r} holds no weight above 0. "
                "Name another column as weight, or leave it out.",
                "setting",
                setting="weight",
            )
        if bad:
            table = table.repaired(bad, f"had no weight above 0 in {ends.weight!r}")
    return replace(ends, table=table)


def edges_like(con: Any, edges: Any, like: Encoding, encoding: str | None) -> Ends:
    """Edges in the columns that an earlier table had."""
    named = frozenset(filter(None, (like.source, like.target, like.weight)))
    table = open_table(con, edges, "edges", Reading(encoding, None, named, of_edges=True))
    require(table, [like.source], "source")
    require(table, [like.target], "target")
    if like.weight is not None:
        require(table, [like.weight], "weight")
    notation = like.weight_notation
    ends = Ends(table, like.source, like.target, like.weight, notation, like.negative, like.prefixes)
    if like.weight is not None and like.negative is None:
        _refuse_negative(ends)
    return _repaired(ends)


# Columns


def column_tables(listed: list[Table], ids: list[str]) -> dict[str, int]:
    of: dict[str, int] = {}
    for at, (table, id) in enumerate(zip(listed, ids, strict=True)):
        for name in table.columns:
            if at and name == id:
                continue
            if name in of:
                raise InputError(
                    f"{listed[of[name]].name} and {table.name} both have a column {name!r}. Rename one of them.",
                    "duplicate",
                    column=name,
                )
            of[name] = at
    return of


def _label_column(
    listed: list[Table],
    of: Mapping[str, int],
    label: str | None,
    features: Features | None,
    like: Encoding | None,
) -> tuple[str | None, tuple[str, ...]]:
    """The column of the classes, and a note where it was guessed."""
    if not listed or (like is not None and label not in of):
        return None, ()  # a table to predict for need not know the answers
    if label is not None:
        if label not in of:
            require(listed[0], [label], "label")
        return label, ()
    found = next((name for usual in LABELS for name in of if name.lower() == usual), None)
    if found is None:
        return None, ()
    table = listed[of[found]]
    others = [name for name in of if name.lower() in LABELS and name != found]
    if others and features is None:
        warn(
            f"{table.name}: {found!r} is the label, and {others[0]!r} is a feature, which may tell the "
            "answer. Name another column as label, or name the features without it."
        )
    return found, (f"{table.name}: took {found!r} as label",)


_Read = tuple[Encoding, dict[str, np.ndarray], tuple[Repair, ...], tuple[str, ...]]


def _learned(
    listed: list[Table],
    ids: list[str],
    of: Mapping[str, int],
    ends: Ends,
    label: str | None,
    labels: Labels,
    features: Features | None,
    clues: Clues,
) -> _Read:
    """What these tables' columns become, to be repeated on others, and their values."""
    columns: list[Column] = []
    left: list[str] = []
    notations: list[Any] = []
    hints: tuple[str, ...] = ()
    if features is None:
        features = [name for name in of if name not in (ids[0], label)]
        hints = _hint_of_names(listed, ids)
    for name in features:
        if name not in of:
            require(listed[0], [name], "features")
    if label is not None and label in features:
        sentence = f"column {label!r} is the label and cannot be a feature. Take it out of features."
        raise InputError(sentence, "conflict", setting="features")
    kinds = dict(features) if isinstance(features, Mapping) else dict.fromkeys(features)
    for at, table in enumerate(listed):
        own = {name: kind for name, kind in kinds.items() if of[name] == at}
        if not len(table):
            continue
        looks = looks_at(table, [name for name in table.columns if name != ids[at]])
        looks |= looks_at(table, [name for name in own if name not in looks])
        found = learn_columns(table, own, replace(clues, looks=looks), looks)
        for all_, some in zip((columns, left, notations), found, strict=True):
            all_.extend(some)  # type: ignore[attr-defined]
    columns.sort(key=lambda column: list(kinds).index(column.name))
    weight = ends.notation if ends.notation is not None and not ends.notation.is_plain else None
    encoding = Encoding(
        tuple(columns), None, ids[0] if ids else None, ends.source, ends.target, ends.weight, label, labels.names,
        tuple(left), tuple(notations), weight, labels.unknown, tuple(ends.prefixes), ends.negative,
    )  # fmt: skip
    values, repairs = {}, []
    for column in columns:
        table, notation = listed[of[column.name]], encoding.notation(column)
        repairs += unreadable(table, column, notation, later=False)
        values[column.name] = read_values(table, column, notation)
    return encoding, values, tuple(repairs), hints


def _hint_of_names(listed: list[Table], ids: list[str]) -> tuple[str, ...]:
    """A note where ids are made of words that recur: they may tell as much as a column."""
    if not listed or not is_text(listed[0].types[ids[0]]):
        return ()
    table, cell = listed[0], id_sql(listed[0], ids[:1])[0]
    words = f"regexp_extract_all(lower({cell}), '[a-z]{{3,}}')"
    shared = first(table.con.execute(
        f"WITH names AS (SELECT {cell} AS id, unnest({words}) AS w FROM {table.view}), often AS (SELECT w FROM names "
        "GROUP BY w HAVING count(DISTINCT id) BETWEEN 2 AND (SELECT count(*) / 4 FROM names)) "
        "SELECT count(DISTINCT id) FROM names SEMI JOIN often USING (w)"
    ))[0]
    if len(table) < 50 or 2 * shared < len(table):
        return ()
    return (f"{table.name}: the ids have words that recur; {ids[0]}:text among the features would use them",)


def read_like(listed: list[Table], of: Mapping[str, int], like: Encoding) -> _Read:
    """Values of columns that were learned from other tables."""
    if like.columns and not listed:
        needed = ", ".join(column.name for column in like.columns)
        sentence = f"the model needs the columns {needed}. Give a table of nodes that has them."
        raise InputError(sentence, "missing", setting="nodes")
    values: dict[str, np.ndarray] = {}
    repairs: list[Repair] = []
    notes: list[str] = []
    for column in like.columns:
        if column.name not in of:
            require(listed[0], [column.name], "features")
        table, notation = listed[of[column.name]], like.notation(column)
        require_order(table, notation)
        repairs += unreadable(table, column, notation, later=True)
        values[column.name] = read_values(table, column, notation)
        notes += new_categories(table, column, values[column.name])
    return like, values, tuple(repairs), tuple(notes)


def _structure(con: Any, n: int, positions: int | None, encoding: Encoding) -> Structure | None:
    """Positions of nodes, where they are asked for or nothing else describes a node."""
    most = _MOST_POSITIONS
    if positions is not None and not (isinstance(positions, int | np.integer) and 0 <= positions <= most):
        raise bad_setting("positions", f"an integer from 0 to {most:,}", positions)
    if not (positions or (positions is None and not encoding.columns)):
        return None
    pairs = con.execute("SELECT s, t FROM pair").fetchnumpy()
    weights = None if encoding.weight is None else con.execute("SELECT w FROM pair").fetchnumpy()["w"]
    adjacency, _ = undirected(np.column_stack([pairs["s"], pairs["t"]]), weights, n)
    return Structure.learn(adjacency, int(positions or _POSITIONS))


def aligned(values: np.ndarray | None, rows: np.ndarray | None, n: int) -> np.ndarray:
    """Values of n nodes: those of their rows, missing where they have none."""
    if values is None or rows is None:
        return np.full(n, None, object)
    found = np.empty(n, values.dtype if values.dtype.kind == "f" else object)
    found[:] = np.nan if found.dtype.kind == "f" else None
    found[rows >= 0] = values[rows[rows >= 0]]
    return found
