"""Settings of training: what they may be, and one number or one for each replica."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from kernode.errors import InputError
from kernode.training.settings import PER_REPLICA, Training
from tasks import DOUBLE, SHORT


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"epochs": -1}, "epochs must be an integer ≥ 0. Got -1."),
        ({"epochs": 1.5}, "epochs must be an integer. Got 1.5."),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
        ({"input_dropout": (0.5, 1.0)}, r"input_dropout must be in \[0, 1\)"),
        ({"learning_rate": float("nan")}, "learning_rate must be finite and ≥ 0"),
        ({"weight_decay": (0.1, -0.1)}, "weight_decay must be finite"),
        ({"weight_decay": "little"}, "weight_decay must be a number, or one per replica"),
        ({"selection": "first"}, "selection must be 'best' or 'last'"),
        ({"select_by": "loss"}, "select_by must be 'accuracy' or 'map'. Got 'loss'."),
        ({"patience": 0}, "patience must be an integer ≥ 1"),
        ({"patience": 3, "selection": "last"}, "patience belongs to selection='best'"),
        ({"averaging": 1.0}, r"averaging must be a number in \[0, 1\). Got 1.0"),
        ({"averaging": -0.1}, r"averaging must be a number in \[0, 1\)"),
        ({"averaging": "much"}, r"averaging must be a number in \[0, 1\). Got 'much'"),
    ],
)
def test_wrong_settings_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        Training(**changes)


def test_settings_of_losses_are_not_trainings():
    for name in ("kernel_weight", "margin", "triplets", "class_weights"):
        assert name not in vars(SHORT)


def test_numbers_are_plain_and_travel_as_json():
    training = Training(epochs=np.int64(5), learning_rate=np.float32(0.5), dropout=np.array([0.5, 0.25]))
    assert training == Training(epochs=5, learning_rate=0.5, dropout=(0.5, 0.25))
    assert Training.from_json(json.loads(json.dumps(training.to_json()))) == training


@pytest.mark.parametrize("name", PER_REPLICA)
def test_a_setting_is_one_number_or_one_for_each_replica(name):
    shared = replace(SHORT, **{name: 0.25}).by_replica(3, DOUBLE)[name]
    own = replace(SHORT, **{name: (0.0, 0.25, 0.5)}).by_replica(3, DOUBLE)[name]
    assert torch.equal(shared, torch.full((3,), 0.25, dtype=torch.float64))
    assert own.tolist() == [0.0, 0.25, 0.5]
    with pytest.raises(InputError, match=rf"{name} must be one number or one per replica \(3\). Got 2"):
        replace(SHORT, **{name: (0.1, 0.2)}).by_replica(3, DOUBLE)


def test_to_the_last_epoch_nothing_is_chosen_and_patience_counts_for_the_usual_number():
    plain = Training(epochs=500, dropout=0.1, averaging=0.5)
    assert plain.to_the_last() == replace(plain, selection="last")
    patient = Training(epochs=1000, patience=100, averaging=0.95)
    assert patient.to_the_last() == Training(epochs=200, selection="last", averaging=0.95)
    assert replace(patient, epochs=30).to_the_last().epochs == 30
    assert patient.to_the_last().to_the_last() == patient.to_the_last()


def test_a_file_without_averaging_is_of_a_training_without(tmp_path):
    assert "averaging" not in Training().to_json()
    assert Training.from_json(Training().to_json()) == Training()
    averaged = Training(averaging=0.9)
    assert Training.from_json(json.loads(json.dumps(averaged.to_json()))) == averaged
