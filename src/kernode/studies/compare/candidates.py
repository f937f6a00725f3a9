"""What a contestant may choose from on a graph, and which of its candidates can train as one stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from kernode.config import Config
from kernode.graph import Graph
from kernode.studies.compare.contestants import Contestant
from kernode.tasks.classes.configure import candidates, configure, settings_key
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.variants import CHOICES
from kernode.training.settings import PER_REPLICA, Training

Part = TypeVar("Part", bound=Config)


@dataclass(frozen=True)
class Candidate:
    """A method with its training, and in plain values what makes it differ from the others."""

    settings: dict[str, Any]
    method: NodeMethod
    training: Training


def candidates_of(contestant: Contestant, graph: Graph) -> list[Candidate]:
    """All candidates, without any setting that was searched for on this very graph.

    Those of a choice, such as "auto", are its own. Any other's are changes of its variant; one may name
    another ``variant``.
    """
    key = settings_key(graph)
    if contestant.variant in CHOICES:
        found = candidates(contestant.variant, key, tuned=False, **contestant.changes)
        return [Candidate({"variant": name}, *parts) for name, parts in found.items()]
    made = []
    for changes in contestant.candidates():
        settings = {"variant": contestant.variant, **contestant.changes, **changes}
        parts = configure(settings.pop("variant"), key, tuned=False, **settings)
        made.append(Candidate({name: _plain(value) for name, value in changes.items()}, *parts))
    return made


def by_structure(members: Sequence[Candidate]) -> list[list[int]]:
    """Numbers of candidates that can be one stack: they differ only in what replicas may differ in."""
    groups: list[tuple[Any, list[int]]] = []
    for number, one in enumerate(members):
        structure = _structure(one.method), _structure(one.training)
        for known, numbers in groups:
            if known == structure:
                numbers.append(number)
                break
        else:
            groups.append((structure, [number]))
    return [numbers for _, numbers in groups]


def stacked(members: Sequence[Candidate]) -> tuple[NodeMethod, Training]:
    """The method and training of a stack whose replicas have these candidates of one structure."""
    return _merged([one.method for one in members]), _merged([one.training for one in members])


def _merged(parts: list[Part]) -> Part:
    """One part for all replicas: where they differ, a setting has a number for each."""
    own = _per_replica(parts[0])
    changes: dict[str, Any] = {}
    for field in fields(parts[0]):
        values = [getattr(part, field.name) for part in parts]
        if any(value != values[0] for value in values):
            changes[field.name] = tuple(values) if field.name in own else _merged(values)
    return replace(parts[0], **changes) if changes else parts[0]


def _structure(value: Any) -> Any:
    """A part without what may differ between replicas."""
    if not isinstance(value, Config):
        return value
    own = _per_replica(value)
    names = [field.name for field in fields(value) if field.name not in own]
    return type(value), {name: _structure(getattr(value, name)) for name in names}


def _per_replica(part: Config) -> tuple[str, ...]:
    return PER_REPLICA if isinstance(part, Training) else getattr(part, "per_replica", ())


def _plain(value: Any) -> Any:
    return value.to_json() if isinstance(value, Config) else value
