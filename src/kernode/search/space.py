"""What a search for settings solves: the values to try, and their score on validation data.

The structure of a map is shared by all replicas of a stack, so it has few choices; training settings may
differ between replicas and are ranges.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernode.compute.place import Place
from kernode.compute.replicas import seeds_from
from kernode.config import has_setting
from kernode.errors import InputError, MissingExtraError, bad_setting
from kernode.graph import Graph
from kernode.io import Split, split_nodes
from kernode.io.edge_split import split_edges
from kernode.kernels import Normalized
from kernode.models.changes import part_of
from kernode.models.fit import fit_candidates
from kernode.models.task import Task
from kernode.models.variants import known_name
from kernode.tasks.classes.labels import in_folds
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.task import LabelledNodes, NodeTask
from kernode.tasks.classes.variants import configure, settings_key
from kernode.tasks.links.method import LinkMethod
from kernode.tasks.links.task import LinkTask
from kernode.tasks.links.variants import LINK_VARIANTS, configure_links
from kernode.training.callbacks import Callback
from kernode.training.run import Run
from kernode.training.settings import Training

try:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, distribution_to_json
except ImportError:
    sentence = "tuning needs optuna: pip install 'kernode[tune]'."
    raise MissingExtraError(sentence, package="optuna", extra="tune") from None

Settings = dict[str, Any]  # by name, as `configure` takes them
Callbacks = tuple[Callback, ...]

TRAINING = {
    "learning_rate": FloatDistribution(1e-3, 5e-2, log=True),
    "weight_decay": FloatDistribution(1e-6, 1e-2, log=True),
    "dropout": FloatDistribution(0.0, 0.9),
    "input_dropout": FloatDistribution(0.0, 0.9),
    "kernel_weight": FloatDistribution(0.0, 3.0),  # λ
    "margin": FloatDistribution(0.05, 1.0),  # α
}


@dataclass(frozen=True)
class Space:
    """Values to try for one method."""

    structure: dict[str, CategoricalDistribution]
    training: dict[str, FloatDistribution]
    own: dict[str, Any]  # the method's own values, as near as the space has them
    layers: int  # hidden layers of a structure that has any

    def settings(self, drawn: Mapping[str, Any]) -> Settings:
        """Return drawn values as `configure` takes them; four digits, as in a settings file."""
        settings = {name: drawn[name] for name in self.structure}
        settings |= {name: float(f"{drawn[name]:.4g}") for name in self.training}
        if "hidden" in settings:
            if not settings["hidden"]:
                settings.pop("dropout", None)  # it follows hidden layers
            settings["hidden"] = [settings["hidden"]] * self.layers if settings["hidden"] else []
        return settings


def search_space(
    method: Method | LinkMethod, training: Training, choices: Mapping[str, tuple[Any, ...]]
) -> Space:
    """Return what to try for a method: choices of its structure, and the training settings that it uses."""
    feature_map = method.map
    if not choices:
        kind = type(feature_map).__name__
        sentence = f"{kind} has no settings to search for. Choose another variant."
        raise InputError(sentence, "setting", setting="variant")
    structure, layers = dict(choices), len(getattr(feature_map.unwrapped, "hidden", ()))
    if layers == 0 and 0 not in structure.get("hidden", (0,)):
        del structure["hidden"]  # a method of one layer stays one
    own = {name: _own_value(method, training, name) for name in structure}
    structure = {name: of if own[name] in of else (*of, own[name]) for name, of in structure.items()}
    # A map without a hidden layer ignores dropout, but a structure that is tried may have one.
    may_drop = feature_map.drops_input and "hidden" in structure
    ignored = feature_map.ignored_settings - ({"dropout"} if may_drop else set())
    used = {name for name in TRAINING if part_of(name) == "training" or has_setting(method.loss, name)}
    ranges = {name: one for name, one in TRAINING.items() if name in used - ignored}
    for name, one in ranges.items():
        own[name] = min(max(_own_value(method, training, name), one.low), one.high)
    return Space(
        {name: CategoricalDistribution(of) for name, of in structure.items()}, ranges, own, max(1, layers)
    )


def _own_value(method: Method | LinkMethod, training: Training, name: str) -> Any:
    """A method's own value of a setting, in the form of a choice."""
    if name == "hidden":
        return next(iter(getattr(method.map.unwrapped, "hidden", ())), 0)
    if name == "normalized":
        return isinstance(method.kernel, Normalized)
    part: Any = training if part_of(name) == "training" else method
    while name not in vars(part):  # a setting of a part within, such as the margin of a joint loss
        part = next(inner for inner in vars(part).values() if has_setting(inner, name))
    return getattr(part, name)


@dataclass(frozen=True)
class Problem:
    """A graph, a variant and a validation metric: "accuracy" or "map" of nodes, or "auc" of links.

    No test node or edge has a part in it. All replicas share the split of the first seed: test nodes of one
    random split are training nodes of another.
    """

    graph: Graph
    variant: str
    metric: str
    replicas: int = 1  # of each trial
    seed: int = 0  # of the first replica, and of the split
    epochs: int | None = None  # None: the variant's
    split: str | None = None  # of nodes
    folds: int = 0  # of nodes; 0: the split's own validation nodes

    @property
    def of_links(self) -> bool:
        """Whether links are predicted, and not classes."""
        return self.metric == "auc"

    @property
    def split_name(self) -> str | None:
        """How nodes are split; by default as `kernode fit` splits them."""
        if self.of_links:
            return None
        return self.split or ("fastgcn" if known_name(self.graph) else "jk")

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the replicas of a trial, the same for all trials; each seed trains on every fold."""
        return tuple(s for s in seeds_from(self.seed, self.replicas) for _ in range(max(1, self.folds)))

    def configured(self, settings: Settings) -> tuple[Any, Training]:
        """Return the variant's method and training with other settings."""
        if self.of_links:
            return configure_links(self.variant, **settings)
        return configure(self.variant, settings_key(self.graph), **settings)

    @cached_property
    def fixed(self) -> Settings:
        """Settings that all trials share."""
        method, training = self.configured({})
        epochs = training.epochs if self.epochs is None else self.epochs
        if not epochs or not isinstance(method, Method | LinkMethod):
            raise InputError(
                f"{self.variant} has nothing to search for: it does not train a map for at least one epoch.",
                "setting", setting="epochs" if self.epochs == 0 else "variant",
            )  # fmt: skip
        return {"epochs": epochs} | ({} if self.of_links else {"select_by": self.metric})

    @cached_property
    def space(self) -> Space:
        """Values to try."""
        method, training = self.configured(self.fixed)
        choices = (
            LINK_VARIANTS[self.variant.lower()].search_space if self.of_links else method.map.search_space
        )
        return search_space(method, training, choices)

    @property
    def facts(self) -> dict[str, Any]:
        """What two searches must share for one to continue the other."""
        nodes = b""
        if not self.of_links:
            task: Any = self.task(1, Run(self.seeds, Place.of()))
            nodes = b"".join(array.tobytes() for array in vars(task.nodes).values())
        drawn = self.space.structure | self.space.training
        return {
            "graph": self.graph.fingerprint,
            "variant": self.variant,
            "metric": self.metric,
            "replicas": self.replicas,
            "seed": self.seed,
            "epochs": self.fixed["epochs"],
            "split": self.split_name,
            "folds": self.folds,
            "nodes": hashlib.sha256(nodes).hexdigest(),
            "space": {name: distribution_to_json(one) for name, one in drawn.items()},
        }

    @cached_property
    def parts(self) -> list[Split]:
        """Training and validation nodes: one split, or one per fold."""
        (split,) = split_nodes(self.graph, self.split, [self.seed])
        if self.folds:
            nodes = np.union1d(split.train, split.validation)
            if not 2 <= self.folds <= len(nodes) // 2:
                raise bad_setting("folds", f"0 or an integer from 2 to {len(nodes) // 2}", self.folds)
            known = LabelledNodes.without_validation(nodes, self.graph.labels[nodes])
            folds = in_folds(known, self.folds, self.seed)
            return [Split(*both, []) for both in zip(folds.train, folds.validation, strict=True)]
        if not len(split.validation):
            sentence = "a search needs validation nodes. Choose a split that has some, or a number of folds."
            raise InputError(sentence, "missing", setting="split")
        return [split]

    def task(self, trials: int, run: Run) -> Task[Any]:
        """Return the task of a stack of trials."""
        if self.of_links:
            return LinkTask(self.graph, split_edges(self.graph, self.seed), run)
        return NodeTask.of_splits(self.graph, self.parts * (trials * self.replicas), run)

    def measure(self, settings: list[Settings], place: Place, callbacks: Callbacks = ()) -> np.ndarray:
        """Train settings of one structure as one stack: the best metric of each replica, t trials × r."""
        changes = dict(settings[0])
        for name in self.space.training.keys() & changes.keys():
            changes[name] = tuple(one[name] for one in settings for _ in self.seeds)
        task = self.task(len(settings), Run(self.seeds * len(settings), place, callbacks))
        model: Any = fit_candidates(task, {self.variant: self.configured(changes)}).model
        epochs, replicas = model.kept_epochs - 1, np.arange(len(model.kept_epochs))
        best: np.ndarray = model.history[f"validation_{self.metric}"][epochs, replicas]
        return best.reshape(len(settings), -1)
