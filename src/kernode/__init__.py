"""Learn a similarity kernel on the nodes of a graph.

>>> import kernode as kn
>>> graph, split = kn.load("cora")
>>> graph
Graph('cora': 2,708 nodes, 5,278 edges, 1,433 features, 7 classes)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernode import kernels, losses, maps, plots
    from kernode.compute.gpu import deterministic
    from kernode.errors import FileError, InputError, KernodeError, KernodeWarning, MissingExtraError
    from kernode.estimators.classifier import NodeKernelClassifier
    from kernode.estimators.links import LinkKernelTransformer, LinkPredictor
    from kernode.estimators.load import load_model
    from kernode.estimators.nodes import NodeKernelTransformer
    from kernode.estimators.regressor import NodeKernelRegressor
    from kernode.graph import Graph, positions
    from kernode.io import Split, datasets, extend, load, read_table
    from kernode.io.edge_split import EdgeSplit, split_edges
    from kernode.io.exchange import from_networkx, from_pyg, from_scipy, to_pyg
    from kernode.kernels import NodeKernel, gp, graph_kernel
    from kernode.tasks.classes.variants import VARIANTS
    from kernode.tasks.links.variants import LINK_VARIANTS
    from kernode.training.callbacks import Callback
    from kernode.training.checkpoint import Checkpoint
    from kernode.training.settings import Training
    from kernode.version import __version__

# The public names by module, which is imported at first use: `kernode --help` need not wait for torch.
_NAMES = {
    "compute.gpu": ["deterministic"],
    "errors": ["FileError", "InputError", "KernodeError", "KernodeWarning", "MissingExtraError"],
    "estimators.classifier": ["NodeKernelClassifier"],
    "estimators.links": ["LinkKernelTransformer", "LinkPredictor"],
    "estimators.load": ["load_model"],
    "estimators.nodes": ["NodeKernelTransformer"],
    "estimators.regressor": ["NodeKernelRegressor"],
    "graph": ["Graph", "positions"],
    "io": ["Split", "datasets", "extend", "load", "read_table"],
    "io.edge_split": ["EdgeSplit", "split_edges"],
    "io.exchange": ["from_networkx", "from_pyg", "from_scipy", "to_pyg"],
    "kernels": ["NodeKernel", "graph_kernel"],
    "tasks.classes.variants": ["VARIANTS"],
    "tasks.links.variants": ["LINK_VARIANTS"],
    "training.callbacks": ["Callback"],
    "training.checkpoint": ["Checkpoint"],
    "training.settings": ["Training"],
    "version": ["__version__"],
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = {"gp": "kernels.gp"} | {one: one for one in ("kernels", "losses", "maps", "plots")}

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
    "NodeKernelRegressor",
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
