"""Back from a file: the estimator that answers, scores and learns as the one that was saved."""

import numpy as np
import pytest
from scipy import sparse

import kernode as kn
from graphs import CLUSTERS, clustered_graph
from kernode.errors import FileError
from kernode.kernels import Linear
from kernode.losses import Hinge, Joint, Logistic, Softmax, Squared
from kernode.maps import HopMLP
from kernode.tasks.classes.method import Method, NodeMethod
from kernode.tasks.classes.model import NodeModel
from kernode.training.settings import Training
from refusals import refused
from tasks import LABELS, SPLIT


def fitted(variant="k3", **settings):
    settings = {"epochs": 10, "device": "cpu"} | settings
    model = kn.NodeKernelClassifier(variant, **settings)
    return model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)


@pytest.fixture
def saved(tmp_path):
    """Save a model; give its path."""
    return lambda model: model.save(tmp_path / "m.safetensors")


def test_without_its_graph_a_model_must_be_given_one(saved):
    model = fitted()
    alone = kn.load_model(saved(model))
    with refused("missing", setting="graph"):
        alone.predict([0])
    assert np.array_equal(alone.predict_proba([0], graph=CLUSTERS), model.predict_proba([0]))


def test_graph_of_a_known_name_is_found_again(saved):
    data = "synthetic:nodes=120,degree=6,classes=3,features=8,seed=1"
    graph, split = kn.load(data, split="0.5/0.25/0.25")
    model = kn.NodeKernelClassifier("n1", epochs=3).fit(
        split.train, graph.labels[split.train], graph=graph, validation=split.validation
    )
    again = kn.load_model(saved(model))
    assert again.graph_.fingerprint == graph.fingerprint
    assert np.array_equal(again.predict_proba(split.test), model.predict_proba(split.test))


def test_loaded_estimator_knows_its_settings_numpy_numbers_among_them(saved):
    model = fitted(
        random_state=np.int64(3), replicas=np.int64(2), epochs=np.int64(7), hops=np.int64(1),
        learning_rate=np.float32(0.01), loss={"margin": 0.4, "kernel_weight": 2, "triplets": 99},
        training={"dropout": np.array([0.5, 0.2]), "precision": 64},
    )  # fmt: skip
    again = kn.load_model(saved(model), CLUSTERS)
    training = again.training
    assert (again.map.hops, again.random_state, again.replicas) == (1, 3, 2)
    assert (training.epochs, training.precision, training.dropout) == (7, 64, (0.5, 0.2))
    assert again.loss == Joint(Hinge(99, 0.4), kernel_weight=2.0)


@pytest.mark.parametrize(
    ("variant", "settings"),
    [
        ("k3", {"loss": {"kernel_loss": "squared", "class_weights": "balanced"}}),
        ("k1", {"loss": Squared(70), "hidden": 8}),
        ("k3", {"scoring": "map", "training": {"patience": 3}}),
        ("k3", {"loss": {"margin": (0.1, 0.5)}, "training": {"dropout": (0.5, 0.2)}, "replicas": 2}),
        ("gat", {}),
    ],
)
def test_loaded_estimator_learns_the_same_again(variant, settings, saved):
    model = fitted(variant, epochs=3, **settings)
    again = kn.load_model(saved(model), graph=CLUSTERS)
    again.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    assert np.array_equal(again.predict_proba(range(120)), model.predict_proba(range(120)))


def test_files_of_another_kind_are_named(tmp_path):
    from kernode.storage import write_tensors

    path = write_tensors(tmp_path / "c.safetensors", "checkpoint", {}, {})
    with pytest.raises(kn.InputError, match="checkpoint"):
        kn.load_model(path)
    with pytest.raises(FileError):
        kn.load_model(tmp_path / "none")


OLD_TRAINING = {"kernel_weight": 2.0, "margin": [0.3, 0.7], "triplets": 50, "class_weights": "balanced"}


@pytest.mark.parametrize(
    ("objective", "kernel_loss", "loss"),
    [
        ("kernel", "logistic", Logistic(50)),
        ("softmax", "hinge", Softmax("balanced")),
        ("joint", "hinge", Joint(Hinge(50, (0.3, 0.7)), Softmax("balanced"), 2.0)),
    ],
)
def test_settings_of_losses_in_files_of_0_1_0_reach_the_loss(objective, kernel_loss, loss):
    method = Method(HopMLP(), Linear()).to_json() | {"objective": objective, "kernel_loss": kernel_loss}
    del method["loss"]
    facts = {
        "method": method, "training": Training(epochs=7).to_json() | OLD_TRAINING,
        "labels_of_choice": {"variant": "k1", "split": "jk"},
    }  # fmt: skip
    today = NodeModel.upgraded(facts)
    assert NodeMethod.from_json(today["method"]).loss == loss
    assert Training.from_json(today["training"]) == Training(epochs=7)
    assert (today["variant"], today["split"], today["chosen_by_validation"]) == ("k1", "jk", None)


def as_sparse(graph):
    features, names = sparse.csr_array(graph.features), [f"ä{i}" for i in range(graph.n_nodes)]
    about = {"class_names": ("a", "b", "c"), "node_names": names, "name": "named", "notes": ("made up",)}
    return kn.Graph(graph.adjacency, features, graph.labels, **about)


def table_graph():
    ids = [f"n{i}" for i in range(30)]
    edges = {"source": ids, "target": [ids[(i * 7 + 1) % 30] for i in range(30)]}
    nodes = {"id": [*ids, "n3"], "x": [i % 5 * 1.5 for i in range(31)],
             "word": ["ab", "cd", None] * 10 + ["ab"], "kind": ["u", "v"] * 15 + ["v"]}  # fmt: skip
    return kn.read_table(edges, nodes, label="kind", positions=4)


@pytest.mark.parametrize(
    "graph", [CLUSTERS, as_sparse(CLUSTERS), table_graph()], ids=["dense", "sparse", "table"]
)
def test_a_model_saved_with_its_graph_needs_no_other(graph, saved, tmp_path):
    nodes = np.flatnonzero(graph.labels >= 0)[:20]
    model = kn.NodeKernelClassifier("k3", epochs=3, device="cpu").fit(nodes, graph.labels[nodes], graph=graph)
    path = model.save(tmp_path / "with.safetensors", with_graph=True)
    again = kn.load_model(path)
    held = again.graph_
    assert held.fingerprint == graph.fingerprint
    assert held.features.dtype == graph.features.dtype
    for name in ("name", "notes", "class_names", "encoding", "repairs"):
        assert getattr(held, name) == getattr(graph, name), name
    assert np.array_equal(held.labels, graph.labels)
    assert (held.node_names is None) == (graph.node_names is None)
    assert graph.node_names is None or held.node_names.tolist() == graph.node_names.tolist()
    assert np.array_equal(again.predict_proba(nodes), model.predict_proba(nodes))
    assert again.save(tmp_path / "again.safetensors", with_graph=True).read_bytes() == path.read_bytes()
    assert saved(again).stat().st_size < path.stat().st_size
    links = kn.LinkPredictor("gae", epochs=2, device="cpu").fit(graph)
    alone = kn.load_model(links.save(tmp_path / "l.safetensors", with_graph=True))
    assert alone.evaluate() == links.evaluate()


def test_a_model_that_grew_is_read_as_it_was_saved(tmp_path):
    # nearest centroids: means of training nodes in the larger graph
    model = fitted("k1", training={"precision": 64})
    grown = model.extend(None, CLUSTERS.features[:2], [(120, 0), (121, 120)])
    again = kn.load_model(grown.save(tmp_path / "m.safetensors", with_graph=True))
    assert again.graph_.n_nodes == 122
    more = [one.extend(None, CLUSTERS.features[:1], [(122, 121)]) for one in (again, grown)]
    for one, other in ((again, grown), more):
        nodes = range(one.graph_.n_nodes)
        assert np.allclose(one.predict_proba(nodes), other.predict_proba(nodes), rtol=1e-12)
    before = model.predict_proba(range(122), graph=grown.graph_)
    assert not np.allclose(again.predict_proba(range(122)), before)


def test_only_the_graph_that_was_learned_from_goes_into_the_file(saved, tmp_path):
    elsewhere = kn.load_model(saved(fitted()), graph=clustered_graph(n=100, seed=1))
    with refused("conflict", setting="with_graph"):
        elsewhere.save(tmp_path / "m", with_graph=True)


def test_a_graph_that_is_not_the_one_that_was_written_is_refused(tmp_path):
    from kernode.storage import read_tensors, write_tensors

    path = fitted().save(tmp_path / "m.safetensors", with_graph=True)
    tensors, facts = read_tensors(path, "model")
    write_tensors(path, "model", tensors, facts | {"graph": "0" * 64})
    with pytest.raises(FileError, match="graph"):
        kn.load_model(path)
    tensors["graph.labels"] = tensors["graph.labels"][:-5]
    write_tensors(path, "model", tensors, facts)
    with pytest.raises(FileError, match="graph"):
        kn.load_model(path)
