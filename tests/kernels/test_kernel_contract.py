"""What every base kernel keeps to: each property for all kernels that are listed."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphs import vectors
from kernode.compute.stack import replica
from kernode.kernels import BaseKernel, NodeKernel, Normalized, graph_kernel
from parts import KERNELS, over

every_kernel = over("kernel", KERNELS)


def moved(kernel, replicas=2):
    """Parameters away from their first values, others for each replica."""
    start = kernel.initial(replicas)
    return {
        name: value + torch.linspace(-0.5, 0.5, replicas, dtype=value.dtype) for name, value in start.items()
    }


def smallest_eigenvalue(matrix):
    matrix = np.asarray(matrix, dtype=float)
    return np.linalg.eigvalsh(matrix).min() / max(1.0, np.abs(matrix).max())


@every_kernel
def test_gram_is_symmetric_and_psd(kernel):
    x = kernel.embed(vectors(n=9))
    for gram in kernel.gram(x, x, moved(kernel)):
        assert torch.allclose(gram, gram.T)
        assert smallest_eigenvalue(gram) > -1e-12


@every_kernel
def test_pairs_are_the_diagonal_of_gram(kernel):
    x, y = kernel.embed(vectors(seed=1)), kernel.embed(vectors(seed=2))
    gram = kernel.gram(x, y, moved(kernel))
    assert gram.shape == (2, 6, 6)
    assert torch.allclose(kernel.pairs(x, y, moved(kernel)), gram.diagonal(dim1=1, dim2=2))


@every_kernel
def test_embedding_is_of_each_node_alone_and_as_wide_as_said(kernel):
    x = vectors()
    embedded = kernel.embed(x)
    assert embedded.shape == (2, 6, 3 * kernel.embedding_copies)
    assert torch.allclose(embedded[:, 2:4], kernel.embed(x[:, 2:4]))


@every_kernel
def test_a_dot_product_is_that_of_the_embedded_vectors(kernel):
    x, y = kernel.embed(vectors(seed=1)), kernel.embed(vectors(seed=2))
    same = torch.allclose(kernel.gram(x, y, moved(kernel)), x @ y.transpose(1, 2))
    assert same == kernel.dot_product


@every_kernel
def test_stack_is_each_replica_alone(kernel):
    x, y = vectors(seed=1), vectors(seed=2)
    stack = kernel.gram(kernel.embed(x), kernel.embed(y), moved(kernel))
    for i in (0, 1):
        own = kernel.embed(x[i : i + 1]), kernel.embed(y[i : i + 1])
        alone = kernel.gram(*own, replica(moved(kernel), i))
        assert torch.allclose(stack[i], alone[0])


@every_kernel
def test_gradients_pass_gradcheck(kernel):
    names = list(kernel.initial(2))

    def of(x, *values):
        parameters = dict(zip(names, values, strict=True))
        embedded = kernel.embed(x)
        return kernel.gram(embedded, embedded, parameters), kernel.pairs(
            embedded, embedded.flip(1), parameters
        )

    inputs = [vectors(n=4).requires_grad_(), *(p.requires_grad_() for p in kernel.initial(2).values())]
    assert torch.autograd.gradcheck(of, inputs)


@every_kernel
def test_kernel_travels_as_json_and_by_pickle(kernel):
    assert BaseKernel.from_json(json.loads(json.dumps(kernel.to_json()))) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(replace(kernel)) == hash(kernel)


@every_kernel
def test_normalised_kernel_knows_directions_alone(kernel):
    """K̄ is the same wherever on its ray a vector lies."""
    kernel = kernel if isinstance(kernel, Normalized) else Normalized(kernel)
    x = vectors(n=30)
    longer = x * torch.linspace(0.1, 100, 30, dtype=x.dtype)[:, None]
    once, again = (kernel.gram(kernel.embed(one), kernel.embed(one), moved(kernel)) for one in (x, longer))
    assert torch.allclose(once, again)


@every_kernel
def test_node_kernel_is_the_mean_over_the_stack(kernel):
    g, parameters = vectors(), moved(kernel)
    whole = NodeKernel(kernel, g, parameters)
    alone = [NodeKernel(kernel, g[i], replica(parameters, i)).gram([0, 1, 2], [3, 4]) for i in (0, 1)]
    assert np.allclose(whole.gram([0, 1, 2], [3, 4]), np.mean(alone, axis=0))
    assert np.allclose(whole.diagonal(), whole.gram().diagonal())
    assert np.allclose(whole.pairs([0, 1, 5], [3, 4, 0]), whole.gram()[[0, 1, 5], [3, 4, 0]])
    assert np.allclose(np.concatenate([*whole.blocks(rows=2)]), whole.gram())


@every_kernel
def test_equation_1_graph_kernel_is_the_double_sum(kernel):
    one, other = vectors(n=5, seed=1), vectors(n=7, seed=2)
    parameters = kernel.initial(2)
    kernels = [NodeKernel(kernel, g, parameters) for g in (one, other)]
    x, y = (k.embedded for k in kernels)
    naive = sum(
        float(kernel.pairs(x[:, [i]], y[:, [j]], parameters).mean()) for i in range(5) for j in range(7)
    )
    assert graph_kernel(*kernels, block=2) == pytest.approx(naive)


@every_kernel
def test_what_grows_never_falls_while_the_cosine_rises(kernel):
    x = torch.nn.functional.normalize(vectors(n=40), dim=-1)
    embedded = kernel.embed(x)
    for cosines, gram in zip(
        x @ x.transpose(1, 2), kernel.gram(embedded, embedded, moved(kernel)), strict=True
    ):
        values = gram.flatten()[cosines.flatten().argsort()]
        assert not kernel.grows or bool((values.diff() > -1e-9).all())
