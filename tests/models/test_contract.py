"""What every fitted model keeps to, of nodes and of links: each property for all methods that are listed."""

import pickle

import numpy as np
import pytest

from graphs import CLUSTERS
from kernode.io.edge_split import split_edges
from kernode.models.model import Model
from parts import LINK_METHODS, METHODS
from tasks import QUICK, fit, fitted_once, task_of

EDGES = split_edges(CLUSTERS, 0)
every_method = pytest.mark.parametrize(
    "method",
    [*METHODS.values(), *LINK_METHODS.values()],
    ids=[*METHODS, *(f"links-{name}" for name in LINK_METHODS)],
)


def answers(on):
    """Numbers of each replica."""
    return on.probabilities() if hasattr(on, "probabilities") else on.logits(EDGES.test)


@every_method
def test_replica_equals_the_run_made_alone_with_its_seed(method):
    together = fitted_once(method)
    for i, seed in enumerate((3, 4)):
        alone = fit(task_of(method, seeds=(seed,)), method, QUICK)
        assert together.model.kept_epochs[i] == alone.model.kept_epochs[0]
        assert np.abs(answers(together)[i] - answers(alone)[0]).max() < 1e-8


@every_method
def test_saved_model_answers_the_same(method, tmp_path):
    on = fitted_once(method)
    path = on.model.save(tmp_path / "m.safetensors")
    again = Model.load(path)
    assert (again.method, again.training) == (on.model.method, QUICK)
    graph = again.split_of(CLUSTERS) if hasattr(again, "split_of") else CLUSTERS
    assert np.array_equal(answers(again.on(graph)), answers(on))
    assert again.save(tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


@every_method
def test_model_on_its_graph_travels_by_pickle(method):
    on = fitted_once(method)
    before = answers(on)
    assert np.array_equal(answers(pickle.loads(pickle.dumps(on))), before)


@every_method
def test_what_was_prepared_for_training_is_not_held_after_it_has_answered(method):
    on = fit(task_of(method), method, QUICK)
    answers(on)
    assert on.prepared is None  # it is larger than g
