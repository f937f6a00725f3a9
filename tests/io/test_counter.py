"""Random words in numpy are those of kernode.compute.draws, and what is made of them is what it claims."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernode.compute.draws import Draws
from kernode.io.synthetic import bell, below, permutation, random_words


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**20), st.integers(0, 2**40))
def test_words_are_those_that_torch_computes(seed, stream, start):
    index = torch.arange(start, start + 20)
    expected = Draws(torch.tensor([seed])).words(stream, index)[:, 0].numpy().view(np.uint64)
    assert random_words(seed, stream, start, start + 20).tolist() == expected.tolist()


def test_words_never_change():
    assert random_words(0, 1, 0, 1).tolist() == [10681125515907561725]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.integers(1, 2**53 - 1))
def test_bounded_numbers_are_the_exact_ones_but_for_rounding(words, bound):
    drawn = below(np.array(words, np.uint64), bound)
    assert (drawn >= 0).all()
    assert (drawn < bound).all()
    exact = [(word >> 11) * bound >> 53 for word in words]
    assert np.abs(drawn - np.array(exact)).max() <= 1


def test_bounded_numbers_are_equally_likely():
    drawn = below(random_words(3, 1, 0, 60_000), 6)
    assert np.abs(np.bincount(drawn) / 10_000 - 1).max() < 0.05
    pairs = below(random_words(3, 1, 0, 4), np.array([1, 1, 2, 2]))
    assert pairs[:2].tolist() == [0, 0]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_a_bell_number_is_the_sum_of_four_parts(words):
    expected = [sum((word >> shift) & 0xFFFF for shift in (0, 16, 32, 48)) - 131_070 for word in words]
    assert bell(np.array(words, np.uint64)).tolist() == expected


def test_bell_numbers_look_normal():
    values = bell(random_words(5, 2, 0, 200_000)) / np.sqrt((2**32 - 1) / 3)
    assert values.mean() == pytest.approx(0, abs=0.01)
    assert values.std() == pytest.approx(1, abs=0.01)
    assert (values**3).mean() == pytest.approx(0, abs=0.02)
    assert (values**4).mean() == pytest.approx(2.7, abs=0.03)  # 3 for a normal one


@given(st.integers(0, 200), st.integers(0, 50))
def test_a_permutation_holds_every_number_once(n, seed):
    assert sorted(permutation(seed, 1, n).tolist()) == list(range(n))
