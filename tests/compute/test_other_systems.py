"""What this machine's files say of it, and what is taken for it where a system has no such files."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernode.compute import gpu, machine


@pytest.fixture
def files(monkeypatch):
    """Files that are read instead of the system's; all others are missing."""
    texts = {}

    def read(path, *_, **__):
        if str(path) not in texts:
            raise FileNotFoundError(str(path))
        return texts[str(path)]

    monkeypatch.setattr(Path, "read_text", read)
    return texts


def test_free_memory_is_the_least_of_system_container_and_limits_of_the_process(files, monkeypatch):
    import psutil

    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10**12))
    limits = {psutil.RLIMIT_AS: (psutil.RLIM_INFINITY, 0), psutil.RLIMIT_DATA: (psutil.RLIM_INFINITY, 0)}
    monkeypatch.setattr(psutil.Process, "rlimit", lambda self, kind: limits[kind])
    assert machine.free_bytes() == 10**12
    files["/sys/fs/cgroup/memory.max"], files["/sys/fs/cgroup/memory.current"] = "max\n", "700\n"
    assert machine.free_bytes() == 10**12
    files["/sys/fs/cgroup/memory.max"] = "1000\n"
    assert machine.free_bytes() == 300
    files.clear()
    limits[psutil.RLIMIT_AS] = (1, 1)  # less than it has taken already
    assert machine.free_bytes() == 0
    for name in ("RLIMIT_AS", "RLIMIT_DATA"):  # macOS, Windows
        monkeypatch.delattr(psutil, name)
    assert machine.free_bytes() == 10**12


def test_without_triton_torch_serves(monkeypatch):
    monkeypatch.setitem(sys.modules, "kernode.compute.triton_code", None)
    monkeypatch.delattr("kernode.compute.triton_code", raising=False)
    gpu._kernels.cache_clear()
    try:
        assert gpu.fused(SimpleNamespace(is_cuda=True)) is None
    finally:
        gpu._kernels.cache_clear()
