"""One link experiment: a variant, the split of its first seed, the test edges scored once."""

import numpy as np
import pytest
from kernode.link_prediction.experiment import run_link_method, run_link_variant
from kernode.link_prediction.fitting import fit_links

from graphs import CLUSTERS
from kernode.errors import InputError
from kernode.io.edge_split import split_edges
from kernode.tasks.links.variants import tuned_name
from kernode.training.run import Run
from kernode.training.settings import Training
from parts import LINK_METHODS
from tasks import DOUBLE, SINGLE, link_task


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kernel", "gae", "vgae"])
def test_every_variant_learns_coras_links(name, cora):
    graph, _ = cora
    outcome = run_link_variant(graph, name, Run((0,), SINGLE), changes={"epochs": 100})
    report, split = outcome.report, outcome.split
    assert (report["dataset"], report["variant"], report["replicas"], report["epochs"]) == (
        "cora",
        name,
        1,
        100,
    )
    assert report["test"]["auc_mean"] > 84
    assert np.array_equal(split.test, split_edges(graph, 0).test)
    keys = {"auc_mean", "auc_std", "ap_mean", "ap_std", "hits_at_50_mean", "mrr_mean", "runs"}
    for part in ("test", "validation"):
        (run,) = outcome.on.evaluate(getattr(split, part), getattr(split, f"{part}_negatives"))
        assert keys <= set(report[part])
        assert report[part]["auc_mean"] == pytest.approx(run["auc"], abs=1e-3)
        assert report[part]["runs"][0]["mrr"] == pytest.approx(run["mrr"], abs=1e-3)
    assert outcome.model.variant == name


def test_replicas_share_the_split_of_the_first_seed():
    training = Training(epochs=3)
    outcome = run_link_method(CLUSTERS, LINK_METHODS["gae"], training, Run((4, 5), DOUBLE), variant="own")
    split = split_edges(CLUSTERS, 4)
    assert np.array_equal(outcome.split.validation, split.validation)
    assert (outcome.model.split_seed, outcome.model.seeds) == (4, (4, 5))
    alone = fit_links(link_task(seeds=(5,), split=split), LINK_METHODS["gae"], training)
    both = outcome.on.logits(split.test)
    assert np.abs(both[1] - alone.logits(split.test)[0]).max() < 1e-8
    assert len(outcome.report["test"]["runs"]) == 2


def test_settings_that_were_found_serve_the_split_that_they_were_not_found_on_alone(cora):
    graph, _ = cora
    assert (tuned_name(graph, 0), tuned_name(graph, 1), tuned_name(CLUSTERS, 0)) == ("cora", "", "")


def test_what_cannot_fit_is_refused_before_anything_is_computed(monkeypatch):
    monkeypatch.setattr("kernode.training.memory.free_at", lambda place: 1)
    monkeypatch.setattr("kernode.link_prediction.fitting.train_links", lambda *_: pytest.fail("trained"))
    with pytest.raises(InputError, match="this run takes at least"):
        fit_links(link_task(), LINK_METHODS["gae"], Training(epochs=3))
