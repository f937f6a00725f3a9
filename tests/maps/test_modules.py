"""Modules of PyTorch and PyTorch Geometric as maps: known by name, without buffers."""

import pytest
import torch

from graphs import clustered_graph
from kernode.errors import InputError
from kernode.maps import JKConcat, Wrapped
from tasks import DOUBLE


def test_wrapped_modules_are_known_by_name_only():
    unknown = Wrapped("os.system")
    with pytest.raises(InputError, match="no module named"):
        unknown.module(3, 2)
    keeps_statistics = Wrapped.of(torch.nn.BatchNorm1d, outputs=2)
    with pytest.raises((InputError, TypeError)):
        keeps_statistics.prepare(clustered_graph(n=5), DOUBLE)


def test_module_with_buffers_is_refused():
    class Norm(torch.nn.Module):
        def __init__(self, in_channels, out_channels):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(in_channels)

    with pytest.raises(InputError, match="keeps buffers"):
        Wrapped.of(Norm, outputs=2).prepare(clustered_graph(n=5), DOUBLE)


def test_wrong_settings_are_refused():
    with pytest.raises(InputError):
        JKConcat((4, 5))
