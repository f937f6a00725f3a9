"""The figures, drawn from what :mod:`kernode.reproduce.embeddings` measured."""

from kernode.reproduce.drawing.heat_map import draw_gram
from kernode.reproduce.drawing.hop_weights import draw_hop_weights
from kernode.reproduce.drawing.overview import draw_overview
from kernode.reproduce.drawing.scatter import draw_embeddings

__all__ = ["draw_embeddings", "draw_gram", "draw_hop_weights", "draw_overview"]
