"""Numbers in commands: the regressor that options mean, and its predictions as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernode.cli.files import Table
from kernode.cli.fitting import FitGraphOptions
from kernode.cli.options.model import names_of
from kernode.cli.options.run import FitOptions
from kernode.errors import InputError
from kernode.version import versions

if TYPE_CHECKING:
    from kernode.estimators.regressor import NodeKernelRegressor

COVERAGE = 0.9  # of intervals
_PROCESS = ("nodes", "inducing", "exact")  # settings of a method, as parameters of the regressor
_RUN = {"device": ("auto", "cpu"), "precision": ("64",), "threads": (), "deterministic": ()}


def means_numbers(graph: FitGraphOptions) -> bool:
    """Whether options say, before a graph is read, that numbers are learned."""
    from kernode.kernels import Covariance

    process = any(name in graph.given.get("method", {}) for name in _PROCESS)
    is_covariance = isinstance(graph.method_changes().get("kernel"), Covariance)
    return process or is_covariance or graph.part("table").task == "numbers"


def regressor(
    graph: FitGraphOptions, run: FitOptions, of_classes: dict[str, Any], target: str = ""
) -> NodeKernelRegressor:
    """Return the regressor that the options mean; those without effect on numbers are refused.

    ``of_classes``: values of options of classes alone, None where not given.
    """
    from kernode.estimators.regressor import NodeKernelRegressor

    what = f"{target!r} holds numbers" if target else "numbers are predicted"
    learns = "" in graph.given.get("map", {})  # a map is named
    of_map = {name: getattr(run, name) for name in ("epochs", "time_limit")}
    of_map |= {"scoring": of_classes["scoring"], "replicas": run.replicas if run.replicas != 1 else None}
    given = of_classes | {"checkpoint": run.checkpoint, "resume": run.resume or None}
    given |= {"settings": graph.settings_file} | (dict.fromkeys(of_map) if learns else of_map)
    for name in (name for name, value in given.items() if value is not None):
        raise InputError(f"{what}, and this is for classes: leave it out.", "no-effect", setting=name)
    for part, settings in graph.given.items():
        for name, value in settings.items():
            if not _has_effect(graph, part, name, value):
                setting = f"{part}.{name}".removesuffix(".")
                sentence = f"{what}, and {setting} has no effect on them: leave it out."
                raise InputError(sentence, "no-effect", setting=name or part)
    changes = graph.method_changes()
    process = {name: changes[name] for name in _PROCESS if name in changes}
    if learns:
        training = {name: of_map[name] for name in ("epochs", "time_limit") if of_map[name] is not None}
        training |= changes.get("training", {})
        process |= {"map": changes["map"], "training": training or None, "scoring": of_map["scoring"]}
        process |= {"replicas": run.replicas or 1}
    model = NodeKernelRegressor(
        changes.get("kernel"), **process, random_state=run.seed, threads=graph.part("run").threads
    )
    try:
        model.process()  # wrong settings come before anything is computed
    except InputError as error:
        if error.fields.get("setting") in _PROCESS:  # `--nodes` is another option
            error.fields["setting"] = f"method.{error.fields['setting']}"
        raise
    return model


def _has_effect(graph: FitGraphOptions, part: str, name: str, value: str) -> bool:
    """Whether a setting of --set has an effect on numbers."""
    if part == "run":
        return name in _RUN and value in (_RUN[name] or (value,))
    own = part in ("kernel", "map") and "" in graph.given[part]  # a covariance or a map, and settings of it
    own |= part == "training" and "" in graph.given.get("map", {})
    return part == "table" or own or (part == "method" and name in _PROCESS)


def number_report(model: NodeKernelRegressor) -> dict[str, Any]:
    """Return the figures of the test nodes, which a split may not have, with what was fitted and how."""
    import numpy as np

    graph, trained = model.graph_, model.model_
    held = 0 if trained.held is None else trained.held.shape[1]
    known, tested = int(np.isfinite(model._on().truth).sum()), trained.tested.shape[1]
    sizes = {"nodes": graph.n_nodes, "labelled": known, "train": trained.train.shape[1] - held}
    sizes |= {"validation": held, "test": tested}
    if graph.listed is not None:
        sizes["unlisted"] = graph.n_unlisted  # nodes that only edges mention
    return (model.report().to_json() if tested else model._on().facts() | {"test": {}}) | {
        "task": "numbers",
        "target": trained.target_name,
        "split": trained.split,
        "sizes": sizes,
        "inducing": None if trained.inducing is None else trained.inducing.shape[1],
        "interval": interval_of(model),
        "versions": versions(),
    }


def interval_of(model: NodeKernelRegressor, coverage: float | None = None) -> dict[str, Any]:
    """Return how intervals are found: by nodes held out of the fit, if there are enough."""
    coverage = coverage or COVERAGE
    method = model._on().interval_for(coverage)
    nodes = {"conformal": model.model_.held, "loo": model.model_.train}.get(method)
    count = None if nodes is None else nodes.shape[1]
    return {"method": method, "coverage": coverage, "calibrated_on": count}


def number_predictions(model: NodeKernelRegressor, nodes: Any = None, coverage: float | None = None) -> Table:
    """Return predicted numbers of nodes, all if None, with deviations, intervals and the known numbers.

    The column ``part`` says what the fit used a node for: train, held (for intervals), test, known (and not
    used); None where the number is not known.
    """
    import numpy as np

    from kernode.graph import positions

    graph, trained = model.graph_, model.model_
    nodes = positions(range(graph.n_nodes)) if nodes is None else nodes
    mean, deviation = model.predict(nodes, return_std=True)
    low, high = model.predict_interval(nodes, coverage or COVERAGE, interval_of(model, coverage)["method"]).T
    known = model._on().truth
    parts = np.where(np.isnan(known), "", "known").astype(object)
    for name, some in (("test", trained.tested), ("train", trained.train), ("held", trained.held)):
        if some is not None:
            parts[some[0]] = name
    table: Table = {"node": names_of(graph, nodes).tolist()}
    figures = {"prediction": mean, "std": deviation, "low": low, "high": high}
    table |= {name: values.tolist() for name, values in figures.items()}
    table["known"] = [None if value != value else value for value in known[nodes].tolist()]  # NaN
    table["part"] = [part or None for part in parts[nodes].tolist()]
    if graph.listed is not None:
        table["listed"] = graph.listed[nodes].tolist()
    return table
