"""A graph in a model's file is read where it lies: features may be most of what the memory holds."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

import kernode as kn
from kernode.io.npz import graph_from_tensors, graph_to_tensors
from refusals import refused

GRAPH = kn.Graph.from_edges(
    [(0, 1), (1, 2)], np.random.default_rng(0).normal(size=(4000, 1000)).astype(np.float32)
)  # 16 MB


def test_reading_takes_the_graphs_own_copy_and_little_more():
    tensors, size = graph_to_tensors(GRAPH), GRAPH.features.nbytes
    tracemalloc.start()
    again = graph_from_tensors(tensors, Path("m"), GRAPH.fingerprint)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert again.fingerprint == GRAPH.fingerprint
    assert peak < size + 20e6  # a fingerprint takes blocks of 16 MB


def test_a_tensor_may_begin_anywhere_and_the_graph_does_not_change_with_it():
    def moved(tensor):
        return torch.cat([torch.zeros(1, dtype=torch.uint8), tensor])[1:]

    tensors = {name: moved(tensor) for name, tensor in graph_to_tensors(GRAPH).items()}
    again = graph_from_tensors(tensors, Path("m"), GRAPH.fingerprint)
    for tensor in tensors.values():
        tensor.zero_()
    del again.__dict__["fingerprint"]
    assert again.fingerprint == GRAPH.fingerprint


@pytest.mark.parametrize("damage", [lambda t: t[:100], lambda t: t[:-1], torch.zeros_like, lambda t: t[:0]])
def test_a_damaged_array_is_named(damage):
    tensors = graph_to_tensors(GRAPH)
    with refused("damaged-file", path="m"):
        graph_from_tensors(tensors | {"features": damage(tensors["features"])}, Path("m"), GRAPH.fingerprint)
