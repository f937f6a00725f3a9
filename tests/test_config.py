"""Parts travel by the name of their class, and no second class can take a name over."""

import json
from dataclasses import dataclass

import pytest

from kernode import kernels
from kernode.config import Config
from kernode.errors import InputError
from kernode.kernels import BaseKernel
from kernode.maps import FeatureMap, HopMLP


@pytest.fixture(autouse=True)
def own_kinds(monkeypatch):
    """What a test defines is forgotten after it."""
    monkeypatch.setattr(Config, "kinds", dict(Config.kinds))


def test_defining_a_class_is_enough_for_files_to_know_it():
    @dataclass(frozen=True)
    class Shape(Config):
        sides: tuple[int, ...] = (1, 2)
        inner: Config | None = None

    shape = Shape((3, 4), Shape())
    values = json.loads(json.dumps(shape.to_json()))
    assert values == {
        "kind": "Shape", "sides": [3, 4], "inner": {"kind": "Shape", "sides": [1, 2], "inner": None}
    }  # fmt: skip
    assert Config.from_json(values) == shape


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"flag": "no"}, "flag must be true or false. Got 'no'."),
        ({"flag": 1}, "flag must be true or false. Got 1."),
        ({"count": 1.5}, "count must be an integer. Got 1.5."),
        ({"count": True}, "count must be an integer. Got True."),
        ({"count": 2**63}, "count must be an integer. Got 9223372036854775808."),
        ({"rate": "fast"}, "rate must be a number. Got 'fast'."),
        ({"rate": float("nan")}, "rate must be a number. Got nan."),
        ({"names": 5}, "a setting of Gauge is wrong ('int' object is not iterable)."),
    ],
)
def test_a_setting_of_another_type_is_refused_whoever_checks_it(settings, said):
    @dataclass(frozen=True)
    class Gauge(Config):
        flag: bool = True
        count: int | None = None
        rate: "float" = 1
        names: tuple[str, ...] = ()

        def __post_init__(self) -> None:
            list(self.names)

    assert Gauge(count=2, rate=0.5).count == 2
    with pytest.raises(InputError) as raised:
        Gauge(**settings)
    assert str(raised.value) == said


def test_a_second_class_of_the_same_name_is_refused_and_the_first_still_serves():
    with pytest.raises(
        InputError,
        match=r"^'Linear' is the name of kernode\.kernels\.linear\.Linear in files already\. "
        r"Give test_config\..*\.Linear another name\.$",
    ):

        @dataclass(frozen=True)
        class Linear(BaseKernel):
            """Another dot product."""

    assert Config.kinds["Linear"] is kernels.Linear
    assert BaseKernel.from_json({"kind": "Linear"}) == kernels.Linear()


def test_the_same_definition_run_again_replaces_itself():
    """As in a notebook, where a cell is run twice."""

    def cell(default):
        @dataclass(frozen=True)
        class Own(FeatureMap):
            width: int = default

        return Own

    first, second = cell(1), cell(2)
    assert first is not second
    assert FeatureMap.from_json({"kind": "Own"}) == second()


def test_unknown_kinds_and_kinds_of_another_room_are_refused():
    with pytest.raises(InputError, match=r"'Nothing' is not a known part\. Import the module"):
        Config.from_json({"kind": "Nothing"})
    with pytest.raises(InputError, match="None is not a known part"):
        Config.from_json({})
    with pytest.raises(InputError, match="'HopMLP' is not a known BaseKernel"):
        BaseKernel.from_json(HopMLP().to_json())
