"""Trainings as TensorBoard shows them: a folder of events for each, epoch by epoch, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernode.errors import MissingExtraError, warn
from kernode.training.life_signs import Progress
from kernode.training.run import Run

_MOST_REPLICAS = 16  # of which each has a curve; the mean has one always
_FLUSH_SECONDS = 5


class TensorBoard:
    """A folder that trainings write their events to; it listens, and changes nothing of them.

    Each training has a folder of its name in it, and one that is there already is left alone: the next is
    called name-2. A folder that takes no more ends this, not the training.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingExtraError(
                "--tensorboard needs TensorBoard: pip install 'kernode[tensorboard]'."
            ) from None
        self._new, self.folder = SummaryWriter, folder
        self._curves: dict[str, _Curves] = {}
        self._broken = False

    def __call__(self, run: Run, epochs: int) -> Progress:
        """Whom a run tells of its epochs."""

        def tell(epoch: int, values: dict[str, np.ndarray]) -> None:
            known = self._curves.get(run.name)
            if known is None or epoch <= known.epoch or known.seeds != run.seeds:  # another of that name
                if known is not None:
                    self._safely(known.writer.close)
                self._safely(lambda: self._begin(run))
            self._safely(lambda: self._curves[run.name].add(epoch, values))

        return tell

    def finish(self, hyperparameters: Mapping[str, Any], results: Mapping[str, float]) -> None:
        """What was trained with which settings, and how good it is."""
        plain = {
            name: value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in hyperparameters.items()
        }
        self._safely(lambda: self._write_result(plain, results))

    def close(self) -> None:
        """All that was told is in the files."""
        for curves in self._curves.values():
            self._safely(curves.writer.close)
        self._curves = {}

    def _begin(self, run: Run) -> None:
        self._curves[run.name] = _Curves(self._writer(run.name or "training"), run.seeds)

    def _write_result(self, hyperparameters: dict[str, Any], results: Mapping[str, float]) -> None:
        writer = self._writer("result")
        writer.add_hparams(hyperparameters, dict(results), run_name=".")
        writer.close()

    def _writer(self, name: str) -> Any:
        safe = "".join(one if one.isalnum() or one in "-_. " else "-" for one in name)
        place, number = self.folder / safe, 1
        while place.exists():
            number += 1
            place = self.folder / f"{safe}-{number}"
        return self._new(str(place), flush_secs=_FLUSH_SECONDS)

    def _safely(self, act: Any) -> None:
        if self._broken:
            return
        try:
            act()
        except OSError as error:
            self._broken = True
            reason = error.strerror or error
            warn(f"{self.folder} takes no more ({reason}): events are not kept from here on.")


class _Curves:
    """One training."""

    def __init__(self, writer: Any, seeds: tuple[int, ...]) -> None:
        self.writer, self.seeds = writer, seeds
        self.epoch, self._at = 0, time.perf_counter()

    def add(self, epoch: int, values: dict[str, np.ndarray]) -> None:
        """An epoch's figures: the mean of the replicas, and each where they are few."""
        for name, figures in values.items():
            title = name.replace("_", " ")
            if name == "hop_weights":  # r × (H+1)
                for hop, weight in enumerate(figures.mean(axis=0)):
                    self.writer.add_scalar(f"{title}/{hop} hops", float(weight), epoch)
                continue
            self.writer.add_scalar(f"{title}/mean", float(figures.mean()), epoch)
            for seed, figure in zip(self.seeds, figures, strict=True) if self._shows_each else ():
                self.writer.add_scalar(f"{title}/seed {seed}", float(figure), epoch)
        now = time.perf_counter()
        if self.epoch:  # the first waited for whatever comes before it
            self.writer.add_scalar("seconds per epoch", (now - self._at) / (epoch - self.epoch), epoch)
        self.epoch, self._at = epoch, now

    @property
    def _shows_each(self) -> bool:
        return 1 < len(self.seeds) <= _MOST_REPLICAS
