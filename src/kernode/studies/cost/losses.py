"""What comes after the map: the triplets of L_K, softmax, and answers for nodes."""

from __future__ import annotations

from kernode.node_classification.classifiers import GRAM_BLOCK
from kernode.node_classification.method import Method
from kernode.studies.cost.layers import Layer, Stack
from kernode.studies.cost.sizes import Sizes
from kernode.studies.cost.work import ENTRY, Work, dense_product, gone_through


def triplets(stack: Stack, method: Method, count: int, width: int) -> Layer:
    """Triplets drawn, their rows gathered, the hinge, and its gradient scattered."""
    drawn = count * stack.replicas
    rows, words = float(drawn * width * stack.numbers.size), 8.0 * drawn
    if stack.numbers.on_gpu:
        work = Work(near=6.0 * drawn * (width + ENTRY), operations=6)
        return Layer(kept=3 * words, learning=work)
    # A dot product's hinge has its own gradient; any other kernel and loss goes through autograd.
    arrays = 2 if method.kernel.dot_product and method.kernel_loss == "hinge" else 9
    work = gone_through(words, 40, made=10) + gone_through(rows, 4 * arrays, made=arrays)
    work += Work(short=drawn * (25.0 + 4 * arrays * (width + 4)))
    return Layer(kept=3 * words + arrays * rows, passing=6 * words + arrays * rows, learning=work)


def softmax(stack: Stack, method: Method, sizes: Sizes, width: int) -> Layer:
    """Rows of g at the training nodes, their directions and L_Y; the gradient goes back into all of g."""
    each = sizes.training * stack.replicas
    rows, scores = (float(each * columns * stack.numbers.size) for columns in (width, sizes.classes))
    has_kernel, has_softmax = method.objective != "softmax", method.classifier == "softmax"
    work = gone_through(rows, 6 + 8 * has_kernel, made=2) + has_softmax * gone_through(scores, 16, made=4)
    return Layer(
        kept=rows * (1 + has_kernel) + has_softmax * (2 * scores + 12.0 * each),
        passing=2 * rows + stack.array(width),
        learning=work + gone_through(stack.array(width), 2, made=1),
    )


def answers(stack: Stack, method: Method, sizes: Sizes, nodes: int, width: int) -> Layer:
    """Class scores of some nodes: softmax's are at hand, nearest centroids compare with training nodes."""
    scores = float(nodes * stack.replicas * max(width, sizes.classes) * stack.numbers.size)
    if method.classifier == "softmax":
        return Layer(passing=4 * scores, answering=4 * scores, learning=gone_through(scores, 12, made=3))
    taught = sizes.training * stack.replicas
    rows = float(taught * width * stack.numbers.size)
    if method.kernel.dot_product:
        held = 2 * rows + 4 * scores
        work = dense_product(taught * sizes.classes * width, rows, 0) + gone_through(rows, 6, made=2)
    else:
        block = float(min(GRAM_BLOCK, nodes * sizes.training) * stack.numbers.size)
        held = 4 * block + stack.array(width)
        work = dense_product(nodes * taught * (width + sizes.classes), 0, 0)
        work += gone_through(block, 8, made=4) * (nodes * taught * stack.numbers.size / max(block, 1.0))
    return Layer(passing=held, answering=held, learning=work)
