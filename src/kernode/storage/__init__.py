"""Files on disk: written whole or not at all, tensors under a checksum, and the cache folder."""

from kernode.storage.cache import cache_folder
from kernode.storage.tensor_files import complete, read_tensors, require_known, write_tensors
from kernode.storage.whole_files import let_another_write, noting_files, write_whole, writing_whole

__all__ = [
    "cache_folder",
    "complete",
    "let_another_write",
    "noting_files",
    "read_tensors",
    "require_known",
    "write_tensors",
    "write_whole",
    "writing_whole",
]
