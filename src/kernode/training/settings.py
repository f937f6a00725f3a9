"""Settings of training: epochs, optimiser, dropout, selection of the epoch, stopping, precision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch import Tensor

from kernode.compute.replicas import PerReplica, one_each, plain_numbers, whole
from kernode.compute.tensor_options import MOST_THREADS, TensorOptions
from kernode.config import LATER, RUNTIME, Config, require_setting
from kernode.errors import InputError, warn
from kernode.metrics.scoring import require_scoring

if TYPE_CHECKING:
    from kernode.training.loop import BestEpoch

MOST_EPOCHS = 10_000_000
_RATES = ("dropout", "input_dropout")
PER_REPLICA = ("learning_rate", "weight_decay", *_RATES)
# What has no effect where nothing is learned.
OF_LEARNING = frozenset(
    {"epochs", "learning_rate", "weight_decay", "selection", "select_by", "patience", "stopping"}
    | {"averaging"}
)


@dataclass(frozen=True)
class Stopping(Config):
    """Base class of stopping rules; implement :meth:`goes_on`."""

    @abstractmethod
    def goes_on(self, epoch: int | Tensor, best: BestEpoch) -> Tensor:
        """Return which of r replicas still train in an epoch (r booleans), from the best epochs before it.

        A replica that does not go on keeps its best epoch, also in a stack whose other replicas go on.
        """


@dataclass(frozen=True)
class Patience(Stopping):
    """Stop a replica after so many epochs without a better one."""

    epochs: int

    def __post_init__(self) -> None:
        whole("patience", self.epochs, 1, MOST_EPOCHS)

    def goes_on(self, epoch: int | Tensor, best: BestEpoch) -> Tensor:
        """Return where the best epoch is at most ``epochs`` ago."""
        return epoch - best.epoch <= self.epochs


@dataclass(frozen=True)
class Training(Config):
    """Settings of training. Values that the paper does not state are marked.

    A tuple in place of a number gives each replica its own (``learning_rate``, ``weight_decay``, ``dropout``,
    ``input_dropout``).

    - ``epochs``, ``learning_rate``, ``weight_decay``: each epoch is one step on all training data.
    - ``dropout``, ``input_dropout``: rates after hidden layers and on the features.
    - ``selection``: "best" keeps the best validation epoch, "last" the last one.
    - ``select_by``: best by "accuracy", by mean average precision of similar nodes, "map", or by a scorer of
      scikit-learn, such as "average_precision".
    - ``patience``: stop after so many epochs without a better one; ``stopping``: any other rule.
    - ``averaging``: β of a moving average of the parameters, which is then what is kept; 0 for none.
    - ``folds``: parts of the training nodes that validate in turn where no validation nodes are given.
    - ``precision``: 32 or 64 bits.
    - ``threads``: CPU threads; None for torch's own number. The same seed and number give the same bits.
    - ``time_limit``: seconds after which a fit uses what is trained until then; None for no limit. The same
      seed then need not give the same bits.
    """

    epochs: int = 200
    learning_rate: PerReplica = 0.01
    weight_decay: PerReplica = 5e-4  # not stated
    dropout: PerReplica = 0.5  # not stated
    selection: Literal["best", "last"] = "best"  # the paper's choice; its code keeps the last epoch
    patience: int | None = None
    input_dropout: PerReplica = 0.0  # not in the paper
    select_by: str = "accuracy"  # others are not in the paper
    averaging: float = field(default=0.0, metadata=LATER)
    stopping: Stopping | None = field(default=None, metadata=LATER)
    folds: int = field(default=3, metadata=RUNTIME, compare=False)
    precision: int = field(default=32, metadata=RUNTIME, compare=False)
    threads: int | None = field(default=None, metadata=RUNTIME, compare=False)
    time_limit: float | None = field(default=None, metadata=RUNTIME, compare=False)

    def __post_init__(self) -> None:
        for name in PER_REPLICA:
            plain = plain_numbers(name, getattr(self, name), rate=name in _RATES)
            object.__setattr__(self, name, plain)
        for name, lowest in (("epochs", 0), ("patience", 1)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name), lowest, MOST_EPOCHS))
        whole("folds", self.folds, 2)
        if self.threads is not None:
            whole("threads", self.threads, 1, MOST_THREADS)
        limit = self.time_limit
        positive = limit is None or (isinstance(limit, Real) and limit > 0)
        require_setting(positive, "time_limit", "a number of seconds > 0", limit)
        selection = self.selection
        require_setting(selection in ("best", "last"), "selection", "'best' or 'last'", selection)
        require_scoring("select_by", self.select_by)
        require_setting(self.precision in (32, 64), "precision", "32 or 64", self.precision)
        averages = isinstance(self.averaging, Real) and 0 <= self.averaging < 1
        require_setting(averages, "averaging", "a number in [0, 1)", self.averaging)
        if self.stopping_rule is not None and self.selection == "last":
            name = "patience" if self.stopping is None else "stopping"
            raise InputError(
                f"{name} stops at the best epoch, and the last one is to be kept. Leave it out.",
                "conflict", setting=name,
            )  # fmt: skip

    @property
    def stopping_rule(self) -> Stopping | None:
        """Rule by which a replica stops before the last epoch, or None."""
        if self.stopping is not None or self.patience is None:
            return self.stopping
        return Patience(self.patience)

    @property
    def ignored_settings(self) -> frozenset[str]:
        """Settings that have no effect given the others."""
        unused = {"select_by"} if self.selection == "last" else set()
        if self.epochs == 0:
            unused |= OF_LEARNING - {"epochs", "selection"} | {*_RATES}
        return frozenset(unused)

    def without_selection(self) -> Training:
        """Return the settings without a choice of the epoch; with a stopping rule, for the default number."""
        epochs = self.epochs if self.stopping_rule is None else min(self.epochs, Training.epochs)
        return replace(self, selection="last", patience=None, stopping=None, epochs=epochs)

    def by_replica(self, replicas: int, options: TensorOptions) -> dict[str, Tensor]:
        """Return the settings that may differ between replicas, as one number for each."""
        return {name: one_each(name, getattr(self, name), replicas, options) for name in PER_REPLICA}


def require_effect(given: Mapping[str, Any], ignored: frozenset[str], what: str) -> None:
    """Raise where a setting that was given has no effect; a dropout of 0 may always be given."""
    for name, value in given.items():
        if name in ignored and not (name in _RATES and not np.any(value)):
            raise InputError(f"{name} has no effect on {what}: leave it out.", "no-effect", setting=name)


def advise_more_epochs(model: Any, by: str) -> None:
    """Warn where the best epoch of a model was the last, for at least half of its replicas.

    Not where a stopping rule ended training, nor where validation (in percent) could not be better.
    """
    training, values = model.training, model.history.get(f"validation_{by}")
    if training.selection != "best" or values is None or not 0 < training.epochs == len(values):
        return
    could_be_better = values.max(axis=0) < 100
    if 2 * np.count_nonzero((model.kept_epochs == training.epochs) & could_be_better) >= len(model.seeds):
        warn(
            f"the best epoch was the last ({training.epochs} of {training.epochs}): training longer may "
            f"help, e.g. {2 * training.epochs} epochs."
        )
