"""What every method for the classes of nodes keeps to: each property for all methods that are listed."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression as Solver
from sklearn.preprocessing import StandardScaler

import kernode as kn
from graphs import CLUSTERS, clustered_graph, dense_features
from kernode.graph.edits import extended
from kernode.models.overrides import by_part
from kernode.tasks.classes.labels import fit_again
from kernode.tasks.classes.logistic_regression import LogisticRegression
from kernode.tasks.classes.task import LabelledNodes
from parts import METHODS, over
from refusals import refused
from tasks import QUICK, SPLIT, fit, fitted_once, labelled_nodes, node_task

every_method = over("method", METHODS)


@every_method
def test_probabilities_are_numbers_of_each_replica_that_sum_to_one(method):
    found = fitted_once(method).probabilities()
    assert found.shape == (2, 120, 3)
    assert ((found >= 0) & (found <= 1)).all()
    assert np.allclose(found.sum(axis=-1), 1)
    nodes = np.array([[3, 1], [0, 2]])  # a row for each replica
    rows = fitted_once(method).probabilities(nodes)
    assert np.allclose(rows, np.stack([found[i, nodes[i]] for i in (0, 1)]))


@every_method
def test_learning_learns(method):
    answers = fitted_once(method).probabilities(SPLIT.train).argmax(axis=-1)
    assert (answers == CLUSTERS.labels[SPLIT.train]).mean() > 0.5  # by chance 0.33


@every_method
def test_replicas_may_have_nodes_of_their_own(method):
    nodes = labelled_nodes(split_seeds=(0, 1))
    both = fit(node_task(seeds=(3, 4), nodes=nodes), method, QUICK).probabilities()
    for i, seed in enumerate((3, 4)):
        own = node_task(seeds=(seed,), nodes=nodes.of(slice(i, i + 1)))
        assert np.abs(both[i] - fit(own, method, QUICK).probabilities()[0]).max() < 1e-8


@every_method
def test_has_kernel_says_whether_the_kernel_can_be_asked_for(method):
    on = fitted_once(method)
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
def test_another_graph_is_answered_about_or_refused(method):
    model, other = fitted_once(method).model, clustered_graph(n=40, seed=1)
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
def test_on_a_larger_graph_answers_are_those_of_it_or_refused(method):
    larger = extended(CLUSTERS, np.ones((1, 8)), [(0, 120), (5, 120)])
    on = fitted_once(method)
    if getattr(method, "map", None) is not None and method.map.per_node:
        with refused("unsupported"):
            on.extended(larger)
        return
    found = on.extended(larger)
    assert found.graph is larger
    anew = replace(found, known_g=None, recomputed=None)
    assert np.allclose(found.probabilities(), anew.probabilities(), rtol=1e-9, atol=1e-9)


@every_method
def test_ignored_settings_are_of_training_and_have_no_effect(method):
    ignored = method.ignored_settings
    assert ignored <= set(vars(QUICK))
    usual = fitted_once(method).probabilities()
    for name, value in {"dropout": 0.1, "learning_rate": 0.3, "weight_decay": 0.5}.items():
        if name in ignored:
            changed = fit(node_task(seeds=(3, 4)), method, replace(QUICK, **{name: value}))
            assert np.array_equal(changed.probabilities(), usual), name


@every_method
def test_some_replicas_answer_as_they_do_among_all(method):
    on = fitted_once(method)
    second = on.of_replicas([1])
    assert second.model.seeds == (4,)
    assert np.allclose(second.probabilities(), on.probabilities()[1:], rtol=1e-12)
    assert np.allclose(second.model.on(CLUSTERS).probabilities(), on.probabilities()[1:], rtol=1e-12)


@every_method
def test_what_was_chosen_can_be_trained_again_on_all_nodes(method):
    """Without validation nodes: nothing is left to choose."""
    chosen = fitted_once(method).model
    everyone = LabelledNodes.without_validation(np.arange(120), CLUSTERS.labels)
    again = fit_again(node_task(nodes=everyone), chosen)
    assert again.model.train.shape == (1, 120)
    assert again.model.training.selection == "last"
    assert (again.probabilities()[0].argmax(axis=-1) == CLUSTERS.labels).mean() > 0.5


@every_method
def test_a_setting_that_it_does_not_have_is_refused(method):
    assert method.changed({}) == method
    with refused("unknown", setting="colour"):
        method.changed(by_part(colour="red"))


def test_a_logistic_regression_is_scikit_learns():
    """Of standardised columns, or of words whose rows have length 1 on average."""
    dense, words = dense_features(CLUSTERS), (dense_features(CLUSTERS) > 0).astype(float)
    scaled = {
        "columns": (dense, StandardScaler().fit_transform(dense) / np.sqrt(dense.shape[1])),
        "words": (sparse.csr_array(words), words / np.sqrt(np.square(words).sum() / len(words))),
    }
    for x, by_hand in scaled.values():
        graph = kn.Graph(CLUSTERS.adjacency, x, CLUSTERS.labels)
        on = fit(node_task(graph), LogisticRegression(strengths=(10.0,)), QUICK)
        oracle = Solver(C=10, tol=1e-8, max_iter=1000).fit(by_hand[SPLIT.train], graph.labels[SPLIT.train])
        assert np.abs(on.probabilities()[0] - oracle.predict_proba(by_hand)).max() < 1e-3
