"""Settings of training: what they may be, one number or one for each replica, and when a replica stops."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

import kernode as kn
from graphs import CLUSTERS
from kernode.training.settings import PER_REPLICA, Patience, Stopping, Training
from parts import METHODS
from refusals import refused
from tasks import DOUBLE, SHORT, SPLIT, trained

JOINT = METHODS["joint"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 1.5), ("input_dropout", (0.5, 1.0)), ("learning_rate", float("nan")), ("patience", 0),
        ("selection", "first"), ("select_by", "loss"), ("averaging", 1.0),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(name, value):
    with refused("setting", setting=name):
        Training(**{name: value})


def test_patience_and_the_last_epoch_contradict():
    for rule in ({"patience": 3}, {"stopping": Patience(3)}):
        with refused("conflict", setting=next(iter(rule))):
            Training(**rule, selection="last")


def test_numbers_are_plain_and_travel_as_json():
    training = Training(epochs=np.int64(5), learning_rate=np.float32(0.5), dropout=np.array([0.5, 0.25]))
    assert training == Training(epochs=5, learning_rate=0.5, dropout=(0.5, 0.25))
    later = Training(averaging=0.9, stopping=Patience(3))
    for one in (training, later):
        assert Training.from_json(json.loads(json.dumps(one.to_json()))) == one
    assert {"averaging", "stopping"}.isdisjoint(Training().to_json())  # as in old files


@pytest.mark.parametrize("name", PER_REPLICA)
def test_a_setting_is_one_number_or_one_for_each_replica(name):
    for value, each in ((0.25, [0.25] * 3), ((0.0, 0.25, 0.5), [0.0, 0.25, 0.5])):
        assert replace(SHORT, **{name: value}).by_replica(3, DOUBLE)[name].tolist() == each
    with pytest.raises(kn.InputError):
        replace(SHORT, **{name: (0.1, 0.2)}).by_replica(3, DOUBLE)


def test_to_the_last_epoch_nothing_is_chosen_and_patience_counts_for_the_usual_number():
    plain = Training(epochs=500, dropout=0.1, averaging=0.5)
    assert plain.without_selection() == replace(plain, selection="last")
    patient = Training(epochs=1000, patience=100, averaging=0.95)
    assert patient.without_selection() == Training(epochs=200, selection="last", averaging=0.95)
    assert replace(patient, epochs=30).without_selection().epochs == 30
    assert patient.without_selection().without_selection() == patient.without_selection()


# stopping rules


@pytest.mark.parametrize("averaging", [0.0, 0.7])
def test_patience_stops_each_replica_as_it_would_alone(averaging):
    training = replace(SHORT, epochs=60, patience=4, learning_rate=0.05, averaging=averaging)
    stack = trained(JOINT, training, seeds=(0, 1, 2, 3))
    alone = [trained(JOINT, training, seeds=(seed,)) for seed in (0, 1, 2, 3)]
    assert stack.epochs.tolist() == [int(one.epochs[0]) for one in alone]
    lengths = [len(one.history["loss"]) for one in alone]
    assert lengths == [int(one.epochs[0]) + 4 for one in alone]
    assert len(stack.history["loss"]) == max(lengths) < 60


@dataclass(frozen=True)
class GoodEnough(Stopping):
    """Stop a replica once its validation accuracy is high enough."""

    percent: float = 80.0

    def goes_on(self, epoch, best):
        return best.score < self.percent


def test_a_rule_of_ones_own_stops_each_replica_as_it_would_alone(tmp_path):
    training = replace(SHORT, epochs=60, learning_rate=0.05, stopping=GoodEnough(70.0))
    stack = trained(JOINT, training, seeds=(0, 1, 2))
    alone = [trained(JOINT, training, seeds=(seed,)) for seed in (0, 1, 2)]
    for one in alone:
        accuracy = one.history["validation_accuracy"][:, 0]
        assert (accuracy[:-1] < 70).all()  # the first epoch that is good enough is the last
        assert accuracy[-1] >= 70
        assert one.epochs[0] == len(accuracy)
    lengths = [int(one.epochs[0]) for one in alone]
    assert stack.epochs.tolist() == lengths
    assert len(stack.history["loss"]) == max(lengths) < 60
    model = kn.NodeKernelClassifier("n1", training={"stopping": GoodEnough(70.0), "epochs": 60}, device="cpu")
    model.fit(SPLIT.train, CLUSTERS.labels[SPLIT.train], graph=CLUSTERS, validation=SPLIT.validation)
    again = kn.load_model(model.save(tmp_path / "m.safetensors"), graph=CLUSTERS)
    assert again.model_.training.stopping == GoodEnough(70.0)
