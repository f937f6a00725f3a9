"""What this machine's files say of it, and what is taken for it where a system has no such files."""

import os
import platform
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from kernode.compute import free_memory, fused, machine, threads
from kernode.compute.place import Place


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


def test_free_memory_is_what_linux_says_is_available(files):
    files["/proc/meminfo"] = "MemTotal: 99 kB\nMemAvailable:  12 kB\n"
    assert free_memory._system_free() == 12 * 1024


def test_elsewhere_it_is_all_there_is_or_unknown(files, monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 7, "SC_PAGE_SIZE": 4096}.__getitem__, raising=False)
    assert free_memory._system_free() == 7 * 4096
    monkeypatch.delattr(os, "sysconf")  # Windows
    assert free_memory._system_free() is None


@pytest.mark.parametrize(("limit", "left"), [("1000\n", 300), ("max\n", None)])
def test_a_container_leaves_what_its_limit_does(files, limit, left):
    assert free_memory._container_free() is None
    files["/sys/fs/cgroup/memory.max"], files["/sys/fs/cgroup/memory.current"] = limit, "700\n"
    assert free_memory._container_free() == left


def test_without_counts_of_a_process_nothing_limits_it(files, monkeypatch):
    assert free_memory._process_free() is None
    monkeypatch.setitem(sys.modules, "resource", None)  # Windows
    assert free_memory._process_free() is None
    assert free_memory.peak_at(Place.of(32, "cpu")) is None


def test_a_processor_has_a_name_everywhere(files, monkeypatch):
    files["/proc/cpuinfo"] = "flags : x\nmodel name : Fast One\n"
    assert machine._processor() == "Fast One"
    files.clear()
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert machine._processor() == platform.machine()


def test_libraries_that_are_not_there_have_no_version(monkeypatch):
    monkeypatch.setattr(machine, "_LIBRARIES", ("torch", "no-such-library"))
    assert list(machine._versions()) == ["torch"]


def test_where_nobody_says_which_threads_share_a_core_each_is_its_own(files):
    assert threads._siblings(3) == "3"


def test_one_thread_needs_no_trial(monkeypatch):
    monkeypatch.setattr(threads, "_measure", lambda most: pytest.fail("measured"))
    assert threads._best_of(1) == 1


def test_without_triton_torch_serves(monkeypatch):
    monkeypatch.setitem(sys.modules, "kernode.compute.triton_code", None)
    monkeypatch.delattr("kernode.compute.triton_code", raising=False)
    fused._kernels.cache_clear()
    try:
        assert fused.fused(SimpleNamespace(is_cuda=True)) is None
    finally:
        fused._kernels.cache_clear()


def test_of_several_processes_each_takes_a_gpu(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert Place.of(32, "cuda").device == torch.device("cuda:1")
    assert chosen == [1]
