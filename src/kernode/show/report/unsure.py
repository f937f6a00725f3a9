"""The nodes that a model is least sure of, and what speaks for and against its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.explain.explain import explain_node
from kernode.explain.explanation import NodeExplanation, Part
from kernode.progress import tell
from kernode.show.class_colours import shortened
from kernode.show.evidence import Evidence, node_names

_LONGEST = 60  # letters of a name
_LEAST = 0.005  # below it a part would be shown as 0.00


@dataclass(frozen=True)
class UnsureNode:
    """One node, the two classes it is between, and the largest parts of an exact sum."""

    node: str
    answer: str
    chance: float  # percent
    next_answer: str | None
    next_chance: float | None
    known: str | None
    speaks_for: tuple[str, ...]  # in words
    speaks_against: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}


@dataclass(frozen=True)
class Unsure:
    """The least sure nodes, which nodes they were looked for among, and why there are no reasons if not."""

    nodes: tuple[UnsureNode, ...]
    among: str
    unexplained: str  # empty where every node is explained


def least_sure(evidence: Evidence, count: int = 10) -> Unsure:
    """Of the nodes that taught no run; of all nodes where every node taught one."""
    unseen = np.flatnonzero(~evidence.parts.taught(evidence.graph.n_nodes))
    among = f"the {len(unseen):,} nodes that taught no run"
    if not evidence.on.has_training_nodes or not len(unseen):
        unseen, among = np.arange(evidence.graph.n_nodes), f"all {evidence.graph.n_nodes:,} nodes"
        among += ", training nodes among them" if evidence.on.has_training_nodes else ""
    chances = evidence.chances[unseen]
    order = unseen[np.argsort(chances.max(axis=1), kind="stable")[:count]]
    rows, why = [], ""
    for done, node in enumerate(order.tolist()):
        tell("reasons", done, len(order))
        explained = None
        if not why:
            try:
                explained = explain_node(evidence.on, node, top=12)
            except InputError as error:
                why = str(error)
        rows.append(_row(evidence, node, explained))
    return Unsure(tuple(rows), among, why)


def _row(evidence: Evidence, node: int, explained: NodeExplanation | None) -> UnsureNode:
    chances, names = evidence.chances[node], [str(name) for name in evidence.names]
    first, *others = np.argsort(-chances, kind="stable").tolist()
    known = int(evidence.known[node])
    parts = () if explained is None else explained.neighbours.parts
    own = node_names(evidence.graph, np.array([node]))[0]
    return UnsureNode(
        shortened(own, _LONGEST),
        names[first],
        round(100 * float(chances[first]), 2),
        names[others[0]] if others else None,
        round(100 * float(chances[others[0]]), 2) if others else None,
        names[known] if known >= 0 else None,
        tuple(_words(part, own) for part in parts if part.value >= _LEAST)[:3],
        tuple(_words(part, own) for part in parts if part.value <= -_LEAST)[:3],
    )


def _words(part: Part, own: str) -> str:
    """What one node adds, with the features that add most of it."""
    itself = str(part.name) == own
    who = "its own features" if itself else shortened(str(part.name), _LONGEST)
    about = []
    if part.hops and not itself:
        about.append(f"{part.hops} hop{'s' * (part.hops > 1)} away")
    if part.known_class is not None and not itself:
        about.append(shortened(str(part.known_class), _LONGEST))
    words = [shortened(str(word.name), 30) for word in part.words if word.value * part.value > 0][:2]
    about += [f"by {' and '.join(words)}"] if words else []
    where = f" ({', '.join(about)})" if about else ""
    return f"{who}{where} {part.value:+.2f}"
