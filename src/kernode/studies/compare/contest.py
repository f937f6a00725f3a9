"""One method on one graph: candidates trained as stacks, validation picks, test scored once."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.graph import Graph
from kernode.io import Split
from kernode.models.halving import RUNGS
from kernode.studies.compare.candidates import candidates_of
from kernode.studies.compare.choice import (
    CHOOSE_ON,
    EVERY_SPLIT,
    by_first_splits,
    by_halving,
    on_every_split,
)
from kernode.studies.compare.contestants import Contestant
from kernode.studies.compare.trials import Trials, accuracies
from kernode.tasks.classes.evaluation import retrieval_of_run
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.variants import CHOICES
from kernode.training.callbacks import Callback

FIGURES = ("accuracy", "map", "precision_at_10")


def rule_of(contestant: Contestant, candidates: int, choose_on: int) -> dict[str, Any]:
    """How a contestant chooses, as far as that decides its figures."""
    if contestant.variant in CHOICES:
        return {"choice": "successive halving", "rungs": [list(rung) for rung in RUNGS]}
    # Nothing to choose, or a choice on every split: results of before there was another rule are these.
    return {} if candidates == 1 or choose_on == EVERY_SPLIT else {"choose_on": choose_on}


def contest(
    graph: Graph,
    contestant: Contestant,
    splits: list[Split],
    place: Place,
    callbacks: tuple[Callback, ...] = (),
    choose_on: int = CHOOSE_ON,
) -> dict[str, Any]:
    """Figures of a method, one per split, and what was tried.

    Where no candidate is left, ``failed`` says why, and there are no figures.
    """
    candidates = candidates_of(contestant, graph)
    trials = Trials(graph, candidates, splits, place, callbacks, contestant.name)
    rule = rule_of(contestant, len(candidates), choose_on)
    if "choose_on" in rule:
        picked = by_first_splits(trials, choose_on)
    else:
        picked = by_halving(trials) if rule else on_every_split(trials)
    figures: dict[str, Any] = {"tried": _tried(trials)}
    if picked is None:
        return figures | _failed(trials)
    scored = _score(trials, picked)
    figures["chosen"] = picked
    figures["validation"] = [round(trials.validation(s, c), 4) for s, c in enumerate(picked)]
    for at, name in enumerate(FIGURES):  # the last two are empty where K̄ is none, or nodes are too many
        figures[name] = [round(found[at], 4) for found in scored if len(found) > at]
    return figures


def _tried(trials: Trials) -> list[dict[str, Any]]:
    """Every candidate with its validation accuracy on each split that it was trained on, and what befell it.

    None stands for a split on which it was lost.
    """
    tried = []
    for number, one in enumerate(trials.candidates):
        seen = [
            s for s in range(len(trials.splits)) if (s, number) in trials.trained.keys() | trials.lost.keys()
        ]
        values = [round(v, 4) if (v := trials.validation(s, number)) >= 0 else None for s in seen]
        lost = [trials.lost[s, number] for s in seen if (s, number) in trials.lost]
        tried.append(
            {"settings": one.settings, "validation": values, "lost": lost[0].sentence if lost else None}
        )
    return tried


def _failed(trials: Trials) -> dict[str, Any]:
    """What stands in place of figures where every candidate was lost."""
    why = {lost.why for lost in trials.lost.values()}
    refusals = [lost.sentence for lost in trials.lost.values() if lost.why == "refused"]
    sentence = {
        frozenset({"diverged"}): "every candidate diverged",
        frozenset({"memory"}): "no candidate fits into memory",
        frozenset({"refused"}): (refusals or [""])[0].rstrip("."),
    }.get(frozenset(why), "every candidate diverged, was refused or did not fit into memory")
    empty: dict[str, Any] = {name: [] for name in ("chosen", "validation", *FIGURES)}
    first = next(one for one in ("memory", "refused", "diverged") if one in why)
    return empty | {"failed": {"why": first, "sentence": sentence}}


def _score(trials: Trials, picked: list[int]) -> list[list[float]]:
    """Accuracy and, where there is a kernel, retrieval on the test nodes of each split: scored here, once."""
    stacks: dict[int, list[int]] = defaultdict(list)  # splits by the stack that answers for them
    for s, c in enumerate(picked):
        stacks[id(trials.trained[s, c].on)].append(s)
    found: dict[int, list[float]] = {}
    for own in stacks.values():
        chosen = [trials.trained[s, picked[s]] for s in own]
        on: NodeModelOnGraph = chosen[0].on.of_replicas([trial.replica for trial in chosen])
        nodes = [trials.splits[s].test for s in own]
        for i, (s, accuracy) in enumerate(zip(own, accuracies(on, nodes), strict=True)):
            found[s] = [float(accuracy), *(retrieval_of_run(on, i, np.asarray(nodes[i])) or [])]
    return [found[s] for s in range(len(picked))]
