"""``--tensorboard``: what trainings of a command tell of their epochs, as TensorBoard shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.cli.console import check_folder
from kernode.cli.ranks import rank
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.training.tensorboard import TensorBoard


def check_board(folder: Path | None, *, elsewhere: bool = False) -> None:
    """Say before anything is computed that there is no such folder, no TensorBoard, or nothing to show.

    ``elsewhere``: trainings are in other processes, which tell nobody of their epochs.
    """
    if folder is not None:
        from kernode.training.tensorboard import TensorBoard

        if elsewhere:
            raise InputError(
                "--tensorboard is for trainings of this process. Leave out --jobs and --backend."
            )

        check_folder(folder)
        TensorBoard(folder)


@contextmanager
def shown_on_board(folder: Path | None) -> Iterator[TensorBoard | None]:
    """While this lasts, trainings of this process write their events to the folder, if there is one."""
    if folder is None or rank():  # the first of several processes writes for all
        yield None
        return
    from kernode.training.life_signs import looked_at_by
    from kernode.training.tensorboard import TensorBoard

    board = TensorBoard(folder)
    try:
        with looked_at_by(board):
            yield board
    finally:
        board.close()


def result_on_board(folder: Path | None, report: dict[str, Any], training: dict[str, Any]) -> None:
    """A model's settings, and its test figures."""
    if folder is None or rank():
        return
    from kernode.training.tensorboard import TensorBoard

    settings = {name: report[name] for name in ("dataset", "variant", "replicas", "seed")} | training
    figures = {
        f"test/{name}": float(value)
        for name, value in report.get("test", {}).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    TensorBoard(folder).finish({k: v for k, v in settings.items() if v is not None}, figures)
