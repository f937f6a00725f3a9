"""C_K, the nearest centroid. (C_Y is softmax of g itself: losses/softmax.py.)"""

from __future__ import annotations

import torch
from torch import Tensor

from kernode.compute.stack import Parameters, replica, take
from kernode.kernels import BaseKernel
from kernode.losses.nodes_by_class import NodesByClass

NO_SIMILARITY = -1e3  # to a class without training nodes: below every mean of K̄, but finite
GRAM_BLOCK = 2**24  # entries of a Gram matrix that are held at a time


def centroid_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, members: NodesByClass, nodes: Tensor
) -> Tensor:
    """C_K: μ_y, the mean K̄ between a node and the training nodes of class y; r × m × c.

    g is r × n × d, nodes q × m. Their softmax is what C_K reports as probabilities, which a temperature then
    calibrates: similarities lie within [−1, 1], and would never be sure.
    """
    return reference_scores(kernel, parameters, take(g, nodes), references(kernel, g, members), members)


def references(kernel: BaseKernel, g: Tensor, members: NodesByClass) -> Tensor:
    """What C_K needs of the training nodes where they are not at hand, from g (r × n × d).

    Class means of what the kernel compares (r × c × d') where it is a dot product: the mean of products is
    the product with the mean. Else the training nodes' own g, class by class (r × m × d).
    """
    training = take(g, members.nodes)
    return members.averaging.to(g.dtype) @ kernel.embed(training) if kernel.dot_product else training


def reference_scores(
    kernel: BaseKernel, parameters: Parameters, g: Tensor, held: Tensor, members: NodesByClass
) -> Tensor:
    """C_K of nodes with g (r × m × d) from what :func:`references` held: r × m × c."""
    embedded = kernel.embed(g)
    if kernel.dot_product:
        scores = embedded @ held.transpose(1, 2)
    else:
        training, found = kernel.embed(held), []
        step = max(1, GRAM_BLOCK // training.shape[1])
        for i, rows in enumerate(embedded):  # by Gram blocks, one replica after another
            by_class = members.averaging[min(i, len(members.averaging) - 1)].to(rows.dtype).T
            own = training[i : i + 1], replica(parameters, i)
            parts = [kernel.gram(some[None], *own) @ by_class for some in rows.split(step)]
            found.append(torch.cat(parts, dim=1))
        scores = torch.cat(found)
    return scores.masked_fill((members.sizes == 0)[:, None], NO_SIMILARITY)
