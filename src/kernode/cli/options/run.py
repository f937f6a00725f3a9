"""How a command runs: what it prints, how often it trains, and checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kernode.cli.console import warned
from kernode.cli.files import check_writable
from kernode.cli.option_groups import option
from kernode.cli.options.settings import RunSettings
from kernode.cli.ranks import rank, restarted
from kernode.errors import InputError, bad_setting, kept

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.io.sizes import GraphSizes
    from kernode.training.checkpoint import Checkpoint

# Default number of runs. On a large graph one takes minutes on a CPU, and three show the spread, too.
_RUNS, _FEW_RUNS, _LARGE = 10, 3, 500_000

OutOption = Annotated[
    Path | None, option("Model file.", "--out", "-o", show_default="DATA-VARIANT.safetensors")
]
LayoutOption = Annotated[str, option("How nodes are laid out: tsne or pca.")]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What is printed."""

    quiet: Annotated[bool, option("No progress and no warnings.", "--quiet", "-q")] = False
    json: Annotated[bool, option("Print one JSON object, nothing else.", "--json")] = False

    def __post_init__(self) -> None:
        warned.shown = not self.silent

    @property
    def silent(self) -> bool:
        """Whether neither progress nor warnings are shown."""
        return self.quiet or self.json


@dataclass(frozen=True, kw_only=True)
class FitSettings(RunSettings):
    """How a model is trained and watched."""

    precision: int = 32
    tensorboard: Path | None = None
    checkpoint_every: int = 10

    def __post_init__(self) -> None:
        if self.checkpoint_every < 1:
            raise bad_setting("checkpoint_every", "an integer ≥ 1", self.checkpoint_every)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How many runs, from which seed; the model's file; and training that can be interrupted."""

    replicas: Annotated[
        int | None,
        option(
            "Runs with seeds S, S+1, …, trained together.",
            show_default=f"{_RUNS}; fit on a CPU, with more than {_LARGE:,} feature values: {_FEW_RUNS}",
        ),
    ] = None
    seed: Annotated[int, option("S, the first run's seed.")] = 0
    epochs: Annotated[int | None, option("Training epochs.", show_default="the variant's")] = None
    out: OutOption = None
    with_graph: Annotated[bool, option("Keep the graph in the model's file, too.", "--with-graph")] = False
    checkpoint: Annotated[Path | None, option("File for interrupted training.")] = None
    resume: Annotated[bool, option("Go on from --checkpoint, which must be there.", "--resume")] = False

    def seeds(self, sizes: GraphSizes | None = None, place: Place | None = None) -> tuple[int, ...]:
        """The seeds of the replicas: as many as given, or as a graph of such sizes can afford."""
        from kernode.compute.replicas import seeds_from

        usual = _RUNS
        if sizes is not None and place is not None and place.device.type == "cpu":
            usual = _FEW_RUNS if (sizes.filled or sizes.nodes * sizes.features) > _LARGE else _RUNS
        return seeds_from(self.seed, usual if self.replicas is None else self.replicas)

    @contextmanager
    def opened(self, every: int = 10, parts: Collection[str] = ("",)) -> Iterator[Checkpoint | None]:
        """The checkpoint, if there is one; Ctrl-C then ends with a sentence about what it holds.

        ``parts``: trainings of the command that may have separate files.
        """
        checkpoint = self.file(every, parts)

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

    def file(self, every: int = 10, parts: Collection[str] = ("",)) -> Checkpoint | None:
        """The checkpoint, checked; None on other ranks than 0."""
        if rank():
            return None
        if self.checkpoint is None:
            if self.resume:
                sentence = "there is no checkpoint: name its file, too."
                raise InputError(sentence, "missing", setting=("resume", "checkpoint"))
            return None
        check_writable(self.checkpoint)
        from kernode.training.checkpoint import Checkpoint

        checkpoint = Checkpoint(self.checkpoint, every, "if there" if restarted() else self.resume)
        checkpoint.check(parts)
        return checkpoint
