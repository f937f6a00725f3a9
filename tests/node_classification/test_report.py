"""What judges an experiment says the same as the experiment, and as loops over its runs."""

import numpy as np
import pytest
from kernode.node_classification.experiment import run_variant

from graphs import CLUSTERS
from kernode.compute.place import Place
from kernode.tasks.classes.evaluation import baseline_lines, judge_outcome
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.training.run import Run


def test_figures_are_those_of_the_experiment_and_means_over_its_runs():
    run = Run((0, 1, 2), Place.of(32, "cpu"))
    outcome = run_variant(CLUSTERS, "n1", run, split="0.2/0.2/0.6", changes={"epochs": 4})
    figures, ours = judge_outcome(outcome), outcome.report["test"]
    assert not {*figures} & {*ours}  # nothing is said twice
    assert ours["accuracy_std"] > 0  # runs differ, so that a mean is not any of them
    assert ours["accuracy_mean"] == pytest.approx(np.mean(ours["runs"]), abs=1e-3)
    found = outcome.on.probabilities(np.stack([split.test for split in outcome.splits])).argmax(axis=-1)
    counts = np.zeros((3, 3), int)
    for run_found, split in zip(found, outcome.splits, strict=True):
        for node, answer in zip(split.test, run_found, strict=True):
            counts[CLUSTERS.labels[node], answer] += 1
    assert np.array_equal(figures["confusion"], counts)
    assert ours["accuracy_mean"] == pytest.approx(100 * np.trace(counts) / counts.sum(), abs=1e-3)
    low, high = figures["interval_95"]
    assert low < ours["accuracy_mean"] < high


def test_an_experiment_asks_for_the_test_nodes_classes_once(monkeypatch):
    asked, probabilities = [], NodeModelOnGraph.probabilities

    def count(on, nodes=None):
        asked.append(np.size(nodes))
        return probabilities(on, nodes)

    monkeypatch.setattr(NodeModelOnGraph, "probabilities", count)
    run = Run((0, 1), Place.of(32, "cpu"))
    judge_outcome(run_variant(CLUSTERS, "n1", run, split="30/10/20", changes={"epochs": 2}))
    assert asked == [20, 40, 20]  # of both runs: validation, to calibrate them; test, validation


def test_a_baseline_is_ahead_on_the_splits_that_it_has():
    one = {"accuracy_mean": 60.0, "accuracy_std": 0.0, "runs": [60.0], "settings": [""], "splits": 2}
    lines = baseline_lines({"accuracy_mean": 70.0, "runs": [50.0, 90.0], "baselines": {"edges": one}})
    assert lines == [("60.00 % edges alone (label propagation), 1 of 2 splits: ahead by 10.00", True)]
