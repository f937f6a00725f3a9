"""Training on links: all training edges against as many sampled pairs, never n × n."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from kernode.compute.draws import Dropout
from kernode.compute.fused import fused
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.task import LinkTask
from kernode.losses.edge_pairs import EdgePairs
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
        super().__init__(method.initial(prepared, self.draws, place), training, own, place)

    @property
    def capturable(self) -> bool:  # type: ignore[override]
        """On a GPU, where the map's own code never waits for it."""
        return self.seeds.is_cuda and self.method.map.capturable and fused(self.seeds) is not None

    def losses(self, epoch: int | Tensor) -> dict[str, Tensor]:
        """Cross-entropy (Eq. 15) on edges and as many non-edges, and a variational method's divergence."""
        draws = self.draws.at(epoch)
        embedded, divergence = self.method.embed(self.parameters, self.prepared, self.dropout.at(draws))
        loss = self.method.loss(
            self.pairs, lambda pairs: self.method.logits(self.parameters, embedded, pairs), draws
        )
        return {"loss": loss if divergence is None else loss + divergence}

    @torch.no_grad()
    def evaluate(self) -> dict[str, Tensor]:
        """AUC and cross-entropy on the validation edges and non-edges."""
        embedded, _ = self.method.embed(self.current, self.prepared)
        linked = self.method.logits(self.current, embedded, self.validation)
        others = self.method.logits(self.current, embedded, self.validation_negatives)
        return {
            "validation_auc": auc(linked, others),
            "validation_loss": self.method.loss.on(linked, others),
        }


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
