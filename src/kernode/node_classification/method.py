"""A row of the paper's Table 2: which map, base kernel, objective and classifier make a method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.compute.stack import Parameters, part, take
from kernode.errors import InputError
from kernode.kernels import BaseKernel
from kernode.losses import KERNEL_LOSSES, kernel_loss, softmax_loss
from kernode.losses.triplets import Members, Triplets
from kernode.maps import FeatureMap
from kernode.maps.base import StagedMap
from kernode.node_classification.classifiers import centroid_scores, class_scores, reference_scores
from kernode.recipe import Recipe

Objective = Literal["kernel", "softmax", "joint"]


class Losses(NamedTuple):
    """One number per replica; None where the objective does not have it."""

    kernel: Tensor | None  # L_K
    softmax: Tensor | None  # L_Y


@dataclass(frozen=True)
class Method(Recipe):
    """K(u, v) = kernel(map(u), map(v)), how it is taught and how it answers.

    - ``objective``: ``"kernel"`` minimises L_K and answers by nearest centroids (C_K), ``"softmax"``
      minimises L_Y and ``"joint"`` L_Y + λ L_K, and both answer by softmax (C_Y).
    - ``kernel_loss``: ``"hinge"`` on triplets (Eqs. 9-10), ``"squared"`` or ``"logistic"`` on their
      pairs (Eqs. 3-4).
    """

    map: FeatureMap
    kernel: BaseKernel
    objective: Objective = "joint"
    kernel_loss: str = "hinge"

    def __post_init__(self) -> None:
        if not isinstance(self.map, FeatureMap) or not isinstance(self.kernel, BaseKernel):
            raise InputError(
                "map and kernel must be pieces such as kernode.maps.HopMLP() and kernode.kernels.RBF(). "
                f"Got {self.map!r} and {self.kernel!r}."
            )
        if self.objective not in ("kernel", "softmax", "joint"):
            raise InputError(f"objective must be 'kernel', 'softmax' or 'joint'. Got {self.objective!r}.")
        if self.kernel_loss not in KERNEL_LOSSES:
            raise InputError(f"kernel_loss must be one of {sorted(KERNEL_LOSSES)}. Got {self.kernel_loss!r}.")

    @property
    def classifier(self) -> Literal["centroid", "softmax"]:
        """C_K or C_Y."""
        return "centroid" if self.objective == "kernel" else "softmax"

    def for_classes(self, classes: int) -> Method:
        """The same method with its map as wide as there are classes, where the width was left open."""
        return replace(self, map=self.map.for_classes(classes))

    def initial(self, prepared: Any, classes: int, draws: Draws, place: Place) -> Parameters:
        """All first parameters, under ``map.``, ``kernel.`` and ``class_bias``."""
        replicas = len(draws.seeds)
        parameters = {f"map.{k}": v for k, v in self.map.initial(prepared, draws, place).items()}
        for name, value in self.kernel.initial(replicas).items():
            parameters[f"kernel.{name}"] = value.to(place.dtype).to(place.device)
        if self.classifier == "softmax":
            # One bias on the class scores, none in the MLP: not stated in the paper.
            parameters["class_bias"] = torch.zeros(replicas, classes, dtype=place.dtype, device=place.device)
        return parameters

    def beginning(self, parameters: Parameters, prepared: Any) -> Tensor | None:
        """What evaluation and the next training step share, where the map has such a part."""
        if not isinstance(self.map, StagedMap):
            return None
        return self.map.beginning(part(parameters, "map."), prepared)

    def embed(
        self,
        parameters: Parameters,
        prepared: Any,
        dropout: Dropout | None = None,
        beginning: Tensor | None = None,
    ) -> Tensor:
        """g of every node: r × n × d; from its beginning, where that has been computed already."""
        own = part(parameters, "map.")
        if beginning is None or (dropout is not None and dropout.of_input is not None):
            return self.map(own, prepared, dropout)
        assert isinstance(self.map, StagedMap)
        return self.map.finish(own, prepared, beginning, dropout)

    def losses(
        self,
        parameters: Parameters,
        g: Tensor,
        triplets: Triplets | None,
        members: Members,
        labels: Tensor,
        margin: Tensor,
        weights: Tensor,
    ) -> Losses:
        """L_K on triplets and L_Y on the training nodes, whichever the objective has."""
        on_triplets = on_classes = None
        g = take(g, members.nodes)  # the loss sees no other node
        if triplets is not None:
            own = part(parameters, "kernel.")
            on_triplets = kernel_loss(
                self.kernel_loss, self.kernel, own, self.kernel.embed(g), triplets, margin
            )
        if self.classifier == "softmax":
            on_classes = softmax_loss(class_scores(g, parameters["class_bias"]), labels, weights)
        return Losses(on_triplets, on_classes)

    def scores(
        self,
        parameters: Parameters,
        g: Tensor,
        members: Members,
        nodes: Tensor,
        references: Tensor | None = None,
    ) -> Tensor:
        """Class scores of nodes (q × m): r × m × c.

        Where the training nodes are not among those of g, ``references`` hold what is needed of them.
        """
        if self.classifier == "softmax":
            return class_scores(take(g, nodes), parameters["class_bias"])
        own = part(parameters, "kernel.")
        if references is None:
            return centroid_scores(self.kernel, own, g, members, nodes)
        return reference_scores(self.kernel, own, take(g, nodes), references, members)
