"""``kernode predict``: a saved model's classes, on its graph and on others."""

import csv
import json

import numpy as np
import pytest
from pyarrow import parquet

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.io import read_npz, write_npz

QUICK = ("--epochs", "8", "--set", "loss.triplets=200", "--replicas", "2")


@pytest.mark.parametrize("extension", ["csv", "json", "parquet"])
def test_predict_writes_node_class_and_probabilities(kernode, extension):
    kernode("fit", "cora", "--variant", "n1", "--epochs", 2, "--replicas", 2, "-o", "m.safetensors")
    status, out, _ = kernode("predict", "m.safetensors", "-o", f"p.{extension}", "--json")
    assert status == 0
    assert json.loads(out)["nodes"] == 2708
    path = kernode.folder / f"p.{extension}"
    if extension == "csv":
        rows = [*csv.DictReader(path.read_text().splitlines())]
    else:
        rows = json.loads(path.read_text()) if extension == "json" else parquet.read_table(path).to_pylist()
    model = kn.load_model("m.safetensors")
    graph, _ = kn.load("cora")
    proba = model.predict_proba(graph.node_names)
    assert [str(row["node"]) for row in rows] == graph.node_names.tolist()
    assert [row["class"] for row in rows] == model.predict(graph.node_names).tolist()
    assert [row["known"] for row in rows] == [graph.class_names[label] for label in graph.labels]
    assert list(rows[0])[:4] == ["node", "class", "known", f"p_{graph.class_names[0]}"]
    written = np.array([[float(row[f"p_{name}"]) for name in graph.class_names] for row in rows])
    assert np.allclose(written, proba, atol=1e-6)


def test_predict_on_own_graph_goes_to_stdout(kernode, graph_file):
    kernode("fit", graph_file, *QUICK, "--variant", "k3", "-o", "clusters.safetensors")
    status, out, _ = kernode("predict", "clusters.safetensors", "--graph", graph_file)
    assert status == 0
    assert out.splitlines()[0] == "node,class,known,p_0,p_1,p_2"
    assert len(out.splitlines()) == 91


def test_model_takes_another_graph_and_refuses_other_columns(kernode, graph_file, tmp_path):
    kernode("fit", graph_file, *QUICK, "--variant", "k3", "-o", "clusters.safetensors")
    other = tmp_path / "other.npz"
    write_npz(clustered_graph(n=70, seed=5), other)
    assert kernode("predict", "clusters.safetensors", "--graph", other)[0] == 0
    write_npz(clustered_graph(n=90, features=9), other)
    result = kernode("predict", "clusters.safetensors", "--graph", other, "-o", "p.csv")
    fails(result, 2)
    fails(kernode("predict", "clusters.safetensors"), 2, "'clusters'")
    arriving = ("--graph", graph_file, "--new-edges", "edges.csv")
    fails(kernode("predict", "clusters.safetensors", *arriving), 2, "was not read from tables")
    fails(
        kernode("predict", "clusters.safetensors", "--graph", graph_file, "-o", "p.xls"),
        2,
        ".csv, .parquet, .json",
    )
    assert sorted(file.name for file in kernode.folder.iterdir()) == ["clusters.safetensors"]


def test_damaged_model_is_one_sentence(kernode, graph_file):
    kernode("fit", graph_file, *QUICK, "--variant", "k3", "-o", "clusters.safetensors")
    path = kernode.folder / "clusters.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    fails(kernode("predict", path, "--graph", graph_file), 1, "damaged")
    fails(kernode("predict", "none.safetensors"), 1, "does not exist")


def test_abstaining_leaves_the_class_empty_and_the_most_probable_readable(kernode, graph_file):
    kernode("fit", graph_file, *QUICK, "--variant", "k3", "-o", "m.safetensors")
    plain = json.loads(kernode("predict", "m.safetensors", "--graph", graph_file, "--json")[1])
    assert (plain["abstain"], plain["answered"], plain["coverage"]) == (None, 90, 100.0)
    assert plain["calibrated_on"] > 10
    highest = [max(row[f"p_{name}"] for name in "012") for row in plain["predictions"]]
    threshold = sorted(highest)[45]  # which is high enough itself
    words = ("predict", "m.safetensors", "--graph", graph_file, "--abstain", threshold)
    facts = json.loads(kernode(*words, "--json")[1])
    rows, answered = facts["predictions"], [one >= threshold for one in highest]
    assert 0 < sum(answered) < 90
    before = [row["class"] for row in plain["predictions"]]
    assert [row["most_probable"] for row in rows] == before
    kept = [one if sure else None for one, sure in zip(before, answered, strict=True)]
    assert [row["class"] for row in rows] == kept
    assert (facts["answered"], sum(facts["classes"].values())) == (sum(answered), sum(answered))
    assert facts["coverage"] == pytest.approx(100 * sum(answered) / 90, abs=1e-3)
    sentence = f"{sum(answered)} of 90 nodes"
    assert sentence in kernode(*words, "-o", "p.csv")[1]
    written = csv.DictReader((kernode.folder / "p.csv").read_text().splitlines())
    assert [row["class"] or None for row in written] == kept
    assert sentence in kernode(*words)[2]
    assert sentence not in "".join(kernode(*words, "--quiet")[1:])


def test_a_parquet_column_without_any_class_is_text(kernode, graph_file):
    kernode("fit", graph_file, *QUICK, "--variant", "k3", "-o", "m.safetensors")
    kernode("predict", "m.safetensors", "--graph", graph_file, "--abstain", 1, "-o", "p.parquet")
    table = parquet.read_table(kernode.folder / "p.parquet")
    assert table["class"].null_count == 90
    assert table["class"].type == table["known"].type == table["most_probable"].type


@pytest.mark.parametrize("threshold", [0, 1.5, -1, "nan"])
def test_a_threshold_outside_of_probabilities_is_refused(kernode, threshold):
    fails(kernode("predict", "none.safetensors", "--abstain", threshold), 2, "--abstain")


@pytest.mark.parametrize("extension", ["csv", "json", "parquet"])
def test_with_a_coverage_each_row_has_the_set_of_predict_set(kernode, graph_file, extension):
    kernode("fit", graph_file, *QUICK, "--variant", "k3", "-o", "m.safetensors")
    words = ("predict", "m.safetensors", "--graph", graph_file, "--coverage", 0.8, "-o", f"p.{extension}")
    status, out, _ = kernode(*words, "--json")
    assert status == 0
    path = kernode.folder / f"p.{extension}"
    if extension == "csv":
        rows = [*csv.DictReader(path.read_text().splitlines())]
        sets = [json.loads(row["set"]) for row in rows]
    else:
        rows = json.loads(path.read_text()) if extension == "json" else parquet.read_table(path).to_pylist()
        sets = [row["set"] for row in rows]
    assert [*rows[0]] == ["node", "class", "known", "set", "p_0", "p_1", "p_2"]
    expected = kn.load_model("m.safetensors", graph=read_npz(graph_file)).predict_set(range(90), 0.8)
    assert sets == expected
    sizes = [*map(len, expected)]
    single = round(100 * sizes.count(1) / 90, 4)
    assert json.loads(out)["sets"] == {
        "coverage": 80.0,
        "mean_size": round(sum(sizes) / 90, 4),
        "single": single,
    }
    said = f"sets at --coverage 0.8: {sum(sizes) / 90:.2f} classes each, {single:.1f} % of one class"
    assert said in kernode(*words)[1]


@pytest.mark.parametrize("words", [("--rank", "a"), ("--doubtful-labels",)])
def test_a_list_without_classes_refuses_sets(kernode, graph_file, words):
    kernode("fit", graph_file, *QUICK, "--variant", "k3", "-o", "m.safetensors")
    fails(
        kernode("predict", "m.safetensors", "--graph", graph_file, "--coverage", 0.9, *words), 2, "--coverage"
    )


@pytest.mark.parametrize("coverage", [0, 1, 90, "nan"])
def test_a_coverage_that_is_no_share_is_refused_before_a_file_is_read(kernode, coverage):
    fails(kernode("predict", "none.safetensors", "--coverage", coverage), 2, "--coverage", "such as 0.9")
