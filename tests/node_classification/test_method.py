"""The paper's method: its parts, and its loss with other parts."""

from dataclasses import replace

import pytest
from kernode.node_classification.changes import with_objective

from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized
from kernode.losses import Hinge, Joint, Logistic, Softmax, Squared
from kernode.maps import GCN, Free, HopMLP
from kernode.tasks.classes.method import Method

DOT = Normalized(Linear())
LOSSES = {
    "kernel": Hinge(7, 0.5),
    "softmax": Softmax("balanced"),
    "joint": Joint(Hinge(7, 0.5), Softmax("balanced"), 2.0),
}


@pytest.mark.parametrize("objective", LOSSES)
def test_an_objective_takes_its_part_of_a_joint_loss(objective):
    assert with_objective(LOSSES["joint"], objective) == LOSSES[objective]
    assert with_objective(LOSSES[objective], objective) is LOSSES[objective]


def test_parts_that_stay_keep_their_settings_and_others_are_as_by_default():
    assert with_objective(LOSSES["kernel"], "joint") == Joint(Hinge(7, 0.5))
    assert with_objective(LOSSES["softmax"], "joint") == Joint(softmax=Softmax("balanced"))
    assert with_objective(LOSSES["softmax"], "kernel") == Hinge()
    with pytest.raises(InputError, match=r"objective must be 'kernel', 'softmax' or 'joint'\. Got 'both'"):
        with_objective(Hinge(), "both")


def test_the_classifier_follows_from_the_loss():
    found = {name: Method(HopMLP(), DOT, loss).classifier for name, loss in LOSSES.items()}
    assert found == {"kernel": "centroid", "softmax": "softmax", "joint": "softmax"}
    assert Method(HopMLP(), DOT).loss == Joint()


def test_changes_are_taken_out_and_what_is_left_is_not_its_own():
    changes = {"hops": 3, "margin": 0.5, "epochs": 9, "objective": "kernel", "kernel": RBF()}
    method = Method(HopMLP(), DOT).changed(changes)
    assert method == Method(HopMLP(hops=3), RBF(), Hinge(margin=0.5))
    assert changes == {"epochs": 9}


@pytest.mark.parametrize("given", ["Squared", "squared", Squared(triplets=70)])
def test_a_kernel_loss_is_named_or_given(given):
    method = Method(HopMLP(), DOT, LOSSES["joint"]).changed({"kernel_loss": given})
    expected = given if isinstance(given, Squared) else Squared(triplets=7)  # what both have stays
    assert method.loss == replace(LOSSES["joint"], kernel=expected)
    assert Method(HopMLP(), DOT, Hinge(7, 0.5)).changed({"kernel_loss": "hinge"}).loss == Hinge(7, 0.5)
    assert Method(HopMLP(), DOT, Logistic(7)).changed({"kernel_loss": "hinge", "margin": 2}).loss == Hinge(
        7, 2
    )


def test_an_unknown_kernel_loss_is_refused():
    for wrong in ("huge", 3):
        with pytest.raises(InputError, match=r"kernel_loss must be one of .*'hinge'"):
            Method(HopMLP(), DOT).changed({"kernel_loss": wrong})


def test_width_follows_from_the_classes_where_it_was_left_open():
    assert Method(HopMLP(), DOT).for_classes(4).map.outputs == 4
    assert Method(HopMLP(outputs=9), DOT).for_classes(4).map.outputs == 9
    assert Method(Free(), DOT).for_classes(4).map == Free(4)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"map": "gcn"}, r"map must be a part such as kernode\.maps\.HopMLP\(\)\. Got 'gcn'"),
        ({"kernel": GCN()}, "kernel must be a part such as"),
        ({"loss": "hinge"}, r"loss must be a part such as kernode\.losses\.Hinge\(\)"),
    ],
)
def test_other_things_than_parts_are_refused(part, sentence):
    with pytest.raises(InputError, match=sentence):
        Method(**{"map": HopMLP(), "kernel": DOT} | part)
