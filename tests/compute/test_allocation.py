"""Memory that is kept while something trains."""

from __future__ import annotations

import resource
import sys

import pytest
import torch

from kernode.compute import allocation
from kernode.compute.allocation import kept_memory

glibc = pytest.mark.skipif(
    sys.platform != "linux" or allocation._glibc() is None, reason="the allocator is not glibc's"
)


@pytest.fixture(autouse=True)
def nobody_has_set_it(monkeypatch):
    for name in allocation._SET_BY:
        monkeypatch.delenv(name, raising=False)


def _page_faults(steps: int = 4) -> int:
    """What the system must fill anew while large tensors come and go."""
    x = torch.ones(10 * 2**20)  # 40 MB, above what glibc keeps by itself
    for _ in range(steps):  # the first ones find their places
        x.sqrt()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        x.sqrt()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@glibc
def test_large_tensors_use_the_same_memory_again_until_the_end():
    with kept_memory():
        kept = _page_faults()
    assert kept < 0.3 * _page_faults()


@glibc
def test_the_last_of_several_gives_it_back():
    with kept_memory():
        with kept_memory():
            pass
        inner = _page_faults()
        assert allocation._users == 1
    assert allocation._users == 0
    assert inner < 0.3 * _page_faults()


def test_what_somebody_has_set_stays(monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "131072")
    monkeypatch.setattr(allocation, "_set", lambda *given: pytest.fail("it was changed"))
    with kept_memory():
        pass


def test_elsewhere_nothing_happens(monkeypatch):
    monkeypatch.setattr(allocation, "_glibc", lambda: None)
    with kept_memory():
        assert allocation._users == 0
