"""What pictures show equals slow counts; files are whole, named, and legible whatever classes are called."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from trained_models import learned

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.errors import InputError
from kernode.node_classification.experiment import run_variant
from kernode.show import picture_data as data
from kernode.show.class_colours import GREY, ClassColours, class_label
from kernode.show.evidence import Evidence
from kernode.show.node_parts import PARTS
from kernode.show.plots.pictures import PICTURES, write_pictures
from kernode.show.plots.training import draw_validation
from kernode.show.report.charts import loss_chart, validation_chart
from kernode.show.training_history import LOSSES, SCORES, course
from kernode.training.run import Run
from tasks import DOUBLE

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def evidence(own_splits):
    return Evidence.of(own_splits)


@pytest.fixture(scope="module")
def many():
    """40 classes, of which some are rare."""
    graph = clustered_graph(n=200, classes=40, features=40)
    model = kn.NodeKernelClassifier("k3", epochs=3, folds=2)
    model.fit(np.arange(120), graph.labels[:120], graph=graph)
    return Evidence.of(model._on(None), np.arange(120, 200))


def test_confusion_counts_are_a_slow_count(evidence):
    shown, answers = data.confusion_data(evidence), evidence.answers
    for i, true in enumerate(shown.names):
        for j, found in enumerate(shown.names):
            pairs = zip(answers.truth, answers.found, strict=True)
            slow = sum(evidence.names[t] == true and evidence.names[f] == found for t, f in pairs)
            assert shown.counts[i, j] == slow
    assert shown.shares.sum(axis=1) == pytest.approx(np.full(len(shown.names), 100))


def test_of_many_classes_the_rarest_are_one_row_and_no_node_is_lost(many):
    whole, some = data.confusion_data(many), data.confusion_data(many, most=12)
    assert len(some.names) == 12
    assert some.names[-1] == f"{len(whole.names) - 11} rarer classes"
    assert some.counts.sum() == whole.counts.sum() == 80
    kept = [whole.names.index(name) for name in some.names[:-1]]
    assert np.array_equal(some.counts[:-1, :-1], whole.counts[np.ix_(kept, kept)])
    totals = whole.counts.sum(axis=0) + whole.counts.sum(axis=1)
    assert totals[kept].min() >= np.delete(totals, kept).max()


def test_reliability_bins_hold_what_a_loop_puts_into_them(evidence):
    bins, answers = data.reliability_data(evidence)["bins"], evidence.answers
    order = np.argsort(answers.confidence, kind="stable")
    start = 0
    for one in bins:  # in the order of confidence, so many nodes each
        inside = order[start : start + one["nodes"]]
        assert one["confidence"] == pytest.approx(100 * answers.confidence[inside].mean(), abs=1e-3)
        assert one["accuracy"] == pytest.approx(100 * answers.right[inside].mean(), abs=1e-3)
        start += one["nodes"]
    assert start == len(order)


def test_the_coverage_curve_is_a_threshold_tried_at_every_confidence(evidence):
    curve, answers = data.coverage_data(evidence), evidence.answers
    assert curve.answered[-1] == 100
    assert curve.accuracy[-1] == pytest.approx(answers.accuracy)
    assert len(curve.threshold) == len(np.unique(answers.confidence))
    for answered, accuracy, threshold in zip(curve.answered, curve.accuracy, curve.threshold, strict=True):
        sure = answers.confidence >= threshold
        assert answered == pytest.approx(100 * sure.mean())
        assert accuracy == pytest.approx(100 * answers.right[sure].mean())


def test_equal_confidences_are_answered_together(own_splits, clusters, monkeypatch):
    evidence = Evidence.of(own_splits)
    answers = evidence.answers
    object.__setattr__(answers, "confidence", np.full(len(answers.truth), 0.5))
    curve = data.coverage_data(evidence)
    assert curve.answered.tolist() == [100]


def test_the_gram_matrix_is_in_the_order_of_classes_and_of_one_runs_test_nodes(evidence, clusters):
    shown = data.gram_data(evidence, pixels=1000)
    nodes = evidence.parts.test[0]
    nodes = nodes[np.argsort(clusters.labels[nodes], kind="stable")]
    kernel = evidence.on.of_replicas([0]).kernel.directions
    slow = np.array([[kernel.gram([u], [v])[0, 0] for v in nodes] for u in nodes])
    assert shown.matrix == pytest.approx(slow, abs=1e-6)
    same = [(i, j) for i in range(len(nodes)) for j in range(len(nodes)) if i != j]
    within = [slow[i, j] for i, j in same if clusters.labels[nodes[i]] == clusters.labels[nodes[j]]]
    assert shown.within == pytest.approx(np.mean(within))
    assert shown.of == f"{len(nodes)} test nodes, the first of 2 runs"


def test_nodes_are_marked_by_part_and_coloured_by_known_or_predicted_class(odd_model, cache):
    evidence = Evidence.of(odd_model)
    shown = data.embedding_data(evidence, "pca")
    first = evidence.on.of_replicas([0])
    for node, color, known, part in zip(shown.nodes, shown.classes, shown.is_known, shown.part, strict=True):
        assert known == (evidence.graph.labels[node] >= 0)
        if not known:
            assert color == first.chances([node])[0].argmax()
            assert PARTS[part] == "in no part"
    assert {PARTS[part] for part in shown.part} == set(PARTS)
    some = data.embedding_data(evidence, "pca", most=20)
    assert len(some.nodes) == len(np.unique(some.nodes)) == 20
    assert np.array_equal(some.points, shown.points[some.nodes])


def test_the_most_frequent_classes_have_colours_and_others_are_grey():
    classes = np.repeat(np.arange(40), np.arange(1, 41))
    colours = ClassColours.of(classes)
    assert colours.coloured == tuple(range(39, 31, -1))
    assert colours.others == 32
    assert len({colours.colour(c) for c in colours.coloured}) == 8
    assert colours.colour(0) == GREY
    assert colours.of_others == "32 rarer classes"
    assert class_label("$x$ is_a " + "y" * 50, 12) == r"\$x\$ is a yy…"


@pytest.mark.slow
def test_every_picture_is_a_whole_png_and_svg_as_wide_as_a_column(evidence, tmp_path, cache):
    found = dict(write_pictures(evidence, tmp_path / "new", plane="pca"))
    assert list(found) == list(PICTURES)
    for name, (png, svg) in found.items():
        picture = Image.open(png)
        picture.load()
        assert 1010 <= picture.width <= 1150, name
        assert picture.convert("L").getextrema()[0] < 200  # something is drawn
        assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    again = dict(write_pictures(evidence, tmp_path / "again", ["gram", "coverage"], plane="pca"))
    for name in again:
        one, other = (paths[name][0].read_bytes() for paths in (found, again))
        assert one == other, name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Glyph")  # DejaVu has no Chinese
def test_odd_names_and_many_classes_are_drawn(odd_model, many, tmp_path, cache):
    for number, evidence in enumerate((Evidence.of(odd_model), many)):
        found = dict(write_pictures(evidence, tmp_path / str(number), plane="pca"))
        drawn = [name for name, files in found.items() if not isinstance(files, str)]
        assert len(drawn) >= 6
        for name in drawn:
            Image.open(found[name][0]).load()


def test_settings_that_were_tried_are_points_and_no_epochs(clusters):
    from matplotlib.figure import Figure

    on = run_variant(clusters, "label-propagation", Run((0, 1), DOUBLE), split="jk").on
    data = course(on.model, SCORES, "scores")
    axes = Figure().subplots()
    draw_validation(axes, data)
    assert axes.get_xlabel() == "setting tried"
    assert "kept setting" in axes.texts[0].get_text()
    assert all(line.get_linestyle() in ("None", ":") for line in axes.lines)  # points, and what was kept
    chart = validation_chart(data)
    assert [trace["mode"] for trace in chart["data"]] == ["markers"]
    assert chart["layout"]["xaxis"]["title"]["text"] == "setting tried"
    assert "kept setting" in chart["layout"]["annotations"][0]["text"]
    with pytest.raises(InputError, match="no history of losses"):
        course(on.model, LOSSES, "losses")


def test_a_loss_of_one_part_is_drawn_once(clusters, own_splits):
    softmax = course(learned(clusters, "jk", objective="softmax", epochs=3).model, LOSSES, "losses")
    assert "loss" in softmax["curves"]
    assert "softmax_loss" not in softmax["curves"]
    assert len([trace for trace in loss_chart(softmax)["data"] if "name" in trace]) == len(softmax["curves"])
    both = course(own_splits.model, LOSSES, "losses")["curves"]
    assert {"loss", "softmax_loss", "kernel_loss"} <= set(both)


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
    with pytest.raises(InputError, match="no test nodes to judge answers by: the model was not told"):
        kn.plots.reliability(model)
    with pytest.raises(InputError, match="fitted NodeKernelClassifier"):
        kn.plots.gram("model")


def test_the_command_writes_what_is_asked_for_and_says_what_does_not_apply(
    command, graph_path, tmp_path, monkeypatch, cache
):
    monkeypatch.chdir(tmp_path)
    command(
        "fit", graph_path, "--variant", "label-propagation", "--replicas", "2", "-q", "-o", "lp.safetensors"
    )
    status, out, _ = command("plot", "lp.safetensors", "--graph", graph_path, "--json")
    report = json.loads(out)
    assert status == 0
    assert {"confusion", "coverage"} <= set(report["pictures"])
    assert set(report["pictures"]) | set(report["left_out"]) == set(PICTURES)
    assert "no kernel" in report["left_out"]["embedding"]
    assert all((tmp_path / path).exists() for paths in report["pictures"].values() for path in paths)
    fails(command("plot", "lp.safetensors", "gram", "--graph", graph_path), 2, "gram:", "no kernel")
    fails(command("plot", "lp.safetensors", "pie", "--graph", graph_path), 2, "no picture 'pie'", "embedding")
    (tmp_path / "taken").write_text("")
    fails(command("plot", "lp.safetensors", "--graph", graph_path, "-o", "taken"), 2, "taken is a file")


@pytest.fixture
def graph_path(clusters, tmp_path):
    from kernode.data import write_npz

    path = tmp_path / "clusters.npz"
    write_npz(clusters, path)
    return path


def test_a_plane_that_there_is_not_is_no_picture_left_out(command, graph_path, tmp_path, monkeypatch, cache):
    monkeypatch.chdir(tmp_path)
    fit = ("fit", graph_path, "--variant", "k3", "--epochs", "2", "--replicas", "1", "-q")
    command(*fit, "-o", "m.safetensors")
    for name in ("plot", "report"):
        result = command(
            name, "m.safetensors", *(["--graph"] if name == "plot" else []), graph_path, "--plane", "map"
        )
        fails(result, 2, "tsne, umap, pca. Got 'map'")
