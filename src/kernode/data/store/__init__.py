"""A graph on the disk in parts: each of several processes reads its own rows, and nobody all of them."""

from kernode.data.store.part import Part
from kernode.data.store.store import Store, is_store
from kernode.data.store.write import write_store

__all__ = ["Part", "Store", "is_store", "write_store"]
