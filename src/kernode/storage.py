"""Files on disk: atomic writes, tensors with a checksum, and the cache folder.

Tensors are in one .safetensors file, with facts about them as one sorted-JSON metadata key. Nothing is ever
unpickled.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from kernode.errors import FileError, InputError, KernodeError

if TYPE_CHECKING:
    from types import FrameType

    from torch import Tensor

_log = logging.getLogger("kernode")
_RANDOM = 8  # bytes in the name that a file has while it is written
_ABANDONED = 3600.0  # seconds since the last change of a temporary file, after which it is removed
_others_write = False
_written: list[Path] = []


def damaged(path: Path, what: str, remedy: str = "Write or copy it again") -> FileError:
    """Return the error for a damaged file."""
    return FileError(f"{path} {what}. {remedy}.", "damaged-file", path=str(path))


def missing(path: Path) -> FileError:
    """Return the error for a file that does not exist."""
    return FileError(f"{path} does not exist. Check the path.", "no-file", path=str(path))


def write_whole(path: Path, content: bytes) -> None:
    """Write a temporary file and rename it over the path, so that no reader sees half of it."""
    with writing_whole(path) as file:
        file.write(content)


def let_another_write() -> None:
    """Write no files from now on: another process writes the same ones."""
    global _others_write
    _others_write = True


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Hold Ctrl-C back until an epoch or a file is whole; a second one is not held.

    Only where it would raise KeyboardInterrupt: in the main thread, with Python's own handler.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file, which is renamed over the path on success and removed otherwise."""
    if _others_write:
        with Path(os.devnull).open("wb") as nowhere:
            yield nowhere
        return
    # Not tempfile: its files are private to the user, and a cache may be shared.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(_RANDOM)}")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a rename would replace /dev/null
            raise OSError("it is no ordinary file")
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash after the rename could leave an empty file
        with deferred_interrupt():
            temporary.replace(path)
            _written.append(path)
        _log.debug(f"{path} is written", extra={"event": "written", "fields": {"file": str(path)}})
    except OSError as error:
        reason = error.strerror or str(error)
        sentence = f"{path} cannot be written ({reason}). Choose another place or free it."
        raise FileError(sentence, "file", path=str(path)) from error
    finally:
        with suppress(OSError):  # usually renamed, or never made
            temporary.unlink()


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files that killed writers left."""
    with suppress(OSError):  # an unreadable folder, or another process was first
        for one in path.parent.glob(f".{escape(path.name)}.{'[0-9a-f]' * (2 * _RANDOM)}"):
            if time.time() - one.stat().st_mtime > _ABANDONED:
                one.unlink()


def written_files() -> list[Path]:
    """Return the files that this process has written whole, in this order."""
    return list(_written)


def cache_folder() -> Path:
    """Return the folder of cached files: ``KERNODE_CACHE``, or the user's cache folder."""
    from platformdirs import user_cache_path

    own = os.environ.get("KERNODE_CACHE")
    return Path(own).expanduser() if own else user_cache_path("kernode", appauthor=False, opinion=False)


_KEY = "kernode"  # one key: safetensors writes several in random order
FORMAT = 1
_UPDATE = "Update kernode, or write the file again with this one."


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
    """Read a file of :func:`write_tensors` of one of these kinds, or raise with what is wrong."""
    from safetensors import SafetensorError, safe_open

    path, wanted = Path(path), " or ".join(kinds)
    give = f"Give the path of a {wanted} file that kernode wrote."
    if path.is_dir():
        raise InputError(f"{path} is a folder. {give}", "wrong-file", path=str(path))
    if not path.is_file():
        raise FileError(f"{path} does not exist. {give}", "no-file", path=str(path))
    str(path).encode()  # safetensors would call a file damaged whose name is not text
    try:
        # safetensors would report Ctrl-C as damage
        with deferred_interrupt(), safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get(_KEY, "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        what = f"is damaged, or not a {wanted} file that kernode wrote ({first_line(error)})"
        raise damaged(path, what, "Restore it, or give another") from error
    if not isinstance(facts, dict) or facts.get("kind") not in kinds:
        found = facts.get("kind") if isinstance(facts, dict) else None
        sentence = f"{path} is not a kernode {wanted} file{f' but a {found}' if found else ''}. Give another."
        if found == "link predictor" and kinds == ("model",):
            sentence = (
                f"{path} is a model of links, and this needs a model of classes, as kernode fit makes. For "
                "models of links there are kernode embed and predict-links; kernode.load_model reads both."
            )
        raise InputError(sentence, "wrong-file", path=str(path))
    if facts.get("format") != FORMAT:
        have = f"{path} has format {facts.get('format')}; this kernode reads format {FORMAT}."
        raise InputError(f"{have} {_UPDATE}", "unsupported", path=str(path))
    if facts.pop("checksum", None) != _checksum(tensors, facts):
        raise damaged(path, "is damaged: its checksum does not match", "Restore it or train again")
    return tensors, facts


# Errors of code that gets a list instead of a number, or a tensor of another shape.
_NOT_AS_EXPECTED = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError)


@contextmanager
def complete(path: Path) -> Iterator[None]:
    """Raise one sentence if a file with a valid checksum lacks values or has unexpected ones.

    Such a file is from another version or another program.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}", error.code, **error.fields) from error
    except KernodeError:
        raise
    except KeyError as error:
        raise damaged(path, f"lacks {error}", "Write it again with this kernode") from error
    except _NOT_AS_EXPECTED as error:
        what = f"has content that this version does not know ({first_line(error)})"
        raise damaged(path, what, _UPDATE.removesuffix(".")) from error


def require_known(facts: dict[str, Any], known: frozenset[str]) -> None:
    """Raise if a file has facts that this version does not know: predictions might be wrong."""
    if unknown := sorted(facts.keys() - known - {"format", "kind", _KEY}):
        have = f"kernode {facts.get(_KEY)} wrote {unknown[0]!r} into it, which this version does not know."
        raise InputError(f"{have} {_UPDATE}", "unsupported")


def _checksum(tensors: dict[str, Tensor], facts: dict[str, Any]) -> str:
    import torch

    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)  # as it is: no copy
    return digest.hexdigest()


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its class."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
