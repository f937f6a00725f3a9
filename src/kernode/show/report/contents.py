"""All that the report says of a model, gathered once: figures, tables, charts and sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernode.errors import InputError
from kernode.io.registry import is_registered
from kernode.node_classification.baselines import NAMES
from kernode.node_classification.descriptions import DESCRIPTIONS
from kernode.node_classification.report import percent
from kernode.node_classification.summary import hop_words, summary
from kernode.progress import tell
from kernode.show.canvas import readable
from kernode.show.class_colours import shortened
from kernode.show.evidence import Evidence
from kernode.show.layout import Plane
from kernode.show.picture_data import (
    confusion_data,
    coverage_data,
    embedding_data,
    gram_data,
    hop_weight_data,
    reliability_data,
)
from kernode.show.report import charts
from kernode.show.report.charts import Chart
from kernode.show.report.rerun import rerun_command
from kernode.show.report.unsure import Unsure, least_sure
from kernode.show.training_history import LOSSES, SCORES, course
from kernode.version import versions

_LONGEST = 60  # letters of a name


@dataclass(frozen=True)
class Contents:
    """A model on a graph, as a page tells of it."""

    evidence: Evidence
    plane: Plane
    data: tuple[str, ...] | None  # how a command is told of the graph; None: that is not known
    notes: tuple[str, ...]  # what was done to its tables

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Every picture that applies, by its name."""
        return {name: one for name, one in self._tried.items() if not isinstance(one, str)}

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Pictures that do not apply, and why."""
        return {name: why for name, why in self._tried.items() if isinstance(why, str)}

    @cached_property
    def _tried(self) -> dict[str, Chart | str]:
        evidence = self.evidence
        makers: dict[str, Callable[[], Chart]] = {
            "embedding": lambda: charts.embedding_chart(
                evidence, embedding_data(evidence, self.plane, charts.MOST_NODES)
            ),
            "confusion": lambda: charts.confusion_chart(confusion_data(evidence)),
            "reliability": lambda: charts.reliability_chart(reliability_data(evidence)),
            "coverage": lambda: charts.coverage_chart(coverage_data(evidence)),
            "gram": lambda: charts.gram_chart(gram_data(evidence, pixels=180)),
            "hop-weights": lambda: charts.hop_weight_chart(hop_weight_data(evidence)),
            "losses": lambda: charts.loss_chart(course(evidence.model, LOSSES, "losses")),
            "validation": lambda: charts.validation_chart(
                course(evidence.model, SCORES, "scores on validation nodes")
            ),
        }
        found: dict[str, Chart | str] = {}
        for done, (name, make) in enumerate(makers.items()):
            tell("pictures", done, len(makers))
            try:
                found[name] = make()
            except InputError as error:
                found[name] = str(error)
        return found

    @cached_property
    def figures(self) -> dict[str, Any] | None:
        """Accuracy on test nodes and all that stands beside it; None where there are none."""
        if self.evidence.parts.test is None:
            return None
        figures = self.evidence.judged
        together = None
        if len(self.evidence.tested) == 1:
            together = round(self.evidence.answers.accuracy, 4)
        return figures | {"ensemble_accuracy": together}

    @cached_property
    def unsure(self) -> Unsure:
        """The least sure nodes."""
        return least_sure(self.evidence)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was trained on what."""
        graph, parts, model = self.evidence.graph, self.evidence.parts, self.evidence.model
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
        """The figures at the top: a name, a value, and what to know about it."""
        figures, r = self.figures, len(self.evidence.model.seeds)
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
        """The accuracy among what needs no kernel, for a table."""
        figures = self.figures
        if figures is None or not figures["baselines"]:
            return []
        r = len(self.evidence.model.seeds)
        own = {"name": f"this model ({self.evidence.model.variant})", "own": True, "difference": None}
        rows = [own | {"said": percent(figures, "accuracy", r), "share": figures["accuracy_mean"]}]
        for name, one in figures["baselines"].items():
            rows.append(
                {
                    "name": NAMES[name],
                    "own": False,
                    "said": percent(one, "accuracy", len(one["runs"])),
                    "share": one["accuracy_mean"],
                    "difference": one["accuracy_mean"] - figures["accuracy_mean"],
                }
            )
        return rows

    @property
    def classes(self) -> list[dict[str, Any]]:
        """Figures of every class, with what it is mostly taken for, the largest first."""
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
        return hop_words(self.evidence.model)

    @property
    def calibration(self) -> dict[str, Any]:
        """How sure test answers are: of all runs together, as charts have it, or of each."""
        assert self.figures is not None
        figures: dict[str, Any] = self.figures["calibration"]
        return figures | (figures["ensemble"] or {})

    @property
    def _whose(self) -> str:
        """Whose probabilities :attr:`calibration` is about, where there are several runs."""
        r = len(self.evidence.model.seeds)
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
        """Sentences about how sure answers are."""
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
    def command(self) -> str | None:
        """What trains it again."""
        if self.data is None:
            return None
        model = self.evidence.model
        by_name = model.graph is None and is_registered(model.dataset)
        words = list(self.data) or [model.dataset if by_name else "DATA"]
        return rerun_command(self.evidence, words)

    @property
    def settings(self) -> list[tuple[str, str]]:
        """Every setting, and the versions that had a say."""
        model = self.evidence.model
        parts = {name: getattr(model.method, name, None) for name in ("map", "kernel", "loss")}
        found = [(name, repr(part)) for name, part in parts.items() if part is not None]
        if not found:
            found = [("method", repr(model.method))]
        found += [("training", repr(model.training)), ("precision", f"{model.precision} bits")]
        return [*found, ("fingerprint of the graph", model.fingerprint)]

    @property
    def input_notes(self) -> list[str]:
        """What was done to columns and rows on the way in, as the model keeps it and as it was read now."""
        model = self.evidence.model
        columns = [] if model.encoding is None else list(model.encoding.describe())
        rows = [str(repair) for repair in model.repairs]
        return list(dict.fromkeys([*rows, *columns, *self.notes]))

    def to_json(self) -> dict[str, Any]:
        """The figures as plain values."""
        model, weights = self.evidence.model, self.evidence.model.hop_weights()
        return {
            "dataset": self.evidence.graph.name,
            "variant": model.variant,
            "split": model.split,
            "replicas": len(model.seeds),
            "seed": model.seeds[0],
            "facts": dict(self.facts),
            "test": self.figures,
            "without_test": self.evidence.parts.without_test or None,
            "validation": model.validated(model.training.select_by) or None,
            "select_by": model.training.select_by,
            "hop_weights": None if weights is None else [_or_none(w) for w in weights.mean(axis=0).tolist()],
            "hop_weights_in_words": self.hops or None,
            "least_sure": [node.to_json() for node in self.unsure.nodes],
            "least_sure_among": self.unsure.among,
            "without_reasons": self.unsure.unexplained or None,
            "pictures": list(self.charts),
            "left_out": self.left_out,
            "command": self.command,
            "settings": dict(self.settings),
            "versions": versions(),
            "input": self.input_notes,
        }


def _or_none(weight: float) -> float | None:
    return None if weight != weight else round(weight, 4)
