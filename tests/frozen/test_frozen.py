"""Commands and estimators answer as stored; wrong commands end with the same status."""

import json
from functools import cache, partial

import numpy as np
import pytest

import kernode as kn
from frozen import answers, cases
from frozen.answers import NODES, TRAINED, fit, synthetic

SHORT = TRAINED | {"epochs": 8}


@cache
def stored(what):
    return json.loads((cases.HERE / f"{what}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def folder_and_answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen")
    cases.write_files(folder)
    return folder, {}


@pytest.fixture
def done(folder_and_answers, monkeypatch):
    """The answers of commands so far, in the folder where they are run."""
    folder, found = folder_and_answers
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KERNODE_CACHE", str(folder / "cache"))
    return found


def test_every_case_is_stored_and_the_files_are_small():
    assert set(stored("commands")) == set(cases.COMMANDS)
    assert set(stored("answers")) == set(answers.ANSWERS)
    assert sum(path.stat().st_size for path in cases.HERE.iterdir() if path.is_file()) < 500_000


@pytest.mark.parametrize("name", cases.COMMANDS)
def test_a_command_answers_as_stored(name, done):
    assert not [*cases.differences(stored("commands")[name], cases.answer(name, done))]


@pytest.mark.parametrize("name", answers.ANSWERS)
def test_an_estimator_answers_as_stored(name, done):
    found = cases.plain(answers.ANSWERS[name]())
    assert not [*cases.differences(stored("answers")[name], found, tolerance=1e-8)]


@pytest.mark.parametrize("variant", ["k3", "k1", "diffusion"])
def test_parts_of_an_explanation_sum_to_the_whole(variant):
    model = fit(kn.NodeKernelClassifier(variant, replicas=3, **SHORT), synthetic())
    exactly = partial(pytest.approx, rel=1e-10, abs=1e-12)
    node = model.explain(3, top=2)
    by_hop = sum(hop.value for hop in node.hops)
    for whole in (node.neighbours.whole, node.features.whole, by_hop):
        assert whole + node.class_bias == exactly(node.lead)
    pair = model.explain(3, 5, top=2)
    by_pair = sum(part.value for part in pair.pairs) + pair.rest
    for whole in (by_pair, *(shown.whole for shown in (*pair.neighbours, *pair.features))):
        assert whole == exactly(model.kernel_.gram([3], [5]).item())


def vectors(estimator, seed, replicas):
    """What replicas learn: r × m × d."""
    estimator.set_params(random_state=seed, replicas=replicas)
    graph, _ = synthetic()
    if isinstance(estimator, kn.NodeKernelTransformer):
        fit(estimator, synthetic())
    else:
        estimator.fit(kn.split_edges(graph) if isinstance(estimator, kn.LinkPredictor) else graph)
    return np.split(estimator.kernel_.vectors(NODES) * np.sqrt(replicas), replicas, axis=1)


@pytest.mark.parametrize(
    "estimator",
    [
        *(kn.NodeKernelTransformer(variant, **SHORT) for variant in ("k3", "k1", "diffusion", "gat")),
        *(kn.LinkPredictor(variant, **SHORT) for variant in ("kernel", "vgae")),
        kn.LinkKernelTransformer(**SHORT),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{estimator.variant}",
)
def test_a_replica_of_a_stack_equals_the_run_alone(estimator):
    together = vectors(estimator, 5, 3)
    alone = [vectors(estimator, 5 + i, 1)[0] for i in range(3)]
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12)


def test_scores_of_a_stack_are_the_mean_of_the_runs_alone():
    def scores(seed, replicas):
        model = kn.NodeKernelClassifier("k3", **SHORT | {"random_state": seed, "replicas": replicas})
        return fit(model, synthetic()).explain(3).scores

    alone = [scores(5 + i, 1) for i in range(3)]
    np.testing.assert_allclose(scores(5, 3), np.mean(alone, axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("status", "line"), cases.WRONG)
def test_a_wrong_command_ends_with_its_status_and_one_line(status, line, done):
    found, out, err = cases.run(line, done)
    assert (found, out) == (status, ""), err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "internal error" not in err
