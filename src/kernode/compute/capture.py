"""An epoch as one captured CUDA graph: a single launch instead of a hundred."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP = 2  # epochs that run plainly first: they load and compile all that an epoch uses

Record = dict[str, Tensor]


def captured(  # pragma: needs a GPU
    act: Callable[[int | Tensor], Record], device: torch.device, kept: int
) -> Callable[[int], Record]:
    """What ``act(epoch)`` does, replayed from a capture after the first epochs.

    Epochs must follow one another. The records of the last ``kept`` epochs stay on the device; what is
    returned are views of them.
    """
    now = torch.zeros((), dtype=torch.int64, device=device)
    history: Record = {}
    graph: torch.cuda.CUDAGraph | None = None

    def capture() -> torch.cuda.CUDAGraph:
        torch.cuda.synchronize()
        new = torch.cuda.CUDAGraph()
        with torch.cuda.graph(new):
            row = ((now - 1) % kept).view(1)
            for name, value in act(now).items():
                history[name].index_copy_(0, row, value[None])
            now.add_(1)
        return new

    def once(epoch: int) -> Record:
        nonlocal graph
        row = (epoch - 1) % kept
        if graph is None and (not history or epoch <= WARM_UP):
            for name, value in act(epoch).items():
                history.setdefault(name, value.new_zeros(kept, *value.shape))[row] = value
        else:
            if graph is None:
                now.fill_(epoch)
                graph = capture()
            graph.replay()
        return {name: values[row] for name, values in history.items()}

    return once
