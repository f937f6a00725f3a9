"""Variants: methods by name, with their training settings, and what is changed in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.registry import identify
from kernode.models.changes import Changes
from kernode.training.settings import Training, require_effect

Tuned = Mapping[str, Mapping[str, Any]]  # by data set: flat names, as :class:`Changes` takes them


@dataclass(frozen=True)
class Variant:
    """A method with its training settings."""

    method: Any
    training: Training
    settings_on: Tuned = field(default_factory=dict)  # changes for some data sets
    tuned_on: Tuned = field(default_factory=dict)  # instead, where what a search has not seen is tested
    search_space: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # of links

    def configure(
        self, name: str, dataset: str, changes: Changes, *, tuned: bool = True
    ) -> tuple[Any, Training]:
        """The method and training settings on a data set, with changes; one without effect is refused."""
        method, training = self.method, self.training
        if "map" not in changes.parts:  # settings for a data set are of the variant's own map
            found = self.tuned_on.get(dataset) if tuned else None
            own = Changes.of(**(found or self.settings_on.get(dataset, {})))
            method, training = method.changed(own), own.training(training)
        method, training = method.changed(changes), changes.training(training)
        ignored = method.ignored_settings | training.ignored_settings
        require_effect(changes.flat, ignored, f"{name.lower()} ({method.title})")
        return method, training


def find_variant(variants: Mapping[str, Variant], name: Any, others: Iterable[str] = ()) -> Variant:
    """A variant by its name, whatever its case; ``others``: what a sentence also offers."""
    if not isinstance(name, str) or name.lower() not in variants:
        raise InputError(
            f"{name!r} is not a variant. Choose one of {', '.join((*others, *variants))}.",
            "unknown", what="variant", setting="variant", name=name,
        )  # fmt: skip
    return variants[name.lower()]


def known_name(graph: Graph) -> str:
    """Return the name of a built-in data set, or "" for any other graph, whatever it is called."""
    entry = identify(graph)
    return "" if entry is None else entry.name
