"""Back from a file: the estimator that answers, scores and learns as the one that was saved."""

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.errors import FileError, InputError
from kernode.kernels import Linear
from kernode.losses import Hinge, Joint, Logistic, Softmax, Squared
from kernode.maps import HopMLP
from kernode.node_classification import model_file
from kernode.node_classification.method import Method, NodeMethod
from kernode.training.settings import Training
from tasks import LABELS, SPLIT

DATA = "synthetic:nodes=120,degree=6,classes=3,features=8,seed=1"


def fitted(variant="k3", **settings):
    settings = {"epochs": 10, "device": "cpu"} | settings
    model = kn.NodeKernelClassifier(variant, **settings)
    return model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)


@pytest.fixture
def saved(tmp_path):
    """Save a model; give its path."""
    return lambda model: model.save(tmp_path / "m.safetensors")


@pytest.mark.parametrize("variant", ["k3", "k2"])
def test_loading_restores_exact_predictions(variant, saved):
    model = fitted(variant, replicas=3, hidden=8)
    again = kn.load_model(saved(model), graph=CLUSTERS)
    assert np.array_equal(model.predict_proba(range(120)), again.predict_proba(range(120)))
    assert np.array_equal(model.kernel_.gram(), again.kernel_.gram())
    assert np.array_equal(model.history_["loss"], again.history_["loss"])
    assert again.get_params()["variant"] == variant


def test_model_goes_to_other_graphs_with_the_same_columns(saved):
    path = saved(fitted())
    with pytest.raises(InputError, match=r"takes 8 features and 'clusters' has 9\. Give 'clusters'"):
        kn.load_model(path, graph=clustered_graph(n=120, features=9))
    elsewhere = kn.load_model(path, graph=clustered_graph(n=100, seed=1))
    assert elsewhere.predict(range(100)).shape == (100,)


def test_without_its_graph_a_model_must_be_given_one(saved):
    model = fitted()
    alone = kn.load_model(saved(model))
    with pytest.raises(InputError, match="the model was read without 'clusters'"):
        alone.predict([0])
    assert np.array_equal(alone.predict_proba([0], graph=CLUSTERS), model.predict_proba([0]))


def test_graph_of_a_known_name_is_found_again(saved):
    graph, split = kn.load(DATA, split="0.5/0.25/0.25")
    model = kn.NodeKernelClassifier("n1", epochs=3).fit(
        split.train, graph.labels[split.train], graph=graph, validation=split.validation
    )
    again = kn.load_model(saved(model))
    assert again.graph_.fingerprint == graph.fingerprint
    assert np.array_equal(again.predict_proba(split.test), model.predict_proba(split.test))


def test_loaded_estimator_knows_its_settings(saved):
    again = kn.load_model(saved(fitted(epochs=7, hops=3, margin=0.4, kernel_weight=2, triplets=99)), CLUSTERS)
    settings = again.get_params()
    assert settings["map"].hops == 3
    expected = {"epochs": 7, "margin": 0.4, "kernel_weight": 2.0, "triplets": 99, "objective": "joint"}
    assert {name: settings[name] for name in expected} == expected
    assert settings["kernel_loss"] == Hinge(99, 0.4)


@pytest.mark.parametrize(
    ("variant", "settings"),
    [
        ("k3", {"kernel_loss": "squared", "class_weights": "balanced"}),
        ("k1", {"kernel_loss": Squared(70), "hidden": 8}),
        ("n1", {"selection": "last", "patience": None}),
        ("k3", {"select_by": "map", "patience": 3}),
        ("k3", {"margin": (0.1, 0.5), "dropout": (0.5, 0.2), "replicas": 2}),
        ("gat", {}),
    ],
)
def test_loaded_estimator_learns_the_same_again(variant, settings, saved):
    model = fitted(variant, epochs=3, **settings)
    again = kn.load_model(saved(model), graph=CLUSTERS)
    again.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    assert np.array_equal(again.predict_proba(range(120)), model.predict_proba(range(120)))


def test_numpy_numbers_are_as_good_as_pythons(saved):
    model = fitted(random_state=np.int64(3), learning_rate=np.float32(0.01), dropout=np.array([0.5, 0.2]),
                   replicas=np.int64(2), epochs=np.int64(5))  # fmt: skip
    assert kn.load_model(saved(model), graph=CLUSTERS).get_params()["dropout"] == (0.5, 0.2)


def test_files_of_another_kind_are_named(tmp_path):
    from kernode.storage import write_tensors

    path = write_tensors(tmp_path / "c.safetensors", "checkpoint", {}, {})
    with pytest.raises(InputError, match="is not a kernode model or link predictor file but a checkpoint"):
        kn.load_model(path)
    with pytest.raises(FileError, match="does not exist"):
        kn.load_model(tmp_path / "none")


OLD_TRAINING = {"kernel_weight": 2.0, "margin": [0.3, 0.7], "triplets": 50, "class_weights": "balanced"}


@pytest.mark.parametrize(
    ("objective", "kernel_loss", "loss"),
    [
        ("kernel", "hinge", Hinge(50, (0.3, 0.7))),
        ("kernel", "logistic", Logistic(50)),
        ("softmax", "hinge", Softmax("balanced")),
        ("joint", "hinge", Joint(Hinge(50, (0.3, 0.7)), Softmax("balanced"), 2.0)),
        ("joint", "squared", Joint(Squared(50), Softmax("balanced"), 2.0)),
    ],
)
def test_settings_of_losses_in_files_of_0_1_0_reach_the_loss(objective, kernel_loss, loss):
    method = Method(HopMLP(), Linear()).to_json() | {"objective": objective, "kernel_loss": kernel_loss}
    del method["loss"]
    facts = {
        "method": method, "training": Training(epochs=7).to_json() | OLD_TRAINING,
        "labels_of_choice": {"variant": "k1", "split": "jk"},
    }  # fmt: skip
    today = model_file._as_today(facts)
    assert NodeMethod.from_json(today["method"]).loss == loss
    assert Training.from_json(today["training"]) == Training(epochs=7)
    assert (today["variant"], today["split"], today["chosen_by_validation"]) == ("k1", "jk", None)
