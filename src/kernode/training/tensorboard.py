"""TensorBoard: a folder of events for each training, epoch by epoch, and the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernode.errors import MissingExtraError, warn
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop

_MOST_REPLICAS = 16  # of which each has a curve; the mean always has one
_FLUSH_SECONDS = 5


class TensorBoard(Callback):
    """Write the figures of every training to a folder of its name within ``folder``.

    A folder that exists is left alone: the next is called name-2. A full disk does not end the training.
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
        self._at: dict[str, tuple[int, float]] = {}  # the last epoch written, and when
        self._broken = False

    def __deepcopy__(self, memo: dict[int, Any]) -> TensorBoard:
        """Copies, as scikit-learn's clone makes them, write to the same folder."""
        return TensorBoard(self.folder)

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Open a folder, unless this training goes on."""
        if loop.name not in self._writers or loop.epoch == 0:
            self._safely(lambda: self._open(loop.name))

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Write the mean of the replicas, and each where they are few."""
        if loop.epoch > self._at.get(loop.name, (0, 0.0))[0]:
            self._safely(lambda: self._add(loop))

    def on_fit_end(self, loop: TrainingLoop) -> None:
        """Write what is left to the files."""
        self._safely(lambda: self._writers[loop.name].flush())

    def finish(self, hyperparameters: Mapping[str, Any], results: Mapping[str, float]) -> None:
        """Write settings and results, and close all files."""
        plain = {
            k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in hyperparameters.items()
        }

        def write() -> None:
            writer = self._writer("result")
            writer.add_hparams(plain, dict(results), run_name=".")
            for one in (writer, *self._writers.values()):
                one.close()

        self._safely(write)
        self._writers = {}

    def _open(self, name: str) -> None:
        if (before := self._writers.pop(name, None)) is not None:
            before.close()
        self._writers[name] = self._writer(name or "training")
        self._at[name] = 0, time.perf_counter()

    def _add(self, loop: TrainingLoop) -> None:
        writer, epoch = self._writers[loop.name], loop.epoch
        for name, figures in loop.latest.items():
            title = name.replace("_", " ")
            if name == "hop_weights":  # r × (H+1)
                for hop, weight in enumerate(figures.mean(axis=0)):
                    writer.add_scalar(f"{title}/{hop} hops", float(weight), epoch)
                continue
            writer.add_scalar(f"{title}/mean", float(figures.mean()), epoch)
            if 1 < len(loop.seeds) <= _MOST_REPLICAS:
                for seed, figure in zip(loop.seeds, figures, strict=True):
                    writer.add_scalar(f"{title}/seed {seed}", float(figure), epoch)
        last, then = self._at[loop.name]
        now = time.perf_counter()
        if last:  # the first waited for the preparation
            writer.add_scalar("seconds per epoch", (now - then) / (epoch - last), epoch)
        self._at[loop.name] = epoch, now

    def _writer(self, name: str) -> Any:
        safe = "".join(one if one.isalnum() or one in "-_. " else "-" for one in name)
        place, number = self.folder / safe, 1
        while place.exists():
            number += 1
            place = self.folder / f"{safe}-{number}"
        return self._new(str(place), flush_secs=_FLUSH_SECONDS)

    def _safely(self, act: Callable[[], Any]) -> None:
        if self._broken:
            return
        try:
            act()
        except OSError as error:
            self._broken = True
            warn(f"{self.folder} cannot be written ({error.strerror or error}): no more events are kept.")
