"""The training loop: stacks of replicas, epoch by epoch, the best epoch kept."""

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
from kernode.compute.ranks import ALONE, Ranks
from kernode.compute.stack import Parameters
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import KernodeError, warn
from kernode.progress import log
from kernode.storage import deferred_interrupt
from kernode.training.callbacks import EpochLog
from kernode.training.checkpoint import Checkpoint
from kernode.training.run import Run
from kernode.training.settings import Training


@dataclass(frozen=True)
class Trained:
    """Result of training: parameters of the kept epochs, and the history. r replicas, E epochs run."""

    parameters: Parameters
    epochs: np.ndarray  # r: the epoch that was kept
    history: dict[str, np.ndarray]  # E × r each, hop_weights E × r × (H+1)
    seconds: float = field(compare=False, default=0.0)
    threads: int | None = field(compare=False, default=None)  # on the CPU, when torch computed
    references: Tensor | None = None  # what nodes of another graph are compared with, where classes are means
    prepared: Any = field(compare=False, repr=False, default=None)  # by the map, of the graph learned from


@dataclass
class BestEpoch:
    """The best epoch of every replica so far: highest validation score, then lowest validation loss."""

    parameters: Parameters
    score: Tensor
    loss: Tensor
    epoch: Tensor

    @classmethod
    def before_training(cls, parameters: Parameters, replicas: int, options: TensorOptions) -> BestEpoch:
        """Begin with the first parameters and a score that any epoch beats."""
        return cls(
            {name: p.detach().clone() for name, p in parameters.items()},
            torch.full((replicas,), -torch.inf, dtype=torch.float64, device=options.device),
            torch.full((replicas,), torch.inf, dtype=options.dtype, device=options.device),
            torch.zeros(replicas, dtype=torch.int64, device=options.device),
        )

    def update(
        self, epoch: int | Tensor, parameters: Parameters, score: Tensor, loss: Tensor, training: Training
    ) -> None:
        """Keep this epoch's parameters for the replicas whose best epoch it is."""
        if training.selection == "last":
            better = torch.ones_like(score, dtype=torch.bool)
        else:
            better = (score > self.score) | ((score == self.score) & (loss < self.loss))
            better &= loss.isfinite()  # NaN is never the best
            if (rule := training.stopping_rule) is not None:
                better &= rule.goes_on(epoch, self)
        if better.device.type == "cpu" and not better.any():
            return
        self.score.copy_(torch.where(better, score, self.score))
        self.loss.copy_(torch.where(better, loss, self.loss))
        self.epoch.copy_(torch.where(better, epoch, self.epoch))
        for name, best in self.parameters.items():
            chosen = better.view(-1, *(1,) * (best.dim() - 1))
            best.copy_(torch.where(chosen, parameters[name].detach(), best))


class Learner(ABC):
    """A stack of replicas: parameters, optimiser, and the best epoch of each so far."""

    score = "validation_accuracy"  # the figure that chooses the epoch
    capturable = False  # whether an epoch runs without synchronising with the GPU
    ranks = ALONE  # the processes that train one model
    prepared: Any = None  # by the map, of the graph learned from

    def __init__(
        self, parameters: Parameters, training: Training, own: dict[str, Tensor], options: TensorOptions
    ) -> None:
        rates, decay = own["learning_rate"], own["weight_decay"]
        self.optimiser = Adam(parameters, rates, decay)
        self.parameters, self.training = self.optimiser.parameters, training
        for parameter in self.parameters.values():
            parameter.requires_grad_()
        self.average = Average(self.optimiser, training.averaging) if training.averaging else None
        self.best = BestEpoch.before_training(self.parameters, len(rates), options)

    @property
    def current(self) -> Parameters:
        """Parameters to evaluate and keep: the moving average, if there is one."""
        return self.parameters if self.average is None else self.average.parameters

    def references(self) -> Tensor | None:
        """Return what prediction needs of the training data at the kept epoch: r × …, or None."""
        return None

    @abstractmethod
    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """Return the loss of this epoch, as ``loss``, and its parts: one number per replica each."""

    @abstractmethod
    def evaluate(self) -> dict[str, Tensor]:
        """Return the validation figures, without dropout."""

    def step(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """Take one step of the optimiser for every replica."""
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
        """Train one epoch, evaluate, and keep it for replicas that improved; return r values per name.

        The epoch may be a number on the device, so that a captured epoch can be replayed.
        """
        record = self.step(epoch) | self.evaluate()
        if not self.ranks.alone:  # rank 0's figures: all keep the same epoch and stop at the same one
            record = _in_one_message(self.ranks.broadcast, record)
        score = record.get(self.score, self.best.score)
        self.best.update(
            epoch, self.current, score, record.get("validation_loss", self.best.loss), self.training
        )
        return record

    def replayed(
        self, act: Callable[[int | Tensor], dict[str, Tensor]]
    ) -> Callable[[int], dict[str, Tensor]]:
        """Return one of this learner's methods, captured where that is possible; see :func:`captured`."""
        return captured(act, self.optimiser.flat.device) if self.capturable else act

    def state(self, name: str) -> dict[str, Tensor]:
        """Return all tensors that change from epoch to epoch, by name."""
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
    read ``name``, ``seeds``, ``epoch``, ``epochs``, ``latest``, ``history`` and ``interrupted``, and may
    lower ``epochs``.
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
        self.history: dict[str, Tensor] = {}  # figures of every epoch so far: E × r each
        # Without parameters nothing can be learned.
        self.epochs = training.epochs if learners[0].parameters else 0
        self.interrupted = False
        self.is_within_epoch = False  # the state is then not that of ``epoch``
        self._advance = [one.replayed(one.advance) for one in learners]
        self._blocks: dict[str, Tensor] = {}
        self._keeps_state = any(isinstance(one, Checkpoint) for one in self.callbacks)
        self.seconds = 0.0 if started is None else time.perf_counter() - started

    @property
    def epoch(self) -> int:
        """Number of epochs done."""
        return len(next(iter(self.history.values()), ()))

    @property
    def latest(self) -> dict[str, np.ndarray]:
        """Figures of the last epoch, one number per replica each; reading them waits for a GPU."""
        return {name: values[-1].cpu().numpy() for name, values in self.history.items()}

    @property
    def score(self) -> str:
        """Validation figure that chooses the epoch: "accuracy", "map" or "auc"."""
        return self.learners[0].score.removeprefix("validation_")

    def run(self, until: int | None = None) -> None:
        """Train up to an epoch, or to the end: the last epoch, or where training stops or diverges."""
        started, last = time.perf_counter(), self.epochs if until is None else min(until, self.epochs)
        is_new = self.epoch == 0
        self._notify("on_fit_begin")
        if is_new:
            self.history = _restored(self.ranks, self.state, self.history)
        try:
            while self.epoch < min(last, self.epochs) and not self._has_ended():
                with deferred_interrupt() if self._keeps_state else nullcontext():
                    self.is_within_epoch, epoch = True, self.epoch + 1
                    self._record(epoch, [advance(epoch) for advance in self._advance])
                    self.is_within_epoch = False
                self._notify("on_epoch_end")
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        finally:
            self._notify("on_fit_end")
        self.seconds += time.perf_counter() - started

    def _notify(self, event: str) -> None:
        for callback in self.callbacks:
            getattr(callback, event)(self)

    def _record(self, epoch: int, records: list[dict[str, Tensor]]) -> None:
        """Add an epoch of all stacks to the history, which is allocated for all epochs at once.

        Small tensors kept between large freed ones prevent the allocator from returning memory: K1 on
        500 nodes grew from 0.5 to 1.7 GB in 400 epochs.
        """
        for name in records[0]:
            all_values = [record[name] for record in records]
            values = all_values[0] if len(records) == 1 else torch.cat(all_values)
            if name not in self._blocks:
                block = self._blocks[name] = values.new_empty((self.epochs, *values.shape))
                block[: epoch - 1] = self.history.get(name, block[: epoch - 1])  # restored
            self._blocks[name][epoch - 1] = values
            self.history[name] = self._blocks[name][:epoch]

    def _has_ended(self) -> bool:
        """Return whether all replicas have stopped or diverged; rarely checked on a GPU, since that waits."""
        stacks, rule = self.learners, self.training.stopping_rule
        if self.epoch == 0 or (stacks[0].optimiser.flat.is_cuda and self.epoch % 20):
            return False
        if rule is not None and not any(bool(rule.goes_on(self.epoch + 1, one.best).any()) for one in stacks):
            return True
        if bool(self.history["loss"][-1].isfinite().any()):
            return False  # a loss alone may come back
        return not any(bool(_finite(one.parameters).any()) for one in stacks)

    def recorded(self, name: str) -> np.ndarray:
        """Return one of the figures of every epoch so far: E × r."""
        return self.history[name].cpu().numpy()

    def validated(self) -> np.ndarray:
        """Return the validation figure that chooses the epoch, in percent, E × r; −inf for NaN."""
        score = self.recorded(self.learners[0].score)
        return np.where(np.isfinite(self.recorded("validation_loss")), score, -np.inf)

    def trained(self) -> Trained:
        """Return the result of the epochs so far."""
        learners = self.learners
        _require_convergence(learners, self.history)
        names = learners[0].best.parameters
        references = [held for one in learners if (held := one.references()) is not None]
        return Trained(
            parameters={
                name: torch.cat([o.best.parameters[name] for o in learners]).contiguous() for name in names
            },
            epochs=torch.cat([one.best.epoch for one in learners]).cpu().numpy(),
            history={name: self.recorded(name) for name in self.history},
            seconds=self.seconds,
            threads=torch.get_num_threads(),
            prepared=learners[0].prepared,
            references=torch.cat(references) if references else None,
        )


class DivergedError(KernodeError):
    """Training diverged for some ``replicas`` before there was an epoch to keep."""

    def __init__(self, epoch: int, replicas: list[int]) -> None:
        super().__init__(
            f"training diverged at epoch {epoch}. Lower the learning rate, or scale large features.",
            "not-finite", epoch=epoch,
        )  # fmt: skip
        self.replicas = replicas

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fields["epoch"], self.replicas)


def _require_convergence(learners: Sequence[Learner], history: dict[str, Tensor]) -> None:
    broken = (~history["loss"].isfinite().all(dim=1)).nonzero() + 1 if history else torch.empty(0)
    if not len(broken):
        return
    # An epoch to keep, with finite parameters.
    kept = torch.cat([(one.best.epoch > 0) & _finite(one.best.parameters) for one in learners])
    first = int(broken[0])
    if not kept.all():
        raise DivergedError(first, (~kept).nonzero().flatten().tolist())
    warn(f"the loss was not finite from epoch {first}; an earlier one is kept. Lower the learning rate.")


def _finite(parameters: Parameters) -> Tensor:
    """Return which replicas have finite parameters."""
    each = [value.detach().isfinite().reshape(len(value), -1).all(dim=1) for value in parameters.values()]
    return torch.stack(each).all(dim=0)


# Largest widest layer of one stack, in numbers: a wider stack leaves the cache and saves no overhead.
# Measured with K1 on two cores:
# Pubmed 480 ms an epoch for one replica and 7,200 ms for a stack of ten.
STACK_NUMBERS = {"cpu": 2**22, "cuda": 2**30}


def stack_slices(parameters: Parameters, nodes: int, run: Run) -> list[slice]:
    """Return the replicas of each stack, from the parameters of one replica."""
    widest = max((p.shape[-1] for p in parameters.values()), default=1)
    together = max(1, STACK_NUMBERS[run.options.device.type] // (nodes * widest))
    return [slice(start, start + together) for start in range(0, run.replicas, together)]


def _restored(ranks: Ranks, state: dict[str, Tensor], history: dict[str, Tensor]) -> dict[str, Tensor]:
    """Broadcast a state and its history from the first rank, which alone reads the checkpoint."""
    if ranks.alone:
        return history
    received = ranks.broadcast_object({name: values.cpu() for name, values in history.items()})
    if received:
        with torch.no_grad():
            for values in state.values():
                values.copy_(ranks.broadcast(values.detach().contiguous()))
    device = next(iter(state.values())).device
    return {name: values.to(device) for name, values in received.items()}


def _collected(ranks: Ranks, gradients: dict[str, Tensor | None]) -> dict[str, Tensor | None]:
    """Sum the gradients of the whole loss over the ranks.

    Each rank has the gradient of its own rows for the map's parameters, which are summed. All ranks have the
    whole gradient of the other parameters, which are averaged, so that ranks stay equal.
    """
    parts = {
        name: gradient / (1 if name.startswith("map.") else ranks.size)
        for name, gradient in gradients.items()
        if gradient is not None
    }
    return dict.fromkeys(gradients) | _in_one_message(ranks.add, parts)


def _in_one_message(send: Callable[[Tensor], Tensor], values: dict[str, Tensor]) -> dict[str, Tensor]:
    """Send several tensors in one collective."""
    flat = send(torch.cat([one.reshape(-1) for one in values.values()]))
    pieces = flat.split([one.numel() for one in values.values()])
    pairs = zip(values.items(), pieces, strict=True)
    return {name: piece.view(one.shape).to(one.dtype) for (name, one), piece in pairs}
