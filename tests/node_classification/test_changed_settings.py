"""Changes to a variant: each reaches its part; what went with a changed part is held against nobody."""

from itertools import product

import numpy as np
import pytest
from kernode.node_classification.fitting import fit_method
from kernode.node_classification.kled import KLED

import kernode as kn
from graphs import clustered_graph
from kernode.compute.place import Place
from kernode.losses import Hinge
from kernode.tasks.classes.configure import configure
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.tasks.classes.variants import VARIANTS
from kernode.training.run import Run
from kernode.training.settings import Training
from tasks import labelled_nodes, node_task

OBJECTIVES = ("kernel", "softmax", "joint")
LOSSES = ("hinge", "squared", "logistic")
KEYS = ("", "cora", "citeseer", "pubmed", "words")


def fitted(graph, variant, **settings):
    nodes = np.arange(graph.n_nodes)
    model = kn.NodeKernelClassifier(variant, device="cpu", **settings)
    return model.fit(nodes, graph.labels[nodes], graph=graph)


@pytest.mark.parametrize("name", [name for name, one in VARIANTS.items() if isinstance(one.method, Method)])
def test_any_objective_and_kernel_loss_go_with_any_variant_on_any_data_set(name):
    for key, objective, loss in product(KEYS, OBJECTIVES, LOSSES):
        given = {"kernel_loss": loss} if objective != "softmax" else {}
        method, _ = configure(name, key, objective=objective, **given)
        assert method.loss.objective == objective
        assert objective == "kernel" or getattr(method.map, "outputs", None) is None


def test_a_variant_of_the_kernel_loss_trains_with_softmax():
    graph = clustered_graph()
    model = fitted(graph, "k1", objective="softmax", epochs=60, hidden=16)
    assert model.score(np.arange(60), graph.labels) > 0.8


@pytest.mark.parametrize("layers", [2.5, "3", 0])
def test_layers_must_be_a_whole_number(layers):
    with pytest.raises(kn.InputError, match="layers must be an integer"):
        configure("k3", layers=layers)


def test_layers_where_there_is_no_hidden_width_to_repeat_are_refused():
    with pytest.raises(kn.InputError, match="3 layers have 2 hidden widths"):
        configure("sgc", layers=3)
    with pytest.raises(kn.InputError, match="no setting 'layers'"):
        configure("smoother", layers=3)


def test_a_loss_may_have_a_number_for_each_replica_where_folds_choose():
    graph = clustered_graph()
    model = fitted(graph, "k1", kernel_loss=Hinge(margin=(0.1, 0.9)), replicas=2, epochs=3, hidden=8)
    assert model.model_.method.loss.margin == (0.1, 0.9)
    rates = fitted(graph, "n1", learning_rate=np.array([0.01, 0.02]), replicas=2, epochs=3)
    assert rates.model_.training.learning_rate == (0.01, 0.02)


def test_kled_without_validation_nodes_keeps_what_its_folds_chose():
    graph = clustered_graph(90)
    model = fitted(graph, "kled")
    method = model.model_.method
    assert len(method.scales) == len(method.classifiers) == 1
    assert model.model_.parameters["scale"].tolist() == list(method.scales)


def test_kled_chooses_the_best_in_the_mean_over_its_replicas():
    graph = clustered_graph(90)
    nodes = labelled_nodes(graph, split_seeds=(0, 1, 2))
    task = node_task(graph, seeds=(0, 1, 2), nodes=nodes)
    method = KLED(scales=(0.1, 0.5, 5.0), classifiers=("sums",))
    model = fit_method(task, method, Training(epochs=0)).model
    figures = model.history["validation_accuracy"].mean(axis=1)
    assert len(set(figures)) > 1  # else any would do
    best = max(zip(figures, method.scales, strict=True), key=lambda pair: pair[0])[1]
    assert method.chosen(model, graph).scales == (best,)


def test_kled_refuses_to_choose_without_validation_nodes():
    graph = clustered_graph(90)
    nodes = LabelledNodes.without_validation(np.arange(90), graph.labels)
    task = NodeTask(graph, nodes, graph.class_names, Run((0,), Place.of(64)))
    method = KLED(scales=(0.5, 1.0), classifiers=("sums",))
    with pytest.raises(kn.InputError, match="chooses between 2 settings by validation"):
        method.train(task, Training(epochs=0))


def test_a_checkpoint_that_would_never_be_written_is_refused(tmp_path):
    with pytest.raises(kn.InputError, match="checkpoint has no effect on KLED"):
        fitted(clustered_graph(), "kled", checkpoint=kn.Checkpoint(tmp_path / "c.safetensors"))


def test_a_checkpoint_takes_a_path_as_text(tmp_path):
    path = str(tmp_path / "c.safetensors")
    first = fitted(clustered_graph(), "n1", epochs=3, checkpoint=kn.Checkpoint(path))
    again = fitted(clustered_graph(), "n1", epochs=3, checkpoint=kn.Checkpoint(path, resume=True))
    assert np.array_equal(first.predict_proba([0, 1]), again.predict_proba([0, 1]))


def test_a_checkpoint_needs_a_path():
    with pytest.raises(kn.InputError, match="needs the path of a file"):
        kn.Checkpoint(3)


def test_no_dropout_may_be_said_of_a_map_that_has_none():
    configure("gat", dropout=0.0, input_dropout=0)
    with pytest.raises(kn.InputError, match="dropout has no effect on gat"):
        configure("gat", dropout=0.5)


def test_training_settings_without_an_epoch_are_refused():
    with pytest.raises(kn.InputError, match="learning_rate has no effect"):
        configure("k3", epochs=0, learning_rate=0.1)


def test_numpys_numbers_are_settings(tmp_path):
    model = fitted(clustered_graph(), "n1", hops=np.int64(1), hop_weights=np.float32(1), epochs=2)
    assert (
        kn.load_model(model.save(tmp_path / "m.safetensors"), graph=model.graph_).model_.method.map.hops == 1
    )
