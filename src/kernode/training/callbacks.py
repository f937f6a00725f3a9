"""Callbacks: one protocol for progress, checkpoints, TensorBoard, logs and users' own."""

from __future__ import annotations

import logging
import sys
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.compute.replicas import whole
from kernode.errors import InputError, MissingExtraError, warn
from kernode.metrics.scoring import figure_name, in_percent
from kernode.progress import log_event

if TYPE_CHECKING:
    from kernode.training.loop import TrainingLoop

_SECONDS = {1: 2.0, 2: 0.1}  # between two lines, by verbosity
_SHORT_FIT = 2.0  # seconds: shorter fits show no bar in a notebook
_BAR_SECONDS = 0.2  # between two updates of a notebook's bar


class Callback:
    """Base class of callbacks; override what you need.

    Each method gets the :class:`~kernode.training.loop.TrainingLoop`: ``loop.name`` is what trains,
    ``loop.epoch`` the number of epochs done, ``loop.epochs`` how many there are at most, ``loop.latest`` the
    figures of the last epoch, one number per replica each. Reading ``latest`` waits for a GPU: do so now and
    then.

    >>> class Losses(Callback):
    ...     def on_epoch_end(self, loop):
    ...         print(loop.epoch, loop.latest["loss"].shape)
    >>> import kernode as kn
    >>> graph, split = kn.load("synthetic:nodes=100,classes=3,features=8", split="0.5/0.25/0.25")
    >>> model = kn.NodeKernelClassifier("n1", epochs=2, training={"selection": "last"}, callbacks=[Losses()])
    >>> model = model.fit(split.train, graph.labels[split.train], graph=graph)
    1 (1,)
    2 (1,)
    """

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Training begins, or continues after a pause."""

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """An epoch is done."""

    def on_fit_end(self, loop: TrainingLoop) -> None:
        """Training has ended, paused or been interrupted (``loop.interrupted``)."""

    def on_message(self, text: str) -> None:
        """Something is known before the fit ends, such as the first answer of a sum of kernels."""

    def part(self, name: str) -> Callback:
        """Return the callback for one of several trainings that make up a fit; mostly the same object."""
        return self


class Verbose(Callback):
    """Print the progress to stderr every two seconds (1), or for nearly every epoch (2)."""

    def __init__(self, verbose: int) -> None:
        self.verbose = min(whole("verbose", verbose, 0), 2)
        self._last = time.monotonic()

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Print the epoch's validation figure, if the last line is old enough."""
        last = self.verbose > 1 and loop.epoch == loop.epochs
        if last or time.monotonic() - self._last >= _SECONDS[self.verbose]:
            self._last = time.monotonic()
            line = describe_epoch(loop.name, loop.epoch, loop.epochs, loop.latest)
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


class NotebookBar(Callback):
    """Show one progress bar below a notebook's cell, in fits of more than two seconds."""

    def __init__(self) -> None:
        self._started, self._last = time.monotonic(), 0.0
        self._shown: Any = None

    @staticmethod
    def is_wanted() -> bool:
        """Return whether this process is the kernel of a notebook."""
        ipython = sys.modules.get("IPython")
        return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Update the bar, if the last update is old enough."""
        now = time.monotonic()
        if now - self._started >= _SHORT_FIT and now - self._last >= _BAR_SECONDS:
            self._last = now
            self._show(loop)

    def on_fit_end(self, loop: TrainingLoop) -> None:
        """Show the last epoch."""
        if self._shown is not None and loop.epoch:
            self._show(loop)

    def _show(self, loop: TrainingLoop) -> None:
        from IPython.display import HTML, display

        line = escape(describe_epoch(loop.name, loop.epoch, loop.epochs, loop.latest))
        bar = HTML(f'<progress value="{loop.epoch}" max="{loop.epochs}"></progress> {line}')
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)


class TimeLimit(Callback):
    """End trainings after so many seconds in all; what is trained until then is used."""

    def __init__(self, seconds: float, started: float | None = None) -> None:
        self.seconds, self.started = seconds, time.monotonic() if started is None else started
        self._has_ended_one = False

    @property
    def is_over(self) -> bool:
        """Return whether the time is over."""
        return time.monotonic() - self.started > self.seconds

    def within(self, share: float) -> TimeLimit:
        """Return a limit with the same start and a share of the time."""
        return TimeLimit(share * self.seconds, self.started)

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Refuse several processes, whose clocks would disagree about the last epoch."""
        if not loop.ranks.alone:
            sentence = "time_limit has no effect on a training of several processes: leave it out."
            raise InputError(sentence, "no-effect", setting="time_limit")

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Make this epoch the last, if the time is over."""
        if self.is_over and loop.epoch < loop.epochs:
            if not self._has_ended_one:
                epochs = f"{loop.epoch} epoch{'s' * (loop.epoch > 1)}"
                warn(f"the time limit ended {loop.name or 'training'} after {epochs}: that is what is used.")
            self._has_ended_one, loop.epochs = True, loop.epoch


class EpochLog(Callback):
    """Write each epoch to the log "kernode", at level DEBUG."""

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Start the clock."""
        self._started = time.perf_counter()

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Log the mean of every figure over the replicas."""
        latest, seconds = loop.latest, round(time.perf_counter() - self._started, 4)
        means = {name: float(one.mean()) for name, one in latest.items() if name != "hop_weights"}
        about = {"training": loop.name, "epoch": loop.epoch, "epochs": loop.epochs, **means}
        line = describe_epoch(loop.name, loop.epoch, loop.epochs, latest)
        log_event("epoch", line, logging.DEBUG, **about, seconds=seconds)


def describe_epoch(name: str, epoch: int, epochs: int, values: dict[str, np.ndarray]) -> str:
    """Describe an epoch in a line, with the mean over the replicas.

    >>> describe_epoch("k3", 120, 200, {"validation_accuracy": np.array([86.0, 86.2])})
    'k3: epoch 120 of 200, validation 86.1 %'
    """
    shown = describe_validation(values)
    loss = f"loss {values['loss'].mean():.4g}" if "loss" in values and not shown else ""
    return ", ".join(filter(None, (f"{name or 'training'}: epoch {epoch} of {epochs}", shown, loss)))


def describe_validation(values: dict[str, np.ndarray]) -> str:
    """Describe the validation figures of an epoch, by the means over the replicas."""
    found = []
    for key, figures in values.items():
        part, _, figure = key.partition("_")
        if part == "validation" and figure != "loss":
            name = "" if figure == "accuracy" else f"{figure_name(figure)} "
            shown = f"{figures.mean():.1f} %" if in_percent(figure) else f"{figures.mean():.4g}"
            found.append(f"validation {name}{shown}")
    return ", ".join(found)


_MOST_REPLICAS = 16  # of which each has a curve; the mean always has one


class TensorBoard(Callback):
    """Write the figures of every training to a folder of its name within ``folder``.

    A folder that exists is left alone: the next is called name-2.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingExtraError(
                "TensorBoard is not installed: pip install 'kernode[tensorboard]'.",
                package="tensorboard", extra="tensorboard",
            ) from None  # fmt: skip
        self._new, self.folder = SummaryWriter, Path(folder)
        self._writers: dict[str, Any] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> TensorBoard:
        """Write to the same folder from a copy, as scikit-learn's clone makes it."""
        return TensorBoard(self.folder)

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Open a folder, unless this training goes on."""
        if loop.name not in self._writers or loop.epoch == 0:
            name, number = "".join(c if c.isalnum() or c in "-_. " else "-" for c in loop.name), 1
            path = self.folder / (name or "training")
            while path.exists():
                number += 1
                path = path.with_name(f"{name or 'training'}-{number}")
            self._writers[loop.name] = self._new(str(path))

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Write the mean of the replicas, and each where they are few."""
        writer = self._writers[loop.name]
        for name, figures in loop.latest.items():
            title = name.replace("_", " ")
            if name == "hop_weights":  # r × (H+1)
                for hop, weight in enumerate(figures.mean(axis=0)):
                    writer.add_scalar(f"{title}/{hop} hops", float(weight), loop.epoch)
                continue
            writer.add_scalar(f"{title}/mean", float(figures.mean()), loop.epoch)
            if 1 < len(loop.seeds) <= _MOST_REPLICAS:
                for seed, figure in zip(loop.seeds, figures, strict=True):
                    writer.add_scalar(f"{title}/seed {seed}", float(figure), loop.epoch)

    def on_fit_end(self, loop: TrainingLoop) -> None:
        """Write what is left to the files."""
        self._writers[loop.name].flush()
