"""NodeKernelClassifier: the scikit-learn estimator that classifies nodes."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kernode.compute.replicas import whole
from kernode.errors import InputError, bad_setting, warn
from kernode.estimators.nodes import NodeKernelEstimator
from kernode.explain.doubtful import doubtful_labels
from kernode.graph import Graph
from kernode.graph.lookup import as_nodes, require_aligned
from kernode.models.model import Report
from kernode.tasks.classes.calibration import FEWEST, fit_calibration
from kernode.tasks.classes.evaluation import evaluate, fit_report, lines
from kernode.tasks.classes.labels import as_weights, nodes_and_classes, require_classes
from kernode.tasks.classes.model import ClassNames, NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.prediction_sets import checked_coverage, prediction_sets
from kernode.version import versions


class NodeKernelClassifier(ClassifierMixin, NodeKernelEstimator):
    """Learns a kernel on the nodes of a graph and classifies nodes with it.

    Start from a ``variant`` and change what you like; None leaves a part or a setting as it is there. The
    default, "auto", learns a sum of kernels, with members and weights by validation; "fast" trains the best
    of six, "instant" none, "best" all. With ``replicas`` > 1 that many models train together, with seeds
    ``random_state`` + i, and answers are the mean over them. Without validation nodes members and number of
    epochs are chosen by cross-validation over folds, which train together, too; the choice is then trained
    again on all nodes.

    X is a list of nodes, by index or by name; the graph is a keyword of ``fit``, and answers are about it
    unless another with the same feature columns is given.

    - ``variant``: "auto", "best", "fast", "similarity", or a name in :data:`kernode.VARIANTS`.
    - ``map``, ``kernel``, ``loss``, ``training``: a part in place of the variant's, or a mapping of settings
      to change in it: ``map=kn.maps.GAT(64)``, ``loss=kn.losses.Hinge(margin=0.5)``,
      ``training={"dropout": 0.8}``.
      A loss can also be given by name: "kernel" (L_K, nearest centroids), "softmax" (L_Y) or "joint"
      (L_Y + λ L_K, softmax). Settings of parts are parameters, too: ``kernel__gamma``, ``loss__margin``.
    - ``hops``, ``hidden``: settings of the map that everyone changes; ``epochs``, ``learning_rate``,
      ``time_limit`` (seconds, after which it uses what is trained): of
      :class:`~kernode.Training`, which has all others.
    - ``scoring``: the validation figure that chooses epochs, members and weights: "accuracy", "map" (mean
      average precision of similar nodes) or the name of a scorer of scikit-learn, such as
      "average_precision". Of two classes 1 is the positive one beside 0 or −1; of others, the rarer one.
    - ``threshold``: how ``predict`` decides between two classes, by validation nodes: "f1" (the highest F1 of
      the positive class), "recall=0.8" (the highest precision with that recall) or "cost=1:10" (the lowest
      cost of false alarms and misses). None: the most probable class. ``model_.threshold`` has the value.
    - ``replicas``, ``random_state``: how many models, and the seed of the first: an integer, a generator of
      numpy's that gives one, or None for a fresh one each time. ``seeds_`` are those that were used.
    - ``device``: "auto", "cpu", "cuda" or "cuda:1".
    - ``callbacks``: what watches training, one or a list, such as :class:`~kernode.Checkpoint`.
    - ``verbose``: 1 prints now and then how far a fit is that takes more than two seconds, 2 nearly every
      epoch; in a notebook 0 shows a progress bar. The log "kernode" (:mod:`logging`) has trainings and
      choices.

    >>> import kernode as kn
    >>> graph, split = kn.load("cora", split="fastgcn")
    >>> model = kn.NodeKernelClassifier(variant="n1", epochs=30)
    >>> model = model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    >>> bool(model.score(split.test, graph.labels[split.test]) > 0.7)
    True
    >>> model.kernel_.gram(split.test[:3]).shape
    (3, 3)
    >>> [node for node, similarity in model.similar("35", k=3) if similarity > 0.5] != []
    True
    """

    model_kind: ClassVar = NodeModel

    __metadata_request__predict: ClassVar = {"graph": True, "abstain": True}
    __metadata_request__predict_proba: ClassVar = {"graph": True}
    __metadata_request__score: ClassVar = {"graph": True}

    def predict_proba(self, X: Any, graph: Graph | None = None) -> np.ndarray:
        """Probabilities of the classes, by all replicas together: m × c.

        They are calibrated: a temperature and a floor, fitted on the validation nodes or on held-out folds,
        make them as sure as they turned out to be right. As they were trained they are in a model of a method
        that learns nothing by gradients (``label-propagation``, ``correct-and-smooth``), where
        fewer than ten nodes were held out, and in files of before 0.2; ``model_.calibration`` is then None.
        """
        known = self._on(graph)
        return known.calibrated(known.find(X))

    def predict(self, X: Any, graph: Graph | None = None, *, abstain: float | None = None) -> np.ndarray:
        """The class of each node: that of the highest ``predict_proba``, or by the ``threshold``.

        ``abstain``: the least probability of an answer, above 0 and up to 1. A node whose most probable class
        has less is answered with None, and the array is one of objects. ``(answers != None).mean()`` is the
        share of nodes with an answer; :meth:`report` has the accuracy of such answers.
        """
        threshold = None if abstain is None else checked_threshold(abstain)
        probabilities = self.predict_proba(X, graph)
        answers = self.classes_[self.model_.decided(probabilities)]
        if threshold is None:
            return answers
        check_abstaining(self.model_)
        answers = answers.astype(object)
        answers[probabilities.max(axis=1) < threshold] = None
        return answers

    def predict_set(self, X: Any, coverage: float = 0.9, graph: Graph | None = None) -> list[Any]:
        """A set of classes for each node, which has the true one with a probability of ``coverage``.

        Split-conformal: a class is in the set if it is as probable as the true class was for all but a share
        1 − ``coverage`` of the held-out nodes (validation nodes or folds). On average over nodes drawn as
        those were, that share of sets or more has the true class; not within each class, nor for nodes of a
        later time. The most probable class is first, and the one that :meth:`predict` gives is always there.

        A list of nodes gives a list of sets; a single node gives one set.

        >>> import kernode as kn
        >>> graph, split = kn.load("cora", split="fastgcn")
        >>> model = kn.NodeKernelClassifier("instant").fit(graph=graph, split=split)
        >>> model.predict_set("35", coverage=0.5)
        ['Genetic_Algorithms']
        >>> min(len(one) for one in model.predict_set(split.test, coverage=0.9))
        1
        """
        coverage, alone, known = checked_coverage(coverage), np.ndim(X) == 0, self._on(graph)
        nodes = known.find(np.atleast_1d(np.asanyarray(X)) if alone else X)
        found = prediction_sets(self.model_, known.calibrated(nodes), coverage)
        return found[0] if alone else found

    def calibrate(self, X: Any, y: Any) -> Self:
        """The same model with probabilities and sets calibrated on nodes X of classes y, without training.

        Validation nodes chose the model, and are a little easier for it than others: sets made with them
        cover slightly less than they should. Here, give ten nodes or more that neither trained nor validated,
        drawn as those to be predicted: of the same year, say, or of all classes after :meth:`add_labels`.
        This estimator stays as it is.
        """
        known, model = self._on(), self.model_
        nodes, _, truth = self._truth(known, X, y)
        if model.threshold is not None:
            raise InputError(
                "this model decides by a threshold on probabilities as they are. Train it again, with these "
                "nodes among the validation nodes.",
                "unsupported",
            )
        if known.has_training_nodes and np.isin(nodes, model.train).any():
            raise InputError("some of these nodes trained the model. Give others.", "conflict", setting="X")
        if (count := len(np.unique(nodes))) < FEWEST:
            raise InputError(
                f"calibration takes {FEWEST} nodes or more. Got {count}.", "too-few", setting="X"
            )
        if model.validation is not None and np.isin(nodes, model.validation).any():
            warn("some of these nodes validated the model: the sets cover slightly less than they should.")
        truth = np.where(truth < len(model.classes), truth, -1)
        on = known.with_metadata(calibration=fit_calibration(known.probabilities(nodes), truth[None], count))
        return copy(self)._become(on.model, str(on.options.device), on, self._labelled, self._splits)

    def report(self, X: Any = None, y: Any = None, graph: Graph | None = None) -> Report:
        """Evaluate the answers about nodes X with classes y, or about the test nodes of a split.

        Accuracy and macro F1 in percent, figures of every class, the confusion matrix, retrieval of similar
        nodes, ``calibration`` (how far probabilities are from observed frequencies, and what chance explains
        of it), ``sets`` (coverage and size of :meth:`predict_set`, at 0.9), and, on the graph that was
        learned from, what baselines reach with the same training nodes: the commonest class, features alone,
        edges alone, boosting on features and neighbours' means, and "instant". They choose their settings by
        the validation nodes; ``ahead`` of the model is paired node by node, with its 95 % interval.

        Without X the report is that of the whole fit on a split, with the test figures under "test".
        """
        known = self._on(graph)
        if X is None:
            if self._splits is None:
                raise InputError(
                    "the model was not fitted on a split: give nodes and their classes.",
                    "missing",
                    setting="X",
                )
            return fit_report(known, self._splits, self._labelled)
        require_aligned(X, y=y)
        nodes, classes, truth = self._truth(known, X, y)
        trained = np.isin(nodes, self.model_.train).sum() if known.has_training_nodes else 0
        if trained:
            warn(f"{trained:,} of the {len(nodes):,} nodes trained some replica: the figures are optimistic.")
        figures = evaluate(known, np.asarray(nodes)[None], truth[None], classes.classes, self._labelled)
        return Report(figures | {"versions": versions()}, lines)

    def doubtful_labels(self, k: int = 20, *, graph: Graph | None = None) -> list[dict[str, Any]]:
        """The k known labels that are most likely wrong, the most doubtful first; fewer if fewer are.

        A label is doubtful if another class is more probable. Each row has ``node``, ``label`` (as the data
        gives it), ``predicted``, the probabilities ``p_label`` and ``p_predicted``, ``trained`` and
        ``reason``; ``pandas.DataFrame`` takes the list. The order is that of p_predicted − p_label.

        Probabilities are those of the replicas that were not trained on the node. If all were, ``trained`` is
        True: the model has partly memorised the label, and ``p_label`` is optimistic.
        """
        return doubtful_labels(self._on(graph), whole("k", k, 1))

    def score(self, X: Any, y: Any, sample_weight: Any = None, graph: Graph | None = None) -> float:
        """Accuracy as scikit-learn has it: a fraction, for cross_val_score and GridSearchCV.

        Everything that kernode itself prints or writes is in percent. Where the model knows classes by
        name (as ``kernode fit`` trains it), y may hold the graph's numbers.
        """
        from sklearn.metrics import accuracy_score

        require_aligned(X, y=y, sample_weight=sample_weight)
        known = self._on(graph)
        nodes, _, truth = self._truth(known, X, y)
        weights = as_weights(sample_weight, as_nodes(X), len(nodes))
        predicted = self.model_.decided(self.predict_proba(nodes, graph))
        return float(accuracy_score(truth, predicted, sample_weight=weights))

    def _truth(self, known: NodeModelOnGraph, X: Any, y: Any) -> tuple[np.ndarray, ClassNames, np.ndarray]:
        """Nodes, the classes that there are, and the number of each node's."""
        nodes, y = nodes_and_classes(known.graph, X, y)
        require_classes(nodes, y, known.graph, "scored", self.classes_)
        return nodes, *known.classes.numbered(y.tolist())


def checked_threshold(abstain: Any) -> float:
    """Return the least probability of an answer, checked.

    >>> checked_threshold(0.9)
    0.9
    """
    if isinstance(abstain, bool) or not isinstance(abstain, Real) or not 0 < float(abstain) <= 1:
        raise bad_setting("abstain", "a probability above 0 and up to 1, such as 0.9", abstain)
    return float(abstain)


def check_abstaining(model: NodeModel) -> None:
    """Raise where a threshold decides; warn where probabilities are not calibrated."""
    if model.threshold is not None:
        raise InputError(
            f"this model decides by a threshold ({model.threshold.rule}): leave out abstain.",
            "conflict", setting="abstain",
        )  # fmt: skip
    warn_of_uncalibrated(model)


def warn_of_uncalibrated(model: NodeModel) -> None:
    """Warn where probabilities are not calibrated, so that a threshold on them means little."""
    if model.calibration is not None:
        return
    if not model.method.has_kernel:
        why = f"{model.method.title} is never calibrated. Choose a variant that is trained, such as k3"
    else:
        why = (
            f"the model is of before 0.2, or had fewer than {FEWEST} nodes to be calibrated on. Train it "
            "again, with more validation nodes"
        )
    warn(f"probabilities are as they were trained, so that a threshold on them means little: {why}.")
