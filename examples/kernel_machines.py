"""A learned kernel in other people's machines: scikit-learn's SVC, twice, and a Gaussian process of GPyTorch.

    pip install 'kernode[gp]' && python examples/kernel_machines.py

Learns K on Cora from the training nodes' classes (the validation nodes choose the epoch), then hands it on. A
machine sees the same nodes that K was learned from; the test nodes are scored once by each. The last line
says how often the Gaussian process is right on the half of them where it is surer, and on the other half.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.svm import SVC

with warnings.catch_warnings():  # its import warns of a torch function that it still uses
    warnings.simplefilter("ignore", DeprecationWarning)
    import gpytorch

import kernode as kn


class Regression(gpytorch.models.ExactGP):
    """One process per class, on the same nodes: 1 for the class, −1 for the rest."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor, kernel: kn.NodeKernel) -> None:
        batch = torch.Size(y.shape[:1])
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood(batch_shape=batch))
        self.mean = gpytorch.means.ConstantMean(batch_shape=batch)
        self.covariance = gpytorch.kernels.ScaleKernel(kn.gp.GPKernel(kernel), batch_shape=batch)

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        """The prior: a constant mean, a scaled K."""
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.covariance(x))


def gaussian_process(
    kernel: kn.NodeKernel, train: np.ndarray, y: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Classes of test nodes, and how far the likeliest is ahead of the next, in standard deviations."""
    targets = 2 * torch.nn.functional.one_hot(torch.tensor(y)).double().T - 1  # c × m
    x, asked = (
        torch.tensor(nodes, dtype=torch.float64)[:, None].expand(len(targets), -1, -1)
        for nodes in (train, test)
    )
    torch.manual_seed(0)  # GPyTorch estimates determinants with random vectors
    process = Regression(x, targets, kernel).double()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(process.likelihood, process)
    optimizer = torch.optim.Adam(process.parameters(), lr=0.1)
    for _ in range(8):
        optimizer.zero_grad()
        loss = -evidence(process(x), targets).sum()
        loss.backward()
        optimizer.step()
    process.eval()
    with torch.no_grad():
        posterior = process.likelihood(process(asked))
    means, order = posterior.mean.T.numpy(), posterior.mean.T.sort(dim=1, descending=True)
    first, second = order.indices[:, 0], order.indices[:, 1]
    spread = (posterior.variance.T.gather(1, torch.stack([first, second], dim=1)).sum(dim=1)).sqrt()
    return means.argmax(axis=1), ((order.values[:, 0] - order.values[:, 1]) / spread).numpy()


def main() -> None:
    """Learn K once, use it three times."""
    graph, split = kn.load("cora", split="fastgcn")
    train, test = split.train, split.test
    y, truth = graph.labels[train], graph.labels[test]
    model = kn.NodeKernelClassifier("k1", replicas=2)  # ten epochs, as the paper has it on Cora
    model.fit(train, y, graph=graph, validation=split.validation)
    K = model.kernel_
    print(f"{graph}, {K}")
    print(f"K1's own nearest centroids      {100 * model.score(test, truth):.1f} % of the test nodes")

    precomputed = SVC(kernel="precomputed").fit(K.gram(train), y)
    print(f"SVC, Gram matrix given          {100 * precomputed.score(K.gram(test, train), truth):.1f} %")

    called = SVC(kernel=K).fit(train[:, None], y)  # scikit-learn wants columns
    print(f"SVC, kernel called              {100 * called.score(test[:, None], truth):.1f} %")

    found, ahead = gaussian_process(K, train, y, test)
    right = found == truth
    print(f"Gaussian process, one per class {100 * right.mean():.1f} %")
    sure = ahead > np.median(ahead)
    print(f"  the surer half {100 * right[sure].mean():.1f} %, the other {100 * right[~sure].mean():.1f} %")


if __name__ == "__main__":
    main()
