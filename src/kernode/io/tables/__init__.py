"""Graphs from a table of edges and tables of nodes."""

from kernode.io.tables.growth import extend
from kernode.io.tables.read import read_table
from kernode.io.tables.source import is_table

__all__ = ["extend", "is_table", "read_table"]
