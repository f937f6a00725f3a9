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


def test_within_another_it_shares_with_that(make):
    one = Thing()
    with sharing():
        first = shared(one, "x", make)
        with sharing():
            assert shared(one, "x", make) is first
        assert shared(one, "x", make) is first


def test_it_ends_with_an_error_and_none_is_what_can_be_made(make):
    one, made = Thing(), []

    def failing():
        with sharing():
            shared(one, "x", make)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        failing()
    shared(one, "x", make)
    assert make.count == 2
    with sharing():
        for _ in range(2):
            assert shared(one, "nothing", lambda: made.append(1)) is None
    assert made == [1]


def test_the_number_of_an_object_that_is_gone_is_not_taken_for_it(make):
    with sharing():
        for count in range(1, 20):
            shared(Thing(), "x", make)
            assert make.count == count
