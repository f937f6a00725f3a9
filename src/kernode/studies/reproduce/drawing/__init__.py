"""The figures, drawn from what :mod:`kernode.studies.reproduce.figure_data` measured."""

from kernode.studies.reproduce.drawing.heat_map import draw_gram
from kernode.studies.reproduce.drawing.hop_weights import draw_hop_weights
from kernode.studies.reproduce.drawing.overview import draw_overview
from kernode.studies.reproduce.drawing.scatter import draw_embeddings

__all__ = ["draw_embeddings", "draw_gram", "draw_hop_weights", "draw_overview"]
