"""Successive halving: who is kept, by what was seen until then and by nothing that came later."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernode.models.halving import RUNGS, choose, reached, rungs, survivors

LAST = RUNGS[-1][0]


@st.composite
def courses(draw, most=8):
    """Validation accuracies of some candidates, E × r each: of few values, so that many are equal."""
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    runs = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(1, LAST + 40), min_size=1, max_size=most))
    return [50.0 + 10 * random.binomial(4, 0.02, size=(length, runs)) for length in lengths]


def one_by_one(validated):
    """The slow way: at every rung the worst leaves, of equals the last, until few enough are left."""
    left = list(range(len(validated)))
    for epoch, count in RUNGS:
        while len(left) > count:
            scores = [np.mean([max(run[:epoch]) for run in validated[i].T]) for i in left]
            left.remove(max(i for i, score in zip(left, scores, strict=True) if score == min(scores)))
    return left[0]


@given(courses())
def test_the_one_kept_is_that_of_dropping_the_worst_one_by_one(validated):
    assert choose(validated) == one_by_one(validated)


@given(courses(), st.integers(1, LAST), st.integers(1, 8))
def test_survivors_are_no_worse_than_whoever_leaves_and_keep_their_order(validated, epoch, left):
    kept = survivors(validated, epoch, left)
    assert kept == sorted(set(kept))
    assert len(kept) == min(left, len(validated))
    for gone in set(range(len(validated))) - set(kept):
        for i in kept:
            ahead, behind = reached(validated[i], epoch), reached(validated[gone], epoch)
            assert ahead > behind or (ahead == behind and i < gone)


@given(courses(), st.integers(0, 2**31))
def test_what_comes_after_the_last_rung_is_not_seen(validated, seed):
    random = np.random.default_rng(seed)
    longer = [np.concatenate([one[:LAST], 100 * random.random((50, one.shape[1]))]) for one in validated]
    full = [one for one in validated if len(one) >= LAST]
    if len(full) == len(validated):  # who had stopped before has no more epochs to show
        assert choose(longer) == choose(validated)


@given(courses(), st.integers(0, 2**31))
def test_what_a_candidate_would_have_done_after_it_left_is_not_seen(validated, seed):
    random, chosen, left = np.random.default_rng(seed), choose(validated), list(range(len(validated)))
    later = [one.copy() for one in validated]
    for epoch, count in rungs(len(validated)):
        kept = [left[i] for i in survivors([validated[i] for i in left], epoch, count)]
        for gone in set(left) - set(kept):
            later[gone][epoch:] = 100 * random.random(later[gone][epoch:].shape)
        left = kept
    assert choose(later) == chosen


@given(courses(), st.integers(0, 100))
def test_a_candidate_that_stopped_early_counts_with_what_it_had(validated, more):
    longer = [np.concatenate([one, np.repeat(one.min(axis=0)[None], more, axis=0)]) for one in validated]
    assert choose(longer) == choose(validated)


@given(courses())
def test_answers_that_are_no_numbers_are_kept_only_where_there_are_no_others(validated):
    broken = np.full((LAST, validated[0].shape[1]), -np.inf)
    assert choose([broken, *validated]) != 0
    assert choose([broken, broken]) == 0


@given(st.integers(1, 40))
def test_rungs_leave_fewer_each_time_and_one_in_the_end(candidates):
    found = rungs(candidates)
    counts = [candidates, *(left for _, left in found)]
    assert counts == sorted(set(counts), reverse=True)
    assert counts[-1] == 1
    assert [epoch for epoch, _ in found] == sorted({epoch for epoch, _ in found})
    assert {*found} <= {*RUNGS}


def test_one_run_that_is_no_number_costs_a_candidate_its_place():
    half = np.array([[99.0, -np.inf]] * 3)
    assert reached(half, 3) == -np.inf
    assert choose([half, np.array([[1.0, 1.0]] * 3)]) == 1
