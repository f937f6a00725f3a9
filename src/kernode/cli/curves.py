"""``--tensorboard``: curves of a command's trainings, and its result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.cli.console import check_folder
from kernode.cli.ranks import rank
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.training.tensorboard import TensorBoard


def check_board(folder: Path | None, *, elsewhere: bool = False) -> TensorBoard | None:
    """The callback that writes to a folder, if one is given; rank 0 writes.

    ``elsewhere``: trainings run in other processes, whose epochs are not seen here.
    """
    if folder is None or rank():
        return None
    if elsewhere:
        raise InputError(
            "TensorBoard is for trainings of this process. Leave out jobs and backend.",
            "conflict", setting="tensorboard",
        )  # fmt: skip
    from kernode.training.tensorboard import TensorBoard

    check_folder(folder)
    return TensorBoard(folder)


def result_on_board(board: TensorBoard | None, report: dict[str, Any], training: dict[str, Any]) -> None:
    """Write a model's settings, and its test figures."""
    if board is None:
        return
    settings = {name: report[name] for name in ("dataset", "variant", "replicas", "seed")} | training
    figures = {
        f"test/{name}": float(value)
        for name, value in report.get("test", {}).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    board.finish({k: v for k, v in settings.items() if v is not None}, figures)
