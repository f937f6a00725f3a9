"""Learn a similarity kernel on the nodes of a graph.

>>> import kernode as kn
>>> graph, split = kn.load("cora")
>>> graph
Graph('cora': 2,708 nodes, 5,278 edges, 1,433 features, 7 classes)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernode import gp, kernels, maps
    from kernode.data import Split, datasets, extend, load, read_table
    from kernode.data.exchange import from_networkx, from_pyg, from_scipy, to_networkx, to_pyg
    from kernode.estimators import NodeKernelClassifier, NodeKernelTransformer, load_model
    from kernode.graph import Graph
    from kernode.links.predictor import LinkPredictor
    from kernode.node_kernel import NodeKernel, graph_kernel
    from kernode.variants import VARIANTS
    from kernode.version import __version__

# A name is imported when it is first used: `kernode --help` need not wait for torch.
_HOMES = {
    "VARIANTS": "variants",
    "Graph": "graph",
    "NodeKernel": "node_kernel",
    "LinkPredictor": "links.predictor",
    "NodeKernelClassifier": "estimators",
    "NodeKernelTransformer": "estimators",
    "Split": "data",
    "__version__": "version",
    "datasets": "data",
    "extend": "data",
    "from_networkx": "data.exchange",
    "from_pyg": "data.exchange",
    "from_scipy": "data.exchange",
    "gp": "",
    "graph_kernel": "node_kernel",
    "kernels": "",
    "load": "data",
    "load_model": "estimators",
    "maps": "",
    "read_table": "data",
    "to_networkx": "data.exchange",
    "to_pyg": "data.exchange",
}

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
    return getattr(import_module(f"kernode.{home}"), name) if home else import_module(f"kernode.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
