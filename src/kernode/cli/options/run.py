"""How a command runs: output, device, seeds, checkpoints, TensorBoard."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import warned
from kernode.cli.files import check_folder, check_writable
from kernode.cli.ranks import rank, restarted
from kernode.errors import InputError, kept

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.graph import Graph
    from kernode.io.sizes import GraphSizes
    from kernode.training.checkpoint import Checkpoint
    from kernode.training.tensorboard import TensorBoard

# Default number of runs. On a large graph one takes minutes on a CPU, and three show the spread, too.
_RUNS, _FEW_RUNS, _LARGE = 10, 3, 500_000

RUN: Any = {"rich_help_panel": "Run"}
DeviceOption = Annotated[str, typer.Option(help="auto, cpu, cuda or, of several GPUs, cuda:1.", **RUN)]
ResultsOption = Annotated[
    Path | None,
    typer.Option(help="Folder where results are stored and looked for.", show_default="./results"),
]
TensorBoardOption = Annotated[
    Path | None,
    typer.Option(help="Folder for TensorBoard. Needs the extra tensorboard.", show_default=False, **RUN),
]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What is printed and logged."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, nothing else.")] = False
    log_file: Annotated[
        Path | None, typer.Option(help="Append what is done to this file, as JSON lines.", show_default=False)
    ] = None

    def __post_init__(self) -> None:
        warned.shown = not self.silent

    @property
    def silent(self) -> bool:
        """Whether neither progress nor warnings are shown."""
        return self.quiet or self.json


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Where it is computed."""

    threads: Annotated[int | None, typer.Option(help="CPU threads.", **RUN)] = None
    device: DeviceOption = "auto"

    def place(self) -> Place:
        """The device, after the threads are set."""
        from kernode.compute.gpu import prepare_gpu
        from kernode.compute.place import Place, set_threads

        set_threads(self.threads)
        if getattr(self, "deterministic", False):
            prepare_gpu()  # naming one of several may start it
        return Place.of(getattr(self, "precision", 32), self.device)


@dataclass(frozen=True, kw_only=True)
class RepeatableOptions(DeviceOptions):
    """Where it is computed, and whether with the same bits each time."""

    deterministic: Annotated[
        bool,
        typer.Option("--deterministic", help="The same bits each time on a GPU, too, but slower.", **RUN),
    ] = False

    def computing(self) -> AbstractContextManager[None]:
        """A context in which results repeat, where that is wanted."""
        from kernode.compute.gpu import deterministic

        return deterministic() if self.deterministic else nullcontext()


@dataclass(frozen=True, kw_only=True)
class RunOptions(RepeatableOptions):
    """How many runs, from which seed, and where."""

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

    def seeds(self, sizes: GraphSizes | None = None, place: Place | None = None) -> tuple[int, ...]:
        """The seeds of the replicas: as many as given, or as a graph of such sizes can afford."""
        from kernode.compute.replicas import seeds_from

        usual = _RUNS
        if sizes is not None and place is not None and place.device.type == "cpu":
            usual = _FEW_RUNS if (sizes.filled or sizes.nodes * sizes.features) > _LARGE else _RUNS
        return seeds_from(self.seed, usual if self.replicas is None else self.replicas)

    def seeds_for(self, graph: Graph, place: Place) -> tuple[int, ...]:
        """The same for a graph that was read; where several processes share it, rank 0 decides."""
        from kernode.graph.share import ranks_of
        from kernode.io.sizes import GraphSizes

        return ranks_of(graph).broadcast_object(self.seeds(GraphSizes.of(graph), place))


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """Training that can be interrupted."""

    checkpoint: Annotated[
        Path | None, typer.Option(help="File for interrupted training.", show_default=False, **RUN)
    ] = None
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Write it after so many epochs.", show_default="10", min=1, **RUN)
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from --checkpoint, which must be there.", **RUN)
    ] = False

    @contextmanager
    def opened(self, parts: Collection[str] = ("",)) -> Iterator[Checkpoint | None]:
        """The checkpoint, if there is one; Ctrl-C then ends with a sentence about what it holds.

        ``parts``: trainings of the command that may have separate files.
        """
        checkpoint = self.file(parts)

        def held() -> str:
            if checkpoint is None:
                return "Nothing was saved; --checkpoint FILE would have kept it."
            from kernode.training.checkpoint import describe_files

            there = [one for one in map(checkpoint.part, parts) if one.path.exists()]
            if not there:
                return "Nothing was saved: no checkpoint was written yet."
            return f"{describe_files(there)}: the same command with --resume goes on."

        with kept(held):
            yield checkpoint

    def file(self, parts: Collection[str] = ("",)) -> Checkpoint | None:
        """The checkpoint, checked; None on other ranks than 0."""
        if rank():
            return None
        if self.checkpoint is None:
            for setting in ("resume", "checkpoint_every"):
                if getattr(self, setting):
                    sentence = "there is no checkpoint: name its file, too."
                    raise InputError(sentence, "missing", setting=(setting, "checkpoint"))
            return None
        check_writable(self.checkpoint)
        from kernode.training.checkpoint import Checkpoint

        checkpoint = Checkpoint(
            self.checkpoint, self.checkpoint_every or 10, "if there" if restarted() else self.resume
        )
        checkpoint.check(parts)
        return checkpoint


@dataclass(frozen=True, kw_only=True)
class FitOptions(CheckpointOptions, RunOptions):
    """How a model is trained, watched and saved."""

    settings: Annotated[
        Path | None,
        typer.Option(help="File that `kernode tune` wrote; other options win over it.", show_default=False),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Model file.", show_default="DATA-VARIANT.safetensors", **RUN),
    ] = None
    with_graph: Annotated[
        bool, typer.Option("--with-graph", help="Keep the graph in the model's file, too.", **RUN)
    ] = False
    tensorboard: TensorBoardOption = None


def check_board(folder: Path | None, *, elsewhere: bool = False) -> TensorBoard | None:
    """The callback that writes to a folder, if one is given; rank 0 writes.

    ``elsewhere``: trainings run in other processes, whose epochs are not seen here.
    """
    if folder is None or rank():
        return None
    if elsewhere:
        sentence = "TensorBoard is for trainings of this process. Leave out jobs and backend."
        raise InputError(sentence, "conflict", setting="tensorboard")
    from kernode.training.tensorboard import TensorBoard

    check_folder(folder)
    return TensorBoard(folder)
