"""Tensors under a checksum: one .safetensors file, with facts about them as one sorted-JSON metadata key.

Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.errors import FileError, InputError, KernodeError
from kernode.storage.whole_files import write_whole

if TYPE_CHECKING:
    from torch import Tensor

_KEY = "kernode"  # one key: safetensors writes several in random order
FORMAT = 1


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
        raise InputError(f"{path} is a folder. Give the path of a {wanted} file that kernode wrote.")
    if not path.is_file():
        raise FileError(f"{path} does not exist. Give the path of a {wanted} file that kernode wrote.")
    str(path).encode()  # safetensors would call a file damaged whose name is no text
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
        raise InputError(
            f"{path} has format {facts.get('format')}; this kernode reads format {FORMAT}. Update kernode, "
            "or write the file again with this one."
        )
    if facts.pop("checksum", None) != _checksum(tensors, facts):
        raise FileError(f"{path} is damaged: its checksum does not match. Restore it or train again.")
    return tensors, facts


# What code raises that is given a list where it expects a number, or a tensor of another shape.
_NOT_AS_EXPECTED = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError)


@contextmanager
def complete(path: Path) -> Iterator[None]:
    """Say what a file lacks or has in a form that nobody expects, though its checksum is right.

    Another version wrote it, another program, or somebody who knows how checksums are made.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except KernodeError:
        raise
    except KeyError as error:
        raise FileError(f"{path} lacks {error}. Write it again with this kernode.") from error
    except _NOT_AS_EXPECTED as error:
        raise FileError(
            f"{path} holds what this version does not know, or in a form that it never writes "
            f"({_first_line(error)}). Update kernode, or write the file again with this one."
        ) from error


def require_known(facts: dict[str, Any], known: frozenset[str]) -> None:
    """Raise where a file has facts that nobody here knows: without them its answers might be wrong ones."""
    if unknown := sorted(facts.keys() - known - {"format", "kind", _KEY}):
        raise InputError(
            f"kernode {facts.get(_KEY)} wrote {unknown[0]!r} into it, which this version does not know. "
            "Update kernode, or write the file again with this one."
        )


def _checksum(tensors: dict[str, Tensor], facts: dict[str, Any]) -> str:
    import torch

    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)  # as it is: no copy
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
