"""Learn a similarity kernel on the nodes of a graph.

>>> import kernode as kn
>>> graph, split = kn.load("cora")
>>> graph
Graph('cora': 2,708 nodes, 5,278 edges, 1,433 features, 7 classes)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernode import kernels, maps
    from kernode.data import Split, datasets, extend, load, read_table
    from kernode.data.exchange import from_networkx, from_pyg, from_scipy, to_networkx, to_pyg
    from kernode.graph import Graph
    from kernode.kernels import NodeKernel, gp, graph_kernel
    from kernode.link_prediction.estimator import LinkPredictor
    from kernode.model_files import load_model
    from kernode.node_classification.classifier import NodeKernelClassifier
    from kernode.node_classification.transformer import NodeKernelTransformer
    from kernode.node_classification.variants import VARIANTS
    from kernode.version import __version__

# A name is imported when it is first used: `kernode --help` need not wait for torch.
_HOMES = {
    "VARIANTS": "node_classification.variants",
    "Graph": "graph",
    "NodeKernel": "kernels",
    "LinkPredictor": "link_prediction.estimator",
    "NodeKernelClassifier": "node_classification.classifier",
    "NodeKernelTransformer": "node_classification.transformer",
    "Split": "data",
    "__version__": "version",
    "datasets": "data",
    "extend": "data",
    "from_networkx": "data.exchange",
    "from_pyg": "data.exchange",
    "from_scipy": "data.exchange",
    "gp": "kernels",
    "graph_kernel": "kernels",
    "kernels": "",
    "load": "data",
    "load_model": "model_files",
    "maps": "",
    "read_table": "data",
    "to_networkx": "data.exchange",
    "to_pyg": "data.exchange",
}

_MODULES = ("gp", "kernels", "maps")

__all__ = [
    "VARIANTS",
    "Graph",
    "LinkPredictor",
    "NodeKernel",
    "NodeKernelClassifier",
    "NodeKernelTransformer",
    "Split",
    "__version__",
    "datasets",
    "extend",
    "from_networkx",
    "from_pyg",
    "from_scipy",
    "gp",
    "graph_kernel",
    "kernels",
    "load",
    "load_model",
    "maps",
    "read_table",
    "to_networkx",
    "to_pyg",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kernode' has no attribute {name!r}")
    home = _HOMES[name]
    if name in _MODULES:
        return import_module(f"kernode.{home}.{name}" if home else f"kernode.{name}")
    return getattr(import_module(f"kernode.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
