"""What every method for links keeps to: each property for all methods that are listed."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphs import CLUSTERS
from kernode.compute.draws import Draws
from kernode.io.edge_split import is_edge, split_edges
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.model import LinkModel
from kernode.training.settings import Training
from parts import LINK_METHODS, over
from tasks import DOUBLE, fit, link_task

SPLIT = split_edges(CLUSTERS, 0)
QUICK = Training(epochs=8, weight_decay=0.0)
every_method = over("method", LINK_METHODS)


@pytest.fixture(scope="module")
def fitted():
    """Each method trained once on two replicas: a function of the method."""
    kept = {}

    def on_clusters(method):
        if method not in kept:
            kept[method] = fit(link_task(seeds=(3, 4)), method, QUICK)
        return kept[method]

    return on_clusters


@every_method
def test_method_travels_as_json_and_by_pickle(method):
    assert LinkMethod.from_json(json.loads(json.dumps(method.to_json()))) == method
    assert pickle.loads(pickle.dumps(method)) == method


@every_method
def test_model_says_what_it_was_trained_with(method, fitted):
    model = fitted(method).model
    assert (model.method, model.training, model.variant) == (method, QUICK, "own")
    assert (model.seeds, model.precision, model.split_seed) == ((3, 4), 64, 0)
    assert (model.dataset, model.fingerprint) == ("clusters", CLUSTERS.fingerprint)
    assert model.history["validation_auc"].shape == (8, 2)


@every_method
def test_replica_equals_the_run_made_alone_with_its_seed(method, fitted):
    together = fitted(method).model
    for i, seed in enumerate((3, 4)):
        alone = fit(link_task(seeds=(seed,)), method, QUICK).model
        assert together.kept_epochs[i] == alone.kept_epochs[0]
        for key, value in alone.parameters.items():
            assert torch.allclose(together.parameters[key][i], value[0], atol=1e-8)


@every_method
def test_scores_are_probabilities_and_those_of_a_pair_turned_round(method, fitted):
    on = fitted(method)
    scores = on.score_pairs(SPLIT.test)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.allclose(scores, on.score_pairs(SPLIT.test[:, ::-1]))
    by_run = 1 / (1 + np.exp(-on.logits(SPLIT.test)))
    assert np.allclose(scores, by_run.mean(axis=0))
    assert np.allclose(on.log_odds(SPLIT.test), np.log(scores / (1 - scores)))


def test_log_odds_stay_finite_where_probabilities_round_to_one(fitted):
    on = fitted(LINK_METHODS["rbf"])
    offset = torch.tensor([800.0, 900.0], dtype=torch.float64)
    model = replace(on.model, parameters=on.model.parameters | {"offset": offset})
    certain = model.on(SPLIT)
    assert (certain.score_pairs(SPLIT.test) == 1).all()
    assert ((certain.log_odds(SPLIT.test) > 700) & (certain.log_odds(SPLIT.test) < 900)).all()


@every_method
def test_saved_model_answers_the_same(method, fitted, tmp_path):
    on = fitted(method)
    path = on.model.save(tmp_path / "l.safetensors")
    again = LinkModel.load(path)
    assert again.method == method
    split = again.split_of(CLUSTERS)
    assert np.array_equal(split.test, SPLIT.test)
    assert np.array_equal(again.on(split).logits(SPLIT.test), on.logits(SPLIT.test))
    assert again.save(tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


@every_method
def test_model_on_its_edges_travels_by_pickle(method, fitted):
    on = fitted(method)
    before = on.logits(SPLIT.test)
    assert np.array_equal(pickle.loads(pickle.dumps(on)).logits(SPLIT.test), before)


@every_method
def test_kernel_is_what_links_are_read_from(method, fitted):
    on = fitted(method)
    parameters = on.model.parameters
    embedded, divergence = method.embed(parameters, method.map.prepare(SPLIT.graph, DOUBLE))
    assert divergence is None
    assert torch.equal(on.kernel.embedded, embedded)
    kernel = on.kernel.pairs(*SPLIT.test.T)
    by_run = on.logits(SPLIT.test)
    if method.scaled:
        a, b = (parameters[key].numpy() for key in ("log_scale", "offset"))
        by_run = (by_run - b[:, None]) / np.exp(a)[:, None]
    assert np.allclose(kernel, by_run.mean(axis=0))
    gram = on.kernel.gram()
    assert np.linalg.eigvalsh(gram).min() > -1e-8 * np.abs(gram).max()


@every_method
def test_missing_links_are_the_likeliest_of_a_loop_over_all(method, fitted):
    on = fitted(method)
    found = on.missing_links(5, k=4)
    neighbours = set(CLUSTERS.adjacency[[5]].indices.tolist())  # held-out ones included
    others = [v for v in range(120) if v != 5 and v not in neighbours]
    scores = {v: on.score_pairs([(5, v)])[0] for v in others}
    expected = sorted(others, key=lambda v: -scores[v])[:4]
    assert [score for _, score in found] == pytest.approx([scores[v] for v in expected])
    assert not neighbours & {node for node, _ in found}


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("cells", [1, 120 * 2 * 7, 2**22], ids=["a row at a time", "7 rows", "all"])
def test_missing_links_of_the_graph_are_the_first_of_all_pairs_in_order(method, fitted, cells, monkeypatch):
    monkeypatch.setattr("kernode.tasks.links.model._CELLS", cells)
    on = fitted(method)
    pairs = np.argwhere(np.triu(np.ones((120, 120)), 1))
    pairs = pairs[~is_edge(CLUSTERS.adjacency, pairs)]
    odds = on.log_odds(pairs)
    order = sorted(range(len(pairs)), key=lambda i: (-odds[i], *pairs[i]))
    for k in (1, 25, 10**6):
        found = on.missing_links(k=k)
        assert [(u, v) for u, v, _ in found] == [tuple(pairs[i]) for i in order[:k]]
        assert [score for *_, score in found] == on.score_pairs(pairs[order[:k]]).tolist()


def test_of_equally_likely_links_the_first_come_first(fitted):
    on = fitted(LINK_METHODS["rbf"])
    kernel = replace(on.kernel, g=torch.zeros_like(on.kernel.g))
    on = replace(on)
    vars(on)["kernel"] = kernel  # all nodes alike, so all pairs are
    pairs = np.argwhere(np.triu(np.ones((120, 120)), 1))
    pairs = pairs[~is_edge(CLUSTERS.adjacency, pairs)]
    assert [(u, v) for u, v, _ in on.missing_links(k=9)] == [tuple(pair) for pair in pairs[:9].tolist()]
    others = [v for v in range(120) if v != 7 and not CLUSTERS.adjacency[7, v]]
    assert [v for v, _ in on.missing_links(7, k=9)] == others[:9]


@every_method
def test_what_was_prepared_for_training_is_not_held_after_it_has_answered(method):
    on = fit(link_task(), method, QUICK)
    assert on.prepared is not None
    on.score_pairs(SPLIT.test)
    assert on.prepared is None  # it is larger than g


@every_method
def test_gradient_reaches_every_parameter(method):
    prepared = method.map.prepare(SPLIT.graph, DOUBLE)
    parameters = method.initial(prepared, Draws(torch.tensor([3, 4])), DOUBLE)
    random = torch.Generator().manual_seed(0)
    for value in parameters.values():
        value += 0.1 * torch.randn(value.shape, dtype=value.dtype, generator=random)
        value.requires_grad_()
    embedded, _ = method.embed(parameters, prepared)
    loss = method.logits(parameters, embedded, torch.from_numpy(SPLIT.test.copy())[None]).square().sum()
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=method.variational)
    for name, gradient in zip(parameters, gradients, strict=True):
        assert gradient.reshape(2, -1).any(dim=1).all(), name
