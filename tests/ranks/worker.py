"""What every process of a job computes of its share, for test_shares.py: the first writes it down."""

import sys

import numpy as np
import torch

from graphs import clustered_graph
from kernode.compute.ranks import ALONE, Exchange, join, rows_for_all
from kernode.compute.tensor_options import TensorOptions
from kernode.graph.share import GraphShare, ranks_of
from kernode.hops import HopOperator
from kernode.tasks.classes.on_graph import similar_in_shares
from tasks import fit_split

PLACE = TensorOptions.of(64, "cpu")
READINGS = [(powers, hops) for powers in ("each", "last", "released", "plain") for hops in (1, 2, 3)]
# Every part of the family: both losses, all kernels, staged maps, means of columns, averages, dropout on X.
TRAININGS = {
    "k1": ("k1", {}), "k2": ("k2", {}), "n1": ("n1", {"powers": "released"}),
    "k3": ("k3", {"powers": "last"}),
    "hops": ("hops", {"input_dropout": 0.3}), "standardized": ("hops-standardized", {"input_dropout": 0.3}),
    "fast": ("fast", {}), "similarity": ("similarity-hops", {}),
}  # fmt: skip


def graph():
    """Small, with fewer nodes than divide evenly."""
    return clustered_graph(n=61, features=12)


def cut(whole, ranks, bounds):
    """A rank's share of a graph that all ranks hold."""
    rows = slice(int(bounds[ranks.rank]), int(bounds[ranks.rank + 1]))
    return GraphShare(
        whole.adjacency[rows], whole.features[rows], whole.labels, whole.class_names, whole.node_names,
        whole.name, whole.notes, whole.origin,
        ranks=ranks, bounds=np.asarray(bounds), of_whole=whole.fingerprint, entries=int(whole.adjacency.nnz),
    )  # fmt: skip


def share_of(ranks):
    """With shares of different sizes, where there are several."""
    whole = graph()
    return whole if ranks.alone else cut(whole, ranks, [0, 7, 40, 61])


def operators(mine):
    """Σ_h ω_h T_h z and its gradients, for every reading of Eq. 7, of all rows."""
    found = {}
    ranks, n = ranks_of(mine), mine.n_nodes
    rows = slice(mine.start, mine.stop) if isinstance(mine, GraphShare) else slice(None)
    random = torch.Generator().manual_seed(0)
    z_all = torch.randn(n, 2, 3, generator=random, dtype=torch.float64)
    upstream = torch.randn(n, 2, 3, generator=random, dtype=torch.float64)
    for powers, hops in READINGS:
        operator = HopOperator.of(mine, hops, powers, PLACE)
        z = z_all[rows].clone().requires_grad_()
        weights = torch.linspace(0.5, 2, 2 * (hops + 1), dtype=torch.float64).view(2, -1).requires_grad_()
        out = operator(z, weights)
        joined = operator.join([z * (h + 1) for h in range(hops + 1)])
        loss = ((out + joined) * upstream[rows]).sum()
        to_z, to_weights = torch.autograd.grad(loss, [z, weights])
        ranks.add(to_weights)
        rows_of_all = [torch.cat(ranks.gather(one.detach())) for one in (out, joined, to_z)]
        found |= {f"{powers}-{hops}-{i}": one.numpy() for i, one in enumerate([*rows_of_all, to_weights])}
    return found


def trainings(mine):
    """Test probabilities after a few epochs, and similar nodes."""
    found = {}
    for name, (variant, changes) in TRAININGS.items():
        model = fit_split(mine, variant, (3, 4), "0.4/0.3/0.3", **{"epochs": 6} | changes)
        on = model._on(None)
        found[name] = on.probabilities(np.stack([split.test for split in model._splits]))
        queries = np.array([0, 20, 60])
        if isinstance(mine, GraphShare):
            alike = similar_in_shares(on, queries, 5)
        else:
            alike = on.kernel.similar(queries, 5, exact=True)
        found[f"{name}-alike"] = np.array([[node for node, _ in one] for one in alike])
    return found


def exchanges(ranks):
    """Rows 0 … 60 of ten numbers, wanted by each rank as it likes: what came, how, and a gradient."""
    bounds, found = np.array([0, 7, 40, 61]), {}
    x = torch.arange(610, dtype=torch.float64).view(61, 10)
    own = x[bounds[ranks.rank] : bounds[ranks.rank + 1]]
    for name, wanted in {"few": [3 + ranks.rank, 50], "most": np.arange(61)}.items():
        exchange = Exchange(ranks, bounds, np.asarray(wanted), torch.device("cpu"))
        right = torch.equal(exchange(own)[exchange.at(np.asarray(wanted))], x[wanted])
        found[name] = np.array(all(ranks.gather(right)))
    exchange = Exchange(ranks, bounds, np.array([1, 8, 50]), torch.device("cpu"))
    g = own.view(1, -1, 10).clone().requires_grad_()
    chosen = rows_for_all(exchange, g)[:, exchange.at(np.array([1, 8, 50]))]
    (gradient,) = torch.autograd.grad((chosen**2).sum(), g)
    found["gradient"] = torch.cat(ranks.gather(gradient[0])).numpy()
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    ranks = join() if len(sys.argv) > 1 else ALONE
    mine = share_of(ranks)
    results = operators(mine) | trainings(mine) | exchanges(ranks)
    if ranks.first:
        np.savez(sys.argv[1], **results)
