"""A graph from people's own tables: a table of edges and, mostly, one of nodes."""

from kernode.data.tables.files import is_table
from kernode.data.tables.growth import extend
from kernode.data.tables.to_graph import read_table

__all__ = ["extend", "is_table", "read_table"]
