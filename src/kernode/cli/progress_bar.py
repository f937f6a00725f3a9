"""The callback that shows the epochs of trainings on progress bars."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from kernode.cli.console import Begin, warned
from kernode.training.callbacks import Callback, describe_validation
from kernode.training.loop import TrainingLoop

_SECONDS = 0.1  # between two updates: reading figures waits for a GPU


class ProgressBar(Callback):
    """Show the epochs of every training, with the mean of its validation figure.

    ``notes``: called once, before the first: everything is checked then. Not every method trains.
    """

    def __init__(self, begin: Begin, notes: Callable[[], None] = lambda: None) -> None:
        self._begin, self._notes, self._last = begin, [notes], 0.0

    def show_notes(self) -> None:
        """Call ``notes`` unless it was done."""
        while self._notes:
            self._notes.pop()()

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Show the notes."""
        self.show_notes()

    def on_step(self, what: str, done: int, total: int) -> None:
        """Show the notes, then a step of a computation other than training."""
        self.show_notes()
        self._begin(total, what, step=True)(done, "")

    def on_message(self, text: str) -> None:
        """Write it to stderr."""
        if warned.shown:
            sys.stderr.write(f"{text}\n")

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Advance the training's bar."""
        if loop.epoch == loop.epochs or time.monotonic() - self._last >= _SECONDS:
            self._last = time.monotonic()
            self._begin(loop.epochs, loop.name)(loop.epoch, describe_validation(loop.latest))
