"""Both losses together: made of the right parts."""

import pytest

from kernode.errors import InputError
from kernode.losses import Hinge, Joint, Softmax


@pytest.mark.parametrize(
    "parts", [{"kernel": Softmax()}, {"kernel": "hinge"}, {"softmax": Hinge()}, {"softmax": None}]
)
def test_a_part_of_another_kind_is_refused(parts):
    with pytest.raises(InputError, match="must be a loss such as"):
        Joint(**parts)
