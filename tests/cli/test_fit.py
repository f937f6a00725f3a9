"""``kernode fit`` as a user meets it: real files, the real entry point, real processes where it matters."""

import json
import re

import numpy as np
import pytest

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode import storage
from kernode.io import split_nodes, write_npz
from kernode.tasks.classes.model import NodeModel
from tasks import short_sum

GRAPH = clustered_graph(n=90)
QUICK = ("--epochs", "8", "--set", "loss.triplets=200", "--replicas", "2")


def test_fit_prints_one_json_object_and_nothing_else(kernode, graph_file):
    status, out, err = kernode("fit", graph_file, "--variant", "k3-tuned", *QUICK, "--seed", 3, "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    expected = {
        "dataset": "clusters", "variant": "k3-tuned", "split": "jk", "replicas": 2, "seed": 3,
        "device": "cpu", "epochs": 8, "model": "clusters-k3-tuned.safetensors",
    }  # fmt: skip
    assert {name: report[name] for name in expected} == expected
    for part in ("test", "validation"):
        values = report[part]
        assert values["accuracy_mean"] == pytest.approx(np.mean(values["runs"]), abs=1e-3)
        assert values["accuracy_std"] == pytest.approx(np.std(values["runs"], ddof=1), abs=1e-3)
        assert len(values["runs"]) == 2
        assert values["ensemble_accuracy"] is None  # the replicas have their own splits
    assert len(report["hop_weights"]) == 3
    assert report["seconds_total"] > report["seconds_per_epoch"] > 0
    assert report["peak_memory_mb"] > 100


def test_fit_tells_a_person_what_happened_and_what_to_try_next(kernode, graph_file):
    status, out, _ = kernode("fit", graph_file, "--variant", "fast", *QUICK)
    assert status == 0
    chosen = NodeModel.load("clusters-fast.safetensors")
    assert f"clusters · {chosen.variant} · split jk (54 / 18 / 18) · 2 replicas, seeds 0-1" in out
    assert "chosen once for all replicas; their validation and test nodes overlap" in out
    tried = dict(chosen.chosen_by_validation)
    assert (
        f"chosen by validation {chosen.variant}, accuracy {tried.pop(chosen.variant):.2f} % after 8 epochs\n"
        in out
    )
    others = ", ".join(f"{name} {figure:.2f} % after 8" for name, figure in tried.items())
    assert f"{' ' * 23}not: {others}\n" in out
    assert "test accuracy" in out
    assert "±" in out
    assert f"kernode predict clusters-fast.safetensors --graph {graph_file} -o predictions.csv" in out
    assert (kernode.folder / "clusters-fast.safetensors").is_file()


def test_fit_lists_the_members_of_the_sum_with_weights_that_sum_to_one(kernode, graph_file):
    _, out, _ = kernode("fit", graph_file, *QUICK)
    model = NodeModel.load("clusters.safetensors")
    weights = {one.name: one.weight for one in model.method.members}
    assert sum(weights.values()) == pytest.approx(1)
    used, _, others = out.partition("sum of kernels")[2].partition("chosen once")[0].partition("not used: ")
    shown = {row.split()[1]: row.split()[0] for row in used.splitlines()[1:] if row.strip()}
    assert shown == {name: f"{weight:.2f}" for name, weight in weights.items()}
    assert {*weights} | {one.split()[0] for one in others.split(",")} == {*model.chosen_by_validation}


def test_report_is_what_the_saved_model_gives(kernode):
    """Every figure of the report, recomputed from the file."""
    _, out, _ = kernode("fit", "cora", "--variant", "n1", "--epochs", 20, "--replicas", 3, "--json")
    report = json.loads(out)
    graph, split = kn.load("cora")
    answers = NodeModel.load("cora-n1.safetensors").on(graph)
    for part in ("test", "validation"):
        nodes = getattr(split, part)
        by_run = answers.probabilities(nodes)
        runs = 100 * (by_run.argmax(axis=-1) == graph.labels[nodes]).mean(axis=-1)
        together = 100 * (by_run.mean(axis=0).argmax(axis=-1) == graph.labels[nodes]).mean()
        assert np.allclose(report[part]["runs"], runs, atol=1e-3)
        assert report[part]["ensemble_accuracy"] == pytest.approx(together, abs=1e-3)
    assert report["test"] != report["validation"]


def test_runs_with_their_own_splits_are_scored_on_their_own_nodes(kernode, graph_file):
    _, out, _ = kernode("fit", graph_file, *QUICK, "--json")
    answers = NodeModel.load("clusters.safetensors").on(GRAPH)
    splits = split_nodes(GRAPH, "jk", [0, 1])
    for i, run in enumerate(json.loads(out)["test"]["runs"]):
        found = answers.probabilities(splits[i].test)[i].argmax(axis=-1)
        assert run == pytest.approx(100 * (found == GRAPH.labels[splits[i].test]).mean(), abs=1e-3)


def slow_similarity(gram, labels):
    """Mean average precision and precision at 10 of one Gram matrix, in percent, by a loop over queries."""
    figures = []
    for query, label in enumerate(labels):
        order = np.argsort(-gram[query], kind="stable")
        hits = (labels == label)[order[order != query]]
        if hits.any():
            precision = hits.cumsum() / np.arange(1, len(hits) + 1)
            figures.append((precision[hits].mean(), hits[:10].mean()))
    return 100 * np.mean(figures, axis=0)


@pytest.mark.parametrize("options", [("--split", "jk"), ("--variant", "k1", "--set", "map.hidden=8")])
def test_similar_nodes_are_those_of_the_gram_matrix_of_every_run(kernode, graph_file, options):
    """Fresh splits: each run is asked about its own test nodes."""
    more = (*QUICK, *options, "--set", "run.precision=64", "-o", "m.safetensors", "--json")
    found = json.loads(kernode("fit", graph_file, *more)[1])["test"]["similarity"]
    on = NodeModel.load("m.safetensors").on(GRAPH)
    for i, split in enumerate(split_nodes(GRAPH, "jk", [0, 1])):
        gram = on.of_replicas([i]).kernel.gram(split.test)
        expected = slow_similarity(gram.astype(np.float32), GRAPH.labels[split.test])
        assert list(found["runs"][i].values()) == pytest.approx(expected, abs=1e-4)
    for name in ("map", "precision_at_10"):
        runs = [run[name] for run in found["runs"]]
        assert found[name] == pytest.approx(np.mean(runs), abs=1e-3)
        assert found[f"{name}_std"] == pytest.approx(np.std(runs, ddof=1), abs=1e-3)


def settings_in(part):
    """Every setting of a part and of the parts within, by name; a part's kind under its own name."""
    for name, value in part.items():
        yield name, value["kind"] if isinstance(value, dict) else value
        if isinstance(value, dict):
            yield from settings_in(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "stored"),
    [
        ("map.powers=released", ("powers", "released")),
        ("map.hidden=8,4", ("hidden", [8, 4])),
        ("map.layers=1", ("hidden", [])),
        ("training.weight_decay=0.1", ("weight_decay", 0.1)),
        ("training.select_by=map", ("select_by", "map")),
        ("loss.kernel_loss=squared", ("kernel", "Squared")),
        ("loss.objective=softmax", ("loss", "Softmax")),
        ("loss.class_weights=balanced", ("class_weights", "balanced")),
        ("kernel=rbf(0.25)", ("gamma", 0.25)),
        ("map=gcn", ("map", "GCN")),
    ],
)
def test_every_option_reaches_the_model(kernode, graph_file, option, stored):
    quick = QUICK[:2] if "softmax" in option else QUICK  # softmax has no triplets
    words = ("--variant", "fast", *quick, "--set", option, "--quiet", "-o", "m.safetensors")
    result = kernode("fit", graph_file, *words)
    assert result[0] == 0, result[2]
    facts = storage.read_tensors("m.safetensors", "model")[1]
    assert stored in list(settings_in({"training": facts["training"], "method": facts["method"]}))


def test_a_weight_without_a_term_is_not_reported(kernode, graph_file):
    fit = (
        "fit",
        graph_file,
        "--variant",
        "k3",
        *QUICK,
        "--set",
        "map.hops=3",
        "--set",
        "map.powers=released",
        "--quiet",
    )
    weights = json.loads(kernode(*fit, "--json")[1])["hop_weights"]
    assert [weight is None for weight in weights] == [False, True, True, False]
    assert "–: no such term" in kernode(*fit)[1]


def test_labels_of_other_nodes_never_shape_the_model(kernode, tmp_path):
    """A test node in a class of its own: the same file, byte for byte."""
    split = split_nodes(GRAPH, "jk", [0])[0]
    files = []
    for name, label in (("a", GRAPH.labels[split.test[0]]), ("b", 3)):
        labels = GRAPH.labels.copy()
        labels[split.test[0]] = label
        write_npz(kn.Graph(GRAPH.adjacency, GRAPH.features, labels, name="g"), tmp_path / f"{name}.npz")
        more = (*QUICK, "--replicas", 1, "--quiet", "-o", f"{name}.safetensors")
        assert kernode("fit", tmp_path / f"{name}.npz", *more)[0] == 0
        tensors, facts = storage.read_tensors(f"{name}.safetensors", "model")
        files.append(({k: v.tolist() for k, v in tensors.items()}, facts["classes"]))
    assert files[0] == files[1]


def test_own_file_named_like_a_data_set_is_not_taken_for_it(kernode, tmp_path):
    write_npz(GRAPH, tmp_path / "cora.npz")
    fit = ("fit", tmp_path / "cora.npz", "--variant", "k1", "--set", "map.hidden=8", "--replicas", 1)
    report = json.loads(kernode(*fit, "--json")[1])
    assert (report["epochs"], report["split"]) == (100, "jk")  # not the paper's 10 on Cora


def test_nan_feature_names_file_node_and_column(kernode):
    features, coo = np.array(GRAPH.features), GRAPH.adjacency.tocsr()
    features[7, 3] = np.nan
    of_adjacency = {"adj_data": coo.data, "adj_indices": coo.indices, "adj_indptr": coo.indptr}
    np.savez("bad.npz", **of_adjacency, adj_shape=coo.shape, attr_matrix=features, labels=GRAPH.labels)
    fails(kernode("fit", "bad.npz"), 2, "bad.npz", "node 7", "column 3")
    assert [file.name for file in kernode.folder.iterdir()] == ["bad.npz"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--split 80/20/20", "120"),
        ("--split 0.9/0.9/0.9", "0.9/0.9/0.9"),
        ("--split middle", "middle"),
        ("--set map.hops=-1", "--set map.hops="),
        ("--set map.hidden=16,,4", "16,,4"),
        ("--set map.hop_weights=nan", "--set map.hop_weights="),
        ("--set run.threads=0", "--set run.threads="),
        ("--set run.device=cuda", "CUDA"),
        ("--set training.patience=3 --set training.selection=last", "--set training.patience="),
        ("--set run.checkpoint_every=0 --checkpoint c", "--set run.checkpoint_every="),
        ("--variant k7", "'k7'"),
        ("--variant n1 --set loss.margin=0.3", "--set loss.margin="),  # no such part
        ("--variant gat --set training.dropout=0.2", "--set training.dropout="),
        ("--replicas 0", "--replicas"),
        ("--seed -1", "--seed"),
        ("--seed 99999999999999999999", "--seed"),
        ("--resume", "--resume, --checkpoint"),
    ],
)
def test_wrong_options_are_one_sentence_and_leave_no_file(kernode, graph_file, options, words):
    fails(kernode("fit", graph_file, *options.split()), 2, words)
    assert not any(kernode.folder.iterdir())


def test_a_graph_that_cannot_fit_is_refused_before_it_is_made(kernode):
    huge = "synthetic:nodes=2000000000,degree=20"
    fails(kernode("fit", huge, "--set", "run.device=cpu"), 2, "GB of memory")
    assert not any(kernode.folder.iterdir())


def test_loss_that_is_no_number_is_a_warning_or_an_end(kernode, graph_file):
    more = ("--variant", "k3-tuned", "--epochs", 5, "--replicas", 1, "--set")
    high = "training.learning_rate=1e30"
    fails(kernode("fit", graph_file, *more, high), 1, "training diverged at epoch")
    last = ("--set", "training.selection=last")
    fails(kernode("fit", graph_file, *more, high, *last), 1, "training diverged at epoch")
    assert not any(kernode.folder.iterdir())
    # Its first epoch is still good; later ones overflow where dropout scales what it keeps.
    status, _, err = kernode(
        "fit", graph_file, *more, "training.learning_rate=2.5e12", "--set", "training.dropout=0.98"
    )
    assert status == 0
    assert "warning: the loss was not finite from epoch" in err


def test_out_that_cannot_be_written_is_said_before_training(kernode, graph_file):
    (kernode.folder / "taken").mkdir()
    fails(kernode("fit", graph_file, "-o", "taken"), 2, "taken is a folder")
    (kernode.folder / "file").touch()
    fails(kernode("fit", graph_file, "-o", "file/model.safetensors"), 2, "file is not a folder")


def test_resume_gives_the_same_model_as_one_run(kernode, graph_file):
    more = ("--set", "loss.triplets=200", "--replicas", 2, "--quiet")
    kernode("fit", graph_file, *more, "--epochs", 12, "-o", "whole.safetensors")
    saving = ("--checkpoint", "c.safetensors", "--set", "run.checkpoint_every=2")
    kernode("fit", graph_file, *more, "--epochs", 6, *saving, "-o", "half.safetensors")
    status, *_ = kernode(
        "fit", graph_file, *more, "--epochs", 12, *saving, "--resume", "-o", "two.safetensors"
    )
    assert status == 0
    files = [kernode.folder / f"{name}.safetensors" for name in ("whole", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_model_that_is_replaced_is_said(kernode, graph_file):
    """Another method's model of the same data has the same name unless one is given."""
    first = kernode("fit", graph_file, *QUICK)[1]
    second = kernode("fit", graph_file, *QUICK, "--set", "map=gat")[1]
    assert "which replaced" not in first
    assert "clusters.safetensors, which replaced a file of that name" in second


def test_a_model_is_no_graph(kernode, graph_file):
    words = ("--variant", "n1", "--epochs", "1", "--replicas", "1", "-o", "m.safetensors", "--quiet")
    assert kernode("fit", graph_file, *words)[0] == 0
    for name in ("fit", "links", "tune"):
        fails(kernode(name, "m.safetensors"), 2, "m.safetensors is a model")


@pytest.mark.parametrize("option", ["", "--quiet", "--json"])
def test_a_sum_shows_its_first_answer_unless_it_is_to_be_quiet(kernode, graph_file, monkeypatch, option):
    short_sum(monkeypatch)
    status, _, err = kernode("fit", graph_file, "--replicas", "1", *option.split())
    assert status == 0
    shown = re.findall(
        r"instant: [0-9.]+ % accuracy on validation nodes after [0-9.]+ s; training 1 more members\n", err
    )
    assert len(shown) == (not option)
