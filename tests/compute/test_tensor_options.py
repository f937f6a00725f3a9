"""Devices by name: those that are here, and one sentence for those that are not."""

import pickle

import pytest
import torch

from kernode.compute.tensor_options import TensorOptions, cpu_threads
from refusals import refused


@pytest.fixture
def two_gpus(monkeypatch):
    """A machine with two GPUs, and which of them was chosen."""
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    return chosen


def test_a_gpu_has_a_number_and_becomes_the_current_one(two_gpus):
    assert TensorOptions.of(32, "cuda:1").device == torch.device("cuda:1")
    assert TensorOptions.of(32, torch.device("cuda:0")).device == torch.device("cuda:0")
    assert two_gpus == [1, 0]
    assert TensorOptions.of(32, "auto").device == TensorOptions.of(32, "cuda").device == torch.device("cuda")
    with refused("setting", setting="device", value="cuda:2"):
        TensorOptions.of(32, "cuda:2")


@pytest.mark.parametrize("device", ["cuda", "mps", "cuda:x", None])
def test_any_other_is_refused(monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with refused("setting", setting="device", value=device):
        TensorOptions.of(32, device)


def test_a_place_that_travels_is_the_cpu_where_there_is_no_such_gpu(monkeypatch):
    travelling = pickle.dumps(TensorOptions(torch.float64, torch.device("cuda:0")))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert pickle.loads(travelling) == TensorOptions.of(64)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert pickle.loads(travelling).device == torch.device("cuda:0")


def test_threads_are_set_for_a_while_and_none_leaves_torchs_own():
    before = torch.get_num_threads()
    with cpu_threads(before + 1) as number:
        assert number == torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with cpu_threads(None) as number:
        assert number == before
    with refused("setting", setting="threads", value=10**6), cpu_threads(10**6):
        pass
