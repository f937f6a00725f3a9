"""Output of a fit while it runs: progress lines on stderr, and the log."""

import logging

import numpy as np

import kernode as kn
from graphs import clustered_graph
from kernode.training import callbacks
from tasks import short_sum

GRAPH = clustered_graph(n=60)
NODES = np.arange(30)


def fit(variant="auto", **settings):
    model = kn.NodeKernelClassifier(variant, epochs=6, **settings)
    return model.fit(NODES, GRAPH.labels[NODES], graph=GRAPH, validation=np.arange(30, 60))


def test_verbose_names_what_trains(monkeypatch, capsys):
    monkeypatch.setattr(callbacks, "_SECONDS", {1: 0.0, 2: 0.0})  # every fit takes long
    fit(verbose=1)
    kn.LinkPredictor(epochs=6, verbose=1).fit(GRAPH)
    out, err = capsys.readouterr()
    assert out == ""
    for line in (
        "diffusion: epoch 3 of 6, validation ",
        "hops: epoch 6 of 6, ",
        "smoothed: epoch 6 of 6, validation AUC ",
    ):
        assert line in err


def test_a_short_fit_prints_nothing(capsys):
    fit(verbose=1)
    assert capsys.readouterr() == ("", "")


def test_a_sum_says_first_what_the_untrained_kernel_reaches(caplog, monkeypatch):
    short_sum(monkeypatch)
    said = []

    class Listening(kn.Callback):
        def on_message(self, text):
            said.append((text, len(epochs)))

        def on_epoch_end(self, loop):
            epochs.append(loop.epoch)

    epochs = []
    caplog.set_level(logging.INFO, "kernode")
    model = kn.NodeKernelClassifier(callbacks=[Listening()])
    model.fit(NODES, GRAPH.labels[NODES], graph=GRAPH, validation=np.arange(30, 60))
    validated = model.model_.chosen_by_validation
    ((text, before),) = said
    assert before == 0 < len(epochs)
    assert text.startswith(f"instant: {validated['instant']:.1f} % accuracy on validation nodes after ")
    assert text.endswith(" s; training 1 more members")
    assert text.partition(";")[0] in caplog.text


def test_the_log_says_what_was_trained_and_why_it_was_chosen(caplog):
    caplog.set_level(logging.INFO, "kernode")
    fit("fast", replicas=2)
    for words in (
        "training diffusion or hops or ", "on clusters: 30 train, 30 validation, 2 replicas, cpu, ",
        "chose ", "by validation accuracy (diffusion ",
    ):  # fmt: skip
        assert words in caplog.text
    assert "epoch 3 of 6" not in caplog.text


def test_the_log_of_a_sum_says_its_members_and_their_weights(caplog):
    caplog.set_level(logging.INFO, "kernode")
    model = fit(replicas=2)
    assert "stages-wide, stages-deep are not tried: " in caplog.text
    assert "training diffusion and instant and " in caplog.text
    first = model.model_.method.members[0]
    assert f"chose weights by validation loss: {first.weight:.2f} {first.name} (" in caplog.text
