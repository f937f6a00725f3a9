"""Variants by name: their settings, what may be changed, and what has no effect and is refused."""

from itertools import product

import pytest

import kernode as kn
from graphs import CLUSTERS
from kernode.kernels import RBF, Linear, Normalized
from kernode.losses import Hinge, Joint, Logistic, Softmax, Squared
from kernode.maps import GAT, HopMLP, NodeEmbedding
from kernode.models.overrides import by_part, changed_loss
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.variants import (
    CANDIDATES,
    FOUND_AUTO,
    MEMBERS,
    VARIANTS,
    candidates,
    configure,
    settings_key,
)
from kernode.training.settings import Training
from refusals import refused
from tasks import LABELS, SPLIT

DOT = Normalized(Linear())
FULL = Joint(Hinge(7, 0.5), Softmax("balanced"), 2.0)


def test_papers_settings_are_as_stated():
    """Every field of the paper's four variants: Table 2, supplement A.1, and its released code."""
    dot, rbf = DOT, Normalized(RBF(gamma=1.0))
    wide = HopMLP((512,), 128, hops=2, powers="each", hop_weights="learned", normalize_rows=True)
    narrow = HopMLP((16,), None, hops=2, powers="each", hop_weights="learned", normalize_rows=True)
    common = {
        "learning_rate": 0.01, "weight_decay": 5e-4, "dropout": 0.5, "selection": "best", "patience": None,
    }  # fmt: skip
    hinge, softmax = Hinge(triplets=10_000, margin=0.1), Softmax(class_weights=None)
    joint = Joint(hinge, softmax, kernel_weight=0.1)
    for name, map_, kernel, loss, epochs, on_pubmed in (
        ("k1", wide, dot, hinge, 10, 100),
        ("k2", wide, rbf, hinge, 10, 100),
        ("k3", narrow, dot, joint, 200, 200),
        ("n1", narrow, dot, softmax, 200, 200),
    ):
        assert configure(name, "cora") == configure(name, "citeseer")
        method, training = configure(name, "cora")
        assert method == Method(map_, kernel, loss)
        assert training == Training(epochs=epochs, **common)
        assert configure(name, "pubmed")[1].epochs == on_pubmed


def test_names_are_known_in_any_case():
    assert configure("K3-Tuned", "cora") == configure("k3-tuned", "cora")
    assert configure("K3", "cora") == configure("k3", "cora")
    assert list(candidates("AUTO")) == list(candidates("auto"))
    model = kn.NodeKernelClassifier("N1", epochs=1).fit(graph=CLUSTERS, split=SPLIT)
    assert model.model_.variant == "n1"
    for wrong in ("K9", 3):
        with refused("unknown", what="variant", name=wrong):
            configure(wrong)
    with refused("setting", setting="variant"):  # a choice among several is not a variant
        configure("similarity")


def test_layers_repeat_the_hidden_width():
    assert configure("k3", layers=1)[0].map.hidden == ()
    assert configure("k3", layers=3)[0].map.hidden == (16, 16)
    assert configure("k1", layers=3, hidden=64)[0].map.hidden == (64, 64)
    assert configure("k3", hidden=(8, 4))[0].map.hidden == (8, 4)
    for variant, given in (("k3", {"layers": 4, "hidden": (8, 4)}), ("sgc", {"layers": 3})):
        with refused("setting", setting="hidden"):
            configure(variant, **given)
    with refused("unknown", setting="layers"):
        configure("smoother", layers=3)
    for layers in (0, 2.5, "3"):
        with pytest.raises(kn.InputError):
            configure("k3", layers=layers)


@pytest.mark.parametrize(
    ("variant", "changes", "setting"),
    [
        ("GAT", {"input_dropout": 0.5}, "input_dropout"),
        ("k3", {"map": NodeEmbedding(), "dropout": 0.5}, "dropout"),
        ("k3", {"hidden": (), "dropout": 0.5}, "dropout"),
        ("k3", {"selection": "last", "select_by": "map"}, "select_by"),
        ("k3", {"epochs": 0, "learning_rate": 0.1}, "learning_rate"),
        ("smoother", {"epochs": 5}, "epochs"),
        ("label-propagation", {"learning_rate": 0.1}, "learning_rate"),
        ("n1", {"kernel_loss": "squared"}, "kernel_loss"),
    ],
)
def test_what_has_no_effect_is_refused(variant, changes, setting):
    with refused("no-effect", setting=setting):
        configure(variant, **changes)
    with refused("no-effect", setting=setting):
        kn.NodeKernelClassifier(variant, **by_part(**changes)).fit(SPLIT.train, LABELS, graph=CLUSTERS)


@pytest.mark.parametrize(
    ("variant", "changes", "setting"),
    [
        ("n1", {"margin": 0.5}, "margin"),
        ("k1", {"kernel_weight": 0.5}, "kernel_weight"),
        ("k1", {"class_weights": "balanced"}, "class_weights"),
        ("k3", {"kernel_loss": "squared", "margin": 0.5}, "margin"),
        ("smoother", {"hidden": 4}, "hidden"),
        ("label-propagation", {"hops": 2}, "hops"),
        ("k3", {"colour": "red"}, "colour"),
    ],
)
def test_a_setting_that_no_part_has_is_refused(variant, changes, setting):
    with refused("unknown", setting=setting):
        configure(variant, **changes)


def test_settings_of_a_data_set_that_have_no_effect_beside_a_change_are_let_be():
    """Nobody asked for them: words have dropout on X, and a map without it has none."""
    assert configure("k3-tuned", "words")[1].input_dropout == 0.5
    method, training = configure("k3-tuned", "words", map=GAT())
    assert (method.map, training.input_dropout) == (GAT(), 0.0)


def test_what_is_set_reaches_every_candidate_of_fast():
    def given(**settings):
        return candidates("fast", **settings)

    assert [*given()] == [*CANDIDATES] == [*given(hops=None)]
    assert {method.map.unwrapped.hops for method, _ in given().values()} == {2, 10}
    assert [method.map.unwrapped.hops for method, _ in given(hops=3).values()] == [3] * 6
    assert [training.epochs for _, training in given(epochs=5).values()] == [5] * 6
    assert [training.patience for _, training in given(patience=7).values()] == [7] * 6
    assert [training.averaging for _, training in given(averaging=0.0).values()] == [0.0] * 6
    rbf = RBF()
    assert [method.kernel for method, _ in given(kernel=rbf).values()] == [rbf] * 6


def test_candidates_of_fast_that_lack_a_setting_are_left_out():
    with_kernel_loss = ["diffusion", "hops", "hops-standardized"]
    found = candidates("fast", margin=0.5)
    assert [*found] == with_kernel_loss
    assert {method.loss.kernel.margin for method, _ in found.values()} == {0.5}
    assert [*candidates("fast", kernel_loss="squared")] == with_kernel_loss
    with pytest.raises(kn.InputError):
        candidates("fast", hops=0)
    with refused("unknown", setting="colour"):
        candidates("fast", colour="red")


def test_fast_is_its_first_candidate_where_validation_chooses_nothing():
    ((name, (_, training)),) = candidates("fast", selection="last").items()
    assert (name, training.selection, training.patience) == ("diffusion", "last", None)
    assert training.epochs == Training.epochs  # those of patience would be too many
    ((_, (_, training)),) = candidates("fast", selection="last", epochs=5).items()
    assert training.epochs == 5
    assert [*candidates("fast", epochs=0)] == ["diffusion"]
    assert [*candidates("fast", selection="last", objective="softmax", margin=None)] == ["diffusion"]


def test_fast_on_a_graph_that_was_searched_is_what_was_found():
    for dataset, (name, changes) in FOUND_AUTO.items():
        assert candidates("fast", dataset) == {name: configure(name, dataset, **changes)}
        assert [*candidates("fast", dataset, tuned=False)] == [*CANDIDATES]
    ((_, (method, _)),) = candidates("fast", "cora", hops=3).items()
    assert method.map.hops == 3
    assert "diffusion-decayed" not in candidates("fast", "cora", margin=0.5)  # it has none: a choice again


def test_a_sum_has_all_members_that_have_what_is_set_and_none_that_was_searched_for():
    assert [*candidates("auto", "cora")] == [*candidates("best", "cora")] == [*MEMBERS]
    assert [*candidates("auto", margin=0.5)] == ["diffusion", "hops", "hops-standardized", "k3-tuned"]
    assert [*candidates("auto", epochs=5, select_by="roc_auc")] == [*MEMBERS]  # for those that are trained
    closed = {"instant", "linear", "neighbours"}  # they have no hidden layers
    assert {*MEMBERS} - {*candidates("auto", hidden=8)} == closed
    assert {*MEMBERS} - {*candidates("auto", class_weights="balanced")} == closed
    assert [*candidates("auto", selection="last")] == [*candidates("auto", epochs=0)] == ["diffusion"]
    with refused("setting", setting="hidden"):  # what a member that trains says, not one that lacks it
        candidates("auto", hidden="16,,4")


@pytest.mark.parametrize(
    "changes", [{"hidden": 4}, {"norm": True}, {"map": GAT()}, {"class_weights": "balanced"}]
)
def test_a_logistic_regression_refuses_parts_that_it_would_not_use(changes):
    for name in ("linear", "neighbours"):
        with refused("setting"):
            configure(name, **changes)


@pytest.mark.parametrize(
    ("split", "tuned"),
    [(None, True), ("fastgcn", True), *((one, False) for one in ("public", "jk", "0.5/0.25/0.25", "own"))],
)
def test_searched_settings_are_used_on_the_split_of_the_search_alone(cora, split, tuned):
    """The public split tests the same nodes, but has a ninth of the labels that the search had."""
    graph, fastgcn = cora
    assert settings_key(graph) == "cora"
    found, other = (candidates("k3-tuned", "cora", tuned=one) for one in (tuned, not tuned))
    assert found != other
    train = kn.positions(fastgcn.train)
    data = {"X": train, "y": graph.labels[fastgcn.train]} if split == "own" else {"split": split}
    model = kn.NodeKernelClassifier("k3-tuned", epochs=1, device="cpu").fit(**data, graph=graph)
    ((method, training),) = found.values()
    assert model.model_.method == method.for_classes(7)
    assert model.model_.training.learning_rate == training.learning_rate


# methods and their losses

TRAINED = [
    name for name, one in VARIANTS.items() if isinstance(one.method, Method) and not one.method.closed_form
]


@pytest.mark.parametrize("name", TRAINED)
def test_any_objective_and_kernel_loss_go_with_any_variant_on_any_data_set(name):
    keys, objectives = ("", "cora", "citeseer", "pubmed", "words"), ("kernel", "softmax", "joint")
    for key, objective, loss in product(keys, objectives, ("hinge", "squared", "logistic")):
        given = {"kernel_loss": loss} if objective != "softmax" else {}
        method, _ = configure(name, key, objective=objective, **given)
        assert method.loss.objective == objective
        assert objective == "kernel" or getattr(method.map, "outputs", None) is None


@pytest.mark.parametrize(
    ("objective", "part"), [("kernel", FULL.kernel), ("softmax", FULL.softmax), ("joint", FULL)]
)
def test_an_objective_takes_its_part_of_a_joint_loss(objective, part):
    assert changed_loss(FULL, objective) == part
    assert changed_loss(part, {"objective": objective}) is part
    found = Method(HopMLP(), DOT, part).classifier
    assert found == ("centroid" if objective == "kernel" else "softmax")


def test_parts_of_a_loss_that_stay_keep_their_settings_and_others_are_as_by_default():
    assert changed_loss(FULL.kernel, "joint") == Joint(Hinge(7, 0.5))
    assert changed_loss(FULL.softmax, "joint") == Joint(softmax=Softmax("balanced"))
    assert changed_loss(FULL.softmax, "kernel") == Hinge()
    assert changed_loss(FULL, {"objective": Hinge(3), "margin": 0.2}) == Hinge(3, 0.2)
    for wrong in ("both", 3, Hinge):
        with pytest.raises(kn.InputError):
            changed_loss(FULL, wrong)


@pytest.mark.parametrize("given", ["Squared", "squared", Squared(triplets=70)])
def test_a_kernel_loss_is_named_or_given(given):
    found = changed_loss(FULL, {"kernel_loss": given})
    kernel = given if isinstance(given, Squared) else Squared(triplets=7)  # what both have stays
    assert found == Joint(kernel, FULL.softmax, 2.0)
    assert changed_loss(Hinge(7, 0.5), {"kernel_loss": "hinge"}) == Hinge(7, 0.5)
    assert changed_loss(Logistic(7), {"kernel_loss": "hinge", "margin": 2}) == Hinge(7, 2)
    for wrong in ("huge", 3):
        with refused("setting", setting="kernel_loss", value=wrong):
            changed_loss(FULL, {"kernel_loss": wrong})
