"""A store from Parquet tables that are larger than the memory: edges are numbered and sorted on the disk."""

from kernode.data.store.from_tables.roles import NotBoundedError, Roles
from kernode.data.store.from_tables.write import shard_tables

__all__ = ["NotBoundedError", "Roles", "shard_tables"]
