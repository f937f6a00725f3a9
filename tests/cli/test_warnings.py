"""What a user is warned of: each thing once, by its name, where they look."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import kernode as kn
from kernode.errors import KernodeWarning
from kernode.training.settings import Training, advise_more_epochs

WORDS = "fit edges.csv --nodes words.csv --label language --replicas 1 --epochs 3 --split 0.9/0.05/0.05"
LONELY = ("Lao", "Latvian", "Irish", "Maltese", "Basque", "Welsh")


def languages(shop):
    """Sixty words, of which six are the only ones of their language."""
    return [LONELY[i] if i < len(LONELY) else taste for i, taste in enumerate(shop.taste)]


@pytest.fixture
def workspace(workspace, shop):
    """Words that stand together, and their languages."""
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)
    rows = zip(shop.ids, shop.age, shop.spent, languages(shop), strict=True)
    workspace.table("words.csv", ("id", "length", "count", "language"), rows)
    return workspace


def graph_of(shop):
    """The same in Python, where classes are numbers and the graph has their names."""
    numbers = {name: i for i, name in enumerate(shop.ids)}
    edges = [(numbers[a], numbers[b]) for a, b in shop.bought_together]
    names, labels = np.unique(languages(shop), return_inverse=True)
    features = np.column_stack([shop.age, shop.spent]) / 1000
    return kn.Graph.from_edges(edges, features=features, labels=labels, class_names=tuple(names))


def test_classes_with_a_single_node_are_one_sentence_with_their_names(workspace):
    """80 languages with one word each gave 80 lines."""
    answer = workspace.kernode(WORDS)
    lines = [line for line in answer.err.splitlines() if "single training node" in line]
    assert len(lines) == 1  # although several methods were trained
    assert "of 9 classes have a single training node (" in lines[0] or "has a single" in lines[0]
    assert any(name in lines[0] for name in LONELY)


def test_the_report_has_them_where_a_program_reads_it(workspace):
    """A script reads --json and nobody reads its stderr."""
    answer = workspace.kernode(f"{WORDS} --json")
    assert answer.err == ""
    (said,) = (one for one in answer.json["warnings"] if "single training node" in one)
    assert said.endswith("little to learn from.")
    assert workspace.kernode(f"{WORDS} --quiet").err == ""
    assert workspace.kernode("data info edges.csv --json").json["warnings"] == []


def test_in_python_the_warning_points_at_her_line(shop):
    """In a notebook: one warning for methods and folds together, with the classes as y holds them."""
    graph = graph_of(shop)
    with pytest.warns(KernodeWarning) as caught:
        kn.NodeKernelClassifier(epochs=3).fit(np.arange(60), graph.labels, graph=graph)
    single = [one for one in caught if "single" in str(one.message)]
    assert [str(one.message) for one in single] == [
        "6 of 9 classes have a single training node (0, 1, 3, 4, 5, …): little to learn from."
    ]
    assert all(one.filename == __file__ for one in caught)


@pytest.mark.parametrize(
    ("kept", "training", "best", "said"),
    [
        ([4, 4], Training(epochs=4), 80.0, True),
        ([4, 2], Training(epochs=4), 80.0, True),
        ([4, 2, 1], Training(epochs=4), 80.0, False),  # most had their best before
        ([4, 4], Training(epochs=9, patience=3), 80.0, False),  # patience ended it
        ([4, 4], Training(epochs=4, selection="last"), 80.0, False),
        ([4, 4], Training(epochs=4), 100.0, False),  # nothing to gain
    ],
)
def test_longer_training_is_advised_only_where_it_may_help(kept, training, best, said):
    """Nobody needs advice that does not help."""
    history = {"validation_accuracy": np.full((4, len(kept)), best)}
    model = SimpleNamespace(kept_epochs=np.array(kept), training=training, history=history, seeds=kept)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        advise_more_epochs(model, "accuracy")
    assert len(caught) == said


def test_another_library_is_heard_once(workspace, monkeypatch):
    """A library under kernode warned of each of a thousand fits."""

    class ConvergenceWarning(UserWarning):
        pass

    def flood(*_, **__):
        for i in range(1000):
            warnings.warn(f"did not converge at step {i}", ConvergenceWarning, stacklevel=1)
        warnings.warn("np.matrix is going away", DeprecationWarning, stacklevel=1)

    monkeypatch.setattr("kernode.cli.options.graph.GraphOptions.graph", flood)
    answer = workspace.kernode("data info edges.csv")
    assert answer.err.count("did not converge") == 1
    assert "matrix" not in answer.err
