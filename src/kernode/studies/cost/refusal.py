"""What cannot fit is refused before anything is computed, with the figure and a way out."""

from __future__ import annotations

import math
from typing import Any, Protocol

from kernode.compute.memory import readable
from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.maps import FeatureMap
from kernode.node_classification.kled import KLED
from kernode.studies.cost.inputs import Numbers, held_entries, with_features
from kernode.studies.cost.kled import has_spectrum, spectrum_bytes
from kernode.studies.cost.layers import Stack
from kernode.studies.cost.parts import STATES, feature_bytes, graph_bytes
from kernode.studies.cost.plans import plan
from kernode.studies.cost.room import free_at
from kernode.studies.cost.sizes import Sizes
from kernode.training.settings import Training

_BUILT_FROM = 24.0  # bytes of an operator's entry that no way of building it can do without: it, and a copy


class HasMap(Protocol):
    """A method for nodes or for links."""

    @property
    def map(self) -> FeatureMap:
        """g."""


def require_memory(sizes: Sizes, method: HasMap | KLED, training: Training, place: Place) -> None:
    """Raise if not even a single replica fits; where nobody knows what is free, never."""
    free = free_at(place)
    if free is None:
        return
    need = unavoidable(sizes, method, training, Numbers.at(place))
    if need > free:
        raise InputError(refusal(need, free, method, place))


def unavoidable(sizes: Sizes, method: HasMap | KLED, training: Training, numbers: Numbers) -> float:
    """Bytes that are needed yet, however few replicas train at a time: a lower bound, not an estimate."""
    loading = 0.0 if sizes.graph is not None or numbers.on_gpu else graph_bytes(sizes) + feature_bytes(sizes)
    if isinstance(method, KLED):
        return loading + (spectrum_bytes(sizes) if has_spectrum(method, sizes) else 0.0)
    planned = plan(method.map.for_classes(max(1, sizes.classes)), sizes, numbers)
    inputs, built, trained = planned.inputs, 0.0, planned.inputs.operator
    if inputs.cost is not None and not numbers.on_gpu:
        built = _BUILT_FROM * held_entries(inputs.cost, inputs.kind)
    if training.epochs:
        trained += STATES * planned.parameters * numbers.size
        trained += 0.0 if planned.rough else planned.layers(Stack(sizes.nodes, 1, numbers)).kept
    # How much of a smoothed X is filled is a guess; less than X itself it is not.
    normalize_rows = getattr(method.map, "normalize_rows", True)
    features = min(inputs.features, with_features(sizes, numbers, normalize_rows=normalize_rows).features)
    return loading + features + max(built, trained)


def refusal(need: float, free: float, method: HasMap | KLED, place: Place, replicas: int = 1) -> str:
    """The sentence: what is needed, what is free, and what would help."""
    where = "memory" if place.device.type == "cpu" else "the GPU's memory"
    ways = [*_ways_out(method, place, replicas), f"a machine with {math.ceil(1.2 * need / 1e9):,} GB"]
    listed = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])} or {ways[-1]}"
    return f"this run takes about {readable(need)} of {where} and {readable(free)} are free. Use {listed}."


def _ways_out(method: HasMap | KLED, place: Place, replicas: int) -> list[str]:
    settings: Any = getattr(method, "map", None)
    hops, powers = getattr(settings, "hops", 1), getattr(settings, "powers", "plain")
    ways = {
        "fewer hops": hops > 1 and powers != "plain",
        "--powers plain": powers != "plain",
        "fewer replicas": replicas > 1,
        "a narrower --hidden": bool(getattr(settings, "hidden", ())),
        "--precision 32": place.dtype.itemsize > 4,
    }
    return [way for way, helps in ways.items() if helps]
