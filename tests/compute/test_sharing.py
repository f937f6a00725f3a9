"""What several trainings on one graph need alike is made once, while they share."""

import pytest

from kernode.compute.sharing import shared, sharing


class Thing:
    """What something is made of."""


@pytest.fixture
def make():
    """Makes another object each time, and counts them."""

    def making():
        making.count += 1
        return object()

    making.count = 0
    return making


def test_while_it_lasts_nothing_is_made_twice(make):
    one, other = Thing(), Thing()
    with sharing():
        first = shared(one, "x", make)
        assert shared(one, "x", make) is first
        assert shared(one, "y", make) is not first
        assert shared(other, "x", make) is not first
    assert make.count == 3


def test_before_and_after_everybody_has_their_own(make):
    one = Thing()
    assert shared(one, "x", make) is not shared(one, "x", make)
    with sharing():
        first = shared(one, "x", make)
    with sharing():
        assert shared(one, "x", make) is not first
