"""Fit a Gaussian process to the numbers of some nodes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from kernode.compute.sharing import sharing
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import cpu_threads
from kernode.errors import InputError, warn
from kernode.graph import Graph
from kernode.graph.share import require_whole
from kernode.progress import log_event
from kernode.tasks.numbers.learned import learn_map
from kernode.tasks.numbers.model import NumberModel, NumbersOnGraph
from kernode.tasks.numbers.process import GaussianProcess, fit_process
from kernode.training.run import Run
from kernode.training.settings import Training

UNTRAINED = Training(epochs=0, selection="last")
_HELD = 0.2  # share of the known numbers that are held out, for intervals
_FEWEST_HELD = 20  # fewer would say little about an interval


def by_replica(parameters: Parameters, replicas: int) -> Parameters:
    """Return parameters with an entry for each replica of the map; the process's are the same for all."""
    return {name: value.expand(replicas, *value.shape[1:]).contiguous() for name, value in parameters.items()}


def fit_numbers(
    process: GaussianProcess,
    graph: Graph,
    nodes: np.ndarray,
    targets: np.ndarray,
    run: Run,
    held: np.ndarray | None = None,
    training: Training = UNTRAINED,
    **about: Any,
) -> NumbersOnGraph:
    """Learn the map, if there is one, fit hyperparameters, then condition on all numbers.

    ``held``: positions in ``nodes`` of those that have no part in the fit and calibrate intervals; None for a
    random fifth. ``training``: of the map.
    """
    started, (seed, *_) = time.perf_counter(), run.seeds
    require_whole(graph, process.title)
    if len(nodes) < 3:
        raise InputError(
            f"a regression needs the numbers of 3 nodes or more. Got {len(nodes)}.", "too-few", setting="y"
        )
    if held is None:
        count = round(_HELD * len(nodes))
        count = count if count >= _FEWEST_HELD else 0
        held = np.sort(np.random.default_rng(seed).permutation(len(nodes))[:count])
    used = np.ones(len(nodes), bool)
    used[held] = False
    center, spread = float(targets[used].mean()), float(targets[used].std())
    if spread <= 1e-12 * np.abs(targets).max():  # the mean of equal numbers is rounded
        warn("all known numbers are the same: so is every prediction.")
        spread = 1.0
    process = process.for_size(graph.n_nodes, len(nodes))
    with sharing(), cpu_threads(run.threads) as threads:
        said = f"fitting {process.title} on {graph.name}: {len(nodes):,} known numbers"
        log_event("training", said, training="", graph=graph.name, train=len(nodes), threads=threads)
        standardized = (targets[used] - center) / spread
        exact = process.is_exact(graph.n_nodes, len(nodes))
        learned: dict[str, Any] = {}
        if process.map is not None:
            own = nodes[used], standardized, run, (center, spread)
            learned_map, trained, unseen = learn_map(process.map, training, graph, *own)
            process = replace(process, map=learned_map)
            learned = {"map_parameters": trained.parameters, "unseen": unseen}
            about |= {"kept_epochs": trained.epochs, "history": trained.history}
        known = fit_process(process, graph, nodes[used], standardized, seed, exact=exact, **learned)
        if not exact:
            sizes = f"{len(nodes):,} known numbers and {graph.n_nodes:,} nodes"
            how = "inducing nodes for features, conjugate gradients for edges"
            log_event("approximate", f"{sizes} are too many for an exact posterior: {how}")
        model = NumberModel(
            method=known.process, training=training, seeds=run.seeds,
            parameters=by_replica(known.parameters, run.replicas),
            precision=64, dataset=graph.name, fingerprint=graph.fingerprint, encoding=graph.encoding,
            train=nodes[None], targets=targets[None], held=nodes[held][None] if len(held) else None,
            inducing=None if known.inducing is None else known.inducing[None],
            center=center, spread=spread, target_name=graph.target_name, threads=threads,
            repairs=tuple(repair.short() for repair in graph.repairs), **about,
        )  # fmt: skip
        on = NumbersOnGraph(model, graph, run.options, known=known)
        on.posterior.mean  # noqa: B018 (so that its time counts as the fit's)
    return on.with_metadata(seconds=time.perf_counter() - started)
