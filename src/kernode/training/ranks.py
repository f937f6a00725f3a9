"""What processes that learn as one must share: where they begin, gradients, and what they go by."""

from __future__ import annotations

import torch
from torch import Tensor

from kernode.compute.ranks import Ranks


def restored(
    ranks: Ranks, state: dict[str, Tensor], history: list[dict[str, Tensor]]
) -> list[dict[str, Tensor]]:
    """A state and its history as the first rank has read them: it alone has a checkpoint."""
    if ranks.alone:
        return history
    device = next(iter(state.values())).device if state else torch.device("cpu")
    on_cpu = [{name: value.cpu() for name, value in record.items()} for record in history]
    told = ranks.told_value(on_cpu)
    if not told:
        return history
    with torch.no_grad():
        for values in state.values():
            whole = values.detach().contiguous()
            values.detach().copy_(ranks.told(whole, "beginning"))
    return [{name: value.to(device) for name, value in record.items()} for record in told]


def collected(ranks: Ranks, gradients: dict[str, Tensor | None], parts: str) -> dict[str, Tensor | None]:
    """Gradients of the whole loss, in one message.

    Of parameters whose names begin with ``parts`` each rank has what its own rows add; of all others every
    rank has computed the whole, and their mean keeps ranks from drifting apart.
    """
    known = {name: gradient for name, gradient in gradients.items() if gradient is not None}
    share = {name: 1 if name.startswith(parts) else ranks.size for name in known}
    flat = ranks.add(torch.cat([g.reshape(-1) / share[name] for name, g in known.items()]), "gradients")
    pieces = flat.split([g.numel() for g in known.values()])
    found = {name: piece.view(g.shape) for (name, g), piece in zip(known.items(), pieces, strict=True)}
    return {name: found.get(name) for name in gradients}


def agreed(ranks: Ranks, record: dict[str, Tensor]) -> dict[str, Tensor]:
    """The first rank's figures, so that all keep the same epoch and stop at the same one."""
    flat = ranks.told(torch.cat([value.double().reshape(-1) for value in record.values()]), "figures")
    pieces = flat.split([value.numel() for value in record.values()])
    pairs = zip(record.items(), pieces, strict=True)
    return {name: piece.view(value.shape).to(value.dtype) for (name, value), piece in pairs}
