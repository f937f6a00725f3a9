"""Errors tested by what they are, not by their words: ``with refused("setting", setting="hops"): …``."""

from contextlib import contextmanager

import pytest

import kernode as kn


@contextmanager
def refused(code, kind=kn.KernodeError, **fields):
    """Expect an error with this code, and with these among its fields; gives what pytest caught."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert (error.code, {name: error.fields.get(name) for name in fields}) == (code, fields), str(error)
