"""Base class of all estimators: parameters, settings of parts as parameters, the fitted model."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernode.compute.replicas import PerReplica, RandomState, seed_from, seeds_from, whole
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.errors import InputError, bad_setting, warn
from kernode.graph import Graph, positions
from kernode.kernels import BaseKernel, NodeKernel
from kernode.losses import Loss
from kernode.maps import FeatureMap
from kernode.models.model import History, Model
from kernode.models.overrides import PARTS, by_part, combined, part_of
from kernode.training.callbacks import Callback, NotebookBar, TimeLimit, Verbose
from kernode.training.run import Run
from kernode.training.settings import Training

# Settings of parts that everyone changes.
_SHORTCUTS = ("hops", "hidden", "epochs", "learning_rate", "time_limit")
_RUNTIME = ("precision", "threads", "time_limit")  # settings of training that say how it is run
# Parameters of 0.2, now settings of parts: accepted until 0.4.
_FORMER = {
    *("objective", "kernel_loss", "kernel_weight", "margin", "triplets", "class_weights"),
    *("layers", "powers", "hop_weights", "weight_decay", "dropout", "input_dropout", "selection"),
    *("select_by", "patience", "averaging", "folds", "precision", "threads", "checkpoint"),
}


class KernelEstimator(BaseEstimator):
    """Base of all estimators. Parameters are documented in :class:`~kernode.NodeKernelClassifier`."""

    by_model: ClassVar[dict[type[Model], type[KernelEstimator]]] = {}  # which estimator answers with a model
    model_kind: ClassVar[type[Model]]
    _on_own_graph: Any = None  # the model on the graph that it learned from, where that is known

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "model_kind" in vars(cls):
            KernelEstimator.by_model[cls.model_kind] = cls

    @classmethod
    def of_model(cls, model: Any, graph: Graph | None, device: str, path: str | Path) -> KernelEstimator:
        """The estimator that answers with a model that was read from a file, on a graph or on its own."""
        raise NotImplementedError

    def _set_fitted(self, model: Any, on: Any) -> None:
        """Set the fitted attributes that all estimators have."""
        self.model_, self.history_, self._on_own_graph = model, History(model.history), on
        # Seeds and threads repeat the run; a file does not say its threads.
        self.seeds_, self.threads_ = model.seeds, model.threads

    def _on(self, graph: Graph | None = None) -> Any:
        """The model on a graph; None is the one that was learned from."""
        check_is_fitted(self, "model_")
        return self._on_own_graph

    @property
    def kernel_(self) -> NodeKernel:
        """K(u, v) on the nodes of ``graph_``: p.s.d., for any kernel machine."""
        return self._on().kernel

    @property
    def graph_(self) -> Graph:
        """The graph that answers are about where no other is given."""
        return self._on().graph

    def save(self, path: str | Path, *, with_graph: bool = False) -> Path:
        """Write the model to one .safetensors file, which :func:`kernode.load_model` reads.

        It holds weights, settings, class names and what was done to a table's columns. ``with_graph``: also
        ``graph_`` with all that it holds, labels included; the file then needs no other, and a classifier in
        it can be extended.
        """
        check_is_fitted(self, "model_")
        if with_graph and not getattr(self._on(), "has_training_nodes", True):
            raise InputError(
                f"the model was read with {self.graph_.name!r}, which is not the graph it learned from. Save "
                f"it without its graph, or read it with {self.model_.dataset!r}.",
                "conflict", setting="with_graph",
            )  # fmt: skip
        return self.model_.save(path, self.graph_ if with_graph else None)

    # With metadata routing, the graph goes to every method that takes one, without a set_…_request.
    __metadata_request__fit: ClassVar = {"graph": True}

    def __init__(
        self,
        variant: str = "auto",
        *,
        map: FeatureMap | Mapping[str, Any] | None = None,
        kernel: BaseKernel | Mapping[str, Any] | None = None,
        loss: Loss | Mapping[str, Any] | str | None = None,
        training: Training | Mapping[str, Any] | None = None,
        hops: int | None = None,
        hidden: Sequence[int] | int | None = None,
        epochs: int | None = None,
        learning_rate: PerReplica | None = None,
        time_limit: float | None = None,
        scoring: str | None = None,
        threshold: str | None = None,
        replicas: int = 1,
        random_state: RandomState = 0,
        device: str = "auto",
        callbacks: Sequence[Callback] | Callback | None = None,
        verbose: int = 0,
        **former: Any,
    ) -> None:
        self.variant = variant
        self.map = map
        self.kernel = kernel
        self.loss = loss
        self.training = training
        self.hops = hops
        self.hidden = hidden
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.time_limit = time_limit
        self.scoring = scoring
        self.threshold = threshold
        self.replicas = replicas
        self.random_state = random_state
        self.device = device
        self.callbacks = callbacks
        self.verbose = verbose
        self._take_former(former)

    def _take_former(self, former: Mapping[str, Any]) -> None:
        """Put parameters of 0.2 where they belong now, with a warning."""
        for name, value in former.items():
            if name not in _FORMER:
                raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {name!r}")
            if value is None:
                continue
            if name == "checkpoint":
                part, shown = "callbacks", "callbacks=[…]"
                self.callbacks = [*_listed(self.callbacks), value]
            else:
                part = part_of(name)
                shown = f"{part}={{{name!r}: …}}"
                self._change(part, {name: value})
            warn(f"{name} is a setting of {part} since 0.3, and not accepted as a parameter from 0.4 on: "
                 f"write {shown}.", FutureWarning)  # fmt: skip

    def _change(self, part: str, settings: Mapping[str, Any]) -> None:
        """Change settings of a part: of the one that is given, or of the variant's."""
        given = {} if (own := getattr(self, part)) is None else {part: own}
        setattr(self, part, combined(given, {part: settings})[part])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; ``deep``: also the settings of parts, as ``kernel__gamma``."""
        params = super().get_params(deep=deep)
        if deep:
            for name in PARTS:
                params |= _nested(name, params[name])
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, settings of parts included: ``set_params(kernel__gamma=0.5)``.

        A part is never changed in place: one with the new setting replaces it. Without a part, the variant's
        own is changed, and ``fit`` raises for a setting that it does not have.
        """
        former = {name: params.pop(name) for name in [*params] if name in _FORMER}
        nested = {name: params.pop(name) for name in [*params] if "__" in name}
        super().set_params(**params)  # a part that is given together with its settings is set first
        for path, value in sorted(nested.items(), key=lambda item: item[0].count("__")):
            part, *names = path.split("__")
            if part not in PARTS:
                raise InputError(
                    f"{path!r} is not a parameter of {type(self).__name__}.",
                    "unknown", what="parameter", setting=path, name=path,
                )  # fmt: skip
            settings: Any = value
            for name in reversed(names):
                settings = {name: settings}
            self._change(part, settings)
        self._take_former(former)
        return self

    @property
    def _changes(self) -> dict[str, Any]:
        """What the parameters change in the variant."""
        return by_part(**{name: getattr(self, name) for name in (*PARTS, *_SHORTCUTS)})

    def _run(self) -> Run:
        """How a fit is run."""
        training, callbacks = self._changes.get("training", {}), _listed(self.callbacks)
        if not isinstance(training, Training):
            training = Training(**{name: training[name] for name in _RUNTIME if name in training})
        seeds = seeds_from(seed_from(self.random_state), self.replicas)
        if whole("verbose", self.verbose, 0):
            callbacks = (*callbacks, Verbose(self.verbose))
        elif NotebookBar.is_wanted():
            callbacks = (*callbacks, NotebookBar())
        if training.time_limit is not None:
            callbacks = (*callbacks, TimeLimit(training.time_limit))
        return Run(
            seeds, TensorOptions.of(training.precision, self.device), callbacks, threads=training.threads
        )

    def __sklearn_tags__(self) -> Any:
        """One list or column of names or indices, from 0 on."""
        tags = super().__sklearn_tags__()
        given = tags.input_tags
        given.one_d_array = given.two_d_array = given.string = given.categorical = given.positive_only = True
        return tags


# Parameters of 0.2 are accepted, and not shown.
_shown = inspect.signature(KernelEstimator.__init__)
KernelEstimator.__init__.__signature__ = _shown.replace(  # type: ignore[attr-defined]
    parameters=[one for one in _shown.parameters.values() if one.name != "former"]
)


class VectorsMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin for estimators that give vectors of nodes, in the model's precision."""

    @property
    def _n_features_out(self) -> int:
        return int(self.kernel_.vectors(positions([0])).shape[1])

    def __sklearn_tags__(self) -> Any:
        """The numbers have the model's precision, whatever the indices have."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def settings_of(model: Any, device: str) -> dict[str, Any]:
    """Return the parameters of an estimator, as far as a model has them."""
    method = model.method
    names = ("map", "kernel", "loss") if hasattr(method, "loss") else ()  # else the variant has them
    parts = {name: getattr(method, name) for name in names if hasattr(method, name)}
    training = dataclasses.replace(model.training, precision=model.precision)
    return {
        **parts,
        "training": training,
        "replicas": len(model.seeds),
        "random_state": model.seeds[0],
        "device": device,
    }


def _listed(callbacks: Sequence[Callback] | Callback | None) -> tuple[Callback, ...]:
    if callbacks is None or isinstance(callbacks, Callback):
        return () if callbacks is None else (callbacks,)
    if not isinstance(callbacks, Sequence) or not all(isinstance(one, Callback) for one in callbacks):
        raise bad_setting("callbacks", "a list of kn.Callback objects", callbacks)
    return tuple(callbacks)


def _nested(prefix: str, part: Any) -> dict[str, Any]:
    """All settings of a part, by their paths."""
    if isinstance(part, Mapping):
        return {f"{prefix}__{name}": value for name, value in part.items()}
    if not isinstance(part, Config):
        return {}
    found: dict[str, Any] = {}
    for field in dataclasses.fields(part):
        path, value = f"{prefix}__{field.name}", getattr(part, field.name)
        found |= {path: value} | _nested(path, value)
    return found
