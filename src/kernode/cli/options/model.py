"""Options of a saved model and its graph: its own, another, or its own with new nodes."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rich.markup import escape

from kernode.cli.console import harmless, write_data
from kernode.cli.files import Table, as_csv, rows_of, write_table
from kernode.cli.option_groups import argument, option
from kernode.cli.options.graph import NodesOption, file_of, load_data, note_lines
from kernode.cli.options.run import OutputOptions
from kernode.cli.options.settings import DeviceSettings, SetOptions
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.graph import Graph
    from kernode.graph.lookup import Positions
    from kernode.models.model import Model
    from kernode.tasks.classes.model import NodeModel

OutTableOption = Annotated[
    Path | None, option("FILE.csv, .parquet or .json; stdout if not given.", "--out", "-o")
]


_TASKS = {"model": "classes", "node regressor": "numbers", "link predictor": "links"}  # by kind


@dataclass(frozen=True)
class Opened:
    """A model on a graph."""

    path: Path
    model: Any  # an estimator
    nodes: Positions  # to answer about
    notes: tuple[str, ...]  # on the graph's tables
    repairs: tuple[Any, ...]
    from_tables: bool = False  # read by this command

    @property
    def graph(self) -> Graph:
        """The graph of the predictions."""
        found: Graph = self.model.graph_
        return found

    @property
    def on(self) -> Any:
        """The estimator's model on the graph."""
        return self.model._on()

    @property
    def has_numbers(self) -> bool:
        """Whether the model predicts numbers."""
        from kernode.estimators.regressor import NodeKernelRegressor

        return isinstance(self.model, NodeKernelRegressor)

    def known(self, nodes: Any) -> list[Any]:
        """Return the known classes of nodes, or their known numbers; None where not known."""
        if not self.has_numbers:
            return self.graph.classes_of(nodes)
        return [None if one != one else one for one in self.on.truth[nodes].tolist()]  # NaN

    def refuse_of_classes(self, **given: Any) -> None:
        """Refuse options about classes where the model predicts numbers; None: not given."""
        for name in (name for name, value in given.items() if value is not None and self.has_numbers):
            sentence = f"{self.path} is a model of numbers, and this is for classes: leave it out."
            raise InputError(sentence, "no-effect", setting=name)

    @property
    def facts(self) -> dict[str, Any]:
        """The model's file, the graph and its notes, for JSON."""
        return {"model": str(self.path), "dataset": self.graph.name, "notes": list(self.notes)}

    @property
    def lines(self) -> list[str]:
        """Notes on how this command's tables were read."""
        return note_lines(self.notes) if self.from_tables else []

    def show_table(
        self, table: Table, out: Path | None, output: OutputOptions, sentences: list[str],
        rows: str = "predictions", **facts: Any,
    ) -> None:  # fmt: skip
        """Write a table to a file or stdout, and print facts as JSON, or sentences (on stderr with a table).

        ``rows``: where the JSON object has the table, if no file does.
        """
        if out is not None:
            write_table(out, table)
        if output.json or out is not None:
            about: dict[str, Any] = (
                {"out": str(out)} if out is not None else {"out": None, rows: rows_of(table)}
            )
            about["repairs"] = [repair.to_json() for repair in self.repairs]
            output.show(self.facts | facts | about, [*self.lines, *map(escape, sentences)])
            return
        write_data(as_csv(table).decode())
        encoding = self.graph.encoding
        usual = {"made undirected", *(encoding.describe() if encoding else ())}
        news = [f"input: {note}" for note in self.notes if self.from_tables and note not in usual]
        for line in () if output.quiet else (*news, *sentences):
            sys.stderr.write(f"kernode: {harmless(line)}\n")


@dataclass(frozen=True, kw_only=True)
class _TableSettings:
    """Options of the tables of a model's graph."""

    encoding: str | None = None
    as_new_graph: bool = False  # though the tables mention nodes of the model's own graph


@dataclass(frozen=True, kw_only=True)
class ModelOptions(SetOptions):
    """A saved model, and the graph that it answers about."""

    takes: ClassVar[dict[str, Any]] = {"table": _TableSettings, "run": DeviceSettings}

    model: Annotated[Path, argument("A model file that `kernode fit` or `kernode links` wrote.")]
    data: Annotated[
        str | None,
        option(
            "Its graph, or another with the same columns; not needed where the model has its graph or "
            "that is a built-in one.",
            "--graph",
        ),
    ] = None
    nodes: NodesOption = None

    @property
    def inputs(self) -> tuple[str | Path | None, ...]:
        """The files that are read."""
        tables = (*(() if self.data is None else (self.data,)), *(self.nodes or ()))
        return self.model, *map(file_of, tables)

    def open(self, *tasks: str, new_nodes: list[str] | None = None, new_edges: str | None = None) -> Opened:
        """Read both files, and let new nodes and edges arrive at the graph that the model learned from.

        ``tasks``: what the model may be of, "classes" (the default), "numbers" or "links".
        """
        from kernode.estimators.load import as_estimator
        from kernode.graph import positions
        from kernode.models.file import read_model
        from kernode.tasks.classes.model import NodeModel

        model, device = read_model(self.model), str(self.part("run").options().device)
        task = _TASKS[model.kind]
        if task not in (tasks or ("classes",)):
            sentence = f"{self.model} is a model of {task}. Give a model of {(tasks or ('classes',))[0]}."
            raise InputError(sentence, "wrong-file", path=self.model)
        graph, tables = self._graph_for(model)
        if not new_nodes and new_edges is None:
            if graph is not None and tables and isinstance(model, NodeModel):
                self._require_listed(model, graph)
            estimator = as_estimator(model, graph, device, self.model)
            own = estimator.graph_
            return Opened(
                self.model, estimator, positions(range(own.n_nodes)), own.notes, own.repairs, tables
            )
        old = model.own_graph() if graph is None else graph
        if old is None or not model.is_own(old):
            raise InputError(
                f"{self.data or self.model} does not hold {model.dataset!r}, the graph that the model "
                "learned from. Give its own tables, or train with kernode fit … --with-graph.",
                "missing", setting="nodes",
            )  # fmt: skip
        if old.encoding is None:
            sentence = f"{old.name!r} was not read from tables. Use model.extend in Python."
            raise InputError(sentence, "unsupported")
        encoding = self.part("table").encoding
        known: Any = as_estimator(model, old, device)
        grown = known.extend(None, new_nodes, new_edges, encoding=encoding)
        new = grown.graph_
        arrived, of_old = positions(range(old.n_nodes, new.n_nodes)), (len(old.notes), len(old.repairs))
        return Opened(
            self.model, grown, arrived, new.notes[of_old[0] :], new.repairs[of_old[1] :], from_tables=True
        )

    def _graph_for(self, model: Model) -> tuple[Graph | None, bool]:
        """The graph that is given, None for the model's own, and whether it was read from tables.

        Tables are read as those that the model learned from.
        """
        from kernode.io import read_table
        from kernode.io.tables import is_table

        tables, encoding = self.data is not None and is_table(self.data), self.part("table").encoding
        if self.data is not None and tables and model.encoding is not None:
            nodes = self.nodes or None
            return read_table(self.data, nodes, like=model.encoding, encoding=encoding), True
        for name, value in (("nodes", self.nodes), ("encoding", encoding)):
            if value:
                must = "give a table of edges, and a model that learned from tables."
                raise InputError(f"this is about tables: {must}", "no-effect", setting=name)
        return None if self.data is None else load_data(self.data), tables

    def _require_listed(self, model: NodeModel, graph: Graph) -> None:
        """Refuse tables whose edges mention nodes of the model's graph that are not listed."""
        import numpy as np

        if model.is_own(graph) or model.graph is None or self.part("table").as_new_graph:
            return
        names = np.asarray(graph.node_names)
        if graph.listed is not None:
            names = names[~graph.listed]
        elif self.nodes or "nodes=" in str(self.data):
            names = names[:0]
        if own := int(np.isin(names, np.asarray(model.graph.node_names, str)).sum()):
            listed = (word for one in self.nodes or () for word in ("--new-nodes", one))
            words = ["kernode", "predict", str(self.model), "--new-edges", str(self.data), *listed]
            raise InputError(
                f"edges mention {own:,} nodes of {model.dataset!r}, the graph that the model learned from, "
                f"which are not listed. If new nodes arrive at it: {shlex.join(words)}. Else take the tables "
                "as a graph of their own.",
                "ambiguous", setting="as_new_graph",
            )  # fmt: skip


def as_node(graph: Graph, text: str) -> str | int:
    """A node as it is typed: its name, or its index where nodes have no names."""
    is_index = graph.node_names is None and text.isascii() and text.isdigit()
    return int(text) if is_index else text


def chosen_nodes(graph: Graph, text: str, setting: str) -> Positions:
    """Return the nodes of a list "a,b,c", or of a file with one per line."""
    import numpy as np

    try:
        listed = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{text} is not a text file in UTF-8.", "wrong-file", path=text) from None
    except (OSError, ValueError):  # no such file, or a text that cannot be the name of one
        listed = text.split(",")
    names = [name.strip() for name in listed if name.strip()]
    if not names:
        raise InputError(f"{text} names no node. Give a,b,c or a file.", "too-few", setting=setting)
    nodes = graph.find([as_node(graph, name) for name in names])
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        twice = names_of(graph, values[counts > 1])[0]
        raise InputError(f"{twice} is listed twice. List each node once.", "duplicate", setting=setting)
    return nodes


def names_of(graph: Graph, nodes: Any) -> Any:
    """Names of nodes, or their indices where the graph has no names: an array."""
    from kernode.graph import typed_names

    return nodes if graph.node_names is None else typed_names(graph.node_names)[nodes]
