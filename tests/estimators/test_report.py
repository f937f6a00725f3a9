"""Reports of estimators are those that the commands print, and equal loops over the replicas."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import kernode as kn
from graphs import CLUSTERS
from refusals import refused
from tasks import LABELS, SPLIT, fit, link_task, split_of

DATA = "synthetic:nodes=150,classes=3,features=8"
ONLY_COMMANDS = {
    *("deterministic", "seconds_total", "peak_memory_mb", "model", "replaced", "trained_again_on"),
    *("predictions", "notes", "repairs", "warnings"),
}
SECONDS = ("seconds_per_epoch", "seconds_training")


def printed(command, *words):
    status, out, err = command(*words, "--json", "--quiet")
    assert status == 0, err
    return json.loads(out)


def without_seconds(report):
    return {name: value for name, value in report.items() if name not in SECONDS}


@pytest.mark.parametrize("split", [None, "0.5/0.25/0.25", "30/30/30"])
def test_a_fit_on_a_split_reports_what_the_command_prints(command, tmp_path, split):
    options = [] if split is None else ["--split", split]
    words = ["--variant", "k3", "--epochs", "3", "--replicas", "2", "--seed", "5"]
    found = printed(command, "fit", DATA, *words, *options, "-o", tmp_path / "m.safetensors")
    model = kn.NodeKernelClassifier("k3", epochs=3, replicas=2, random_state=5, device="cpu")
    report = model.fit(graph=kn.load(DATA)[0], split=split).report().to_json()
    assert set(found) - set(report) == ONLY_COMMANDS
    expected = json.loads(json.dumps(report))
    assert without_seconds(found) == without_seconds(expected) | {name: found[name] for name in ONLY_COMMANDS}
    read = kn.load_model(tmp_path / "m.safetensors")
    assert np.array_equal(read.predict_proba(range(9)), model.predict_proba(range(9)))


def test_a_fit_on_links_reports_what_the_command_prints(command, tmp_path):
    words = ["--variant", "gae", "--epochs", "3", "--replicas", "2", "-o", tmp_path / "l.safetensors"]
    found = printed(command, "links", DATA, *words)
    model = kn.LinkPredictor("gae", epochs=3, replicas=2, device="cpu").fit(kn.load(DATA)[0])
    expected = json.loads(json.dumps(model.report().to_json()))
    ours = {name: found[name] for name in set(found) - set(expected)}
    assert set(ours) <= ONLY_COMMANDS
    assert without_seconds(found) == without_seconds(expected) | ours
    assert model.evaluate()["auc"] == pytest.approx(expected["test"]["auc_mean"], abs=1e-3)


def test_figures_are_means_over_the_replicas():
    model = kn.NodeKernelClassifier("n1", epochs=4, replicas=3, device="cpu")
    model.fit(graph=CLUSTERS, split="0.2/0.2/0.6")
    splits = model._splits
    assert len({split.test.tobytes() for split in splits}) == 3  # each replica has a split of its own
    ours = model.report()["test"]
    assert ours["accuracy_std"] > 0  # replicas differ, so that a mean is not any of them
    assert ours["accuracy_mean"] == pytest.approx(np.mean(ours["runs"]), abs=1e-3)
    tested = np.stack([split.test for split in splits])
    found = model.model_.on(CLUSTERS).probabilities(tested).argmax(axis=-1)
    counts = np.zeros((3, 3), int)
    for run, split in zip(found, splits, strict=True):
        for node, answer in zip(split.test, run, strict=True):
            counts[CLUSTERS.labels[node], answer] += 1
    assert np.array_equal(ours["confusion"], counts)
    assert ours["accuracy_mean"] == pytest.approx(100 * np.trace(counts) / counts.sum(), abs=1e-3)
    low, high = ours["interval_95"]
    assert low < ours["accuracy_mean"] < high


def test_a_split_is_named_read_or_given(tmp_path):
    splits = [split_of(CLUSTERS, seed) for seed in (0, 1)]
    path = tmp_path / "own.npz"
    np.savez(path, **vars(splits[0]))
    for split, rows in ((splits[0], 1), (path, 1), (splits, 2)):
        model = kn.NodeKernelClassifier("n1", epochs=2, replicas=2, device="cpu")
        model.fit(graph=CLUSTERS, split=split)
        assert np.array_equal(model.model_.train, np.stack([one.train for one in splits[:rows]]))
        assert np.array_equal(model.model_.tested, np.stack([one.test for one in splits[:rows]]))
        assert model.report()["sizes"]["test"] == len(splits[0].test)
    with refused("shape", setting="split"):
        kn.NodeKernelClassifier("n1", replicas=3).fit(graph=CLUSTERS, split=splits)


def test_a_report_without_a_split_needs_nodes():
    model = kn.NodeKernelClassifier("n1", epochs=2, device="cpu")
    model.fit(SPLIT.train, LABELS, graph=CLUSTERS, validation=SPLIT.validation)
    with refused("missing", setting="X"):
        model.report()
    truth = CLUSTERS.labels[SPLIT.test]
    found = model.report(SPLIT.test, truth)
    assert found["accuracy_mean"] == pytest.approx(100 * model.score(SPLIT.test, truth), abs=1e-3)
    whole = clone(model).fit(graph=CLUSTERS, split=SPLIT).report()["test"]
    assert (whole["accuracy_mean"], whole["confusion"]) == (found["accuracy_mean"], found["confusion"])
    with pytest.warns(kn.KernodeWarning, match="optimistic"):
        model.report(SPLIT.train, LABELS)
    with refused("shape"):
        model.report(SPLIT.test, truth[1:])


def test_trained_again_on_all_labels_the_first_stays_as_it_was():
    model = kn.NodeKernelClassifier("n1", epochs=3, device="cpu").fit(graph=CLUSTERS, split=SPLIT)
    before = model.predict_proba(SPLIT.test)
    assert model.has_unused_labels
    final = model.refit()
    assert not final.has_unused_labels
    assert final.model_.train.shape == (1, 120)
    assert np.array_equal(model.predict_proba(SPLIT.test), before)
    assert final.model_.training.epochs == max(1, int(model.model_.kept_epochs[0]))


def test_few_labels_all_train_and_nothing_is_tested():
    labels = np.where(np.arange(120) < 15, CLUSTERS.labels, -1)
    few = replace(CLUSTERS, labels=labels)
    with pytest.warns(kn.KernodeWarning, match="too few to keep some for a test"):
        model = kn.NodeKernelClassifier("n1", epochs=3, device="cpu").fit(graph=few)
    assert model.model_.train.shape == (1, 15)
    assert "no node was kept for a test" in str(model.report())


def test_all_labels_of_one_class_need_the_softmax_loss():
    one = replace(CLUSTERS, labels=np.zeros(120, int), class_names=("a",))
    with refused("too-few", setting="loss"):
        kn.NodeKernelClassifier("k3", epochs=1).fit(graph=one, split="0.5/0.25/0.25")


# links


def test_replicas_share_the_split_of_the_first_seed():
    settings = {"epochs": 3, "replicas": 2, "training": {"precision": 64}, "device": "cpu"}
    model = kn.LinkPredictor("gae", random_state=4, **settings).fit(CLUSTERS)
    split = kn.split_edges(CLUSTERS, 4)
    assert np.array_equal(model.split_.validation, split.validation)
    assert (model.model_.split_seed, model.model_.seeds) == (4, (4, 5))
    ((method, training),) = model.methods().values()
    alone = fit(link_task(seeds=(5,), split=split), method, training)
    both = model._on().logits(split.test)
    assert np.abs(both[1] - alone.logits(split.test)[0]).max() < 1e-8
    assert len(model.report()["test"]["runs"]) == 2


@pytest.mark.parametrize(("seed", "form", "rate"), [
    (0, "graph", 0.001021), (1, "graph", 0.01), (0, "split", 0.01), (0, "pairs", 0.01),
])  # fmt: skip
def test_searched_settings_of_links_are_used_on_the_split_of_the_search_alone(cora, seed, form, rate):
    split, data = kn.split_edges(cora[0], seed), {"X": cora[0]}
    if form != "graph":
        data = {"X": split} if form == "split" else {"X": split.test, "graph": cora[0]}
    model = kn.LinkPredictor("kernel-tuned", epochs=1, random_state=seed).fit(**data)
    assert model.model_.training.learning_rate == rate


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kernel", "gae", "vgae"])
def test_every_variant_learns_coras_links(name, cora):
    model = kn.LinkPredictor(name, epochs=100, device="cpu").fit(cora[0])
    report, split = model.report(), model.split_
    assert (report["dataset"], report["variant"], report["epochs"]) == ("cora", name, 100)
    assert report["test"]["auc_mean"] > 84
    for part in ("test", "validation"):
        (run,) = model._on().evaluate(getattr(split, part), getattr(split, f"{part}_negatives"))
        for figure in ("auc", "ap", "hits_at_50", "mrr"):
            assert report[part]["runs"][0][figure] == pytest.approx(run[figure], abs=1e-3)


def test_classes_may_be_given_by_the_graphs_names_or_numbers_and_no_others():
    graph, split = kn.load(DATA, split="0.5/0.25/0.25")
    names = np.array(graph.class_names)
    for y, other in ((names[graph.labels], graph.labels), (graph.labels, names[graph.labels])):
        model = kn.NodeKernelClassifier("n1", epochs=3)
        model.fit(
            split.train, y[split.train], graph=graph, validation=(split.validation, y[split.validation])
        )
        assert model.score(split.test, y[split.test]) == model.score(split.test, other[split.test])
        reports = [model.report(split.test, one[split.test])["runs"] for one in (y, other)]
        assert reports[0] == reports[1]
        assert model.refit().model_.train.shape[1] == graph.n_nodes
        strange = [9] if isinstance(y[0], str) else ["tea"]
        with refused("unknown", what="class", setting="y", name=strange[0]):
            model.score(split.test[:2], [other[0].item(), *strange])


LONG = "a class with a name of more than twenty-two characters"


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_text_of_a_report_has_its_figures(replicas):
    names = ("short", LONG, "another")
    graph = replace(CLUSTERS, class_names=names)
    model = kn.NodeKernelClassifier("k3", epochs=3, replicas=replicas, device="cpu").fit(
        graph=graph, split=SPLIT
    )
    report = model.report()
    test, lines = report["test"], str(report).splitlines()
    together = f"(all replicas together: {test['ensemble_accuracy'] or 0:.2f} %)"
    assert any(together in line for line in lines) == (replicas == 2)
    (similar,) = (line for line in lines if line.startswith("similar nodes"))
    assert f"{test['similarity']['map']:.2f}" in similar
    assert ("±" in similar) == (replicas == 2)
    shown = {"short": "short", LONG: f"{LONG[:21]}…", "another": "another"}
    for i, one in enumerate(test["classes"]):
        (line,) = (line for line in lines if line.startswith(f"{shown[one['class']]} "))
        counts = dict(zip(names, test["confusion"][i], strict=True))
        wrong = {other: count for other, count in counts.items() if other != one["class"]}
        if any(wrong.values()):
            assert line.split()[-1] in {
                word.split()[-1]
                for other, count in wrong.items()
                if count == max(wrong.values())
                for word in (other, f"{shown[other][:17]}…")
            }
    seconds = model.model_.seconds / len(model.history_["loss"])
    assert report["seconds_per_epoch"] == pytest.approx(seconds, abs=1e-5)


@pytest.mark.parametrize(("split", "overlap"), [("0.5/0.25/0.25", True), (SPLIT, False)])
def test_a_choice_over_splits_that_overlap_says_so(split, overlap):
    model = kn.NodeKernelClassifier(epochs=2, replicas=2, device="cpu").fit(graph=CLUSTERS, split=split)
    text = str(model.report())
    assert ("chosen once for all replicas; their validation and test nodes overlap" in text) == overlap
