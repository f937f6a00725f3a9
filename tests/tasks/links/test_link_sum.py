"""The sum of kernels that is the default for links: shares, scores, files, and what training may see."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import CLUSTERS
from kernode.compute.draws import Draws
from kernode.compute.tensor_options import TensorOptions
from kernode.io.edge_split import is_edge
from kernode.kernels import Linear
from kernode.maps import HopMLP
from kernode.maps.smoothed_kernel import SmoothedComponents, SmoothedKernel
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.sum import platt, shares_of
from kernode.tasks.links.task import edge_folds
from kernode.tasks.links.variants import MEMBERS
from kernode.training.settings import Training
from tasks import link_task

SPLIT = kn.split_edges(CLUSTERS, 0)
SETTINGS = {"epochs": 4, "device": "cpu", "replicas": 2}


@pytest.fixture(scope="module")
def links():
    return kn.LinkPredictor(**SETTINGS).fit(SPLIT)


def test_the_kernel_is_the_weighted_sum_of_kernels_that_are_trained_alone(links):
    alone = [kn.LinkPredictor(name, **SETTINGS).fit(SPLIT).kernel_ for name in MEMBERS]
    pairs = np.concatenate([SPLIT.validation, SPLIT.validation_negatives])
    linked = np.arange(len(pairs)) < len(SPLIT.validation)
    ends = [kn.positions(column) for column in pairs.T]
    values = np.stack([kernel.pairs(*ends) for kernel in alone])
    shares, scales = shares_of(values.astype(float), linked)
    weights = shares * scales / (shares @ scales)
    expected = sum(weight * kernel.gram() for weight, kernel in zip(weights, alone, strict=True))
    np.testing.assert_allclose(links.kernel_.gram(), expected, atol=1e-5)
    assert np.linalg.eigvalsh(expected.astype(float)).min() > -1e-4
    a, b = platt(weights @ values, linked)
    np.testing.assert_allclose(
        links._on().logits(pairs).mean(axis=0), a * (weights @ values) + b, rtol=1e-4, atol=1e-4
    )
    named = dict(zip(MEMBERS, shares, strict=True))
    assert {one["name"]: one["weight"] for one in links.model_.members} == {
        name: round(share, 4) for name, share in named.items() if share
    }


def test_shares_sum_to_one_and_follow_the_validation_pairs():
    random, linked = np.random.default_rng(0), np.arange(200) < 100
    noise = random.standard_normal((3, 200))
    good, noisy, reversed_ = 2 * linked + noise[0], 0.3 * linked + noise[1], noise[2] - linked
    shares, scales = shares_of(np.stack([noisy, good, reversed_]), linked)
    assert shares.sum() == pytest.approx(1)
    assert shares[2] == 0  # with a negative weight the sum would be no kernel
    assert shares[1] > shares[0] >= 0.25
    assert (scales[:2] > 0).all()
    equal, _ = shares_of(np.stack([noisy, 5 * good - 3, reversed_]), linked)
    np.testing.assert_allclose(equal, shares, atol=0.05)  # another unit of K changes little
    only, ones = shares_of(np.stack([-good, reversed_]), linked)
    assert (only.tolist(), ones.tolist()) == ([1, 0], [1, 1])


def test_a_saved_sum_scores_and_suggests_the_same(links, tmp_path):
    again = kn.load_model(links.save(tmp_path / "sum.safetensors", with_graph=True))
    assert np.array_equal(again.score_pairs(SPLIT.test), links.score_pairs(SPLIT.test))
    assert again.missing_links(k=20) == links.missing_links(k=20)
    assert again.missing_links(7, k=5) == links.missing_links(7, k=5)
    assert again.model_.chosen_by_validation == links.model_.chosen_by_validation
    assert "sum of kernels" in str(again.model_)
    assert again.report().to_json()["members"] == links.report().to_json()["members"]
    assert again.set_params(epochs=1, replicas=1).fit(SPLIT).model_.members


def test_held_out_edges_change_no_score_but_by_the_weights():
    """Another test set, and validation edges that are test edges: the members are the same."""
    swapped = kn.EdgeSplit(SPLIT.graph, SPLIT.validation, SPLIT.validation_negatives, [], [])
    scores = kn.LinkPredictor(**SETTINGS).fit(swapped).score_pairs(SPLIT.test)
    assert np.array_equal(scores, kn.LinkPredictor(**SETTINGS).fit(SPLIT).score_pairs(SPLIT.test))


def test_an_epoch_learns_edges_that_its_operator_lacks():
    parts = edge_folds(SPLIT.graph, 3)
    learned = np.concatenate([edges.numpy() for _, edges in parts])
    assert len(np.unique(learned, axis=0)) == len(learned) == SPLIT.graph.n_edges
    for rest, edges in parts:
        assert not is_edge(rest.adjacency, edges.numpy()).any()
        assert is_edge(SPLIT.graph.adjacency, edges.numpy()).all()
        assert rest.n_edges + len(edges) == SPLIT.graph.n_edges
        for held_out in (SPLIT.validation, SPLIT.test):
            assert not is_edge(rest.adjacency, held_out).any()
    method = LinkMethod(HopMLP((), 4, hops=1), Linear(), edge_folds=2)
    (learner,) = link_task(seeds=(0, 1)).begin(method, Training(epochs=2, weight_decay=0.0)).learners
    for epoch in (1, 2):
        prepared, pairs = learner.folds[epoch % 2]
        one_hop = prepared.neighbours.by_hop(torch.eye(120, dtype=torch.float64))[1].numpy()
        assert not one_hop[pairs.edges[:, 0], pairs.edges[:, 1]].any()
        embedded, _ = method.embed(learner.parameters, prepared)
        loss = method.loss(pairs, lambda some, g=embedded: method.logits(learner.parameters, g, some),
                           Draws(learner.seeds, epoch))  # fmt: skip
        assert torch.allclose(learner.losses(epoch)["loss"], loss)
    whole, _ = method.embed(learner.parameters, learner.prepared)
    assert not torch.allclose(whole, embedded)  # what is evaluated has every training edge


def test_components_hold_the_mean_cosine_of_features_and_of_their_means():
    dense, options = replace(CLUSTERS, features=CLUSTERS.features + 0.1), TensorOptions.of(64)
    for graph in (CLUSTERS, dense):
        feature_map = SmoothedComponents(dimensions=500, hops=2)
        g = feature_map({}, feature_map.prepare(graph, options))[0].numpy()
        blocks = SmoothedKernel(2).blocks(graph, np.float64)
        blocks = [one.toarray() if hasattr(one, "toarray") else one for one in blocks]
        np.testing.assert_allclose(g @ g.T, sum(one @ one.T for one in blocks) / 3, atol=1e-9)
    assert SmoothedComponents(3).prepare(CLUSTERS, options).shape == (120, 3)


def test_without_validation_pairs_one_kernel_is_trained():
    split = kn.EdgeSplit(SPLIT.graph, [], [], SPLIT.test, SPLIT.test_negatives)
    with pytest.warns(UserWarning, match="there is no validation data"):
        links = kn.LinkPredictor(epochs=3, device="cpu").fit(split)
    assert links.model_.members == ()


def test_a_sum_without_time_is_of_what_learns_nothing():
    late = pytest.warns(kn.KernodeWarning, match="ended before masked, .* began: the sum is without them")
    with pytest.warns(kn.KernodeWarning, match="ended smoothed after 1 epoch"), late:
        links = kn.LinkPredictor(time_limit=1e-6, device="cpu").fit(SPLIT)
    assert [one["name"] for one in links.model_.members] == ["smoothed"]
