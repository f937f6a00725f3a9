"""Every option that more than one command has, in groups: a command takes what it needs of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli import parsing
from kernode.cli.console import check_writable, data_name, warned
from kernode.cli.graph_source import as_options, graph_from
from kernode.cli.model_source import Opened, open_model
from kernode.cli.ranks import began_again, processes, rank
from kernode.ctrl_c import kept
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.compute.threads import Threads
    from kernode.data.sizes import GraphSizes
    from kernode.graph import Graph
    from kernode.training.checkpoint import Checkpoint
    from kernode.training.settings import Training

DATA_HELP = (
    "cora, citeseer, pubmed, an .npz graph, a table of edges, a store's folder, "
    "or synthetic:nodes=20000,degree=10,…"
)
_TABLES: Any = {"rich_help_panel": "Your own tables (CSV, TSV, Parquet, Arrow)", "show_default": False}
# Runs where nothing is said. On a large graph one takes minutes on a CPU, and runs differ by a few tenths of
# a point, which three show as well as ten.
_RUNS, _FEW_RUNS, _LARGE = 10, 3, 500_000
METHOD: Any = {"rich_help_panel": "Method (default: as the variant has it)"}
RUN: Any = {"rich_help_panel": "Run"}

NodesOption = Annotated[Path | None, typer.Option(help="Table of nodes: ids, features, labels.", **_TABLES)]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Of text files: utf-8, cp1252, …; left out: UTF-8, else Windows-1252.", **_TABLES),
]
SettingsOption = Annotated[
    Path | None,
    typer.Option(help="File that `kernode tune` wrote; other options win over it.", show_default=False),
]
SplitOption = Annotated[
    str | None,
    typer.Option(
        help="fastgcn, public, jk, fractions 0.6/0.2/0.2, counts 140/500/1000, 20-per-class, or a file "
        "(.npz, .json, .csv)."
    ),
]
ThreadsOption = Annotated[int | None, typer.Option(help="CPU threads.", **RUN)]
DeviceOption = Annotated[str, typer.Option(help="auto, cpu, cuda or, of several GPUs, cuda:1.", **RUN)]
ResultsOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder where results are stored, and the only one looked into. "
        "Left out: ./results, then those shipped.",
        show_default=False,
    ),
]


TensorBoardOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder for TensorBoard: curves of every training, and the result. Needs the extra tensorboard.",
        show_default=False,
        **RUN,
    ),
]
ProfileOption = Annotated[
    bool, typer.Option("--profile", help="Say at the end, on stderr, where the seconds went.", **RUN)
]
WithGraphOption = Annotated[
    bool,
    typer.Option(
        "--with-graph", help="Keep the graph in the model's file: nothing else is needed then.", **RUN
    ),
]


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What is in which column of people's own tables."""

    nodes: NodesOption = None
    label: Annotated[str | None, typer.Option(help="Column of the classes; gaps are unknown.", **_TABLES)] = (
        None
    )
    id: Annotated[str | None, typer.Option(help="Column of the nodes' ids.", **_TABLES)] = None
    source: Annotated[str | None, typer.Option(help="Column of the edges' first nodes.", **_TABLES)] = None
    target: Annotated[str | None, typer.Option(help="Column of the edges' second nodes.", **_TABLES)] = None
    weight: Annotated[str | None, typer.Option(help="Column of the edges' weights.", **_TABLES)] = None
    features: Annotated[
        str | None,
        typer.Option(
            help="Columns to learn from, with kinds if need be: year,venue:category,title:text.", **_TABLES
        ),
    ] = None
    positions: Annotated[
        int | None,
        typer.Option(
            help="Random-projection positions beside the degree; 64 without features, else 0.", **_TABLES
        ),
    ] = None

    unknown: Annotated[
        str | None,
        typer.Option(
            help="What means not known in the label column, with commas between: '-1,unknown'; '' for none.",
            **_TABLES,
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(help="Decimal sign of numbers, '.' or ','; left out: as it looks.", **_TABLES),
    ] = None
    dates: Annotated[
        str | None, typer.Option(help="Order of dates, dmy or mdy; left out: as it looks.", **_TABLES)
    ] = None
    encoding: EncodingOption = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row of text files holds names; left out: as it looks.",
            **_TABLES,
        ),
    ] = None

    def columns(self) -> dict[str, Any]:
        """Those that were given, by name."""
        return {
            field.name: value
            for field in fields(TableOptions)
            if (value := getattr(self, field.name)) is not None
        }

    def graphs(self, names: list[str]) -> list[Graph]:
        """Several graphs; the options are about each table among them."""
        from kernode.data.tables import is_table

        about = [name for name in names if is_table(name)] or names[:1]  # without one, the first complains
        return [graph_from(name, **self.columns() if name in about else {}) for name in names]


@dataclass(frozen=True, kw_only=True)
class GraphOptions(TableOptions):
    """One graph: a name, a file, or tables."""

    data: Annotated[str, typer.Argument(help=DATA_HELP)]

    def __post_init__(self) -> None:
        if Path(self.data).suffix == ".safetensors":
            raise InputError(
                f"{self.data} is a model, not a graph. Give the graph; kernode predict, similar and explain "
                "take models."
            )

    def graph(self) -> Graph:
        """Load, fetch, make or read it."""
        return graph_from(self.data, **self.columns())

    def require_memory(self, methods: Mapping[str, tuple[Any, Training]], place: Place) -> None:
        """Refuse before a graph is made or read where no method fits; what does not is left out later."""
        from kernode.data.sizes import look_up
        from kernode.data.store import is_store
        from kernode.data.synthetic import is_synthetic
        from kernode.training.memory_check import refused

        if is_synthetic(self.data) or is_store(self.data):
            refused(look_up(self.data).share(processes()), methods, place)

    @property
    def name(self) -> str:
        """What it is called in the names of files."""
        return data_name(self.data)

    @property
    def files(self) -> list[str]:
        """What a command needs to be told that has a model of it: files; any other is found by its name."""
        from kernode.data.registry import is_registered

        if not Path(self.data).suffix and (is_registered(self.data) or not Path(self.data).is_dir()):
            return []
        given = {"nodes": self.nodes, "encoding": self.encoding}
        return [
            self.data,
            *(word for name, value in given.items() if value for word in (f"--{name}", str(value))),
        ]

    @property
    def words(self) -> list[str]:
        """What a command needs to be told that reads it anew."""
        return [
            self.data,
            *(word for name, value in self.columns().items() for word in _as_words(name, value)),
        ]


def _as_words(name: str, value: Any) -> list[str]:
    """An option as it is typed."""
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", str(value)]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """A saved model, and the graph it is to answer about."""

    model: Annotated[Path, typer.Argument(help="A model file that `kernode fit` wrote.")]
    data: Annotated[
        str | None,
        typer.Argument(
            help="Its graph, another with the same columns, or a table of edges that arrive; "
            "not needed where the model has its graph or that is a built-in one."
        ),
    ] = None
    nodes: NodesOption = None
    encoding: EncodingOption = None
    whole: Annotated[
        bool,
        typer.Option(
            "--whole", help="Take tables as a graph of their own, though they mention the model's nodes."
        ),
    ] = False
    device: DeviceOption = "auto"

    def open(self) -> Opened:
        """Read both files."""
        try:
            return open_model(self.model, self.data, self.nodes, self.whole, self.device, self.encoding)
        except InputError as error:
            raise InputError(as_options(str(error))) from error


@dataclass(frozen=True, kw_only=True)
class AskedModelOptions(ModelOptions):
    """A saved model that is asked about nodes: its graph is an option, for arguments are nodes."""

    data: Annotated[
        str | None,
        typer.Option(
            "--graph",
            help="The model's graph, another with the same columns, or a table of edges that arrive; "
            "not needed where the model has its graph or that is a built-in one.",
            show_default=False,
        ),
    ] = None

    def open(self) -> Opened:
        """Read both files."""
        try:
            return super().open()
        except InputError as error:
            raise InputError(str(error).replace("after the model", "with --graph")) from error


@dataclass(frozen=True, kw_only=True)
class _Changes:
    """Settings of a variant that can be changed one by one."""

    def changes(self) -> dict[str, Any]:
        """Those that were given, by the names that variants have for them."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: _PARSERS[name](value) if name in _PARSERS else value
            for name, value in given.items()
            if value is not None
        }


def _map(text: str) -> Any:
    from kernode.cli.parts import parse_part  # here, for maps and kernels wait for torch
    from kernode.maps import FeatureMap

    return parse_part(text, FeatureMap, "map")


def _kernel(text: str) -> Any:
    from kernode.cli.parts import parse_part
    from kernode.kernels import BaseKernel

    return parse_part(text, BaseKernel, "kernel")


_PARSERS: dict[str, Callable[[str], Any]] = {
    "hidden": parsing.widths,
    "hop_weights": parsing.hop_weights,
    "map": _map,
    "kernel": _kernel,
}


@dataclass(frozen=True, kw_only=True)
class PartOptions(_Changes):
    """The two parts of every kernel K(u, v) = k(g(u), g(v))."""

    map: Annotated[
        str | None, typer.Option(help="g, as in Python: gat, or 'GCN(hidden=(64,))'.", **METHOD)
    ] = None
    kernel: Annotated[
        str | None, typer.Option(help="k, as in Python: rbf, or 'Linear() + RBF(gamma=0.5)'.", **METHOD)
    ] = None


@dataclass(frozen=True, kw_only=True)
class MethodOptions(PartOptions):
    """What a node classifier is made of."""

    objective: Annotated[
        str | None, typer.Option(help="kernel (L_K), softmax (L_Y) or joint (both).", **METHOD)
    ] = None
    kernel_loss: Annotated[str | None, typer.Option(help="hinge, squared or logistic.", **METHOD)] = None
    hops: Annotated[int | None, typer.Option(help="H: neighbours at 0 … H hops.", **METHOD)] = None
    layers: Annotated[int | None, typer.Option(help="Layers of the MLP.", **METHOD)] = None
    hidden: Annotated[str | None, typer.Option(help="Hidden widths: 16, or 64,32.", **METHOD)] = None
    powers: Annotated[
        str | None,
        typer.Option(
            help="each (paper), last (its program's text), released (what that runs), plain.", **METHOD
        ),
    ] = None
    hop_weights: Annotated[str | None, typer.Option(help="learned, or c for c^h.", **METHOD)] = None


@dataclass(frozen=True, kw_only=True)
class CommonTrainingOptions(_Changes):
    """How anything is trained, nodes or links."""

    epochs: Annotated[int | None, typer.Option(help="Training epochs.", **METHOD)] = None
    learning_rate: Annotated[float | None, typer.Option(help="Adam's step size.", **METHOD)] = None
    weight_decay: Annotated[float | None, typer.Option(help="L2 penalty.", **METHOD)] = None
    dropout: Annotated[float | None, typer.Option(help="Rate after hidden layers.", **METHOD)] = None
    input_dropout: Annotated[float | None, typer.Option(help="Rate on the features.", **METHOD)] = None
    selection: Annotated[str | None, typer.Option(help="best (validation epoch) or last.", **METHOD)] = None
    patience: Annotated[int | None, typer.Option(help="Stop early after so many epochs.", **METHOD)] = None
    averaging: Annotated[
        float | None, typer.Option(help="β of the moving average that is kept; 0 for none.", **METHOD)
    ] = None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(CommonTrainingOptions):
    """How a node classifier is trained."""

    select_by: Annotated[str | None, typer.Option(help="best by accuracy, or by map.", **METHOD)] = None
    kernel_weight: Annotated[float | None, typer.Option(help="λ, weight of L_K beside L_Y.", **METHOD)] = None
    margin: Annotated[float | None, typer.Option(help="α of the triplet hinge.", **METHOD)] = None
    triplets: Annotated[int | None, typer.Option(help="Triplets drawn each epoch.", **METHOD)] = None
    class_weights: Annotated[str | None, typer.Option(help="balanced, for rare classes.", **METHOD)] = None


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Where it is computed."""

    threads: ThreadsOption = None
    device: DeviceOption = "auto"

    def place(self) -> Place:
        """The device, after the threads are set."""
        return _place(self.threads, 32, self.device)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How often, from which seed, and where."""

    replicas: Annotated[
        int | None,
        typer.Option(
            help="Runs with seeds S, S+1, …, trained together.",
            show_default=f"{_RUNS}; fit on a CPU, with more than {_LARGE:,} feature values: {_FEW_RUNS}",
            **RUN,
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="S, the first run's seed.", **RUN)] = 0
    precision: Annotated[int, typer.Option(help="32 or 64 bits.", **RUN)] = 32
    threads: ThreadsOption = None
    device: DeviceOption = "auto"
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic",
            help="The same bits each time on a GPU, too, which takes longer; on a CPU they depend on "
            "--threads alone, and then a busy machine does not change their number.",
            **RUN,
        ),
    ] = False

    def computing(self) -> AbstractContextManager[None]:
        """While this lasts what is computed repeats itself, if that was asked for."""
        from kernode.compute.determinism import deterministic

        return deterministic() if self.deterministic else nullcontext()

    def place(self) -> Place:
        """The device, after the threads are set."""
        if self.deterministic:
            from kernode.compute.determinism import prepare_gpu

            prepare_gpu()  # naming one of several may start it
        return _place(self.threads, self.precision, self.device)

    def of_training(self) -> Threads:
        """The threads of a training: those that :meth:`place` has set, or as many as are worth having."""
        return "measured" if self.threads is None else None

    def seeds(self, sizes: GraphSizes | None = None, place: Place | None = None) -> tuple[int, ...]:
        """One for each replica: as many as was said, or as a graph of such sizes can afford."""
        from kernode.compute.replicas import seeds_from

        large = sizes is not None and place is not None and place.device.type == "cpu"
        large = large and sizes is not None and (sizes.filled or sizes.nodes * sizes.features) > _LARGE
        usual = _FEW_RUNS if large else _RUNS
        return seeds_from(self.seed, usual if self.replicas is None else self.replicas)


def _place(threads: int | None, precision: int, device: str) -> Place:
    from kernode.compute.place import Place, set_threads

    set_threads(threads)
    return Place.of(precision, device)


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """Training that can be interrupted."""

    checkpoint: Annotated[
        Path | None, typer.Option(help="File for interrupted training.", show_default=False, **RUN)
    ] = None
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Write it after so many epochs.", show_default="10", **RUN)
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from --checkpoint, which must be there.", **RUN)
    ] = False

    @contextmanager
    def opened(self, parts: Collection[str] = ("",)) -> Iterator[Checkpoint | None]:
        """The file, if there is to be one; whoever interrupts hears what is in it.

        ``parts``: trainings of the command that may have files of their own.
        """
        checkpoint = self.file(parts)

        def in_files() -> str:
            if checkpoint is None:
                return "Nothing was saved; --checkpoint FILE would have kept it."
            from kernode.training.checkpoint import held

            files = [checkpoint.part(name) for name in parts]
            there = [one for one in files if one.path.exists()]
            if not there:
                return "Nothing was saved: no checkpoint was written yet."
            return f"{held(there)}: the same command with --resume goes on."

        with kept(in_files):
            yield checkpoint

    def file(self, parts: Collection[str] = ("",)) -> Checkpoint | None:
        """The file to write and to go on from, if there is to be one."""
        if rank():  # the first of several processes has it
            return None
        if self.checkpoint is None:
            if self.resume:
                raise InputError("--resume needs --checkpoint FILE, the file to go on from.")
            if self.checkpoint_every is not None:
                raise InputError("--checkpoint-every needs --checkpoint FILE, the file to write.")
            return None
        check_writable(self.checkpoint)
        if self.checkpoint_every is not None and self.checkpoint_every < 1:
            raise InputError(f"--checkpoint-every must be an integer ≥ 1. Got {self.checkpoint_every}.")
        from kernode.training.checkpoint import Checkpoint

        every = 10 if self.checkpoint_every is None else self.checkpoint_every
        resume: Any = "if there" if began_again() else self.resume
        checkpoint = Checkpoint(self.checkpoint, every, resume)
        checkpoint.check(parts, word="--resume")
        return checkpoint


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """How much is said, and to whom."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings on stderr.")] = (
        False
    )
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on stdout (UTF-8), nothing else.")
    ] = False

    log_file: Annotated[
        Path | None,
        typer.Option(
            help="Add lines of JSON to this file: what is done, warnings, the end.", show_default=False
        ),
    ] = None

    def __post_init__(self) -> None:
        warned.shown = not self.silent

    @property
    def silent(self) -> bool:
        """Whether neither progress nor warnings are shown."""
        return self.quiet or self.json
