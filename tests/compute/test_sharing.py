"""What several trainings on one graph share is made once, while they share."""

from kernode.compute.sharing import shared, sharing


class Thing:
    """What something is made of."""


def test_while_they_share_nothing_is_made_twice():
    one, other = Thing(), Thing()
    assert shared(one, "x", object) is not shared(one, "x", object)
    with sharing():
        first = shared(one, "x", object)
        with sharing():
            assert shared(one, "x", object) is first
        assert shared(one, "y", object) is not first
        assert shared(other, "x", object) is not first
    with sharing():
        assert shared(one, "x", object) is not first
