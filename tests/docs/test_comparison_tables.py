"""Tables of comparisons: the best of a cell is bold, and a failure says why."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "benchmarks")]

FAILED = {"why": "diverged", "sentence": "every candidate diverged"}


def store(folder, method, accuracy, split="0.6/0.2/0.2", dataset="cora", **more):
    record = {
        "settings": {"kind": "compare", "dataset": dataset, "split": split},
        "accuracy": accuracy, "map": [], "validation": accuracy, "overlap": 1 / 3, **more,
    }  # fmt: skip
    digest = f"{abs(hash((method, split, *accuracy))):012x}"[:12]
    (folder / f"{dataset}-{method}-{digest}.json").write_text(json.dumps(record))


def test_a_rival_that_wins_is_bold_and_one_that_failed_says_why(tmp_path):
    from comparison_tables import comparison_tables

    for method, accuracy in {"fast": [80.0, 81.0], "gcn": [82.0, 83.0]}.items():
        store(tmp_path, method, accuracy)
        store(tmp_path, method, accuracy[::-1], split="5-per-class")
    store(tmp_path, "sgc", [], failed=FAILED)
    store(tmp_path, "sgc", [1.0, 2.0], split="5-per-class")
    tables = comparison_tables(tmp_path)
    accuracy = tables["compare_accuracy"]()
    assert "| `fast` | 80.50 ± 0.71 |" in accuracy
    assert "| GCN | **82.50** ± 0.71 |" in accuracy
    assert "| SGC | every candidate diverged |" in accuracy
    assert "| Cora | GCN | −2.00 |" in tables["compare_fast"]()
    assert "| Cora | SGC |" not in tables["compare_fast"]()
    assert "| Cora | GCN | −2.00 |" in tables["compare_fast_5_labels"]()
    assert "Cora, 5 labels" in tables["compare_few_labels"]()


def test_two_results_of_one_cell_are_refused(tmp_path):
    from comparison_tables import comparison_tables

    store(tmp_path, "gcn", [82.0, 83.0])
    store(tmp_path, "gcn", [82.0, 84.0])
    with pytest.raises(ValueError, match="the second result of gcn on cora"):
        comparison_tables(tmp_path)["compare_accuracy"]()


def test_the_shorter_of_two_times_is_bold():
    from measurement_tables import first_answer

    times = [(10.0, 20.0), (20.0, 10.0)]
    rows = [
        {"dataset": "cora", "ours": [a], "medians": {"ours": a, "gcns": b}, "ours_to_gcns": a / b}
        for a, b in times
    ]
    _, _, ours, theirs = first_answer({"rows": rows}).splitlines()
    assert ours == "| Cora | **10.0** | 20.0 | 0.50 | 1 |"
    assert theirs == "| Cora | 20.0 | **10.0** | 2.00 | 1 |"


@pytest.mark.parametrize("validation", [15, 0])
def test_a_rival_has_the_setting_that_validates_best(validation):
    """Without validation nodes three folds of the training nodes choose; test nodes never do."""
    pytest.importorskip("torch_geometric")
    import own_graphs as benchmark

    from graphs import clustered_graph
    from kernode.io import random_split

    graph = clustered_graph(n=60)
    split = random_split(graph.labels, (30, validation, 15), 0)
    data, trained = benchmark.Data(graph, "cpu"), []

    def answering(right):
        def train(data, train, validation, seed, epochs):
            trained.append((right, len(train)))
            answers = data.labels.clone()
            wrong = np.random.default_rng(0).permutation(60)[: round(60 * (1 - right))]
            answers[wrong] = (answers[wrong] + 1) % 3
            return answers

        return train

    found = benchmark.train_rival({"poor": answering(0.4), "good": answering(0.9)}, data, split, 0)
    assert found.chosen == "good"
    assert found.accuracy > 70
    each = [30] if validation else [20, 20, 20]
    assert trained == [(0.4, n) for n in each] + [(0.9, n) for n in each] + [(0.9, 30)] * (not validation)


def test_no_graph_that_chooses_is_reported_as_unseen():
    from graph_lists import DEVELOPMENT, REPORT

    assert not {*DEVELOPMENT} & {*REPORT}
