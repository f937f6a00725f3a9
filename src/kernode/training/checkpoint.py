"""Training that can be interrupted at any epoch and goes on as if nothing had happened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernode.errors import InputError
from kernode.storage import read_tensors, write_tensors

_HISTORY = "history."


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the whole state of training after some epoch.

    - ``every``: write it after each so many epochs.
    - ``resume``: go on from the file where it exists; without it the run starts afresh.
    - ``seconds``: and at most once in so many; then not at the end, for what is done needs no file.
    """

    path: Path
    every: int = 10
    resume: bool = False
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise InputError(f"a checkpoint needs the path of a file. Got {self.path!r}.")
        object.__setattr__(self, "path", Path(self.path))
        if self.every < 1:
            raise InputError(f"checkpoint_every must be an integer ≥ 1. Got {self.every}.")

    def due(self, epoch: int, epochs: int, waited: float) -> bool:
        """Whether to write the file after this epoch, ``waited`` seconds after the last time."""
        if self.seconds:
            return epoch % self.every == 0 and waited >= self.seconds and epoch < epochs
        return epoch % self.every == 0 or epoch == epochs

    def save(self, state: dict[str, Tensor], history: list[dict[str, Tensor]], facts: dict[str, Any]) -> None:
        """Write the state and the history of all epochs so far."""
        columns = {_HISTORY + name: torch.stack([epoch[name] for epoch in history]) for name in history[0]}
        write_tensors(self.path, "checkpoint", state | columns, facts)

    def restore(self, state: dict[str, Tensor], facts: dict[str, Any]) -> list[dict[str, Tensor]]:
        """Fill the state in place from the file, if there is one; return the history of its epochs."""
        if not self.resume or not self.path.exists():
            return []
        saved, written = read_tensors(self.path, "checkpoint")
        differing = sorted(name for name in facts if written.get(name) != facts[name])
        if differing:
            raise InputError(
                f"{self.path} belongs to another run ({', '.join(differing)} differ). "
                "Give the same settings, or another --checkpoint file."
            )
        for name, tensor in state.items():
            tensor.detach().copy_(saved[name])
        device = next(iter(state.values())).device
        columns = {
            name.removeprefix(_HISTORY): value.to(device)
            for name, value in saved.items()
            if name.startswith(_HISTORY)
        }
        epochs = len(next(iter(columns.values())))
        return [{name: value[i] for name, value in columns.items()} for i in range(epochs)]
