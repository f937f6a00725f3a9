"""What the pages about models of classes and of numbers share."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from kernode.errors import InputError
from kernode.progress import report_progress
from kernode.viz.pictures import Chart, Picture, pictures_about

LONGEST = 60  # characters of a name


class PageContents:
    """A model on a graph, for one page."""

    template: ClassVar[str]
    evaluation: Any
    notes: tuple[str, ...]

    @cached_property
    def pictures(self) -> list[tuple[Picture, Chart | str]]:
        """Every picture in the order of the report, as a chart or the reason why it does not apply."""
        found: list[tuple[Picture, Chart | str]] = []
        pictures = pictures_about(self.evaluation.about)
        for done, one in enumerate(pictures):
            report_progress("pictures", done, len(pictures))
            try:
                found.append((one, one.chart(one.data(self.evaluation, **one.chart_settings))))
            except InputError as error:
                found.append((one, str(error)))
        return found

    @property
    def charts(self) -> dict[str, Chart]:
        """Pictures that apply, by name."""
        return {one.name: chart for one, chart in self.pictures if not isinstance(chart, str)}

    @property
    def left_out(self) -> dict[str, str]:
        """Pictures that do not apply, and why."""
        return {one.name: why for one, why in self.pictures if isinstance(why, str)}

    @property
    def sizes(self) -> str:
        """Sizes of the graph."""
        graph = self.evaluation.graph
        unlisted = f" ({graph.n_unlisted:,} that only edges mention)" if graph.n_unlisted else ""
        return f"{graph.n_nodes:,} nodes{unlisted}, {graph.n_edges:,} edges, {graph.n_features:,} features"

    @property
    def settings(self) -> dict[str, str]:
        """Every setting of the method and the training."""
        model = self.evaluation.model
        parts = {name: getattr(model.method, name, None) for name in ("map", "kernel", "loss")}
        found = {name: repr(part) for name, part in parts.items() if part is not None}
        found = found or {"method": repr(model.method)}
        if model.training.epochs or self.evaluation.about == "classes":
            found["training"] = repr(model.training)
        return found | {"precision": f"{model.precision} bits", "fingerprint of the graph": model.fingerprint}

    @property
    def input_notes(self) -> list[str]:
        """What was done to rows and columns of the input, when training and now."""
        model = self.evaluation.model
        columns = [] if model.encoding is None else list(model.encoding.describe())
        rows = [str(repair) for repair in model.repairs]
        return list(dict.fromkeys([*rows, *columns, *self.notes]))

    def to_json(self) -> dict[str, Any]:
        """Return the scores as plain values."""
        raise NotImplementedError
