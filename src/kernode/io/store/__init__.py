"""A graph on the disk in parts: each of several processes reads its own rows, and nobody all of them."""

from kernode.io.store.from_tables import NotBoundedError, Roles, shard_tables
from kernode.io.store.part import Part
from kernode.io.store.store import Store, is_store
from kernode.io.store.write import require_free, write_store

__all__ = [
    "NotBoundedError",
    "Part",
    "Roles",
    "Store",
    "is_store",
    "require_free",
    "shard_tables",
    "write_store",
]
