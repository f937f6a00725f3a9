"""A training step of ours, as training makes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.data import Split
from kernode.errors import InputError
from kernode.graph import Graph
from kernode.node_classification.experiment import lesson_of
from kernode.node_classification.method import Method
from kernode.node_classification.trainer import Stack
from kernode.node_classification.variants import configure
from kernode.training.loop import stack_slices
from kernode.training.settings import seeds_from


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
    stacks = _stacks(graph, split, variant, replicas, place, changes)
    acts = [stack.replayed(stack.advance if evaluate else stack.step) for stack in stacks]
    epoch = 0

    def step() -> None:
        nonlocal epoch
        epoch += 1
        for act in acts:
            act(epoch)

    return step


def _stacks(
    graph: Graph, split: Split, variant: str, replicas: int, place: Place, changes: dict[str, Any]
) -> list[Stack]:
    method, training = configure(variant, **changes)
    if not isinstance(method, Method):
        raise InputError(f"{variant} does not learn step by step: leave it out of a benchmark.")
    lesson, classes = lesson_of(graph, [split])
    method, seeds = method.for_classes(len(classes)), seeds_from(0, replicas)
    prepared = method.map.prepare(graph, place)
    draws = Draws(torch.tensor(seeds[:1], device=place.device))
    one = method.initial(prepared, lesson.classes, draws, place)
    return [
        Stack(prepared, method, training, lesson, seeds, place, some)
        for some in stack_slices(one, graph.n_nodes, replicas, place)
    ]
