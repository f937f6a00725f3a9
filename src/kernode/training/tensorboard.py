"""TensorBoard: a folder of events for each training, epoch by epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernode.errors import MissingExtraError
from kernode.training.callbacks import Callback
from kernode.training.loop import TrainingLoop

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
        """Copies, as scikit-learn's clone makes them, write to the same folder."""
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
