"""Contents of the report, gathered once: scores, tables, charts and sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernode.errors import InputError
from kernode.node_classification.baselines import NAMES as BASELINES
from kernode.node_classification.descriptions import DESCRIPTIONS
from kernode.node_classification.explaining import explain_node
from kernode.node_classification.explanation import NodeExplanation, Part
from kernode.node_classification.report import percent
from kernode.node_classification.summary import hop_words, summary
from kernode.progress import tell
from kernode.version import versions
from kernode.viz.canvas import readable, shortened
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import NAMES, SECTIONS, Chart, Picture, find_picture

_LONGEST = 60  # characters of a name
_LEAST = 0.005  # a smaller part would be shown as 0.00


@dataclass(frozen=True)
class UnsureNode:
    """A node, the two most probable classes, and the largest parts of an exact sum."""

    node: str
    answer: str
    chance: float  # percent
    next_answer: str | None
    next_chance: float | None
    known: str | None
    speaks_for: tuple[str, ...]
    speaks_against: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items()}


@dataclass(frozen=True)
class Unsure:
    """The least certain nodes, where they were looked for, and why there are no reasons, if not."""

    nodes: tuple[UnsureNode, ...]
    among: str
    unexplained: str  # empty if every node is explained


@dataclass(frozen=True)
class Contents:
    """A model on a graph, for one page."""

    evaluation: EvaluationData
    notes: tuple[str, ...] = ()  # what was done to its tables

    @cached_property
    def pictures(self) -> list[Picture]:
        """Every picture, in the order of the report's sections."""
        return sorted(map(find_picture, NAMES), key=lambda one: SECTIONS.index(one.section))

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Pictures that apply, by name."""
        return {name: one for name, one in self._tried.items() if not isinstance(one, str)}

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Pictures that do not apply, and why."""
        return {name: why for name, why in self._tried.items() if isinstance(why, str)}

    @cached_property
    def _tried(self) -> dict[str, Chart | str]:
        found: dict[str, Chart | str] = {}
        for done, one in enumerate(self.pictures):
            tell("pictures", done, len(self.pictures))
            try:
                found[one.name] = one.chart(one.data(self.evaluation, **one.chart_settings))
            except InputError as error:
                found[one.name] = str(error)
        return found

    @cached_property
    def figures(self) -> dict[str, Any] | None:
        """Test scores and baselines; None if there are no test nodes."""
        if self.evaluation.parts.test is None:
            return None
        shared = len(self.evaluation.test_nodes) == 1
        together = round(self.evaluation.predictions.accuracy, 4) if shared else None
        return self.evaluation.scores | {"ensemble_accuracy": together}

    @cached_property
    def unsure(self) -> Unsure:
        """The least certain nodes."""
        return least_sure(self.evaluation)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The model and its graph."""
        graph, parts, model = self.evaluation.graph, self.evaluation.parts, self.evaluation.model
        sizes = f"{graph.n_nodes:,} nodes, {graph.n_edges:,} edges, {graph.n_features:,} features"
        lines = dict(summary(model))
        lines.pop("hop weights", None)
        if graph.fingerprint == model.fingerprint:
            lines["graph"] = f"{model.dataset}: {sizes}, {len(model.classes)} classes"
        else:
            lines["asked about"] = f"{graph.name}: {sizes}"
        held = []
        for name, rows in (("validate", parts.validation), ("test", parts.test)):
            if rows is not None and rows.shape[1]:
                held.append(f"{rows.shape[1]:,} {name}")
        if held:
            lines["held out"] = " and ".join(held) + (" in each run" if parts.own_splits else "")
        described = DESCRIPTIONS.get(model.variant)
        lines["method"] += f": {described}" if described else ""
        return list(lines.items())

    @property
    def headline(self) -> list[tuple[str, str, str]]:
        """The scores at the top: name, value and remark."""
        figures, r = self.figures, len(self.evaluation.model.seeds)
        if figures is None:
            return []
        of = f"{figures['nodes']:,} test nodes" + (f", mean ± spread of {r} runs" if r > 1 else "")
        low, high = figures["interval_95"]
        found = [
            ("Test accuracy", percent(figures, "accuracy", r), f"{of}; 95 % interval {low:.1f} to {high:.1f}")
        ]
        if r > 1 and figures["ensemble_accuracy"] is not None:
            found.append(
                ("All runs together", f"{figures['ensemble_accuracy']:.2f} %", "what predict answers")
            )
        found.append(("Macro F1", percent(figures, "macro_f1", r), "every class counts alike"))
        chance = f"{self._whose}chance alone gives {self.calibration['by_chance']:.1f} %"
        found.append(("Calibration error", f"{self.calibration['error_mean']:.1f} %", chance))
        return found

    @property
    def beside(self) -> list[dict[str, Any]]:
        """Accuracy of the model and of the baselines, for a table."""
        figures = self.figures
        if figures is None or not figures["baselines"]:
            return []
        r = len(self.evaluation.model.seeds)
        own = {"name": f"this model ({self.evaluation.model.variant})", "own": True, "difference": None}
        rows = [own | {"said": percent(figures, "accuracy", r), "share": figures["accuracy_mean"]}]
        for name, one in figures["baselines"].items():
            rows.append(
                {
                    "name": BASELINES[name],
                    "own": False,
                    "said": percent(one, "accuracy", len(one["runs"])),
                    "share": one["accuracy_mean"],
                    "difference": one["accuracy_mean"] - figures["accuracy_mean"],
                }
            )
        return rows

    @property
    def classes(self) -> list[dict[str, Any]]:
        """Scores of every class and the class it is most often confused with, the largest first."""
        if self.figures is None:
            return []
        rows, counts = self.figures["classes"], self.figures["confusion"]
        names = [shortened(readable(str(one["class"])), _LONGEST) for one in rows]
        found = []
        for i, one in enumerate(rows):
            others = [0 if j == i else count for j, count in enumerate(counts[i])]
            mostly = names[max(range(len(others)), key=others.__getitem__)] if any(others) else "–"
            found.append(one | {"class": names[i], "mostly": mostly})
        return sorted(found, key=lambda one: -one["support"])

    @property
    def hops(self) -> str:
        """Hop weights in words."""
        return hop_words(self.evaluation.model)

    @property
    def calibration(self) -> dict[str, Any]:
        """Calibration on test nodes: of the mean of all runs, as in the charts, or of each run."""
        assert self.figures is not None
        figures: dict[str, Any] = self.figures["calibration"]
        return figures | (figures["ensemble"] or {})

    @property
    def _whose(self) -> str:
        """The runs that :attr:`calibration` is about, if there are several."""
        r = len(self.evaluation.model.seeds)
        if r == 1:
            return ""
        together = self.figures is not None and self.figures["calibration"]["ensemble"] is not None
        return f"{r} runs together; " if together else f"mean of {r} runs; "

    @property
    def calibration_of(self) -> str:
        """The same at the end of a caption."""
        return f" ({self._whose.rstrip('; ')})" if self._whose else ""

    @property
    def sureness(self) -> list[str]:
        """Sentences about calibration."""
        if self.figures is None:
            return []
        one, rows = self.calibration, []
        if one["calibrated_on"]:
            rows.append(
                f"Probabilities were calibrated on {one['calibrated_on']:,} nodes that did not train "
                f"(temperature {one['temperature']:.2f}). Their error{self.calibration_of} was "
                f"{one['error_uncalibrated']:.1f} % before and is {one['error_mean']:.1f} % now. Answers "
                f"that are perfectly calibrated would have {one['by_chance']:.1f} % by chance about so many "
                f"nodes, and at most {one['by_chance_at_most']:.1f} % in 19 of 20 cases."
            )
        else:
            rows.append(
                "Probabilities are not calibrated: they are as they were trained. Their error"
                f"{self.calibration_of} is {one['error_mean']:.1f} %; "
                f"chance alone gives {one['by_chance']:.1f} %."
            )
        return rows

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Every setting of the method and the training."""
        model = self.evaluation.model
        parts = {name: getattr(model.method, name, None) for name in ("map", "kernel", "loss")}
        found = [(name, repr(part)) for name, part in parts.items() if part is not None]
        if not found:
            found = [("method", repr(model.method))]
        found += [("training", repr(model.training)), ("precision", f"{model.precision} bits")]
        return [*found, ("fingerprint of the graph", model.fingerprint)]

    @property
    def input_notes(self) -> list[str]:
        """What was done to rows and columns of the input, when training and now."""
        model = self.evaluation.model
        columns = [] if model.encoding is None else list(model.encoding.describe())
        rows = [str(repair) for repair in model.repairs]
        return list(dict.fromkeys([*rows, *columns, *self.notes]))

    def to_json(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        model, weights = self.evaluation.model, self.evaluation.model.hop_weights()
        return {
            "dataset": self.evaluation.graph.name,
            "variant": model.variant,
            "split": model.split,
            "replicas": len(model.seeds),
            "seed": model.seeds[0],
            "facts": dict(self.facts),
            "test": self.figures,
            "without_test": self.evaluation.parts.without_test or None,
            "validation": model.validated(model.training.select_by) or None,
            "select_by": model.training.select_by,
            "hop_weights": None if weights is None else [_or_none(w) for w in weights.mean(axis=0).tolist()],
            "hop_weights_in_words": self.hops or None,
            "least_sure": [node.to_json() for node in self.unsure.nodes],
            "least_sure_among": self.unsure.among,
            "without_reasons": self.unsure.unexplained or None,
            "pictures": list(self.charts),
            "left_out": self.left_out,
            "settings": dict(self.settings),
            "versions": versions(),
            "input": self.input_notes,
        }


def _or_none(weight: float) -> float | None:
    return None if weight != weight else round(weight, 4)


def least_sure(evaluation: EvaluationData, count: int = 10) -> Unsure:
    """Return the least certain nodes among those that no run was trained on, or among all if there are none."""
    unseen = np.flatnonzero(~evaluation.parts.is_training(evaluation.graph.n_nodes))
    among = f"the {len(unseen):,} nodes that no run was trained on"
    if not evaluation.on.has_training_nodes or not len(unseen):
        unseen, among = np.arange(evaluation.graph.n_nodes), f"all {evaluation.graph.n_nodes:,} nodes"
        among += ", training nodes among them" if evaluation.on.has_training_nodes else ""
    chances = evaluation.chances[unseen]
    order = unseen[np.argsort(chances.max(axis=1), kind="stable")[:count]]
    rows, why = [], ""
    for done, node in enumerate(order.tolist()):
        tell("reasons", done, len(order))
        explained = None
        if not why:
            try:
                explained = explain_node(evaluation.on, node, top=12)
            except InputError as error:
                why = str(error)
        rows.append(_row(evaluation, node, explained))
    return Unsure(tuple(rows), among, why)


def _row(evaluation: EvaluationData, node: int, explained: NodeExplanation | None) -> UnsureNode:
    chances, names = evaluation.chances[node], [str(name) for name in evaluation.class_names]
    first, *others = np.argsort(-chances, kind="stable").tolist()
    known = int(evaluation.known[node])
    parts = () if explained is None else explained.neighbours.parts
    own = evaluation.names(np.array([node]))[0]
    return UnsureNode(
        shortened(own, _LONGEST),
        names[first],
        round(100 * float(chances[first]), 2),
        names[others[0]] if others else None,
        round(100 * float(chances[others[0]]), 2) if others else None,
        names[known] if known >= 0 else None,
        tuple(_words(part, own) for part in parts if part.value >= _LEAST)[:3],
        tuple(_words(part, own) for part in parts if part.value <= -_LEAST)[:3],
    )


def _words(part: Part, own: str) -> str:
    """The contribution of one node, with the features that contribute most of it."""
    itself = str(part.name) == own
    who = "its own features" if itself else shortened(str(part.name), _LONGEST)
    about = []
    if part.hops and not itself:
        about.append(f"{part.hops} hop{'s' * (part.hops > 1)} away")
    if part.known_class is not None and not itself:
        about.append(shortened(str(part.known_class), _LONGEST))
    words = [shortened(str(word.name), 30) for word in part.words if word.value * part.value > 0][:2]
    about += [f"by {' and '.join(words)}"] if words else []
    where = f" ({', '.join(about)})" if about else ""
    return f"{who}{where} {part.value:+.2f}"
