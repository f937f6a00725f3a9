"""How often something is computed, from which seed, and where."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kernode.cli.options.single import RUN, DeviceOption, ThreadsOption

if TYPE_CHECKING:
    from kernode.compute.place import Place
    from kernode.graph import Graph
    from kernode.io.sizes import GraphSizes

# Runs where nothing is said. On a large graph one takes minutes on a CPU, and runs differ by a few tenths of
# a point, which three show as well as ten.
_RUNS, _FEW_RUNS, _LARGE = 10, 3, 500_000


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Where it is computed."""

    threads: ThreadsOption = None
    device: DeviceOption = "auto"

    def place(self) -> Place:
        """The device, after the threads are set."""
        from kernode.compute.place import Place, set_threads

        set_threads(self.threads)
        return Place.of(self._bits, self.device)

    @property
    def _bits(self) -> int:
        return 32


@dataclass(frozen=True, kw_only=True)
class RepeatableOptions(DeviceOptions):
    """Where it is computed, and whether to the same bits each time."""

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
        from kernode.compute.gpu import deterministic

        return deterministic() if self.deterministic else nullcontext()

    def place(self) -> Place:
        """The device, after the threads are set."""
        if self.deterministic:
            from kernode.compute.gpu import prepare_gpu

            prepare_gpu()  # naming one of several may start it
        return super().place()


@dataclass(frozen=True, kw_only=True)
class _HowOften:
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


@dataclass(frozen=True, kw_only=True)
class RunOptions(RepeatableOptions, _HowOften):  # whose options the help text has first
    """How often, from which seed, and where."""

    @property
    def _bits(self) -> int:
        return self.precision

    def seeds(self, sizes: GraphSizes | None = None, place: Place | None = None) -> tuple[int, ...]:
        """One for each replica: as many as was said, or as a graph of such sizes can afford."""
        from kernode.compute.replicas import seeds_from

        large = sizes is not None and place is not None and place.device.type == "cpu"
        large = large and sizes is not None and (sizes.filled or sizes.nodes * sizes.features) > _LARGE
        usual = _FEW_RUNS if large else _RUNS
        return seeds_from(self.seed, usual if self.replicas is None else self.replicas)

    def seeds_for(self, graph: Graph, place: Place) -> tuple[int, ...]:
        """The same for a graph that was read; where several processes share it, rank 0 decides."""
        from kernode.graph.share import ranks_of
        from kernode.io.sizes import GraphSizes

        return ranks_of(graph).told_value(self.seeds(GraphSizes.of(graph), place))
