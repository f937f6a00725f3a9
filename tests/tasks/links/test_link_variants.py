"""Link variants by name: their settings, what may be changed, and what has no effect and is refused."""

import pytest

from graphs import CLUSTERS
from kernode.estimators.links import LinkPredictor
from kernode.kernels import RBF, Linear
from kernode.maps import GAT, GCN, HopMLP, NodeEmbedding
from kernode.models.overrides import by_part
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.variants import configure_links
from refusals import refused


def test_names_are_known_in_any_case():
    assert configure_links("Kernel-Tuned", "cora") == configure_links("kernel-tuned", "cora")
    assert LinkPredictor("GAE", epochs=1).fit(CLUSTERS).model_.variant == "gae"


def test_settings_that_were_found_are_those_of_their_data_set_alone():
    assert configure_links("kernel-tuned", "cora")[1].learning_rate == 0.001021
    assert configure_links("kernel-tuned") == configure_links("kernel", weight_decay=1e-6)
    method, training = configure_links("kernel-tuned", "cora", map=GCN((4,), 5))
    assert (method.map, training.learning_rate) == (GCN((4,), 5), 0.01)  # they are of its own map


def test_changes_go_to_the_part_that_has_them():
    method, training = configure_links("kernel", hops=3, hidden=8, scaled=False, epochs=7, normalized=False)
    assert method == LinkMethod(HopMLP((8,), 256, hops=3, normalize_rows=False), Linear())
    assert training.epochs == 7
    assert configure_links("gae", hidden=0)[0].map.hidden == ()
    assert configure_links("kernel", kernel=RBF(2.0))[0].kernel == RBF(2.0)
    assert configure_links("gae", hops=None, normalized=None) == configure_links("gae")


@pytest.mark.parametrize(("variant", "width"), [("kernel", 256), ("gae", 16), ("vgae", 32)])
def test_a_map_without_a_width_gets_the_variants(variant, width):
    assert configure_links(variant, map=GAT())[0].map == GAT(outputs=width)
    assert configure_links(variant, map=NodeEmbedding(8))[0].map == NodeEmbedding(8)


@pytest.mark.parametrize(
    ("variant", "changes", "code", "setting"),
    [
        ("magic", {}, "unknown", "variant"),
        (3, {}, "unknown", "variant"),
        ("gae", {"colour": 1}, "unknown", "colour"),
        ("gae", {"hops": 2}, "unknown", "hops"),
        ("kernel", {"dropout": 0.5}, "no-effect", "dropout"),
        ("gae", {"select_by": "map"}, "no-effect", "select_by"),
        ("gae", {"map": GAT(), "input_dropout": 0.5}, "no-effect", "input_dropout"),
    ],
)
def test_what_does_not_exist_or_has_no_effect_is_refused(variant, changes, code, setting):
    with refused(code, setting=setting):
        configure_links(variant, **changes)


def test_a_link_method_needs_a_width():
    with refused("missing", setting="outputs"):
        LinkMethod(GCN((4,)), Linear())
    with refused("setting", setting="outputs", value=15):
        LinkMethod(GCN((4,), 15), Linear(), variational=True)


def test_settings_of_the_method_itself_reach_it_through_an_estimator():
    """As `kernode links --settings` passes on what `kernode tune` found."""
    ((method, _),) = LinkPredictor("kernel", **by_part(scaled=False, epochs=3)).methods().values()
    assert not method.scaled
