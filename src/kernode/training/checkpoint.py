"""Checkpoints: training resumes after any epoch as if it had not been interrupted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from kernode.compute.replicas import whole
from kernode.compute.stack import under_prefix
from kernode.errors import InputError, bad_setting
from kernode.storage import complete, deferred_interrupt, read_tensors, write_tensors
from kernode.training.callbacks import Callback

if TYPE_CHECKING:
    from kernode.training.loop import TrainingLoop

_HISTORY = "history."


@dataclass
class Checkpoint(Callback):
    """Write the state of training to a file, and resume from it.

    - ``every``: epochs between two writes; an interrupted run writes, too.
    - ``resume``: True continues from the file, which must exist; False starts from epoch 0, and the file must
      not exist, since it would be overwritten; "if there" continues if the file exists.
    - ``seconds``: least time between two writes; then the end of training is not written.
    """

    path: Path
    every: int = 10
    resume: bool | Literal["if there"] = False
    seconds: float = 0.0
    _written: int = field(default=0, init=False, repr=False, compare=False)  # epochs in the file
    _since: float = field(default=0.0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise InputError(
                f"a checkpoint needs the path of a file. Got {self.path!r}.", "setting", setting="path"
            )
        self.path = Path(self.path)
        whole("every", self.every, 1)
        if self.resume not in (True, False, "if there"):
            raise bad_setting("resume", "True, False or 'if there'", self.resume)

    def part(self, name: str) -> Checkpoint:
        """Return the checkpoint of one of several trainings that make up a fit; "" is the fit itself.

        Resuming does not need all of these files: some trainings had not begun.
        """
        if not name:
            return self
        resume: bool | Literal["if there"] = "if there" if self.resume else False
        return replace(self, path=self.path.with_stem(f"{self.path.stem}-{name}"), resume=resume)

    def on_fit_begin(self, loop: TrainingLoop) -> None:
        """Restore the state, before the first epoch."""
        if loop.epoch == 0:
            loop.history = self._restore(loop)
            if loop.epoch > loop.epochs:
                raise InputError(
                    f"{self.path} has {loop.epoch} epochs, more than the {loop.epochs} to be trained. Give "
                    "more epochs, or another checkpoint file.",
                    "conflict", setting="epochs", path=self.path,
                )  # fmt: skip
            self._written = loop.epoch
        self._since = time.monotonic()

    def on_epoch_end(self, loop: TrainingLoop) -> None:
        """Write the file every ``every`` epochs."""
        due = loop.epoch % self.every == 0
        if self.seconds:
            due = due and time.monotonic() - self._since >= self.seconds and loop.epoch < loop.epochs
        if due:
            self._write(loop)

    def on_fit_end(self, loop: TrainingLoop) -> None:
        """Write the last complete epoch."""
        if loop.interrupted or not self.seconds:
            self._write(loop)

    def _write(self, loop: TrainingLoop) -> None:
        if loop.is_within_epoch or loop.epoch <= self._written:
            return
        if not loop.history["loss"][-1].isfinite().any():
            return  # diverged: the file keeps the last finite state
        columns = {_HISTORY + name: values for name, values in loop.history.items()}
        with deferred_interrupt():
            write_tensors(self.path, "checkpoint", loop.state | columns, loop.facts)
        self._written, self._since = loop.epoch, time.monotonic()

    def _restore(self, loop: TrainingLoop) -> dict[str, Tensor]:
        """Fill the loop's state from the file when resuming; return the history of its epochs."""
        if not self.path.exists() or not self.resume:
            self.check()
            return {}
        saved, written = read_tensors(self.path, "checkpoint")
        _require_same_run(self.path, loop.facts, written)
        with complete(self.path), torch.no_grad():
            for name, values in _restacked(saved, loop.state).items():
                if values.shape != loop.state[name].shape or values.dtype != loop.state[name].dtype:
                    raise ValueError(f"{name} is {tuple(values.shape)}, not {tuple(loop.state[name].shape)}")
                loop.state[name].copy_(values)
            device = next(iter(loop.state.values())).device
            history = {name: values.to(device) for name, values in under_prefix(saved, _HISTORY).items()}
            if len({len(values) for values in history.values()}) > 1:
                raise ValueError("its histories differ in length")
            return history

    def epochs(self) -> int | None:
        """Return the number of epochs in the file; None where it does not exist."""
        if not self.path.exists():
            return None
        saved, _ = read_tensors(self.path, "checkpoint")
        with complete(self.path):
            return next((len(value) for value in under_prefix(saved, _HISTORY).values()), 0)

    def check(self, parts: Iterable[str] = ("",)) -> None:
        """Raise, before anything is computed, unless the parts' files exist as ``resume`` requires.

        Files are read now, so that a wrong one does not stop the run hours later.
        """
        there = [one for one in map(self.part, parts) if one.path.exists()]
        if there and not self.resume:
            raise InputError(
                f"{describe_files(there)} of a run: resume it, or remove the files to start again.",
                "conflict", setting="resume", path=there[0].path,
            )  # fmt: skip
        if self.resume is True and not there:
            raise InputError(
                f"there is no {self.path} to resume from. Leave resume out to start from the beginning.",
                "no-file", setting="resume", path=self.path,
            )  # fmt: skip
        for one in there:
            one.epochs()


def _require_same_run(path: Path, facts: dict[str, Any], written: dict[str, Any]) -> None:
    """Raise where a file belongs to another training, and say what differs."""
    differing = sorted(name for name in facts if written.get(name) != facts[name])
    if not differing:
        return
    if "nodes" in written and "data" not in written:
        raise InputError(
            f"{path} is a checkpoint of kernode 0.1.0, which this version cannot resume. Give another.",
            "wrong-file", path=path, version="0.1.0",
        )  # fmt: skip
    raise InputError(
        f"{path} belongs to another run: its {', '.join(differing)} differ. Its seeds are "
        f"{written.get('seeds')}. Give the same settings, or another checkpoint file.",
        "wrong-file", path=path, differing=differing, seeds=written.get("seeds"),
    )  # fmt: skip


def _restacked(saved: dict[str, Tensor], state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the saved state in the stacks of this run, which may differ: a GPU trains more replicas as one.

    Names are ``stack_0.parameters.…``, and the first axis counts a stack's replicas.
    """
    stacks: dict[str, dict[int, Tensor]] = {}
    for name, values in under_prefix(saved, "stack_").items():
        number, _, what = name.partition(".")
        stacks.setdefault(what, {})[int(number)] = values
    left = {what: torch.cat([parts[i] for i in sorted(parts)]) for what, parts in stacks.items()}
    restacked = {}
    for name, tensor in state.items():  # in the order of the stacks
        what = name.partition(".")[2]
        restacked[name], left[what] = left[what][: len(tensor)], left[what][len(tensor) :]
    return restacked


def describe_files(files: Iterable[Checkpoint]) -> str:
    """Describe files: "a.safetensors holds 200 epochs and b.safetensors 30 epochs"."""
    said = [f"{one.path} {'holds ' * (at == 0)}{one.epochs()} epochs" for at, one in enumerate(files)]
    return " and ".join(said)
