import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from kernode.metrics.ranking import auc, link_metrics
from refusals import refused

few_values = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 2.0])  # so that ties are common
any_value = st.floats(allow_nan=False, allow_infinity=False)
scores = st.lists(few_values, min_size=1, max_size=130) | st.lists(any_value, min_size=1, max_size=30)
arrays = scores.map(np.array)


def slow_figures(positive, negative):
    """Each figure by loops, as link_metrics defines it."""
    found = {"auc": np.mean([(p > q) + (p == q) / 2 for p in positive for q in negative])}
    precision = []
    for edge in positive:
        edges, others = sum(p >= edge for p in positive), sum(q >= edge for q in negative)
        precision.append(edges / (edges + others))
    found["ap"] = np.mean(precision)
    for k in (20, 50, 100):
        if k <= len(negative):
            kth = sorted(negative, reverse=True)[k - 1]
            found[f"hits_at_{k}"] = np.mean([p > kth for p in positive])
    ranks = [1 + (sum(q > p for q in negative) + sum(q >= p for q in negative)) / 2 for p in positive]
    found["mrr"] = np.mean([1 / rank for rank in ranks])
    return {name: pytest.approx(100 * float(one), abs=1e-9) for name, one in found.items()}


@given(arrays, arrays)
def test_figures_equal_slow_loops(positive, negative):
    figures = link_metrics(positive, negative)
    assert figures == slow_figures(positive, negative)
    assert list(figures) == list(slow_figures(positive, negative))


@pytest.mark.parametrize(("edges", "others"), [(20, 1), (237, 300)])  # 20, 1: scikit-learn's ap is above 1
def test_a_perfect_ranking_has_100_everywhere(edges, others):
    figures = link_metrics(np.linspace(2, 3, edges), np.linspace(0, 1, others))
    assert all(99.999999 < figure <= 100 for figure in figures.values())


def test_a_tie_with_the_kth_non_edge_is_no_hit():
    negative = np.arange(100, dtype=float)
    assert link_metrics(np.array([80.0]), negative)["hits_at_20"] == 0
    assert link_metrics(np.array([80.0 + 1e-9]), negative)["hits_at_20"] == 100
    assert link_metrics(np.array([0.0]), negative)["hits_at_100"] == 0


def test_huge_scores_do_not_overflow():
    huge = np.finfo(np.float64).max
    figures = link_metrics(np.array([huge, -huge]), np.array([-huge]))
    assert figures["auc"] == pytest.approx(75)


@pytest.mark.parametrize("scores", [[], [0.5, np.nan], [[0.5]]])
def test_wrong_scores_are_refused(scores):
    with refused("setting", setting="positive"):
        link_metrics(scores, np.array([0.5]))
    with refused("setting", setting="negative"):
        link_metrics(np.array([0.5]), scores)


def test_auc_equals_scikit_learns_with_ties():
    random = torch.Generator().manual_seed(0)
    positive, negative = (torch.randint(0, 9, (3, m), generator=random).double() for m in (40, 70))
    for i, ours in enumerate(auc(positive, negative)):
        truth = np.r_[np.ones(40), np.zeros(70)]
        assert ours.item() == pytest.approx(100 * roc_auc_score(truth, torch.cat([positive[i], negative[i]])))
