"""Files on disk: written whole or not at all, tensors under a checksum, and the cache folder.

A tensor file is one .safetensors file with facts about its tensors as one sorted-JSON metadata key.
Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from kernode.errors import FileError, InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from torch import Tensor

_KEY = "kernode"  # one key: safetensors writes several in random order
FORMAT = 1
_RANDOM = 8  # bytes in the name that a file has while it is written
_FORSAKEN = 60.0  # seconds after which an empty file is nobody's


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it over, so that nobody ever reads half of it."""
    with writing_whole(path) as file:
        file.write(content)


_others_write = False


def let_another_write() -> None:
    """From now on nothing is written: another process does the same, and writes for both."""
    global _others_write
    _others_write = True


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes its place when all went well and vanishes otherwise."""
    if _others_write:
        with Path(os.devnull).open("wb") as nowhere:
            yield nowhere
        return
    # Not tempfile: its files are private to the user, and a cache may be shared.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(_RANDOM)}")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a rename would replace /dev/null
            raise OSError("it is no ordinary file")
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        with beside.open("xb") as file:
            _claim(file)
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash after the rename could leave an empty file
            if fcntl is not None:  # while it is claimed; Windows renames no open file
                beside.replace(path)
        if fcntl is None:
            beside.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(f"{path} cannot be written ({reason}). Choose another place or free it.") from error
    finally:
        with suppress(OSError):  # mostly because it was renamed, or never made
            beside.unlink()


def _claim(file: BinaryIO) -> None:
    """Say that a writer is at work, for as long as the file is open or the process lives."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks: then nothing is swept up, either
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(path: Path) -> None:
    """Remove what writers of this file left beside it when they were killed; who is at work has a claim.

    A writer makes its file, claims it and fills it: one that is empty may wait for its claim still.
    """
    if fcntl is None:
        return
    left = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * _RANDOM}}}")
    found: list[Path] = []
    with suppress(OSError):  # a folder that can be written to need not be readable
        found = [one for one in path.parent.iterdir() if left.fullmatch(one.name)]
    for one in found:
        with suppress(OSError), one.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            about = os.fstat(file.fileno())
            if about.st_size or time.time() - about.st_mtime > _FORSAKEN:
                one.unlink()


def _sync_folder(folder: Path) -> None:
    """Bring a rename to the disk: else a power failure could undo it. Windows opens no folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def cache_folder() -> Path:
    """Folder of what can be fetched or computed again: ``KERNODE_CACHE``, or the user's cache folder."""
    if own := os.environ.get("KERNODE_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "kernode"
    if os.name == "nt" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local) / "kernode"
    return Path.home() / ".cache" / "kernode"


def write_tensors(path: str | Path, kind: str, tensors: dict[str, Tensor], facts: dict[str, Any]) -> Path:
    """Write tensors and facts (JSON values) to one file, whole or not at all."""
    from safetensors.torch import save

    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    facts = json.loads(json.dumps({**facts, "format": FORMAT, "kind": kind}))
    facts["checksum"] = _checksum(tensors, facts)
    path = Path(path)
    write_whole(path, save(tensors, metadata={_KEY: json.dumps(facts, sort_keys=True)}))
    return path


def read_tensors(path: str | Path, *kinds: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write_tensors` wrote of one of these kinds, or say what is wrong with the file."""
    from safetensors import SafetensorError, safe_open

    path, wanted = Path(path), " or ".join(kinds)
    if path.is_dir():
        raise FileError(f"{path} is a folder. Give the path of a {wanted} file that kernode wrote.")
    if not path.is_file():
        raise FileError(f"{path} does not exist. Give the path of a {wanted} file that kernode wrote.")
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get(_KEY, "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise FileError(
            f"{path} is damaged, or no {wanted} file that kernode wrote ({_first_line(error)}). "
            "Restore it, or give another."
        ) from error
    if not isinstance(facts, dict) or facts.get("kind") not in kinds:
        found = facts.get("kind") if isinstance(facts, dict) else None
        if found == "link predictor" and kinds == ("model",):
            raise InputError(
                f"{path} is a model of links, and this needs a model of classes, as kernode fit makes. For "
                "models of links there are kernode embed and kernode missing; kernode.load_model reads both."
            )
        other = f" but a {found}" if found else ""
        raise InputError(f"{path} is not a kernode {wanted} file{other}. Give another.")
    if facts.get("format") != FORMAT:
        raise InputError(f"{path} has format {facts.get('format')}; this kernode reads format {FORMAT}.")
    if facts.pop("checksum", None) != _checksum(tensors, facts):
        raise FileError(f"{path} is damaged: its checksum does not match. Restore it or train again.")
    return tensors, facts


@contextmanager
def complete(path: Path) -> Iterator[None]:
    """Say what a file lacks whose checksum is right: another program wrote it, or another version."""
    try:
        yield
    except KeyError as error:
        raise FileError(f"{path} lacks {error}. Write it again with this kernode.") from error


def _checksum(tensors: dict[str, Tensor], facts: dict[str, Any]) -> str:
    import torch

    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)  # as it is: no copy
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
