"""What a command shows of trainings: notes on the input before the first, and epochs on a progress bar."""

from __future__ import annotations

import time

from kernode.cli.console import Advance, Begin
from kernode.cli.options.graph import tell_notes
from kernode.graph import Graph
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop

_TITLES = {"validation_accuracy": "validation", "validation_auc": "validation AUC"}
_SECONDS = 0.1  # between two updates: reading figures waits for a GPU


class InputNotes(Callback):
    """Tell once what was assumed about a graph's tables: when training begins, and all is checked."""

    def __init__(self, graph: Graph, *, quiet: bool) -> None:
        self._graph, self._quiet, self._told = graph, quiet, False

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Tell before the first epoch."""
        self.tell()

    def tell(self) -> None:
        """Tell unless it was done: not every method trains."""
        if not self._told:
            tell_notes(self._graph, quiet=self._quiet)
        self._told = True


class ProgressBar(Callback):
    """Show the epochs of every training, with the mean of its validation figure."""

    def __init__(self, begin: Begin) -> None:
        self._begin, self._last = begin, 0.0
        self._bars: dict[str, Advance] = {}

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Begin a bar."""
        if loop.name not in self._bars:
            self._bars[loop.name] = self._begin(loop.epochs, loop.name)

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Advance it."""
        if loop.epoch < loop.epochs and time.monotonic() - self._last < _SECONDS:
            return
        self._last, values = time.monotonic(), loop.latest
        shown = [f"{title} {values[name].mean():.1f} %" for name, title in _TITLES.items() if name in values]
        self._bars[loop.name](loop.epoch, " ".join(shown))
