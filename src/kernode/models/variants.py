"""Variants: methods by name, with their training settings, and choices among them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.registry import identify
from kernode.models.overrides import Changes, by_part, changed_training, combined, flat, replaces_map
from kernode.training.settings import Training, require_effect

Tuned = Mapping[str, Mapping[str, Any]]  # by data set: settings by name, as `by_part` takes them
Found = Mapping[str, tuple[str, Mapping[str, Any]]]  # by data set: a variant, and what is changed in it
_NONE: Changes = {}


@dataclass(frozen=True)
class Variant:
    """A method with its training settings."""

    method: Any
    training: Training
    settings_on: Tuned = field(default_factory=dict)  # changes on some data sets
    tuned_on: Tuned = field(default_factory=dict)  # the same, of a search on the standard split
    search_space: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # of links

    def configure(
        self, name: str, dataset: str, changes: Changes, *, tuned: bool = True
    ) -> tuple[Any, Training]:
        """Return the method and training on a data set, with changes; one without effect is refused."""
        method, training = self.method, self.training
        if not replaces_map(changes):  # settings for a data set are of the variant's own map
            found = self.tuned_on.get(dataset) if tuned else None
            own = by_part(**(found or self.settings_on.get(dataset, {})))
            method, training = method.changed(own), changed_training(training, own.get("training", {}))
        method, training = method.changed(changes), changed_training(training, changes.get("training", {}))
        ignored = method.ignored_settings | training.ignored_settings
        require_effect(flat(changes), ignored, f"{name.lower()} ({method.title})")
        return method, training


@dataclass(frozen=True)
class Choice:
    """A choice among variants by validation, with successive halving, or a sum of them."""

    candidates: tuple[str, ...]
    with_map: str  # the variant whose loss and training a given map is trained with
    found: Found = field(default_factory=dict)  # by a search on a data set
    sums: bool = False  # whether their kernels are summed, with weights by validation
    patience: int | None = None  # at most, of candidates that stop early

    def hurried(self, training: Training) -> Training:
        """Return the training of a candidate, with the choice's patience where its own is longer."""
        own = training.patience
        if own is None or self.patience is None:
            return training
        return replace(training, patience=min(own, self.patience))


@dataclass(frozen=True)
class Catalogue:
    """The variants of a task by name, and its choices among them."""

    variants: Mapping[str, Variant]
    choices: Mapping[str, Choice] = field(default_factory=dict)

    def __getitem__(self, name: Any) -> Variant:
        """Return a variant by its name, whatever its case."""
        key = str(name).lower()
        if key in self.choices:
            among = ", ".join(self.choices[key].candidates)
            sentence = f"{name} is a choice among {among}: name one of them."
            raise InputError(sentence, "setting", setting="variant")
        if key not in self.variants:
            known = ", ".join((*self.choices, *self.variants))
            raise InputError(
                f"{name!r} is not a variant. Choose one of {known}.",
                "unknown", what="variant", setting="variant", name=name,
            )  # fmt: skip
        return self.variants[key]

    def configure(
        self, name: str, dataset: str = "", changes: Changes = _NONE, tuned: bool = True, **settings: Any
    ) -> tuple[Any, Training]:
        """Return a variant's method and training settings on a data set, with changes.

        ``tuned``: whether settings of a search on that data set may be used; not on other splits than
        FastGCN's, whose test nodes the search may have seen. ``settings``: more changes, by name.
        """
        return self[name].configure(name, dataset, combined(changes, by_part(**settings)), tuned=tuned)

    def candidates(
        self, name: str, dataset: str = "", changes: Changes = _NONE, tuned: bool = True, **settings: Any
    ) -> dict[str, tuple[Any, Training]]:
        """Return the methods that a name stands for: a variant, or the candidates that have all the changes.

        A choice is one candidate where a search found it for the data set, where a map is given, and where
        validation chooses nothing: then the first. In a sum nothing is used that a search found.
        """
        choice, changes = self.choices.get(str(name).lower()), combined(changes, by_part(**settings))
        tuned = tuned and not (choice is not None and choice.sums)
        if choice is None:
            return {str(name).lower(): self.configure(name, dataset, changes, tuned=tuned)}
        if replaces_map(changes):
            return {choice.with_map: self.configure(choice.with_map, dataset, changes, tuned=tuned)}
        if tuned and dataset in choice.found:
            found, own = choice.found[dataset]
            with suppress(InputError):  # a setting that it does not have: choose again
                return {found: self.configure(found, dataset, combined(by_part(**own), changes))}
        possible, refused = {}, []
        for one in choice.candidates:
            # In a sum settings of training are for the members that are trained.
            untrained = choice.sums and self[one].method.closed_form
            own = {part: change for part, change in changes.items() if not (untrained and part == "training")}
            try:
                method, training = self.configure(one, dataset, own, tuned=tuned)
                if "patience" not in flat(changes):
                    training = choice.hurried(training)
                possible[one] = method, training
            except InputError as error:
                refused.append(error)
        trained = {one: pair for one, pair in possible.items() if not pair[0].closed_form}
        if not trained:
            raise refused[0]
        first = next(iter(trained.values()))[1]
        if first.selection == "last" or first.epochs == 0:
            return dict(list(trained.items())[:1])
        return possible


def known_name(graph: Graph) -> str:
    """Return the name of a built-in data set, or "" for any other graph, whatever it is called."""
    entry = identify(graph)
    return "" if entry is None else entry.name
