"""A file is written whole or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from kernode.errors import FileError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it over, so that nobody ever reads half of it."""
    # Not tempfile: its files are private to the user, and a cache may be shared.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a crash after the rename could leave an empty file
        beside.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{path} cannot be written ({reason}). Choose another place or free it.") from error
    finally:
        with suppress(OSError):  # mostly because it was renamed, or never made
            beside.unlink()
