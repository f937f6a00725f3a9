"""Randomness is a function of (seed, epoch, stream, index), never a moving state.

So a stack of replicas, a shard of the nodes, a captured GPU graph and a resumed run all see the same
draws as one run made alone. The generator is SplitMix64 (Steele, Lea & Flood 2014): a counter times an
odd constant, finished by a bijective mixer; a few integer operations that torch computes alike everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

# One number per use of randomness; layer i of a use draws from stream + i.
WEIGHTS, DROPOUT, TRIPLETS, SAMPLES, MODULES, PAIRS, NOISE = 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000


def _signed(word: int) -> int:
    return word - 2**64 if word >= 2**63 else word


_STEP = _signed(0x9E3779B97F4A7C15)
_APART = _signed(0xD1B54A32D192ED03)
_MULTIPLY_1 = _signed(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = _signed(0x94D049BB133111EB)
_SHIFTS = tuple(np.uint64(shift) for shift in (30, 27, 31))
_FACTORS = tuple(np.uint64(factor % 2**64) for factor in (_MULTIPLY_1, _MULTIPLY_2))


def _mix(x: Tensor) -> Tensor:
    """SplitMix64's finisher on int64 words, in place."""
    if x.device.type == "cpu":
        for words in x.view(-1).split(_IN_CACHE):  # numpy, in a cache, is as fast as torch with two threads
            _mixed(words.numpy().view(np.uint64))
        return x
    return _mix_with_torch(x)


def _mix_with_torch(x: Tensor) -> Tensor:
    # torch shifts signed words arithmetically; the masks make the shifts logical.
    x ^= (x >> 30) & (2**34 - 1)
    x *= _MULTIPLY_1
    x ^= (x >> 27) & (2**37 - 1)
    x *= _MULTIPLY_2
    x ^= (x >> 31) & (2**33 - 1)
    return x


_IN_CACHE = 2**16  # words


def _mixed(x: np.ndarray) -> np.ndarray:
    """Do the same with numpy, which shifts logically."""
    shifted = x >> _SHIFTS[0]
    x ^= shifted
    x *= _FACTORS[0]
    x ^= np.right_shift(x, _SHIFTS[1], out=shifted)
    x *= _FACTORS[1]
    x ^= np.right_shift(x, _SHIFTS[2], out=shifted)
    return x


def _at_least(words: Tensor, threshold: Tensor) -> Tensor:
    """Compare each 16 bits of the words (rows × r × lanes) with a threshold (r): rows × r × 4·lanes."""
    if words.device.type == "cpu" and len(set(threshold.tolist())) == 1:
        bits = words.numpy().view(np.int16)  # numpy compares these many times faster than torch
        return torch.from_numpy(bits >= np.int16(threshold[0]))
    return words.view(torch.int16) >= threshold[:, None]


def _steps(rates: Tensor) -> Tensor:
    """Return dropout rates in steps of 2⁻¹⁶; below 1, so that something is always kept."""
    return (rates * 2**16).round().clamp_max(2**16 - 1).to(torch.int64)


@dataclass(frozen=True)
class Draws:
    """Random numbers of a stack of replicas, from ``seeds`` (r, int64) and an epoch.

    >>> alone = Draws(torch.tensor([7]), epoch=3)
    >>> stack = Draws(torch.tensor([6, 7]), epoch=3)
    >>> torch.equal(alone.words(DROPOUT, torch.arange(5))[:, 0], stack.words(DROPOUT, torch.arange(5))[:, 1])
    True
    """

    seeds: Tensor
    epoch: int | Tensor = 0

    def at(self, epoch: int | Tensor) -> Draws:
        """Return the draws of another epoch."""
        return Draws(self.seeds, epoch)

    def apart(self) -> Draws:
        """Return other draws of the same epoch, for a second part that would otherwise draw the same."""
        return Draws(_mix(self.seeds + _APART), self.epoch)

    @cached_property
    def epoch_tensor(self) -> Tensor:
        """Epoch as a tensor on the device of the seeds."""
        if isinstance(self.epoch, Tensor):
            return self.epoch
        return torch.full((), self.epoch, dtype=torch.int64, device=self.seeds.device)

    def words(self, stream: int, index: Tensor) -> Tensor:
        """Return 64 random bits for each index and replica: m → m × r, int64."""
        return _mix((index * _STEP)[:, None] + self._keys(stream))

    def _keys(self, stream: int) -> Tensor:
        """Return the state from which a stream counts in this epoch: r."""
        return _mix(_mix(self.seeds + _STEP) + (self.epoch * 2**20 + stream))

    def uniform(self, stream: int, count: int) -> Tensor:
        """Return numbers in [0, 1): count × r, float64, with 53 random bits each."""
        index = torch.arange(count, device=self.seeds.device)
        return ((self.words(stream, index) >> 11) & (2**53 - 1)).double() * 2.0**-53

    def normal(self, stream: int, count: int) -> Tensor:
        """Return standard normal numbers: count × r, float64 (Box-Muller)."""
        radius, angle = self.uniform(stream, count), self.uniform(stream + 1, count)
        return (-2 * (1 - radius).log()).sqrt() * (2 * torch.pi * angle).cos()

    def keep(self, stream: int, rows: range, width: int, threshold: Tensor) -> Tensor:
        """Return a dropout mask: rows × r × width, True where 16 random bits reach the threshold (r, int16).

        One word serves four elements.
        """
        lanes = -(-width // 4)
        counters = _counters if len(rows) * lanes > 2**20 else _few_counters
        index = counters(rows.start * lanes, rows.stop * lanes, self.seeds.device)
        words = _mix(index.view(-1, 1, lanes) + self._keys(stream)[:, None])  # rows × r × lanes
        return _at_least(words, threshold)[..., :width]


def _counters(start: int, stop: int, device: torch.device) -> Tensor:
    """Return the counters of a generator: index · step."""
    return torch.arange(start, stop, device=device).mul_(_STEP)


_few_counters = lru_cache(maxsize=8)(_counters)  # kept from epoch to epoch; many would be too large


def below(words: Tensor, bound: Tensor | int, half: int) -> Tensor:
    """Return uniform integers in [0, bound) from the low (0) or high (1) 32 bits of random words.

    Multiply and shift instead of a remainder: the bias is below bound / 2³².
    """
    return (((words >> (32 * half)) & (2**32 - 1)) * bound) >> 32


@dataclass(frozen=True)
class Dropout:
    """Dropout at a rate per replica; the kept elements are scaled, so that the mean stays.

    Rates (r) count in steps of 2⁻¹⁶.
    """

    draws: Draws
    rates: Tensor  # r, after hidden layers
    input_rates: Tensor | None = None  # r, on the entries of X
    first_row: int = 0  # where a share's rows begin among all nodes
    first_entry: int = 0  # and its entries of X

    def at(self, draws: Draws) -> Dropout:
        """Return the same rates with other draws; what follows from the rates is not computed again."""
        other = replace(self, draws=draws)
        other.__dict__.update(scale=self.scale, threshold=self.threshold)
        return other

    @property
    def of_input(self) -> Dropout | None:
        """Dropout of the entries of X, or None; it draws as layer 0."""
        if self.input_rates is None:
            return None
        return replace(self, rates=self.input_rates, input_rates=None)

    def keep(self, layer: int, rows: range, width: int) -> Tensor:
        """Return the mask of some rows of a layer: rows × r × width."""
        own = range(self.first_row + rows.start, self.first_row + rows.stop)
        return self.draws.keep(DROPOUT + layer, own, width, self.threshold)

    def keep_entries(self, layer: int, count: int) -> Tensor:
        """Return the mask of a number of entries in one row: r × count."""
        first, last = self.first_entry, self.first_entry + count
        if not first:
            return self.draws.keep(DROPOUT + layer, range(1), count, self.threshold)[0]
        words = range(first // 4, -(-last // 4))  # each serves four entries
        found = self.draws.keep(DROPOUT + layer, words, 4, self.threshold)
        return found.transpose(0, 1).flatten(1)[:, first % 4 :][:, :count]

    @cached_property
    def threshold(self) -> Tensor:
        """Least 16 random bits of a kept element: r, int16."""
        return (_steps(self.rates) - 2**15).to(torch.int16)

    @cached_property
    def scale(self) -> Tensor:
        """1 / (1 − rate), with the rate as rounded: r."""
        return 2**16 / (2**16 - _steps(self.rates)).to(self.rates.dtype)
