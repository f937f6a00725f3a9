"""A sum of kernels: probabilities, kernel, vectors and explanations are weighted sums of the members'."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import breadth_first_order

import kernode as kn
from kernode.explain.explain import explain_node, explain_pair
from kernode.graph.neighbourhoods import induced
from kernode.models.fit import fit_candidates
from kernode.tasks.classes.calibration import fit_calibration
from kernode.tasks.classes.sum import KernelSum, _member, assembled, greedy_counts
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.tasks.classes.variants import MEMBERS


def random_graph(seed, n=50, edges=110, features=6):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, features))
    labels = (x[:, 0] + x[:, 1] * 0.5 + 0.3 * draw.normal(size=n) > 0).astype(int)
    return kn.Graph.from_edges(draw.integers(n, size=(edges, 2)), x, labels)


def task_on(graph, estimator, train=30):
    y, n = graph.labels, graph.n_nodes
    nodes = LabelledNodes(np.arange(train)[None], y[None, :train], np.arange(train, n)[None], y[None, train:])
    return NodeTask(graph, nodes, tuple(range(graph.n_classes)), estimator._run())


def sum_on(graph, train):
    """Every member that the default may have, trained, each with its own weight, and their sum."""
    estimator = kn.NodeKernelClassifier(training=kn.Training(precision=64), replicas=2)
    task = task_on(graph, estimator, train)
    candidates = kn.NodeKernelClassifier("best").methods(graph, tuned=False)
    fitted = {}
    for name, (method, training) in candidates.items():
        shorter = training if method.closed_form else replace(training, epochs=10, patience=None)
        fitted[name] = fit_candidates(task, {name: (method, shorter)})
    assert [*fitted] == [*MEMBERS]
    weights = np.arange(1, len(fitted) + 1) / np.arange(1, len(fitted) + 1).sum()
    chosen = tuple(
        _member(name, on, weight) for (name, on), weight in zip(fitted.items(), weights, strict=True)
    )
    return fitted, weights, assembled(task, chosen, list(fitted.values()))


@pytest.fixture(scope="module")
def members():
    return sum_on(random_graph(0), 30)


@pytest.fixture(scope="module")
def of_cora(cora):
    """The papers around one: sparse words, seven classes."""
    graph = cora[0]
    around = np.sort(breadth_first_order(graph.adjacency, 0, return_predecessors=False)[:100])
    near = replace(induced(graph, around), labels=graph.labels[around], class_names=graph.class_names)
    return sum_on(near, 60)


def test_probabilities_are_the_weighted_sum_of_calibrated_ones(members):
    fitted, weights, on = members
    nodes = np.arange(50)[None]
    expected = 0
    for weight, one in zip(weights, fitted.values(), strict=True):
        own = one.probabilities(nodes)
        expected = expected + weight * (
            own if one.model.calibration is None else one.model.calibration.together(own)
        )
    np.testing.assert_allclose(on.probabilities(nodes), expected, atol=1e-12)


def test_the_kernel_is_the_weighted_sum_of_the_members_with_unit_diagonal(members):
    fitted, weights, on = members
    expected = sum(w * one.kernel.gram() for w, one in zip(weights, fitted.values(), strict=True))
    gram = on.kernel.gram()
    np.testing.assert_allclose(gram, expected, atol=1e-10)
    np.testing.assert_allclose(np.diag(gram), 1, atol=1e-6)
    assert np.linalg.eigvalsh(gram).min() > -1e-9
    vectors = on.kernel.vectors()
    np.testing.assert_allclose(vectors @ vectors.T, gram, atol=1e-10)


@pytest.mark.parametrize("node", [3, 17])
@pytest.mark.parametrize("graph", ["members", "of_cora"])
def test_parts_of_an_explanation_sum_to_the_whole(graph, node, request):
    _, _, on = request.getfixturevalue(graph)
    found = explain_node(on, node, top=4)
    assert abs(found.neighbours.whole + found.class_bias - found.lead) < 1e-8
    assert abs(found.features.whole - found.neighbours.whole) < 1e-8
    assert abs(sum(hop.value for hop in found.hops) + found.class_bias - found.lead) < 1e-8
    pair = explain_pair(on, node, 5, top=4)
    assert abs(pair.similarity - on.kernel.pairs([node], [5])[0]) < 1e-8
    assert abs(sum(one.value for one in pair.pairs) + pair.rest - pair.similarity) < 1e-8
    for side in (0, 1):
        assert abs(pair.neighbours[side].whole - pair.similarity) < 1e-8
        assert abs(pair.features[side].whole - pair.similarity) < 1e-8


def test_the_lead_that_is_explained_is_that_of_the_members_scores(members):
    fitted, weights, on = members
    for node in (3, 17):
        scores = 0
        for weight, one in zip(weights, fitted.values(), strict=True):
            head, bias = one.model.method.head(one.parameters)
            g = one.g[:, node].double()
            own = g if head is None else (g[:, None] @ head.double())[:, 0]
            scores = scores + weight * (own + bias.double()).mean(dim=0).numpy()
        np.testing.assert_allclose(explain_node(on, node).scores, scores, atol=1e-8)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_greedy_selection_is_the_slow_and_obvious_one(seed):
    draw = np.random.default_rng(seed)
    members, nodes, classes = 4, 30, 3
    found = draw.dirichlet(np.ones(classes), size=(members, 1, nodes))
    truth = draw.integers(-1, classes, size=(1, nodes))
    known = np.flatnonzero(truth[0] >= 0)

    def loss(taken):
        mean = np.mean([found[m, 0] for m in taken], axis=0)
        return -np.log(mean[known, truth[0, known]] + 1e-12).mean()

    taken, best = [], (np.inf, [])
    for _ in range(25):
        taken = min(([*taken, m] for m in range(members)), key=loss)
        if loss(taken) < best[0] - 1e-9:
            best = loss(taken), taken
    expected = np.bincount(best[1], minlength=members)
    assert greedy_counts(found, truth, np.array([False, False, True, False]))[2] > 0
    assert greedy_counts(found, truth).tolist() == expected.tolist()


def test_a_sum_is_saved_extended_and_used_elsewhere(tmp_path):
    graph = random_graph(1)
    model = kn.NodeKernelClassifier(
        "auto", epochs=20, loss={"margin": 0.1}
    )  # all members can be used elsewhere
    model.fit(np.arange(30), graph.labels[:30], graph=graph)
    assert isinstance(model.model_.method, KernelSum)
    assert sum(one.weight for one in model.model_.method.members) == pytest.approx(1)
    read = kn.load_model(model.save(tmp_path / "m.safetensors", with_graph=True))
    assert np.array_equal(read.predict_proba(range(50)), model.predict_proba(range(50)))
    grown = model.extend(None, np.zeros((1, 6)), [(50, 0), (50, 1)])
    whole = model.predict_proba([0, 50], graph=grown.graph_)
    np.testing.assert_allclose(grown.predict_proba([0, 50]), whole, atol=1e-6)


def test_members_of_one_graph_are_left_out_on_another(members):
    _, _, on = members
    other = random_graph(2, n=20, edges=40)
    with pytest.warns(kn.KernodeWarning, match="structure"):
        elsewhere = on.model.on(other)
    names = {one.name for one in elsewhere.model.method.members}
    assert names.isdisjoint({"structure", "neighbours", "instant"})
    assert sum(one.weight for one in elsewhere.model.method.members) == pytest.approx(1)
    np.testing.assert_allclose(elsewhere.probabilities().sum(axis=-1), 1, atol=1e-9)


def test_members_are_patient_for_a_hundred_epochs_unless_it_is_set():
    members = kn.NodeKernelClassifier("auto").methods()
    patience = {name: training.patience for name, (_, training) in members.items() if training.epochs}
    assert patience["diffusion"] == patience["stages"] == 100
    assert patience["stages-deep"] is None
    assert kn.NodeKernelClassifier("fast").methods()["diffusion"][1].patience == 200
    own = kn.NodeKernelClassifier("auto", training={"patience": 300}).methods()
    assert own["diffusion"][1].patience == 300


def test_nothing_that_a_search_found_on_a_data_set_is_in_a_sum():
    graph, _ = kn.load("cora", "fastgcn")
    tuned = kn.NodeKernelClassifier("auto").methods(graph, tuned=True)
    plain = kn.NodeKernelClassifier("auto").methods(graph, tuned=False)
    assert tuned == plain
    assert kn.NodeKernelClassifier("k3-tuned").methods(graph, tuned=True)["k3-tuned"] != tuned["k3-tuned"]


def test_instant_takes_many_equal_nodes():
    """The Gram matrix of landmarks is singular, also in rounded numbers."""
    draw = np.random.default_rng(0)
    graph = kn.Graph.from_edges(draw.integers(400, size=(10, 2)), np.eye(2)[draw.integers(2, size=400)],
                                draw.integers(2, size=400))  # fmt: skip
    model = kn.NodeKernelClassifier("instant").fit(np.arange(300), graph.labels[:300], graph=graph)
    assert np.isfinite(model.predict_proba(np.arange(400))).all()
    np.testing.assert_allclose(model.kernel_.gram(np.arange(5)).diagonal(), 1, atol=1e-5)


@pytest.mark.parametrize(("room", "all_are_tried"), [(0, True), (-1, False)])
def test_on_a_large_graph_a_cpu_tries_sums_over_hops_alone(room, all_are_tried, monkeypatch):
    graph = random_graph(3)
    entries = graph.adjacency.nnz + graph.features.size
    monkeypatch.setattr("kernode.tasks.classes.sum._LARGE", entries + room)
    model = kn.NodeKernelClassifier("auto", epochs=2, device="cpu")
    model.fit(np.arange(30), graph.labels[:30], graph=graph, validation=np.arange(30, 50))
    assert ({"stages", "features"} <= set(model.model_.epochs_tried)) == all_are_tried
    assert {"hops", "diffusion"} <= set(model.model_.epochs_tried)


def test_instant_is_calibrated_by_scores_that_never_saw_the_node():
    graph = random_graph(4)
    on = kn.NodeKernelClassifier("instant").fit(np.arange(30), graph.labels[:30], graph=graph)._on(None)
    scores = 10 * on.model.parameters["left_out"].double().numpy()
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    expected = fit_calibration(probabilities, graph.labels[None, :30], 30)
    assert on.model.calibration.together.temperature == pytest.approx(expected.together.temperature, rel=1e-3)
    assert on.model.calibration.together.floor == pytest.approx(expected.together.floor, abs=1e-3)


def test_scores_of_instant_left_out_are_those_of_a_ridge_that_never_saw_the_node():
    """The closed form of leave-one-out, against fitting again without each node."""
    graph = random_graph(4)
    model = kn.NodeKernelClassifier("instant", training={"precision": 64})
    on = model.fit(np.arange(30), graph.labels[:30], graph=graph)._on(None)
    phi, y = on.g[0, :30].double().numpy(), np.eye(2)[graph.labels[:30]]
    weights, bias = (on.model.parameters[name][0].double().numpy() for name in ("weights", "bias"))
    ridge = min(
        (0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
        key=lambda one: np.abs(_ridge(phi, y - bias, one) - weights).max(),
    )
    np.testing.assert_allclose(_ridge(phi, y - bias, ridge), weights, atol=1e-8)
    for node in (0, 7, 29):
        others = np.arange(30) != node
        alone = phi[node] @ _ridge(phi[others], (y - bias)[others], ridge) + bias
        np.testing.assert_allclose(on.model.parameters["left_out"][0, node], alone, atol=1e-6)


def test_instant_has_an_answer_where_nodes_hardly_differ():
    """Many nodes of two numbers each: rounded to 32 bits, their kernel was not positive definite."""
    x = np.random.default_rng(0).normal(size=(1000, 2))
    graph = kn.Graph.from_edges([(0, 1)], x, (x[:, 0] > 0).astype(int))
    model = kn.NodeKernelClassifier("instant").fit(range(800), graph.labels[:800], graph=graph)
    assert model.score(range(800, 1000), graph.labels[800:]) > 0.95


def test_instant_counts_a_node_as_often_as_its_weight_says():
    graph, weights = random_graph(5), np.where(np.arange(30) < 10, 4.0, 1.0)
    model = kn.NodeKernelClassifier("instant", training={"precision": 64})
    on = model.fit(np.arange(30), graph.labels[:30], graph=graph, sample_weight=weights)._on(None)
    phi, y = on.g[0, :30].double().numpy(), np.eye(2)[graph.labels[:30]]
    found, bias = (on.model.parameters[name][0].double().numpy() for name in ("weights", "bias"))
    np.testing.assert_allclose(bias, np.average(y, axis=0, weights=weights), atol=1e-12)
    root = np.sqrt(weights / weights.mean())[:, None]
    expected = [_ridge(root * phi, root * (y - bias), one) for one in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)]
    assert min(np.abs(one - found).max() for one in expected) < 1e-8


def _ridge(x, y, ridge):
    return np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y)
