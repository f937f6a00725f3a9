"""Learn a similarity kernel on the nodes of a graph.

>>> import kernode as kn
>>> graph, split = kn.load("cora")
>>> graph
Graph('cora': 2,708 nodes, 5,278 edges, 1,433 features, 7 classes)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernode import kernels, losses, maps
    from kernode.compute.gpu import deterministic
    from kernode.data import Split, datasets, extend, load, read_table
    from kernode.data.edge_split import EdgeSplit, split_edges
    from kernode.data.exchange import from_networkx, from_pyg, from_scipy, to_networkx, to_pyg
    from kernode.errors import FileError, InputError, KernodeError, KernodeWarning, MissingExtraError
    from kernode.graph import Graph, positions
    from kernode.kernels import NodeKernel, gp, graph_kernel
    from kernode.link_prediction.estimator import LinkPredictor
    from kernode.link_prediction.transformer import LinkKernelTransformer
    from kernode.link_prediction.variants import LINK_VARIANTS
    from kernode.loading import load_model
    from kernode.node_classification.classifier import NodeKernelClassifier
    from kernode.node_classification.transformer import NodeKernelTransformer
    from kernode.node_classification.variants import VARIANTS
    from kernode.show import plots
    from kernode.training.checkpoint import Checkpoint
    from kernode.version import __version__

# Where each public name is. It is imported when it is first used: `kernode --help` need not wait for torch.
_HOMES = {
    "LINK_VARIANTS": "link_prediction.variants",
    "VARIANTS": "node_classification.variants",
    "Checkpoint": "training.checkpoint",
    "EdgeSplit": "data.edge_split",
    "FileError": "errors",
    "Graph": "graph",
    "InputError": "errors",
    "KernodeError": "errors",
    "KernodeWarning": "errors",
    "LinkKernelTransformer": "link_prediction.transformer",
    "LinkPredictor": "link_prediction.estimator",
    "MissingExtraError": "errors",
    "NodeKernel": "kernels",
    "NodeKernelClassifier": "node_classification.classifier",
    "NodeKernelTransformer": "node_classification.transformer",
    "Split": "data",
    "__version__": "version",
    "datasets": "data",
    "deterministic": "compute.gpu",
    "extend": "data",
    "from_networkx": "data.exchange",
    "from_pyg": "data.exchange",
    "from_scipy": "data.exchange",
    "graph_kernel": "kernels",
    "load": "data",
    "load_model": "loading",
    "positions": "graph",
    "read_table": "data",
    "split_edges": "data.edge_split",
    "to_networkx": "data.exchange",
    "to_pyg": "data.exchange",
}
_MODULES = {
    "gp": "kernels.gp",
    "kernels": "kernels",
    "losses": "losses",
    "maps": "maps",
    "plots": "show.plots",
}

__all__ = [
    "LINK_VARIANTS",
    "VARIANTS",
    "Checkpoint",
    "EdgeSplit",
    "FileError",
    "Graph",
    "InputError",
    "KernodeError",
    "KernodeWarning",
    "LinkKernelTransformer",
    "LinkPredictor",
    "MissingExtraError",
    "NodeKernel",
    "NodeKernelClassifier",
    "NodeKernelTransformer",
    "Split",
    "__version__",
    "datasets",
    "deterministic",
    "extend",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "gp",
    "graph_kernel",
    "kernels",
    "load",
    "load_model",
    "losses",
    "maps",
    "plots",
    "positions",
    "read_table",
    "split_edges",
    "to_networkx",
    "to_pyg",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"kernode.{_MODULES[name]}")
    if name in _HOMES:
        return getattr(import_module(f"kernode.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'kernode' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
