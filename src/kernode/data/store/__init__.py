"""A graph on the disk in parts: each of several processes reads its own rows, and nobody all of them."""

from kernode.data.store.from_tables import NotBoundedError, Roles, shard_tables
from kernode.data.store.journal import require_free
from kernode.data.store.part import Part
from kernode.data.store.store import Store, is_store
from kernode.data.store.write import write_store

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
