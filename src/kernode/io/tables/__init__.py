"""A graph from people's own tables: a table of edges and, mostly, one of nodes."""

from kernode.io.tables.growth import extend
from kernode.io.tables.read import read_table
from kernode.io.tables.source import is_table

__all__ = ["extend", "is_table", "read_table"]
