"""Devices by name: those that are here, and one sentence for those that are not."""

import pickle

import pytest
import torch

from kernode.compute.place import Place
from kernode.errors import InputError


@pytest.fixture
def two_gpus(monkeypatch):
    """A machine with two GPUs, and which of them was chosen."""
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    return chosen


def test_a_gpu_has_a_number_and_becomes_the_current_one(two_gpus):
    assert Place.of(32, "cuda:1").device == torch.device("cuda:1")
    assert Place.of(32, torch.device("cuda:0")).device == torch.device("cuda:0")
    assert two_gpus == [1, 0]
    assert Place.of(32, "auto").device == Place.of(32, "cuda").device == torch.device("cuda")
    with pytest.raises(InputError, match=r"there is no cuda:2 here: GPUs run from cuda:0 to cuda:1\."):
        Place.of(32, "cuda:2")


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("cuda", "no CUDA device is available here"),
        ("cuda:0", "no CUDA device is available here. Choose cpu or auto"),
        ("mps", "device 'mps' is not supported. Choose cpu or auto"),
        ("tpu", "device must be 'auto', 'cpu' or 'cuda', or one GPU of several, such as 'cuda:1'. Got 'tpu'"),
        ("cuda:", "device must be"),
        ("cuda:x", "device must be"),
        ("cpu:0", "device must be"),
        (None, "device must be .* Got None"),
        (0, "device must be .* Got 0"),
    ],
)
def test_any_other_is_one_sentence(monkeypatch, device, sentence):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=sentence):
        Place.of(32, device)


def test_a_place_that_travels_is_the_cpu_where_there_is_no_such_gpu(monkeypatch):
    travelling = pickle.dumps(Place(torch.float64, torch.device("cuda:0")))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert pickle.loads(travelling) == Place.of(64)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert pickle.loads(travelling).device == torch.device("cuda:0")
