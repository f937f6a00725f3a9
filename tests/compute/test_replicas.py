"""Seeds, and settings that may differ between replicas."""

import numpy as np
import pytest

from kernode.compute.replicas import one_each, plain_numbers, seeds_from, whole
from kernode.errors import InputError
from refusals import refused
from tasks import DOUBLE


def test_seeds_follow_one_another():
    assert seeds_from(5, 3) == (5, 6, 7)
    assert seeds_from(np.int64(0), np.int64(1)) == (0,)


@pytest.mark.parametrize(
    ("given", "setting"),
    [
        ((0, 0), "replicas"),
        ((0, 10_001), "replicas"),
        ((0, 1.5), "replicas"),
        ((-1, 1), "seed"),
        ((2**62, 1), "seed"),
        ((None, 1), "seed"),
    ],
)
def test_wrong_seeds_are_refused(given, setting):
    with refused("setting", setting=setting):
        seeds_from(*given)


def test_numbers_are_plain_whatever_they_came_as():
    for value in (0.5, np.float32(0.5), np.array(0.5)):
        assert plain_numbers("margin", value) == 0.5
        assert type(plain_numbers("margin", value)) is float
    for values in ([0, 0.5], (0, 0.5), np.array([0, 0.5])):
        assert plain_numbers("margin", values) == (0.0, 0.5)
    assert whole("epochs", np.int64(3)) == 3
    for wrong in ("one", [[0.1]], True, None, -1, np.inf):
        with pytest.raises(InputError, match="margin must be"):
            plain_numbers("margin", wrong)


def test_one_number_serves_all_and_others_must_be_as_many_as_replicas():
    assert one_each("margin", 0.1, 3, DOUBLE).tolist() == [0.1] * 3
    assert one_each("margin", (0.1, 0.2), 2, DOUBLE).tolist() == [0.1, 0.2]
    with refused("shape", setting="margin", expected=3, found=2):
        one_each("margin", (0.1, 0.2), 3, DOUBLE)
