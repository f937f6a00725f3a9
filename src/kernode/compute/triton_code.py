"""Fused GPU kernels. Each does what a few torch operations elsewhere in kernode do, in one launch.

The functions here take and return torch tensors and know nothing of autograd. A stack of r replicas lies in
memory node by node: element (node, replica, column) of n × r × d stands at (node·r + replica)·d + column.
Most grids have one column of programs per replica, so that what belongs to a replica is read once.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton import cdiv, next_power_of_2

# -- randomness: kernode.compute.draws, word by word ------------------------------------------------


@triton.jit
def _mix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    return x ^ (x >> 31)


@triton.jit
def _key(seeds, epoch, stream, replica):
    seed = tl.load(seeds + replica).to(tl.uint64)
    counter = tl.load(epoch).to(tl.uint64) * 1048576 + stream.to(tl.uint64)
    return _mix(_mix(seed + 0x9E3779B97F4A7C15) + counter)


@triton.jit
def _word(index, key):
    return _mix(index.to(tl.uint64) * 0x9E3779B97F4A7C15 + key)


@triton.jit
def _below(word, bound, half: tl.constexpr):
    return ((((word >> (32 * half)) & 0xFFFFFFFF) * bound.to(tl.uint64)) >> 32).to(tl.int64)


# -- relu with dropout -----------------------------------------------------------------------------------


@triton.jit
def _masked_relu(
    x, out, seeds, epoch, stream, threshold, scale, words, r,
    W: tl.constexpr, LANES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1)
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    word = _word(index, _key(seeds, epoch, stream, replica))
    piece = tl.arange(0, 4)
    bits = ((word[:, None] >> (16 * piece[None, :]).to(tl.uint64)) & 0xFFFF).to(tl.int16)
    column = (index % LANES)[:, None] * 4 + piece[None, :]
    at = ((index // LANES) * r + replica)[:, None] * W + column
    inside = (index < words)[:, None] & (column < W)
    value = tl.load(x + at, mask=inside, other=0)
    kept = (bits >= tl.load(threshold + replica)) & (value > 0)
    tl.store(out + at, tl.where(kept, value * tl.load(scale + replica), 0), mask=inside)


def masked_relu(
    x: Tensor, seeds: Tensor, epoch: Tensor, stream: int, threshold: Tensor, scale: Tensor
) -> Tensor:
    """relu(x) with dropout: n × r × w."""
    n, r, w = x.shape
    x, out = x.contiguous(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    lanes = cdiv(w, 4)
    _masked_relu[(cdiv(n * lanes, 256), r)](
        x, out, seeds, epoch, stream, threshold.contiguous(), scale.contiguous(), n * lanes, r,
        W=w, LANES=lanes, BLOCK=256,
    )  # fmt: skip
    return out


@triton.jit
def _masked_relu_gradient(
    upstream, out, scale, result, count, r, W: tl.constexpr, ALONE: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    replica = at * 0 if ALONE else (at // W) % r
    value = tl.load(upstream + at, mask=inside, other=0) * tl.load(scale + replica, mask=inside, other=0)
    tl.store(result + at, tl.where(tl.load(out + at, mask=inside, other=0) > 0, value, 0), mask=inside)


def masked_relu_gradient(upstream: Tensor, out: Tensor, scale: Tensor) -> Tensor:
    """Gradient of :func:`masked_relu`, from its output."""
    _, r, w = out.shape
    upstream, result = upstream.contiguous(), torch.empty_like(out)
    _masked_relu_gradient[(cdiv(out.numel(), 1024),)](
        upstream, out, scale.contiguous(), result, out.numel(), r, W=w, ALONE=r == 1, BLOCK=1024
    )
    return result


# -- sparse times dense ----------------------------------------------------------------------------------


@triton.jit
def _spmm(
    starts, columns, values, x, minus, out,
    W: tl.constexpr, SUBTRACT: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK_W + tl.arange(0, BLOCK_W)
    inside = column < W
    total = tl.zeros((BLOCK_K, BLOCK_W), dtype=out.dtype.element_ty)
    stop = tl.load(starts + row + 1)
    for first in range(tl.load(starts + row), stop, BLOCK_K):
        at = first + tl.arange(0, BLOCK_K)
        there = at < stop
        source = tl.load(columns + at, mask=there, other=0).to(tl.int64)
        value = tl.load(values + at, mask=there, other=0)
        whole = there[:, None] & inside[None, :]
        total += value[:, None] * tl.load(x + source[:, None] * W + column[None, :], mask=whole, other=0)
    found = tl.sum(total, axis=0)
    if SUBTRACT:
        found -= tl.load(minus + row * W + column, mask=inside, other=0)
    tl.store(out + row * W + column, found, mask=inside)


def spmm(matrix: Tensor, x: Tensor, minus: Tensor | None = None) -> Tensor:
    """Multiply CSR with dense and subtract ``minus`` (whose memory then holds the result)."""
    rows, w = matrix.shape[0], x.shape[1]
    x = x.contiguous()
    out = torch.empty(rows, w, dtype=x.dtype, device=x.device) if minus is None else minus
    if rows == 0 or w == 0:
        return out
    block_k, block_w, warps = spmm_shape(matrix.values().numel() / rows, w)
    _spmm[(rows, cdiv(w, block_w))](
        matrix.crow_indices(), matrix.col_indices(), matrix.values(), x, out, out,
        W=w, SUBTRACT=minus is not None, BLOCK_K=block_k, BLOCK_W=block_w, num_warps=warps,
    )  # fmt: skip
    return out


def spmm_shape(mean: float, w: int) -> tuple[int, int, int]:
    """Neighbours and columns that a program handles at a time, and its warps; measured on an H200."""
    if mean < 24:
        block_w = min(128, next_power_of_2(w))
        return 8, block_w, 1 if block_w <= 32 else 2
    long = mean >= 1000  # such as a common word's row of Xᵀ
    return 128 if long else 64, min(32, next_power_of_2(w)), 8 if long else 4


# -- the weighted sum over hops --------------------------------------------------------------------------

MOST_PARTS = 4


@triton.jit
def _weighted_sum(
    a, b, c, e, weights, out, z, dots, count, r,
    D: tl.constexpr, ALONE: tl.constexpr, PARTS: tl.constexpr, DOTS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1)
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    at = index if ALONE else ((index // D) * r + replica) * D + index % D
    total = tl.zeros((BLOCK,), dtype=out.dtype.element_ty)
    if DOTS:
        other = tl.load(z + at, mask=inside, other=0)
    for h in tl.static_range(PARTS):
        if h == 0:
            part = tl.load(a + at, mask=inside, other=0)
        elif h == 1:
            part = tl.load(b + at, mask=inside, other=0)
        elif h == 2:
            part = tl.load(c + at, mask=inside, other=0)
        else:
            part = tl.load(e + at, mask=inside, other=0)
        total += part * tl.load(weights + replica * PARTS + h)
        if DOTS:
            tl.atomic_add(dots + replica * PARTS + h, tl.sum(part * other, axis=0))
    tl.store(out + at, total, mask=inside)


def weighted_sum(
    parts: list[Tensor], weights: Tensor, z: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Σ_h weights[:, h] · parts[h] (n × r × d each), and ⟨parts[h], z⟩ of every replica (r × H+1)."""
    n, r, d = parts[0].shape
    parts = [part.contiguous() for part in parts]
    out = torch.empty_like(parts[0])
    dots = None if z is None else torch.zeros(r, len(parts), dtype=out.dtype, device=out.device)
    four = [*parts, *(parts[:1] * (MOST_PARTS - len(parts)))]
    block = 4096 if n * d >= 2**20 else 1024
    _weighted_sum[(cdiv(n * d, block), r)](
        *four, weights.contiguous(), out, out if z is None else z.contiguous(), out if dots is None else dots,
        n * d, r, D=d, ALONE=r == 1, PARTS=len(parts), DOTS=z is not None, BLOCK=block,
        num_warps=8 if block == 4096 else 4,
    )  # fmt: skip
    return out, dots


# -- directions x / ‖x‖ ----------------------------------------------------------------------------------


@triton.jit
def _directions(x, out, inverses, rows, D: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, BLOCK_D)
    at = row[:, None] * D + column[None, :]
    inside = (row < rows)[:, None] & (column < D)[None, :]
    value = tl.load(x + at, mask=inside, other=0)
    square = tl.sum(value * value, axis=1)
    inverse = tl.where(square > 0, 1 / tl.sqrt(tl.where(square > 0, square, 1)), 0)
    tl.store(out + at, value * inverse[:, None], mask=inside)
    tl.store(inverses + row, inverse, mask=row < rows)


@triton.jit
def _directions_gradient(
    upstream, directions, inverses, out, rows, D: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    column = tl.arange(0, BLOCK_D)
    at = row[:, None] * D + column[None, :]
    inside = (row < rows)[:, None] & (column < D)[None, :]
    gradient = tl.load(upstream + at, mask=inside, other=0)
    direction = tl.load(directions + at, mask=inside, other=0)
    along = tl.sum(gradient * direction, axis=1)
    inverse = tl.load(inverses + row, mask=row < rows, other=0)
    tl.store(out + at, (gradient - direction * along[:, None]) * inverse[:, None], mask=inside)


def _row_blocks(rows: int, d: int) -> tuple[int, int, tuple[int]]:
    block_d = next_power_of_2(d)
    block = max(1, 2048 // block_d)
    return block, block_d, (cdiv(rows, block),)


def directions(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows divided by their norms (zeros stay zeros), and one over the norms."""
    rows, d = x.shape
    x = x.contiguous()  # a block of columns is not
    out, inverses = torch.empty_like(x), torch.empty(rows, 1, dtype=x.dtype, device=x.device)
    block, block_d, grid = _row_blocks(rows, d)
    _directions[grid](x, out, inverses, rows, D=d, BLOCK=block, BLOCK_D=block_d)
    return out, inverses


def directions_gradient(upstream: Tensor, found: Tensor, inverses: Tensor) -> Tensor:
    """The gradient of :func:`directions`."""
    rows, d = found.shape
    upstream, out = upstream.contiguous(), torch.empty_like(found)
    block, block_d, grid = _row_blocks(rows, d)
    _directions_gradient[grid](upstream, found, inverses, out, rows, D=d, BLOCK=block, BLOCK_D=block_d)
    return out


# -- triplets --------------------------------------------------------------------------------------------


@triton.jit
def _draw_triplets(
    seeds, epoch, stream, sizes, starts, others, anchors, positives, negatives, t, q, r, BLOCK: tl.constexpr
):
    replica = tl.program_id(1)
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < t
    key = _key(seeds, epoch, stream, replica)
    first, second = _word(index, key), _word(index + t, key)
    mine = index * q + replica % q
    size = tl.load(sizes + mine, mask=inside, other=1)
    start = tl.load(starts + mine, mask=inside, other=0)
    anchor = _below(first, size, 0)
    positive = _below(first, tl.maximum(size - 1, 1), 1)
    positive = tl.minimum(tl.where(positive >= anchor, positive + 1, positive), size - 1)
    negative = _below(second, tl.load(others + mine, mask=inside, other=1), 0)
    negative = tl.where(negative >= start, negative + size, negative)
    at = index * r + replica
    tl.store(anchors + at, (start + anchor) * r + replica, mask=inside)
    tl.store(positives + at, (start + positive) * r + replica, mask=inside)
    tl.store(negatives + at, negative * r + replica, mask=inside)


def draw_triplets(
    seeds: Tensor, epoch: Tensor, stream: int, sizes: Tensor, starts: Tensor, others: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw triplets as losses.triplets.TripletSampler: t × r each; sizes, starts and others are t × q."""
    (t, q), r = sizes.shape, len(seeds)
    out = [torch.empty(t, r, dtype=torch.int64, device=seeds.device) for _ in range(3)]
    _draw_triplets[(cdiv(t, 256), r)](seeds, epoch, stream, sizes, starts, others, *out, t, q, r, BLOCK=256)
    return out[0], out[1], out[2]


@triton.jit
def _dot_hinge(
    x, anchors, positives, negatives, margins, losses, gradient, t, r,
    D: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1)
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < t
    at = index * r + replica
    column = tl.arange(0, BLOCK_D)[None, :]
    whole = inside[:, None] & (column < D)
    a = tl.load(anchors + at, mask=inside, other=0)[:, None] * D + column
    p = tl.load(positives + at, mask=inside, other=0)[:, None] * D + column
    n = tl.load(negatives + at, mask=inside, other=0)[:, None] * D + column
    anchor = tl.load(x + a, mask=whole, other=0)
    across = tl.load(x + n, mask=whole, other=0) - tl.load(x + p, mask=whole, other=0)
    hinge = tl.sum(anchor * across, axis=1) + tl.load(margins + replica)
    active = inside & (hinge > 0)
    tl.atomic_add(losses + replica, tl.sum(tl.where(active, hinge, 0), axis=0) / t)
    moved = active[:, None] & (column < D)
    tl.atomic_add(gradient + a, across / t, mask=moved)
    tl.atomic_add(gradient + n, anchor / t, mask=moved)
    tl.atomic_add(gradient + p, -anchor / t, mask=moved)


def dot_hinge(x: Tensor, triplets: Any, margins: Tensor) -> tuple[Tensor, Tensor]:
    """Mean hinge of every replica on dot products of rows x (m·r × d), and its gradient in x."""
    t, r = triplets[0].shape
    d, x = x.shape[1], x.contiguous()
    losses = torch.zeros(r, dtype=x.dtype, device=x.device)
    gradient = torch.zeros_like(x)
    block_d = next_power_of_2(d)
    block = max(1, min(64, 1024 // block_d))
    _dot_hinge[(cdiv(t, block), r)](
        x, *triplets, margins.contiguous(), losses, gradient, t, r,
        D=d, BLOCK=block, BLOCK_D=block_d, num_warps=1,
    )  # fmt: skip
    return losses, gradient


# -- cross-entropy ---------------------------------------------------------------------------------------


@triton.jit
def _cross_entropy(
    scores, labels, weights, losses, gradient, m, q, r,
    C: tl.constexpr, BLOCK: tl.constexpr, BLOCK_C: tl.constexpr,
):  # fmt: skip
    replica = tl.program_id(1)
    node = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = node < m
    column = tl.arange(0, BLOCK_C)[None, :]
    whole = inside[:, None] & (column < C)
    at = (node * r + replica)[:, None] * C + column
    score = tl.load(scores + at, mask=whole, other=-float("inf"))
    label = tl.maximum(tl.load(labels + (replica % q) * m + node, mask=inside, other=0), 0)
    weight = tl.load(weights + (replica % q) * m + node, mask=inside, other=0)
    shifted = score - tl.max(tl.where(whole, score, -1e30), axis=1)[:, None]
    exponential = tl.where(whole, tl.exp(shifted), 0)
    total = tl.sum(exponential, axis=1)
    mine = column == label[:, None]
    own = tl.sum(tl.where(mine & whole, shifted, 0), axis=1)
    loss = tl.where(inside, (tl.log(tl.where(inside, total, 1)) - own) * weight, 0)
    tl.atomic_add(losses + replica, tl.sum(loss, axis=0))
    share = exponential / tl.where(inside, total, 1)[:, None] - tl.where(mine, 1.0, 0.0)
    tl.store(gradient + at, (share * weight[:, None]).to(gradient.dtype.element_ty), mask=whole)


def cross_entropy(scores: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted cross-entropy of every replica, and its gradient; scores m × r × c, labels, weights q × m."""
    m, r, c = scores.shape
    scores = scores.contiguous()
    losses = torch.zeros(r, dtype=scores.dtype, device=scores.device)
    gradient = torch.empty_like(scores)
    block, block_c, grid = _row_blocks(m, c)
    _cross_entropy[(*grid, r)](
        scores, labels.contiguous(), weights.contiguous(), losses, gradient, m, len(labels), r,
        C=c, BLOCK=block, BLOCK_C=block_c,
    )  # fmt: skip
    return losses, gradient


# -- Adam ------------------------------------------------------------------------------------------------


@triton.jit
def _adam(
    flat, gradient, first, second, rate, decay, epoch, count,
    RATES: tl.constexpr, DECAYS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    steps = tl.load(epoch).to(tl.float64)
    kind = flat.dtype.element_ty
    shrink_1 = (1 - tl.exp(steps * -0.10536051565782628)).to(kind)  # 1 − 0.9^steps
    shrink_2 = tl.sqrt(1 - tl.exp(steps * -0.0010005003335835344)).to(kind)  # √(1 − 0.999^steps)
    value = tl.load(flat + at, mask=inside, other=0)
    slope = tl.load(gradient + at, mask=inside, other=0)
    slope += tl.load(decay + at * DECAYS, mask=inside, other=0) * value
    m = tl.load(first + at, mask=inside, other=0)
    m += (slope - m) * 0.1
    v = tl.load(second + at, mask=inside, other=0) * 0.999 + slope * slope * 0.001
    tl.store(first + at, m, mask=inside)
    tl.store(second + at, v, mask=inside)
    change = tl.load(rate + at * RATES, mask=inside, other=0) / shrink_1 * m / (tl.sqrt(v) / shrink_2 + 1e-8)
    tl.store(flat + at, value - change, mask=inside)


def adam(
    flat: Tensor, gradient: Tensor, first: Tensor, second: Tensor, rate: Tensor, decay: Tensor, epoch: Tensor
) -> None:
    """One step of kernode.compute.adam.Adam, in place; rate and decay hold one number or one per element."""
    count = flat.numel()
    _adam[(cdiv(count, 1024),)](
        flat, gradient, first, second, rate, decay, epoch, count,
        RATES=int(rate.numel() > 1), DECAYS=int(decay.numel() > 1), BLOCK=1024,
    )  # fmt: skip
