"""What a map says of itself: what it costs, what of it can be searched for, and which settings it ignores."""

import tracemalloc
from dataclasses import fields, is_dataclass, replace

import pytest
import torch
from scipy import sparse
from torch.autograd.graph import saved_tensors_hooks

from experiments.rivals import FastGCN, JKConcat
from graphs import clustered_graph
from kernode.compute.draws import Draws, Dropout
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError
from kernode.io import load_graph
from kernode.io.sizes import GraphSizes, look_up
from kernode.kernels import RBF, Linear
from kernode.losses import Hinge, Softmax
from kernode.maps import (
    GAT,
    GCN,
    MLP,
    ConcatMap,
    HopMLP,
    NodeEmbedding,
    Presmoothed,
    Smoother,
)
from kernode.maps.smoother import FIXED as AXES
from kernode.tasks.classes.method import Method
from kernode.training.settings import Patience, Training
from parts import MAPS, BareMap
from tasks import node_task, run_loop

CPU = TensorOptions.of(32)
GPU = TensorOptions(torch.float32, torch.device("cuda"))


every_map = pytest.mark.parametrize("feature_map", MAPS, ids=str)


# cost


def tensors_in(value):
    """Every dense tensor that a value is made of."""
    if isinstance(value, torch.Tensor):
        if value.layout == torch.sparse_csr:
            yield from (value.crow_indices(), value.col_indices(), value.values())
        else:
            yield value
    elif isinstance(value, torch.nn.Module):
        yield from value.parameters()
    elif is_dataclass(value):
        for one in vars(value).values():
            yield from tensors_in(one)


def bytes_of(tensors):
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def really_held(feature_map, graph):
    """Bytes of all tensors at the end of a forward pass, and of all arrays at the worst moment before it."""
    feature_map.prepare(graph, CPU)  # what is imported only then is not to be counted
    tracemalloc.start()
    prepared = feature_map.prepare(graph, CPU)
    _, building = tracemalloc.get_traced_memory()  # numpy's and scipy's alone
    tracemalloc.stop()
    draws = Draws(torch.tensor([0]))
    parameters = feature_map.initial(prepared, draws, CPU)
    for parameter in parameters.values():
        parameter.requires_grad_()
    saved = []
    rates = torch.full((1,), 0.5)
    with saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        g = feature_map(parameters, prepared, Dropout(draws.at(1), rates))
    tensors = [*tensors_in(prepared), *saved, g, *parameters.values()]
    features = bytes_of(tensors_in(getattr(prepared, "features", None)))
    return bytes_of(tensors) + 3 * bytes_of(parameters.values()), features + building


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True])
@every_map
def test_bound_is_below_what_is_held(feature_map, dense):
    graph = load_graph("synthetic:nodes=3000,degree=8,features=40") if dense else load_graph("cora")
    if isinstance(feature_map, BareMap) and not dense:
        pytest.skip("it takes no sparse X")
    bound = feature_map.least_bytes(GraphSizes.of(graph), CPU)
    training, building = really_held(feature_map, graph)
    assert bound <= max(training, building)


@every_map
def test_bound_grows_with_the_graph_and_the_precision(feature_map):
    few, many, dense = (
        look_up(f"synthetic:nodes={n},degree={degree}")
        for n, degree in ((20_000, 8), (40_000, 8), (20_000, 40))
    )
    bounds = [feature_map.least_bytes(sizes, CPU) for sizes in (few, many, dense)]
    assert bounds[0] == bounds[1] == 0 or bounds[1] > 1.5 * bounds[0]
    assert bounds[2] >= bounds[0]
    assert feature_map.least_bytes(few, TensorOptions.of(64)) >= bounds[0]
    layered = hasattr(feature_map.unwrapped, "hidden")
    assert bounds[0] > 0 or not layered or isinstance(feature_map, JKConcat | FastGCN)


def test_shared_features_cost_nothing():
    """A dense X that is used as the graph has it is not counted again."""
    sizes = look_up("synthetic:nodes=1000,features=5000")
    scaled, shared = (GCN((4,), 2, rows).least_bytes(sizes, CPU) for rows in (True, False))
    assert scaled - shared == 1000 * 5000 * 4
    assert GCN((4,), 2, False).least_bytes(sizes, GPU) == scaled  # it must go there


def test_sparse_and_dense_features_have_bounds_of_their_own():
    graph = clustered_graph()
    words = replace(graph, features=sparse.csr_array(graph.features))
    sizes = GraphSizes.of(words)
    assert (sizes.filled, GraphSizes.of(graph).filled) == (words.features.nnz, None)
    by_hand = min(2 * sizes.filled * (4 + 4), 60 * 8 * 4)
    assert GCN((5,), 3).least_bytes(sizes, CPU) == by_hand + 4 * (4 * (8 * 5 + 5 * 3) + 60 * (5 + 3))


@every_map
def test_operator_is_a_word_and_why(feature_map):
    kind, _, why = feature_map.operator_reason(look_up("synthetic:nodes=1000")).partition(": ")
    assert kind in {"none", "explicit", "factored", "adjacency", "attention", "messages"}
    assert why
    sums = not isinstance(feature_map.unwrapped, BareMap | NodeEmbedding | MLP | Smoother | Presmoothed)
    assert (kind != "none") == sums


# search


@every_map
def test_search_space_is_of_the_maps_own_fields(feature_map):
    feature_map = feature_map.unwrapped
    names = {field.name for field in fields(feature_map)}
    assert set(feature_map.search_space) <= names
    for name, choices in feature_map.search_space.items():
        assert len(set(choices)) == len(choices) > 1
        for choice in choices:
            widths = (choice,) * len(feature_map.hidden) if name == "hidden" else choice
            replace(feature_map, **{name: widths})  # each is a value that the map takes


# ignored settings

OTHERWISE = {
    "epochs": 3, "learning_rate": 0.05, "weight_decay": 0.1, "dropout": 0.1, "input_dropout": 0.3,
    "patience": 1, "selection": "last", "select_by": "map", "averaging": 0.5,
    "stopping": Patience(1),
}  # fmt: skip
USUAL = Training(epochs=2, dropout=0.6)
TO_THE_END = replace(USUAL, selection="last")  # an epoch that is not the best changes something, too


def method_of(feature_map):
    """Without parameters of its own where the map has none."""
    reads = feature_map.learns and not isinstance(feature_map, ConcatMap)  # g as class scores
    return Method(feature_map, Linear(), Softmax() if reads else Hinge(triplets=200))


def learned(feature_map, training):
    return run_loop(node_task(clustered_graph(), (0, 1)), method_of(feature_map), training).parameters


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
@every_map
def test_ignored_settings_have_no_effect_and_others_have_one(feature_map):
    before = learned(feature_map, USUAL)
    ignored = method_of(feature_map).ignored_settings
    assert feature_map.ignored_settings <= ignored <= OTHERWISE.keys()
    for name in sorted(ignored):
        changed = replace(USUAL, **{name: OTHERWISE[name]})
        if name == "input_dropout" and not feature_map.drops_input:
            with pytest.raises(InputError, match="has no dropout on X: leave input_dropout out"):
                learned(feature_map, changed)
        else:
            assert same(before, learned(feature_map, changed)), name
    if isinstance(feature_map, BareMap):
        ignored = ignored | {"dropout"}  # it might have had some: what a map does not know it does not say
    before = learned(feature_map, TO_THE_END)
    for name in {"epochs", "learning_rate", "weight_decay", "dropout", "input_dropout"} - ignored:
        assert not same(before, learned(feature_map, replace(TO_THE_END, **{name: OTHERWISE[name]}))), name


def test_ignored_settings_by_hand():
    assert HopMLP().ignored_settings == frozenset()
    assert GCN(hidden=()).ignored_settings == {"dropout"}
    assert GAT().ignored_settings == Smoother().ignored_settings == {"dropout", "input_dropout"}
    assert BareMap().ignored_settings == {"input_dropout"}
    assert method_of(Smoother()).ignored_settings == OTHERWISE.keys()
    assert Method(Smoother(), RBF(learned=True), Hinge()).ignored_settings == Smoother().ignored_settings
    assert Method(Smoother(), Linear(), Softmax()).ignored_settings == Smoother().ignored_settings


@every_map
def test_a_map_says_whether_it_has_parameters(feature_map):
    prepared = feature_map.prepare(clustered_graph(), CPU)
    first = feature_map.initial(prepared, Draws(torch.tensor([0])), CPU)
    assert bool(set(first) - set(AXES)) == feature_map.learns
