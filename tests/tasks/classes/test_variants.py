"""Variants by name: their settings, what may be changed, and what has no effect and is refused."""

import pytest

import kernode as kn
from graphs import CLUSTERS
from kernode.errors import InputError
from kernode.losses import Hinge, Joint, Softmax
from kernode.tasks.classes import tuned as tuned_settings
from kernode.tasks.classes.method import Method
from kernode.node_classification.variants import (
    CANDIDATES,
    VARIANTS,
    candidates,
    configure,
    find_variant,
)
from kernode.training.settings import Training
from tasks import LABELS, SPLIT


def test_papers_settings_are_as_stated():
    """Every field of the paper's four variants: Table 2, supplement A.1, and its released code."""
    dot, rbf = kn.kernels.Normalized(kn.kernels.Linear()), kn.kernels.Normalized(kn.kernels.RBF(gamma=1.0))
    wide = kn.maps.HopMLP((512,), 128, hops=2, powers="each", hop_weights="learned", normalize_rows=True)
    narrow = kn.maps.HopMLP((16,), None, hops=2, powers="each", hop_weights="learned", normalize_rows=True)
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


def test_settings_of_other_systems_are_as_documented():
    """What docs/reproduction.md shows was measured with these."""
    dot, maps = kn.kernels.Normalized(kn.kernels.Linear()), kn.maps
    expected = {
        "k1-gcn": (maps.GCN((512,), 128, normalize_rows=False), Hinge(), Training(epochs=100, dropout=0.8)),
        "k2-gat": (
            maps.GAT((64,), 8, attention_dropout=0.4), Hinge(), Training(epochs=200, learning_rate=0.005),
        ),
        "presmoothed": (maps.Presmoothed(), Joint(), Training(learning_rate=0.05)),
        "gcn": (maps.GCN(), Softmax(), Training(weight_decay=1e-4)),
        "gat": (maps.GAT(attention_dropout=0.4), Softmax(), Training(epochs=100)),
        "jk": (maps.JKConcat((64, 64), inner_dropout=0.8), Softmax(), Training()),
        "fastgcn": (maps.FastGCN(share=1.0), Softmax(), Training(epochs=400)),
        "sgc": (
            maps.Presmoothed((), powers="plain"), Softmax(), Training(learning_rate=0.2, weight_decay=1e-5),
        ),
        "appnp": (maps.APPNP(), Softmax(), Training()),
    }  # fmt: skip
    for name, (map_, loss, training) in expected.items():
        for dataset in ("cora", "citeseer", "pubmed", ""):
            assert configure(name, dataset) == (Method(map_, dot, loss), training)


def test_names_are_known_in_any_case():
    assert find_variant("K3-Tuned") is VARIANTS["k3-tuned"]
    assert configure("K3", "cora") == configure("k3", "cora")
    assert list(candidates("AUTO")) == list(candidates("auto"))
    model = kn.NodeKernelClassifier("N1", epochs=1, selection="last").fit(SPLIT.train, LABELS, graph=CLUSTERS)
    assert model.model_.variant == "n1"
    with pytest.raises(InputError, match=r"^'K9' is not a variant\. Choose one of auto, similarity, k3, "):
        configure("K9")


def test_layers_repeat_the_hidden_width():
    assert configure("k3", layers=1)[0].map.hidden == ()
    assert configure("k3", layers=3)[0].map.hidden == (16, 16)
    assert configure("k1", layers=3, hidden=64)[0].map.hidden == (64, 64)
    assert configure("k3", hidden=(8, 4))[0].map.hidden == (8, 4)
    with pytest.raises(InputError, match="4 layers have 3 hidden widths"):
        configure("k3", layers=4, hidden=(8, 4))
    with pytest.raises(InputError, match="layers must be an integer ≥ 1"):
        configure("k3", layers=0)


def test_changes_go_to_the_part_that_has_them():
    method, training = configure(
        "k3", hops=3, dropout=0.1, margin=0.5, triplets=7, kernel_weight=2, class_weights="balanced"
    )
    assert method.map.hops == 3
    assert training.dropout == 0.1
    assert method.loss == Joint(Hinge(7, 0.5), Softmax("balanced"), 2)
    assert configure("k3", hops=None, margin=None) == configure("k3")
    own = kn.maps.GCN((4,))
    assert configure("k3", map=own, kernel=kn.kernels.RBF())[0] == Method(own, kn.kernels.RBF(), Joint())


NO_EFFECT = [
    ("n1", {"margin": 0.5}, r"n1 \(HopMLP, softmax objective\) has no setting 'margin': leave it out"),
    ("n1", {"kernel_loss": "squared"}, "has no setting 'kernel_loss'"),
    ("n1", {"kernel_weight": 0.5}, "has no setting 'kernel_weight'"),
    ("k1", {"kernel_weight": 0.5}, r"k1 \(HopMLP, kernel objective\) has no setting 'kernel_weight'"),
    ("k1", {"class_weights": "balanced"}, "has no setting 'class_weights'"),
    ("k3", {"kernel_loss": "squared", "margin": 0.5}, "has no setting 'margin'"),
    ("k3", {"objective": "kernel", "kernel_weight": 0.5}, "has no setting 'kernel_weight'"),
    ("gat", {"dropout": 0.5}, r"dropout has no effect on gat \(GAT, softmax objective\): leave it out"),
    ("GAT", {"input_dropout": 0.5}, r"input_dropout has no effect on gat \(GAT"),
    ("k3", {"map": kn.maps.Free(), "dropout": 0.5}, r"dropout has no effect on k3 \(Free, joint objective\)"),
    ("k3", {"hidden": (), "dropout": 0.5}, "dropout has no effect on k3"),
    ("sgc", {"dropout": 0.5}, "dropout has no effect on sgc"),
    ("k3", {"selection": "last", "select_by": "map"}, "select_by has no effect on k3"),
    ("smoother", {"epochs": 5}, r"epochs has no effect on smoother \(Smoother, kernel objective\)"),
    ("smoother", {"hidden": 4}, "Smoother has no setting 'hidden'"),
    ("kled", {"learning_rate": 0.1}, r"learning_rate has no effect on kled \(KLED\): leave it out"),
    ("kled", {"hops": 2}, r"kled \(KLED\) has no setting 'hops'"),
    ("gcn", {"hops": 2}, "gcn .* has no setting 'hops'"),
    ("k3", {"colour": "red"}, "has no setting 'colour'"),
]


@pytest.mark.parametrize(("variant", "changes", "sentence"), NO_EFFECT)
def test_what_has_no_effect_is_refused(variant, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        configure(variant, **changes)
    if "colour" in changes:
        return
    with pytest.raises(InputError, match=sentence):
        kn.NodeKernelClassifier(variant, **changes).fit(SPLIT.train, LABELS, graph=CLUSTERS)


def test_settings_of_a_data_set_that_have_no_effect_beside_a_change_are_let_be():
    """Nobody asked for them: words have dropout on X, and a map without it has none."""
    assert configure("k3-tuned", "words")[1].input_dropout == 0.5
    method, training = configure("k3-tuned", "words", map=kn.maps.GAT())
    assert (method.map, training.input_dropout) == (kn.maps.GAT(), 0.0)


def test_what_is_set_reaches_every_candidate_of_auto():
    def given(**settings):
        return candidates("auto", **settings)

    assert [*given()] == [*CANDIDATES] == [*given(hops=None)]
    assert {method.map.hops for method, _ in given().values()} == {2, 10}
    assert [method.map.hops for method, _ in given(hops=3).values()] == [3] * 6
    assert [training.epochs for _, training in given(epochs=5).values()] == [5] * 6
    assert [training.patience for _, training in given(patience=7).values()] == [7] * 6
    assert [training.averaging for _, training in given(averaging=0.0).values()] == [0.0] * 6
    rbf = kn.kernels.RBF()
    assert [method.kernel for method, _ in given(kernel=rbf).values()] == [rbf] * 6


def test_candidates_of_auto_that_lack_a_setting_are_left_out():
    with_kernel_loss = ["diffusion", "hops", "hops-standardized"]
    found = candidates("auto", margin=0.5)
    assert [*found] == with_kernel_loss
    assert {method.loss.kernel.margin for method, _ in found.values()} == {0.5}
    assert [*candidates("auto", kernel_loss="squared")] == with_kernel_loss
    with pytest.raises(InputError, match="hops must be an integer"):
        candidates("auto", hops=0)
    with pytest.raises(InputError, match=r"^diffusion \(HopMLP, joint objective\) has no setting 'colour'"):
        candidates("auto", colour="red")


def test_auto_with_a_map_of_ones_own_has_nothing_to_choose():
    ((name, (method, training)),) = candidates("auto", map=kn.maps.GCN(), epochs=5).items()
    assert (name, method.map, training.epochs) == ("k3-tuned", kn.maps.GCN(), 5)


def test_auto_is_its_first_candidate_where_validation_chooses_nothing():
    ((name, (_, training)),) = candidates("auto", selection="last").items()
    assert (name, training.selection, training.patience) == ("diffusion", "last", None)
    assert training.epochs == Training.epochs  # those of patience would be too many
    ((_, (_, training)),) = candidates("auto", selection="last", epochs=5).items()
    assert training.epochs == 5
    assert [*candidates("auto", epochs=0)] == ["diffusion"]
    assert [*candidates("auto", selection="last", objective="softmax", margin=None)] == ["diffusion"]


def test_auto_on_a_graph_that_was_searched_is_what_was_found():
    for dataset, (name, changes) in tuned_settings.AUTO.items():
        assert candidates("auto", dataset) == {name: configure(name, dataset, **changes)}
        assert [*candidates("auto", dataset, tuned=False)] == [*CANDIDATES]
    ((_, (method, _)),) = candidates("auto", "cora", hops=3).items()
    assert method.map.hops == 3
    assert "diffusion-decayed" not in candidates("auto", "cora", margin=0.5)  # it has none: a choice again


def test_a_choice_is_no_variant_and_names_its_candidates():
    with pytest.raises(
        InputError, match=r"^similarity is a choice among similarity-diffusion, similarity-hops, "
    ):
        configure("similarity")
