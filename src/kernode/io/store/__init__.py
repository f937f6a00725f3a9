"""A graph on disk in parts, so that each of several processes reads only its own rows."""

from kernode.io.store.part import Part
from kernode.io.store.store import Store, is_store
from kernode.io.store.write import require_free, write_store

__all__ = ["Part", "Store", "is_store", "require_free", "write_store"]
