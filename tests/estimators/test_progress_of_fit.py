"""Whoever waits for a long fit hears how far it is, and what of it."""

import logging

import numpy as np
import pytest

import kernode as kn
from graphs import clustered_graph
from kernode.training import callbacks
from refusals import refused

GRAPH = clustered_graph(n=60)
NODES = np.arange(30)


def fitted(kind=kn.NodeKernelClassifier, **settings):
    """A fit as in a notebook."""
    if kind is kn.LinkPredictor:
        return kind(epochs=6, **settings).fit(GRAPH)
    return kind(epochs=6, **settings).fit(
        NODES, GRAPH.labels[NODES], graph=GRAPH, validation=np.arange(30, 60)
    )


@pytest.fixture
def long(monkeypatch):
    """Every fit takes long: a line is due whenever there is something to say."""
    monkeypatch.setattr(callbacks, "_SECONDS", {1: 0.0, 2: 0.0})


@pytest.mark.parametrize("kind", [kn.NodeKernelClassifier, kn.NodeKernelTransformer, kn.LinkPredictor])
def test_verbose_names_what_trains(kind, long, capsys):
    """A cell showed [*] for ten minutes, and not what for."""
    fitted(kind, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    if kind is kn.LinkPredictor:
        assert "auto: epoch 3 of 6, validation AUC " in err
    else:
        assert "diffusion: epoch 3 of 6, validation " in err
        assert "hops: epoch 6 of 6, validation " in err


def test_a_fit_of_a_moment_says_nothing(capsys):
    """Small fits stay as quiet as they were; all of them by default."""
    fitted(verbose=1)
    fitted()
    assert capsys.readouterr() == ("", "")
    fitted(verbose=2)
    assert "epoch 6 of 6" in capsys.readouterr().err


@pytest.mark.parametrize("verbose", [-1, "much", None])
def test_verbose_is_a_number(verbose):
    """What another library takes was typed."""
    with refused("setting", setting="verbose"):
        fitted(verbose=verbose)


def test_the_log_says_what_was_trained_and_chosen_why(caplog):
    """A service writes logs, with a level of its own."""
    caplog.set_level(logging.INFO, "kernode")
    fitted(replicas=2)
    text = caplog.text
    assert "training diffusion or hops or " in text
    assert "on clusters: 30 train, 30 validation, 2 replicas, cpu, " in text
    assert "chose " in text
    assert "by validation accuracy (diffusion " in text
    assert "epoch 3 of 6" not in text
    caplog.set_level(logging.DEBUG, "kernode")
    fitted(variant="n1")
    assert "n1: epoch 3 of 6, validation " in caplog.text
