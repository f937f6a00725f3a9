"""Parameters of estimators: parts, mappings of settings, settings by path, and the flat names of 0.2."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import kernode as kn
from graphs import CLUSTERS
from kernode.kernels import RBF, Linear, Normalized
from kernode.losses import Hinge, Joint, Softmax, Squared
from kernode.maps import GCN, HopMLP
from refusals import refused
from tasks import LABELS, SPLIT

ESTIMATORS = (kn.NodeKernelClassifier, kn.NodeKernelTransformer, kn.LinkPredictor, kn.LinkKernelTransformer)


def method_of(estimator):
    """The one method that an estimator's parameters stand for, and its training settings."""
    ((method, training),) = estimator.methods().values()
    return method, training


def classifier(variant="k3", **settings):
    return kn.NodeKernelClassifier(variant, **settings)


# parts, and mappings of settings


def test_a_mapping_changes_settings_of_the_variants_part():
    model = classifier(
        map={"hops": 3, "hidden": (8,)},
        kernel={"normalized": False},
        loss={"margin": 0.5, "kernel_weight": 2.0, "class_weights": "balanced"},
        training={"dropout": 0.8, "patience": 7},
    )
    method, training = method_of(model)
    assert method.map == HopMLP((8,), hops=3)
    assert method.kernel == Linear()
    assert method.loss == Joint(Hinge(margin=0.5), Softmax("balanced"), 2.0)
    assert training == kn.Training(dropout=0.8, patience=7)


def test_a_part_takes_the_place_of_the_variants_and_shortcuts_change_it():
    parts = {"map": GCN((4, 4)), "kernel": RBF(), "loss": Hinge(9), "training": kn.Training(epochs=5)}
    method, training = method_of(classifier(**parts))
    assert {"map": method.map, "kernel": method.kernel, "loss": method.loss, "training": training} == parts
    method, training = method_of(classifier(**parts, hidden=(8,), epochs=7, learning_rate=0.5))
    assert (method.map, training) == (GCN((8,)), kn.Training(epochs=7, learning_rate=0.5))
    assert parts["training"] == kn.Training(epochs=5)  # a part is never changed


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("kernel", Hinge()),
        ("softmax", Softmax()),
        ("squared", Joint(Squared())),
        ({"objective": "kernel", "margin": 0.2}, Hinge(margin=0.2)),
        ({"kernel_loss": "squared"}, Joint(Squared())),
        ({"kernel": Squared(5)}, Joint(Squared(5))),
        ({"kernel": {"margin": 0.3}}, Joint(Hinge(margin=0.3))),
    ],
)
def test_a_loss_is_named_given_or_changed(loss, expected):
    assert method_of(classifier(loss=loss))[0].loss == expected


def test_scoring_selects_epochs_by_map():
    assert method_of(classifier(scoring="map"))[1].select_by == "map"
    for make in (kn.LinkPredictor, kn.LinkKernelTransformer):
        make("gae", scoring="roc_auc").methods()
        with refused("setting", setting="scoring"):
            make("gae", scoring="accuracy").methods()


def test_precision_threads_and_folds_are_settings_of_training():
    settings = {"precision": 64, "threads": 1, "folds": 2, "epochs": 2}
    models = [classifier(training=one) for one in (settings, kn.Training(**settings))]
    for model in models:
        model.fit(SPLIT.train, LABELS, graph=CLUSTERS)
        assert (model.model_.precision, model.threads_) == (64, 1)
    assert np.array_equal(*(model.predict_proba(SPLIT.test) for model in models))


# settings by path


def test_a_setting_of_a_part_is_set_by_its_path():
    kernel = Linear() + Normalized(RBF())
    model = classifier(map=HopMLP(), kernel=kernel, training={"patience": 3})
    model.set_params(map__hops=3, kernel__right__kernel__gamma=0.5, training__dropout=0.2, loss__margin=0.7)
    assert (model.map, model.kernel) == (HopMLP(hops=3), Linear() + Normalized(RBF(0.5)))
    assert kernel == Linear() + Normalized(RBF())
    assert model.training == {"patience": 3, "dropout": 0.2}
    assert model.loss == {"margin": 0.7}
    params = model.get_params()
    assert (params["map__hops"], params["kernel__right__kernel__gamma"]) == (3, 0.5)
    assert (params["training__dropout"], params["loss__margin"]) == (0.2, 0.7)
    assert clone(model).set_params(**params).get_params() == params
    assert set(model.get_params(deep=False)) == set(model._get_param_names())
    method, training = method_of(
        classifier().set_params(map__hops=3, loss__margin=0.7, training__dropout=0.1)
    )
    assert (method.map.hops, method.loss.kernel.margin, training.dropout) == (3, 0.7, 0.1)


def test_a_part_that_is_set_together_with_its_settings_is_set_first():
    model = classifier().set_params(kernel__gamma=0.5, kernel=RBF(2.0), training__epochs=3, epochs=4)
    assert model.kernel == RBF(0.5)
    assert method_of(model)[1].epochs == 4  # a shortcut wins


@pytest.mark.parametrize("make", ESTIMATORS)
def test_unknown_settings_are_refused(make):
    with refused("unknown", setting="colour"):
        make().set_params(training__colour=1).methods()
    for path in ("colour__hops", "kernel_loss__margin"):
        with refused("unknown", name=path):
            make().set_params(**{path: 1})
    for path, code in (
        ("kernel__gama", "unknown"),
        ("kernel__gamma__x", "setting"),
        ("kernel__gamma", "setting"),
    ):
        with refused(code):
            make(kernel=RBF()).set_params(**{path: -1})
    with pytest.raises(TypeError, match="colour"):
        make(colour=1)


def test_a_search_goes_through_settings_of_parts():
    model = classifier("k1", map=HopMLP((8,), 4), kernel=RBF(), epochs=3, device="cpu")
    search = GridSearchCV(model, {"kernel__gamma": [0.1, 2.0], "map__hops": [1, 2]}, cv=2)
    search.fit(SPLIT.train, LABELS, graph=CLUSTERS)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_.model_.method
    assert {"kernel__gamma": best.kernel.gamma, "map__hops": best.map.hops} == search.best_params_
    assert model.kernel == RBF()  # the one that was given is as it was


# flat names of 0.2


@contextmanager
def future_warnings(names):
    """Expect a FutureWarning for each of some names, in their order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    found = [str(one.message).split()[0] for one in caught if one.category is FutureWarning]
    assert found == list(names)


LOSS = {
    "objective": "joint", "kernel_loss": "hinge", "kernel_weight": 2.0, "margin": 0.5, "triplets": 70,
    "class_weights": "balanced",
}  # fmt: skip
MAP = {"layers": 3, "powers": "last", "hop_weights": 1.0}
TRAINING = {
    "weight_decay": 0.1, "dropout": 0.2, "input_dropout": 0.3, "selection": "best", "select_by": "map",
    "patience": 4, "averaging": 0.5, "folds": 2, "precision": 64, "threads": 1,
}  # fmt: skip


@pytest.mark.parametrize("parts", [{"loss": LOSS, "map": MAP}, {"training": TRAINING}])
def test_flat_names_warn_and_are_the_same_parameters_as_parts(parts):
    flat = {name: value for part in parts.values() for name, value in part.items()}
    with future_warnings(flat):
        former = classifier(**flat)
    with future_warnings([]):
        model = classifier(**parts)
        assert clone(former).get_params() == former.get_params() == model.get_params()
    assert method_of(former) == method_of(model)
    with future_warnings(flat):
        assert classifier().set_params(**flat).get_params() == model.get_params()


def test_flat_names_change_parts_that_are_given():
    given = {"loss": Hinge(9), "training": {"patience": 4}, "map": HopMLP(hops=3)}
    with future_warnings(["margin", "dropout", "powers", "margin"]):
        model = classifier(**given, margin=0.5, dropout=0.2, powers="last")
        assert classifier(loss="kernel", margin=0.5).loss == {"objective": "kernel", "margin": 0.5}
    assert (model.loss, model.map) == (Hinge(9, 0.5), HopMLP(hops=3, powers="last"))
    assert model.training == {"patience": 4, "dropout": 0.2}
    with future_warnings([]):
        assert classifier(dropout=None, checkpoint=None).get_params() == classifier().get_params()


def test_a_checkpoint_of_0_2_is_a_callback(tmp_path):
    own, other = kn.Checkpoint(tmp_path / "c.safetensors"), kn.Callback()
    for given, expected in (
        ({}, [own]),
        ({"callbacks": [other]}, [other, own]),
        ({"callbacks": other}, [other, own]),
    ):
        with future_warnings(["checkpoint"]):
            assert classifier(checkpoint=own, **given).callbacks == expected


@pytest.mark.parametrize("make", ESTIMATORS[2:])
def test_flat_names_of_links_are_the_same_parameters_as_parts(make):
    with future_warnings(["weight_decay", "dropout"]):
        former = make("gae", weight_decay=0.1, dropout=0.2)
    assert method_of(former) == method_of(make("gae", training={"weight_decay": 0.1, "dropout": 0.2}))
