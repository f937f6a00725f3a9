"""Time limits: a fit ends in time with what is trained, and says so."""

import json
import time

import numpy as np
import pytest

import kernode as kn

GRAPH, SPLIT = kn.load("synthetic:nodes=120,classes=3,features=8", split="0.5/0.25/0.25")


def fit(variant="k3", **settings):
    return kn.NodeKernelClassifier(variant, **settings).fit(graph=GRAPH, split=SPLIT)


@pytest.mark.parametrize("where", ["parameter", "training"])
def test_training_ends_when_the_time_is_over(where):
    limit = {"time_limit": 0.2} if where == "parameter" else {"training": {"time_limit": 0.2}}
    with pytest.warns(kn.KernodeWarning, match=r"the time limit ended k3 after \d+ epoch"):
        model = fit(epochs=10**6, **limit)
    epochs = len(model.model_.history["loss"])
    assert 1 <= epochs < 10**6
    assert model.predict_proba(SPLIT.test).shape == (len(SPLIT.test), 3)


def test_a_limit_that_is_not_reached_changes_nothing():
    without, within = fit(epochs=5), fit(epochs=5, time_limit=1000)
    np.testing.assert_array_equal(without.predict_proba(SPLIT.test), within.predict_proba(SPLIT.test))
    assert without.model_.training.to_json() == within.model_.training.to_json()


@pytest.mark.parametrize("validation", [SPLIT.validation, None])
def test_a_sum_without_time_is_of_what_needs_no_training(validation):
    """Also where folds choose, and the choice is trained again."""
    y, started = GRAPH.labels, time.monotonic()
    model = kn.NodeKernelClassifier("auto", time_limit=1e-3)
    with pytest.warns(kn.KernodeWarning, match="ended before linear, .* began: the sum is without them"):
        model.fit(SPLIT.train, y[SPLIT.train], graph=GRAPH, validation=validation)
    assert [one.name for one in model.model_.method.members] == ["instant"]
    assert model.score(SPLIT.test, y[SPLIT.test]) > 1 / 3
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("limit", [0, -1, "a minute", float("nan")])
def test_a_limit_is_a_number_above_zero(limit):
    with pytest.raises(ValueError, match="time_limit must be a number"):
        fit(time_limit=limit)


def test_the_command_takes_a_limit(command):
    words = "fit synthetic:nodes=100,classes=3,features=8 --variant k3 --replicas 2 --epochs 1000000 --quiet"
    code, out, _ = command(*words.split(), "--time-limit", "0.5", "--json", "-o", "model.safetensors")
    assert code == 0
    assert json.loads(out)["epochs"] == 10**6
