"""Which nodes teach and which choose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernode.errors import InputError


@dataclass(frozen=True)
class Lesson:
    """Which nodes teach and which choose: arrays q × m, q = 1 where all replicas share them, else r."""

    train: np.ndarray
    train_labels: np.ndarray
    validation: np.ndarray
    validation_labels: np.ndarray  # −1: a class that no training node has, wrong whatever is answered
    classes: int

    def __post_init__(self) -> None:
        for nodes, labels in (
            (self.train, self.train_labels),
            (self.validation, self.validation_labels),
        ):
            if nodes.shape != labels.shape or nodes.ndim != 2:
                raise InputError(f"nodes and labels must have one shape. Got {nodes.shape}, {labels.shape}.")
        if (self.train_labels < 0).any():
            node = self.train[self.train_labels < 0][0]
            raise InputError(f"node {node} has no label: keep it out of the training nodes.")
        if self.train.shape[1] == 0:
            raise InputError("there are no training nodes. Give at least one labelled node per class.")

    def of(self, replicas: slice) -> Lesson:
        """The lesson of some of the replicas."""
        if len(self.train) == 1 and len(self.validation) == 1:
            return self
        return replace(
            self,
            train=self.train[replicas],
            train_labels=self.train_labels[replicas],
            validation=self.validation[replicas],
            validation_labels=self.validation_labels[replicas],
        )

    def lonely_classes(self) -> list[int]:
        """Classes with a single training node in some replica."""
        counts = np.stack([np.bincount(row, minlength=self.classes) for row in self.train_labels])
        return np.flatnonzero((counts == 1).any(axis=0)).tolist()
