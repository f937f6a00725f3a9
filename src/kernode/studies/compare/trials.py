"""Candidates trained on splits, as many at once as can be; one that fails is lost, and the others go on."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import torch

from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import Split
from kernode.io.sizes import GraphSizes
from kernode.models.fit import fit_candidates
from kernode.studies.compare.candidates import Candidate, by_structure, stacked
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.task import NodeTask
from kernode.training.callbacks import Callback
from kernode.training.loop import DivergedError
from kernode.training.memory import require_memory
from kernode.training.run import Run

Cell = tuple[int, int]  # a split and a candidate, by their numbers


class Trial(NamedTuple):
    """A candidate trained on a split: a replica of a stack."""

    on: NodeModelOnGraph
    replica: int
    validation: float  # accuracy in percent at the epoch that was kept
    history: np.ndarray  # the same by epoch


class Lost(NamedTuple):
    """Why a candidate could not be trained on a split."""

    why: Literal["diverged", "memory", "refused"]  # refused: the method is not for such a graph
    sentence: str


@dataclass
class Trials:
    """All that was tried on a graph; a cell is trained once."""

    graph: Graph
    candidates: list[Candidate]
    splits: list[Split]
    place: Place
    callbacks: tuple[Callback, ...] = ()
    name: str = ""  # for whoever waits
    trained: dict[Cell, Trial] = field(default_factory=dict)
    lost: dict[Cell, Lost] = field(default_factory=dict)

    def run(self, cells: Iterable[Cell]) -> None:
        """Train what has not been tried, a stack for each structure; the seed of a replica is its split's."""
        todo = [cell for cell in cells if cell not in self.trained and cell not in self.lost]
        for numbers in by_structure(self.candidates):
            if own := [cell for cell in todo if cell[1] in numbers]:
                self._train(own)

    def until(self, epoch: int) -> Trials:
        """The same to be tried, but to an epoch at most: what a choice looks at that need not see the end."""
        shorter = [
            replace(one, training=replace(one.training, epochs=min(one.training.epochs, epoch)))
            for one in self.candidates
        ]
        return replace(self, candidates=shorter, trained={}, lost={})

    def validation(self, split: int, candidate: int) -> float:
        """Validation accuracy; −1, worse than any, for what was lost."""
        trial = self.trained.get((split, candidate))
        return -1.0 if trial is None else trial.validation

    def _train(self, cells: list[Cell]) -> None:
        method, training = stacked([self.candidates[c] for _, c in cells])
        try:
            require_memory(GraphSizes.of(self.graph), method, training, self.place)
        except InputError as refusal:
            self._lose(cells, Lost("memory", str(refusal)))
            return
        together = len(cells)
        while cells:
            stack = cells[:together]
            try:
                self._keep(stack, self._fit(stack))
            except DivergedError as error:
                diverged = [stack[i] for i in error.replicas] or stack  # the loop must get shorter
                self._lose(diverged, Lost("diverged", str(error)))
            except InputError as refusal:
                self._lose(stack, Lost("refused", str(refusal)))
            except (RuntimeError, MemoryError) as error:
                if not _out_of_memory(error):
                    raise
                together = len(stack) // 2
                if together == 0:
                    self._lose(cells, Lost("memory", "not even one run at a time fits into memory."))
            if stack[0] not in self.trained:
                _release()  # here, where no error holds tensors any more
            cells = [cell for cell in cells if cell not in self.trained and cell not in self.lost]

    def _fit(self, cells: list[Cell]) -> NodeModelOnGraph:
        method, training = stacked([self.candidates[c] for _, c in cells])
        run = Run(tuple(s for s, _ in cells), self.place, self.callbacks, self.name)
        task = NodeTask.of_splits(self.graph, [self.splits[s] for s, _ in cells], run)
        on: NodeModelOnGraph = fit_candidates(task, {self.name: (method, training)}, split="random").with_g()
        # What waits for its test does so beside the next stack's training: not on the GPU.
        return on if on.known_g is None else replace(on, known_g=on.known_g.cpu())

    def _keep(self, cells: list[Cell], on: NodeModelOnGraph) -> None:
        by_epoch = self._histories(cells, on)
        epochs = np.maximum(1, np.minimum(on.model.kept_epochs, len(by_epoch)))
        patience = on.model.training.patience
        for i, cell in enumerate(cells):
            # In a stack a replica goes on after it has stopped; what it does then is not its own.
            ran = len(by_epoch) if patience is None else epochs[i] + patience
            value = float(by_epoch[epochs[i] - 1, i])
            self.trained[cell] = Trial(on, i, value, by_epoch[:ran, i].copy())

    def _histories(self, cells: list[Cell], on: NodeModelOnGraph) -> np.ndarray:
        """What chose the epoch, by epoch and replica; a single row of a method that has no epochs."""
        known = on.model.history.get(f"validation_{on.model.training.select_by}")
        if known is not None and len(known):
            return known
        return accuracies(on, [self.splits[s].validation for s, _ in cells])[None]

    def _lose(self, cells: list[Cell], lost: Lost) -> None:
        self.lost |= dict.fromkeys(cells, lost)


def accuracies(on: NodeModelOnGraph, nodes: list[np.ndarray]) -> np.ndarray:
    """Accuracy in percent of every replica, each on nodes of its own."""
    rows = np.stack(nodes)
    classes = np.array([on.graph.class_names.index(name) for name in on.model.classes])
    right = classes[on.probabilities(rows).argmax(axis=-1)] == on.graph.labels[rows]
    return 100 * right.mean(axis=1)


def _out_of_memory(error: BaseException | None) -> bool:
    """Whether memory ran out, at first: inside a capture it ends in another error than it began with."""
    while error is not None:
        if isinstance(error, torch.OutOfMemoryError | MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _release() -> None:
    """Give back what a training that failed has held."""
    gc.collect()
    if torch.cuda.is_available():  # pragma: needs a GPU
        torch.cuda.empty_cache()
