"""A file is written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kernode.errors import FileError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it over, so that nobody ever reads half of it."""
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes its place when all went well and vanishes otherwise."""
    # Not tempfile: its files are private to the user, and a cache may be shared.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash after the rename could leave an empty file
        beside.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{path} cannot be written ({reason}). Choose another place or free it.") from error
    finally:
        with suppress(OSError):  # mostly because it was renamed, or never made
            beside.unlink()
