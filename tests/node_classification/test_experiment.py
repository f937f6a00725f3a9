"""An experiment on a graph that a search has seen: where what it found may be used."""

import pytest
from kernode.node_classification import experiment

from kernode.tasks.classes.configure import candidates
from kernode.training.run import Run
from tasks import SINGLE


class Seen(Exception):  # noqa: N818 (no error: training is not the question here)
    pass


@pytest.mark.parametrize(
    ("split", "tuned"),
    [
        (None, True),
        ("fastgcn", True),
        ("public", False),
        ("jk", False),
        ("140/500/1000", False),
        ("a.npz", False),
    ],
)
def test_searched_settings_are_used_on_the_split_of_the_search_alone(cora, monkeypatch, split, tuned):
    """The public split tests the same nodes, but has a ninth of the labels that the search had."""
    graph, _ = cora

    def see(graph, methods, run, split):
        raise Seen(methods)

    monkeypatch.setattr(experiment, "run_candidates", see)
    for variant in ("auto", "k3-tuned", "similarity"):
        with pytest.raises(Seen) as seen:
            experiment.run_variant(graph, variant, Run((0,), SINGLE), split=split)
        assert seen.value.args[0] == candidates(variant, "cora", tuned=tuned)
        assert candidates(variant, "cora", tuned=True) != candidates(variant, "cora", tuned=False)
