"""The same kernel on pairs of nodes: which links are there (the paper's Eqs. 14-15)."""

from kernode.links.method import LINK_METHODS, LinkMethod
from kernode.links.model import LinkModel

__all__ = ["LINK_METHODS", "LinkMethod", "LinkModel"]
