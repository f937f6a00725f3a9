"""What a notebook shows of an estimator and a model."""

import re

import numpy as np
import pytest
from sklearn import config_context

import kernode as kn
from graphs import clustered_graph
from kernode.tasks.classes.model import describe_hop_weights

BAD = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def fitted():
    graph = clustered_graph(n=60)
    names = (BAD, "b & c", "$d$")
    graph = kn.Graph(graph.adjacency, graph.features, graph.labels, names, name=f"<b>{BAD}</b>")
    model = kn.NodeKernelClassifier("k3", epochs=5, replicas=2)
    return model.fit(np.arange(40), graph.labels[:40], graph=graph, validation=np.arange(40, 60))


def test_a_fitted_estimator_shows_what_it_learned_and_text_stays_text(fitted):
    html = fitted._repr_html_()
    assert html == fitted._repr_mimebundle_()["text/html"]
    assert BAD not in html
    assert "&lt;script&gt;" in html
    assert "40 nodes" in html
    assert f"{fitted.model_.validation_accuracy():.2f} % accuracy" in html
    assert "HopMLP(" in html
    assert "for the node itself" in html
    assert len(html) < 5000
    assert not re.search(r"https?://|<script|<link|<img", html)
    assert BAD not in fitted.model_._repr_html_()


def test_an_unfitted_one_shows_scikit_learns_diagram_and_text_is_asked_for_as_ever(fitted):
    assert "sk-container" in kn.NodeKernelClassifier()._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()
        assert not hasattr(fitted, "_repr_html_")


def test_hop_weights_are_described_in_words(fitted):
    weights = fitted.model_.hop_weights().mean(axis=0)
    words = describe_hop_weights(fitted.model_)
    assert words.startswith(f"{weights[0]:.2f} for the node itself, {weights[1]:.2f} for nodes 1 hop away")
    assert "away" in words.split(",")[2]
    other = kn.NodeKernelClassifier("gcn", epochs=2).fit(
        np.arange(40), fitted.graph_.labels[:40], graph=fitted.graph_, validation=np.arange(40, 60)
    )
    assert describe_hop_weights(other.model_) == ""


@pytest.mark.parametrize("kind", [kn.LinkPredictor, kn.LinkKernelTransformer])
def test_what_learns_from_links_shows_it_too(kind, fitted):
    model = kind(epochs=2).fit(fitted.graph_)
    html = model._repr_html_()
    assert f"{kind.__name__}, fitted" in html
    assert BAD not in html
    assert "(hidden=" in html
    assert "edge" in html
    assert BAD not in model.model_._repr_html_()
    assert "sk-container" in kind()._repr_html_()
