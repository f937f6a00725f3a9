"""Options of a run: output, replicas and checkpoints."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kernode.cli.console import print_json, say, warned
from kernode.cli.files import check_folder, check_out
from kernode.cli.option_groups import flag, option
from kernode.cli.options.settings import RunSettings
from kernode.cli.ranks import rank
from kernode.errors import InputError, bad_setting, kept

if TYPE_CHECKING:
    from kernode.compute.tensor_options import TensorOptions
    from kernode.io.sizes import GraphSizes
    from kernode.training.callbacks import Callback
    from kernode.training.checkpoint import Checkpoint

# Default number of replicas. On a large graph one takes minutes on a CPU, and three show the spread, too; in
# a sum of kernels the members vary as replicas do, and there one does.
_RUNS, _FEW_RUNS, _LARGE = 10, 3, 500_000

LayoutOption = Annotated[str, option("Layout of the nodes: tsne or pca.")]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options of the output."""

    quiet: Annotated[bool, flag("No progress and no warnings.", "--quiet", "-q")] = False
    json: Annotated[bool, flag("Print one JSON object, nothing else.", "--json")] = False

    def __post_init__(self) -> None:
        warned.shown = not self.silent

    @property
    def silent(self) -> bool:
        """Whether neither progress nor warnings are shown."""
        return self.quiet or self.json

    def show(self, facts: dict[str, Any], lines: Iterable[str]) -> None:
        """Print facts as JSON, or lines for people, in rich's markup; these not with --quiet."""
        if self.json:
            print_json(facts)
        elif not self.quiet:
            for line in lines:
                say(line)


@dataclass(frozen=True, kw_only=True)
class FitSettings(RunSettings):
    """Options of training and its logs."""

    precision: int = 32
    tensorboard: Path | None = None
    checkpoint_every: int = 10

    def __post_init__(self) -> None:
        if self.checkpoint_every < 1:
            raise bad_setting("checkpoint_every", "an integer ≥ 1", self.checkpoint_every)

    def callbacks(self) -> list[Callback]:
        """TensorBoard, where a folder is given; rank 0 writes."""
        if self.tensorboard is None or rank():
            return []
        from kernode.training.callbacks import TensorBoard

        check_folder(self.tensorboard)
        return [TensorBoard(self.tensorboard)]


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Number of replicas, seed, model file and checkpoints."""

    replicas: Annotated[
        int | None,
        option(
            "Replicas with seeds S, S+1, …, trained together.",
            show_default=f"{_RUNS}, of a sum {_FEW_RUNS}; on large graphs on a CPU {_FEW_RUNS} and 1",
        ),
    ] = None
    seed: Annotated[int, option("S, the first replica's seed.")] = 0
    epochs: Annotated[int | None, option("Training epochs.", show_default="the variant's")] = None
    time_limit: Annotated[float | None, option("Seconds after which it uses what is trained.", min=0)] = None
    out: Annotated[
        Path | None, option("Model file.", "--out", "-o", show_default="DATA-VARIANT.safetensors")
    ] = None
    with_graph: Annotated[bool, flag("Keep the graph in the model's file, too.", "--with-graph")] = False
    checkpoint: Annotated[Path | None, option("File to resume training from after an interrupt.")] = None
    resume: Annotated[bool, flag("Continue from --checkpoint, which must exist.", "--resume")] = False

    def seeds(
        self, sizes: GraphSizes | None = None, options: TensorOptions | None = None, *, of_sum: bool = False
    ) -> tuple[int, ...]:
        """The seeds of the replicas: as many as given, or as a graph of such sizes or a sum can afford."""
        from kernode.compute.replicas import seeds_from

        usual, fewer = (_FEW_RUNS, 1) if of_sum else (_RUNS, _FEW_RUNS)
        if sizes is not None and options is not None and options.device.type == "cpu":
            usual = fewer if (sizes.filled or sizes.nodes * sizes.features) > _LARGE else usual
        return seeds_from(self.seed, usual if self.replicas is None else self.replicas)

    @contextmanager
    def checkpoints(self, every: int = 10, parts: Collection[str] = ("",)) -> Iterator[list[Checkpoint]]:
        """The checkpoint, if there is one, checked; Ctrl-C then prints how far it is.

        ``parts``: trainings of the command that may have separate files. Rank 0 writes.
        """
        found: list[Checkpoint] = []
        if self.checkpoint is None and self.resume:
            sentence = "--resume needs a checkpoint: give its file."
            raise InputError(sentence, "missing", setting=("resume", "checkpoint"))
        if self.checkpoint is not None and not rank():
            check_out(self.checkpoint)
            from kernode.training.checkpoint import Checkpoint

            restarted = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"  # by torchrun
            found = [Checkpoint(self.checkpoint, every, "if there" if restarted else self.resume)]
            found[0].check(parts)

        def saved() -> str:
            if not found:
                return "Nothing was saved. To save training, use --checkpoint FILE."
            from kernode.training.checkpoint import describe_files

            there = [one for one in map(found[0].part, parts) if one.path.exists()]
            if not there:
                return "Nothing was saved: no checkpoint was written yet."
            return f"{describe_files(there)}: repeat the command with --resume to continue."

        with kept(saved):
            yield found
