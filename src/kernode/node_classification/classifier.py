"""NodeKernelClassifier: the scikit-learn estimator that classifies nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.graph.names import as_classes, as_nodes, found
from kernode.graph.row_labels import require_aligned
from kernode.node_classification.estimator import NodeKernelEstimator
from kernode.node_classification.folds import require_classes
from kernode.node_classification.report import Report, judged
from kernode.node_classification.task import LabelledNodes
from kernode.version import versions


class NodeKernelClassifier(ClassifierMixin, NodeKernelEstimator):
    """Learns a kernel on the nodes of a graph and classifies nodes with it.

    Start from a ``variant`` and change what you like; None leaves a setting as the variant has it. The
    default, "auto", tries two and keeps the one that validates better. With ``replicas`` > 1 that many
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
      better one.
    - ``class_weights``: "balanced" for rare classes.
    - ``replicas``, ``random_state``: how many models, and the seed of the first: an integer, a generator of
      numpy's that gives one, or None for a fresh one each time. ``seeds_`` are those that were used:
      ``random_state=seeds_[0]`` repeats the run.
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
    >>> [node for node, similarity in model.similar(35, k=3) if similarity > 0.5] != []
    True
    """

    __metadata_request__predict = {"graph": True}  # noqa: RUF012
    __metadata_request__predict_proba = {"graph": True}  # noqa: RUF012
    __metadata_request__score = {"graph": True}  # noqa: RUF012

    def predict_proba(self, X: Any, graph: Graph | None = None) -> np.ndarray:
        """Class probabilities, the mean over replicas: m × c."""
        known = self._on(graph)
        return known.probabilities(known.find(X)).mean(axis=0)

    def predict(self, X: Any, graph: Graph | None = None) -> np.ndarray:
        """The most probable class of each node."""
        best = self.predict_proba(X, graph).argmax(axis=1)
        return self.classes_[best]

    def report(self, X: Any, y: Any, graph: Graph | None = None) -> Report:
        """All that judges the answers about nodes X with classes y; ``print`` it.

        Accuracy and macro F1 in percent, figures of every class, the confusion matrix, and, on the graph that
        was learned from, what the commonest class, features alone and edges alone reach with the same
        training nodes.
        """
        known = self._on(graph)
        nodes, y = found(known.graph, as_nodes(X), as_classes(y))
        if nodes.shape != y.shape or not len(nodes):
            raise InputError(f"nodes and y must be two lists of one length. Got {nodes.shape} and {y.shape}.")
        require_classes(nodes, y, known.graph, "reported")
        if y.dtype.kind in "iu" and self.classes_.dtype.kind == "U":
            y = np.array(known.graph.class_names)[y]
        names = [*self.classes_.tolist(), *np.setdiff1d(y, self.classes_).tolist()]
        truth = np.array([names.index(one) for one in y.tolist()])
        model = self.model_
        none = np.empty((1, 0), np.int64)
        given = LabelledNodes(model.train, model.train_labels, none, none)
        figures = judged(known, np.asarray(nodes)[None], truth[None], given, names)
        return Report(figures | {"versions": versions()})

    def score(self, X: Any, y: Any, sample_weight: Any = None, graph: Graph | None = None) -> float:
        """Accuracy as scikit-learn has it: a fraction, for cross_val_score and GridSearchCV.

        Everything that kernode itself prints or writes is in percent. Where the model knows classes by
        name (as ``kernode fit`` trains it), y may hold the graph's numbers.
        """
        require_aligned(X, y=y, sample_weight=sample_weight)
        known = self._on(graph)
        nodes, y = found(known.graph, as_nodes(X), as_classes(y))
        if nodes.shape == y.shape:  # else scikit-learn has its own sentence
            require_classes(nodes, y, known.graph, "scored")
        if y.dtype.kind in "iu" and self.classes_.dtype.kind == "U":
            y = np.array(known.graph.class_names)[y]
        return float(accuracy_score(y, self.predict(nodes, graph), sample_weight=sample_weight))
