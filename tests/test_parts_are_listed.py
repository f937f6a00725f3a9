"""No part of the library is without its contract: whatever is exported stands in tests/parts.py."""

import pytest

import parts
from kernode import kernels, losses, maps
from kernode.config import Config
from kernode.kernels import BaseKernel, Covariance, GraphKernel
from kernode.losses import Loss
from kernode.maps import FeatureMap
from kernode.maps.graph_kernel import GraphKernelMap  # parts of Instant, which is listed
from kernode.maps.smoothed_kernel import SmoothedKernel
from kernode.tasks.classes.method import NodeMethod
from kernode.tasks.classes.sum import KernelSum  # its contract: tasks/classes/test_sum.py
from kernode.tasks.classes.variants import VARIANTS
from kernode.tasks.links.method import LinkMethod


def is_abstract(kind):
    return any(getattr(getattr(kind, name), "__isabstractmethod__", False) for name in dir(kind))


def kinds_in(listed):
    return {type(one) for one in (listed.values() if isinstance(listed, dict) else listed)}


def within(part):
    """A part and those that it is made of."""
    yield part
    for value in vars(part).values():
        if isinstance(value, Config):
            yield from within(value)


LISTED = (
    parts.MAPS,
    parts.KERNELS,
    parts.GRAPH_KERNELS,
    parts.LOSSES,
    parts.LINK_LOSSES,
    parts.METHODS,
    parts.LINK_METHODS,
)


@pytest.mark.parametrize(
    ("room", "kind", "listed"),
    [
        (maps, FeatureMap, parts.MAPS),
        (kernels, BaseKernel, parts.KERNELS),
        (kernels, GraphKernel, parts.GRAPH_KERNELS),
        (kernels, Covariance, parts.COVARIANCES),
        (losses, Loss, parts.LOSSES),
        (losses, losses.LinkCrossEntropy, parts.LINK_LOSSES),
    ],
)
def test_every_exported_part_is_listed(room, kind, listed):
    exported = {getattr(room, name) for name in room.__all__}
    exported = {one for one in exported if isinstance(one, type) and issubclass(one, kind)}
    missing = {one for one in exported if not is_abstract(one)} - kinds_in(listed)
    assert not missing, f"list an example of {missing} in tests/parts.py"
    assert all(isinstance(one, kind) for one in listed)


def test_every_part_that_files_know_is_listed():
    """Exported or not: what a model file can name has a contract."""
    known = {kind for kind in Config.kinds.values() if kind.__module__.startswith("kernode.")}
    rooms = (FeatureMap, BaseKernel, Loss, losses.LinkCrossEntropy, NodeMethod, LinkMethod)
    in_rooms = {kind for kind in known if issubclass(kind, rooms)}
    # What others are made of has a contract through them.
    made_of = {type(one) for listed in LISTED for part in _values(listed) for one in within(part)}
    bare = {
        kind
        for kind in in_rooms - made_of - {KernelSum}
        if not is_abstract(kind) and not kind.__name__.startswith("_")
    }
    assert not bare, f"list an example of {bare} in tests/parts.py"


def _values(listed):
    return listed.values() if isinstance(listed, dict) else listed


def test_every_part_of_a_variant_is_listed():
    listed = {type(one) for each in LISTED for one in _values(each)}
    used = {type(part) for variant in VARIANTS.values() for part in within(variant.method)} - {
        SmoothedKernel,
        GraphKernelMap,
    }
    assert {kind for kind in used if kind.__module__.startswith("kernode.")} <= listed
