"""NodeKernelRegressor: the scikit-learn estimator that predicts numbers of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import column_or_1d

from kernode.compute.replicas import RandomState, seed_from, seeds_from, whole
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import InputError, bad_setting
from kernode.estimators.base import KernelEstimator
from kernode.explain.numbers import (
    NumberExplanation,
    NumberWhatIf,
    explain_number,
    what_if_number,
)
from kernode.explain.similar import restricted
from kernode.explain.what_if import as_edit
from kernode.graph import Graph, positions
from kernode.graph.lookup import as_nodes, require_aligned
from kernode.io import Split
from kernode.io.exchange import require_graph
from kernode.io.node_split import split_nodes
from kernode.io.tables import extend
from kernode.io.tables.columns import with_target
from kernode.kernels import Covariance
from kernode.maps import FeatureMap
from kernode.models.model import Report
from kernode.tasks.numbers.learned import configured
from kernode.tasks.numbers.model import (
    INTERVALS,
    Interval,
    NumberModel,
    NumbersOnGraph,
    known_numbers,
    quantiles_of,
)
from kernode.tasks.numbers.process import DEFAULT, LEARNED, GaussianProcess
from kernode.tasks.numbers.task import UNTRAINED, fit_numbers
from kernode.training.callbacks import NotebookBar, TimeLimit, Verbose
from kernode.training.run import Run
from kernode.training.settings import Training

USUAL_SPLIT = "0.64/0.16/0.2"  # of a graph's own numbers


class NodeKernelRegressor(RegressorMixin, KernelEstimator):
    """Learns a kernel on the nodes of a graph and predicts a number of each, with its uncertainty.

    A Gaussian process: its covariance is a sum of kernels of the features, of features and their means over
    two hops, of the edges, and a product of both. Hyperparameters are found by marginal likelihood; no
    validation node is needed. A prediction is a weighted sum of the known numbers.

    - ``kernel``: a covariance in place of the default: a :class:`~kernode.kernels.FeatureCovariance`, a
      :class:`~kernode.kernels.GraphCovariance`, or sums and products of such.
    - ``nodes``: on how many random nodes the likelihood is computed. All known numbers are used afterwards.
    - ``exact``: up to how many known numbers the posterior is exact, on graphs of up to some 10,000 nodes.
      ``inducing``: beyond, how many nodes stand for all in terms with features (None: up to 2,000, by
      memory); terms of edges become one whose inverse is sparse. The log and ``model_.summary()`` say so.
    - ``map``: a map to learn, such as ``kn.maps.HopMLP(hidden=(64,), outputs=16)``; its columns become two
      more terms. It is trained on 60 % of the numbers; the other 40 % choose the epoch and hyperparameters.
    - ``replicas``: of the map, with seeds S, S+1, …, side by side. ``scoring``: the scorer of scikit-learn
      that chooses the epoch, "r2" if None. ``training``: a :class:`~kernode.Training`, or settings of it.
    - ``random_state``: which nodes these are, and which are held out for conformal intervals.
    - ``threads``, ``verbose``: as in :class:`NodeKernelClassifier`. It runs on the CPU, in float64.

    >>> import numpy as np
    >>> import kernode as kn
    >>> graph, split = kn.load("synthetic:nodes=200,classes=3,features=8", split="0.6/0.2/0.2")
    >>> y = np.asarray(graph.features @ np.linspace(-1, 1, 8), float)
    >>> model = kn.NodeKernelRegressor().fit(split.train, y[split.train], graph=graph)
    >>> bool(model.score(split.test, y[split.test]) > 0.9)
    True
    >>> mean, deviation = model.predict(split.test[:3], return_std=True)
    >>> mean.shape, deviation.shape, model.predict_interval(split.test[:3]).shape
    ((3,), (3,), (3, 2))
    """

    model_kind: ClassVar = NumberModel

    def __init__(
        self,
        kernel: Covariance | None = None,
        *,
        nodes: int = 800,
        inducing: int | None = None,
        exact: int = 5000,
        map: FeatureMap | None = None,
        replicas: int = 1,
        scoring: str | None = None,
        training: Training | Mapping[str, Any] | None = None,
        random_state: RandomState = 0,
        threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel: Any = kernel
        self.nodes = nodes
        self.inducing = inducing
        self.exact = exact
        self.map: Any = map
        self.replicas = replicas
        self.scoring = scoring
        self.training = training
        self.random_state = random_state
        self.threads = threads
        self.verbose = verbose

    # Its parameters are no parts of a trained method.
    get_params = BaseEstimator.get_params
    set_params = BaseEstimator.set_params

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        graph: Graph | None = None,
        split: str | Split | None = None,
    ) -> Self:
        """Learn from nodes X and their numbers y, from a column of the graph, or from its own numbers.

        X: names, indices (:func:`kernode.positions` where names are integers, too), or a mask of all nodes.

        ``fit("price", graph=graph)`` takes the numbers in a column of the graph's tables, which is then no
        feature, ``fit(graph=graph)`` those of ``graph.targets``. Both hold a fifth of them out as test nodes,
        as :meth:`report` needs, or what ``split`` says, as :func:`kernode.load` takes it. Training and
        validation nodes of a split are both learned from: the validation nodes calibrate intervals.
        """
        if isinstance(X, str) and y is None:
            graph, X = with_target(require_graph(graph), X, "numbers"), None
        graph, held, tested, name = require_graph(graph), None, None, ""
        (process, training), run = self._learner(), self._run()
        if X is None:
            parts = split_numbers(graph, split, run.seeds)
            nodes = np.concatenate([parts.train, parts.validation])
            held = np.arange(len(parts.train), len(nodes)) if len(parts.validation) else None
            assert graph.targets is not None
            numbers, tested = graph.targets[nodes], parts.test[None]
            name = "" if isinstance(split, Split) else str(split or USUAL_SPLIT)
        else:
            nodes, numbers = self._known(graph, X, y, split)
        on = fit_numbers(process, graph, nodes, numbers, run, held, training, tested=tested, split=name)
        return self._become(on)

    def process(self) -> GaussianProcess:
        """The Gaussian process that the parameters stand for."""
        return self._learner()[0]

    def _learner(self) -> tuple[GaussianProcess, Training]:
        """The Gaussian process, and the training of its map."""
        kernel = (DEFAULT if self.map is None else DEFAULT + LEARNED) if self.kernel is None else self.kernel
        if not isinstance(kernel, Covariance):
            raise bad_setting("kernel", "a covariance such as kernode.kernels.FeatureCovariance(…)", kernel)
        inducing = None if self.inducing is None else whole("inducing", self.inducing, 2)
        sizes = whole("nodes", self.nodes, 2), inducing, whole("exact", self.exact, 0)
        replicas = whole("replicas", self.replicas, 1)
        if self.map is None:
            given = {"replicas": replicas > 1, "scoring": self.scoring is not None}
            given |= {"training": self.training is not None}
            for name in (name for name, is_given in given.items() if is_given):
                sentence = f"{name} has no effect without a map to learn: leave it out, or give a map."
                raise InputError(sentence, "no-effect", setting=name)
            return GaussianProcess(kernel, *sizes), UNTRAINED
        GaussianProcess(kernel, *sizes, self.map)  # is it a map?
        learned, training = configured(self.map, self.scoring, self.training)
        return GaussianProcess(kernel, *sizes, learned), training

    @property
    def has_unused_labels(self) -> bool:
        """Whether some nodes of the graph have a number that was not learned from."""
        targets = self.graph_.targets
        return targets is not None and self.model_.train.shape[1] < int(np.isfinite(targets).sum())

    def refit(self) -> Self:
        """Fit again on every number of the graph: to be used, not scored.

        This estimator, with the figures of its test nodes, stays as it is.
        """
        graph = self.graph_
        nodes = positions(known_numbers(graph))
        assert graph.targets is not None
        return clone(self).fit(nodes, graph.targets[nodes], graph=graph)

    def _known(self, graph: Graph, X: Any, y: Any, split: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and their numbers, checked."""
        require_aligned(X, y=y)
        if y is None:
            who = type(self).__name__
            raise InputError(
                f"{who} requires y to be passed, but the target y is None: pass the numbers.",
                "missing", setting="y",
            )  # fmt: skip
        if split is not None:
            sentence = "a split is of the graph's own numbers: leave out X and y."
            raise InputError(sentence, "conflict", setting="split")
        given = as_nodes(X)
        nodes = np.asarray(graph.find(given))
        if given.dtype == bool and len(of_all := np.asarray(y)) == len(
            given
        ):  # a mask, and numbers of all nodes
            y = of_all[given]
        numbers = as_numbers(y, len(nodes))
        if len(np.unique(nodes)) < len(nodes):
            raise InputError("a node is given twice. List each node once.", "duplicate", setting="X")
        return nodes, numbers

    def _run(self) -> Run:
        callbacks: tuple[Any, ...] = ()
        if whole("verbose", self.verbose, 0):
            callbacks = (Verbose(self.verbose),)
        elif NotebookBar.is_wanted():
            callbacks = (NotebookBar(),)
        if (limit := self._learner()[1].time_limit) is not None:
            callbacks = (*callbacks, TimeLimit(limit))
        seeds = seeds_from(seed_from(self.random_state), self.replicas)
        return Run(seeds, TensorOptions.of(64, "cpu"), callbacks, threads=self.threads)

    def _become(self, on: NumbersOnGraph) -> Self:
        self._set_fitted(on.model, on)
        self.n_features_in_ = 1  # X is one column: the node
        return self

    @classmethod
    def of_model(cls, model: NumberModel, graph: Graph | None, device: str, path: str | Path) -> Self:
        """The estimator that answers with a model from a file."""
        graph = model.own_graph() if graph is None else graph
        if graph is None:
            raise InputError(
                f"{path} knows numbers of nodes of {model.dataset!r}. Give that graph, or save the model "
                "with it.",
                "missing", setting="graph", path=path,
            )  # fmt: skip
        process = model.method
        own = cls(
            process.covariance, nodes=process.nodes, inducing=process.inducing, exact=process.exact,
            map=process.map, replicas=len(model.seeds),
            training=None if process.map is None else model.training, random_state=model.seeds[0],
        )  # fmt: skip
        return own._become(model.on(graph))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The number of each node, the posterior mean; with ``return_std`` also its standard deviation."""
        on, nodes = self._at(X)
        return (on.numbers(nodes), on.deviations(nodes)) if return_std else on.numbers(nodes)

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] | float = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles of each node's number by the posterior: m × len(quantiles)."""
        levels = [share("quantiles", one) for one in np.atleast_1d(np.asarray(quantiles, object))]
        return quantiles_of(*self._at(X), levels)

    def predict_interval(self, X: Any, coverage: float = 0.9, method: Interval = "conformal") -> np.ndarray:
        """An interval for each node's number: m × 2, low and high.

        - "conformal": holds for new nodes that are drawn as the known ones were, whatever the model. A fifth
          of the known numbers (or the validation nodes of a split) has no part in the fit and says how wide.
        - "loo": by leave-one-out errors of all known numbers; narrower, without a guarantee.
        - "gaussian": by the posterior alone, right if the model is.
        """
        if method not in INTERVALS:
            raise bad_setting("method", "'conformal', 'loo' or 'gaussian'", method)
        on, nodes = self._at(X)
        return on.intervals(nodes, share("coverage", coverage), method)

    def sample(self, X: Any, count: int = 1, random_state: RandomState = 0) -> np.ndarray:
        """Draw functions from the posterior, without noise, at some nodes: count × m."""
        on, nodes = self._at(X)
        drawn = on.posterior.samples(nodes, whole("count", count, 1), seed_from(random_state))
        found: np.ndarray = on.model.center + on.model.spread * drawn
        return found

    @property
    def loo_(self) -> tuple[np.ndarray, np.ndarray]:
        """Prediction and standard deviation of each known number by all others, in closed form.

        In the order of ``model_.train[0]``.
        """
        found: tuple[np.ndarray, np.ndarray] = self._on().left_out()
        return found

    def report(self, X: Any = None, y: Any = None) -> Report:
        """Evaluate the answers about nodes X with numbers y, or about the test nodes of the fit's split.

        R², MAE, RMSE next to baselines on the same known numbers (the mean, ridge regression, gradient
        boosting on features with neighbours' means, label propagation), coverage and width of intervals with
        what chance explains of it, and how many test nodes have a twin among the known ones.
        """
        from kernode.tasks.numbers.evaluation import number_report

        on: NumbersOnGraph = self._on()
        if X is None:
            if on.model.tested is None or on.graph.targets is None:
                sentence = "the model was not fitted on a split: give nodes and their numbers."
                raise InputError(sentence, "missing", setting="X")
            nodes = on.model.tested[0]
            return number_report(on, nodes, on.graph.targets[nodes])
        require_aligned(X, y=y)
        _, nodes = self._at(X)
        return number_report(on, nodes, as_numbers(y, len(nodes)))

    def add_labels(self, X: Any, y: Any) -> Self:
        """The same model with more known numbers, without a fit. This estimator stays as it is."""
        on: NumbersOnGraph = self._on()
        nodes, numbers = self._known(on.graph, X, y, None)
        return copy(self)._become(on.with_numbers(nodes, numbers))

    def extend(
        self, graph: Graph | None, nodes: Any, edges: Any, *, names: Any = None, encoding: str | None = None
    ) -> Self:
        """The same model after nodes and edges arrived, as :func:`kernode.extend` takes them.

        Everything is computed again on the larger graph, which is ``graph_`` of what comes back; there is no
        fit. This estimator stays as it is.
        """
        on = self._on()
        if graph is not None and graph is not on.graph:
            sentence = "a regressor extends the graph that it learned from: give None."
            raise InputError(sentence, "conflict", setting="graph")
        larger = extend(on.graph, nodes, edges, names=names, encoding=encoding)
        return copy(self)._become(on.on_graph(larger))

    def similar(
        self,
        nodes: Any,
        k: int = 10,
        *,
        among: Any = None,
        where: Mapping[str, Any] | None = None,
        unlisted: bool = False,
        exact: bool = True,
    ) -> Any:
        """The k nodes most similar to one by K̄, as :meth:`NodeKernelClassifier.similar` has them."""
        on = self._on()
        some = restricted(on.graph, among, None, where, unlisted=unlisted)
        return on.kernel.similar(nodes, k, among=some, exact=exact)

    def explain(self, node: Any, *, top: int = 10) -> NumberExplanation:
        """Why a node has its number, in two exact sums: by known numbers, and by features and edges.

        The ``top`` known numbers that add most are shown, all others as one.
        """
        on = self._on()
        return explain_number(on, on.find_one(node), whole("top", top, 1))

    def what_if(
        self, node: Any, *, add: Any = (), remove: Any = (), features: Any = None, columns: Any = None
    ) -> NumberWhatIf:
        """The number of a node if edges or features were others, with the same known numbers.

        The parameters are those of :meth:`NodeKernelClassifier.what_if`.
        """
        on = self._on()
        return what_if_number(on, *as_edit(on.graph, node, add, remove, features, columns))

    def _on(self, graph: Graph | None = None) -> NumbersOnGraph:
        found: NumbersOnGraph = super()._on(graph)
        return found

    def _at(self, X: Any) -> tuple[NumbersOnGraph, np.ndarray]:
        on = self._on()
        return on, on.find(X)

    def __sklearn_tags__(self) -> Any:
        """One list or column of names or indices, and the number of each."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def split_numbers(graph: Graph, split: Any, seeds: Sequence[int]) -> Split:
    """Return the split of a graph's own numbers, checked."""
    known = known_numbers(graph)
    if not isinstance(split, Split):
        # By its numbers, whatever classes it has as well.
        alone = replace(graph, labels=np.full(graph.n_nodes, -1), class_names=())
        (split,) = split_nodes(alone, split or USUAL_SPLIT, seeds[:1])
    for part in (split.train, split.validation, split.test):
        for node in np.setdiff1d(graph.find(positions(part)), known)[:1]:
            raise InputError(
                f"node {graph.lookup.name(node)} is in the split and has no number. Leave it out.",
                "missing", setting="split",
            )  # fmt: skip
    return split


def as_numbers(y: Any, count: int) -> np.ndarray:
    """Return numbers as an array, or raise."""
    try:
        given = np.asarray(y)
        if given.ndim == 2 and given.shape[1] == 1:
            given = column_or_1d(given, warn=True)
        numbers = given.astype(np.float64, casting="safe" if given.dtype.kind == "c" else "unsafe")
    except (ValueError, TypeError):
        raise bad_setting("y", "numbers", y) from None
    if numbers.shape != (count,):
        raise InputError(
            f"y must hold one number for each node of X ({count}). Got shape {numbers.shape}.",
            "shape", setting="y", expected=(count,), found=numbers.shape,
        )  # fmt: skip
    for at in np.flatnonzero(~np.isfinite(numbers))[:1]:
        raise InputError(
            f"y, entry {at} is not a finite number. Leave the node out.", "not-finite", setting="y"
        )
    return numbers


def share(name: str, value: Any) -> float:
    """Return a number between 0 and 1, checked."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise bad_setting(name, "between 0 and 1, both excluded", value)
    return float(value)
