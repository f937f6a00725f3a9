"""What a method is made of, and how it is trained: settings of a variant, changed one by one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from kernode.errors import bad_setting

METHOD: Any = {"rich_help_panel": "Method (default: as the variant has it)"}


@dataclass(frozen=True, kw_only=True)
class _Changes:
    """Settings of a variant that can be changed one by one."""

    def changes(self) -> dict[str, Any]:
        """The settings that were given, by name."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: _PARSERS[name](value) if name in _PARSERS else value
            for name, value in given.items()
            if value is not None
        }


def _map(text: str) -> Any:
    from kernode.cli.parts import parse_part  # here: maps and kernels import torch
    from kernode.maps import FeatureMap

    return parse_part(text, FeatureMap, "map")


def _kernel(text: str) -> Any:
    from kernode.cli.parts import parse_part
    from kernode.kernels import BaseKernel

    return parse_part(text, BaseKernel, "kernel")


def widths(text: str) -> tuple[int, ...]:
    """Hidden widths; an empty text is no hidden layer.

    >>> widths("64,32"), widths("16"), widths("")
    ((64, 32), (16,), ())
    """
    try:
        return tuple(int(width) for width in text.split(",")) if text else ()
    except ValueError:
        raise bad_setting("hidden", "widths such as 16 or 64,32", text) from None


def hop_weights(text: str) -> str | float:
    """Learned hop weights, PageRank's, or a number c for c^h.

    >>> hop_weights("learned"), hop_weights("0.5")
    ('learned', 0.5)
    """
    try:
        return text if text in ("learned", "pagerank") else float(text)
    except ValueError:
        raise bad_setting("hop_weights", "'learned', 'pagerank' or a number c", text) from None


_PARSERS: dict[str, Any] = {"hidden": widths, "hop_weights": hop_weights, "map": _map, "kernel": _kernel}


@dataclass(frozen=True, kw_only=True)
class PartOptions(_Changes):
    """The two parts of every kernel K(u, v) = k(g(u), g(v))."""

    map: Annotated[
        str | None, typer.Option(help="g, as in Python: gat, or 'GCN(hidden=(64,))'.", **METHOD)
    ] = None
    kernel: Annotated[
        str | None, typer.Option(help="k, as in Python: rbf, or 'Linear() + RBF(gamma=0.5)'.", **METHOD)
    ] = None


@dataclass(frozen=True, kw_only=True)
class MethodOptions(PartOptions):
    """What a node classifier is made of."""

    objective: Annotated[
        str | None, typer.Option(help="kernel (L_K), softmax (L_Y) or joint (both).", **METHOD)
    ] = None
    kernel_loss: Annotated[str | None, typer.Option(help="hinge, squared or logistic.", **METHOD)] = None
    hops: Annotated[int | None, typer.Option(help="H: neighbours at 0 … H hops.", **METHOD)] = None
    layers: Annotated[int | None, typer.Option(help="Layers of the MLP.", **METHOD)] = None
    hidden: Annotated[str | None, typer.Option(help="Hidden widths: 16, or 64,32.", **METHOD)] = None
    powers: Annotated[
        str | None,
        typer.Option(
            help="each (paper), last (its program's text), released (what that runs), plain.", **METHOD
        ),
    ] = None
    hop_weights: Annotated[str | None, typer.Option(help="learned, or c for c^h.", **METHOD)] = None


@dataclass(frozen=True, kw_only=True)
class CommonTrainingOptions(_Changes):
    """How anything is trained, nodes or links."""

    epochs: Annotated[int | None, typer.Option(help="Training epochs.", **METHOD)] = None
    learning_rate: Annotated[float | None, typer.Option(help="Adam's step size.", **METHOD)] = None
    weight_decay: Annotated[float | None, typer.Option(help="L2 penalty.", **METHOD)] = None
    dropout: Annotated[float | None, typer.Option(help="Rate after hidden layers.", **METHOD)] = None
    input_dropout: Annotated[float | None, typer.Option(help="Rate on the features.", **METHOD)] = None
    selection: Annotated[str | None, typer.Option(help="best (validation epoch) or last.", **METHOD)] = None
    patience: Annotated[int | None, typer.Option(help="Stop early after so many epochs.", **METHOD)] = None
    averaging: Annotated[
        float | None, typer.Option(help="β of the moving average that is kept; 0 for none.", **METHOD)
    ] = None


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(CommonTrainingOptions):
    """How a node classifier is trained."""

    select_by: Annotated[str | None, typer.Option(help="best by accuracy, or by map.", **METHOD)] = None
    kernel_weight: Annotated[float | None, typer.Option(help="λ, weight of L_K beside L_Y.", **METHOD)] = None
    margin: Annotated[float | None, typer.Option(help="α of the triplet hinge.", **METHOD)] = None
    triplets: Annotated[int | None, typer.Option(help="Triplets drawn each epoch.", **METHOD)] = None
    class_weights: Annotated[str | None, typer.Option(help="balanced, for rare classes.", **METHOD)] = None
