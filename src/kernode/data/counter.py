"""Random words as a function of (seed, stream, index), in numpy: SplitMix64, as ``compute.draws`` has it.

Integers only, so that the same seed gives the same bits with every numpy on every machine, which numpy
does not promise of its own generators.
"""

from __future__ import annotations

import numpy as np

_STEP = 0x9E3779B97F4A7C15
_MULTIPLY_1 = 0xBF58476D1CE4E5B9
_MULTIPLY_2 = 0x94D049BB133111EB
_MASK = 2**64 - 1
_LANES = 0x0000FFFF0000FFFF  # the lower 16 bits of either half


def words(seed: int, stream: int, start: int, stop: int) -> np.ndarray:
    """64 random bits for each index from start to stop: uint64.

    >>> words(7, 2000, 0, 6)[3:].tolist() == words(7, 2000, 3, 6).tolist()
    True
    """
    x = np.arange(start, stop, dtype=np.uint64)
    x *= np.uint64(_STEP)
    x += np.uint64(_key(seed, stream))
    for shift, factor in ((30, _MULTIPLY_1), (27, _MULTIPLY_2)):
        x ^= x >> np.uint64(shift)
        x *= np.uint64(factor)
    x ^= x >> np.uint64(31)
    return x


def below(words: np.ndarray, bounds: np.ndarray | int) -> np.ndarray:
    """Integers in [0, bound), all equally likely, from the upper 53 bits of each word; bounds < 2⁵³."""
    # Exact but for one rounding, which can reach the bound itself.
    drawn = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 * bounds
    return np.minimum(drawn.astype(np.int64), np.asarray(bounds) - 1)


def bell(words: np.ndarray) -> np.ndarray:
    """Integers of mean 0 and variance (2³² − 1) / 3, nearly normal: sums of a word's four 16-bit numbers."""
    pairs = (words & np.uint64(_LANES)) + ((words >> np.uint64(16)) & np.uint64(_LANES))
    sums = pairs + (pairs >> np.uint64(32))
    return sums.astype(np.uint32).astype(np.int32) - np.int32(2 * (2**16 - 1))


def permutation(seed: int, stream: int, n: int) -> np.ndarray:
    """The numbers 0 … n−1 in random order: int64."""
    return np.argsort(words(seed, stream, 0, n), kind="stable")


def _key(seed: int, stream: int) -> int:
    return _mix((_mix((seed + _STEP) & _MASK) + stream) & _MASK)


def _mix(x: int) -> int:
    for shift, factor in ((30, _MULTIPLY_1), (27, _MULTIPLY_2)):
        x = ((x ^ (x >> shift)) * factor) & _MASK
    return x ^ (x >> 31)
