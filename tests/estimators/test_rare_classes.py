"""A rare class: the score that chooses, the threshold that decides, and the figures that say how well."""

import json
from dataclasses import replace

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

import kernode as kn
from commands import fails
from graphs import CLUSTERS, rare_graph
from kernode.io import write_npz
from kernode.models.fit import fit_candidates
from kernode.tasks.classes.calibration import Calibration, Tempering
from kernode.tasks.classes.evaluation import calibration_report
from kernode.tasks.classes.sum import fit_sum, greedy_counts
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.classes.threshold import best_threshold
from refusals import refused
from tasks import SPLIT, split_of

RARE = rare_graph()
PARTS = split_of(RARE)
VALIDATION, TEST = kn.positions(PARTS.validation), kn.positions(PARTS.test)
FRAUD = RARE.labels == 1
SCORES = {
    "average_precision": lambda y, p: sk.average_precision_score(y, p[:, 1]),
    "roc_auc": lambda y, p: sk.roc_auc_score(y, p[:, 1]),
    "f1": lambda y, p: sk.f1_score(y, p.argmax(axis=1)),
    "f1_macro": lambda y, p: sk.f1_score(y, p.argmax(axis=1), average="macro"),
    "balanced_accuracy": lambda y, p: sk.balanced_accuracy_score(y, p.argmax(axis=1)),
    "neg_log_loss": lambda y, p: -sk.log_loss(y, p),
}


def fitted(scoring=None, graph=RARE, split=PARTS, variant="hops-standardized", **more):
    usual = {"epochs": 25, "loss": {"triplets": 300}, "device": "cpu"}
    model = kn.NodeKernelClassifier(variant, scoring=scoring, **usual | more)
    return model.fit(graph=graph, split=split)


@pytest.fixture(scope="module")
def by_recall():
    return fitted(replicas=2, threshold="recall=0.8")


@pytest.mark.parametrize("scoring", SCORES)
def test_the_kept_epoch_of_each_replica_has_the_best_score_of_scikit_learn(scoring):
    model = fitted(scoring, replicas=2)
    by_epoch, kept = model.history_[f"validation_{scoring}"], model.model_.kept_epochs
    for i, p in enumerate(model.model_.on(RARE).probabilities(VALIDATION)):
        p = p.astype(float)
        found = 100 * SCORES[scoring](FRAUD[VALIDATION].astype(int), p / p.sum(axis=1, keepdims=True))
        assert found == pytest.approx(by_epoch[kept[i] - 1, i]) == pytest.approx(by_epoch[:, i].max())


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision"])
def test_of_several_classes_each_is_scored_against_the_rest(scoring):
    model = fitted(scoring, CLUSTERS, SPLIT)
    (p,) = model.model_.on(CLUSTERS).probabilities(SPLIT.validation)
    function = {"roc_auc": sk.roc_auc_score, "average_precision": sk.average_precision_score}[scoring]
    is_class = CLUSTERS.labels[SPLIT.validation][:, None] == np.arange(3)
    expected = 100 * np.mean([function(is_class[:, k], p[:, k]) for k in range(3)])
    assert model.model_.validated(scoring) == pytest.approx(expected)


def test_the_positive_class_is_1_or_else_the_rarer_one():
    def score(names):
        graph = rare_graph(names=names)
        return fitted("average_precision", graph, epochs=2).model_.validated("average_precision")

    assert score(("a", "b")) == score(("z", "b")) == score(("0", "1"))
    assert score(("1", "0")) > 85  # then nearly every node is positive


def test_members_and_weights_of_the_default_are_chosen_by_the_score():
    members = kn.NodeKernelClassifier(scoring="average_precision").methods(RARE)
    short = {
        name: (members[name][0], replace(members[name][1], epochs=epochs, patience=None))
        for name, epochs in {"instant": 0, "linear": 0, "structure": 30, "hops": 30}.items()
    }
    task = NodeTask.of_splits(RARE, [PARTS], kn.NodeKernelClassifier(device="cpu")._run())

    def average_precision(on):
        p = on.probabilities(VALIDATION)[0, :, 1]
        return pytest.approx(100 * sk.average_precision_score(FRAUD[VALIDATION], p), abs=1e-3)

    on = fit_sum(task, short)
    alone = {name: fit_candidates(task, {name: pair}) for name, pair in short.items()}
    assert on.model.chosen_by_validation == {name: average_precision(one) for name, one in alone.items()}
    assert "(validation average precision)" in str(on.model)
    calibrated = np.stack(
        [one.model.calibration.together(one.probabilities(VALIDATION)) for one in alone.values()]
    )

    def score(p, truth):
        return np.array([100 * SCORES["average_precision"](truth[0] == 1, one) for one in p])

    portable, truth = np.array([True, True, False, True]), FRAUD[None, VALIDATION].astype(int)
    by_score, by_loss = (greedy_counts(calibrated, truth, portable, one) for one in (score, None))
    weights = {one.name: one.weight for one in on.model.method.members}
    assert [weights.get(name, 0) for name in alone] == pytest.approx(by_score / by_score.sum())
    better, worse = (
        score(np.tensordot(one / one.sum(), calibrated, 1), truth) for one in (by_score, by_loss)
    )
    assert better > worse


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_greedy_selection_by_a_score_is_the_slow_and_obvious_one(seed):
    draw = np.random.default_rng(seed)
    found, truth = draw.dirichlet([1, 1], size=(3, 1, 30)), np.arange(30)[None] % 2

    def score(p, truth):
        return np.array([sk.roc_auc_score(truth[0], one[:, 1]) for one in p])

    taken, best = [], (-np.inf, [])
    for _ in range(25):
        sums = [score(np.mean([found[m] for m in [*taken, one]], axis=0), truth)[0] for one in range(3)]
        taken = [*taken, int(np.argmax(sums))]
        if max(sums) > best[0] + 1e-9:
            best = max(sums), taken
    assert greedy_counts(found, truth, score=score).tolist() == np.bincount(best[1], minlength=3).tolist()


def test_a_score_that_cannot_choose_is_refused_before_training():
    class Begins(kn.Callback):
        def on_fit_begin(self, loop):
            raise AssertionError

    for scoring, *data in (("f1", CLUSTERS, SPLIT), ("f1_samples",), ("loss",), ("neg_max_error",)):
        with refused("setting", kn.InputError, setting="scoring"):
            fitted(scoring, *data, callbacks=[Begins()])
    honest = PARTS.validation[~FRAUD[PARTS.validation]]
    for variant, scoring in (("k3", "roc_auc"), ("auto", "average_precision")):
        with refused("setting", kn.InputError, setting="scoring"):
            fitted(scoring, RARE, kn.Split(PARTS.train, honest, PARTS.test), variant, callbacks=[Begins()])
    with refused("setting", kn.InputError, setting="select_by"):
        kn.Training(select_by="loss")


@given(st.integers(0, 10_000), st.sampled_from(["f1", "recall=0.7", "recall=1", "cost=1:10", "cost=3:1"]))
@settings(max_examples=60, deadline=None)
def test_the_threshold_is_the_best_of_all(seed, rule):
    draw = np.random.default_rng(seed)
    p, y = draw.integers(0, 12, 30) / 12, draw.random(30) < 0.3
    y[0] = True

    def gain(threshold):
        taken = p >= threshold
        if rule == "f1":
            return sk.f1_score(y, taken, zero_division=0)
        if rule.startswith("recall"):
            enough = sk.recall_score(y, taken) >= float(rule[7:])
            return sk.precision_score(y, taken, zero_division=0) if enough else -1
        alarm, miss = map(float, rule[5:].split(":"))
        return -(alarm * (taken & ~y).sum() + miss * (y & ~taken).sum())

    found = best_threshold(rule, p, y)
    assert gain(found) == pytest.approx(max(map(gain, [*np.unique(p), 1.1])))


def test_predict_score_and_report_follow_the_threshold(by_recall):
    model, threshold = by_recall, by_recall.model_.threshold
    assert (threshold.rule, model.classes_[threshold.positive]) == ("recall=0.8", "fraud")
    taken = model.predict_proba(TEST)[:, 1] >= threshold.value
    assert (model.predict(TEST) == np.where(taken, "fraud", "honest")).all()
    assert taken.tolist() != (model.predict_proba(TEST)[:, 1] > 0.5).tolist()
    names = np.array(RARE.class_names)[RARE.labels]
    assert model.score(TEST, names[TEST]) == (taken == FRAUD[TEST]).mean()
    validated = model.predict(VALIDATION) == "fraud"
    assert sk.recall_score(FRAUD[VALIDATION], validated) >= 0.8
    said = model.report()["test"]["threshold"]
    assert said["precision"] == pytest.approx(100 * sk.precision_score(FRAUD[TEST], taken), abs=1e-3)
    assert said["recall"] == pytest.approx(100 * sk.recall_score(FRAUD[TEST], taken), abs=1e-3)
    assert (said["taken"], said["of"]) == (taken.sum(), len(TEST))
    with refused("conflict", setting="abstain"):
        model.predict(TEST, abstain=0.9)


def test_the_threshold_stays_in_the_file_and_in_a_model_of_all_labels(by_recall, tmp_path):
    again = kn.load_model(by_recall.save(tmp_path / "m.safetensors"), graph=RARE)
    assert again.model_.threshold == by_recall.model_.threshold
    assert (again.predict(TEST) == by_recall.predict(TEST)).all()
    assert by_recall.refit().model_.threshold == by_recall.model_.threshold


def test_without_validation_nodes_folds_choose_the_threshold():
    model = kn.NodeKernelClassifier("n1", epochs=5, device="cpu", threshold="cost=1:20")
    model.fit(PARTS.train, RARE.labels[PARTS.train], graph=RARE)
    assert 0 < model.model_.threshold.value < 0.5


def test_a_threshold_that_cannot_be_is_refused():
    for rule in ("f2", "recall=2", "recall=", "cost=1", "cost=0:1", 0.5):
        with refused("setting", kn.InputError, setting="threshold"):
            fitted(threshold=rule)
    with refused("unsupported", kn.InputError, setting="threshold"):
        fitted(None, CLUSTERS, SPLIT, threshold="f1")
    with refused("no-effect", setting="threshold"):
        kn.LinkPredictor(threshold="f1").methods()
    honest = kn.Split(PARTS.train, PARTS.validation[~FRAUD[PARTS.validation]], PARTS.test)
    with pytest.warns(kn.KernodeWarning, match="no threshold was chosen"):
        assert fitted(split=honest, threshold="f1").model_.threshold is None


def test_the_report_ranks_the_rarer_class_or_each_against_the_rest(by_recall):
    test = by_recall.report()["test"]
    by_run = by_recall.model_.on(RARE).probabilities(TEST)
    assert (test["positive"], test["positive_share"]) == ("fraud", 8.0)
    for name in ("average_precision", "roc_auc"):
        expected = np.mean([100 * SCORES[name](FRAUD[TEST], p) for p in by_run])
        assert test[f"{name}_mean"] == pytest.approx(expected, abs=1e-3)
    text = str(by_recall.report())
    assert "(fraud, 8.0 % of the nodes)" in text
    assert "(recall=0.8, chosen on validation nodes)" in text
    assert max(map(len, text.splitlines())) <= 100
    several = fitted(None, CLUSTERS, SPLIT).report(SPLIT.test, CLUSTERS.labels[SPLIT.test])
    assert several["positive"] is None
    assert several["roc_auc_mean"] > 80
    of_one = by_recall.report(TEST[:1], ["honest"])
    assert (of_one["roc_auc_mean"], of_one["average_precision_mean"]) == (None, None)


def test_probabilities_that_are_far_off_are_an_alarm_in_every_report(by_recall):
    assert by_recall.report()["test"]["calibration"]["ensemble"]["alarm"] is None
    sure = Tempering(temperature=0.01)
    model = fitted()
    on = model._on()
    on = on.with_metadata(calibration=Calibration((sure,), sure, len(VALIDATION)))
    model._become(on.model, "cpu", on, None, model._splits)
    assert "are not to be trusted" in model.report()["test"]["calibration"]["alarm"]
    assert "ALARM                the probabilities are not to be trusted" in str(model.report())
    pytest.importorskip("plotly")
    from kernode.viz.evaluation import EvaluationData
    from kernode.viz.report import Contents, render

    page = render(Contents(EvaluationData.of(on, layout="pca")), "title")
    assert 'role="alert">The probabilities are not to be trusted' in page


@pytest.mark.parametrize("m", [600, 1000])
def test_an_alarm_begins_at_five_times_what_chance_explains(m):
    random = np.random.default_rng(m)
    p = random.uniform(0.7, 1, m)
    wrong = (random.random(m) > p - 0.2).astype(int)
    found = calibration_report(None, np.stack([p, 1 - p], axis=1)[None], np.arange(m)[None], wrong[None])
    assert (m == 1000) == (found["error_mean"] > 5 * found["by_chance"]) == (found["alarm"] is not None)


def test_commands_take_the_score_and_the_threshold_and_rank_nodes(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_npz(RARE, "rare.npz")
    usual = ("fit", "rare.npz", "--variant", "hops-standardized", "--epochs", 9, "--replicas", 1)
    chosen = ("--scoring", "average_precision", "--threshold", "f1", "-o", "m.safetensors", "--json")
    status, out, err = command(*usual, *chosen)
    assert status == 0, err
    report = json.loads(out)
    assert report["select_by"] == "average_precision"
    assert report["test"]["threshold"]["rule"] == "f1"
    status, out, err = command("predict", "m.safetensors", "--graph", "rare.npz", "--json")
    by_class = json.loads(out)["predictions"]
    threshold = report["test"]["threshold"]["value"]
    assert [row["class"] == "fraud" for row in by_class] == [row["p_fraud"] >= threshold for row in by_class]
    status, out, err = command("predict", "m.safetensors", "--graph", "rare.npz", "--rank", "fraud")
    assert status == 0, err
    head, *rows = [line.split(",") for line in out.splitlines()]
    assert head == ["rank", "node", "probability", "known"]
    assert [int(row[0]) for row in rows] == [*range(1, 601)]
    p = {str(row["node"]): row["p_fraud"] for row in by_class}
    assert [float(row[2]) for row in rows] == sorted(p.values(), reverse=True)
    assert all(float(row[2]) == pytest.approx(p[row[1]]) for row in rows)
    fails(command("predict", "m.safetensors", "--graph", "rare.npz", "--rank", "theft"), 2, "fraud", "--rank")
    fails(command("predict", "m.safetensors", "--graph", "rare.npz", "--abstain", 0.9), 2, "--abstain")
    fails(command(*usual, "--scoring", "f1_samples", "-q"), 2, "--scoring")
    fails(command(*usual, "--threshold", "recall=2", "-q"), 2, "--threshold")
