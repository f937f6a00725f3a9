"""A column of numbers on the command line: fit, predict, similar, explain, embed, and what is refused."""

import csv
import json
import math

import numpy as np
import pytest

import kernode as kn
from commands import fails

TABLES = "edges.csv --nodes nodes.csv"
FIT = f"fit {TABLES} --label price"


@pytest.fixture
def houses(workspace):
    """Eighty houses with prices by size and place; neighbours are near. Every tenth is unknown."""
    random = np.random.default_rng(3)
    n = 80
    size, place = random.normal(size=(2, n)).round(3)
    price = (100 + 20 * size + 10 * place + random.normal(size=n)).round(2)
    order = np.argsort(place)
    pairs = [(f"h{order[i]}", f"h{order[i + step]}") for step in (1, 2) for i in range(n - step)]
    workspace.table("edges.csv", ("source", "target"), pairs)
    rows = [(f"h{i}", size[i], "" if i % 10 == 0 else price[i], "ab"[i % 2]) for i in range(n)]
    workspace.table("nodes.csv", ("id", "size", "price", "kind"), rows)
    workspace.price = price
    return workspace


@pytest.fixture
def fitted(houses):
    """The same, with a model that has its graph."""
    assert houses.kernode(f"{FIT} -q --with-graph -o m.safetensors").status == 0
    return houses


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_column_of_numbers_is_fitted_as_in_python(houses):
    report = houses.kernode(f"{FIT} --json --seed 4 --set run.threads=1").json
    graph = kn.read_table("edges.csv", "nodes.csv", label="price")
    model = kn.NodeKernelRegressor(random_state=4, threads=1).fit(graph=graph)
    assert report["test"]["r2"] == pytest.approx(model.report()["test"]["r2"], rel=1e-6)
    assert report["test"]["r2"] > 0.9
    expected = {"task": "numbers", "target": "price", "split": "0.64/0.16/0.2", "seed": 4, "inducing": None}
    expected |= {"model": "edges.safetensors", "replaced": False, "trained_again_on": None, "repairs": []}
    assert {name: report[name] for name in expected} == expected
    assert report["sizes"] == {"nodes": 80, "labelled": 72, "train": 46, "validation": 12, "test": 14}
    assert {"seconds_total", "peak_memory_mb", "notes", "versions", "deterministic", "warnings"} <= set(
        report
    )
    loaded = kn.load_model("edges.safetensors", graph)
    np.testing.assert_allclose(loaded.predict(["h0", "h1"]), model.predict(["h0", "h1"]), rtol=1e-6)


def test_a_person_sees_the_figures_and_the_next_command(houses):
    answer = houses.kernode(f"{FIT} --split 0.5/0.25/0.25")
    assert "edges · price by a Gaussian process · split 0.5/0.25/0.25 (36 / 18 / 18) · seed 0" in answer.out
    for name in ("R²", "MAE", "RMSE", "trained on           75 % of the numbers; --all-labels"):
        assert name in answer.out
    assert f"kernode predict edges.safetensors --graph {TABLES} -o predictions.csv" in answer.out
    assert "price: numbers, regression" in answer.err
    following = answer.out.partition("Next: kernode ")[2].strip()
    assert houses.kernode(following).status == 0
    assert len(rows(houses.folder / "predictions.csv")) == 80


def test_predictions_have_deviations_intervals_and_what_each_node_was_used_for(houses):
    report = houses.kernode(f"{FIT} --json --predictions out.csv").json
    table = rows(houses.folder / "out.csv")
    assert list(table[0]) == ["node", "prediction", "std", "low", "high", "known", "part"]
    parts = [row["part"] for row in table]
    sizes = report["sizes"]
    assert {part: parts.count(part) for part in ("train", "held", "test", "")} == {
        "train": sizes["train"], "held": sizes["validation"], "test": sizes["test"], "": 8,
    }  # fmt: skip
    for row, price in zip(table, houses.price, strict=True):
        assert float(row["low"]) < float(row["high"])
        assert float(row["std"]) > 0
        assert (row["known"] == "") == (row["part"] == "")
        assert not row["known"] or float(row["known"]) == price
    off = [float(row["prediction"]) - float(row["known"]) for row in table if row["part"] == "test"]
    assert report["test"]["rmse"] == pytest.approx(math.sqrt(np.mean(np.square(off))))


def test_all_labels_learns_from_every_known_number_after_the_test(houses):
    plain = houses.kernode(f"{FIT} --json -o plain.safetensors").json
    report = houses.kernode(f"{FIT} --json --all-labels --predictions out.json").json
    assert report["test"] == plain["test"]
    assert report["trained_again_on"] == 72
    table = json.loads((houses.folder / "out.json").read_text())
    assert {row["part"] for row in table} == {"train", None}  # 72 are too few to hold some out


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_saved_model_predicts_what_the_fit_wrote(fitted, form):
    houses = fitted
    written = houses.kernode(f"predict m.safetensors -o all.{form} --json").json
    assert written["interval"] == {"method": "conformal", "coverage": 0.9, "calibrated_on": 12}
    assert (written["nodes"], written["arrived"], written["target"]) == (80, 0, "price")
    shown = houses.kernode("predict m.safetensors --json").json["predictions"]
    model = kn.load_model("m.safetensors")
    low, high = model.predict_interval(["h0"], 0.9)[0]
    assert (shown[0]["node"], shown[0]["known"]) == ("h0", None)
    assert (shown[0]["low"], shown[0]["high"]) == pytest.approx((low, high))
    assert houses.kernode("predict m.safetensors").out.startswith("node,prediction,std,low,high,known,part\n")


def test_intervals_have_the_coverage_that_is_asked_for(fitted):
    found = fitted.kernode("predict m.safetensors --coverage 0.5 --json").json
    assert found["interval"]["coverage"] == 0.5
    low, high = kn.load_model("m.safetensors").predict_interval(["h0"], 0.5)[0]
    assert (found["predictions"][0]["low"], found["predictions"][0]["high"]) == pytest.approx((low, high))


def test_intervals_are_by_leave_one_out_where_nothing_was_held_out(houses):
    report = houses.kernode(f"{FIT} --json --split 0.8/0/0.2 -o loo.safetensors --with-graph").json
    assert report["interval"]["method"] == "loo"
    assert houses.kernode("predict loo.safetensors --json").json["interval"]["method"] == "loo"


def test_a_split_without_test_nodes_saves_the_model_and_says_so(houses):
    answer = houses.kernode(f"{FIT} -q --split 0.8/0.2/0")
    assert "no test node" in answer.out
    assert houses.kernode(f"{FIT} --json --split 0.8/0.2/0").json["test"] == {}


def test_nodes_that_arrive_are_answered_about_and_kept(fitted):
    houses = fitted
    houses.table("new.csv", ("id", "size", "price", "kind"), [("m1", 1.0, "", "a"), ("m2", -1.0, 85, "b")])
    houses.table("new-edges.csv", ("source", "target"), [("m1", "h3"), ("m2", "h4")])
    new = "--new-nodes new.csv --new-edges new-edges.csv"
    found = houses.kernode(f"predict m.safetensors {new} --save larger.safetensors --json").json
    assert [(row["node"], row["known"], row["part"]) for row in found["predictions"]] == [
        ("m1", None, None), ("m2", 85.0, "known"),
    ]  # fmt: skip
    again = houses.kernode("predict larger.safetensors --json").json["predictions"]
    assert [row["prediction"] for row in again[-2:]] == pytest.approx(
        [row["prediction"] for row in found["predictions"]]
    )
    larger = (houses.folder / "edges.csv").read_text() + "m1,h3\n"
    houses.write("larger.csv", larger)
    assert (
        "predict --new-nodes"
        in houses.kernode("predict m.safetensors --graph larger.csv --nodes nodes.csv").refusal
    )


def test_a_model_without_its_graph_asks_for_it(houses):
    assert houses.kernode(f"{FIT} -q").status == 0
    assert "(--graph)" in houses.kernode("predict edges.safetensors").refusal
    assert houses.kernode(f"predict edges.safetensors --graph {TABLES} -o out.csv").status == 0


def test_similar_nodes_come_with_their_numbers(fitted):
    houses = fitted
    found = houses.kernode("similar m.safetensors h1 h0 -k 3 --json").json["similar"]
    assert found[0]["number"] == houses.price[1]
    assert found[1]["number"] is None
    assert [len(one["similar"]) for one in found] == [3, 3]
    out = houses.kernode("similar m.safetensors h1 -k 2 --where kind=b").out
    assert f"most similar to h1, {houses.price[1]:.6g}" in out
    assert "(--class)" in houses.kernode("similar m.safetensors h1 --class b").refusal


def test_an_explanation_has_two_sums(fitted):
    houses = fitted
    found = houses.kernode("explain m.safetensors h1 --top 3 --json").json
    known = found["mean"] + sum(one["value"] for one in found["known"]) + found["rest"]
    assert found["number"] == pytest.approx(known)
    assert found["number"] == pytest.approx(found["mean"] + sum(found["parts"].values()))
    assert (found["node"], len(found["known"])) == ("h1", 3)
    assert houses.kernode("explain m.safetensors h1").out.startswith("h1: ")
    edit = "--change size=2 --add h5"
    changed = houses.kernode(f"explain m.safetensors h1 {edit} --json").json
    assert changed["before"][0] == pytest.approx(found["number"])
    assert changed["after"][0] > changed["before"][0]
    for more in ("h2", "--class b", "--against b", "--smallest edges"):
        assert "of numbers" in houses.kernode(f"explain m.safetensors h1 {more}").refusal


def test_vectors_and_gram_are_written(fitted):
    houses = fitted
    houses.kernode("embed m.safetensors -o v.npz -q")
    houses.kernode("embed m.safetensors --gram --only h1,h2 --with h1,h3 -o k.npz -q")
    with np.load("v.npz") as vectors, np.load("k.npz") as gram:
        x = vectors["vectors"]
        np.testing.assert_allclose(gram["gram"], x[[1, 2]] @ x[[1, 3]].T, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "words", ["predict --abstain 0.9", "predict --rank a", "predict --doubtful-labels", "predict-links"]
)
def test_what_is_for_other_models_is_refused(fitted, words):
    command, _, more = words.partition(" ")
    assert "is a model of numbers" in fitted.kernode(f"{command} m.safetensors {more}").refusal


REFUSED = {
    "--scoring f1": "--scoring", "--threshold f1": "--threshold", "--variant k3": "--variant",
    "--epochs 3": "--epochs", "--time-limit 3": "--time-limit", "--replicas 2": "--replicas",
    "--checkpoint c.safetensors": "--checkpoint", "--set map.hops=2": "--set map.hops=…",
    "--set loss=joint": "loss has no effect", "--set training.patience=3": "--set training.patience=…",
    "--set run.tensorboard=logs": "--set run.tensorboard=…", "--set run.precision=32": "run.precision",
    "--set kernel=RBF()": "kernode.kernels.FeatureCovariance", "--set method.nodes=few": "nodes must be",
}  # fmt: skip


@pytest.mark.parametrize("early", ["", " --set table.task=numbers"])
@pytest.mark.parametrize("words", REFUSED)
def test_options_without_effect_on_numbers_are_named(houses, words, early):
    assert REFUSED[words] in houses.kernode(f"{FIT} {words}{early}").refusal
    assert not [*houses.folder.glob("*.safetensors")]


def test_a_variant_that_is_named_auto_and_one_replica_are_taken(houses):
    line = f"{FIT} --variant auto --replicas 1 --set run.device=cpu --set run.precision=64 --json"
    assert houses.kernode(line).json["task"] == "numbers"


def test_a_covariance_and_settings_of_the_process_reach_the_model(houses):
    kernel = "FeatureCovariance(RBF(gamma=0.5)) + GraphCovariance((GraphDiffusion(8.0),))"
    more = "--set method.exact=10 --set method.inducing=30 --with-graph -q -o m.safetensors"
    assert houses.kernode(f"{FIT} {more}", "--set", f"kernel={kernel}").status == 0
    model = kn.load_model("m.safetensors")
    assert model.model_.method.covariance.terms[0] == kn.kernels.FeatureCovariance(kn.kernels.RBF(gamma=0.5))
    assert model.model_.inducing.shape == (1, 30)
    report = houses.kernode(f"{FIT} --json --dry-run --set method.exact=10 --set method.inducing=30").json
    assert (report["exact"], report["inducing"], report["known"]) == (False, 30, 58)


def test_a_learned_map_and_its_settings_reach_the_model(houses):
    settings = "--replicas 2 --scoring neg_mean_absolute_error --epochs 9 --set training.dropout=0.0"
    feature_map = ("--set", "map=HopMLP(hidden=(8,), outputs=4)")
    report = houses.kernode(f"{FIT} {settings} --json --with-graph -o m.safetensors", *feature_map).json
    assert (report["task"], report["replicas"], report["epochs"]) == ("numbers", 2, 9)
    model = kn.load_model("m.safetensors").model_
    assert model.method.map == kn.maps.HopMLP(hidden=(8,), outputs=4)
    assert (model.training.select_by, model.training.dropout) == ("neg_mean_absolute_error", 0.0)
    assert "seeds 0-1" in houses.kernode(f"{FIT} {settings}", *feature_map).out
    assert "--scoring" in houses.kernode(f"{FIT} --scoring r2").refusal
    assert "scoring must be" in houses.kernode(f"{FIT} --scoring f1", *feature_map).refusal
    assert "--threshold" in houses.kernode(f"{FIT} --threshold f1", *feature_map).refusal


def test_a_covariance_is_refused_for_classes_and_links(houses, graph_file):
    kernel = ("--set", "kernel=FeatureCovariance(RBF())")
    fails(houses._command("fit", graph_file, *kernel), 2, "holds no numbers")
    assert "(--label)" in houses.kernode(f"fit {TABLES} --label kind", *kernel).refusal
    assert "kernel must be" in houses.kernode(f"links {TABLES}", *kernel).refusal


def test_a_dry_run_says_whether_it_is_exact(houses):
    report = houses.kernode(f"{FIT} --dry-run --json").json
    expected = {"task": "numbers", "target": "price", "nodes": 80, "known": 58, "exact": True, "fits": None}
    assert {name: report[name] for name in expected} == expected
    out = houses.kernode(f"{FIT} --dry-run").out
    assert "exact (58 known numbers)" in out
    assert "memory, at least" in out
    assert not [*houses.folder.glob("*.safetensors")]


def test_files_and_stores_of_numbers_are_fitted(houses):
    for name in ("houses.npz", "store"):
        assert houses.kernode(f"data convert {TABLES} --label price -o {name} -q").status == 0
        assert houses.kernode(f"fit {name} --dry-run --json").json["task"] == "numbers"
        assert houses.kernode(f"fit {name} --json").json["target"] == "price"


def test_numbers_that_are_all_the_same_are_predicted_with_a_warning(houses):
    text = (houses.folder / "nodes.csv").read_text().splitlines()
    cells = [line.split(",") for line in text[1:]]
    houses.table("same.csv", text[0].split(","), [(one[0], one[1], 7, one[3]) for one in cells])
    line = "fit edges.csv --nodes same.csv --label price --set table.task=numbers --json"
    report = houses.kernode(line).json
    assert "all known numbers are the same" in report["warnings"][0]
    assert report["test"]["mae"] == 0


def test_two_known_numbers_are_too_few(houses):
    text = (houses.folder / "nodes.csv").read_text().splitlines()
    cells = [line.split(",") for line in text[1:]]
    few = [(one[0], one[1], one[2] if i in (1, 2) else "", one[3]) for i, one in enumerate(cells)]
    houses.table("few.csv", text[0].split(","), few)
    line = "fit edges.csv --nodes few.csv --label price --set table.task=numbers"
    assert "3 nodes or more" in houses.kernode(line).refusal
