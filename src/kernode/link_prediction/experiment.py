"""One link experiment: a method, VGAE's edge split, some runs, the test edges scored once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.data.edge_split import EdgeSplit, split_edges
from kernode.data.registry import identify
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.kernels import BaseKernel, Normalized
from kernode.link_prediction import tuned_settings
from kernode.link_prediction.method import LINK_METHODS, LinkMethod
from kernode.link_prediction.model import LinkModel
from kernode.metrics.accuracy import mean_and_std
from kernode.recipe import take_fields
from kernode.studies.cost import Sizes, require_memory
from kernode.training.loop import Progress
from kernode.training.settings import Training

TUNED = {"kernel-tuned": tuned_settings.LINKS}


def configure_links(name: str, dataset: str = "", **changes: Any) -> tuple[LinkMethod, Training]:
    """A link method by name, for a data set, with changes; None leaves a setting as it is.

    Changes are fields of the method's map, of :class:`LinkMethod` or of :class:`Training`, and
    ``normalized``, whether the kernel is.

    >>> method, training = configure_links("gae", epochs=50, hidden=64, normalized=True)
    >>> training.epochs, method.map.hidden, method.kernel
    (50, (64,), Normalized(kernel=Linear()))
    """
    if name not in LINK_METHODS:
        raise InputError(f"{name!r} is not a link method. Choose one of {', '.join(LINK_METHODS)}.")
    method, training = LINK_METHODS[name]
    changes = {key: value for key, value in changes.items() if value is not None}
    changes = {**TUNED.get(name, {}).get(dataset, {}), **changes}
    if "hidden" in changes:
        changes["hidden"] = tuple(np.atleast_1d(changes["hidden"]).tolist()) if changes["hidden"] else ()
    if "normalized" in changes:
        changes["kernel"] = _kernel(method.kernel, changes.pop("normalized"))
    feature_map = replace(method.map, **take_fields(changes, method.map))
    method = replace(method, **{"map": feature_map, **take_fields(changes, method)})
    training = replace(training, **take_fields(changes, training))
    if changes:
        raise InputError(f"the link method {name} has no setting {next(iter(changes))!r}: leave it out.")
    return method, training


def _kernel(kernel: BaseKernel, normalized: bool) -> BaseKernel:
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    return Normalized(inner) if normalized else inner


def run_links(
    graph: Graph,
    name: str,
    seeds: list[int],
    place: Place,
    *,
    changes: dict[str, Any] | None = None,
    progress: Callable[[int], Progress] | None = None,
) -> tuple[LinkModel, dict[str, Any]]:
    """Train a link method, one run per seed on one split (the first seed's), and report in percent."""
    entry = identify(graph) if seeds[0] == 0 else None  # a search has seen other splits' test edges
    method, training = configure_links(name, entry.name if entry else "", **(changes or {}))
    model, _, report = run_link_method(graph, method, training, seeds, place, name=name, progress=progress)
    return model, report


def run_link_method(
    graph: Graph,
    method: LinkMethod,
    training: Training,
    seeds: list[int],
    place: Place,
    *,
    name: str = "",
    progress: Callable[[int], Progress] | None = None,
) -> tuple[LinkModel, EdgeSplit, dict[str, Any]]:
    """The same for any link method; ``name`` is what to call it."""
    split = split_edges(graph, seeds[0])
    require_memory(Sizes.of(split.graph), method, training, place)
    model = LinkModel.learn(
        graph,
        split,
        method,
        training,
        seeds,
        place,
        progress=progress(training.epochs) if progress else None,
        split_seed=seeds[0],
        name=name,
    )
    return (
        model,
        split,
        {
            "dataset": graph.name,
            "method": name,
            "replicas": len(seeds),
            "seed": seeds[0],
            "device": place.device.type,
            "epochs": training.epochs,
            "test": _summary(model.evaluate(split.test, split.test_negatives)),
            "validation": _summary(model.evaluate(split.validation, split.validation_negatives)),
            "seconds_training": round(model.seconds, 3),
        },
    )


def _summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Mean and spread of every figure over the runs, and the runs themselves."""
    summary: dict[str, Any] = {}
    for name in runs[0]:
        mean, std = mean_and_std([run[name] for run in runs])
        summary |= {f"{name}_mean": round(mean, 4), f"{name}_std": round(std, 4)}
    return summary | {"runs": [{name: round(value, 4) for name, value in run.items()} for run in runs]}
