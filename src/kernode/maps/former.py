"""Maps as kernode 0.2 wrote them, so that its model files stay readable.

| 0.2.0 | today |
|---|---|
| HopMLP with ``teleport`` | Diffusion |
| HopMLP with ``biases``, ``norm``, ``residual``, ``per_hop`` or ``self_term`` | HopNet |
| HopMLP or HopStages with ``standardize`` | Standardized(map) |
| Free, SideBySide | NodeEmbedding, ConcatMap |
| APPNP with ``steps`` | Diffusion with fixed weights and without biases |

Names of parameters are the same. Where HopMLP shared one output layer among hops, or had no biases,
:func:`current_parameters` gives HopNet the layers that answer the same.
"""

from __future__ import annotations

from typing import Any

import torch

from kernode.compute.stack import Parameters, under_prefix
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.maps.diffusion import pagerank_weights

FLAGS: dict[str, Any] = {  # of HopMLP until 0.2.0
    "teleport": None, "self_term": "identity", "per_hop": False, "biases": False, "norm": False,
    "residual": False, "standardize": False,
}  # fmt: skip
_SELF_TERMS = ("identity", "loop", "both")


def _current_hop_mlp(values: dict[str, Any]) -> dict[str, Any]:
    """HopMLP of 0.2.0 as today's map."""
    old, kept = FLAGS | values, {name: value for name, value in values.items() if name not in FLAGS}
    if old["self_term"] not in _SELF_TERMS:
        return values
    plain_layers = not (old["norm"] or old["residual"] or old["per_hop"])
    if not plain_layers or old["self_term"] != "identity" or (old["biases"] and old["teleport"] is None):
        own = {"norm": old["norm"], "residual": old["residual"], "self_loop": old["self_term"] != "identity"}
        if old.get("hop_weights") == "pagerank":
            own["hop_weights"] = 1.0  # the output layers hold them: current_parameters
        kept |= {"kind": "HopNet", **own}
    elif old["teleport"] is not None:
        kept |= {"kind": "Diffusion", "teleport": old["teleport"], "biases": old["biases"]}
    return _wrapped(kept, old["standardize"])


def _current_hop_stages(values: dict[str, Any]) -> dict[str, Any]:
    """HopStages of 0.2.0, which standardised columns itself."""
    kept = {name: value for name, value in values.items() if name != "standardize"}
    return _wrapped(kept, values.get("standardize", False))


def _current_appnp(values: dict[str, Any]) -> dict[str, Any]:
    """APPNP as Diffusion."""
    kept = {("hops" if name == "steps" else name): value for name, value in values.items()}
    return kept | {"kind": "Diffusion", "powers": "plain", "hop_weights": "pagerank", "biases": False}


def _wrapped(values: dict[str, Any], standardize: bool) -> dict[str, Any]:
    return {"kind": "Standardized", "map": values} if standardize else values


Config.former |= {
    "HopMLP": _current_hop_mlp,
    "HopStages": _current_hop_stages,
    "APPNP": _current_appnp,
}


def current_parameters(values: Any, parameters: Parameters, prefix: str = "") -> Parameters:
    """Parameters of a file whose method or map has this JSON, as today's map has them."""
    if not isinstance(values, dict):
        return parameters
    for name, value in values.items():
        parameters = current_parameters(value, parameters, f"{prefix}{name}.")
    if values.get("kind") != "HopMLP":
        return parameters
    current = _current_hop_mlp(values)
    if current.get("map", current)["kind"] != "HopNet":
        return parameters
    own = _hop_net_parameters(FLAGS | values, under_prefix(parameters, prefix))
    return parameters | {f"{prefix}{name}": value for name, value in own.items()}


def _hop_net_parameters(old: dict[str, Any], parameters: Parameters) -> Parameters:
    """Biases and an output layer for each term, where HopMLP had none."""
    last = len(old["hidden"])
    weight, found = parameters[f"weight_{last}"], {}
    for layer in range(last):
        width = parameters[f"weight_{layer}"].shape[2]
        found[f"bias_{layer}"] = parameters.get(f"bias_{layer}", weight.new_zeros(len(weight), width))
    terms = old["hops"] + 1 + (old["self_term"] == "both")
    if old["per_hop"]:
        blocks = weight.unflatten(2, (terms, -1))  # r × rows × terms × d
    else:  # one layer for all terms as one for each
        blocks = weight[:, :, None].expand(-1, -1, terms, -1)
    if old["hop_weights"] == "pagerank":
        weights = pagerank_weights(old["teleport"], old["hops"], TensorOptions(weight.dtype, weight.device))
        # Ā's diagonal had no weight among PageRank's.
        blocks = blocks * torch.cat([weights, weights.new_zeros(terms - len(weights))])[:, None]
    if old["self_term"] == "loop":  # in the place of T_0; today after T_H, and T_0 gives nothing
        blocks = torch.cat([0 * blocks[:, :, :1], blocks[:, :, 1:], blocks[:, :, :1]], dim=2)
        if "hop_weights" in parameters:
            learned = parameters["hop_weights"]
            found["hop_weights"] = torch.cat([learned, learned[:, :1]], dim=1)
    return found | {f"weight_{last}": blocks.flatten(2)}
