"""What the layers of a map take, for a stack of replicas: memory of both passes, and their work.

Every figure counts arrays that the code of ``maps`` and ``hops`` holds at one time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from kernode.studies.cost.inputs import Inputs, Numbers
from kernode.studies.cost.work import ENTRY, NOTHING, Work, dense_product, gone_through, sparse_product


@dataclass(frozen=True)
class Stack:
    """Replicas that train together."""

    nodes: int
    replicas: int
    numbers: Numbers

    def array(self, width: float) -> float:
        """Bytes of n × r × width numbers."""
        return float(self.nodes * self.replicas * width * self.numbers.size)

    def scaled(self, width: float, times: float) -> Work:
        """As many numbers, each times a factor of its replica; a single replica's is one for all."""
        if self.replicas == 1 or self.numbers.on_gpu:
            return gone_through(self.array(width), 3 * times)
        return Work(short=float(self.nodes * self.replicas * width * times), operations=times)


@dataclass(frozen=True)
class Layer:
    """Bytes kept from the forward to the backward pass, bytes more in passing, and the work."""

    kept: float = 0.0
    passing: float = 0.0  # in training
    answering: float = 0.0  # in passing, without a gradient
    left: float = 0.0  # by an evaluation for the next epoch
    forward: Work = NOTHING
    learning: Work = NOTHING  # what training adds: dropout and the backward pass
    spared: Work = NOTHING  # what an epoch need not do, since the evaluation before has left it

    def __add__(self, other: Layer) -> Layer:
        """One after the other: what is kept adds up, what passes does not."""
        return Layer(
            self.kept + other.kept,
            max(self.passing, other.passing),
            max(self.answering, other.answering),
            self.left + other.left,
            self.forward + other.forward,
            self.learning + other.learning,
            self.spared + other.spared,
        )

    @property
    def epoch(self) -> Work:
        """A training step and the evaluation after it."""
        return 2 * self.forward + self.learning + -1 * self.spared


def first(stack: Stack, inputs: Inputs, width: int) -> Layer:
    """X W with an X that all replicas share."""
    columns, out = stack.replicas * width, stack.array(width)
    if inputs.filled is None:
        held = float(stack.nodes * inputs.width * stack.numbers.size)
        forward = dense_product(stack.nodes * inputs.width * columns, held, out)
        back = dense_product(stack.nodes * inputs.width * columns, held + out, 0)
    else:
        weights = inputs.width * columns * stack.numbers.size
        forward = sparse_product(inputs.filled, columns, weights, out)
        back = sparse_product(inputs.filled, columns, out, weights)
    if stack.numbers.on_gpu:  # a captured epoch takes nothing from the one before
        return Layer(passing=out, answering=out, forward=forward, learning=back)
    return Layer(passing=out, answering=out, left=out, forward=forward, learning=back, spared=forward)


def activation(stack: Stack, width: int) -> Layer:
    """ReLU and dropout: the result is kept; a random word serves four elements, some rows at a time."""
    out = stack.array(width)
    words = NOTHING if stack.numbers.on_gpu else gone_through(out / stack.numbers.size * 2, 34)
    learning = gone_through(out, 6, made=1) + stack.scaled(width, 2) + words
    return Layer(
        kept=out, passing=2 * out, answering=2 * out, forward=gone_through(out, 2, made=1), learning=learning
    )


def between(stack: Stack, rows: int, width: int) -> Layer:
    """H W with weights and inputs of each replica's own."""
    taken, out = stack.array(rows), stack.array(width)
    forward = dense_product(stack.nodes * stack.replicas * rows * width, taken, out)
    back = dense_product(2 * stack.nodes * stack.replicas * rows * width, taken + 2 * out, taken)
    return Layer(passing=out + taken, answering=taken + out, forward=forward, learning=back)


def mlp(stack: Stack, inputs: Inputs, widths: tuple[int, ...]) -> Layer:
    """MLP(X): a product, and for every hidden layer an activation and another product."""
    layer = first(stack, inputs, widths[0])
    for rows, width in pairwise(widths):
        layer += activation(stack, rows) + between(stack, rows, width)
    return layer


def hop_sum(stack: Stack, inputs: Inputs, width: int) -> Layer:
    """Σ_h ω_h T_h Z: all T_h Z at once, forward and back."""
    assert inputs.cost is not None
    out, terms = stack.array(width), inputs.cost.hops + 1
    applied = sparse_product(inputs.multiply_adds, stack.replicas * width, out, 0)
    applied += gone_through(out, terms + 1, made=terms + 1) + stack.scaled(width, terms)
    return Layer(
        kept=out,
        passing=(terms + 3) * out,
        answering=(terms + 2) * out,
        forward=applied,
        learning=applied + gone_through(out, 3 * terms, made=1),
    )


def propagation(stack: Stack, inputs: Inputs, width: int, after: int = 1) -> Layer:
    """Ā H, and ``after`` operations on the elements of the result."""
    out = stack.array(width)
    applied = sparse_product(inputs.multiply_adds, stack.replicas * width, out, out)
    applied += gone_through(out, 3 * after, made=after)
    return Layer(passing=3 * out, answering=3 * out, forward=applied, learning=applied)


def messages(stack: Stack, entries: float, rows: int, width: int, heads: int = 0) -> Layer:
    """A layer of another library that holds a message for every edge: gathered, weighted, summed.

    Replicas go through it one after the other, but all wait for their gradients.
    """
    r, out = stack.replicas, stack.array(width)
    edges, attention = (float(entries * r * each * stack.numbers.size) for each in (width, 6 * heads))
    forward = dense_product(stack.nodes * r * rows * width, stack.array(rows), out)
    forward += Work(far=float(entries * r * (width + ENTRY)), operations=30.0 * r)
    forward += gone_through(edges, 6, made=2) + gone_through(attention, 4, made=1)
    return Layer(
        kept=2 * edges + attention + 2 * out,
        passing=(2 * edges + attention) / r,
        answering=(2 * edges + attention) / r,
        forward=forward,
        learning=2 * forward,
    )
