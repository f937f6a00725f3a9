"""The same bits every time: what that asks of a GPU, and of a CPU that is busy."""

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import CLUSTERS
from kernode.compute import gpu as determinism
from kernode.compute.gpu import deterministic, fused, fused_sums, is_deterministic, use_fused
from kernode.errors import InputError
from kernode.tasks.classes.variants import VARIANTS
from kernode.tasks.links.variants import LINK_VARIANTS

ON_A_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def test_it_lasts_as_long_as_it_is_asked_for():
    assert not is_deterministic()
    with deterministic():
        assert is_deterministic()
        assert torch.are_deterministic_algorithms_enabled()
    with pytest.raises(ZeroDivisionError), deterministic():
        raise ZeroDivisionError
    assert not is_deterministic()
    assert not torch.are_deterministic_algorithms_enabled()


def test_kernels_that_add_as_they_come_are_not_used():
    with use_fused("everywhere"):
        assert fused_sums(torch.ones(1)) is fused(torch.ones(1)) is not None
        with deterministic():
            assert fused(torch.ones(1)) is not None
            assert fused_sums(torch.ones(1)) is None


def test_a_gpu_that_has_started_without_it_is_said(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(InputError, match="Set the variable CUBLAS_WORKSPACE_CONFIG=:4096:8 before Python"):
        determinism.prepare_gpu()
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    determinism.prepare_gpu()


def test_on_a_cpu_it_changes_no_bit():
    def fit():
        model = kn.NodeKernelClassifier("k3", epochs=5, device="cpu", threads=1)
        return model.fit(np.arange(60), CLUSTERS.labels[:60], graph=CLUSTERS, validation=np.arange(60, 90))

    usual = fit().predict_proba(np.arange(120))
    with deterministic():
        assert np.array_equal(fit().predict_proba(np.arange(120)), usual)


@ON_A_GPU
@pytest.mark.parametrize("name", [*VARIANTS, *(f"links {name}" for name in LINK_VARIANTS)])
def test_a_gpu_gives_the_same_bytes_twice(name, tmp_path):
    graph, split = kn.load("cora", split="fastgcn")

    def trained(path):
        if name.startswith("links "):
            return (
                kn.LinkPredictor(name.removeprefix("links "), epochs=30, device="cuda").fit(graph).save(path)
            )
        epochs = None if VARIANTS[name].training.epochs == 0 else 30
        model = kn.NodeKernelClassifier(name, epochs=epochs, device="cuda", replicas=2)
        model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
        return model.save(path)

    with deterministic():
        first, second = (trained(tmp_path / f"{i}.safetensors").read_bytes() for i in range(2))
    assert first == second
