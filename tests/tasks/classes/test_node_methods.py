"""What every method for the classes of nodes keeps to: each property for all methods that are listed."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.graph.edits import extended
from kernode.io.sizes import GraphSizes
from kernode.models.changes import by_part
from kernode.tasks.classes.labels import fit_again
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.task import LabelledNodes
from kernode.training.settings import Training
from parts import METHODS, over
from refusals import refused
from tasks import DOUBLE, LABELS, SPLIT, fit, labelled_nodes, node_task

QUICK = Training(epochs=10, learning_rate=0.05)
every_method = over("method", METHODS)


@pytest.fixture(scope="module")
def fitted():
    """Each method trained once on two replicas: a function of the method."""
    kept = {}

    def on_clusters(method):
        if method not in kept:
            kept[method] = fit(node_task(seeds=(3, 4)), method, QUICK)
        return kept[method]

    return on_clusters


@every_method
def test_method_travels_as_json_and_by_pickle(method):
    assert NodeMethod.from_json(json.loads(json.dumps(method.to_json()))) == method
    assert pickle.loads(pickle.dumps(method)) == method


@every_method
def test_model_says_what_it_was_trained_with(method, fitted):
    model = fitted(method).model
    assert (model.seeds, model.precision, model.classes) == ((3, 4), 64, (0, 1, 2))
    assert (model.dataset, model.fingerprint) == ("clusters", CLUSTERS.fingerprint)
    assert model.method == method.for_classes(3).for_graph(CLUSTERS)
    assert model.method.for_classes(9) == model.method
    assert len(model.kept_epochs) == 2
    assert {value.device.type for value in model.parameters.values()} <= {"cpu"}
    assert {len(value) for value in model.parameters.values()} <= {2}
    epochs = len(model.history.get("validation_accuracy", ()))
    assert all(0 <= epoch <= epochs for epoch in model.kept_epochs)
    assert model.seconds > 0


@every_method
def test_probabilities_are_numbers_of_each_replica_that_sum_to_one(method, fitted):
    found = fitted(method).probabilities()
    assert found.shape == (2, 120, 3)
    assert ((found >= 0) & (found <= 1)).all()
    assert np.allclose(found.sum(axis=-1), 1)
    nodes = np.array([[3, 1], [0, 2]])  # a row for each replica
    rows = fitted(method).probabilities(nodes)
    assert np.allclose(rows, np.stack([found[i, nodes[i]] for i in (0, 1)]))


@every_method
def test_learning_learns(method, fitted):
    answers = fitted(method).probabilities(SPLIT.train).argmax(axis=-1)
    assert (answers == CLUSTERS.labels[SPLIT.train]).mean() > 0.5  # by chance 0.33


@every_method
def test_replica_equals_the_run_made_alone_with_its_seed(method, fitted):
    together = fitted(method)
    for i, seed in enumerate((3, 4)):
        alone = fit(node_task(seeds=(seed,)), method, QUICK)
        assert together.model.kept_epochs[i] == alone.model.kept_epochs[0]
        assert np.abs(together.probabilities()[i] - alone.probabilities()[0]).max() < 1e-8


@every_method
def test_replicas_may_have_nodes_of_their_own(method):
    nodes = labelled_nodes(split_seeds=(0, 1))
    both = fit(node_task(seeds=(3, 4), nodes=nodes), method, QUICK).probabilities()
    for i, seed in enumerate((3, 4)):
        own = node_task(seeds=(seed,), nodes=nodes.of(slice(i, i + 1)))
        assert np.abs(both[i] - fit(own, method, QUICK).probabilities()[0]).max() < 1e-8


@every_method
def test_saved_model_answers_the_same(method, fitted, tmp_path):
    on = fitted(method)
    path = on.model.save(tmp_path / "m.safetensors")
    again = NodeModel.load(path)
    assert again.method == on.model.method
    assert again.training == QUICK
    assert np.array_equal(again.on(CLUSTERS).probabilities(), on.probabilities())
    assert again.save(tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


@every_method
def test_model_on_its_graph_travels_by_pickle(method, fitted):
    on = fitted(method)
    before = on.probabilities()
    again = pickle.loads(pickle.dumps(on))
    assert np.array_equal(again.probabilities(), before)


@every_method
def test_estimator_learns_saves_and_loads(method, tmp_path):
    """Through the front door, and with the settings of its file again: the same."""
    variant, parts = "instant" if method.closed_form else "label-propagation", {}
    if method.has_kernel and not method.closed_form:
        variant, parts = "k3", {"map": method.map, "kernel": method.kernel, "loss": method.loss}
        parts["training"] = replace(QUICK, precision=64)
    model = kn.NodeKernelClassifier(variant, replicas=2, random_state=3, device="cpu", **parts)
    data = {"X": SPLIT.train, "y": LABELS, "graph": CLUSTERS, "validation": SPLIT.validation}
    model.fit(**data)
    if parts:
        assert model.model_.method == method.for_classes(3).for_graph(CLUSTERS)
    again = kn.load_model(model.save(tmp_path / "m.safetensors"), graph=CLUSTERS)
    expected = model.predict_proba(range(120))
    assert np.array_equal(again.predict_proba(range(120)), expected)
    assert np.array_equal(again.fit(**data).predict_proba(range(120)), expected)


@every_method
def test_has_kernel_says_whether_the_kernel_can_be_asked_for(method, fitted):
    on = fitted(method)
    if not method.has_kernel:
        with refused("unsupported"):
            _ = on.kernel
        return
    gram = on.kernel.gram()
    assert gram.shape == (120, 120)
    assert np.linalg.eigvalsh(gram).min() > -1e-8 * max(1, np.abs(gram).max())
    g, parameters = on.g, {name.removeprefix("kernel."): v for name, v in on.model.parameters.items()}
    x = method.kernel.embed(g)
    assert np.allclose(gram, method.kernel.gram(x, x, parameters).mean(dim=0))


@every_method
def test_another_graph_is_answered_about_or_refused(method, fitted):
    model, other = fitted(method).model, clustered_graph(n=40, seed=1)
    if method.refusal(model, other):
        with refused("unsupported", setting="graph"):
            model.on(other)
    else:
        on = model.on(other)
        assert not on.has_training_nodes
        assert on.probabilities().shape == (2, 40, 3)
        assert np.allclose(on.probabilities().sum(axis=-1), 1)
        with refused("shape", setting="graph"):
            model.on(clustered_graph(n=40, features=9))


@every_method
def test_on_a_larger_graph_answers_are_those_of_it_or_refused(method, fitted):
    larger = extended(CLUSTERS, np.ones((1, 8)), [(0, 120), (5, 120)])
    on = fitted(method)
    if getattr(method, "map", None) is not None and method.map.per_node:
        with refused("unsupported"):
            on.extended(larger)
        return
    found = on.extended(larger)
    assert found.graph is larger
    anew = replace(found, known_g=None, recomputed=None)
    assert np.allclose(found.probabilities(), anew.probabilities(), rtol=1e-9, atol=1e-9)


@every_method
def test_ignored_settings_are_of_training_and_have_no_effect(method, fitted):
    ignored = method.ignored_settings
    assert ignored <= set(vars(QUICK))
    usual = fitted(method).probabilities()
    for name, value in {"dropout": 0.1, "learning_rate": 0.3, "weight_decay": 0.5}.items():
        if name in ignored:
            changed = fit(node_task(seeds=(3, 4)), method, replace(QUICK, **{name: value}))
            assert np.array_equal(changed.probabilities(), usual), name


@every_method
def test_some_replicas_answer_as_they_do_among_all(method, fitted):
    on = fitted(method)
    second = on.of_replicas([1])
    assert second.model.seeds == (4,)
    assert np.allclose(second.probabilities(), on.probabilities()[1:], rtol=1e-12)
    assert np.allclose(second.model.on(CLUSTERS).probabilities(), on.probabilities()[1:], rtol=1e-12)


@every_method
def test_what_was_chosen_can_be_trained_again_on_all_nodes(method, fitted):
    """Without validation nodes: nothing is left to choose."""
    chosen = fitted(method).model
    everyone = LabelledNodes.without_validation(np.arange(120), CLUSTERS.labels)
    again = fit_again(node_task(nodes=everyone), chosen)
    assert again.model.train.shape == (1, 120)
    assert again.model.training.selection == "last"
    assert (again.probabilities()[0].argmax(axis=-1) == CLUSTERS.labels).mean() > 0.5


@every_method
def test_least_bytes_are_a_bound_that_one_can_ask_for_before_training(method):
    sizes = GraphSizes.of(CLUSTERS)
    assert 0 <= method.least_bytes(sizes, QUICK, DOUBLE) < 10_000_000


@every_method
def test_a_setting_that_it_does_not_have_is_refused(method):
    assert method.changed({}) == method
    with refused("unknown", setting="colour"):
        method.changed(by_part(colour="red"))


@every_method
def test_what_was_prepared_for_training_is_not_held_after_it_has_answered(method):
    on = fit(node_task(), method, QUICK)
    on.probabilities([0])
    assert on.prepared is None  # it is larger than g
