"""Graphs of any size that go by a name: ``synthetic:nodes=1000000,degree=20`` is made when it is loaded."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import Any

from kernode.data.block_model import BlockModel, draw_features
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.adjacency import FEATURES, MAX_NODES, from_keys

_PREFIX = "synthetic"


@dataclass(frozen=True)
class Synthetic:
    """Sizes of a synthetic graph, and the seed it is made of; all that its name says.

    >>> spec = Synthetic.parse("synthetic:degree=20,nodes=1_000_000")
    >>> spec.edges, spec.name
    (10000000, 'synthetic:nodes=1000000,degree=20,classes=8,features=64,seed=0')
    """

    nodes: int = 10_000
    degree: int = 10  # on average
    classes: int = 8
    features: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            _require_whole(field.name, getattr(self, field.name))
        of = f" for {self.nodes:,} nodes"
        _require_between("nodes", self.nodes, 2, MAX_NODES)
        # Up to half of all pairs can be drawn one by one; beyond that most draws would be repeats.
        _require_between("degree", self.degree, 1, self.nodes // 2, of)
        _require_between("classes", self.classes, 1, self.nodes, of)
        _require_between("features", self.features, 1, 2**31)
        _require_between("seed", self.seed, 0, 2**63 - 1)

    @classmethod
    def parse(cls, name: str) -> Synthetic:
        """Read a name; what it leaves out is as it is by default."""
        _, _, settings = name.partition(":")
        values: dict[str, Any] = {}
        for setting in settings.split(",") if settings else ():
            key, _, number = (part.strip() for part in setting.partition("="))
            _require_key(key, values, name)
            values[key] = _number(number)
        return cls(**values)

    @property
    def edges(self) -> int:
        """Number of undirected edges."""
        return self.nodes * self.degree // 2

    @property
    def name(self) -> str:
        """The name with all settings, in one order."""
        settings = ",".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))
        return f"{_PREFIX}:{settings}"

    def graph(self) -> Graph:
        """Make the graph: the same bits each time and everywhere.

        >>> Synthetic(nodes=100).graph()
        Graph('synthetic:nodes=100,degree=10,classes=8,features=64,seed=0':
              100 nodes, 500 edges, 64 features, 8 classes)
        """
        model = BlockModel.of(self.nodes, self.classes, self.degree, self.seed)
        adjacency = from_keys(model.edges(self.edges), self.nodes)
        labels = model.labels()
        features = draw_features(labels, self.classes, self.features, self.seed)
        return Graph(adjacency, FEATURES.add(features), labels, name=self.name)


def is_synthetic(name: str) -> bool:
    """Whether a name asks for a synthetic graph, be its settings right or wrong.

    >>> is_synthetic("synthetic"), is_synthetic("synthetic:nodes=1"), is_synthetic("cora")
    (True, True, False)
    """
    return name.partition(":")[0].lower() == _PREFIX


def _require_key(key: str, values: dict[str, Any], name: str) -> None:
    known = [field.name for field in fields(Synthetic)]
    if key not in known:
        close = difflib.get_close_matches(key.lower(), known, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise InputError(
            f"A synthetic graph has no setting '{key}'.{hint} "
            f"Write {_PREFIX}:nodes=1000,degree=10, with any of {', '.join(known)}."
        )
    if key in values:
        raise InputError(f"'{name}' sets {key} twice. Keep one of them.")


def _number(text: str) -> int | str:
    digits = text.replace("_", "")
    return int(digits) if digits.isascii() and digits.isdecimal() else text


def _require_whole(key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"a synthetic graph's {key} must be a whole number, such as 1000. Got {value!r}.")


def _require_between(key: str, value: int, least: int, most: int, of: str = "") -> None:
    if not least <= value <= most:
        raise InputError(f"a synthetic graph's {key} must be from {least:,} to {most:,}{of}. Got {value:,}.")
