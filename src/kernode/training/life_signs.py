"""What a fit says while it lasts: lines on stderr as ``verbose`` asks for them, and the log "kernode"."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from kernode.compute.replicas import whole
from kernode.errors import InputError
from kernode.progress import heard_by, log, note
from kernode.training.run import Progress, Run, Telling

_SECONDS = {1: 2.0, 2: 0.1}  # between two lines, by verbosity
Onlooker = Callable[[Run, int], Progress]  # of a run and its number of epochs: whom to tell of each
_onlooker: ContextVar[Onlooker | None] = ContextVar("onlooker", default=None)
Fit = TypeVar("Fit", bound=Callable[..., Any])


def life_signs(verbose: int) -> Telling | None:
    """Whom a run tells of its epochs: nobody (0), stderr now and then (1), or of nearly every epoch (2)."""
    if whole("verbose", verbose) < 0:
        raise InputError(f"verbose must be 0, 1 or 2. Got {verbose}.")
    if verbose == 0:
        return None
    say = _now_and_then(min(int(verbose), 2))

    def begin(epochs: int, name: str) -> Progress:
        return lambda epoch, values: say(
            lambda: told(name, epoch, epochs, values), verbose > 1 and epoch == epochs
        )

    return begin


def with_life_signs(fit: Fit) -> Fit:
    """An estimator's fit, of which its ``verbose`` also shows what is prepared before any epoch."""

    @wraps(fit)
    def fitting(self: Any, *arguments: Any, **named: Any) -> Any:
        if life_signs(self.verbose) is None:
            return fit(self, *arguments, **named)
        say = _now_and_then(min(int(self.verbose), 2))
        with heard_by(lambda what, done, total: say(lambda: f"{what}: {done:,} of {total:,}", False)):
            return fit(self, *arguments, **named)

    return fitting  # type: ignore[return-value]


def listeners(run: Run, epochs: int) -> list[Progress]:
    """Everybody who is told of a run's epochs: who asked for it, and whoever looks at it from outside."""
    found = [] if run.progress is None else [run.progress(epochs, run.name)]
    if (onlooker := _onlooker.get()) is not None:
        found.append(onlooker(run, epochs))
    if log.isEnabledFor(logging.DEBUG):
        found.append(_noting(run, epochs))
    return found


@contextmanager
def looked_at_by(onlooker: Onlooker) -> Iterator[None]:
    """While this lasts, every training of this process tells the onlooker of its epochs, too."""
    before = _onlooker.set(onlooker)
    try:
        yield
    finally:
        _onlooker.reset(before)


def _noting(run: Run, epochs: int) -> Progress:
    started = time.perf_counter()

    def tell(epoch: int, values: dict[str, np.ndarray]) -> None:
        means = {name: float(one.mean()) for name, one in values.items() if name != "hop_weights"}
        seconds = round(time.perf_counter() - started, 4)
        about = {"training": run.name, "epoch": epoch, "epochs": epochs, **means, "seconds": seconds}
        note("epoch", told(run.name, epoch, epochs, values), logging.DEBUG, **about)

    return tell


def note_trained(run: Run, seconds: float, kept: np.ndarray) -> None:
    """Tell the log how long a training took, and which epoch of each replica is kept."""
    epochs = kept.tolist()
    said = f"{run.name} took {seconds:.1f} s, epochs kept: {epochs}"
    note("trained", said, training=run.name, seconds=round(seconds, 3), epochs_kept=epochs)


def told(name: str, epoch: int, epochs: int, values: dict[str, np.ndarray]) -> str:
    """An epoch as a line, with the mean over the replicas.

    >>> told("k3", 120, 200, {"loss": np.array([0.3]), "validation_accuracy": np.array([86.0, 86.2])})
    'k3: epoch 120 of 200, validation 86.1 %'
    """
    titles = {"validation_accuracy": "validation", "validation_auc": "validation AUC"}
    shown = [f", {title} {values[key].mean():.1f} %" for key, title in titles.items() if key in values]
    loss = f", loss {values['loss'].mean():.4g}" if "loss" in values and not shown else ""
    return f"{name or 'training'}: epoch {epoch} of {epochs}{''.join(shown)}{loss}"


def _now_and_then(verbose: int) -> Callable[[Callable[[], str], bool], None]:
    last = time.monotonic()

    def say(line: Callable[[], str], anyway: bool) -> None:
        nonlocal last
        if anyway or time.monotonic() - last >= _SECONDS[verbose]:
            last = time.monotonic()
            sys.stderr.write(f"{line()}\n")
            sys.stderr.flush()

    return say
