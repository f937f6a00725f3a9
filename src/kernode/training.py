"""The loop: a stack of replicas, trained together, each kept at its own best validation epoch."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from kernode.adam import Adam
from kernode.checkpoint import Checkpoint
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.losses import softmax_loss
from kernode.method import Losses, Method
from kernode.metrics import accuracy
from kernode.random import Draws, Dropout
from kernode.recipe import Recipe
from kernode.sparse import Place
from kernode.stack import Parameters
from kernode.triplets import Members, TripletSampler

PerReplica = float | tuple[float, ...]  # one number for all replicas, or one for each


@dataclass(frozen=True)
class Training(Recipe):
    """How a method is trained. Values that the paper does not state are marked."""

    epochs: int = 200
    learning_rate: PerReplica = 0.01
    weight_decay: PerReplica = 5e-4  # not stated
    dropout: PerReplica = 0.5  # not stated
    kernel_weight: PerReplica = 0.1  # λ, the weight of L_K in the joint loss; not stated
    margin: PerReplica = 0.1  # α, Eq. 10
    triplets: int = 10_000  # drawn afresh each epoch, the same number for each class (the latter not stated)
    selection: Literal["best", "last"] = (
        "best"  # the paper keeps the best validation epoch, its code the last
    )
    patience: int | None = None  # stop a replica after so many epochs without a better one
    class_weights: Literal["balanced"] | None = None

    def __post_init__(self) -> None:
        for name, lowest in (("epochs", 0), ("triplets", 1)):
            if getattr(self, name) < lowest:
                raise InputError(f"{name} must be an integer ≥ {lowest}. Got {getattr(self, name)}.")
        for name in ("learning_rate", "weight_decay", "dropout", "kernel_weight", "margin"):
            values = np.atleast_1d(getattr(self, name))
            if not (np.isfinite(values) & (values >= 0)).all() or (name == "dropout" and (values >= 1).any()):
                bound = "in [0, 1)" if name == "dropout" else "finite and ≥ 0"
                raise InputError(f"{name} must be {bound}. Got {getattr(self, name)}.")
        if self.selection not in ("best", "last"):
            raise InputError(f"selection must be 'best' or 'last'. Got {self.selection!r}.")
        if self.patience is not None and self.patience < 1:
            raise InputError(f"patience must be an integer ≥ 1. Got {self.patience}.")
        if self.class_weights not in (None, "balanced"):
            raise InputError(f"class_weights must be 'balanced' or None. Got {self.class_weights!r}.")

    def per_replica(self, name: str, replicas: int, place: Place) -> Tensor:
        """Return a setting as one number per replica."""
        values = torch.as_tensor(getattr(self, name), dtype=torch.float64).reshape(-1)
        if len(values) not in (1, replicas):
            raise InputError(f"{name} must be one number or one per replica ({replicas}). Got {len(values)}.")
        return values.expand(replicas).to(place.dtype).to(place.device)


@dataclass(frozen=True)
class Lesson:
    """Which nodes teach and which choose: arrays q × m, q = 1 where all replicas share them, else r."""

    train: np.ndarray
    train_labels: np.ndarray
    validation: np.ndarray
    validation_labels: np.ndarray
    classes: int

    def __post_init__(self) -> None:
        for nodes, labels in (
            (self.train, self.train_labels),
            (self.validation, self.validation_labels),
        ):
            if nodes.shape != labels.shape or nodes.ndim != 2:
                raise InputError(f"nodes and labels must have one shape. Got {nodes.shape}, {labels.shape}.")
            if (labels < 0).any():
                node = nodes[labels < 0][0]
                raise InputError(f"node {node} has no label: keep it out of training and validation nodes.")
        if self.train.shape[1] == 0:
            raise InputError("there are no training nodes. Give at least one labelled node per class.")

    def lonely_classes(self) -> list[int]:
        """Classes with a single training node in some replica."""
        counts = np.stack([np.bincount(row, minlength=self.classes) for row in self.train_labels])
        return np.flatnonzero((counts == 1).any(axis=0)).tolist()


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
        self, epoch: int, parameters: Parameters, accuracy: Tensor, loss: Tensor, training: Training
    ) -> None:
        """Keep this epoch's parameters for the replicas that it is the best of."""
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


class Run:
    """Everything that stays fixed while a stack trains."""

    def __init__(
        self, graph: Graph, method: Method, training: Training, lesson: Lesson, seeds: list[int], place: Place
    ) -> None:
        self.method, self.training, self.place = method, training, place
        self.seeds = torch.tensor(seeds, dtype=torch.int64, device=place.device)
        self.prepared = method.map.prepare(graph, place)
        self.members = Members.of(lesson.train, lesson.train_labels, lesson.classes, place.device)
        self.labels = torch.tensor(np.sort(lesson.train_labels, axis=1), device=place.device)
        self.validation = torch.tensor(lesson.validation, device=place.device)
        self.validation_labels = torch.tensor(lesson.validation_labels, device=place.device)
        self.sampler = (
            TripletSampler(self.members, len(seeds), training.triplets)
            if method.objective != "softmax"
            else None
        )
        per_replica = {
            f.name: training.per_replica(f.name, len(seeds), place)
            for f in fields(training)
            if f.type == "PerReplica"
        }
        self.dropout, self.margin = per_replica["dropout"], per_replica["margin"]
        self.kernel_weight = per_replica["kernel_weight"]
        self.parameters = method.initial(self.prepared, lesson.classes, Draws(self.seeds), place)
        for parameter in self.parameters.values():
            parameter.requires_grad_()
        self.adam = Adam(self.parameters, per_replica["learning_rate"], per_replica["weight_decay"])
        self.class_weights = None
        if training.class_weights == "balanced":
            sizes = self.members.sizes.clamp_min(1).to(place.dtype)
            self.class_weights = sizes.sum(dim=1, keepdim=True) / (lesson.classes * sizes)

    def step(self, epoch: int) -> dict[str, Tensor]:
        """One epoch: fresh triplets and dropout, all training nodes, one Adam step."""
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
        if losses.kernel is None:
            assert losses.softmax is not None
            return losses.softmax
        return (
            losses.kernel if losses.softmax is None else losses.softmax + self.kernel_weight * losses.kernel
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


def _state(run: Run, best: Best) -> dict[str, Tensor]:
    """All tensors that change from epoch to epoch, by name."""
    stacks = {
        "parameters": run.parameters,
        "adam_first": run.adam.first,
        "adam_second": run.adam.second,
        "best": best.parameters,
    }
    named = {f"{kind}.{name}": value for kind, stack in stacks.items() for name, value in stack.items()}
    return named | {"best_accuracy": best.accuracy, "best_loss": best.loss, "best_epoch": best.epoch}


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
    for node_class in lesson.lonely_classes() if method.objective != "softmax" else ():
        warnings.warn(f"class {node_class} has a single training node: it is its own positive.", stacklevel=2)
    run = Run(graph, method, training, lesson, seeds, place)
    best = Best.before_training(run.parameters, len(seeds), place)
    history: list[dict[str, Tensor]] = []
    state, facts = _state(run, best), _facts(graph, method, training, lesson, seeds, place)
    if checkpoint is not None:
        history = checkpoint.restore(state, facts)
        run.adam.steps = len(history)
    epochs = training.epochs if run.parameters else 0  # a map without parameters has nothing to learn
    for epoch in range(len(history) + 1, epochs + 1):
        if best.stopped(epoch - 1, training.patience) and epoch > 1:
            break
        record = run.step(epoch) | run.evaluate()
        best.update(
            epoch,
            run.parameters,
            record.get("validation_accuracy", best.accuracy),
            record.get("validation_loss", best.loss),
            training,
        )
        history.append(record)
        if checkpoint is not None and (epoch % checkpoint.every == 0 or epoch == epochs):
            checkpoint.save(state, history, facts)
        if progress is not None:
            progress(epoch, {name: value.cpu().numpy() for name, value in record.items()})
    return Trained(
        parameters={name: p.contiguous() for name, p in best.parameters.items()},
        epochs=best.epoch.cpu().numpy(),
        history={
            name: torch.stack([r[name] for r in history]).cpu().numpy() for name in (history or [{}])[0]
        },
        seconds=time.perf_counter() - started,
    )
