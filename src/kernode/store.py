"""One .safetensors file: tensors, and facts about them as one sorted-JSON metadata key, under a checksum.

Nothing is ever unpickled. A file is written beside its place and renamed, so it is never half there.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from kernode.data.atomic import write_whole
from kernode.errors import FileError, InputError

_KEY = "kernode"  # one key: safetensors writes several in random order
FORMAT = 1


def write(path: str | Path, kind: str, tensors: dict[str, Tensor], facts: dict[str, Any]) -> Path:
    """Write tensors and facts (JSON values) to one file, whole or not at all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    facts = json.loads(json.dumps({**facts, "format": FORMAT, "kind": kind}))
    facts["checksum"] = _checksum(tensors, facts)
    path = Path(path)
    write_whole(path, save(tensors, metadata={_KEY: json.dumps(facts, sort_keys=True)}))
    return path


def read(path: str | Path, kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write` wrote, or say in one sentence what is wrong with the file."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{path} is a folder. Give the path of a {kind} file that kernode wrote.")
    if not path.is_file():
        raise FileError(f"{path} does not exist. Give the path of a {kind} file that kernode wrote.")
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get(_KEY, "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError, ValueError) as error:
        raise FileError(f"{path} is damaged or not a {kind} file ({_first_line(error)}).") from error
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        found = facts.get("kind") if isinstance(facts, dict) else None
        raise InputError(f"{path} is not a kernode {kind} file" + (f" but a {found}." if found else "."))
    if facts.get("format") != FORMAT:
        raise InputError(f"{path} has format {facts.get('format')}; this kernode reads format {FORMAT}.")
    if facts.pop("checksum", None) != _checksum(tensors, facts):
        raise FileError(f"{path} is damaged: its checksum does not match. Restore it or train again.")
    return tensors, facts


def _checksum(tensors: dict[str, Tensor], facts: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
