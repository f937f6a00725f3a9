"""What a method is made of, and how it is trained: settings of a variant, changed one by one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer


def method_option(help_text: str) -> Any:
    """An option about the method."""
    return typer.Option(help=help_text, rich_help_panel="Method (default: as the variant has it)")


@dataclass(frozen=True, kw_only=True)
class _Changes:
    """Settings of a variant that can be changed one by one."""

    def changes(self) -> dict[str, Any]:
        """The settings that were given, by name."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _parsed(name, value) for name, value in given.items() if value is not None}


def _parsed(name: str, value: Any) -> Any:
    """An option's value as Python has it; what is wrong with it the part says.

    >>> _parsed("hidden", "64,32"), _parsed("hidden", ""), _parsed("hop_weights", "0.5"), _parsed("hops", 2)
    ((64, 32), (), 0.5, 2)
    """
    with suppress(ValueError):
        if name == "hidden":
            return tuple(int(width) for width in value.split(",")) if value else ()
        if name == "hop_weights":
            return float(value)
    if name not in ("map", "kernel"):
        return value
    from kernode.cli.parts import parse_part  # here: maps and kernels import torch
    from kernode.kernels import BaseKernel
    from kernode.maps import FeatureMap

    return parse_part(value, FeatureMap if name == "map" else BaseKernel, name)


@dataclass(frozen=True, kw_only=True)
class PartOptions(_Changes):
    """The two parts of every kernel K(u, v) = k(g(u), g(v))."""

    map: Annotated[str | None, method_option("g, as in Python: gat, or 'GCN(hidden=(64,))'.")] = None
    kernel: Annotated[str | None, method_option("k, as in Python: rbf, or 'Linear() + RBF(gamma=0.5)'.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class MethodOptions(PartOptions):
    """What a node classifier is made of."""

    objective: Annotated[str | None, method_option("kernel (L_K), softmax (L_Y) or joint (both).")] = None
    kernel_loss: Annotated[str | None, method_option("hinge, squared or logistic.")] = None
    hops: Annotated[int | None, method_option("H: neighbours at 0 … H hops.")] = None
    layers: Annotated[int | None, method_option("Layers of the MLP.")] = None
    hidden: Annotated[str | None, method_option("Hidden widths: 16, or 64,32.")] = None
    powers: Annotated[
        str | None,
        method_option("each (paper), last (its program's text), released (what that runs), plain."),
    ] = None
    hop_weights: Annotated[str | None, method_option("learned, or c for c^h.")] = None


@dataclass(frozen=True, kw_only=True)
class CommonTrainingOptions(_Changes):
    """How anything is trained, nodes or links."""

    epochs: Annotated[int | None, method_option("Training epochs.")] = None
    learning_rate: Annotated[float | None, method_option("Adam's step size.")] = None
    weight_decay: Annotated[float | None, method_option("L2 penalty.")] = None
    dropout: Annotated[float | None, method_option("Rate after hidden layers.")] = None
    input_dropout: Annotated[float | None, method_option("Rate on the features.")] = None
    selection: Annotated[str | None, method_option("best (validation epoch) or last.")] = None
    patience: Annotated[int | None, method_option("Stop early after so many epochs.")] = None
    averaging: Annotated[float | None, method_option("β of the moving average; 0 for none.")] = None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(CommonTrainingOptions):
    """How a node classifier is trained."""

    select_by: Annotated[str | None, method_option("best by accuracy, or by map.")] = None
    kernel_weight: Annotated[float | None, method_option("λ, weight of L_K beside L_Y.")] = None
    margin: Annotated[float | None, method_option("α of the triplet hinge.")] = None
    triplets: Annotated[int | None, method_option("Triplets drawn each epoch.")] = None
    class_weights: Annotated[str | None, method_option("balanced, for rare classes.")] = None
