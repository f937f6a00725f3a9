import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from kernode.metrics.ranking import auc, link_metrics
from refusals import refused


def names(negative):
    """Figures that there are: no hits at more than there are non-edges."""
    hits = (f"hits_at_{k}" for k in (20, 50, 100) if k <= len(negative))
    return ["auc", "ap", *hits, "mrr"]


few_values = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 2.0])  # so that ties are common
any_value = st.floats(allow_nan=False, allow_infinity=False)
scores = st.lists(few_values, min_size=1, max_size=130) | st.lists(any_value, min_size=1, max_size=30)
arrays = scores.map(np.array)


def slow_auc(positive, negative):
    wins = [(p > q) + (p == q) / 2 for p in positive for q in negative]
    return 100 * sum(wins) / len(wins)


def slow_ap(positive, negative):
    """Precision at each threshold, weighted by the recall it adds."""
    total = 0.0
    for threshold in sorted(set(positive)):
        above = sum(p >= threshold for p in positive)
        precision = above / (above + sum(q >= threshold for q in negative))
        total += precision * sum(p == threshold for p in positive) / len(positive)
    return 100 * total


def slow_hits(k, positive, negative):
    if len(negative) < k:
        return 100.0
    kth = sorted(negative, reverse=True)[k - 1]
    return 100 * sum(p > kth for p in positive) / len(positive)


def slow_mrr(positive, negative):
    total = 0.0
    for p in positive:
        best = 1 + sum(q > p for q in negative)
        worst = 1 + sum(q >= p for q in negative)
        total += 1 / ((best + worst) / 2)
    return 100 * total / len(positive)


@given(arrays, arrays)
def test_figures_equal_slow_loops(positive, negative):
    figures = link_metrics(positive, negative)
    assert list(figures) == names(negative)
    assert figures["auc"] == pytest.approx(slow_auc(positive, negative), abs=1e-9)
    assert figures["ap"] == pytest.approx(slow_ap(positive, negative), abs=1e-9)
    assert figures["mrr"] == pytest.approx(slow_mrr(positive, negative), abs=1e-9)
    for k in (k for k in (20, 50, 100) if k <= len(negative)):
        assert figures[f"hits_at_{k}"] == pytest.approx(slow_hits(k, positive, negative), abs=1e-9)


@given(arrays, arrays, st.randoms(use_true_random=False))
def test_only_the_order_of_scores_counts(positive, negative, random):
    ranks = np.unique(np.concatenate([positive, negative]), return_inverse=True)[1]
    first, second = ranks[: len(positive)].tolist(), ranks[len(positive) :].tolist()
    random.shuffle(first)
    random.shuffle(second)
    figures = link_metrics(np.array(first), np.array(second))
    assert figures == pytest.approx(link_metrics(positive, negative), abs=1e-9)


@pytest.mark.parametrize("edges", [1, 20, 237])
@pytest.mark.parametrize("others", [1, 300])  # 20 and 1: scikit-learn's sum for ap is above 1
def test_a_perfect_ranking_has_100_everywhere(edges, others):
    figures = link_metrics(np.linspace(2, 3, edges), np.linspace(0, 1, others))
    assert figures == dict.fromkeys(names(range(others)), pytest.approx(100.0, abs=1e-9))
    assert max(figures.values()) <= 100


def test_a_tie_with_the_kth_non_edge_is_no_hit():
    negative = np.arange(100, dtype=float)
    assert link_metrics(np.array([80.0]), negative)["hits_at_20"] == 0
    assert link_metrics(np.array([80.0 + 1e-9]), negative)["hits_at_20"] == 100
    assert link_metrics(np.array([0.0]), negative)["hits_at_100"] == 0


def test_huge_scores_do_not_overflow():
    huge = np.finfo(np.float64).max
    figures = link_metrics(np.array([huge, -huge]), np.array([-huge]))
    assert figures["auc"] == pytest.approx(75)


@pytest.mark.parametrize("scores", [[], [0.5, np.nan], [np.inf, 0.5], [[0.5]], 0.5])
def test_what_cannot_be_ranked_is_refused(scores):
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
