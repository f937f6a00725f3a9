"""Data of pictures equal slow counts; files are whole, with any class names."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from trained_models import learned

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.io import write_npz
from kernode.viz.canvas import GREY, class_groups, class_label
from kernode.viz.evaluation import PARTS, EvaluationData
from kernode.viz.pictures import NAMES, find_picture, pictures_about, write_pictures
from kernode.viz.pictures.confidence import coverage_data, reliability_data
from kernode.viz.pictures.confusion import confusion_data
from kernode.viz.pictures.embedding import embedding_data
from kernode.viz.pictures.gram import gram_data
from refusals import refused
from tasks import fit_split

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def evaluation(own_splits):
    return EvaluationData.of(own_splits, layout="pca")


@pytest.fixture(scope="module")
def many():
    """40 classes, of which some are rare."""
    graph = clustered_graph(n=200, classes=40, features=40)
    model = kn.NodeKernelClassifier("k3", epochs=3, folds=2)
    model.fit(np.arange(120), graph.labels[:120], graph=graph)
    return EvaluationData.of(model._on(None), np.arange(120, 200), layout="pca")


def test_confusion_counts_are_a_slow_count(evaluation):
    shown, answers = confusion_data(evaluation), evaluation.predictions
    for i, true in enumerate(shown.class_names):
        for j, found in enumerate(shown.class_names):
            pairs = zip(answers.truth, answers.predicted, strict=True)
            slow = sum(
                evaluation.class_names[t] == true and evaluation.class_names[f] == found for t, f in pairs
            )
            assert shown.counts[i, j] == slow
    assert shown.shares.sum(axis=1) == pytest.approx(np.full(len(shown.class_names), 100))


def test_of_many_classes_the_rarest_are_one_row_and_no_node_is_lost(many):
    whole, some = confusion_data(many, most=40), confusion_data(many)
    assert len(some.class_names) == 12
    assert some.class_names[-1] == f"{len(whole.class_names) - 11} rarer classes"
    assert some.counts.sum() == whole.counts.sum() == 80
    kept = [whole.class_names.index(name) for name in some.class_names[:-1]]
    assert np.array_equal(some.counts[:-1, :-1], whole.counts[np.ix_(kept, kept)])
    totals = whole.counts.sum(axis=0) + whole.counts.sum(axis=1)
    assert totals[kept].min() >= np.delete(totals, kept).max()


def test_reliability_bins_hold_what_a_loop_puts_into_them(evaluation):
    bins, answers = reliability_data(evaluation)["bins"], evaluation.predictions
    order = np.argsort(answers.confidence, kind="stable")
    start = 0
    for one in bins:  # in the order of confidence, so many nodes each
        inside = order[start : start + one["nodes"]]
        assert one["confidence"] == pytest.approx(100 * answers.confidence[inside].mean(), abs=1e-3)
        assert one["accuracy"] == pytest.approx(100 * answers.correct[inside].mean(), abs=1e-3)
        start += one["nodes"]
    assert start == len(order)


def test_the_coverage_curve_is_a_threshold_tried_at_every_confidence(own_splits):
    evaluation = EvaluationData.of(own_splits)
    answers = evaluation.predictions
    object.__setattr__(answers, "confidence", answers.confidence.round(1))  # some are equal
    curve = coverage_data(evaluation)
    assert curve.answered[-1] == 100
    assert curve.accuracy[-1] == pytest.approx(answers.accuracy)
    assert len(curve.threshold) == len(np.unique(answers.confidence))
    for answered, accuracy, threshold in zip(curve.answered, curve.accuracy, curve.threshold, strict=True):
        sure = answers.confidence >= threshold
        assert answered == pytest.approx(100 * sure.mean())
        assert accuracy == pytest.approx(100 * answers.correct[sure].mean())


def test_the_gram_matrix_is_in_the_order_of_classes_and_of_one_runs_test_nodes(evaluation, clusters):
    shown = gram_data(evaluation, pixels=1000)
    nodes = evaluation.parts.test[0]
    nodes = nodes[np.argsort(clusters.labels[nodes], kind="stable")]
    kernel = evaluation.on.of_replicas([0]).kernel.directions
    slow = np.array([[kernel.gram([u], [v])[0, 0] for v in nodes] for u in nodes])
    assert shown.matrix == pytest.approx(slow, abs=1e-6)
    same = [(i, j) for i in range(len(nodes)) for j in range(len(nodes)) if i != j]
    within = [slow[i, j] for i, j in same if clusters.labels[nodes[i]] == clusters.labels[nodes[j]]]
    assert shown.within == pytest.approx(np.mean(within))
    assert shown.of == f"{len(nodes)} test nodes, the first of 2 replicas"


def test_nodes_are_marked_by_part_and_coloured_by_known_or_predicted_class(odd_model, cache):
    evaluation = EvaluationData.of(odd_model, layout="pca")
    shown = embedding_data(evaluation)
    first = evaluation.on.of_replicas([0])
    for node, color, known, part in zip(shown.nodes, shown.classes, shown.is_known, shown.part, strict=True):
        assert known == (evaluation.graph.labels[node] >= 0)
        if not known:
            assert color == first.calibrated([node])[0].argmax()
            assert PARTS[part] == "in no part"
    assert {PARTS[part] for part in shown.part} == set(PARTS)
    some = embedding_data(evaluation, most=20)
    assert len(some.nodes) == len(np.unique(some.nodes)) == 20
    assert np.array_equal(some.points, shown.points[some.nodes])


def test_the_most_frequent_classes_have_colours_and_others_are_grey():
    classes = np.repeat(np.arange(40), np.arange(1, 41))
    *own, (others, grey, rarer) = class_groups(classes, [str(number) for number in range(40)])
    assert [name for name, _, _ in own] == [str(number) for number in range(39, 31, -1)]
    assert len({colour for _, colour, _ in own}) == 8
    assert all(np.array_equal(here, classes == int(name)) for name, _, here in own)
    assert (others, grey) == ("32 rarer classes", GREY)
    assert np.array_equal(rarer, classes < 32)
    assert class_label("$x$ is_a " + "y" * 50, 12) == r"\$x\$ is a yy…"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")  # DejaVu has no Chinese
def test_pictures_are_png_and_svg_as_wide_as_a_column(evaluation, odd_model, many, tmp_path, cache):
    found = dict(write_pictures(evaluation, tmp_path / "new"))
    assert list(found) == [one.name for one in pictures_about("classes")]
    for name, (png, svg) in found.items():
        picture = Image.open(png)
        picture.load()
        assert 1010 <= picture.width <= 1150, name
        assert picture.convert("L").getextrema()[0] < 200  # something is drawn
        assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    again = dict(write_pictures(evaluation, tmp_path / "again", ["gram", "coverage"]))
    for name in again:
        one, other = (paths[name][0].read_bytes() for paths in (found, again))
        assert one == other, name
    for number, odd in enumerate((EvaluationData.of(odd_model, layout="pca"), many)):
        files = [files for _, files in write_pictures(odd, tmp_path / str(number)) if isinstance(files, list)]
        assert len(files) >= 6
        for png, _ in files:
            Image.open(png).load()


def test_curves_are_means_of_the_runs_and_what_has_no_epochs_has_none(clusters, own_splits):
    from matplotlib.figure import Figure

    evaluation, picture = EvaluationData.of(own_splits), find_picture("hop-weights")
    weights, axes = own_splits.model.history["hop_weights"], Figure().subplots()
    data = picture.data(evaluation)
    picture.draw(axes, data)
    named = [trace for trace in picture.chart(data)["data"] if "name" in trace]
    for hop, line in enumerate(axes.lines[: weights.shape[2]]):
        slow = [sum(float(run[hop]) for run in epoch) / 2 for epoch in weights]
        assert line.get_ydata() == pytest.approx(slow)
        assert named[hop]["y"] == pytest.approx(slow, abs=1e-4)
        assert line.get_label() == named[hop]["name"] == f"ω{hop}"
    assert axes.lines[-1].get_xdata()[0] == np.median(own_splits.model.kept_epochs)
    propagated = EvaluationData.of(fit_split(clusters, "label-propagation", (0, 1), "jk")._on(None))
    for name in ("losses", "validation", "hop-weights"):
        with refused("unsupported"):
            find_picture(name).data(propagated)


def test_a_loss_of_one_part_is_drawn_once(clusters, own_splits):
    picture = find_picture("losses")
    softmax = picture.data(EvaluationData.of(learned(clusters, "jk", objective="softmax", epochs=3)))
    assert "training loss" in softmax.values
    assert "its softmax part" not in softmax.values
    assert len([trace for trace in picture.chart(softmax)["data"] if "name" in trace]) == len(softmax.values)
    both = picture.data(EvaluationData.of(own_splits)).values
    assert {"training loss", "its softmax part", "its kernel part"} <= set(both)


def test_pictures_are_drawn_on_given_axes_and_judge_given_nodes(clusters):
    from matplotlib.figure import Figure

    train, test = np.arange(60), np.arange(60, 90)
    model = kn.NodeKernelClassifier("k3", epochs=5, folds=2)
    model.fit(train, clusters.labels[train], graph=clusters)
    axes = Figure().subplots()
    assert kn.plots.confusion(model, test, clusters.labels[test], axes=axes) is axes
    texts = [text.get_text() for text in axes.texts]
    truth, found = clusters.labels[test], model.predict(test)
    slow = [int(((truth == i) & (found == j)).sum()) for i in range(3) for j in range(3)]
    assert [int(text) for text in texts] == slow
    assert kn.plots.hop_weights(model, axes=Figure().subplots()).get_ylabel() == "weight of each hop"
    with refused("missing", setting="X"):
        kn.plots.reliability(model)
    with refused("no-effect", setting="X"):
        kn.plots.losses(model, test)
    with refused("setting", setting="model"):
        kn.plots.gram("model")
    assert set(dir(kn.plots)) == {name.replace("-", "_") for name in NAMES}


def test_the_command_writes_pictures_and_the_reasons_for_those_left_out(
    command, clusters, tmp_path, monkeypatch, cache
):
    monkeypatch.chdir(tmp_path)
    write_npz(clusters, tmp_path / "c.npz")
    command("fit", "c.npz", "--variant", "label-propagation", "--replicas", "2", "-q", "-o", "lp.safetensors")
    plot = ("plot", "lp.safetensors", "--graph", "c.npz")
    status, out, _ = command(*plot, "--json")
    report = json.loads(out)
    assert status == 0
    assert {"confusion", "coverage"} <= set(report["pictures"])
    names = {one.name for one in pictures_about("classes")}
    assert set(report["pictures"]) | set(report["left_out"]) == names
    assert "no kernel" in report["left_out"]["embedding"]
    assert all((tmp_path / path).exists() for paths in report["pictures"].values() for path in paths)
    fails(command(*plot, "gram"), 2, "gram:", "no kernel")
    fails(command(*plot, "pie"), 2, "no picture 'pie'", "embedding")
    (tmp_path / "taken").write_text("")
    fails(command(*plot, "-o", "taken"), 2, "taken")
    for name in ("plot", "report"):
        fails(command(name, *plot[1:], "--layout", "map"), 2, "tsne, pca. Got 'map'")
