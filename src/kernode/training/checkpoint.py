"""Training that can be interrupted at any epoch and goes on as if nothing had happened."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import torch
from torch import Tensor

from kernode.compute.replicas import whole
from kernode.errors import InputError, KernodeError
from kernode.storage import complete, read_tensors, write_tensors

_HISTORY = "history."


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the whole state of training after some epoch.

    - ``every``: write it after each so many epochs, and when the run is interrupted.
    - ``resume``: True goes on from the file, which must be there; False begins anew, and then none may be
      there, for it would be lost; "if there" does what the file's being there asks for.
    - ``seconds``: and at most once in so many; then not at the end, for what is done needs no file.
    """

    path: Path
    every: int = 10
    resume: bool | Literal["if there"] = False
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise InputError(f"a checkpoint needs the path of a file. Got {self.path!r}.")
        object.__setattr__(self, "path", Path(self.path))
        whole("every", self.every, 1)
        if self.resume not in (True, False, "if there"):
            raise InputError(f"resume must be True, False or 'if there'. Got {self.resume!r}.")

    def part(self, name: str) -> Checkpoint:
        """The file of one of several trainings that make a whole; "" is the whole itself.

        To go on with the whole its parts need not all be there: some had not begun.
        """
        if not name:
            return self
        resume: bool | Literal["if there"] = "if there" if self.resume else False
        return replace(self, path=self.path.with_stem(f"{self.path.stem}-{name}"), resume=resume)

    def epochs(self) -> int | None:
        """How many the file holds; None where it is not there."""
        if not self.path.exists():
            return None
        saved, _ = read_tensors(self.path, "checkpoint")
        with complete(self.path):
            return next((len(value) for name, value in saved.items() if name.startswith(_HISTORY)), 0)

    def check(self, parts: Iterable[str] = ("",), word: str = "resume=True") -> None:
        """Raise, before anything is computed, unless the parts' files are there as ``resume`` has it.

        ``word`` is how whoever reads the sentence says that they want to go on. What is gone on from is read,
        so that a file of something else is not met after hours.
        """
        files = [self.part(name) for name in parts]
        there = [one for one in files if one.path.exists()]
        for one in there if self.resume else ():
            one.epochs()
        if self.resume == "if there":
            return
        if there and not self.resume:
            it = "it" if len(there) == 1 else "them"
            raise InputError(
                f"{held(there)} of a run: add {word} to go on from {it}, or remove {it} to start anew."
            )
        if self.resume and not there:
            raise InputError(f"there is no {self.path} to go on from: leave out {word} to start anew.")

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
        """Fill the state in place from the file, if it is to be; return the history of its epochs."""
        if not self.path.exists() or not self.resume:
            self.check()
            return []
        saved, written = read_tensors(self.path, "checkpoint")
        _require_same_run(self.path, facts, written)
        with complete(self.path):
            return self._filled(state, saved)

    def _filled(self, state: dict[str, Tensor], saved: dict[str, Tensor]) -> list[dict[str, Tensor]]:
        for name, values in _restacked(saved, state).items():
            if values.shape != state[name].shape or values.dtype != state[name].dtype:
                raise ValueError(f"{name} is {tuple(values.shape)}, not {tuple(state[name].shape)}")
            state[name].detach().copy_(values)
        device = next(iter(state.values())).device
        columns = {
            name.removeprefix(_HISTORY): value.to(device)
            for name, value in saved.items()
            if name.startswith(_HISTORY)
        }
        epochs = len(next(iter(columns.values())))
        return [{name: value[i] for name, value in columns.items()} for i in range(epochs)]


def _require_same_run(path: Path, facts: dict[str, Any], written: dict[str, Any]) -> None:
    """Raise where a file is of another training than the one that is to go on, and say what differs."""
    differing = sorted(name for name in facts if written.get(name) != facts[name])
    if not differing:
        return
    if "nodes" in written and "data" not in written:
        raise InputError(
            f"{path} is a checkpoint of kernode 0.1.0, from which this version does not go on. Finish that "
            "run with 0.1.0, or give another checkpoint file to start anew."
        )
    seeds, asked, said = written.get("seeds"), facts.get("seeds", []), []
    seeds = seeds if isinstance(seeds, list) else []
    if seeds and len(seeds) != len(asked):
        runs = len(seeds)
        said.append(
            f"it holds {runs} run{'s' * (runs != 1)}, not {len(asked)} (replicas={runs}, --replicas {runs})"
        )
        # What more or fewer runs have besides is theirs: the nodes they train on, and their seeds.
        same = ("data", "seeds") if seeds[:1] == asked[:1] else ("data",)
        differing = [name for name in differing if name not in same]
    if differing:
        verb = "differ" if len(differing) > 1 or differing[0] in ("data", "seeds") else "differs"
        said.append(f"its {' and '.join(filter(None, (', '.join(differing[:-1]), differing[-1])))} {verb}")
    # Nobody knows a fresh seed otherwise.
    first = f" Its first seed is {seeds[0]} (random_state={seeds[0]}, --seed {seeds[0]})." if seeds else ""
    raise InputError(
        f"{path} belongs to another run: {', and '.join(said)}.{first if 'seeds' in differing else ''} "
        "Give the same settings, or another checkpoint file."
    )


def _restacked(saved: dict[str, Tensor], state: dict[str, Tensor]) -> dict[str, Tensor]:
    """What a file holds of each replica, for stacks that may be others: a GPU trains more of them as one.

    Names are ``stack_0.parameters.…``, and the first axis counts a stack's replicas.
    """
    stacks: dict[str, list[tuple[int, Tensor]]] = {}
    for name, values in saved.items():
        stack, _, what = name.partition(".")
        if stack.startswith("stack_"):
            stacks.setdefault(what, []).append((int(stack.removeprefix("stack_")), values))
    left = {
        what: torch.cat([v for _, v in sorted(parts, key=lambda p: p[0])]) for what, parts in stacks.items()
    }
    restacked = {}
    for name, tensor in state.items():  # in the order of the stacks
        what = name.partition(".")[2]
        restacked[name], left[what] = left[what][: len(tensor)], left[what][len(tensor) :]
    return restacked


def held(files: Iterable[Checkpoint]) -> str:
    """What files hold, for a sentence: "a.safetensors holds 200 epochs and b.safetensors 30"."""
    said: list[str] = []
    for one in files:
        try:
            epochs = one.epochs()
        except KernodeError:
            raise InputError(
                f"{one.path} is there already, and is no checkpoint that can be read: give another file."
            ) from None
        said.append(f"{one.path} {'' if said else 'holds '}{epochs} epoch{'s' * (epochs != 1)}")
    return " and ".join(said)


class Keeping:
    """A training's state on its way into the file: now and then, at the end, and when it is interrupted."""

    def __init__(
        self,
        checkpoint: Checkpoint | None,
        state: dict[str, Tensor],
        history: list[dict[str, Tensor]],
        facts: dict[str, Any],
    ) -> None:
        self.checkpoint, self.state, self.history, self.facts = checkpoint, state, history, facts
        self.written, self.waiting_since, self.whole = len(history), time.monotonic(), True

    def __enter__(self) -> Keeping:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        done = kind is None and self.checkpoint is not None and not self.checkpoint.seconds
        if self.whole and (interrupted or done):
            self._write()

    @contextmanager
    def whole_epoch(self) -> Iterator[None]:
        """While this lasts the state is between two epochs, and in no file's."""
        if self.checkpoint is None:
            yield
            return
        self.whole = False
        with finishing_the_epoch():
            yield
            self.whole = True

    def write_if_due(self, epoch: int, epochs: int) -> None:
        """After an epoch of so many."""
        waited = time.monotonic() - self.waiting_since
        if self.checkpoint is not None and self.checkpoint.due(epoch, epochs, waited):
            self._write()
            self.waiting_since = time.monotonic()

    def _write(self) -> None:
        if self.checkpoint is None or len(self.history) <= self.written:
            return
        if not self.history[-1]["loss"].isfinite().any():
            return  # diverged: the file keeps the last state that was good
        self.checkpoint.save(self.state, self.history, self.facts)
        self.written = len(self.history)


@contextmanager
def finishing_the_epoch() -> Iterator[None]:
    """Hold Ctrl-C back while this lasts, so that what is in memory is one whole epoch; a second one ends it.

    Only where it would raise KeyboardInterrupt: in the main thread, with Python's own handler.
    """
    try:
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:
            raise ValueError
        pressed = False

        def note(number: int, frame: FrameType | None) -> None:
            nonlocal pressed
            if pressed:
                signal.default_int_handler(number, frame)
            pressed = True

        signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread, or somebody else's handler
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
