"""A plane in which similar nodes are near each other."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from kernode.viz import layout as module
from kernode.viz.layout import node_positions, project
from refusals import refused


@pytest.fixture
def on(cora, monkeypatch, tmp_path):
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path))
    graph, split = cora
    model = kn.NodeKernelClassifier("k1", hidden=8, epochs=5)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    return model._on(None)


def clouds(each=30, d=6):
    rng = np.random.Generator(np.random.PCG64(0))
    centres = np.eye(d)[:3]
    x = np.concatenate([centre + 0.05 * rng.standard_normal((each, d)) for centre in centres])
    return x / np.linalg.norm(x, axis=1, keepdims=True), np.repeat([0, 1, 2], each)


def share_of_own(points, labels):
    far = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    return (labels[far.argmin(axis=1)] == labels).mean()


@pytest.mark.parametrize(("layout", "at_once"), [("tsne", 90), ("pca", 90), ("tsne", 50)])
def test_similar_rows_are_near_each_other(layout, at_once, monkeypatch):
    monkeypatch.setattr(module, "ALL_AT_ONCE", at_once)  # of more, some are laid out, the others placed
    monkeypatch.setattr(module, "SOME", 45)
    x, labels = clouds()
    points = project(x, layout, 0)
    assert points.shape == (90, 2)
    assert share_of_own(points, labels) == 1


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_few_rows_have_places_too(n):
    points = project(np.eye(5)[:n], "tsne", 0)
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()


def test_a_layout_is_computed_once_and_a_damaged_cache_is_no_answer(on, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(module, "project", lambda x, *_: calls.append(1) or project(x, "pca", 0))
    first = node_positions(on)
    assert np.array_equal(first, node_positions(on))
    assert len(calls) == 1
    assert first.shape == (2708, 2)
    assert np.abs(first).max() == 1
    assert np.allclose(first.min(axis=0), -first.max(axis=0))
    (kept,) = (tmp_path / "layouts").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    assert np.array_equal(first, node_positions(on))
    assert len(calls) == 2
    other = {name: value + 1 for name, value in on.model.parameters.items()}
    node_positions(replace(on, model=replace(on.model, parameters=other)))
    assert len(calls) == 3


def test_a_cache_that_cannot_be_written_is_a_warning(on, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "file"))
    with pytest.warns(kn.KernodeWarning, match="not cached"):
        assert node_positions(on, "pca").shape == (2708, 2)


def test_what_cannot_be_laid_out_is_refused(on, clusters, monkeypatch):
    monkeypatch.setitem(sys.modules, "openTSNE", None)
    with refused("extra", package="openTSNE"):
        project(clouds()[0], "tsne", 0)
    with refused("setting", setting="layout", value="map"):
        node_positions(on, "map")
    model = kn.NodeKernelClassifier("label-propagation")
    with refused("unsupported"):
        node_positions(model.fit(range(60), clusters.labels[:60], graph=clusters)._on(None))
