"""Training that can be interrupted, and goes on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import check_writable
from kernode.cli.options.single import RUN
from kernode.cli.ranks import began_again, rank
from kernode.errors import InputError, kept

if TYPE_CHECKING:
    from kernode.training.checkpoint import Checkpoint


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions:
    """Training that can be interrupted."""

    checkpoint: Annotated[
        Path | None, typer.Option(help="File for interrupted training.", show_default=False, **RUN)
    ] = None
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Write it after so many epochs.", show_default="10", **RUN)
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from --checkpoint, which must be there.", **RUN)
    ] = False

    @contextmanager
    def opened(self, parts: Collection[str] = ("",)) -> Iterator[Checkpoint | None]:
        """The file, if there is to be one; whoever interrupts hears what is in it.

        ``parts``: trainings of the command that may have files of their own.
        """
        checkpoint = self.file(parts)

        def in_files() -> str:
            if checkpoint is None:
                return "Nothing was saved; --checkpoint FILE would have kept it."
            from kernode.training.checkpoint import describe_files

            files = [checkpoint.part(name) for name in parts]
            there = [one for one in files if one.path.exists()]
            if not there:
                return "Nothing was saved: no checkpoint was written yet."
            return f"{describe_files(there)}: the same command with --resume goes on."

        with kept(in_files):
            yield checkpoint

    def file(self, parts: Collection[str] = ("",)) -> Checkpoint | None:
        """The file to write and to go on from, if there is to be one."""
        if rank():  # the first of several processes has it
            return None
        if self.checkpoint is None:
            if self.resume:
                raise InputError("--resume needs --checkpoint FILE, the file to go on from.")
            if self.checkpoint_every is not None:
                raise InputError("--checkpoint-every needs --checkpoint FILE, the file to write.")
            return None
        check_writable(self.checkpoint)
        if self.checkpoint_every is not None and self.checkpoint_every < 1:
            raise InputError(f"--checkpoint-every must be an integer ≥ 1. Got {self.checkpoint_every}.")
        from kernode.training.checkpoint import Checkpoint

        every = 10 if self.checkpoint_every is None else self.checkpoint_every
        resume: Any = "if there" if began_again() else self.resume
        checkpoint = Checkpoint(self.checkpoint, every, resume)
        checkpoint.check(parts)
        return checkpoint
