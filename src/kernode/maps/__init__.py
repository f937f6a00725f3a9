"""Feature maps g: every node of a graph to a vector."""

from kernode.compute.stack import Parameters
from kernode.maps import former  # noqa: F401 (maps of earlier versions are read then)
from kernode.maps.base import FeatureMap
from kernode.maps.classic_gnn import ClassicGNN
from kernode.maps.columns import OnColumns
from kernode.maps.concat import ConcatMap, Members
from kernode.maps.diffusion import Diffusion
from kernode.maps.gat import GAT
from kernode.maps.gcn import GCN
from kernode.maps.gcnii import GCNII
from kernode.maps.hop_mlp import HopMLP
from kernode.maps.hop_net import HopNet
from kernode.maps.mlp import MLP
from kernode.maps.module import ModuleMap, Wrapped
from kernode.maps.node_embedding import NodeEmbedding
from kernode.maps.presmoothed import Presmoothed
from kernode.maps.smoother import DiffusedComponents, Smoother
from kernode.maps.staged_hops import HopStages, Stages
from kernode.maps.standardized import Standardized

__all__ = [
    "GAT",
    "GCN",
    "GCNII",
    "MLP",
    "ClassicGNN",
    "ConcatMap",
    "DiffusedComponents",
    "Diffusion",
    "FeatureMap",
    "HopMLP",
    "HopNet",
    "HopStages",
    "Members",
    "ModuleMap",
    "NodeEmbedding",
    "OnColumns",
    "Parameters",
    "Presmoothed",
    "Smoother",
    "Stages",
    "Standardized",
    "Wrapped",
]
