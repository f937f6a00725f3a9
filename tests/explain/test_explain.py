"""Explanations sum to the model's own scores and similarities."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import clustered_graph
from kernode.kernels import RBF, Linear, Normalized
from kernode.maps import GCN, HopMLP
from refusals import refused
from tasks import short_sum

GRAPH = clustered_graph(n=60, classes=3)
TRAIN = np.arange(0, 60, 2)


def fitted(variant="k3", replicas=2, **settings):
    training = {"precision": 64, "epochs": 5}
    model = kn.NodeKernelClassifier(variant, replicas=replicas, random_state=0, training=training, **settings)
    return model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, validation=np.arange(1, 60, 4))


MODELS = {
    "k3": {},
    "n1": {"variant": "n1", "replicas": 1},
    "k1": {"variant": "k1"},
    "hops": {"variant": "hops", "hidden": 8},
    "standardized": {"variant": "hops-standardized", "hidden": 8},
    "diffusion": {"variant": "diffusion", "hidden": 8},
    "own width": {"map": HopMLP((8,), 5, hops=3, powers="last"), "loss": "kernel"},
    "linear": {"variant": "k1", "kernel": Linear()},
    "sum": {"variant": "k1", "kernel": Linear() + Normalized(Linear())},
    "appnp": {"variant": "appnp"},
    "gcn": {"map": GCN((4,))},
}


@pytest.fixture(scope="module", params=MODELS, ids=MODELS.get)
def model(request):
    return fitted(**MODELS[request.param])


def test_all_sums_are_the_lead_of_the_models_own_scores(model):
    on = model._on(None)
    for node in (0, 7, 59):
        e = model.explain(node, top=3)
        assert np.allclose(e.probabilities, model.predict_proba([node])[0], atol=1e-8)
        assert e.of_class == model.predict([node])[0]
        assert e.lead == pytest.approx(e.neighbours.whole + e.class_bias, abs=1e-8)
        assert e.lead == pytest.approx(e.features.whole + e.class_bias, abs=1e-8)
        assert e.lead == pytest.approx(sum(hop.value for hop in e.hops) + e.class_bias, abs=1e-8)
        assert len(e.neighbours.parts) <= 3
        asked = torch.tensor([[node]])
        scores = on.model.method.scores(on.parameters, on.g, on.training_nodes, asked)[:, 0]
        assert np.allclose(e.scores, scores.mean(dim=0), atol=1e-8)


def test_pairs_neighbours_and_features_sum_to_the_kernel(model):
    for u, v in ((0, 1), (7, 30), (5, 5)):
        e = model.explain(u, v, top=4)
        k = model.kernel_.pairs([u], [v])[0]
        assert e.similarity == pytest.approx(k, abs=1e-8)
        for side in (0, 1):
            assert e.neighbours[side].whole == pytest.approx(k, abs=1e-8)
            assert e.features[side].whole == pytest.approx(k, abs=1e-8)
        every = model.explain(u, v, top=10_000)
        assert every.rest_count == 0
        assert every.rest == pytest.approx(0, abs=1e-8)


def test_a_notebook_shows_a_table_in_which_names_are_text(model):
    found = model.explain(5, top=3)
    for one in (found, model.explain(0, 1)):
        assert json.loads(json.dumps(one.to_json()))
        assert "All sums are complete" in str(one)
    shown = replace(found, node="<b>5</b>")._repr_html_()
    assert shown.count("<tr>") == 1 + len(found.neighbours.parts)
    assert f"{found.neighbours.parts[0].value:+.4f}" in shown
    assert "&lt;b&gt;5" in shown
    assert "<b>" not in shown


def test_a_notebook_shows_reports_and_histories_as_tables():
    names = kn.Graph(GRAPH.adjacency, GRAPH.features, GRAPH.labels, ("<b>tea</b>", "coffee", "milk"))
    model = kn.NodeKernelClassifier("k3", replicas=2, epochs=3)
    model.fit(graph=names, split=kn.Split(TRAIN, np.arange(1, 60, 4), np.arange(3, 60, 4)))
    report = model.report()
    shown = report._repr_html_()
    assert f"{report['test']['accuracy_mean']:.2f} ± {report['test']['accuracy_std']:.2f}" in shown
    assert "&lt;b&gt;tea" in shown
    assert "coffee" in shown
    losses = model.history_["loss"].mean(axis=1)
    shown = model.history_._repr_html_()
    assert all(str(np.round(one, 4)) in shown for one in losses[[0, -1]])
    by_number = kn.NodeKernelClassifier("k3", epochs=3).fit(TRAIN, GRAPH.labels[TRAIN], graph=names)
    found = by_number.explain(5, of_class=1, against=2)
    assert (found.of_class, found.against) == (1, 2)
    assert "coffee" in str(found).splitlines()[0]
    assert "ahead of milk" in found._repr_html_()


def test_the_largest_parts_are_shown_and_the_others_are_one_remainder():
    model = fitted()
    few, every = model.explain(0, top=2).neighbours, model.explain(0, top=1000).neighbours
    assert (every.rest_count, few.rest_count) == (0, len(every.parts) - 2)
    assert few.parts == every.parts[:2]
    assert few.rest == pytest.approx(sum(part.value for part in every.parts[2:]))
    sizes = [abs(part.value) for part in every.parts]
    assert sizes == sorted(sizes, reverse=True)


def test_several_replicas_are_explained_by_their_mean_with_its_spread():
    model = fitted(replicas=3)
    e = model.explain(4, top=1000)
    alone = []
    for i in range(3):
        one = model._on(None).of_replicas([i])
        single = kn.NodeKernelClassifier("k3")._become(one.model, "cpu", one)
        alone.append(single.explain(4, top=1000, of_class=e.of_class, against=e.against))
    by_name = [{part.name: part.value for part in one.neighbours.parts} for one in alone]
    for part in e.neighbours.parts:
        values = [one[part.name] for one in by_name]
        assert part.value == pytest.approx(np.mean(values))
        assert part.spread == pytest.approx(np.std(values, ddof=1))
    assert alone[0].neighbours.parts[0].spread is None


def test_a_class_can_be_asked_for():
    model = fitted()
    e = model.explain(0, of_class=2, against=1)
    scores = dict(zip(e.classes, e.scores, strict=True))
    assert (e.of_class, e.against, e.lead) == (2, 1, scores[2] - scores[1])
    for wrong, code in (({"of_class": 9}, "unknown"), ({"of_class": 1, "against": 1}, "conflict")):
        with refused(code):
            model.explain(0, **wrong)
    with refused("conflict", setting="against"):
        model.explain(0, 1, of_class=1)
    with refused("setting", setting="top", value=0):
        model.explain(0, top=0)


def explained_instant(replicas=1, **given):
    model = kn.NodeKernelClassifier("instant", replicas=replicas, training={"precision": 64})
    return model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, **given)


def untrained_kernel(blocks):
    """exp(−γ (1 − ⟨b(u), b(v)⟩)) of all nodes, node by node."""
    b = [np.concatenate(rows) / np.sqrt(len(blocks)) for rows in zip(*blocks, strict=True)]
    return np.array([[np.exp(-2 * (1 - np.dot(u, v))) for v in b] for u in b])


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, len(TRAIN))])
def test_instant_is_explained_by_weighted_training_labels(weights):
    """K (K + λ)⁻¹ y, node by node: α is what the ridge leaves of a label, divided by λ."""
    model = explained_instant(sample_weight=weights)
    on = model._on(None)
    k = untrained_kernel(on.model.method.map.blocks(GRAPH, np.float64))
    counts = np.ones(len(TRAIN)) if weights is None else weights / weights.mean()
    y = np.eye(3)[GRAPH.labels[TRAIN]]
    bias = counts @ y / len(TRAIN)
    alphas = [
        np.linalg.solve(k[np.ix_(TRAIN, TRAIN)] + np.diag(ridge / counts), y - bias)
        for ridge in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    ]
    for node in (1, 4, 59):
        e = model.explain(node, top=1000)
        scores = [10 * (k[node, TRAIN] @ alpha + bias) for alpha in alphas]
        chosen = int(np.argmin([np.abs(one - e.scores).max() for one in scores]))
        np.testing.assert_allclose(e.scores, scores[chosen], atol=1e-4)
        first, second = e.classes.index(e.of_class), e.classes.index(e.against)
        alpha = 10 * (alphas[chosen][:, first] - alphas[chosen][:, second])
        assert {one.name for one in e.neighbours.parts} == set(TRAIN.tolist())
        for part in e.neighbours.parts:
            at = int(np.flatnonzero(part.name == TRAIN)[0])
            assert part.known_class == str(GRAPH.labels[part.name])
            assert part.weight == pytest.approx(alpha[at], abs=1e-3)
            assert part.similarity == pytest.approx(k[node, part.name], abs=1e-6)
            assert part.value == pytest.approx(part.weight * part.similarity, abs=1e-8)


@pytest.mark.parametrize("landmarks", [None, 7])
@pytest.mark.parametrize("replicas", [1, 3])
def test_training_labels_sum_to_the_lead_of_instant(landmarks, replicas, monkeypatch):
    if landmarks:
        monkeypatch.setattr("kernode.tasks.classes.kernel_ridge._ALL", landmarks)
        monkeypatch.setattr("kernode.tasks.classes.kernel_ridge._SOME", landmarks)
    model = explained_instant(replicas)
    on = model._on(None)
    weights, bias = on.model.method.head(on.parameters)
    for node in (0, 7, 59):
        e = model.explain(node, top=3)
        scores = (on.g[:, node, None] @ weights)[:, 0] + bias
        assert np.allclose(e.scores, scores.mean(dim=0), atol=1e-8)
        for whole in (e.neighbours.whole, e.features.whole, sum(hop.value for hop in e.hops)):
            assert whole + e.class_bias == pytest.approx(e.lead, abs=1e-8)
        assert e.by == "training node"
        said = str(e)
        assert f"{e.neighbours.rest_count:,} other training nodes" in said
        assert "weight " in said
        assert ("7 landmarks stand for all 30 training nodes" in said) == bool(landmarks)
    assert e.to_json()["neighbours"]["parts"][0]["weight"] == e.neighbours.parts[0].weight


def test_instant_in_a_sum_is_explained_by_training_labels_too(monkeypatch):
    short_sum(monkeypatch)
    model = kn.NodeKernelClassifier("auto", training={"precision": 64})
    model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, validation=np.arange(1, 60, 4))
    at = [one.name for one in model.model_.method.members].index("instant")
    weight = model.model_.method.members[at].weight
    e, alone = (one.explain(1, top=1000, of_class=1, against=2) for one in (model, explained_instant()))
    labels = {
        part.name: word.value
        for part in e.neighbours.parts
        for word in part.words
        if word.name == "training label"
    }
    largest = alone.neighbours.parts[0]
    assert labels[largest.name] == pytest.approx(weight * largest.value, abs=1e-8)
    assert e.lead == pytest.approx(e.neighbours.whole + e.class_bias, abs=1e-8)
    assert e.by == "node"
    assert "A training label adds its weight in the ridge regression times K." in str(e)


def test_a_training_node_without_a_path_is_not_connected():
    graph = kn.Graph.from_edges([(0, 1), (2, 3)], np.eye(5), [0, 0, 1, 1, 1])
    e = kn.NodeKernelClassifier("instant").fit(range(4), graph.labels[:4], graph=graph).explain(1)
    assert {part.name: part.hops for part in e.neighbours.parts} == {0: 1, 1: 0, 2: -1, 3: -1}
    assert "2; not connected; 1; weight " in str(e)
    assert "<td>–</td>" in e._repr_html_()


def test_a_gaussian_kernel_is_refused_where_it_decides():
    by_centroids, by_softmax = fitted("k2"), fitted("k3", kernel=RBF())
    for use in (lambda: by_centroids.explain(0), lambda: by_softmax.explain(0, 1)):
        with pytest.raises(kn.InputError):
            use()
    e = by_softmax.explain(0)  # scores of softmax do not ask the kernel
    assert e.lead == pytest.approx(e.neighbours.whole + e.class_bias)
    without_map = kn.NodeKernelClassifier("label-propagation").fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH)
    with refused("unsupported"):
        without_map.explain(0)


def test_on_cora_a_hub_is_as_exact():
    graph, split = kn.load("cora", split="fastgcn")
    model = kn.NodeKernelClassifier("k3", training={"precision": 64, "epochs": 5})
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    hub = int(np.argmax(np.diff(graph.adjacency.indptr)))
    name = graph.node_names[hub]
    e = model.explain(name)
    assert e.features.other_count > 0
    assert e.lead == pytest.approx(e.features.whole + e.class_bias, abs=1e-8)
    assert e.lead == pytest.approx(e.neighbours.whole + e.class_bias, abs=1e-8)
    pair = model.explain(name, "35")
    k = model.kernel_.pairs([name], ["35"])[0]
    assert [one.whole for one in (*pair.neighbours, *pair.features)] == pytest.approx([k] * 4, abs=1e-8)
    # More parts than nodes whose features are looked at where fewer are asked for.
    many = model.explain(name, top=200)
    assert len(many.neighbours.parts) == 200
    assert many.neighbours.parts[150].words
    assert many.lead == pytest.approx(many.features.whole + many.class_bias, abs=1e-8)
    assert many.features.other_count == many.neighbours.rest_count
    pair = model.explain(name, "35", top=200)
    assert [one.whole for one in (*pair.neighbours, *pair.features)] == pytest.approx([k] * 4, abs=1e-8)
