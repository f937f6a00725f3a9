"""Learn a similarity kernel on the nodes of a graph.

>>> import kernode as kn
>>> graph, split = kn.load("cora")
>>> graph
Graph('cora': 2,708 nodes, 5,278 edges, 1,433 features, 7 classes)
"""

from kernode import kernels, maps
from kernode.data import datasets, load
from kernode.data.splits import Split
from kernode.estimators import NodeKernelClassifier, load_model
from kernode.graph import Graph
from kernode.node_kernel import NodeKernel, graph_kernel
from kernode.variants import VARIANTS
from kernode.version import __version__

__all__ = [
    "VARIANTS",
    "Graph",
    "NodeKernel",
    "NodeKernelClassifier",
    "Split",
    "__version__",
    "datasets",
    "graph_kernel",
    "kernels",
    "load",
    "load_model",
    "maps",
]
