"""The systems of the paper's tables that are not in the package; tests/parts.py lists them for contracts."""

import cases
import files
import numpy as np
import pytest
import torch

import kernode as kn
from experiments.rivals import KLED, FastGCN, JKConcat
from graphs import CLUSTERS, clustered_graph
from kernode.compute.draws import Draws, Dropout
from kernode.hops import normalized_adjacency
from kernode.losses import Softmax
from kernode.tasks.classes.method import Method
from kernode.tasks.classes.variants import configure
from kernode.training.settings import Training
from refusals import refused
from tasks import DOUBLE, LABELS, SPLIT

NAMES = ("jk", "fastgcn", "kled")


def stored(what):
    """What release 0.1.0 trained and answered."""
    with np.load(cases.HERE / "0.1.0" / f"{what}.npz") as arrays:
        return dict(arrays)


def test_settings_are_as_documented():
    """docs/reproduction.md was measured with these."""
    dot = kn.kernels.Normalized(kn.kernels.Linear())
    for dataset in ("cora", "citeseer", "pubmed", ""):
        jk = Method(JKConcat((64, 64), inner_dropout=0.8), dot, Softmax())
        assert configure("jk", dataset) == (jk, Training())
        fast = Method(FastGCN(share=1.0), dot, Softmax())
        assert configure("fastgcn", dataset) == (fast, Training(epochs=400))
        assert configure("kled", dataset) == (KLED(), Training(epochs=0))


def test_they_are_variants_of_the_estimator():
    for name in NAMES:
        settings = {} if name == "kled" else {"epochs": 40}
        model = kn.NodeKernelClassifier(name, device="cpu", **settings)
        model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
        assert model.score(SPLIT.test, CLUSTERS.labels[SPLIT.test]) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_float64_they_train_to_the_parameters_of_0_1_0(name):
    settings = {} if name == "kled" else {"precision": 64}  # KLED trains nothing
    found, old = cases.summary(cases.fit_nodes(name, **settings).model_.parameters), stored("parameters")
    assert set(found) == {key.removeprefix(f"{name}/") for key in old if key.startswith(f"{name}/")}
    for key, values in found.items():
        np.testing.assert_allclose(values, old[f"{name}/{key}"], rtol=1e-12, atol=1e-12, err_msg=key)


def test_a_model_file_of_0_1_0_loads_and_answers_the_same():
    found, old = files.model_answers(cases.HERE / "0.1.0", "kled"), stored("answers")["kled"]
    # Its SVC stops at a tolerance of its own, which processors reach by other steps.
    np.testing.assert_allclose(found, old, rtol=1e-3, atol=1e-6)
    assert (found.argmax(axis=1) == old.argmax(axis=1)).all()


def start(feature_map, graph, seeds):
    prepared = feature_map.prepare(graph, DOUBLE)
    return prepared, feature_map.initial(prepared, Draws(seeds), DOUBLE)


def test_fastgcn_estimate_is_unbiased():
    """The mean of many sampled products is the full one, node by node, within its standard error."""
    graph = clustered_graph(n=20)
    fast = FastGCN((4,), 3, share=0.3)
    seeds = torch.arange(4_000)
    prepared = fast.prepare(graph, DOUBLE)
    weights = fast.weights(prepared.chance, Draws(seeds, 1))  # n × r
    error = weights.std(dim=1) / len(seeds) ** 0.5
    assert ((weights.mean(dim=1) - 1).abs() < 4.5 * error).all()
    one = {
        name: value.expand(4_000, -1, -1) for name, value in start(fast, graph, torch.tensor([3]))[1].items()
    }
    no_dropout = torch.zeros(4_000, dtype=torch.float64)
    sampled = fast(one, prepared, Dropout(Draws(seeds, 1), no_dropout))
    full = fast({name: value[:1] for name, value in one.items()}, prepared)[0]
    deviation = (sampled.mean(dim=0) - full).abs()
    assert (deviation < 5 * sampled.std(dim=0) / len(seeds) ** 0.5 + 1e-12).all()
    assert sampled.std(dim=0).max() > 0.01  # it does sample


def test_fastgcn_draws_by_the_squared_norm_of_columns():
    graph = clustered_graph(n=15)
    chance = FastGCN().prepare(graph, DOUBLE).chance.numpy()
    columns = (normalized_adjacency(graph).toarray() ** 2).sum(axis=0)
    assert np.allclose(chance, columns / columns.sum())


def test_wrong_settings_are_refused():
    with refused("setting", setting="share"):
        FastGCN(share=0)
    with refused("setting", setting="hidden"):
        JKConcat((4, 5))
