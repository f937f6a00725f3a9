"""Seeds, and settings that may differ between replicas."""

import numpy as np
import pytest

from kernode.compute.replicas import plain_numbers, seeds_from
from refusals import refused


@pytest.mark.parametrize(
    ("given", "setting"),
    [((0, 0), "replicas"), ((0, 1.5), "replicas"), ((-1, 1), "seed"), ((2**62, 1), "seed")],
)
def test_wrong_seeds_are_refused(given, setting):
    with refused("setting", setting=setting):
        seeds_from(*given)


@pytest.mark.parametrize("value", ["one", [[0.1]], True, None, -1, np.inf])
def test_a_setting_that_is_no_number_is_refused(value):
    with refused("setting", setting="margin"):
        plain_numbers("margin", value)
