"""What every feature map keeps to, whoever wrote it: each property for all maps that are listed."""

import json
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphs import clustered_graph, dense_features, graphs, path_graph
from kernode.compute.draws import Draws, Dropout
from kernode.errors import InputError
from kernode.kernels import NodeKernel
from kernode.maps import (
    GAT,
    GCN,
    GCNII,
    ClassicGNN,
    ConcatMap,
    DiffusedComponents,
    Diffusion,
    FeatureMap,
    HopMLP,
    OnColumns,
    Presmoothed,
    Smoother,
    Standardized,
)
from kernode.maps import base as maps_base
from kernode.maps.base import input_rates
from kernode.maps.smoother import FIXED as AXES
from kernode.maps.standardized import FIXED
from parts import KERNELS, MAPS, over
from refusals import refused
from tasks import DOUBLE, SINGLE

SEEDS = torch.tensor([3, 4, 5])
every_map = over("feature_map", MAPS)
LEARNED = [
    one
    for one in MAPS
    if one.learns and one.initial(one.prepare(path_graph(2), DOUBLE), Draws(SEEDS), DOUBLE)
]
every_learned_map = over("feature_map", LEARNED)


def is_fixed(name):
    """Whether a parameter is a statistic of the graph, which no gradient reaches."""
    return name.rsplit(".")[-1] in (*FIXED, *AXES)


def start(feature_map, graph, seeds=SEEDS, options=DOUBLE):
    prepared = feature_map.prepare(graph, options)
    parameters = feature_map.initial(prepared, Draws(seeds), options)
    with torch.no_grad():
        return prepared, feature_map.finished(parameters, prepared)


def anywhere(feature_map, graph):
    """Parameters that are nowhere at their first values, where biases are zero and relu has its kink."""
    prepared, parameters = start(feature_map, graph, SEEDS[:2])
    random = torch.Generator().manual_seed(0)
    moved = {
        name: torch.randn(p.shape, dtype=p.dtype, generator=random) for name, p in sorted(parameters.items())
    }
    return prepared, moved


def dropped(seeds=SEEDS, rate=0.5, epoch=2):
    return Dropout(Draws(seeds, epoch), torch.full((len(seeds),), rate, dtype=torch.float64))


@pytest.fixture
def always_local(monkeypatch):
    """Small graphs are mostly neighbourhood: compute locally all the same."""
    monkeypatch.setattr(maps_base, "LARGEST_PART", np.inf)


@every_map
def test_map_travels_as_json_and_by_pickle(feature_map):
    assert FeatureMap.from_json(json.loads(json.dumps(feature_map.to_json()))) == feature_map
    assert pickle.loads(pickle.dumps(feature_map)) == feature_map
    assert hash(replace(feature_map)) == hash(feature_map)


@every_map
def test_g_of_a_stack_is_g_of_each_replica_alone(feature_map):
    graph = clustered_graph(n=30)
    prepared, stack = start(feature_map, graph)
    if feature_map in LEARNED:
        assert any(not torch.equal(value[0], value[1]) for value in stack.values())
    together = [feature_map(stack, prepared), feature_map(stack, prepared, dropped())]
    for i, seed in enumerate(SEEDS):
        _, own = start(feature_map, graph, seed[None])
        measured = {name for name in own if "batch_" in name}  # of all nodes: sums may be rounded otherwise
        assert all(torch.equal(stack[name][i], own[name][0]) for name in {*own} - measured)
        assert all(torch.allclose(stack[name][i], own[name][0], atol=1e-12) for name in measured)
        alone = [feature_map(own, prepared), feature_map(own, prepared, dropped(seed[None]))]
        for one, all_ in zip(alone, together, strict=True):
            at = min(i, len(all_) - 1)  # without parameters one replica stands for all
            assert torch.allclose(one[0], all_[at], atol=1e-12)


@every_map
def test_width_and_numbers_are_as_asked_for(feature_map):
    graph = clustered_graph(n=30)
    prepared, parameters = start(feature_map, graph, options=SINGLE)
    g = feature_map(parameters, prepared)
    assert g.dtype == torch.float32
    assert {value.dtype for value in parameters.values()} <= {torch.float32}
    assert {len(value) for value in parameters.values()} <= {3}
    wide = 4 if isinstance(feature_map, ConcatMap) else 3
    assert g.shape == ((3, 30, wide) if parameters else (1, 30, graph.n_features))
    if "outputs" in {field.name for field in fields(feature_map)}:
        open_width = replace(feature_map, outputs=None)
        assert open_width.for_classes(3) == feature_map
    assert feature_map.for_classes(7) == feature_map


@every_map
def test_without_dropout_g_is_deterministic(feature_map):
    graph = clustered_graph(n=30)
    prepared, parameters = start(feature_map, graph)
    once = feature_map(parameters, prepared).clone()
    feature_map(parameters, prepared, dropped())  # which leaves nothing behind
    assert torch.equal(once, feature_map(parameters, prepared))
    again, same = start(feature_map, clustered_graph(n=30))
    assert torch.equal(once, feature_map(same, again))


@every_map
def test_dropout_is_drawn_by_seed_and_epoch_alone(feature_map):
    prepared, parameters = start(feature_map, clustered_graph(n=30))
    first, second = (feature_map(parameters, prepared, dropped()).clone() for _ in range(2))
    assert torch.equal(first, second)
    later = feature_map(parameters, prepared, dropped(epoch=3))
    plain = feature_map(parameters, prepared)
    assert torch.equal(first, later) == torch.equal(first, plain)  # what drops drops afresh in every epoch


@every_map
def test_nothing_else_moves_neither_the_graph_nor_parameters_nor_torchs_generator(feature_map):
    graph = clustered_graph(n=30)
    before, prepared = dense_features(graph).copy(), feature_map.prepare(graph, DOUBLE)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    parameters = feature_map.initial(prepared, Draws(SEEDS), DOUBLE)
    held = {name: value.clone() for name, value in parameters.items()}
    feature_map(parameters, prepared, dropped())
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(value, held[name]) for name, value in parameters.items())
    assert np.array_equal(dense_features(graph), before)


@every_map
def test_sparse_and_dense_features_agree(feature_map):
    graph = clustered_graph(n=30)
    found = []
    for features in (graph.features, sparse.csr_array(graph.features)):
        prepared, parameters = start(feature_map, replace(graph, features=features))
        found.append(feature_map(parameters, prepared))
    assert torch.allclose(*found, atol=1e-12)


@pytest.mark.parametrize("rate", [None, 0.3])
@every_learned_map
def test_gradients_pass_gradcheck(feature_map, rate):
    prepared, parameters = anywhere(feature_map, clustered_graph(n=7))
    dropout = None if rate is None else dropped(SEEDS[:2], rate, 1)

    learned = {name: value.requires_grad_() for name, value in parameters.items() if not is_fixed(name)}

    def of(*tensors):
        return feature_map(parameters | dict(zip(learned, tensors, strict=True)), prepared, dropout)

    # Random projections of the Jacobian: a wrong gradient fails them, too, in a fraction of the time.
    assert torch.autograd.gradcheck(of, list(learned.values()), fast_mode=True)


@every_learned_map
def test_gradient_reaches_every_parameter_of_every_replica(feature_map):
    prepared, parameters = anywhere(feature_map, clustered_graph(n=30))
    for value in parameters.values():
        value.requires_grad_()
    g = feature_map(parameters, prepared)
    weights = torch.randn(g.shape, dtype=g.dtype, generator=torch.Generator().manual_seed(1))
    gradients = torch.autograd.grad((g * weights).sum(), list(parameters.values()), allow_unused=True)
    for name, gradient in zip(parameters, gradients, strict=True):
        if is_fixed(name):
            assert gradient is None
        else:
            assert gradient.flatten(1).any(dim=1).all(), name


@pytest.mark.usefixtures("always_local")
@pytest.mark.parametrize("nodes", [[], [4], [17, 0, 3]])
@pytest.mark.parametrize("make", [lambda: clustered_graph(n=30), lambda: path_graph(30)])
@every_map
def test_rows_are_rows_of_the_whole(feature_map, make, nodes):
    graph, nodes = make(), np.array(nodes, dtype=int)
    prepared, parameters = anywhere(feature_map, graph)
    whole = feature_map(parameters, prepared)
    rows = feature_map.rows(parameters, graph, nodes, DOUBLE)
    assert rows.shape == (len(whole), len(nodes), whole.shape[2])
    assert torch.allclose(rows, whole[:, nodes], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@every_map
def test_dropout_on_x_is_a_mask_on_x_or_refused(feature_map, kind):
    rates = torch.tensor([0.0, 0.3, 0.8], dtype=torch.float64)
    if not feature_map.drops_input:
        assert "input_dropout" in feature_map.ignored_settings
        with pytest.raises(InputError, match=f"{type(feature_map).__name__} has no dropout on X"):
            input_rates(feature_map, rates)
        assert input_rates(feature_map, torch.zeros(1)) is None
        return
    graph = clustered_graph(n=30)
    prepared, parameters = start(feature_map, replace(graph, features=kind(graph.features)))
    none = torch.zeros(3, dtype=torch.float64)
    plain = feature_map(parameters, prepared, Dropout(Draws(SEEDS, 2), none))
    masked = feature_map(
        parameters, prepared, Dropout(Draws(SEEDS, 2), none, input_rates(feature_map, rates))
    )
    assert torch.allclose(masked[0], plain[0])
    assert not torch.allclose(masked[1], plain[1])
    for i in range(3):
        own = Dropout(Draws(SEEDS[i : i + 1], 2), none[:1], rates[i : i + 1])
        alone = feature_map({name: value[i : i + 1] for name, value in parameters.items()}, prepared, own)
        assert torch.allclose(alone[0], masked[i])


@pytest.mark.filterwarnings("ignore:.* is not given the weights")
@every_map
@settings(max_examples=8)
@given(graphs(), st.sampled_from([one for one in KERNELS if not hasattr(one, "widths")]), st.integers(0, 99))
def test_theorem_1_every_node_kernel_is_symmetric_and_psd(feature_map, graph, base, seed):
    prepared, parameters = start(feature_map, graph, torch.tensor([seed, seed + 1]))
    g = feature_map(parameters, prepared).detach()
    gram = NodeKernel(base, g, base.initial(len(g))).gram()
    assert np.allclose(gram, gram.T)
    smallest = np.linalg.eigvalsh(gram.astype(float)).min()
    assert smallest > -1e-10 * max(1.0, np.abs(gram).max())


@pytest.mark.parametrize(
    ("kind", "wrong", "setting"),
    [
        (HopMLP, {"hops": 0}, "hops"),
        (HopMLP, {"powers": "none"}, "powers"),
        (HopMLP, {"hidden": (0,)}, "hidden"),
        (HopMLP, {"hop_weights": "fixed"}, "hop_weights"),
        (HopMLP, {"outputs": 0}, "outputs"),
        (Diffusion, {"teleport": 1.5}, "teleport"),
        (Diffusion, {"hop_weights": 0.5}, "hop_weights"),
        (Presmoothed, {"powers": "released"}, "powers"),
        (GCN, {"hidden": 16}, "hidden"),
        (GAT, {"hidden": (7,), "heads": 2}, "hidden"),
        (GAT, {"attention_dropout": 1.0}, "attention_dropout"),
        (ClassicGNN, {"layer": "gin"}, "layer"),
        (ClassicGNN, {"hidden": ()}, "hidden"),
        (ClassicGNN, {"heads": 2}, "heads"),
        (GCNII, {"hidden": (4, 4)}, "hidden"),
        (GCNII, {"depth": 0}, "depth"),
        (GCNII, {"alpha": 1.1}, "alpha"),
        (GCNII, {"theta": 0.0}, "theta"),
        (ConcatMap, {"first": HopMLP(), "share": 1.5}, "share"),
        (ConcatMap, {"first": HopMLP}, "first"),
        (DiffusedComponents, {"dimensions": 0}, "dimensions"),
        (DiffusedComponents, {"teleport": 0}, "teleport"),
    ],
)
def test_wrong_settings_are_refused(kind, wrong, setting):
    with refused("setting", setting=setting):
        kind(**wrong)


@pytest.mark.parametrize(
    "feature_map", [GAT((8,), 3), Smoother(), Presmoothed((4,), 3), OnColumns(GCN((4,), 3))], ids=repr
)
def test_only_maps_that_begin_with_a_product_with_x_can_be_standardized(feature_map):
    with refused("unsupported", setting="map"):
        Standardized(feature_map)
