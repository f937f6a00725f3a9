"""PyTorch Geometric's systems on the same task: same features, training nodes, loss and optimiser.

Features are dense, as in PyTorch Geometric's own examples (its layers take no sparse X), and what an
example computes once (the normalised adjacency, smoothed features) is computed once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from experiments.rivals.jk import torch_geometric_nn
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import MissingExtraError
from kernode.graph import Graph
from kernode.io import Split
from kernode.training.settings import Training

RIVALS = ("pyg-gcn", "pyg-gcn-csr", "pyg-gat", "pyg-sgc", "pyg-sign", "pyg-sage", "pyg-sage-csr")
HOPS = 2  # of SGC and SIGN; a GCN or GAT of two layers sees as far
HEADS, HEAD_WIDTH = 8, 8  # of GAT, as published

# Same as ours: the rate after hidden layers, the learning rate, the weight decay.
_SETTINGS = Training()


def layers_of_pyg() -> Any:
    """Return the module torch_geometric.nn, or raise an error that names the extra."""
    try:
        return torch_geometric_nn()
    except MissingExtraError:
        raise MissingExtraError(
            "the benchmark compares with PyTorch Geometric: pip install 'kernode[bench]'.",
            "extra",
            package="torch_geometric",
            extra="bench",
        ) from None


class Rival:
    """One of PyTorch Geometric's systems in training on a graph."""

    def __init__(
        self,
        graph: Graph,
        split: Split,
        system: str,
        tensor_options: TensorOptions,
        *,
        hidden: int = 16,
        layers: int = 2,
    ) -> None:
        parts = {"train": split.train, "validation": split.validation}
        self.nodes = {
            part: torch.tensor(nodes, device=tensor_options.device) for part, nodes in parts.items()
        }
        self.labels = {
            part: torch.tensor(graph.labels[nodes], device=tensor_options.device)
            for part, nodes in parts.items()
        }
        x, edges = dense_features(graph, tensor_options), edge_index(graph, tensor_options)
        shape = (graph.n_features, hidden, graph.n_classes)
        self.by_rows = system == "pyg-sign"  # needs no graph while training, only rows
        if system == "pyg-sign":
            self.model: nn.Module = SIGN(*shape)
            smoothed = sign_features(x, edges)
            self.inputs = {part: [one[rows] for one in smoothed] for part, rows in self.nodes.items()}
        else:
            given = csr_adjacency(edges, graph.n_nodes) if system.endswith("-csr") else edges
            kinds = {"pyg-gat": GAT, "pyg-sgc": SGC, "pyg-sage": SAGE}
            self.model = kinds.get(system.removesuffix("-csr"), GCN)(*shape, layers)
            self.inputs = {part: [x, given] for part in self.nodes}
        self.model.to(tensor_options.dtype).to(tensor_options.device)
        self.adam = torch.optim.Adam(
            self.model.parameters(),
            lr=float(_SETTINGS.learning_rate),  # type: ignore[arg-type]
            weight_decay=float(_SETTINGS.weight_decay),  # type: ignore[arg-type]
        )

    def scores(self, part: str) -> Tensor:
        """Class scores of the training or validation nodes: m × c."""
        out: Tensor = self.model(*self.inputs[part])
        return out if self.by_rows else out[self.nodes[part]]

    def step(self) -> Tensor:
        """One training step; gives the loss."""
        self.model.train()
        self.adam.zero_grad()
        loss = functional.cross_entropy(self.scores("train"), self.labels["train"])
        loss.backward()
        self.adam.step()
        return loss.detach()

    @torch.no_grad()
    def evaluate(self) -> Tensor:
        """Accuracy on the validation nodes, as a fraction."""
        self.model.eval()
        return (self.scores("validation").argmax(dim=1) == self.labels["validation"]).float().mean()


class GCN(nn.Module):
    """Kipf & Welling's convolutions, with PyG's normalised adjacency cached."""

    def __init__(self, features: int, hidden: int, classes: int, layers: int) -> None:
        super().__init__()
        widths = [features, *[hidden] * (layers - 1), classes]
        convolution = layers_of_pyg().GCNConv
        self.layers = nn.ModuleList(convolution(widths[i], widths[i + 1], cached=True) for i in range(layers))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores of all nodes."""
        for layer in self.layers[:-1]:
            x = _dropped(torch.relu(layer(x, edges)), self)
        out: Tensor = self.layers[-1](x, edges)
        return out


class GAT(nn.Module):
    """Attention: heads side by side, then one. Dropout as in the others, none on inputs and attention."""

    def __init__(self, features: int, hidden: int, classes: int, layers: int) -> None:
        super().__init__()
        attention = layers_of_pyg().GATConv
        widths = [features, *[HEADS * HEAD_WIDTH] * (layers - 1)]
        self.layers = nn.ModuleList(attention(before, HEAD_WIDTH, HEADS) for before in widths[:-1])
        self.last = attention(widths[-1], classes, 1)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores of all nodes."""
        for layer in self.layers:
            x = _dropped(functional.elu(layer(x, edges)), self)
        out: Tensor = self.last(x, edges)
        return out


class SAGE(nn.Module):
    """GraphSAGE with means, BatchNorm and relu after each layer, then a linear layer for the classes."""

    def __init__(self, features: int, hidden: int, classes: int, layers: int) -> None:
        super().__init__()
        convolution = layers_of_pyg().SAGEConv
        widths = [features, *[hidden] * layers]
        self.layers = nn.ModuleList(convolution(widths[i], hidden) for i in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers))
        self.last = nn.Linear(hidden, classes)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores of all nodes."""
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = _dropped(torch.relu(norm(layer(x, edges))), self)
        out: Tensor = self.last(x)
        return out


class SGC(nn.Module):
    """Logistic regression on smoothed features, which PyG keeps after the first step."""

    def __init__(self, features: int, hidden: int, classes: int, layers: int) -> None:
        super().__init__()
        self.layer = layers_of_pyg().SGConv(features, classes, K=HOPS, cached=True)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Class scores of all nodes."""
        out: Tensor = self.layer(x, edges)
        return out


class SIGN(nn.Module):
    """PyG's example: a layer for each hop's features, side by side, then a layer for the classes."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, hidden) for _ in range(HOPS + 1))
        self.last = nn.Linear((HOPS + 1) * hidden, classes)

    def forward(self, *by_hop: Tensor) -> Tensor:
        """Class scores of the nodes whose rows are given."""
        hidden = [_dropped(torch.relu(layer(x)), self) for layer, x in zip(self.layers, by_hop, strict=True)]
        out: Tensor = self.last(torch.cat(hidden, dim=-1))
        return out


def dense_features(graph: Graph, tensor_options: TensorOptions) -> Tensor:
    """X with rows scaled to sum 1, dense: n × f."""
    x: Any = graph.features.astype("float32")  # first: a dense float64 copy would count as its memory
    dense = (
        torch.from_numpy(x.toarray() if sparse.issparse(x) else x)
        .to(tensor_options.dtype)
        .to(tensor_options.device)
    )
    return functional.normalize(dense, p=1, dim=1)


def edge_index(graph: Graph, tensor_options: TensorOptions) -> Tensor:
    """Both directions of every edge: 2 × entries. Weights are left out: they would not change the cost."""
    coo = graph.adjacency.tocoo()
    return torch.stack([torch.tensor(coo.row), torch.tensor(coo.col)]).long().to(tensor_options.device)


def csr_adjacency(edges: Tensor, nodes: int) -> Tensor:
    """The adjacency as torch's CSR tensor, for which PyG multiplies matrices instead of passing messages."""
    with _without_notices():
        from torch_geometric.utils import to_torch_csr_tensor

        adjacency: Tensor = to_torch_csr_tensor(edges, size=(nodes, nodes))
    return adjacency


def sign_features(x: Tensor, edges: Tensor) -> list[Tensor]:
    """X, and X smoothed once and twice by PyG's own transform."""
    with _without_notices():
        from torch_geometric import transforms
        from torch_geometric.data import Data

        data = transforms.SIGN(HOPS)(Data(x=x, edge_index=edges))
    return [x, *(data[f"x{hop}"] for hop in range(1, HOPS + 1))]


@contextmanager
def _without_notices() -> Iterator[None]:
    """Without the warnings that torch gives once about PyG's imports and CSR and CSC tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", "Sparse (CS[RC] tensor support is in beta|invariant checks)")
        yield


def _dropped(x: Tensor, module: nn.Module) -> Tensor:
    return functional.dropout(x, float(_SETTINGS.dropout), module.training)  # type: ignore[arg-type]
