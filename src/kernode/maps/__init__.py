"""Feature maps g: every node of a graph to a vector."""

from kernode.maps.base import FeatureMap, Parameters
from kernode.maps.free import Free
from kernode.maps.hop_mlp import HopMLP
from kernode.maps.smoother import Smoother

__all__ = ["FeatureMap", "Free", "HopMLP", "Parameters", "Smoother"]
