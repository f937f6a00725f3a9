"""The report in a browser: no errors, no loads, fast, accessible."""

import time

import numpy as np
import pytest

import kernode as kn
from browser import DESKTOP, browser, missing
from kernode.viz.evaluation import EvaluationData
from kernode.viz.numbers import NumberEvaluation
from kernode.viz.report import Contents, contents_of, write_report
from tasks import number_model

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


@pytest.fixture(scope="module")
def page(tmp_path_factory, own_splits):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(Contents(EvaluationData.of(own_splits, layout="pca")), path)
    return path


def test_it_opens_within_three_seconds(page):
    taken = []
    with browser(DESKTOP) as window:
        for _ in range(3):  # the fastest: others may be busy on the same cores
            started = time.monotonic()
            window.open(page.as_uri())
            taken.append(time.monotonic() - started)
    assert min(taken) < 3


@pytest.mark.parametrize("width", [320, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_about_numbers_opens_as_well(tmp_path, monkeypatch, width, scheme):
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path))
    path = tmp_path / "numbers.html"
    write_report(contents_of(NumberEvaluation.of(number_model()._on(), layout="pca")), path)
    with browser((width, 900)) as window:
        window.prefer(scheme)
        window.open(path.as_uri())
        window.script("window.dispatchEvent(new Event('beforeprint'))")
        assert len(window.all("[data-drawn]")) == len(window.all(".js-plotly-plot")) == 4
        assert window.complaints() == []
        assert window.script("return document.documentElement.scrollWidth") <= width
        assert window.barriers() == []


@pytest.mark.parametrize("width", [320, 390, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_without_errors_and_no_rule_of_axe_is_seriously_broken(page, width, scheme):
    with browser((width, 900)) as window:
        window.prefer(scheme)
        window.open(page.as_uri())
        window.script("window.dispatchEvent(new Event('beforeprint'))")
        assert len(window.all("[data-drawn]")) == len(window.all(".js-plotly-plot")) == 8
        assert window.complaints() == []
        assert window.script("return performance.getEntriesByType('resource').length") == 0
        assert window.script("return document.documentElement.scrollWidth") <= width
        assert window.barriers() == []


def test_pubmeds_size_of_page_stays_below_ten_megabytes(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path))
    n = 20_000
    random = np.random.Generator(np.random.PCG64(0))
    edges = random.integers(0, n, (2 * n, 2))
    names = [f"a name of some thirty letters {i}" for i in range(n)]
    graph = kn.Graph.from_edges(
        edges, random.random((n, 8)), random.integers(0, 3, n), node_names=names, name="large"
    )
    model = kn.NodeKernelClassifier("k3", epochs=2, folds=2).fit(
        kn.positions(range(500)), graph.labels[:500], graph=graph
    )
    size = write_report(Contents(EvaluationData.of(model._on(None), layout="pca")), tmp_path / "large.html")
    assert size < 10e6
    with browser(DESKTOP) as window:
        window.open((tmp_path / "large.html").as_uri())
        window.script("document.getElementById('nodes').scrollIntoView()")
        window.wait("[data-chart=embedding][data-drawn]", seconds=30)
        assert window.complaints() == []
