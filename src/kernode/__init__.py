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
    from kernode.errors import FileError, InputError, KernodeError, KernodeWarning, MissingExtraError
    from kernode.estimators.classifier import NodeKernelClassifier
    from kernode.estimators.links import LinkKernelTransformer, LinkPredictor
    from kernode.estimators.load import load_model
    from kernode.estimators.nodes import NodeKernelTransformer
    from kernode.graph import Graph, positions
    from kernode.io import Split, datasets, extend, load, read_table
    from kernode.io.edge_split import EdgeSplit, split_edges
    from kernode.io.exchange import from_networkx, from_pyg, from_scipy, to_networkx, to_pyg
    from kernode.kernels import NodeKernel, gp, graph_kernel
    from kernode.tasks.classes.variants import VARIANTS
    from kernode.tasks.links.variants import LINK_VARIANTS
    from kernode.training.callbacks import Callback
    from kernode.training.checkpoint import Checkpoint
    from kernode.training.settings import Training
    from kernode.version import __version__
    from kernode.viz import plots

# Where each public name is. It is imported when it is first used: `kernode --help` need not wait for torch.
_HOMES = {
    "LINK_VARIANTS": "tasks.links.variants",
    "VARIANTS": "tasks.classes.variants",
    "Callback": "training.callbacks",
    "Checkpoint": "training.checkpoint",
    "EdgeSplit": "io.edge_split",
    "FileError": "errors",
    "Graph": "graph",
    "InputError": "errors",
    "KernodeError": "errors",
    "KernodeWarning": "errors",
    "LinkKernelTransformer": "estimators.links",
    "LinkPredictor": "estimators.links",
    "MissingExtraError": "errors",
    "NodeKernel": "kernels",
    "NodeKernelClassifier": "estimators.classifier",
    "NodeKernelTransformer": "estimators.nodes",
    "Split": "io",
    "Training": "training.settings",
    "__version__": "version",
    "datasets": "io",
    "deterministic": "compute.gpu",
    "extend": "io",
    "from_networkx": "io.exchange",
    "from_pyg": "io.exchange",
    "from_scipy": "io.exchange",
    "graph_kernel": "kernels",
    "load": "io",
    "load_model": "estimators.load",
    "positions": "graph",
    "read_table": "io",
    "split_edges": "io.edge_split",
    "to_networkx": "io.exchange",
    "to_pyg": "io.exchange",
}
_MODULES = {
    "gp": "kernels.gp",
    "kernels": "kernels",
    "losses": "losses",
    "maps": "maps",
    "plots": "viz.plots",
}

__all__ = [
    "LINK_VARIANTS",
    "VARIANTS",
    "Callback",
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
    "Training",
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
