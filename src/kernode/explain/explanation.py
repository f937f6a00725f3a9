"""Why a node has its class, and why two are similar: what is shown of an exact sum, and what is left."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernode.models.model import html_table

TRAINING_NODE = "training node"
_UNLISTED = "not listed, only edges mention it"


@dataclass(frozen=True)
class Part:
    """What one thing adds: the mean over replicas, and their spread (None for one replica)."""

    name: Any  # a node, or a feature
    value: float
    spread: float | None = None
    hops: int | None = None  # of a node: how many edges away
    known_class: Any = None  # of a node: what the graph says
    words: tuple[Part, ...] = ()  # of a node: its features, those that add most
    listed: bool | None = None  # of a node: False where only edges mention it
    weight: float | None = None  # of a training node, by a ridge regression: value = weight · similarity
    similarity: float | None = None  # K(v, i); means over replicas, as the weight

    def __str__(self) -> str:
        about = [] if self.hops is None else [hops_away(self.hops)]
        about += [] if self.known_class is None else [str(self.known_class)]
        about += [_UNLISTED] if self.listed is False else []
        about += [] if self.weight is None else [f"weight {self.weight:+.4f}, K = {self.similarity:.4f}"]
        about += [", ".join(f"{word.name} {word.value:+.4f}" for word in self.words)] if self.words else []
        return "; ".join([str(self.name), *about])


@dataclass(frozen=True)
class Shown:
    """The largest parts of a sum, and all others as one."""

    parts: tuple[Part, ...]
    rest: float
    rest_count: int

    @property
    def whole(self) -> float:
        """The sum, nothing left out."""
        return sum(part.value for part in self.parts) + self.rest


@dataclass(frozen=True)
class Hop:
    """What all nodes so many edges away add together."""

    hops: int
    value: float


@dataclass(frozen=True)
class Features:
    """The same sum by features: of nodes that were taken apart, biases, and all other nodes as one."""

    shown: Shown
    constant: float  # of biases
    other_nodes: float  # what nodes add whose features were not looked at
    other_count: int

    @property
    def whole(self) -> float:
        """The sum, nothing left out."""
        return self.shown.whole + self.constant + self.other_nodes


@dataclass(frozen=True)
class NodeExplanation:
    """Why a node has its class: what each neighbour, hop and feature added to its lead over another class.

    ``value`` of a part is what it adds to score(of_class) − score(against). Sums are complete:
    ``neighbours.whole + class_bias`` and the lead are the same number.
    """

    node: Any
    classes: tuple[Any, ...]
    probabilities: tuple[float, ...]  # by all replicas together, calibrated where the model is
    scores: tuple[float, ...]  # the mean over replicas; the class with the highest is of_class, mostly
    spreads: tuple[float, ...] | None  # of the replicas' scores
    of_class: Any
    against: Any
    class_bias: float  # what no neighbour adds
    hops: tuple[Hop, ...]
    neighbours: Shown
    features: Features
    held: str  # what was held fixed
    listed: bool | None = None  # False where only edges mention the node
    names: tuple[str, ...] = ()  # of the classes, for people
    by: str | None = None  # what neighbours are, if not neighbours: training nodes, or any nodes

    @property
    def lead(self) -> float:
        """score(of_class) − score(against)."""
        scores = dict(zip(self.classes, self.scores, strict=True))
        return scores[self.of_class] - scores[self.against]

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        found = _plain(asdict(self)) | {"lead": self.lead}
        del found["names"]
        return found

    def _names(self) -> list[str]:
        """Names of the two classes."""
        names = self.names or self.classes
        return [str(names[self.classes.index(one)]) for one in (self.of_class, self.against)]

    def __str__(self) -> str:
        chance = dict(zip(self.classes, self.probabilities, strict=True))
        first, second = self._names()
        lines = [
            f"{self.node}: {first} ({100 * chance[self.of_class]:.1f} %), "
            f"not {second} ({100 * chance[self.against]:.1f} %)",
            f"{self.lead:+.4f}  lead of {first} over {second}, of which",
        ]
        lines[:0] = [f"{self.node}: {_UNLISTED}"] if self.listed is False else []
        hops = () if self.by == TRAINING_NODE else self.hops  # distances say little about labels
        lines += [f"{hop.value:+.4f}  {hops_away(hop.hops)}" for hop in hops]
        lines += [f"{self.class_bias:+.4f}  what every node has"] if self.class_bias else []
        lines += ["", f"by {self.by or 'neighbour'}"]
        lines += _part_lines(self.neighbours, f"other {self.by or 'node'}s")
        if self.by != TRAINING_NODE:
            lines += ["", "by feature", *_feature_lines(self.features)]
        return "\n".join([*lines, "", self.held] if self.held else lines)

    def _repr_html_(self) -> str:
        chance = dict(zip(self.classes, self.probabilities, strict=True))[self.of_class]
        rows = [
            (part.name, part.hops if part.hops != -1 else "–", part.known_class, f"{part.value:+.4f}")
            for part in self.neighbours.parts
        ]
        first, second = self._names()
        title = f"{self.node}: {first} ({100 * chance:.1f} %), {self.lead:+.4f} ahead of {second}"
        return html_table(title, (self.by or "neighbour", "hops", "class", "adds"), rows)


@dataclass(frozen=True)
class PairPart:
    """What a neighbour of one node and one of the other add together."""

    left: Any
    right: Any
    left_hops: int
    right_hops: int
    value: float
    spread: float | None = None


@dataclass(frozen=True)
class PairExplanation:
    """Why two nodes are similar: which pairs of neighbours make K(u, v), and which neighbours and features.

    ``pairs`` and ``rest`` sum to ``similarity``, and so do the neighbours of either node, and its features.
    """

    node: Any
    other: Any
    kernel: str
    similarity: float
    spread: float | None
    pairs: tuple[PairPart, ...]
    rest: float
    rest_count: int
    neighbours: tuple[Shown, ...]  # of the one node and of the other
    features: tuple[Features, ...]
    held: str
    listed: bool | None = None  # False where only edges mention the one node
    other_listed: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return _plain(asdict(self))

    def __str__(self) -> str:
        value = f"{self.similarity:.4f}{_spread(self.spread)}"
        whole = f"{self.node} and {self.other}: K = {value} by {self.kernel}, of which"
        marks = ((self.node, self.listed), (self.other, self.other_listed))
        lines = [f"{name}: {_UNLISTED}" for name, listed in marks if listed is False]
        lines += [whole, "", "by pairs of neighbours"]
        lines += [f"{p.value:+.4f}{_spread(p.spread)}  {p.left} and {p.right}" for p in self.pairs]
        lines += [f"{self.rest:+.4f}  {self.rest_count:,} other pairs"] if self.rest_count else []
        for name, shown, features in zip(
            (self.node, self.other), self.neighbours, self.features, strict=True
        ):
            lines += ["", f"through neighbours of {name}", *_part_lines(shown, "other nodes")]
            lines += ["", f"through features around {name}", *_feature_lines(features)]
        return "\n".join([*lines, "", self.held] if self.held else lines)

    def _repr_html_(self) -> str:
        rows = [(part.left, part.right, f"{part.value:+.4f}") for part in self.pairs]
        title = f"{self.node} and {self.other}: K = {self.similarity:.4f}"
        return html_table(title, (f"near {self.node}", f"near {self.other}", "adds"), rows)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def _part_lines(shown: Shown, others: str) -> list[str]:
    lines = [f"{part.value:+.4f}{_spread(part.spread)}  {part}" for part in shown.parts]
    return lines + ([f"{shown.rest:+.4f}  {shown.rest_count:,} {others}"] if shown.rest_count else [])


def _feature_lines(features: Features) -> list[str]:
    lines = _part_lines(features.shown, "other features")
    lines += [f"{features.constant:+.4f}  biases"] if features.constant else []
    if features.other_count:
        lines.append(f"{features.other_nodes:+.4f}  features of {features.other_count:,} other nodes")
    return lines


def _spread(spread: float | None) -> str:
    return "" if spread is None else f" ± {spread:.4f}"


def hops_away(hops: int) -> str:
    """Return a distance in words."""
    named = {-1: "not connected", 0: "itself"}
    return named.get(hops, f"{hops} hop{'s' * (hops > 1)} away")


def mean_and_spread(values: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Over the r replicas of r × …; one alone has no spread."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) if len(values) > 1 else None
