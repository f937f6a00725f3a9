"""What class numbers stand for: the classes of a model, those of a graph, and those that users give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernode.errors import InputError
from kernode.graph import Graph

if TYPE_CHECKING:
    from kernode.tasks.classes.model import NodeModel


@dataclass(frozen=True)
class ClassNames:
    """The classes of a model on a graph, by number: the model's c first, then others that the graph has."""

    classes: tuple[Any, ...]  # as the model has them: names, or numbers
    names: tuple[str, ...]
    known: np.ndarray  # n: the class of each node in the graph, −1 if unknown
    graph: Graph

    @classmethod
    def of(cls, model: NodeModel, graph: Graph, has_training_nodes: bool = True) -> ClassNames:
        """Compare the classes of a model and a graph.

        A model may have learned the graph's classes by name or by number. If it learned another target, or if
        it is unclear what its numbers mean in this graph, only its training nodes have a known class. Labels
        of the training nodes decide. Without them names are trusted and numbers are not: other targets have a
        0, too.
        """
        own, same = model.classes, isinstance(model.classes[0], str)
        of_graph: Any = graph.class_names if same else range(graph.n_classes)
        shared = [one for one in own if isinstance(one, str | int | np.integer) and one in of_graph]
        if shared and (same or len(shared) == len(own)):
            classes = (*own, *(one for one in of_graph if one not in own))
            known = np.array([*(classes.index(one) for one in of_graph), -1])[graph.labels]
            labels = known[model.train] if has_training_nodes else np.array([-1])
            if (there := labels >= 0).any():
                same = bool((labels[there] == model.train_labels[there]).all())
            if same:
                by_name = isinstance(own[0], str)
                names = classes if by_name else tuple(graph.class_names[one] for one in classes)
                return cls(classes, names, known, graph)
        known = np.full(graph.n_nodes, -1)
        if has_training_nodes:
            known[model.train.ravel()] = model.train_labels.ravel()
        return cls(own, tuple(str(one) for one in own), known, graph)

    def numbered(self, y: list[Any]) -> tuple[ClassNames, np.ndarray]:
        """Return the number of each class in y, and the classes with those that are new at the end.

        Where the model has names, y may hold the graph's numbers, and the other way round.
        """
        by_name = isinstance(self.classes[0], str)
        pairs = ((i, name) if by_name else (name, i) for i, name in enumerate(self.graph.class_names))
        numbers: dict[Any, int] = {one: number for number, one in enumerate(self.classes)}
        numbers = {other: numbers[own] for other, own in pairs if own in numbers} | numbers
        new = sorted({one for one in y if one not in numbers}, key=lambda one: (str(type(one)), one))
        strange = [one for one in new if isinstance(one, str) != by_name]
        if strange:
            raise self.unknown(strange[0])
        numbers |= {one: len(self.classes) + at for at, one in enumerate(new)}
        wider = replace(self, classes=(*self.classes, *new), names=(*self.names, *map(str, new)))
        return wider, np.array([numbers[one] for one in y], np.int64)

    def unknown(self, one: Any) -> InputError:
        """Return the error about a class in y that means nothing to the model."""
        return InputError(
            f"no class in y, such as {one!r}, is one of the model's, such as {self.classes[0]!r}. Give the "
            "classes as the model learned them.",
            "unknown", what="class", setting="y", name=one,
        )  # fmt: skip
