"""What every method for links keeps to: each property for all methods that are listed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from graphs import CLUSTERS
from kernode.compute.draws import Draws
from kernode.io.edge_split import is_edge, split_edges
from parts import LINK_METHODS, over
from tasks import DOUBLE, fitted_once

SPLIT = split_edges(CLUSTERS, 0)
every_method = over("method", LINK_METHODS)


@every_method
def test_scores_are_probabilities_and_those_of_a_pair_turned_round(method):
    on = fitted_once(method)
    scores = on.score_pairs(SPLIT.test)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.allclose(scores, on.score_pairs(SPLIT.test[:, ::-1]))
    by_run = 1 / (1 + np.exp(-on.logits(SPLIT.test)))
    assert np.allclose(scores, by_run.mean(axis=0))
    assert np.allclose(on.log_odds(SPLIT.test), np.log(scores / (1 - scores)))


def test_log_odds_stay_finite_where_probabilities_round_to_one():
    on = fitted_once(LINK_METHODS["rbf"])
    offset = torch.tensor([800.0, 900.0], dtype=torch.float64)
    model = replace(on.model, parameters=on.model.parameters | {"offset": offset})
    certain = model.on(SPLIT)
    assert (certain.score_pairs(SPLIT.test) == 1).all()
    assert ((certain.log_odds(SPLIT.test) > 700) & (certain.log_odds(SPLIT.test) < 900)).all()


@every_method
def test_kernel_is_what_links_are_read_from(method):
    on = fitted_once(method)
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
def test_missing_links_are_the_likeliest_of_a_loop_over_all(method):
    on = fitted_once(method)
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
def test_missing_links_of_the_graph_are_the_first_of_all_pairs_in_order(method, cells, monkeypatch):
    monkeypatch.setattr("kernode.tasks.links.model._CELLS", cells)
    on = fitted_once(method)
    pairs = np.argwhere(np.triu(np.ones((120, 120)), 1))
    pairs = pairs[~is_edge(CLUSTERS.adjacency, pairs)]
    odds = on.log_odds(pairs)
    order = sorted(range(len(pairs)), key=lambda i: (-odds[i], *pairs[i]))
    for k in (1, 25, 10**6):
        found = on.missing_links(k=k)
        assert [(u, v) for u, v, _ in found] == [tuple(pairs[i]) for i in order[:k]]
        assert [score for *_, score in found] == on.score_pairs(pairs[order[:k]]).tolist()


def test_of_equally_likely_links_the_first_come_first():
    on = fitted_once(LINK_METHODS["rbf"])
    kernel = replace(on.kernel, g=torch.zeros_like(on.kernel.g))
    on = replace(on)
    vars(on)["kernel"] = kernel  # all nodes alike, so all pairs are
    pairs = np.argwhere(np.triu(np.ones((120, 120)), 1))
    pairs = pairs[~is_edge(CLUSTERS.adjacency, pairs)]
    assert [(u, v) for u, v, _ in on.missing_links(k=9)] == [tuple(pair) for pair in pairs[:9].tolist()]
    others = [v for v in range(120) if v != 7 and not CLUSTERS.adjacency[7, v]]
    assert [v for v, _ in on.missing_links(7, k=9)] == others[:9]


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
