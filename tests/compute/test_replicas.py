"""Seeds, and settings that may differ between replicas."""

import numpy as np
import pytest

from kernode.compute.replicas import plain_numbers, seeds_from, whole
from kernode.errors import InputError
from refusals import refused


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
