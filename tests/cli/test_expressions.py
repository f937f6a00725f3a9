"""Kernels and maps as text: the same text as in Python, read and never evaluated."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernode import storage
from kernode.cli.expressions import known_parts, parse_part
from kernode.errors import InputError
from kernode.kernels import RBF, BaseKernel, Linear, Normalized, Polynomial, Product, Sum
from kernode.kernels.weighted_sum import WeightedSum
from kernode.maps import GAT, GCN, FeatureMap, HopMLP


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rbf", RBF()),
        (" rbf(0.5) ", RBF(0.5)),
        ("RBF(gamma=0.5, learned=True)", RBF(0.5, True)),
        ("Normalized(RBF(gamma=0.5))", Normalized(RBF(0.5))),
        ("kn.kernels.Polynomial(degree=3)", Polynomial(degree=3)),
        ("Linear() + RBF()", Sum(Linear(), RBF())),
        ("Linear() * (RBF() + Linear())", Product(Linear(), Sum(RBF(), Linear()))),
    ],
)
def test_kernels_are_what_python_makes_of_the_text(text, expected):
    assert parse_part(text, BaseKernel, "kernel") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gat", GAT()),
        ("GCN(hidden=(64,))", GCN(hidden=(64,))),
        ("gcn([64, 32], outputs=16)", GCN((64, 32), 16)),
        ("HopMLP(hidden=(), powers='last', hop_weights=0.5)", HopMLP((), powers="last", hop_weights=0.5)),
    ],
)
def test_maps_are_what_python_makes_of_the_text(text, expected):
    assert parse_part(text, FeatureMap, "map") == expected


@pytest.mark.parametrize(
    "text",
    [
        *("rbg", "GCN()", "Normalized(rbg)", "RBF(gama=1)", "RBF(1, False, 3)", "RBF(1, gamma=2)"),
        *("RBF(gamma=1, gamma=2)", "Linear(scale=1)", "RBF(gamma=-1)", "RBF(gamma='x')", "Normalized()"),
        *("RBF(", "", "0.5", "Linear() - RBF()", "Linear() + 1", "RBF(**{'gamma': 1})", "(" * 10_000),
        *("__import__('os').system('touch here')", "(lambda: RBF())()", "[RBF() for _ in (1,)]"),
    ],
)
def test_wrong_text_is_refused(text):
    with pytest.raises(InputError) as caught:
        parse_part(text, BaseKernel, "kernel")
    assert caught.value.fields["setting"] == "kernel"


@given(st.text(max_size=30))
def test_any_text_is_a_kernel_or_one_sentence(text):
    with suppress(InputError):
        assert isinstance(parse_part(text, BaseKernel, "kernel"), BaseKernel)


def test_known_parts_can_be_built():
    assert list(known_parts(BaseKernel)) == [
        *("Linear", "Matern", "Normalized", "Polynomial", "Product", "RBF", "Sum", WeightedSum.__name__)
    ]
    assert {"GCN", "GAT", "HopMLP", "Smoother"} <= set(known_parts(FeatureMap))
    assert not {"FeatureMap", "StagedMap", "ModuleMap"} & set(known_parts(FeatureMap))


@pytest.mark.parametrize("variant", ["k3", "auto"])
def test_parts_reach_the_model(kernode, graph_file, variant):
    parts = "--set map=gcn(hidden=(8,)) --set loss.objective=kernel --epochs 2 --replicas 1 -q -o m.st"
    fit = ("fit", graph_file, "--variant", variant, *parts.split())
    status, _, err = kernode(*fit, "--set", "kernel=Linear() + RBF(gamma=0.5)")
    assert status == 0, err
    method = storage.read_tensors("m.st", "model")[1]["method"]
    assert (method["map"]["kind"], method["map"]["hidden"]) == ("GCN", [8])
    assert (method["kernel"]["kind"], method["kernel"]["right"]["gamma"]) == ("Sum", 0.5)
