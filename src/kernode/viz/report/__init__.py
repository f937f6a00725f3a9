"""The report as one HTML file: scores, tables, charts and plotly's own JavaScript, without a network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kernode.descriptions import DESCRIPTIONS
from kernode.errors import InputError, MissingExtraError
from kernode.explain.doubtful import doubtful_labels
from kernode.explain.explain import explain_node
from kernode.explain.explanation import Part, hops_away
from kernode.progress import report_progress
from kernode.storage import write_whole
from kernode.tasks.classes.baselines import NAMES as BASELINES
from kernode.tasks.classes.evaluation import describe_positive, graph_lines, percent
from kernode.tasks.classes.model import describe_hop_weights
from kernode.version import versions
from kernode.viz.canvas import readable, shortened, signed
from kernode.viz.evaluation import EvaluationData
from kernode.viz.report.page import LONGEST, PageContents

_LEAST = 0.005  # a smaller part would be shown as 0.00
_UNSURE = 10  # nodes listed, and doubtful labels


@dataclass(frozen=True)
class Contents(PageContents):
    """A model of classes on a graph, for one page."""

    template: ClassVar = "classes.html"

    evaluation: EvaluationData
    notes: tuple[str, ...] = ()  # what was done to its tables

    @property
    def lead(self) -> str:
        """What the page is about."""
        model = self.evaluation.model
        of = model.variant or model.method.title
        return f"A kernel on the nodes of a graph, {of}: accuracy, calibration and explanations."

    @property
    def hops(self) -> str:
        """Hop weights in words."""
        return describe_hop_weights(self.evaluation.model)

    @cached_property
    def figures(self) -> dict[str, Any] | None:
        """Test scores and baselines; None if there are no test nodes."""
        if self.evaluation.parts.test is None:
            return None
        shared = len(self.evaluation.test_nodes) == 1
        together = round(self.evaluation.predictions.accuracy, 4) if shared else None
        return self.evaluation.scores | {"ensemble_accuracy": together}

    @cached_property
    def unsure(self) -> dict[str, Any]:
        """The least certain of the nodes that no replica was trained on, else of all nodes."""
        evaluation = self.evaluation
        n, has_training = evaluation.graph.n_nodes, evaluation.on.has_training_nodes
        unseen = np.flatnonzero(~evaluation.parts.is_training(n))
        among = f"the {len(unseen):,} nodes that no replica was trained on"
        if not has_training or not len(unseen):
            unseen = np.arange(n)
            among = f"all {n:,} nodes" + (", including training nodes" if has_training else "")
        order = unseen[np.argsort(evaluation.chances[unseen].max(axis=1), kind="stable")[:_UNSURE]]
        rows, why = [], None
        for done, node in enumerate(order.tolist()):
            report_progress("reasons", done, len(order))
            parts: tuple[Part, ...] = ()
            try:
                parts = explain_node(evaluation.on, node, top=12).neighbours.parts
            except InputError as error:
                why = str(error)
            rows.append(_unsure_node(evaluation, node, parts))
        return {"least_sure": rows, "least_sure_among": among, "without_reasons": why}

    @cached_property
    def doubtful(self) -> dict[str, Any]:
        """The labels that are most likely wrong, or the reason why none can be listed."""
        classes = self.evaluation.on.classes
        names = dict(zip(classes.classes, classes.names, strict=True))
        try:
            rows = doubtful_labels(self.evaluation.on, _UNSURE)
        except InputError as error:
            return {"doubtful_labels": [], "without_doubtful_labels": str(error)}
        for row in rows:
            row["node"] = shortened(str(row["node"]), LONGEST)
            for name in ("label", "predicted"):
                row[name] = shortened(names[row[name]], LONGEST)
        return {"doubtful_labels": rows, "without_doubtful_labels": None}

    @property
    def facts(self) -> dict[str, str]:
        """The model and its graph."""
        graph, parts, model = self.evaluation.graph, self.evaluation.parts, self.evaluation.model
        sizes, lines = self.sizes, dict(model.summary())
        lines.pop("hop weights", None)
        if graph.fingerprint == model.fingerprint:
            lines["graph"] = f"{model.dataset}: {sizes}, {len(model.classes)} classes"
        else:
            lines["applied to"] = f"{graph.name}: {sizes}"
        named = {"validation": parts.validation, "test": parts.test}
        held = [f"{rows.shape[1]:,} {name}" for name, rows in named.items() if rows is not None and rows.size]
        if held:
            lines["held out"] = f"{' and '.join(held)} nodes" + (
                " in each replica" if parts.own_splits else ""
            )
        described = DESCRIPTIONS.get(model.variant)
        lines["method"] += f": {described}" if described else ""
        return lines

    @property
    def headline(self) -> list[tuple[str, str, str]]:
        """The scores at the top: name, value and remark."""
        figures, r = self.figures, len(self.evaluation.model.seeds)
        if figures is None:
            return []
        of = f"{figures['nodes']:,} test nodes" + (f", mean ± spread of {r} replicas" if r > 1 else "")
        low, high = figures["interval_95"]
        remark = f"{of}; 95\u00a0% interval {low:.1f} to {high:.1f}"
        found = [("Test accuracy", percent(figures, "accuracy", r), remark)]
        if r > 1 and figures["ensemble_accuracy"] is not None:
            together = f"{figures['ensemble_accuracy']:.2f} %"
            found.append(("All replicas together", together, "as kernode predict gives"))
        found.append(("Macro F1", percent(figures, "macro_f1", r), "mean over the classes"))
        if figures["roc_auc_mean"] is not None:
            of = describe_positive(figures)
            found.append(("Average precision", percent(figures, "average_precision", r), of))
            found.append(("ROC AUC", percent(figures, "roc_auc", r), of))
        calibration = self.calibration
        remark = f"chance alone gives {calibration['by_chance']:.1f} %"
        remark = f"{calibration['of']}; {remark}" if calibration["of"] else remark
        return [*found, ("Calibration error", f"{calibration['error_mean']:.1f} %", remark)]

    @property
    def baselines(self) -> list[dict[str, Any]]:
        """Accuracy of the model and of the baselines, for a table; what was left out has a reason instead."""
        figures = self.figures
        if figures is None or not figures["baselines"]:
            return []
        named = {f"this model ({self.evaluation.model.variant})": figures}
        named |= {BASELINES[name]: one for name, one in figures["baselines"].items()}
        rows: list[dict[str, Any]] = []
        for name, one in named.items():
            row = {"name": name, "share": one.get("accuracy_mean", 0.0), "difference": one.get("ahead")}
            row["text"] = one.get("skipped") or percent(one, "accuracy", len(one["runs"]))
            row["text"] += f", {one['training_nodes']:,} training nodes" if "training_nodes" in one else ""
            interval = one.get("ahead_95")
            row["interval"] = " ({:+.2f} to {:+.2f})".format(*interval) if interval else ""
            rows.append(row)
        return rows

    @property
    def graph_adds_nothing(self) -> str:
        """A sentence where no answer with edges is measurably better than the best one without."""
        return "" if self.figures is None else " ".join(graph_lines(self.figures))

    @property
    def classes(self) -> list[dict[str, Any]]:
        """Scores of every class and the class it is most often confused with, the largest first."""
        if self.figures is None:
            return []
        rows, counts = self.figures["classes"], self.figures["confusion"]
        names = [shortened(readable(str(one["class"])), LONGEST) for one in rows]
        found = []
        for i, one in enumerate(rows):
            others = [0 if j == i else count for j, count in enumerate(counts[i])]
            mostly = names[max(range(len(others)), key=others.__getitem__)] if any(others) else "–"
            found.append(one | {"class": names[i], "mostly": mostly})
        return sorted(found, key=lambda one: -one["support"])

    @property
    def calibration(self) -> dict[str, Any]:
        """Calibration on test nodes: of the mean of all replicas, as in the charts, or of each replica.

        ``of``: which replicas, if there are several.
        """
        assert self.figures is not None
        figures: dict[str, Any] = self.figures["calibration"]
        r = len(self.evaluation.model.seeds)
        of = f"{r} replicas together" if figures["ensemble"] else f"mean of {r} replicas"
        return figures | (figures["ensemble"] or {}) | {"of": of if r > 1 else ""}

    def to_json(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        model, weights = self.evaluation.model, self.evaluation.model.hop_weights()
        return {
            "dataset": self.evaluation.graph.name,
            "variant": model.variant,
            "split": model.split,
            "replicas": len(model.seeds),
            "seed": model.seeds[0],
            "facts": self.facts,
            "unlisted": self.evaluation.graph.n_unlisted,
            "test": self.figures,
            "without_test": self.evaluation.parts.without_test or None,
            "validation": model.validated(model.training.select_by) or None,
            "select_by": model.training.select_by,
            "hop_weights": None
            if weights is None
            else [None if w != w else round(w, 4) for w in weights.mean(axis=0).tolist()],
            "hop_weights_in_words": describe_hop_weights(model) or None,
            **self.unsure,
            **self.doubtful,
            "pictures": list(self.charts),
            "left_out": self.left_out,
            "settings": self.settings,
            "versions": versions(),
            "input": self.input_notes,
        }


def _unsure_node(evaluation: EvaluationData, node: int, parts: tuple[Part, ...]) -> dict[str, Any]:
    """Return a node, its two most probable classes, and the largest parts of an exact sum."""
    chances, names, known = evaluation.chances[node], evaluation.class_names, int(evaluation.known[node])
    first, *others = np.argsort(-chances, kind="stable").tolist()
    by_sign = [[_described(part) for part in parts if sign * part.value >= _LEAST] for sign in (1, -1)]
    return {
        "node": shortened(evaluation.names([node])[0], LONGEST),
        "answer": names[first],
        "chance": round(100 * float(chances[first]), 2),
        "next_answer": names[others[0]] if others else None,
        "next_chance": round(100 * float(chances[others[0]]), 2) if others else None,
        "known": names[known] if known >= 0 else None,
        "speaks_for": by_sign[0][:3],
        "speaks_against": by_sign[1][:3],
    }


def _described(part: Part) -> str:
    """Return the contribution of a node, with the features that contribute most of it."""
    words = [shortened(str(word.name), 30) for word in part.words if word.value * part.value > 0][:2]
    about = [
        hops_away(part.hops or 0),
        *([] if part.known_class is None else [readable(str(part.known_class))]),
    ]
    about += [f"by {' and '.join(words)}"] if words else []
    return f"{shortened(str(part.name), LONGEST)} ({', '.join(about)}) {signed(part.value, 2, '+')}"


def contents_of(evaluation: Any, notes: tuple[str, ...] = ()) -> PageContents:
    """Return the page of a model of classes or of numbers."""
    from kernode.viz.report.numbers import NumberContents

    return (Contents if isinstance(evaluation, EvaluationData) else NumberContents)(evaluation, notes)


def plotly_script() -> str:
    """Return plotly's JavaScript from its wheel."""
    try:
        import jinja2  # noqa: F401
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ImportError as error:
        sentence = f"the report needs {error.name}: pip install 'kernode[report]'."
        raise MissingExtraError(sentence, "extra", package=error.name, extra="report") from None
    return str(get_plotlyjs())


def write_report(contents: PageContents, path: Path) -> int:
    """Write the page and return its size in bytes."""
    page = render(contents, f"kernode report: {contents.evaluation.model.dataset}").encode()
    write_whole(path, page)
    return len(page)


def render(contents: PageContents, title: str) -> str:
    """Return the page."""
    script = plotly_script()
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    report_progress("page", 0, 1)
    here = files("kernode.viz.report")
    environment = Environment(
        loader=FunctionLoader(lambda name: (here / name).read_text(encoding="utf-8")),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["readable"] = readable
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment.get_template(contents.template).render(
        title=title,
        contents=contents,
        style=(here / "style.css").read_text(encoding="utf-8"),
        program=(here / "charts.js").read_text(encoding="utf-8"),
        plotly=script,
        versions=versions(),
    )
