"""Fit a task: one method, or whichever of several validates best.

Successive halving (Jamieson and Talwalkar 2016): all candidates train for a few epochs, those with the best
validation go on, and the last one trains to its end. It costs about three trainings at most of the one that
is kept, and is the same every time: what decides is the validation figure after fixed numbers of epochs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from kernode.compute.sharing import sharing
from kernode.compute.tensor_options import cpu_threads
from kernode.errors import InputError, warn
from kernode.graph.share import ranks_of, require_whole
from kernode.io.sizes import GraphSizes
from kernode.losses import Loss
from kernode.models.task import OnGraph, Task
from kernode.progress import log_event
from kernode.training.checkpoint import Checkpoint
from kernode.training.loop import TrainingLoop
from kernode.training.memory import refused
from kernode.training.run import Run
from kernode.training.settings import PER_REPLICA, Training

Candidates = Mapping[str, tuple[Any, Training]]  # a method and its training, by the name of the variant

# What checkpoint files of the trainings within a fit are called.
REPLICAS = "runs"  # all replicas, after some of them have chosen
AGAIN = "all"  # the choice, trained again on all nodes

RUNGS = ((30, 4), (60, 3), (120, 1))  # after so many epochs, so many go on
JUDGES = 3  # replicas that choose for all, where more share validation nodes


def fit_candidates(task: Task[OnGraph], candidates: Candidates, **about: Any) -> OnGraph:
    """Train the one candidate, or keep of several the one that validates best; ``about``: the split's name.

    Where many replicas share validation data the first few choose for all; with data of their own all do,
    since each brings more of it. The model's ``chosen_by_validation`` says what each candidate had, and
    ``epochs_tried`` after how many epochs.
    """
    candidates, run = within_memory(task, candidates), task.run
    check_checkpoints(run, checkpoint_parts(candidates))
    several = len(candidates) > 1
    varies = any(varies_by_replica(*one) for one in candidates.values())
    few = several and task.shares_validation and not varies and run.replicas > JUDGES
    judging = task.of(slice(JUDGES)) if few else task
    with sharing(), cpu_threads(run.threads) as threads:  # candidates share features and hops
        loops: dict[str, TrainingLoop] = {}
        for name, (method, training) in candidates.items():
            if not method.has_kernel or method.closed_form:  # it trains in a way of its own
                require_whole(task.graph, method.title)
                if any(isinstance(one, Checkpoint) for one in run.callbacks):
                    raise InputError(f"a checkpoint has no effect on {method.title}: leave it out.",
                                     "no-effect", setting="checkpoint")  # fmt: skip
                method = task.method_for(method)
                return task.fitted(method, training, method.train(task, training), variant=name, **about)
            loops[name] = begin_candidate(judging, name if several else "", name, method, training)
        log_start(judging, " or ".join(candidates), candidates, threads)
        loops, validated, epochs = halved(loops, rungs(len(loops)))
        chosen, loop = next(iter(loops.items()))
        method, training = candidates[chosen]
        if few:
            loop = begin_candidate(task, REPLICAS, chosen, method, training)
        loop.run()
        trained = loop.trained()
    kept = trained.epochs.tolist()
    said = f"{loop.name} took {trained.seconds:.1f} s, epochs kept: {kept}"
    log_event("trained", said, training=loop.name, seconds=round(trained.seconds, 3), epochs_kept=kept)
    on = task.fitted(task.method_for(method), training, trained, variant=chosen, **about)
    if several:
        validated[chosen], epochs[chosen] = on.model.validated(loop.score), loop.epoch
        _log_choice(chosen, loop.score, validated, epochs)
        on = on.with_metadata(
            chosen_by_validation={name: round(validated[name], 4) for name in candidates},
            epochs_tried={name: epochs[name] for name in candidates},
        )
    return on


def varies_by_replica(method: Any, training: Training) -> bool:
    """Whether a setting of training or of the loss differs between replicas."""
    settings = {name: getattr(training, name) for name in PER_REPLICA}
    if isinstance(loss := getattr(method, "loss", None), Loss):
        settings |= loss.replica_settings()
    return any(isinstance(value, tuple) for value in settings.values())


def begin_candidate(
    task: Task[Any], checkpoint: str, name: str, method: Any, training: Training
) -> TrainingLoop:
    """The training of one candidate before its first epoch, with a name and a checkpoint file of its own."""
    own = task.with_run(task.run.part(checkpoint).called(name))
    return own.begin(own.method_for(method), training)


def halved(
    loops: dict[str, TrainingLoop], rungs: Sequence[tuple[int, int]]
) -> tuple[dict[str, TrainingLoop], dict[str, float], dict[str, int]]:
    """Train to each rung, where those that validate best go on.

    Returns these, and of all of them the validation in percent and the epochs after which it was seen.
    """
    validated: dict[str, float] = {}  # the mean of the replicas
    epochs: dict[str, int] = {}
    for epoch, count in rungs:
        for name, loop in loops.items():
            loop.run(epoch)
            best = best_validation(loop.validated(), epoch)
            validated[name] = best if np.isfinite(best) else 0.0
            epochs[name] = min(epoch, loop.epoch)
        left = survivors([loop.validated() for loop in loops.values()], epoch, count)
        loops = {name: loop for i, (name, loop) in enumerate(loops.items()) if i in left}
    return loops, validated, epochs


def check_checkpoints(run: Run, names: Sequence[str]) -> None:
    """Raise where files of other trainings have the names of a run's checkpoints."""
    for one in run.callbacks:
        if isinstance(one, Checkpoint):
            one.check(names)


def checkpoint_parts(candidates: Iterable[str]) -> list[str]:
    """Names of the checkpoint files that a fit of these candidates may write; "" is the named one."""
    several = list(candidates)
    return ["", *([*several, REPLICAS] if len(several) > 1 else []), AGAIN]


def within_memory(task: Task[Any], candidates: Candidates) -> Candidates:
    """Return the candidates that fit into memory; the first alone without validation data."""
    sizes, options = GraphSizes.of(task.graph), task.run.options
    if not task.validates and len(candidates) > 1:
        first, *others = candidates
        are = "is" if len(others) == 1 else "are"
        warn(
            f"there is no validation data: {first} trains, and {', '.join(others)} {are} not tried. "
            "Name one as variant."
        )
        candidates = {first: candidates[first]}
    refusals = refused(sizes, candidates, options)
    if len(candidates) == 1:
        return candidates
    too_large = {k: v for own in ranks_of(task.graph).gather(refusals) for k, v in own.items()}
    for name, why in too_large.items():
        warn(f"{name} is not tried: {why}")
    return {name: one for name, one in candidates.items() if name not in too_large}


def log_start(task: Task[Any], name: str, candidates: Candidates, threads: int) -> None:
    """Log the start of a training."""
    run, sizes = task.run, task.sizes
    amounts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in sizes.items())
    log_event(
        "training",
        f"training {name} on {task.graph.name}: {amounts}, {run.replicas} replica{'s' * (run.replicas > 1)}, "
        f"{run.options.device.type}, {threads} CPU thread{'s' * (threads > 1)}",
        training=name, graph=task.graph.name, **sizes, seeds=run.seeds,
        epochs=max(training.epochs for _, training in candidates.values()),
        device=run.options.device.type, precision=run.precision, threads=threads,
    )  # fmt: skip


def _log_choice(chosen: str, by: str, validated: Mapping[str, float], epochs: Mapping[str, int]) -> None:
    if by == "map" and not any(validated.values()):
        warn(
            f"no two validation nodes share a class, so that mAP chose nothing: {chosen} is the first "
            "that was tried. Give more validation nodes, or name a variant."
        )
    figures = ", ".join(f"{name} {one:.2f} % after {epochs[name]}" for name, one in validated.items())
    said = f"chose {chosen} by validation {by} ({figures} epochs)"
    rounded = {name: round(one, 4) for name, one in validated.items()}
    log_event("chosen", said, chosen=chosen, by=by, validation=rounded)


def rungs(candidates: int) -> list[tuple[int, int]]:
    """At which epochs so many candidates become how many.

    >>> rungs(6), rungs(2)
    ([(30, 4), (60, 3), (120, 1)], [(120, 1)])
    """
    found = []
    for epoch, left in RUNGS:
        if candidates > left:
            found.append((epoch, left))
            candidates = left
    return found


def best_validation(validated: np.ndarray, epoch: int) -> float:
    """The best validation of the first epochs (E × r), as the mean of the replicas."""
    return float(validated[:epoch].max(axis=0).mean())


def survivors(validated: Sequence[np.ndarray], epoch: int, left: int) -> list[int]:
    """Which candidates go on after an epoch, in their order; the first of equals first."""
    ranked = sorted(range(len(validated)), key=lambda i: -best_validation(validated[i], epoch))
    return sorted(ranked[:left])
