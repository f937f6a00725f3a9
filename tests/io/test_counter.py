"""Random words in numpy are those of kernode.compute.draws, and what is made of them is what it claims."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernode.compute.draws import Draws
from kernode.io.synthetic import bell, below, random_words


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


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1))
def test_a_bell_number_is_the_sum_of_four_parts(words):
    expected = [sum((word >> shift) & 0xFFFF for shift in (0, 16, 32, 48)) - 131_070 for word in words]
    assert bell(np.array(words, np.uint64)).tolist() == expected
