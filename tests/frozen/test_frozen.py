"""Commands and estimators answer as they did before; what a stored answer has is never lost."""

import json
from functools import cache, partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kernode as kn
from frozen import answers, cases
from frozen.answers import NODES, TRAINED, fit, synthetic

@cache
def stored(what):
    return json.loads((cases.HERE / f"{what}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The folder with the graphs' files, and what commands answered in it so far."""
    folder = tmp_path_factory.mktemp("frozen")
    cases.write_files(folder)
    return folder, {}


@pytest.fixture
def done(files, monkeypatch):
    folder, answered = files
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KERNODE_CACHE", str(folder / "cache"))
    return answered


def test_every_case_is_stored_and_the_files_are_small():
    assert set(stored("commands")) == set(cases.COMMANDS)
    assert set(stored("answers")) == set(answers.ANSWERS)
    assert sum(path.stat().st_size for path in cases.HERE.iterdir() if path.is_file()) < 500_000


@pytest.mark.parametrize("name", cases.COMMANDS)
def test_a_command_answers_as_before(name, done):
    assert not [*cases.differences(stored("commands")[name], cases.answer(name, done))]


@pytest.mark.parametrize("name", answers.ANSWERS)
def test_an_estimator_answers_as_before(name, done):
    found = cases.plain(answers.answer(name))
    assert not [*cases.differences(stored("answers")[name], found, rel=1e-8)]


@pytest.mark.parametrize("variant", ["k3", "k1", "diffusion"])
def test_parts_of_an_explanation_sum_to_the_whole(variant):
    model = fit(kn.NodeKernelClassifier(variant, replicas=3, **TRAINED), synthetic())
    exactly = partial(pytest.approx, rel=1e-10, abs=1e-12)
    node = model.explain(3, top=2)
    assert node.neighbours.whole + node.class_bias == exactly(node.lead)
    assert node.features.whole + node.class_bias == exactly(node.lead)
    assert sum(hop.value for hop in node.hops) + node.class_bias == exactly(node.lead)
    pair = model.explain(3, 5, top=2)
    assert pair.similarity == exactly(model.kernel_.gram([3], [5]).item())
    assert sum(part.value for part in pair.pairs) + pair.rest == exactly(pair.similarity)
    for sums in (*pair.neighbours, *pair.features):
        assert sums.whole == exactly(pair.similarity)


def vectors(estimator, first_seed, replicas):
    """What replicas learn: r × m × d."""
    estimator = estimator.set_params(random_state=first_seed, replicas=replicas)
    if isinstance(estimator, kn.NodeKernelTransformer):
        kernel = fit(estimator, synthetic()).kernel_
    elif isinstance(estimator, kn.LinkPredictor):
        kernel = estimator.fit(kn.split_edges(synthetic()[0])).kernel_
    else:
        kernel = estimator.fit(synthetic()[0]).kernel_
    side_by_side = kernel.vectors(NODES) * np.sqrt(replicas)
    return np.stack(np.split(side_by_side, replicas, axis=1))


@pytest.mark.parametrize(
    "estimator",
    [
        *(kn.NodeKernelTransformer(variant, **TRAINED) for variant in ("k3", "k1", "diffusion", "gat")),
        *(kn.LinkPredictor(variant, **TRAINED) for variant in ("kernel", "vgae")),
        kn.LinkKernelTransformer(**TRAINED),
    ],
    ids=lambda estimator: f"{type(estimator).__name__}-{estimator.variant}",
)
def test_a_replica_of_a_stack_equals_the_run_alone(estimator):
    together = vectors(estimator, 5, 3)
    for i in range(3):
        np.testing.assert_allclose(together[i], vectors(estimator, 5 + i, 1)[0], rtol=1e-12, atol=1e-12)


def test_scores_of_a_stack_are_the_mean_of_the_runs_alone():
    def scores(seed, replicas):
        settings = TRAINED | {"random_state": seed, "replicas": replicas}
        return fit(kn.NodeKernelClassifier("k3", **settings), synthetic()).explain(3).scores

    alone = [scores(5 + i, 1) for i in range(3)]
    np.testing.assert_allclose(scores(5, 3), np.mean(alone, axis=0), rtol=1e-12, atol=1e-12)


def test_a_saved_model_answers_as_the_one_that_was_fitted(tmp_path):
    model = fit(kn.NodeKernelClassifier("k3", replicas=2, **TRAINED), synthetic())
    read = kn.load_model(model.save(tmp_path / "model.safetensors", with_graph=True))
    np.testing.assert_array_equal(read.predict_proba(NODES), model.predict_proba(NODES))


WRONG_COMMANDS = {  # by their status
    1: (
        *("fit nowhere.csv", "fit nowhere.npz", "fit graph.npz --split nowhere.json"),
        *("predict nowhere.safetensors", "predict papers.csv graph.npz"),
    ),
    2: (
        *("train graph.npz", "fit", "fit graph.npz --epoch 5", "fit graph.npz --epochs ten"),
        *("fit graph.npz --variant k9", "fit graph.npz --hops 0", "fit graph.npz --dropout 1"),
        *("fit graph.npz --learning-rate nan", "fit graph.npz --kernel sigmoid", "fit graph.npz --replicas 0"),
        *("fit graph.npz --precision 16", "fit graph.npz --device tpu", "fit graph.npz --seed -1"),
        *("fit graph.npz -o graph.npz", "fit graph.npz --resume", "fit graph.npz --label topic"),
        *("fit graph.npz --split mine", "fit graph.npz --split 500/100/100", "fit coar"),
        *("fit synthetic:knots=50", "fit papers.csv --nodes papers-nodes.csv --label group"),
        *("fit papers.csv --nodes towns.csv --label region", "predict links.safetensors"),
        *("predict centroids.safetensors", "predict tables.safetensors papers.csv --nodes towns.csv"),
        *("similar softmax.safetensors 900", "similar softmax.safetensors 1 -k 0"),
        *("explain softmax.safetensors 1 --class purple", "what-if softmax.safetensors 1"),
        *("what-if softmax.safetensors 1 --add 1", "extend tables.safetensors"),
        *("gram softmax.safetensors --only 1,900 -o x.npz", "plot softmax.safetensors pie"),
        *("report softmax.safetensors -o report.pdf", "missing softmax.safetensors"),
        *("links graph.npz --variant k3", "tune graph.npz --metric f1", "compare graph.npz --variants k3"),
        *("estimate coar", "data convert papers.csv", "data info softmax.safetensors"),
    ),
}


@pytest.mark.parametrize(
    ("status", "line"), [(status, line) for status, lines in WRONG_COMMANDS.items() for line in lines]
)
def test_a_wrong_command_ends_with_its_status_and_one_line(status, line, done):
    for model in ("softmax", "centroids", "tables", "links"):
        if f"{model}.safetensors" in line:
            cases.answer("links" if model == "links" else f"fit: {model}", done)
    found, out, err = cases.run(line)
    assert (found, out) == (status, ""), err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "internal error" not in err


def _from_edges(edges=((0, 1), (1, 2)), features=np.eye(3), labels=(0, 1, 0), **more):
    return kn.Graph.from_edges(edges, features, labels, **more)


def _fit(nodes=(0, 1), labels=(0, 1), **settings):
    return kn.NodeKernelClassifier(**settings).fit(nodes, labels, graph=_from_edges())


WRONG_CALLS = {
    "an edge to nowhere": (kn.InputError, lambda: _from_edges([(0, 7)])),
    "features with a gap": (kn.InputError, lambda: _from_edges(features=np.full((3, 2), np.nan))),
    "labels for some": (kn.InputError, lambda: _from_edges(labels=[0, 1])),
    "names twice": (kn.InputError, lambda: _from_edges(node_names=["a", "a", "b"])),
    "a weight of zero": (kn.InputError, lambda: _from_edges(weights=[1.0, 0.0])),
    "a position of halves": (kn.InputError, lambda: kn.positions([0.5])),
    "no graph": (kn.InputError, lambda: kn.NodeKernelClassifier().fit([0], [0])),
    "a node beyond the graph": (kn.InputError, lambda: _fit([0, 9])),
    "fewer labels than nodes": (kn.InputError, lambda: _fit([0, 1, 2])),
    "one class": (kn.InputError, lambda: _fit(labels=[0, 0])),
    "an unknown variant": (kn.InputError, lambda: _fit(variant="k9")),
    "no epochs": (kn.InputError, lambda: _fit(epochs=True)),
    "hops beyond reason": (kn.InputError, lambda: _fit(variant="k3", hops=10**9)),
    "a kernel's setting": (kn.InputError, lambda: kn.kernels.RBF(gamma=-1)),
    "too few edges": (kn.InputError, lambda: kn.LinkPredictor().fit(_from_edges())),
    "an unknown label": (kn.InputError, lambda: kn.read_table("papers.csv", "towns.csv", label="team")),
    "no model file": (kn.FileError, lambda: kn.load_model("nowhere.safetensors")),
    "another file": (kn.FileError, lambda: kn.load_model("papers.csv")),
    "not fitted": (NotFittedError, lambda: kn.NodeKernelClassifier().predict([0])),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_raises_its_class_of_error(name, done):
    kind, call = WRONG_CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    assert "\n" not in str(caught.value)
