"""Gaussian processes of GPyTorch on a learned kernel, against the closed formulas."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

with warnings.catch_warnings():  # its import warns of a torch function that it still uses
    warnings.simplefilter("ignore", DeprecationWarning)
    import gpytorch

import kernode as kn
from graphs import CLUSTERS as GRAPH
from kernode.errors import InputError
from kernode.kernels import RBF, Linear, Normalized
from kernode.kernels.gp import GPKernel
from tasks import SPLIT

TRAIN, TEST = SPLIT.train, SPLIT.test


def kernel(base=None, replicas=2):
    model = kn.NodeKernelClassifier(
        "n1", epochs=20, learning_rate=0.05, replicas=replicas, precision=64, kernel=base, device="cpu"
    )
    return model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH).kernel_


def column(nodes):
    return torch.tensor(nodes, dtype=torch.float64)[:, None]


class Regression(gpytorch.models.ExactGP):
    """As in GPyTorch's first tutorial."""

    def __init__(self, x, y, likelihood, covariance):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = covariance

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


@pytest.mark.parametrize("base", [Normalized(Linear()), RBF(0.5)])
def test_posterior_is_the_closed_formula_of_gram_and_noise(base):
    learned, noise, scale = kernel(base), 0.3, 1.7
    y = torch.tensor(np.where(GRAPH.labels[TRAIN] == 0, 1.0, -1.0))
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = noise
    covariance = gpytorch.kernels.ScaleKernel(GPKernel(learned)).double()
    covariance.outputscale = scale
    process = Regression(column(TRAIN), y, likelihood, covariance).double().eval()
    likelihood.eval()
    with torch.no_grad():
        posterior = process(column(TEST))
    solve = np.linalg.solve(scale * learned.gram(TRAIN) + noise * np.eye(len(TRAIN)), np.eye(len(TRAIN)))
    cross = scale * learned.gram(TEST, TRAIN)
    assert np.allclose(posterior.mean.numpy(), cross @ solve @ y.numpy(), atol=1e-6)
    variance = scale * learned.diagonal(TEST) - np.einsum("ij,jk,ik->i", cross, solve, cross)
    assert np.allclose(posterior.variance.numpy(), variance, atol=1e-6)


def test_every_call_of_a_kernel_is_the_gram_matrix():
    learned = kernel()
    k = GPKernel(learned)
    x, y = column(TRAIN[:6]), column(TEST[:4])
    gram = learned.gram(TRAIN[:6], TEST[:4])
    assert np.array_equal(k(x, y).to_dense().numpy(), gram)
    assert np.allclose(k(x, diag=True).numpy(), learned.diagonal(TRAIN[:6]))
    assert np.allclose(k(x[:4], y, diag=True).numpy(), learned.pairs(TRAIN[:4], TEST[:4]))
    batch = torch.stack([x, x.flip(0)])
    assert np.array_equal(k(batch, y).to_dense().numpy(), np.stack([gram, gram[::-1]]))
    assert k(batch, diag=True).shape == (2, 6)
    assert k.forward(x, x, diag=True).shape == (6,)  # not the diagonal of a whole matrix
    assert k(x.float(), y.float()).to_dense().dtype == torch.float32
    assert k(x.long(), y.long()).to_dense().dtype == torch.float64
    assert (k + GPKernel(learned))(x, y).to_dense().numpy() == pytest.approx(2 * gram)


def test_wrong_use_is_one_sentence():
    k = GPKernel(kernel())
    for wrong, sentence in (
        (lambda: GPKernel("rbf"), "node_kernel must be a NodeKernel"),
        (lambda: k(column(TRAIN).expand(-1, 2)).to_dense(), "one column of node indices. Got 2"),
        (lambda: k(column([0, 120])).to_dense(), "node 120 is not in the graph"),
        (lambda: k(column([0.5])).to_dense(), "nodes must be integer indices. Got 0.5"),
    ):
        with pytest.raises(InputError, match=sentence):
            wrong()


@pytest.mark.slow
def test_without_gpytorch_the_extra_is_named():
    code = (
        "import sys; sys.modules['gpytorch'] = None\n"
        "import kernode as kn\n"
        "assert all(getattr(kn, name) is not None for name in kn.__all__)\n"
        "try: kn.gp.GPKernel(None)\n"
        "except kn.gp.MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "GPKernel needs GPyTorch: pip install 'kernode[gp]'.\n"


def test_a_column_holds_positions_also_where_names_are_integers():
    g = torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    named = kn.NodeKernel(Linear(), g, names=np.array([2, 0, 1]))
    covariance = GPKernel(named)(column([0, 2])).to_dense()
    assert torch.equal(covariance, torch.tensor([[9.0, 3.0], [3.0, 2.0]], dtype=torch.float64))
