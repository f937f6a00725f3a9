"""The parts of a run: bytes that each holds, and the work of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from kernode.compute.place import Place
from kernode.hops.cache import WORTH_KEEPING
from kernode.node_classification.method import Method
from kernode.studies.cost.inputs import Numbers
from kernode.studies.cost.layers import Layer, Stack
from kernode.studies.cost.losses import answers, softmax, triplets
from kernode.studies.cost.plans import Plan, input_masks
from kernode.studies.cost.sizes import Sizes
from kernode.studies.cost.work import NOTHING, Work, gone_through, walked
from kernode.training.loop import stack_slices
from kernode.training.settings import Training

STATES = 5  # of every parameter: itself, Adam's two moments, the gradient, the best so far
_MOVING = 3  # more of those of a stack, while Adam moves them
_STARTING = 40  # bytes a parameter while a stack's first ones are drawn, in 64-bit words
_CALLS = 400  # of a training step and its evaluation, beside those of the layers
_TESTED = 0.2  # of the nodes, when training is over


@dataclass(frozen=True)
class Parts:
    """What a run is made of: bytes, and work."""

    graph: float
    features: float  # as the graph has them
    splits: float
    features_at_place: float = 0.0
    operator: float = 0.0
    building: float = 0.0  # in passing, at the place of computing
    building_in_main_memory: float = 0.0  # in passing, where that place is a GPU
    parameters: float = 0.0
    activations: float = 0.0  # of one stack at its worst moment, and what others leave for their next epoch
    triplets: float = 0.0
    evaluation: float = 0.0  # in passing, when training is over
    loading: Work = NOTHING
    preparing: Work = NOTHING
    epoch: Work = NOTHING
    evaluating: Work = NOTHING
    epochs: int = 0
    together: int = 1  # replicas in a stack

    @property
    def loaded(self) -> float:
        """What main memory holds from the beginning."""
        return self.graph + self.features + self.splits

    @property
    def working(self) -> float:
        """The most that is held at the place of computing, beside what is loaded."""
        training = self.parameters + self.activations + self.triplets
        return self.features_at_place + max(self.building, self.operator + max(training, self.evaluation))


def parts_of(
    planned: Plan, method: Method, training: Training, sizes: Sizes, replicas: int, place: Place
) -> Parts:
    """Add up a run of some replicas."""
    numbers, inputs = Numbers.at(place), planned.inputs
    counts = _stacks(planned, method, sizes, replicas, place)
    stack, every = (Stack(sizes.nodes, r, numbers) for r in (max(counts), replicas))
    layer, compared = _layers(planned, method, training, sizes, stack)
    answering = planned.layers(every)
    answering += answers(every, method, sizes, int(_TESTED * sizes.nodes), planned.width)
    states = float(_parameters(planned, method, sizes) * numbers.size)
    moving = max(counts) * states * max(_MOVING, _STARTING / numbers.size)
    left = (replicas / max(counts) - 1) * layer.left
    again = NOTHING if sizes.entries >= WORTH_KEEPING else inputs.work  # else it is read from the cache
    epochs = training.epochs if planned.shapes else 0
    return Parts(
        graph=graph_bytes(sizes),
        features=feature_bytes(sizes),
        splits=_split_bytes(sizes, replicas, numbers),
        features_at_place=inputs.features,
        operator=inputs.operator,
        building=inputs.building,
        building_in_main_memory=inputs.in_main_memory,
        parameters=replicas * STATES * states,
        activations=max(layer.kept + layer.passing + left, moving) if epochs else 0.0,
        triplets=compared.kept + compared.passing if epochs else 0.0,
        evaluation=answering.answering + every.array(planned.width),
        loading=_loading(sizes),
        preparing=inputs.work,
        epoch=sum((_epoch(planned, method, training, sizes, numbers, r) for r in counts), NOTHING),
        evaluating=again + answering.forward + answering.learning,
        epochs=epochs,
        together=max(counts),
    )


def graph_bytes(sizes: Sizes) -> float:
    """The adjacency in CSR, float32 and int32, and a label for each node."""
    return 8.0 * sizes.entries + 12.0 * sizes.nodes


def feature_bytes(sizes: Sizes) -> float:
    """X as the graph has it."""
    if sizes.filled is not None:
        return sizes.filled * (sizes.feature_bytes + 4.0) + 4.0 * sizes.nodes
    return float(sizes.nodes * sizes.features * sizes.feature_bytes)


def _layers(
    planned: Plan, method: Method, training: Training, sizes: Sizes, stack: Stack
) -> tuple[Layer, Layer]:
    """The map with softmax and the answers of an epoch; and the triplets."""
    layer = planned.layers(stack) + softmax(stack, method, sizes, planned.width)
    if np.any(training.input_dropout):
        layer += input_masks(stack, planned.inputs)
    layer += answers(stack, method, sizes, sizes.validation, planned.width)
    if method.objective == "softmax":
        return layer, Layer()
    return layer, triplets(stack, method, training.triplets, planned.width)


def _epoch(
    planned: Plan, method: Method, training: Training, sizes: Sizes, numbers: Numbers, replicas: int
) -> Work:
    layer, compared = _layers(planned, method, training, sizes, Stack(sizes.nodes, replicas, numbers))
    moved = float(replicas * _parameters(planned, method, sizes) * numbers.size)
    return layer.epoch + compared.epoch + gone_through(moved, 30, made=4) + Work(operations=_CALLS)


def _stacks(planned: Plan, method: Method, sizes: Sizes, replicas: int, place: Place) -> list[int]:
    """How many replicas each stack has, as the loop decides it."""
    shapes = [*planned.shapes, *([(sizes.classes,)] if method.classifier == "softmax" else [])]
    one = {str(i): torch.empty(shape, device="meta") for i, shape in enumerate(shapes)}
    slices = stack_slices(one, sizes.nodes, replicas, place)
    return [len(range(*some.indices(replicas))) for some in slices]


def _parameters(planned: Plan, method: Method, sizes: Sizes) -> int:
    return planned.parameters + (sizes.classes if method.classifier == "softmax" else 0)


def _split_bytes(sizes: Sizes, replicas: int, numbers: Numbers) -> float:
    """Nodes and labels of every split: dealt out, as the lesson has them, and as the stacks do."""
    rows, taught = replicas if sizes.own_splits else 1, sizes.training + sizes.validation
    return float(rows * (8 * sizes.nodes + (16 + 16 + numbers.size) * taught))


def _loading(sizes: Sizes) -> Work:
    """A synthetic graph is drawn edge by edge; any other is read, and checked."""
    features = feature_bytes(sizes)
    if sizes.filled is None and sizes.graph is None:
        return gone_through(features, 50, made=4) + walked(70.0 * sizes.edges, sizes.nodes)
    return gone_through(graph_bytes(sizes) + features, 20, made=3)
