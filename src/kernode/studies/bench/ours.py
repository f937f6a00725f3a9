"""A training step of ours, as training makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernode.compute.place import Place
from kernode.compute.replicas import seeds_from
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io import Split
from kernode.tasks.classes.configure import configure
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.task import NodeLearner, NodeTask, learners
from kernode.training.run import Run


def stepper(
    graph: Graph,
    split: Split,
    variant: str,
    replicas: int,
    place: Place,
    *,
    evaluate: bool = False,
    **changes: Any,
) -> Callable[[], None]:
    """What takes one training step of all replicas, each time it is called.

    A step draws triplets where the variant has them, goes forward and back, and moves every parameter;
    ``evaluate`` makes it an epoch, which scores the validation nodes and keeps the best parameters too.
    """
    stacks = _learners(graph, split, variant, replicas, place, changes)
    acts = [stack.replayed(stack.advance if evaluate else stack.step) for stack in stacks]
    epoch = 0

    def step() -> None:
        nonlocal epoch
        epoch += 1
        for act in acts:
            act(epoch)

    return step


def _learners(
    graph: Graph, split: Split, variant: str, replicas: int, place: Place, changes: dict[str, Any]
) -> list[NodeLearner]:
    method, training = configure(variant, **changes)
    if not isinstance(method, Method):
        raise InputError(f"{variant} does not learn step by step: leave it out of a benchmark.")
    task = NodeTask.of_splits(graph, [split], Run(seeds_from(0, replicas), place))
    return learners(task, method.for_classes(len(task.classes)), training)
