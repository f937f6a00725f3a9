"""The loop that every kind of training shares: stacks of replicas, epoch by epoch, the best epoch kept."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kernode.compute.adam import Adam, Average
from kernode.compute.gpu import captured
from kernode.compute.place import Place
from kernode.compute.ranks import ALONE, Ranks
from kernode.compute.stack import Parameters
from kernode.errors import KernodeError, warn
from kernode.progress import log
from kernode.storage import deferred_interrupt
from kernode.training.callbacks import EpochLog
from kernode.training.checkpoint import Checkpoint
from kernode.training.run import Run
from kernode.training.settings import Training
from kernode.training.stopping import BestEpoch


@dataclass(frozen=True)
class Trained:
    """What training leaves: parameters of the kept epochs, and how it went. r replicas, E epochs run."""

    parameters: Parameters
    epochs: np.ndarray  # r: the epoch that was kept
    history: dict[str, np.ndarray]  # E × r each, hop_weights E × r × (H+1)
    seconds: float = field(compare=False, default=0.0)
    threads: int | None = field(compare=False, default=None)  # of the CPU, where it was torch that computed
    references: Tensor | None = None  # what nodes of another graph are compared with, where classes are means
    prepared: Any = field(compare=False, repr=False, default=None)  # by the map, of the graph learned from


class Learner(ABC):
    """Replicas that learn as one: parameters, optimiser, and the best of each so far."""

    score = "validation_accuracy"  # what of a record says which epoch is best
    capturable = False  # whether an epoch runs on a GPU without waiting for it
    ranks = ALONE  # the processes that learn as one
    prepared: Any = None  # by the map, of the graph learned from

    def __init__(
        self, parameters: Parameters, training: Training, own: dict[str, Tensor], place: Place
    ) -> None:
        rates, decay = own["learning_rate"], own["weight_decay"]
        self.optimiser = Adam(parameters, rates, decay)
        self.parameters, self.training = self.optimiser.parameters, training
        for parameter in self.parameters.values():
            parameter.requires_grad_()
        self.average = Average(self.optimiser, training.averaging) if training.averaging else None
        self.best = BestEpoch.before_training(self.parameters, len(rates), place)

    @property
    def current(self) -> Parameters:
        """What is evaluated and may be kept: the parameters, or their average where there is one."""
        return self.parameters if self.average is None else self.average.parameters

    def references(self) -> Tensor | None:
        """What answers need of the training data at the kept epoch: r × …, or None."""
        return None

    @abstractmethod
    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """What is minimised in this epoch, as ``loss``, and its parts: one number per replica each."""

    @abstractmethod
    def evaluate(self) -> dict[str, Tensor]:
        """How good the parameters are on validation data, without dropout."""

    def step(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """One step of the optimiser for every replica."""
        losses = self.losses(epoch)
        loss = losses["loss"]
        # A sum, not ones as upstream gradients: to compare shapes torch would import sympy, half a second.
        if loss.requires_grad:  # parameters may all be fixed: then nothing moves
            gradients = torch.autograd.grad(loss.sum(), list(self.parameters.values()), allow_unused=True)
            by_name: dict[str, Tensor | None] = dict(zip(self.parameters, gradients, strict=True))
            self.optimiser.step(by_name if self.ranks.alone else _collected(self.ranks, by_name), epoch)
        if self.average is not None:
            self.average.update(epoch)
        return {name: value.detach() for name, value in losses.items()}

    def advance(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """One epoch: learn, evaluate, keep what is better. Returns one value per replica and name.

        The epoch may be a number on the device, so that a captured epoch can be replayed.
        """
        record = self.step(epoch) | self.evaluate()
        if not self.ranks.alone:
            record = _agreed(self.ranks, record)
        score = record.get(self.score, self.best.score)
        self.best.update(
            epoch, self.current, score, record.get("validation_loss", self.best.loss), self.training
        )
        return record

    def replayed(
        self, act: Callable[[int | Tensor], dict[str, Tensor]], kept: int = 1
    ) -> Callable[[int], dict[str, Tensor]]:
        """One of this learner's acts, captured where that is possible; see :func:`captured`."""
        return captured(act, self.optimiser.flat.device, kept) if self.capturable else act

    def state(self, name: str) -> dict[str, Tensor]:
        """All tensors that change from epoch to epoch, by name."""
        best = self.best
        kinds = {
            "parameters": self.parameters,
            **self.optimiser.state,
            **({} if self.average is None else {"average": self.average.parameters}),
            "best": best.parameters,
            "kept": {"score": best.score, "loss": best.loss, "epoch": best.epoch},
        }
        return {f"{name}.{kind}.{key}": t for kind, values in kinds.items() for key, t in values.items()}


class TrainingLoop:
    """The epochs of a training: all at once, or up to an epoch and later on.

    All learners advance in step. ``facts``: what two runs must share for one to continue the other. Callbacks
    read ``name``, ``seeds``, ``epoch``, ``epochs``, ``latest``, ``history`` and ``interrupted``.
    """

    def __init__(
        self,
        learners: Sequence[Learner],
        training: Training,
        run: Run,
        facts: dict[str, Any],
        started: float | None = None,
    ) -> None:
        self.learners, self.training, self.facts = learners, training, facts
        self.name, self.seeds, self.ranks = run.name, run.seeds, learners[0].ranks
        logs = (EpochLog(),) if log.isEnabledFor(logging.DEBUG) else ()
        self.callbacks = (*run.callbacks, *logs) if self.ranks.first else ()  # rank 0 prints and writes
        self.state = {
            name: t for i, one in enumerate(learners) for name, t in one.state(f"stack_{i}").items()
        }
        self.history: list[dict[str, Tensor]] = []
        # Without parameters nothing can be learned.
        self.epochs = training.epochs if learners[0].parameters else 0
        self.interrupted = False
        self.is_within_epoch = False  # the state is then not that of ``epoch``
        self._advance = [one.replayed(one.advance, self.epochs) for one in learners]
        self._blocks: dict[str, Tensor] = {}
        self._keeps_state = any(isinstance(one, Checkpoint) for one in self.callbacks)
        self.seconds = 0.0 if started is None else time.perf_counter() - started

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return len(self.history)

    @property
    def latest(self) -> dict[str, np.ndarray]:
        """The figures of the last epoch, one number per replica each; on a GPU, reading them waits for it."""
        return {name: value.cpu().numpy() for name, value in self.history[-1].items()}

    @property
    def score(self) -> str:
        """What of validation says which epoch is best: "accuracy", "map", "auc"."""
        return self.learners[0].score.removeprefix("validation_")

    def run(self, until: int | None = None) -> None:
        """Go on to an epoch, or to the end: the last epoch, or where training stops or diverges."""
        started, last = time.perf_counter(), self.epochs if until is None else min(until, self.epochs)
        first = not self.history
        for callback in self.callbacks:
            callback.on_fit_begin(self)
        if first:
            self.history = _restored(self.ranks, self.state, self.history)
        try:
            for epoch in range(self.epoch + 1, last + 1):
                if self._has_stopped(epoch):
                    break
                with deferred_interrupt() if self._keeps_state else nullcontext():
                    self.is_within_epoch, records = True, []
                    for advance in self._advance:
                        records.append(advance(epoch))
                    self.history.append(_in_block(records, self._blocks, epoch, self.epochs))
                    self.is_within_epoch = False
                for callback in self.callbacks:
                    callback.on_epoch_end(self)
                if self._has_diverged(epoch):
                    break
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        finally:
            for callback in self.callbacks:
                callback.on_fit_end(self)
        self.seconds += time.perf_counter() - started

    def recorded(self, name: str) -> np.ndarray:
        """One of the figures of every epoch so far: E × r."""
        return torch.stack([record[name] for record in self.history]).cpu().numpy()

    def validated(self) -> np.ndarray:
        """What says which epoch is best, of every epoch so far (E × r), in percent; −inf for NaN."""
        score = self.recorded(self.learners[0].score)
        return np.where(np.isfinite(self.recorded("validation_loss")), score, -np.inf)

    def trained(self) -> Trained:
        """What the epochs so far have left."""
        learners, history = self.learners, self.history
        _require_convergence(learners, history)
        names = learners[0].best.parameters
        references = [held for one in learners if (held := one.references()) is not None]
        return Trained(
            parameters={
                name: torch.cat([o.best.parameters[name] for o in learners]).contiguous() for name in names
            },
            epochs=torch.cat([one.best.epoch for one in learners]).cpu().numpy(),
            history={name: self.recorded(name) for name in (history[0] if history else {})},
            seconds=self.seconds,
            threads=torch.get_num_threads(),
            prepared=learners[0].prepared,
            references=torch.cat(references) if references else None,
        )

    def _has_stopped(self, epoch: int) -> bool:
        """Whether no replica goes on; on a GPU not asked in each epoch, since asking waits."""
        rule = self.training.stopping_rule
        if rule is None or epoch == 1 or (self.learners[0].optimiser.flat.is_cuda and epoch % 20 != 1):
            return False
        return not any(bool(rule.goes_on(epoch, one.best).any()) for one in self.learners)

    def _has_diverged(self, epoch: int) -> bool:
        """Whether no replica has a number left to learn with; on a GPU not asked in each epoch, either."""
        if self.learners[0].optimiser.flat.is_cuda and epoch % 20:
            return False
        if bool(self.history[-1]["loss"].isfinite().any()):
            return False  # a loss alone may come back
        return not any(bool(_finite(one.parameters).any()) for one in self.learners)


def _in_block(
    records: list[dict[str, Tensor]], blocks: dict[str, Tensor], epoch: int, epochs: int
) -> dict[str, Tensor]:
    """The records of all stacks in an epoch, as rows of blocks that hold those of all epochs.

    Small tensors that stay, between large ones that go, keep the allocator from giving memory back: K1 on 500
    nodes grew from 0.5 to 1.7 GB in 400 epochs.
    """
    record = records[0]
    if len(records) > 1:
        record = {name: torch.cat([one[name] for one in records]) for name in record}
    for name, value in record.items():
        if name not in blocks:
            blocks[name] = value.new_empty((epochs, *value.shape))
    return {name: blocks[name][epoch - 1].copy_(value) for name, value in record.items()}


class DivergedError(KernodeError):
    """Of some replicas training left nothing to keep; ``replicas`` says of which."""

    def __init__(self, epoch: int, replicas: list[int]) -> None:
        super().__init__(
            f"training diverged at epoch {epoch}. Lower the learning rate, or scale features that are large.",
            "not-finite", epoch=epoch,
        )  # fmt: skip
        self.replicas = replicas

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fields["epoch"], self.replicas)


def _require_convergence(learners: Sequence[Learner], history: list[dict[str, Tensor]]) -> None:
    broken = [epoch for epoch, record in enumerate(history, 1) if not record["loss"].isfinite().all()]
    if not broken:
        return
    # An epoch to keep, and numbers in it.
    kept = torch.cat([(one.best.epoch > 0) & _finite(one.best.parameters) for one in learners])
    if not kept.all():
        raise DivergedError(broken[0], (~kept).nonzero().flatten().tolist())
    warn(f"the loss was not finite from epoch {broken[0]}; an earlier one is kept. Lower the learning rate.")


def _finite(parameters: Parameters) -> Tensor:
    """Which replicas have numbers only."""
    each = [value.detach().isfinite().reshape(len(value), -1).all(dim=1) for value in parameters.values()]
    return torch.stack(each).all(dim=0)


# Replicas train as one stack while their widest layer holds at most so many numbers in all; beyond that
# a wider stack no longer shares overhead but only leaves the cache. Measured with K1 on two cores:
# Pubmed 480 ms an epoch for one replica and 7,200 ms for a stack of ten.
STACK_NUMBERS = {"cpu": 2**22, "cuda": 2**30}


def stack_slices(parameters: Parameters, nodes: int, run: Run) -> list[slice]:
    """Which replicas train together, judged by the parameters of one of them."""
    widest = max((p.shape[-1] for p in parameters.values()), default=1)
    together = max(1, STACK_NUMBERS[run.place.device.type] // (nodes * widest))
    return [slice(start, start + together) for start in range(0, run.replicas, together)]


def _restored(
    ranks: Ranks, state: dict[str, Tensor], history: list[dict[str, Tensor]]
) -> list[dict[str, Tensor]]:
    """A state and its history as the first rank has read them: it alone has a checkpoint."""
    if ranks.alone:
        return history
    on_cpu = [{name: value.cpu() for name, value in record.items()} for record in history]
    received = ranks.broadcast_object(on_cpu)
    if not received:
        return history
    with torch.no_grad():
        for values in state.values():
            values.copy_(ranks.broadcast(values.detach().contiguous()))
    device = next(iter(state.values())).device
    return [{name: value.to(device) for name, value in record.items()} for record in received]


def _collected(ranks: Ranks, gradients: dict[str, Tensor | None]) -> dict[str, Tensor | None]:
    """Gradients of the whole loss, in one message.

    Of a map's parameters each rank has what its own rows add; of all others every rank has computed the
    whole, and their mean keeps ranks from drifting apart.
    """
    known = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    share = {name: 1 if name.startswith("map.") else ranks.size for name in known}
    flat = ranks.add(torch.cat([g.reshape(-1) / share[name] for name, g in known.items()]))
    pieces = flat.split([g.numel() for g in known.values()])
    found = {name: piece.view(g.shape) for (name, g), piece in zip(known.items(), pieces, strict=True)}
    return {name: found.get(name) for name in gradients}


def _agreed(ranks: Ranks, record: dict[str, Tensor]) -> dict[str, Tensor]:
    """The first rank's figures, so that all keep the same epoch and stop at the same one."""
    flat = ranks.broadcast(torch.cat([value.double().reshape(-1) for value in record.values()]))
    pieces = flat.split([value.numel() for value in record.values()])
    pairs = zip(record.items(), pieces, strict=True)
    return {name: piece.view(value.shape).to(value.dtype) for (name, value), piece in pairs}
