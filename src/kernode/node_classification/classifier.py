"""NodeKernelClassifier: the scikit-learn estimator that classifies nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from kernode.errors import InputError, warn
from kernode.graph import Graph
from kernode.graph.names import as_classes, as_nodes, found
from kernode.graph.row_labels import require_aligned
from kernode.node_classification.abstaining import checked_threshold, warn_of_uncalibrated
from kernode.node_classification.estimator import NodeKernelEstimator
from kernode.node_classification.given import require_classes
from kernode.node_classification.model_on_graph import ModelOnGraph
from kernode.node_classification.report import Report, judge
from kernode.node_classification.sample_weights import as_weights
from kernode.node_classification.task import LabelledNodes
from kernode.version import versions


class NodeKernelClassifier(ClassifierMixin, NodeKernelEstimator):
    """Learns a kernel on the nodes of a graph and classifies nodes with it.

    Start from a ``variant`` and change what you like; None leaves a setting as the variant has it. The
    default, "auto", tries six and keeps the one that validates best. With ``replicas`` > 1 that many
    models train together, with seeds ``random_state`` + i, and answers are the mean over them. Without
    validation nodes method and number of epochs are chosen by cross-validation over ``folds``, which
    train together, too; the choice is then trained again on all nodes.

    X is a list of nodes, by index or by name; the graph is a keyword of ``fit``, and stays the one that is
    asked about unless another with the same feature columns is given.

    What is made and learned:

    - ``variant``: "auto" or a name in :data:`kernode.VARIANTS`.
    - ``map``, ``kernel``: a feature map and a base kernel in place of the variant's. Their settings are
      parameters, too: ``kernel__gamma``, ``map__hops``.
    - ``objective``: "kernel" (L_K, nearest centroids), "softmax" (L_Y) or "joint" (L_Y + λ L_K, softmax).
    - ``kernel_loss``: what L_K is: "hinge" on triplets, "squared" or "logistic" on pairs.
    - ``hops``, ``powers``, ``hop_weights``: of the hop operator, as in :class:`~kernode.maps.HopMLP`.
    - ``layers``, ``hidden``: number of layers of the MLP, widths of the hidden ones.

    How it is trained (a tuple in place of a number gives each replica its own):

    - ``epochs``, ``learning_rate``, ``weight_decay``: of Adam, each epoch one step on all training nodes.
    - ``dropout``, ``input_dropout``: rates after hidden layers and on the features.
    - ``kernel_weight``, ``margin``, ``triplets``: λ, the hinge's α, and triplets drawn each epoch.
    - ``selection``: "best" keeps the best validation epoch, "last" the last; ``select_by``: best by
      "accuracy" or by mean average precision, "map"; ``patience``: stop after so many epochs without a
      better one; ``averaging``: β of a moving average of the parameters, which is what is kept then.
    - ``class_weights``: "balanced" for rare classes.
    - ``replicas``, ``random_state``: how many models, and the seed of the first: an integer, a generator of
      numpy's that gives one, or None for a fresh one each time. ``seeds_`` are those that were used:
      ``random_state=seeds_[0]`` with ``threads=threads_`` repeats the run on the same machine.
    - ``folds``: parts of the training nodes that choose in turn where no validation nodes are given.
    - ``precision``: 32 or 64 bits; ``device``: "auto", "cpu", "cuda" or "cuda:1"; ``checkpoint``: a
      :class:`~kernode.training.checkpoint.Checkpoint`, for training that can be interrupted.
    - ``threads``: CPU threads while it is fitted; None takes torch's number, or fewer where a moment's trial
      shows that they are clearly faster just now. The same seed gives the same bits for the same number.
    - ``verbose``: 1 tells stderr now and then how far a fit is that takes more than two seconds, 2 of nearly
      every epoch. The log "kernode" (:mod:`logging`) has what is trained, and chosen why.

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

    __metadata_request__predict = {"graph": True, "abstain": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"graph": True}  # noqa: RUF012
    __metadata_request__score = {"graph": True}  # noqa: RUF012

    def predict_proba(self, X: Any, graph: Graph | None = None) -> np.ndarray:
        """How likely each class is, by all replicas together: m × c.

        They are calibrated: a temperature and a floor, fitted on the validation nodes or on held-out folds,
        make them as sure as they turned out to be right. As they were trained they are in a model of a method
        that learns nothing by gradients (``label-propagation``, ``correct-and-smooth``), where
        fewer than ten nodes were held out, and in files of before 0.2; ``model_.calibration`` is then None.
        """
        known = self._on(graph)
        return known.chances(known.find(X))

    def predict(self, X: Any, graph: Graph | None = None, *, abstain: float | None = None) -> np.ndarray:
        """The most probable class of each node, that of the highest ``predict_proba``.

        ``abstain``: the least probability of an answer, above 0 and up to 1. A node whose most probable class
        has less is answered with None, and the array is one of objects. ``(answers != None).mean()`` is the
        share of nodes with an answer; :meth:`report` says how many of such answers are right.
        """
        threshold = None if abstain is None else checked_threshold(abstain)
        chances = self.predict_proba(X, graph)
        answers = self.classes_[chances.argmax(axis=1)]
        if threshold is None:
            return answers
        warn_of_uncalibrated(self.model_)
        answers = answers.astype(object)
        answers[chances.max(axis=1) < threshold] = None
        return answers

    def report(self, X: Any, y: Any, graph: Graph | None = None) -> Report:
        """All that judges the answers about nodes X with classes y; ``print`` it.

        Accuracy and macro F1 in percent, figures of every class, the confusion matrix, ``calibration`` (how
        far probabilities are from what comes true, beside what chance explains of it; how many nodes are
        answered with which accuracy where only sure answers count), and, on the graph that was learned from,
        what the commonest class, features alone and edges alone reach with the same training nodes. They
        choose their settings by the validation nodes that ``fit`` was given; without any, and in a model that
        was read from a file, they have none to choose.
        """
        require_aligned(X, y=y)
        known = self._on(graph)
        nodes, y = self._truth(known, X, y)
        if nodes.shape != y.shape or not len(nodes):
            raise InputError(f"nodes and y must be two lists of one length. Got {nodes.shape} and {y.shape}.")
        taught = np.isin(nodes, self.model_.train).sum() if known.has_training_nodes else 0
        if taught:
            warn(f"{taught:,} of the {len(nodes):,} nodes reported on taught some run: the figures flatter.")
        names = [*self.classes_.tolist(), *np.setdiff1d(y, self.classes_).tolist()]
        numbers = {name: number for number, name in enumerate(names)}
        truth = np.array([numbers[one] for one in y.tolist()])
        model = self.model_
        given = LabelledNodes(model.train, model.train_labels, *self._validation)
        figures = judge(known, np.asarray(nodes)[None], truth[None], given, names)
        return Report(figures | {"versions": versions()})

    def score(self, X: Any, y: Any, sample_weight: Any = None, graph: Graph | None = None) -> float:
        """Accuracy as scikit-learn has it: a fraction, for cross_val_score and GridSearchCV.

        Everything that kernode itself prints or writes is in percent. Where the model knows classes by
        name (as ``kernode fit`` trains it), y may hold the graph's numbers.
        """
        require_aligned(X, y=y, sample_weight=sample_weight)
        known = self._on(graph)
        nodes, y = self._truth(known, X, y)
        weights = as_weights(sample_weight, as_nodes(X), len(nodes))
        return float(accuracy_score(y, self.predict(nodes, graph), sample_weight=weights))

    def _truth(self, known: ModelOnGraph, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and their classes in the words of the model, or a sentence where they are not."""
        nodes, y = found(known.graph, as_nodes(X), as_classes(y))
        if nodes.shape != y.shape or not len(y):  # for which scikit-learn has sentences
            return nodes, y
        require_classes(nodes, y, known.graph, "scored", self.classes_)
        names = np.array(known.graph.class_names)
        if y.dtype.kind in "iu" and self.classes_.dtype.kind == "U" and y.max() < len(names):
            return nodes, names[y]
        numbers = {name: number for number, name in enumerate(names.tolist())}
        if y.dtype.kind in "UO" and self.classes_.dtype.kind in "iu" and set(y.tolist()) <= set(numbers):
            return nodes, np.array([numbers[name] for name in y.tolist()])
        if not np.isin(y, self.classes_).any() and y.dtype.kind != self.classes_.dtype.kind:
            raise InputError(
                f"no class in y, such as {y.tolist()[0]!r}, is one of the model's, such as "
                f"{self.classes_.tolist()[0]!r}. Give the classes as the model learned them."
            )
        return nodes, y
