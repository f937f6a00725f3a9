"""Training on links: all training edges against as many sampled pairs, never n × n."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import Dropout
from kernode.compute.gpu import fused_sums
from kernode.compute.stack import Parameters
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.task import LinkTask
from kernode.losses.edge_pairs import EdgePairs
from kernode.maps import HopMLP
from kernode.maps.base import input_rates
from kernode.metrics.ranking import auc
from kernode.progress import timed
from kernode.training.loop import Learner, Trained, run_epochs, stack_slices
from kernode.training.settings import Training


class LinkLearner(Learner):
    """Replicas that learn the links of a graph."""

    score = "validation_auc"

    def __init__(
        self,
        prepared: Any,
        pairs: EdgePairs,
        method: LinkMethod,
        training: Training,
        task: LinkTask,
        replicas: slice = slice(None),
    ) -> None:
        place, split = task.run.place, task.split
        settings = training.by_replica(task.run.replicas, place)
        own = {name: values[replicas] for name, values in settings.items()}
        self.prepared, self.method, self.pairs = prepared, method, pairs
        self.draws = task.run.draws(replicas)
        self.seeds = self.draws.seeds
        self.dropout = Dropout(self.draws, own["dropout"], input_rates(method.map, own["input_dropout"]))
        self.validation = torch.tensor(split.validation, device=place.device)[None]
        self.validation_negatives = torch.tensor(split.validation_negatives, device=place.device)[None]
        # g and what its gradient needs, where the evaluation has computed them for the next step, and the
        # version of the parameters that they belong to.
        self._left: tuple[Tensor, int] | None = None
        parameters = method.initial(prepared, self.draws, place)
        self._shares = _training_sees_the_same(method, self.dropout) and _can_be_held(parameters, task)
        super().__init__(parameters, training, own, place)

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """On a GPU, where neither the map's own code nor the losses' waits for it."""
        return self.seeds.is_cuda and self.method.map.capturable and fused_sums(self.seeds) is not None

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """Cross-entropy (Eq. 15) on edges and as many non-edges, and a variational method's divergence."""
        draws = self.draws.at(epoch)
        embedded, divergence = self._from_evaluation(), None
        if embedded is None:
            embedded, divergence = self.method.embed(self.parameters, self.prepared, self.dropout.at(draws))
        loss = self.method.loss(
            self.pairs, lambda pairs: self.method.logits(self.parameters, embedded, pairs), draws
        )
        return {"loss": loss if divergence is None else loss + divergence}

    def _from_evaluation(self) -> Tensor | None:
        """The embedding that the last evaluation left, once, if no parameter has moved since."""
        left, self._left = self._left, None
        return left[0] if left is not None and left[1] == self.adam.flat._version else None

    def evaluate(self) -> dict[str, Tensor]:
        """AUC and cross-entropy on the validation edges and non-edges, where there are any."""
        if not self.validation.shape[1]:
            return {}
        # A replayed epoch cannot take a tensor from the one before, nor one that learns an average's.
        shares = self._shares and not self.capturable and self.average is None
        with torch.set_grad_enabled(shares):
            embedded, _ = self.method.embed(self.current, self.prepared)
        self._left = (embedded, self.adam.flat._version) if shares else None
        return self._evaluate_from(embedded.detach())

    @torch.no_grad()
    def _evaluate_from(self, embedded: Tensor) -> dict[str, Tensor]:
        linked = self.method.logits(self.current, embedded, self.validation)
        others = self.method.logits(self.current, embedded, self.validation_negatives)
        return {
            "validation_auc": auc(linked, others),
            "validation_loss": self.method.loss.on(linked, others),
        }


_HELD = 2**27  # numbers that all replicas together may hold from an evaluation to the next step: 0.5 GB


def _training_sees_the_same(method: LinkMethod, dropout: Dropout) -> bool:
    """Whether g is the same in training and outside: with Eq. 7 where nothing is dropped or drawn."""
    drops = dropout.input_rates is not None or (
        "dropout" not in method.map.ignored_settings and bool(dropout.rates.any())
    )
    return type(method.map) is HopMLP and not drops and not method.variational


def _can_be_held(parameters: Parameters, task: LinkTask) -> bool:
    """Whether what the gradient needs of every layer, before and after it, can wait, of all replicas."""
    widths = sum(p.shape[-1] for p in parameters.values() if p.dim() == 3)
    return 2 * widths * task.split.graph.n_nodes * task.run.replicas <= _HELD


def train_links(task: LinkTask, method: LinkMethod, training: Training) -> Trained:
    """Train one replica per seed on the training edges of a split; validation AUC keeps the epoch."""
    started = time.perf_counter()
    graph, place = task.split.graph, task.run.place
    with timed("features and hops"):
        prepared = method.map.prepare(graph, place)
    pairs = method.loss.prepare(graph, place.device, task.others)
    one = method.initial(prepared, task.run.draws(slice(1)), place)
    stacks = [
        LinkLearner(prepared, pairs, method, training, task, replicas)
        for replicas in stack_slices(one, graph.n_nodes, task.run)
    ]
    data = (
        task.split.validation,
        task.split.validation_negatives,
        *([] if task.others is None else [task.others]),
    )
    facts = task.run.facts(graph, method, training, data)
    trained = run_epochs(stacks, training, task.run, facts, started)
    return replace(trained, prepared=prepared)
