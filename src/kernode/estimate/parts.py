"""The parts of a run: bytes that each holds, the moments at which most is held, and the work of each."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernode.estimate.layers import Layer, Stack
from kernode.estimate.losses import answers, softmax, triplets
from kernode.estimate.plans import Plan
from kernode.estimate.sizes import Sizes
from kernode.estimate.work import NOTHING, Work, gone_through
from kernode.hops.cache import WORTH_KEEPING
from kernode.loop import stack_slices
from kernode.method import Method
from kernode.settings import Training
from kernode.sparse import Place

_STATES = 5  # of every parameter: itself, Adam's two moments, the gradient, the best so far
_MOVING = 3  # more of those of a stack, while Adam moves them
_STARTING = 40  # bytes a parameter while a stack's first ones are drawn, in 64-bit words
_CALLS = 400  # of a training step and its evaluation, beside those of the layers


@dataclass(frozen=True)
class Parts:
    """What a run is made of; all in bytes but the work."""

    graph: float
    features: float  # as the graph has them
    splits: float
    features_at_place: float
    operator: float
    building: float  # in passing
    parameters: float
    activations: float  # in passing, of one stack
    triplets: float  # in passing
    evaluation: float  # in passing
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
        return self.features_at_place + max(
            self.building,
            self.operator + self.parameters + max(self.activations + self.triplets, self.evaluation),
        )


def parts_of(
    planned: Plan, method: Method, training: Training, sizes: Sizes, replicas: int, place: Place
) -> Parts:
    """Plan a whole run of some replicas."""
    number = place.dtype.itemsize
    counts = _stacks(planned, method, sizes, replicas, place)
    stack, every = (
        Stack(sizes.nodes, r, number, place.device.type == "cuda") for r in (max(counts), replicas)
    )
    epochs = training.epochs if planned.shapes else 0
    layer, compared = _layers(planned, method, training, sizes, stack)
    answering = planned.layers(every) + answers(every, method, sizes, sizes.nodes // 5, planned.width)
    states = float(_parameters(planned, method, sizes) * number)
    moving = max(counts) * states * max(_MOVING, _STARTING / number)
    again = NOTHING if sizes.entries >= WORTH_KEEPING else planned.inputs.work  # or read from the cache
    return Parts(
        graph=graph_bytes(sizes),
        features=feature_bytes(sizes),
        splits=_split_bytes(sizes, replicas, number),
        features_at_place=planned.inputs.features,
        operator=planned.inputs.operator,
        building=planned.inputs.building,
        parameters=replicas * _STATES * states,
        activations=max(layer.kept + layer.passing, moving) if epochs else 0.0,
        triplets=compared.kept + compared.passing if epochs else 0.0,
        evaluation=answering.answering + every.array(planned.width),
        loading=_loading(sizes),
        preparing=planned.inputs.work,
        epoch=sum((_epoch(planned, method, training, sizes, stack, r) for r in counts), NOTHING),
        evaluating=again + answering.forward + answering.learning,
        epochs=epochs,
        together=max(counts),
    )


def graph_bytes(sizes: Sizes) -> float:
    """Adjacency in CSR, float32 and int32, and a label for each node."""
    return 8.0 * sizes.entries + 12.0 * sizes.nodes


def feature_bytes(sizes: Sizes) -> float:
    """X as the graph has it."""
    if sizes.filled is not None:
        return sizes.filled * (sizes.feature_bytes + 4.0) + 4.0 * sizes.nodes
    return float(sizes.nodes * sizes.features * sizes.feature_bytes)


def one_replica(
    planned: Plan, method: Method, training: Training, sizes: Sizes, number: int, *, fused: bool
) -> float:
    """Bytes that training a single replica holds between its two passes: less is not possible."""
    layer, compared = _layers(planned, method, training, sizes, Stack(sizes.nodes, 1, number, fused))
    return layer.kept + compared.kept + _STATES * _parameters(planned, method, sizes) * number


def _layers(
    planned: Plan, method: Method, training: Training, sizes: Sizes, stack: Stack
) -> tuple[Layer, Layer]:
    """The map with softmax and the answers of an epoch; and the triplets."""
    layer = planned.layers(stack) + softmax(stack, method, sizes, planned.width)
    layer += answers(stack, method, sizes, sizes.validation, planned.width)
    if method.objective == "softmax":
        return layer, Layer()
    return layer, triplets(stack, method, training.triplets, planned.width)


def _epoch(
    planned: Plan, method: Method, training: Training, sizes: Sizes, stack: Stack, replicas: int
) -> Work:
    stack = Stack(stack.nodes, replicas, stack.number, stack.fused)
    layer, compared = _layers(planned, method, training, sizes, stack)
    moved = float(replicas * _parameters(planned, method, sizes) * stack.number)
    return layer.epoch + compared.epoch + gone_through(moved, 30, made=4) + Work(operations=_CALLS)


def _stacks(planned: Plan, method: Method, sizes: Sizes, replicas: int, place: Place) -> list[int]:
    """How many replicas each stack has, as the loop decides it."""
    shapes = [*planned.shapes, *([(sizes.classes,)] if method.classifier == "softmax" else [])]
    one = {str(i): torch.empty(shape, device="meta") for i, shape in enumerate(shapes)}
    slices = stack_slices(one, sizes.nodes, replicas, place)
    return [len(range(*some.indices(replicas))) for some in slices]


def _parameters(planned: Plan, method: Method, sizes: Sizes) -> int:
    return planned.parameters + (sizes.classes if method.classifier == "softmax" else 0)


def _split_bytes(sizes: Sizes, replicas: int, number: int) -> float:
    """Nodes and labels of every split: dealt out, as the lesson has them, and as the stacks do."""
    rows = replicas if sizes.own_splits else 1
    taught = sizes.training + sizes.validation
    return float(rows * (8 * sizes.nodes + 16 * taught + (16 + number) * taught))


def _loading(sizes: Sizes) -> Work:
    if sizes.filled is not None or sizes.graph is not None:
        return gone_through(graph_bytes(sizes) + feature_bytes(sizes), 20, made=3)
    made = gone_through(feature_bytes(sizes), 50, made=4)
    return made + Work(walks=70.0 * sizes.edges)
