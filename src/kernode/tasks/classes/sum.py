"""The default: a sum of kernels K = Σ_m w_m K_m, whose members and weights validation chooses."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from kernode.compute.sharing import sharing
from kernode.compute.stack import Parameters, take
from kernode.compute.tensor_options import cpu_threads
from kernode.config import Config
from kernode.errors import warn
from kernode.graph import Graph
from kernode.graph.share import GraphShare
from kernode.io.sizes import GraphSizes
from kernode.kernels.weighted_sum import WeightedSum
from kernode.maps.concat import Members
from kernode.maps.hop_mlp import HopSum
from kernode.maps.layers.features import require_room
from kernode.metrics.accuracy import accuracy
from kernode.metrics.scoring import Scorer, figure_name
from kernode.models.fit import (
    AGAIN,
    Candidates,
    begin_candidate,
    check_checkpoints,
    fit_candidates,
    halved,
    log_start,
    within_memory,
)
from kernode.models.greedy import greedy_counts
from kernode.models.method import KernelMethod
from kernode.progress import log_event
from kernode.tasks.classes.calibration import Tempering, calibration_of
from kernode.tasks.classes.method import NodeMethod, head_probabilities
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.variants import COSTLY
from kernode.training.loop import DivergedError, TrainingLoop
from kernode.training.settings import Training

if TYPE_CHECKING:
    from kernode.tasks.classes.task import LabelledNodes, NodeTask

RUNGS = ((40, 7), (120, 5))  # after so many epochs, so many members go on
_LARGE = 5 * 10**6  # entries of A and X, beyond which two cores train sums over hops alone


@dataclass(frozen=True)
class Member(Config):
    """A trained method in a sum: its weight, how its probabilities are calibrated, and how it was trained."""

    name: str
    method: Any  # with a map, a kernel and a head
    training: Training
    weight: float
    width: int  # of its vectors
    temperature: float = 1.0
    floor: float = 0.0
    epochs: int = 0  # that its replicas kept on average
    validation: float = 0.0  # the figure that chose, in percent, alone

    @property
    def tempering(self) -> Tempering:
        """Calibration of its probabilities."""
        return Tempering(self.temperature, self.floor)


@dataclass(frozen=True)
class KernelSum(NodeMethod):
    """``K = Σ_m w_m K̄_m`` and ``p(y | v) = Σ_m w_m p_m(y | v)``, with the same weights, which sum to 1.

    p_m are the members' calibrated probabilities. g(v) holds the members' vectors one after the other.
    """

    members: tuple[Member, ...]

    has_kernel: ClassVar[bool] = True
    classifier: ClassVar[str] = "softmax"

    @property
    def title(self) -> str:
        """Name in messages."""
        return f"a sum of {len(self.members)} kernels"

    @cached_property
    def map(self) -> Members:
        """The members' maps."""
        return Members(tuple(one.method.map for one in self.members))

    @cached_property
    def kernel(self) -> WeightedSum:
        """The members' kernels and weights."""
        own = ((one.method.kernel, one.width, one.weight) for one in self.members)
        return WeightedSum(*zip(*own, strict=True))

    represent = KernelMethod.represent  # r × n × Σ d_m

    def probabilities(self, on: NodeModelOnGraph, nodes: np.ndarray) -> np.ndarray:
        """Σ_m w_m p_m of nodes (q × m): r × m × c."""
        g, at = on.gather_rows(nodes)
        rows = torch.from_numpy(at).to(on.options.device)
        blocks = take(g, rows).split([one.width for one in self.members], dim=-1)
        found: Any = 0.0
        for m, (one, block) in enumerate(zip(self.members, blocks, strict=True)):
            own = head_probabilities(one.method, member_parameters(on.parameters, m), block)
            found = found + one.weight * one.tempering(own)
        return np.asarray(found)

    def on_other_graphs(self) -> list[int]:
        """Numbers of the members that can be used on another graph."""
        return [at for at, one in enumerate(self.members) if not one.method.map.of_one_graph]

    def refusal(self, model: NodeModel, graph: Graph) -> str | None:
        """Why no member can be used on another graph; None if one can."""
        return None if self.on_other_graphs() else super().refusal(model, graph)


def member_parameters(parameters: Parameters, at: int) -> Parameters:
    """Parameters of a member of a sum, as the member has them: ``map.2.weight_0`` is its ``map.weight_0``."""
    found = {}
    for name, value in parameters.items():
        kind, number, *rest = name.split(".", 2)
        if number == str(at):
            found[".".join([kind, *rest])] = value
    return found


def portable(model: NodeModel) -> NodeModel:
    """Return the sum of the members that can be used on another graph, with weights that sum to 1."""
    kept = model.method.on_other_graphs()
    members = [model.method.members[at] for at in kept]
    if len(kept) == len(model.method.members) or not kept:
        return model
    left_out = ", ".join(one.name for at, one in enumerate(model.method.members) if at not in kept)
    warn(f"{left_out} of the sum learned about one graph: the other members answer about another graph.")
    total = sum(one.weight for one in members)
    parameters = _renumbered([member_parameters(model.parameters, at) for at in kept])
    sums = tuple(replace(one, weight=one.weight / total) for one in members)
    return replace(model, method=KernelSum(sums), parameters=parameters)


def _renumbered(members: Sequence[Parameters]) -> Parameters:
    """Parameters of members as those of their sum."""
    found = {}
    for at, own in enumerate(members):
        for name, value in own.items():
            kind, _, rest = name.partition(".")
            found[f"{kind}.{at}{'.' * bool(rest)}{rest}"] = value
    return found


def fit_sum(
    task: NodeTask, candidates: Candidates, *, thorough: bool = False, **about: Any
) -> NodeModelOnGraph:
    """Train candidates together, drop the worst at each rung, and sum what is left.

    Weights are found by greedy selection on the validation nodes. ``thorough``: every member is trained, and
    to its end, as on a GPU.
    """
    thorough = thorough or task.run.options.device.type == "cuda"
    candidates, run = within_memory(task, _in_reach(task, candidates, thorough=thorough)), task.run
    check_checkpoints(run, ["", *candidates, *(f"{AGAIN}-{name}" for name in candidates)])
    trainings = (training for method, training in candidates.values() if not method.closed_form)
    scorer = next((task.scorer(training.select_by) for training in trainings), None)
    loops: dict[str, TrainingLoop] = {}
    fitted: dict[str, NodeModelOnGraph] = {}
    answered: dict[str, float] = {}  # validation figure of what has a closed form
    late: list[str] = []
    started, first = time.perf_counter(), 0.0
    with sharing(), cpu_threads(run.threads) as threads:
        log_start(task, " and ".join(candidates), candidates, threads)
        require_room(task.graph.features, run.options)  # before it is squared
        for name, (method, training) in sorted(candidates.items(), key=lambda one: not one[1][0].closed_form):
            if run.is_over and fitted:
                late.append(name)
            elif method.closed_form:
                quiet = task.with_run(replace(run, callbacks=()))  # there is nothing to watch
                fitted[name] = fit_candidates(quiet, {name: (method, training)})
                labels = task.nodes.validation_labels
                found = fitted[name].probabilities(task.nodes.validation)
                own = accuracy(found.argmax(axis=-1), labels) if scorer is None else scorer(found, labels)
                answered[name] = float(own.mean())
                first = first or time.perf_counter() - started
            else:
                loops[name] = begin_candidate(task, name, name, method, training)
        if late:
            warn(f"the time limit ended before {', '.join(late)} began: the sum is without them.")
        if answered and loops:
            name, value = next(iter(answered.items()))
            figure = "accuracy" if scorer is None else figure_name(scorer.name)
            said = f"{name}: {value:.1f} % {figure} on validation nodes after {first:.1f} s"
            log_event("first answer", said, member=name, validation=round(value, 4))
            for one in run.callbacks:
                one.on_message(f"{said}; training {len(loops)} more members")
        loops, tried, epochs = halved(loops, () if thorough else RUNGS)
        tried, epochs = tried | answered, epochs | dict.fromkeys(answered, 0)
        for name, loop in loops.items():
            loop.run()
            try:
                trained = loop.trained()
            except DivergedError as error:
                if len(loops) == 1:
                    raise
                log_event("diverged", f"{name} is left out: {error}")
                continue
            method, training = candidates[name]
            fitted[name] = task.fitted(task.method_for(method), training, trained, variant=name)
            tried[name], epochs[name] = fitted[name].model.validated(loop.score), loop.epoch
        about |= {"epochs_tried": {name: epochs[name] for name in candidates if name in epochs}}
        validated = {name: tried[name] for name in candidates if name in tried}
        return summed(task, fitted, validated, scorer, **about)


def _in_reach(task: NodeTask, candidates: Candidates, *, thorough: bool) -> Candidates:
    """Return the members that the graph's size, the machine and the ranks allow."""
    graph: Any = task.graph
    found = {
        name: (method, training)
        for name, (method, training) in candidates.items()
        if not (isinstance(graph, GraphShare) and not method.map.takes_shares)
    }
    if not thorough:
        found = affordable(found, GraphSizes.of(graph))
    if len(found) < len(candidates) and found:
        left = ", ".join(name for name in candidates if name not in found)
        why = (
            "they need the whole graph" if isinstance(graph, GraphShare) else "they would take long on a CPU"
        )
        log_event("members", f"{left} are not tried: {why}")
    return found or candidates


def affordable(candidates: Candidates, sizes: GraphSizes) -> dict[str, tuple[Any, Training]]:
    """Return the members that two cores can train on a graph of such sizes in minutes."""
    x = sizes.filled if sizes.filled is not None else sizes.nodes * sizes.features
    large = sizes.entries + x > _LARGE
    return {
        name: (method, training)
        for name, (method, training) in candidates.items()
        if name not in COSTLY
        and not (large and not method.closed_form and not isinstance(method.map.unwrapped, HopSum))
    }


def fit_members_again(task: NodeTask, chosen: NodeModel) -> NodeModelOnGraph:
    """Train the members of a sum anew on more nodes; weights stay."""
    members = chosen.method.members
    with sharing():
        fitted = [
            fit_without_selection(task, one.name, one.method, one.training, one.epochs, f"{AGAIN}-{one.name}")
            for one in members
        ]
    return assembled(task, members, fitted, variant=chosen.variant)


def fit_without_selection(
    task: NodeTask, name: str, method: Any, training: Training, epochs: float, checkpoint: str = AGAIN
) -> NodeModelOnGraph:
    """Train what was chosen on nodes of which none validates, for as many epochs as replicas kept."""
    run = task.run.part(checkpoint).called(f"{name} on all labels".strip())
    if method.closed_form:
        run = replace(run, callbacks=())  # there is nothing to watch
    count = max(1, round(epochs)) if training.epochs else 0
    training = replace(training.without_selection(), epochs=count)
    return fit_candidates(task.with_run(run), {name: (method, training)})


def summed(
    task: NodeTask,
    fitted: Mapping[str, NodeModelOnGraph],
    tried: Mapping[str, float],
    scorer: Scorer | None = None,
    **about: Any,
) -> NodeModelOnGraph:
    """Sum trained members, with weights by greedy selection on the validation nodes."""
    found = np.stack([_calibrated(on, task.nodes) for on in fitted.values()])
    names = list(fitted)
    portable = [not fitted[name].model.method.map.of_one_graph for name in names]
    counts = greedy_counts(found, task.nodes.validation_labels, np.array(portable), scorer)
    kept = [at for at in np.argsort(-counts, kind="stable").tolist() if counts[at]]
    shares = counts / counts.sum()
    members = tuple(_member(names[at], fitted[names[at]], shares[at], tried[names[at]]) for at in kept)
    said = ", ".join(f"{one.weight:.2f} {one.name} ({one.validation:.2f} %)" for one in members)
    weights = {one.name: one.weight for one in members}
    by, figure = ("loss", "accuracy") if scorer is None else (figure_name(scorer.name),) * 2
    log_event("weights", f"chose weights by validation {by}: {said} by validation {figure}", weights=weights)
    chosen = [fitted[one.name] for one in members]
    validated = {name: round(value, 4) for name, value in tried.items()}
    return assembled(task, members, chosen, chosen_by_validation=validated, **about)


def assembled(
    task: NodeTask, members: tuple[Member, ...], chosen: Sequence[NodeModelOnGraph], **about: Any
) -> NodeModelOnGraph:
    """Return members as one model on the task's graph, calibrated as a whole."""
    trained = next((on for on in chosen if not on.model.method.closed_form), chosen[0])
    # On more nodes than the weights were chosen on, an untrained kernel has more landmarks.
    widths = [int(on.g.shape[-1]) for on in chosen]
    members = tuple(replace(one, width=width) for one, width in zip(members, widths, strict=True))
    model = replace(
        trained.model,
        method=KernelSum(members),
        parameters=_renumbered([on.model.parameters for on in chosen]),
        seconds=sum(on.model.seconds for on in chosen),
        calibration=None,
        **about,
    )
    g = torch.cat([on.g for on in chosen], dim=-1)
    on = NodeModelOnGraph(model, task.graph, task.run.options, known_g=g)
    calibration = calibration_of(on, task.nodes)
    return on if calibration is None else on.with_metadata(calibration=calibration)


def _member(name: str, on: NodeModelOnGraph, weight: float, validation: float = 0.0) -> Member:
    model, calibration = on.model, on.model.calibration
    tempering = Tempering() if calibration is None else calibration.together
    epochs = round(float(np.mean(model.kept_epochs)))
    return Member(
        name,
        model.method,
        model.training,
        float(weight),
        int(on.g.shape[-1]),
        tempering.temperature,
        tempering.floor,
        epochs,
        round(validation, 4),
    )


def _calibrated(on: NodeModelOnGraph, nodes: LabelledNodes) -> np.ndarray:
    """Calibrated probabilities of the validation nodes: r × v × c."""
    found = on.probabilities(nodes.validation)
    calibration = on.model.calibration
    return found if calibration is None else calibration.together(found)
