"""Evaluation of a node classifier: accuracy, classes, calibration, retrieval, baselines."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import torch

from kernode.compute.stack import replica, under_prefix
from kernode.io import Split
from kernode.kernels.node_kernel import kernel_retrieval, retrieval_together
from kernode.metrics.accuracy import accuracy, class_figures, summary, wilson
from kernode.metrics.calibration import (
    brier,
    calibration_error,
    coverage,
    error_by_chance,
    negative_log_likelihood,
    reliability,
)
from kernode.metrics.scoring import figure_name, positive_class
from kernode.models.model import Report
from kernode.tasks.classes.baselines import NAMES, baselines
from kernode.tasks.classes.calibration import Calibration
from kernode.tasks.classes.model import NodeModel
from kernode.tasks.classes.on_graph import NodeModelOnGraph
from kernode.tasks.classes.prediction_sets import SHOWN, sets_line, sets_report
from kernode.tasks.classes.task import LabelledNodes
from kernode.version import versions

FEW = 100  # nodes: below, an accuracy's own uncertainty is given with it
_SHOWN = 0.9  # the threshold that a terminal shows
_ALARM = 5  # times the calibration error that chance explains
_MOST_CLASSES = 12  # that a terminal shows
_WIDEST = 22  # name of a class: a line has 80 columns
_MOST_RANKED = 20_000  # test nodes, since each is ranked against all others


def fit_report(on: NodeModelOnGraph, splits: list[Split], labelled: LabelledNodes | None) -> Report:
    """Return the report of a fit on splits of a graph's labels; test nodes are scored here only."""
    model, weights, graph = on.model, on.model.hop_weights(), on.graph

    def of(role: str) -> tuple[np.ndarray, np.ndarray]:
        rows = [getattr(split, role) for split in splits]
        nodes = np.asarray(rows[:1] if all(row is rows[0] for row in rows) else rows)
        return nodes, on.classes.known[nodes]

    validation, true_validation = of("validation")
    epochs = max((len(values) for values in model.history.values()), default=0)
    sizes = {role: len(getattr(splits[0], role)) for role in ("train", "validation", "test")}
    if graph.listed is not None:
        sizes["unlisted"] = graph.n_unlisted  # nodes that only edges mention
    figures = {
        **on.facts(),
        **model.choice,
        **members_of(model),
        "select_by": model.training.select_by,
        "split": model.split,
        "test": evaluate(on, *of("test"), on.classes.classes, labelled),
        "validation": _accuracies(on.probabilities(validation), true_validation),
        "hop_weights": None if weights is None else _without_nan(weights.mean(axis=0)),
        "kept_epochs": model.kept_epochs.tolist(),
        "sizes": {"nodes": graph.n_nodes, "labelled": int((graph.labels >= 0).sum()), **sizes},
        "versions": versions(),
        "seconds_per_epoch": round(model.seconds / max(1, epochs), 5),
    }
    return Report(figures, fit_lines)


def members_of(model: NodeModel) -> dict[str, Any]:
    """The members of a sum of kernels, with their weights and what each got on the validation nodes."""
    members = getattr(model.method, "members", ())
    plain = [
        {"name": one.name, "weight": round(one.weight, 4), "validation": one.validation} for one in members
    ]
    return {"members": plain} if members else {}


def evaluate(
    on: NodeModelOnGraph,
    nodes: np.ndarray,
    truth: np.ndarray,
    names: Sequence[Any],
    labelled: LabelledNodes | None,
) -> dict[str, Any]:
    """Figures of r replicas on nodes (q × t) whose true classes are given as numbers of ``names`` (q × t).

    The first of the names are the model's own classes, in their order; others cannot be predicted.
    ``labelled``: the training and validation nodes, for the baselines; without them there are none.
    """
    if not nodes.shape[1]:
        return _accuracies(np.empty((len(on.model.seeds), 0, 1)), truth) | {"similarity": None}
    by_run = on.probabilities(nodes)
    figures = _accuracies(by_run, truth)
    found = by_run.argmax(axis=-1)  # r × t
    return {
        **figures,
        "similarity": _similarity(on, nodes, truth),
        "nodes": int(nodes.shape[1]),
        "interval_95": wilson(figures["accuracy_mean"] / 100, nodes.shape[1]),
        **class_figures(np.broadcast_to(truth, found.shape), found, names),
        **ranking(by_run, truth, positive_class(on.model.classes, on.model.train_labels), names),
        "threshold": threshold_report(on.model, by_run, truth),
        "calibration": calibration_report(on.model.calibration, by_run, nodes, truth),
        "sets": sets_report(on.model, by_run, nodes, truth),
        # Training nodes are positions, which mean nothing in another graph.
        "baselines": {}
        if labelled is None or not on.has_training_nodes
        else baselines(on.graph, labelled, nodes, truth, found == truth, on),
    }


def _accuracies(by_run: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Accuracy of each replica (r × t × c), mean and spread, and the ensemble's on shared nodes (1 × t)."""
    if by_run.shape[1] == 0:
        return {"accuracy_mean": None, "accuracy_std": None, "runs": [], "ensemble_accuracy": None}
    runs = accuracy(by_run.argmax(axis=-1), truth)
    together = None
    if len(truth) == 1:
        together = round(float(accuracy(by_run.mean(axis=0).argmax(axis=-1), truth[0])), 4)
    return {
        **summary("accuracy", runs),
        "runs": [round(float(run), 4) for run in runs],
        "ensemble_accuracy": together,
    }


def ranking(
    by_run: np.ndarray, truth: np.ndarray, positive: int | None, names: Sequence[Any]
) -> dict[str, Any]:
    """ROC AUC and average precision of replicas' probabilities (r × t × c) for true classes (q × t).

    Of two classes of the ``positive`` one, else the mean over the classes, each against the rest. Classes
    that all or none of the nodes have are left out; None where no other is there.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    wanted = range(by_run.shape[-1]) if positive is None else [positive]
    runs: dict[str, list[float]] = {"roc_auc": [], "average_precision": []}
    for p, y in zip(by_run, np.broadcast_to(truth, by_run.shape[:2]), strict=True):
        present = [one for one in wanted if 0 < np.count_nonzero(y == one) < len(y)]
        if present:
            given = np.squeeze(y[:, None] == present, axis=1 if len(present) == 1 else ())
            scores = p[:, present].reshape(given.shape)
            runs["roc_auc"].append(100 * roc_auc_score(given, scores))
            runs["average_precision"].append(100 * average_precision_score(given, scores))
    figures: dict[str, Any] = {}
    for name, values in runs.items():
        whole = len(values) == len(by_run)
        figures |= summary(name, values) if whole else {f"{name}_mean": None, f"{name}_std": None}
    share = None if positive is None else round(100 * float(np.mean(truth == positive)), 4)
    return figures | {"positive": None if positive is None else names[positive], "positive_share": share}


def threshold_report(model: NodeModel, by_run: np.ndarray, truth: np.ndarray) -> dict[str, Any] | None:
    """The model's threshold, and its precision and recall of nodes with true classes (q × t), in percent."""
    if (threshold := model.threshold) is None:
        return None
    taken = model.decided(model.answers(by_run, shared=len(truth) == 1)) == threshold.positive
    right = np.broadcast_to(truth == threshold.positive, taken.shape)
    hits, all_taken, total = (int(np.count_nonzero(one)) for one in (taken & right, taken, right))
    return {
        "rule": threshold.rule,
        "class": model.classes[threshold.positive],
        "value": round(threshold.value, 6),
        "precision": round(100 * hits / max(1, all_taken), 4),
        "recall": round(100 * hits / max(1, total), 4),
        "f1": round(100 * 2 * hits / max(1, all_taken + total), 4),
        "taken": all_taken,
        "of": taken.size,
    }


def _without_nan(weights: np.ndarray) -> list[float | None]:
    return [None if np.isnan(one) else round(float(one), 4) for one in weights]


def _similarity(on: NodeModelOnGraph, nodes: np.ndarray, truth: np.ndarray) -> dict[str, Any] | None:
    """Retrieval of nodes of the same class by each replica's K̄ among q × t nodes, with mean and spread."""
    r = len(on.model.seeds)
    rows = np.minimum(np.arange(r), len(nodes) - 1)
    every = (retrieval_of_run(on, i, nodes[row], truth[row]) for i, row in enumerate(rows))
    if len(runs := [run for run in every if run is not None]) < r:
        return None
    names = ("map", "precision_at_10")
    figures: dict[str, Any] = {"ensemble_map": None}
    for at, name in enumerate(names):
        mean, spread = summary(name, [run[at] for run in runs]).values()
        figures |= {name: mean, f"{name}_std": spread}
    if r > 1 and len(nodes) == 1:
        g, at_nodes = on.gather_rows(nodes[0])
        labels = torch.tensor(truth[0], device=on.options.device)
        own = under_prefix(on.parameters, "kernel.")
        together = retrieval_together(on.model.method.kernel, own, g[:, torch.tensor(at_nodes)], labels)
        figures["ensemble_map"] = round(together[0], 4)
    by_run = [{name: round(one, 4) for name, one in zip(names, run, strict=True)} for run in runs]
    return figures | {"runs": by_run}


def retrieval_of_run(
    on: NodeModelOnGraph, run: int, nodes: np.ndarray, truth: np.ndarray | None = None
) -> list[float] | None:
    """One replica's mean average precision and precision at 10 by K̄ among some nodes, in percent.

    ``truth``: their classes; the graph's own if None. None without a kernel, for more than 20,000 nodes, and
    where no two nodes share a class.
    """
    if not on.model.method.has_kernel or not 0 < len(nodes) <= _MOST_RANKED:
        return None
    base: Any = on.model.method
    labels = torch.tensor(on.graph.labels[nodes] if truth is None else truth, device=on.options.device)
    g, at = on.gather_rows(nodes)
    own = replica(under_prefix(on.parameters, "kernel."), run)
    figures = kernel_retrieval(base.kernel, own, g[run : run + 1, torch.tensor(at)], labels)
    found = [float(figure) for figure in figures]
    return None if np.isnan(found).any() else found


def calibration_report(
    calibration: Calibration | None, by_run: np.ndarray, nodes: np.ndarray, truth: np.ndarray
) -> dict[str, Any]:
    """Calibration of replicas' probabilities (r × t × c) for nodes (q × t) with true classes (q × t).

    Errors of single replicas, their mean, and what chance explains of that mean. Bins and coverage
    count the nodes of all runs. ``ensemble`` has the same of all replicas together, where they share nodes.
    """
    calibrated = by_run if calibration is None else calibration.of_runs(by_run)
    figures = {
        "calibrated_on": 0 if calibration is None else calibration.nodes,
        "temperature": None if calibration is None else round(calibration.together.temperature, 6),
        "floor": None if calibration is None else round(calibration.together.floor, 6),
        **_figures(by_run, calibrated, nodes, truth),
        "ensemble": None,
    }
    if len(by_run) > 1 and len(nodes) == 1:
        together = by_run.mean(axis=0, keepdims=True)
        calibrated = together if calibration is None else calibration.together(together)
        figures["ensemble"] = _figures(together, calibrated, nodes, truth)
    return figures


def _figures(
    before: np.ndarray, probabilities: np.ndarray, nodes: np.ndarray, truth: np.ndarray
) -> dict[str, Any]:
    """Figures of calibrated probabilities (r × t × c), and the error without calibration."""

    def errors(of: np.ndarray) -> list[float]:
        return list(map(calibration_error, of.max(axis=-1).astype(np.float64), of.argmax(axis=-1) == truth))

    confidence = probabilities.max(axis=-1).astype(np.float64)
    right = probabilities.argmax(axis=-1) == truth
    runs, likelihood = errors(probabilities), negative_log_likelihood(probabilities, truth)
    by_chance, at_most = error_by_chance(confidence, nodes)
    error = summary("error", runs)
    alarm = (
        f"the probabilities are not to be trusted: their calibration error, {error['error_mean']:.1f} %, is "
        f"more than five times the {by_chance:.1f} % that chance explains. Use their order alone, or train "
        "again with more validation nodes, drawn as the test nodes are."
    )
    return {
        **error,
        "alarm": alarm if error["error_mean"] > _ALARM * by_chance else None,
        "runs": [round(run, 4) for run in runs],
        "by_chance": round(by_chance, 4),
        "by_chance_at_most": round(at_most, 4),
        "brier": round(brier(probabilities, truth), 6),
        "nll": None if likelihood is None else round(likelihood, 6),
        "bins": reliability(confidence.ravel(), right.ravel()),
        "coverage": coverage(confidence.ravel(), right.ravel()),
        "error_uncalibrated": round(float(np.mean(errors(before))), 4),
    }


def calibration_lines(figures: dict[str, Any], runs: int) -> list[tuple[str, str]]:
    """A report's calibration in two lines, each with a title."""
    chance = f"chance alone gives {figures['by_chance']:.2f}, at most {figures['by_chance_at_most']:.2f}"
    spread = f" ± {figures['error_std']:.2f}" if runs > 1 else ""
    not_calibrated = "" if figures["calibrated_on"] else "; probabilities are not calibrated"
    sure = next(row for row in figures["coverage"] if row["threshold"] == _SHOWN)
    of_them = "" if sure["accuracy"] is None else f", {sure['accuracy']:.2f} % of them right"
    alarm = (figures["ensemble"] or figures)["alarm"]  # of the answers of predict
    return [
        *(("" if at else "ALARM", line) for at, line in enumerate(wrap(alarm or "", 59))),
        ("calibration error", f"{figures['error_mean']:.2f}{spread} %   ({chance}{not_calibrated})"),
        (f"at least {100 * _SHOWN:.0f} % sure", f"{sure['answered']:.1f} % of the nodes{of_them}"),
    ]


def ranking_lines(figures: dict[str, Any]) -> list[str]:
    """ROC AUC, average precision and the threshold in lines."""
    r, threshold = len(figures["runs"]), figures["threshold"]
    found = []
    if figures["roc_auc_mean"] is not None:
        of = describe_positive(figures)
        found.append(f"{'average precision':<20} {percent(figures, 'average_precision', r)}   ({of})")
        found.append(f"{'ROC AUC':<20} {percent(figures, 'roc_auc', r)}")
    if threshold is not None:
        one = f"{_short(str(threshold['class']), _WIDEST)} from {threshold['value']:.3f} on"
        found.append(f"{'threshold':<20} {one} ({threshold['rule']}, chosen on validation nodes):")
        precision, recall = (f"{threshold[name]:.1f} % {name}" for name in ("precision", "recall"))
        found.append(f"{'':<20} {precision}, {recall}, {threshold['taken']:,} of {threshold['of']:,} nodes")
    return found


def describe_positive(figures: dict[str, Any]) -> str:
    """Describe the class that is ranked, and how common it is: what average precision has by chance."""
    if figures["positive"] is None:
        return "mean of one class against the rest"
    return f"{_short(str(figures['positive']), _WIDEST)}, {figures['positive_share']:.1f} % of the nodes"


def fit_lines(report: dict[str, Any]) -> list[str]:
    """The report of a fit in words, for a terminal of 80 columns."""
    r, test, validation = report["replicas"], report["test"], report["validation"]
    found = _choice_lines(report) if report["chosen_by_validation"] else []
    found += lines(test, "test accuracy")
    if validation["accuracy_mean"] is not None:
        found.append(
            f"{'validation accuracy':<20} {percent(validation, 'accuracy', r)}{all_runs(validation)}"
        )
    if similarity := test["similarity"]:
        spread = f" ± {similarity['map_std']:.2f}" if r > 1 else ""
        # Among few nodes hardly ten are of one class: even the best order would seem imprecise.
        ten = "" if test["nodes"] < FEW else f", {similarity['precision_at_10']:.2f} % precision at 10"
        found.append(f"{'similar nodes':<20} {similarity['map']:.2f}{spread} % mAP{ten}")
    if report["hop_weights"]:
        shown = ["–" if weight is None else f"{weight:.2f}" for weight in report["hop_weights"]]
        empty = "; –: no such term" if "–" in shown else ""
        found.append(
            f"{'hop weights ω':<20} {'  '.join(shown)}   (at 0, 1, … hops; mean of the replicas{empty})"
        )
    return found


def _choice_lines(report: dict[str, Any]) -> list[str]:
    """The method that was kept, and below it the others, each with its epochs."""
    by, epochs = figure_name(report["select_by"]), report["epochs_tried"]
    after = {
        name: f"{figure:.2f} %" + f" after {epochs[name]}" * (epochs[name] > 0)
        for name, figure in report["chosen_by_validation"].items()
    }
    if members := report.get("members"):
        found = [f"{'sum of kernels':<20} weight  member"]
        for one in members:
            found.append(f"{'':<20} {one['weight']:6.2f}  {one['name']} ({by} {after.pop(one['name'])})")
        if after:
            found.append(
                f"{'':<20} not used: {', '.join(f'{name} {figure}' for name, figure in after.items())}"
            )
    else:
        chosen = report["variant"]
        unit = "" if not epochs[chosen] else " epoch" if epochs[chosen] == 1 else " epochs"
        found = [f"{'chosen by validation':<20} {chosen}, {by} {after.pop(chosen)}{unit}"]
        found.append(f"{'':<20} not: {', '.join(f'{name} {figure}' for name, figure in after.items())}")
    test = report["test"]
    if report["replicas"] > 1 and test["accuracy_mean"] is not None and test["ensemble_accuracy"] is None:
        found.append(f"{'':<20} chosen once for all replicas; their validation and test nodes overlap")
    return found


def lines(figures: dict[str, Any], title: str = "accuracy") -> list[str]:
    """The figures of some nodes in words, for a terminal."""
    if not figures.get("nodes"):
        return [f"{title:<20} none: no node was kept for a test"]
    r = len(figures["runs"])
    few = ""
    if (n := figures["nodes"]) < FEW:
        low, high = figures["interval_95"]
        nodes = "a single node" if n == 1 else f"{n} nodes"
        few = f"   (on {nodes} only: 95 % interval {low:.0f} to {high:.0f} %)"
    found = [f"{title:<20} {percent(figures, 'accuracy', r)}{all_runs(figures)}{few}"]
    found += [f"{'':<20} {line}" for line in baseline_lines(figures)]
    found.append(f"{'macro F1':<20} {percent(figures, 'macro_f1', r)}")
    found += ranking_lines(figures)
    found += [f"{name:<20} {line}" for name, line in calibration_lines(figures["calibration"], r)]
    if figures["sets"] is not None:
        found.append(f"{f'{100 * SHOWN:.0f} % sets':<20} {sets_line(figures['sets'])}")
    names = [_short(str(one["class"]), _WIDEST) for one in figures["classes"]]
    widest = max(5, *map(len, names))
    found.append(f"{'class':<{widest}}  precision  recall      F1  support  mostly taken for")
    order = sorted(range(len(names)), key=lambda i: -figures["classes"][i]["support"])
    for i in order[:_MOST_CLASSES]:
        one = figures["classes"][i]
        numbers = f"{one['precision']:9.1f} {one['recall']:7.1f} {one['f1']:7.1f} {one['support']:8,.0f}"
        others = [0 if j == i else count for j, count in enumerate(figures["confusion"][i])]
        wrong = _short(names[others.index(max(others))], _WIDEST - 4) if any(others) else ""
        shown = f"{numbers}  {wrong}" if one["support"] else "no test node"
        found.append(f"{names[i]:<{widest}}  {shown}".rstrip())
    if rest := order[_MOST_CLASSES:]:
        nodes = sum(figures["classes"][i]["support"] for i in rest)
        found.append(f"… and {len(rest):,} more classes with {nodes:,.0f} test nodes")
    return found


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def all_runs(figures: dict[str, Any]) -> str:
    """The accuracy of several replicas together, where they share nodes."""
    together = figures["ensemble_accuracy"] if len(figures["runs"]) > 1 else None
    return "" if together is None else f"   (all replicas together: {together:.2f} %)"


def percent(figures: dict[str, Any], name: str, runs: int) -> str:
    """Mean and, of several replicas, spread."""
    spread = f" ± {figures[f'{name}_std']:.2f}" if runs > 1 else ""
    return f"{figures[f'{name}_mean']:.2f}{spread} %"


def baseline_lines(figures: dict[str, Any]) -> list[str]:
    """The baselines, each in a line that says where one is better than the model on the same splits."""
    found = []
    for name, one in figures["baselines"].items():
        if "skipped" in one:
            found.append(f"– {NAMES[name]}: {one['skipped']}")
            continue
        rows, splits, ahead = len(one["runs"]), one["splits"], one["ahead"]
        notes = [f"{percent(one, 'accuracy', rows)} {NAMES[name]}"]
        notes += [f"{rows} of {splits} splits"] if rows < splits else []
        notes += [f"{one['training_nodes']:,} training nodes"] if "training_nodes" in one else []
        line = ", ".join(notes)
        found.append(f"{line}: ahead by {ahead:.2f}" if ahead > 0 else line)
    return found + graph_lines(figures)


def graph_lines(figures: dict[str, Any]) -> list[str]:
    """A line where no answer with edges is measurably better than the best one without."""
    for name, one in figures["baselines"].items():
        if one.get("graph_adds") is False:
            low, high = one["ahead_95"] or (-100, 100)
            interval = f"95 % interval {-high:+.2f} to {-low:+.2f}"
            by = f"{-one['ahead']:+.2f} over {NAMES[name].partition(' (')[0]} ({interval})"
            return ["the graph adds nothing measurable here: the model has", by.replace("-", "−")]
    return []
