"""Callbacks: when each method is called, what it sees, and what a user's own does on any estimator."""

import logging
from dataclasses import replace

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS
from kernode.models.fit import fit_candidates
from kernode.training.callbacks import Verbose
from parts import METHODS
from refusals import refused
from tasks import LABELS, SHORT, SPLIT, node_task, trained

THREE = replace(SHORT, epochs=3)


class Recorder(kn.Callback):
    """Writes down every call, into one list with others."""

    def __init__(self, calls=None, name="", interrupt=None):
        self.calls = [] if calls is None else calls
        self.name, self.interrupt = name, interrupt

    def note(self, what, loop):
        self.calls.append((self.name, what, loop.name, loop.epoch, loop.interrupted))

    def on_fit_begin(self, loop):
        self.note("begin", loop)

    def on_epoch_end(self, loop):
        self.note("epoch", loop)
        if loop.epoch == self.interrupt:
            raise KeyboardInterrupt

    def on_fit_end(self, loop):
        self.note("end", loop)

    @property
    def events(self):
        return [call[1:] for call in self.calls]


def test_the_end_is_called_after_an_interrupt():
    calls = []
    callbacks = (Recorder(calls, "first"), Recorder(interrupt=2), Recorder(calls, "last"))
    with pytest.raises(KeyboardInterrupt):
        trained(METHODS["joint"], SHORT, callbacks=callbacks)
    assert calls[-3:] == [
        ("first", "epoch", "", 2, False), ("first", "end", "", 2, True), ("last", "end", "", 2, True),
    ]  # fmt: skip


def test_each_training_of_a_choice_has_its_name_and_part():
    class Parts(Recorder):
        def part(self, name):
            return Parts(self.calls, name)

    watcher = Parts()
    candidates = {name: (METHODS[name], SHORT) for name in ("joint", "sum")}
    chosen = fit_candidates(node_task(callbacks=(watcher,)), candidates).model.variant
    assert {call[0] for call in watcher.calls} == {call[2] for call in watcher.calls} == {"joint", "sum"}
    assert watcher.calls[-1][:3] == (chosen, "end", chosen)


@pytest.mark.parametrize(
    ("make", "fit", "names"),
    [
        (kn.NodeKernelClassifier, {"graph": CLUSTERS, "split": "0.5/0.25/0.25"}, {"n1"}),
        (kn.NodeKernelTransformer, {"X": SPLIT.train, "y": LABELS, "graph": CLUSTERS},
         {"n1", "n1 on all labels"}),
        (kn.LinkPredictor, {"X": CLUSTERS}, {"gae"}),
        (kn.LinkKernelTransformer, {"X": CLUSTERS}, {"gae"}),
    ],
)  # fmt: skip
def test_a_users_callback_watches_any_estimator(make, fit, names):
    watcher = Recorder()
    variant = "gae" if "gae" in names else "n1"
    model = make(variant, epochs=3, device="cpu", callbacks=[watcher])
    model.fit(**fit)
    assert {name for _, name, _, _ in watcher.events} == names
    steps = [("begin", 0), ("epoch", 1), ("epoch", 2), ("epoch", 3), ("end", 3)]
    assert [event for event in watcher.events if event[1] == variant] == [
        (what, variant, epoch, False) for what, epoch in steps
    ]
    plain = make(variant, epochs=3, device="cpu").fit(**fit)
    assert np.array_equal(plain.history_["loss"], model.history_["loss"])  # watching changes nothing


def test_other_things_than_callbacks_are_refused():
    for wrong in ("board", kn.Checkpoint, object()):
        with refused("setting", setting="callbacks"):
            kn.NodeKernelClassifier("n1", callbacks=[wrong]).fit(SPLIT.train, LABELS, graph=CLUSTERS)


def test_verbose_prints_the_last_epoch_at_least(capsys):
    model = kn.NodeKernelClassifier("n1", epochs=3, device="cpu", verbose=2)
    model.fit(graph=CLUSTERS, split="0.5/0.25/0.25")
    assert "n1: epoch 3 of 3, validation" in capsys.readouterr().err
    kn.NodeKernelClassifier("n1", epochs=3, device="cpu").fit(graph=CLUSTERS, split="0.5/0.25/0.25")
    assert not capsys.readouterr().err
    assert Verbose(7).verbose == 2


def test_the_log_has_each_epoch_at_debug_alone(caplog):
    with caplog.at_level(logging.DEBUG, "kernode"):
        found = trained(METHODS["joint"], THREE, seeds=(0, 1), name="k3")
    epochs = [one for one in caplog.records if one.event == "epoch"]
    assert [(one.fields["training"], one.fields["epoch"], one.fields["epochs"]) for one in epochs] == [
        ("k3", 1, 3), ("k3", 2, 3), ("k3", 3, 3),
    ]  # fmt: skip
    assert epochs[-1].fields["loss"] == pytest.approx(found.history["loss"][-1].mean())
    caplog.clear()
    with caplog.at_level(logging.INFO, "kernode"):
        trained(METHODS["joint"], THREE)
    assert not caplog.records
