from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernode.compute import draws
from kernode.compute.draws import DROPOUT, WEIGHTS, Draws, Dropout, below
from tasks import dropout_mask

MASK = 2**64 - 1


def splitmix64(state):
    """The published generator, one word at a time."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    word = state
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def reference_word(seed, epoch, stream, index):
    key = splitmix64(seed)
    key = splitmix64((key + epoch * 2**20 + stream - 0x9E3779B97F4A7C15) & MASK)
    return splitmix64((key + (index - 1) * 0x9E3779B97F4A7C15) & MASK)


@given(st.integers(0, 2**40), st.integers(0, 10_000), st.integers(0, 5_000), st.integers(0, 2**40))
def test_words_are_splitmix64(seed, epoch, stream, index):
    word = Draws(torch.tensor([seed]), epoch).words(stream, torch.tensor([index]))
    assert int(word) & MASK == reference_word(seed, epoch, stream, index)


def test_replica_draws_what_it_draws_alone():
    stack = Draws(torch.tensor([5, 6, 7]), epoch=2)
    for i, seed in enumerate((5, 6, 7)):
        alone = Draws(torch.tensor([seed]), epoch=2)
        assert torch.equal(stack.uniform(WEIGHTS, 50)[:, i], alone.uniform(WEIGHTS, 50)[:, 0])
        half = torch.zeros(1, dtype=torch.int16)
        assert torch.equal(
            stack.keep(DROPOUT, range(9), 7, half.expand(3))[:, i],
            alone.keep(DROPOUT, range(9), 7, half)[:, 0],
        )


def test_some_rows_have_the_mask_that_they_have_among_all():
    draws, half = Draws(torch.tensor([-3, 2**60]), 5), torch.zeros(2, dtype=torch.int16)
    mask = draws.keep(4, range(90), 7, half)
    assert torch.equal(draws.keep(4, range(20, 60), 7, half), mask[20:60])


def test_uniforms_look_uniform_and_independent():
    draws = torch.cat([Draws(torch.arange(8), epoch).uniform(WEIGHTS, 20_000) for epoch in (0, 1)], dim=1)
    assert torch.allclose(draws.mean(dim=0), torch.tensor(0.5).double(), atol=0.01)
    assert torch.allclose(draws.var(dim=0), torch.tensor(1 / 12).double(), atol=0.003)
    correlation = torch.corrcoef(draws.T) - torch.eye(16)
    assert correlation.abs().max() < 0.04
    serial = np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]
    assert abs(serial) < 0.04


def test_dropout_keeps_the_mean_at_each_replicas_rate():
    rates = torch.tensor([0.0, 0.3, 0.9])
    dropout = Dropout(Draws(torch.arange(3), 1), rates)
    mask = dropout_mask(dropout, torch.ones(4_000, 3, 7), layer=1)
    assert torch.equal(mask[:, 0], torch.ones(4_000, 7))
    assert torch.allclose((mask == 0).float().mean(dim=(0, 2)), rates, atol=0.01)
    assert torch.allclose(mask.mean(dim=(0, 2)), torch.ones(3), atol=0.06)


def test_rates_close_to_one_keep_little_but_never_everything():
    dropout = Dropout(Draws(torch.arange(2), 1), torch.tensor([0.99999, 0.9999999], dtype=torch.float64))
    mask = dropout_mask(dropout, torch.ones(20_000, 2, 8, dtype=torch.float64), layer=1)
    assert (mask != 0).double().mean() < 1e-3
    assert torch.equal(dropout.scale, torch.tensor([2.0**16, 2.0**16], dtype=torch.float64))


@given(st.integers(1, 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
def test_below_stays_below(bound, word):
    for half in (0, 1):
        assert 0 <= int(below(torch.tensor([word]), torch.tensor([bound]), half)) < bound


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_torch_mixes_words_as_numpy_does(words):
    one, other = torch.tensor(words), torch.tensor(words)
    assert torch.equal(draws._mix(one), draws._mix_with_torch(other))


def test_an_epoch_may_be_a_number_on_the_device():
    seeds, epoch = torch.tensor([5, 6]), torch.tensor(9)
    assert Draws(seeds, epoch).epoch_tensor is epoch
    assert int(Draws(seeds, 9).epoch_tensor) == 9
    assert torch.equal(Draws(seeds, epoch).uniform(WEIGHTS, 20), Draws(seeds, 9).uniform(WEIGHTS, 20))


@pytest.mark.parametrize("first", [0, 1, 3, 4, 10])
def test_a_share_drops_the_entries_that_it_would_drop_within_the_whole(first):
    dropout = Dropout(Draws(torch.tensor([1, 2]), 3), torch.tensor([0.5, 0.2]))
    whole, share = dropout.keep_entries(0, 40), replace(dropout, first_entry=first).keep_entries(0, 17)
    assert torch.equal(share, whole[:, first : first + 17])
