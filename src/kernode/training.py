"""The loop: a stack of replicas, trained together, each kept at its own best validation epoch."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.adam import Adam
from kernode.checkpoint import Checkpoint
from kernode.errors import InputError, KernodeError
from kernode.graph import Graph
from kernode.lesson import Lesson
from kernode.losses import softmax_loss
from kernode.method import Losses, Method
from kernode.metrics import accuracy
from kernode.random import Draws, Dropout
from kernode.settings import Training
from kernode.sparse import Place
from kernode.stack import Parameters
from kernode.triplets import Members, TripletSampler


@dataclass(frozen=True)
class Trained:
    """What training leaves: parameters of the kept epochs, and how it went. r replicas, E epochs run."""

    parameters: Parameters
    epochs: np.ndarray  # r: the epoch that was kept
    history: dict[str, np.ndarray]  # E × r each, hop_weights E × r × (H+1)
    seconds: float = field(compare=False, default=0.0)


Progress = Callable[[int, dict[str, np.ndarray]], None]  # epoch, latest values per replica


@dataclass
class Best:
    """The best epoch of every replica so far: highest validation accuracy, then lowest loss."""

    parameters: Parameters
    accuracy: Tensor
    loss: Tensor
    epoch: Tensor

    @classmethod
    def before_training(cls, parameters: Parameters, replicas: int, place: Place) -> Best:
        """Begin with the first parameters and a score that any epoch beats."""
        return cls(
            {name: p.detach().clone() for name, p in parameters.items()},
            torch.full((replicas,), -1.0, dtype=torch.float64, device=place.device),
            torch.full((replicas,), torch.inf, dtype=place.dtype, device=place.device),
            torch.zeros(replicas, dtype=torch.int64, device=place.device),
        )

    def update(
        self, epoch: int, parameters: Parameters, record: dict[str, Tensor], training: Training
    ) -> None:
        """Keep this epoch's parameters for the replicas that it is the best of."""
        accuracy = record.get("validation_accuracy", self.accuracy)
        loss = record.get("validation_loss", self.loss)
        if training.selection == "last":
            better = torch.ones_like(accuracy, dtype=torch.bool)
        else:
            better = (accuracy > self.accuracy) | ((accuracy == self.accuracy) & (loss < self.loss))
            if training.patience is not None:  # a replica that had stopped alone must not go on in a stack
                better &= epoch - self.epoch <= training.patience
        self.accuracy.copy_(torch.where(better, accuracy, self.accuracy))
        self.loss.copy_(torch.where(better, loss, self.loss))
        self.epoch.masked_fill_(better, epoch)
        for name, best in self.parameters.items():
            chosen = better.view(-1, *(1,) * (best.dim() - 1))
            best.copy_(torch.where(chosen, parameters[name].detach(), best))

    def stopped(self, epoch: int, patience: int | None) -> bool:
        """Whether every replica has gone ``patience`` epochs without a better one."""
        return patience is not None and bool((epoch - self.epoch >= patience).all())


class Stack:
    """Replicas that train as one, and everything that stays fixed while they do."""

    def __init__(
        self,
        prepared: Any,
        method: Method,
        training: Training,
        lesson: Lesson,
        seeds: list[int],
        place: Place,
        replicas: slice = slice(None),
    ) -> None:
        own = {name: values[replicas] for name, values in training.by_replica(len(seeds), place).items()}
        lesson, seeds = lesson.of(replicas), seeds[replicas]
        device = place.device
        self.prepared, self.method, self.training = prepared, method, training
        self.dropout, self.margin, self.kernel_weight = own["dropout"], own["margin"], own["kernel_weight"]
        self.seeds = torch.tensor(seeds, dtype=torch.int64, device=device)
        self.members = Members.of(lesson.train, lesson.train_labels, lesson.classes, device)
        self.labels = torch.tensor(np.sort(lesson.train_labels, axis=1), device=device)
        self.validation = torch.tensor(lesson.validation, device=device)
        self.validation_labels = torch.tensor(lesson.validation_labels, device=device)
        self.class_weights = None
        if training.class_weights == "balanced":
            sizes = self.members.sizes.clamp_min(1).to(place.dtype)
            self.class_weights = sizes.sum(dim=1, keepdim=True) / (lesson.classes * sizes)
        self.sampler = None
        if method.objective != "softmax":
            self.sampler = TripletSampler(self.members, training.triplets)
        self.parameters = method.initial(prepared, lesson.classes, Draws(self.seeds), place)
        for parameter in self.parameters.values():
            parameter.requires_grad_()
        self.adam = Adam(self.parameters, own["learning_rate"], own["weight_decay"])
        self.best = Best.before_training(self.parameters, len(seeds), place)

    def advance(self, epoch: int) -> dict[str, Tensor]:
        """One epoch: learn, evaluate, keep what is better. Returns one value per replica and name."""
        record = self.step(epoch) | self.evaluate()
        self.best.update(epoch, self.parameters, record, self.training)
        return record

    def step(self, epoch: int) -> dict[str, Tensor]:
        """Fresh triplets and dropout, all training nodes, one Adam step."""
        draws = Draws(self.seeds, epoch)
        g = self.method.embed(self.parameters, self.prepared, Dropout(draws, self.dropout))
        triplets = self.sampler.draw(draws) if self.sampler else None
        losses = self.method.losses(
            self.parameters, g, triplets, self.members, self.labels, self.margin, self.class_weights
        )
        total = self._total(losses)
        gradients = torch.autograd.grad(total.sum(), list(self.parameters.values()), allow_unused=True)
        self.adam.step({n: g for n, g in zip(self.parameters, gradients, strict=True) if g is not None})
        named = {"loss": total, "kernel_loss": losses.kernel, "softmax_loss": losses.softmax}
        return {name: value.detach() for name, value in named.items() if value is not None}

    def _total(self, losses: Losses) -> Tensor:
        """L_K, L_Y, or L_Y + λ L_K."""
        if losses.softmax is None:
            assert losses.kernel is not None
            return losses.kernel
        return (
            losses.softmax if losses.kernel is None else losses.softmax + self.kernel_weight * losses.kernel
        )

    @torch.no_grad()
    def evaluate(self) -> dict[str, Tensor]:
        """Accuracy and loss on the validation nodes, without dropout; ω_h where it is learned."""
        g = self.method.embed(self.parameters, self.prepared)
        values = {}
        if self.validation.shape[1]:
            scores = self.method.scores(self.parameters, g, self.members, self.validation)
            values["validation_accuracy"] = accuracy(scores, self.validation_labels)
            values["validation_loss"] = softmax_loss(scores, self.validation_labels)
        if "map.hop_weights" in self.parameters:
            values["hop_weights"] = self.parameters["map.hop_weights"].detach().clone()
        return values

    def state(self, name: str) -> dict[str, Tensor]:
        """All tensors that change from epoch to epoch, by name."""
        kinds = {
            "parameters": self.parameters,
            "adam_first": self.adam.first,
            "adam_second": self.adam.second,
            "best": self.best.parameters | vars(self.best) | {"parameters": None},
        }
        return {
            f"{name}.{kind}.{key}": value
            for kind, values in kinds.items()
            for key, value in values.items()
            if value is not None
        }


# Replicas train as one stack while their widest layer holds at most so many numbers in all; beyond that
# a wider stack no longer shares overhead but only leaves the cache. Measured with K1 on two cores:
# Pubmed 480 ms an epoch for one replica and 7,200 ms for a stack of ten.
STACK_NUMBERS = {"cpu": 2**22, "cuda": 2**30}


def _stacks(
    graph: Graph, method: Method, training: Training, lesson: Lesson, seeds: list[int], place: Place
) -> list[Stack]:
    prepared = method.map.prepare(graph, place)
    one = method.initial(prepared, lesson.classes, Draws(torch.tensor(seeds[:1], device=place.device)), place)
    widest = max((p.shape[-1] for p in one.values()), default=1)
    together = max(1, STACK_NUMBERS[place.device.type] // (graph.n_nodes * widest))
    return [
        Stack(prepared, method, training, lesson, seeds, place, slice(start, start + together))
        for start in range(0, len(seeds), together)
    ]


def _facts(
    graph: Graph, method: Method, training: Training, lesson: Lesson, seeds: list[int], place: Place
) -> dict[str, Any]:
    """What two runs must share for one to continue the other; epochs may grow."""
    nodes = (lesson.train, lesson.train_labels, lesson.validation, lesson.validation_labels)
    facts = {
        "graph": graph.fingerprint,
        "method": method.to_json(),
        "training": training.to_json() | {"epochs": None},
        "nodes": hashlib.sha256(b"".join(array.tobytes() for array in nodes)).hexdigest(),
        "seeds": seeds,
        "precision": str(place.dtype),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _require_convergence(stacks: list[Stack], history: list[dict[str, Tensor]]) -> None:
    broken = [epoch for epoch, record in enumerate(history, 1) if not record["loss"].isfinite().all()]
    if not broken:
        return
    if not all(p.isfinite().all() for stack in stacks for p in stack.best.parameters.values()):
        raise KernodeError(f"training diverged at epoch {broken[0]}. Lower the learning rate.")
    warnings.warn(f"the loss was not finite from epoch {broken[0]}. Lower the learning rate.", stacklevel=3)


def train(
    graph: Graph,
    method: Method,
    training: Training,
    lesson: Lesson,
    seeds: list[int],
    place: Place,
    *,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train one replica per seed, all at once; each gives what the run made alone with its seed gives."""
    started = time.perf_counter()
    if training.selection == "best" and training.epochs and not lesson.validation.shape[1]:
        raise InputError("selection='best' needs validation nodes. Give some, or pass selection='last'.")
    for number in lesson.lonely_classes():
        warnings.warn(f"class {number} has a single training node: little to learn from.", stacklevel=2)
    stacks = _stacks(graph, method, training, lesson, seeds, place)
    history: list[dict[str, Tensor]] = []
    if checkpoint is not None:
        state = {name: t for i, stack in enumerate(stacks) for name, t in stack.state(f"stack_{i}").items()}
        facts = _facts(graph, method, training, lesson, seeds, place)
        history = checkpoint.restore(state, facts)
        if len(history) > training.epochs:
            raise InputError(
                f"{checkpoint.path} has {len(history)} epochs, more than the {training.epochs} asked for. "
                "Give more epochs, or another checkpoint file."
            )
        for stack in stacks:
            stack.adam.steps = len(history)
    epochs = training.epochs if stacks[0].parameters else 0  # a map without parameters has nothing to learn
    for epoch in range(len(history) + 1, epochs + 1):
        if epoch > 1 and all(stack.best.stopped(epoch - 1, training.patience) for stack in stacks):
            break
        records = [stack.advance(epoch) for stack in stacks]
        record = {name: torch.cat([one[name] for one in records]) for name in records[0]}
        history.append(record)
        if checkpoint is not None and (epoch % checkpoint.every == 0 or epoch == epochs):
            checkpoint.save(state, history, facts)
        if progress is not None:
            progress(epoch, {name: value.cpu().numpy() for name, value in record.items()})
    _require_convergence(stacks, history)
    names, recorded = stacks[0].best.parameters, history[0] if history else {}
    return Trained(
        parameters={
            name: torch.cat([s.best.parameters[name] for s in stacks]).contiguous() for name in names
        },
        epochs=torch.cat([stack.best.epoch for stack in stacks]).cpu().numpy(),
        history={name: torch.stack([r[name] for r in history]).cpu().numpy() for name in recorded},
        seconds=time.perf_counter() - started,
    )
