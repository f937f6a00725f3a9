"""From the name of a variant and changes to methods with their training settings."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from scipy import sparse

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.models.changes import UNCHANGED, Changes
from kernode.models.variants import find_variant, known_name
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.variants import CHOICES, VARIANTS, WORDS
from kernode.training.settings import Training


def is_sum(name: Any) -> bool:
    """Whether a name stands for a sum of kernels."""
    choice = CHOICES.get(str(name).lower())
    return choice is not None and choice.sums


def settings_key(graph: Graph) -> str:
    """Return the key of a variant's settings for a graph: its name, or whether its features are words."""
    return known_name(graph) or (WORDS if sparse.issparse(graph.features) else "")


def configure(
    name: str, dataset: str = "", changes: Changes = UNCHANGED, *, tuned: bool = True, **settings: Any
) -> tuple[NodeMethod, Training]:
    """A variant's method and training settings on a data set, with changes.

    ``tuned``: whether settings that were searched for on that data set may be used. Not where other nodes
    are tested than FastGCN's: the search may have seen them. ``settings``: more changes, by name; one that
    has no effect is refused.

    >>> method, training = configure("k3", "cora", hops=3, layers=3, epochs=50, margin=0.5)
    >>> method.map.hops, method.map.hidden, method.loss.kernel.margin, training.epochs
    (3, (16, 16), 0.5, 50)
    """
    if str(name).lower() in CHOICES:
        among = ", ".join(CHOICES[str(name).lower()].candidates)
        raise InputError(f"{name} is a choice among {among}: name one of them.", "setting", setting="variant")
    variant = find_variant(VARIANTS, name, CHOICES)
    return variant.configure(name, dataset, changes | Changes.of(**settings), tuned=tuned)


def candidates(
    name: str, dataset: str = "", changes: Changes = UNCHANGED, *, tuned: bool = True, **settings: Any
) -> dict[str, tuple[NodeMethod, Training]]:
    """The methods that a name stands for: a variant, or a choice's candidates that have all the changes.

    Where a search has found settings for the data set a choice is what it found, with a map that is
    given one candidate with that map, and where nothing is to be chosen by validation its first candidate.

    >>> len(candidates("auto")), list(candidates("auto", "cora")), list(candidates("K1"))
    (6, ['diffusion-decayed'], ['k1'])
    >>> list(candidates("similarity"))
    ['similarity-diffusion', 'similarity-hops', 'similarity-standardized']
    """
    choice, changes = CHOICES.get(str(name).lower()), changes | Changes.of(**settings)
    if choice is None:
        return {str(name).lower(): configure(name, dataset, changes, tuned=tuned)}
    if "map" in changes.parts:
        return {choice.with_map: configure(choice.with_map, dataset, changes, tuned=tuned)}
    if tuned and dataset in choice.found:
        found, own = choice.found[dataset]
        with suppress(InputError):  # it has no such setting: then there is a choice again
            return {found: configure(found, dataset, Changes.of(**own) | changes)}
    possible, refused = {}, []
    for one in choice.candidates:
        try:
            possible[one] = configure(one, dataset, changes, tuned=tuned)
        except InputError as error:
            refused.append(error)
    if not possible:
        raise refused[0]
    trained = {one: pair for one, pair in possible.items() if not pair[0].closed_form} or possible
    first = next(iter(trained.values()))[1]
    if first.selection == "last" or first.epochs == 0:
        return dict(list(trained.items())[:1])
    return possible
