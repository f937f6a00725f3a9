"""Figures that choose epochs, members and weights: scikit-learn's scorers, of class probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernode.errors import InputError, bad_setting

OWN = ("accuracy", "map")  # what the training itself computes, on any device
_ONE_IS_POSITIVE = ({"0", "1"}, {"-1", "1"}, {"False", "True"})


def require_scoring(setting: str, name: Any) -> None:
    """Raise unless a name is one of kernode's own figures or of scikit-learn's scorers."""
    if name not in OWN:
        from sklearn.metrics import get_scorer_names

        if name not in get_scorer_names():
            names = "'accuracy', 'map' or the name of a scorer of scikit-learn, such as 'average_precision'"
            raise bad_setting(setting, names, name)


def require_number_scoring(setting: str, name: Any) -> None:
    """Raise unless a name is that of a scorer of scikit-learn's for numbers."""
    from sklearn.metrics import get_scorer_names

    truth = np.array([0.5, 1.25, 2.75, 3.5])  # no two the same, and none a class
    if name not in get_scorer_names() or not number_score(name, truth, truth) > number_score(
        name, truth, truth[::-1]
    ):
        names = "the name of a scorer of scikit-learn for numbers, such as 'r2' or 'neg_mean_absolute_error'"
        raise bad_setting(setting, names, name)


def number_score(name: str, truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return the score of predicted numbers by a scorer of scikit-learn's; NaN where it has none.

    In percent where 1 is the best one, as R².

    >>> number_score("r2", np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]))
    50.0
    """
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.metrics import get_scorer

    class Answers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
        def predict(self, X: np.ndarray) -> np.ndarray:
            return X

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = float(get_scorer(name)(Answers(), predicted, truth))
    except (ValueError, TypeError, AttributeError):  # not about numbers, or not about these
        return float("nan")
    return 100 * found if in_percent(name) else found


def in_percent(name: str) -> bool:
    """Whether a figure is shown in percent: errors of numbers are in units of their own."""
    return not name.startswith("neg_") and name != "max_error"


def figure_name(name: str) -> str:
    """Return the name of a figure in texts.

    >>> figure_name("map"), figure_name("average_precision"), figure_name("roc_auc")
    ('mAP', 'average precision', 'ROC AUC')
    """
    known = {"map": "mAP", "auc": "AUC", "r2": "R²", "roc_auc": "ROC AUC"}
    return known.get(name, name.replace("_", " "))


def positive_class(classes: Sequence[Any], labels: np.ndarray) -> int | None:
    """Return the number of the positive one of two classes; None where there are more or fewer.

    That is 1 beside 0 or −1, and True, as in scikit-learn; of other classes the rarer one among ``labels``,
    the class numbers of training nodes.

    >>> often_second = np.array([0, 1, 1])
    >>> positive_class(["fraud", "honest"], often_second), positive_class(["0", "1"], often_second)
    (0, 1)
    """
    if len(classes) != 2:
        return None
    names = [str(one) for one in classes]
    if set(names) in _ONE_IS_POSITIVE:
        return names.index("1" if "1" in names else "True")
    first, second = np.bincount(labels.ravel(), minlength=2)
    return int(second <= first)


@dataclass(frozen=True)
class Scorer:
    """A scorer of scikit-learn's, by name, for c classes whose positive one of two is ``positive``.

    ROC AUC of several classes is the mean of one class against the rest.

    >>> Scorer("average_precision", 2, positive=0)(np.array([[[0.9, 0.1], [0.4, 0.6]]]), np.array([[0, 1]]))
    array([100.])
    """

    name: str
    classes: int
    positive: int | None = None

    def __call__(self, probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return 100 × the score of r replicas (r × m × c) on nodes with true classes (q × m): r.

        Nodes of other classes (−1) do not count. NaN where probabilities are not finite.
        """
        from sklearn.metrics import get_scorer

        several = self.name == "roc_auc" and self.classes > 2
        score, found = get_scorer("roc_auc_ovr" if several else self.name), []
        # Of two classes the second is the positive one, True as in scikit-learn's defaults.
        order = None if self.positive is None else [1 - self.positive, self.positive]
        answers = _answers(np.arange(self.classes) if order is None else np.array([False, True]))
        for row, p in enumerate(probabilities.astype(np.float64)):
            y = truth[min(row, len(truth) - 1)]
            p, y = p[y >= 0], y[y >= 0]
            if order is not None:
                p, y = p[:, order], y == self.positive
            with warnings.catch_warnings():  # about classes that no answer has, in early epochs
                warnings.simplefilter("ignore")
                found.append(score(answers, p, y) if np.isfinite(p).all() else np.nan)
        return 100 * np.array(found, np.float64)

    def check(self, truth: np.ndarray) -> None:
        """Raise unless right answers about nodes with true classes (q × m) score higher than wrong ones."""
        right = np.eye(self.classes + 1)[truth][..., : self.classes] + 0.1
        try:
            best, worst = (self(p / p.sum(axis=-1, keepdims=True), truth) for p in (right, 1.2 - right))
            why = "" if (best > worst).all() else "right ones score no higher, as where a class has no node"
        except TypeError:
            why = "it is not about classes"
        except ValueError as error:
            why = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        if why:
            raise InputError(
                f"scoring {self.name!r} cannot compare answers about the validation nodes: {why}. Choose "
                "another one, such as 'f1_macro', or other validation nodes.",
                "setting", setting="scoring", value=self.name,
            )  # fmt: skip


def _answers(classes: np.ndarray) -> Any:
    """Return a fitted classifier of scikit-learn's whose X holds the probabilities."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        classes_ = classes

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return X

        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.asarray(classes[X.argmax(axis=1)])

    return Answers()
