"""``kernode predict``: a saved model's classes and probabilities, or numbers, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kernode.cli.console import progress
from kernode.cli.files import WRITERS, Table, check_out
from kernode.cli.option_groups import flag, option
from kernode.cli.options.model import ModelOptions, OutTableOption, names_of
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError, warn

if TYPE_CHECKING:
    from kernode.estimators.classifier import NodeKernelClassifier
    from kernode.estimators.regressor import NodeKernelRegressor

_NEW: Any = {"rich_help_panel": "New nodes", "show_default": False}


def predict(
    *,
    model: ModelOptions,
    out: OutTableOption = None,
    abstain: Annotated[float | None, option("Give no class where none is as probable, such as 0.9.")] = None,
    coverage: Annotated[
        float | None,
        option("Add sets of classes that hold the true one in this share of nodes, or intervals."),
    ] = None,
    rank: Annotated[
        str | None, option("A class: nodes by its probability, the most likely first.", metavar="CLASS")
    ] = None,
    doubtful_labels: Annotated[
        bool, flag("Known labels that are most likely wrong, instead of classes.", "--doubtful-labels")
    ] = False,
    new_nodes: Annotated[
        list[str] | None, option("Table of nodes that arrive. May be repeated.", **_NEW)
    ] = None,
    new_edges: Annotated[str | None, option("Table of edges that arrive.", **_NEW)] = None,
    everyone: Annotated[
        bool, flag("Answer about every node, not only those that arrived.", "--all", **_NEW)
    ] = False,
    save: Annotated[Path | None, option("Write the model with the larger graph in its file.", **_NEW)] = None,
    output: OutputOptions,
) -> None:
    """Predict the class of every node, with probabilities, or its number, with an interval.

    Each row has the node, its class, the class in the data, and the probability of each class.
    Probabilities are those of all replicas together, calibrated on the nodes that validated them. Of numbers
    it has the prediction, its standard deviation, a 90 % interval and the number in the data. Tables are
    read as those that the model learned from. New nodes and edges are added to the model's graph, which
    it has after `kernode fit --with-graph`, or which is given; nothing is trained again.

    Example: [bold]kernode predict cora.safetensors -o predictions.csv[/]

    Your own tables: [bold]kernode predict edges.safetensors --graph edges.csv --nodes nodes.csv -o out.csv[/]

    The most likely of a rare class: [bold]kernode predict edges.safetensors --rank fraud -o ranked.csv[/]

    Labels to check: [bold]kernode predict cora.safetensors --doubtful-labels -o doubtful.csv[/]

    New nodes: [bold]kernode predict edges.safetensors --new-nodes new-nodes.csv --new-edges new-edges.csv[/]
    """
    check_out(out, read=(*model.inputs, *(new_nodes or ()), new_edges), extensions=WRITERS)
    check_out(save, read=(*model.inputs[1:], *(new_nodes or ()), new_edges, out))  # the model may grow
    if doubtful_labels:
        others: dict[str, Any] = {"abstain": abstain, "coverage": coverage, "rank": rank, "save": save}
        others |= {"new_nodes": new_nodes, "new_edges": new_edges}
        for name in (name for name, value in others.items() if value is not None):
            must = "--doubtful-labels lists labels of the model's graph, without new nodes or a threshold."
            raise InputError(f"{must} Leave one of the two out.", "conflict", setting=name)
        _print_doubtful(model, out, output)
        return
    from kernode.estimators.classifier import check_abstaining, checked_threshold
    from kernode.tasks.classes.prediction_sets import checked_coverage

    if abstain is not None:
        checked_threshold(abstain)
    if coverage is not None:
        checked_coverage(coverage)
    for name, value in (("abstain", abstain), ("coverage", coverage)):
        if rank is not None and value is not None:
            raise InputError(
                "a ranked list has every node, without classes.", "conflict", setting=("rank", name)
            )
    arriving = bool(new_nodes) or new_edges is not None
    with progress("predict", quiet=output.silent):
        opened = model.open("classes", "numbers", new_nodes=new_nodes or None, new_edges=new_edges)
        opened.refuse_of_classes(abstain=abstain, rank=rank)
        trained, graph = opened.model.model_, opened.graph
        if abstain is not None:
            check_abstaining(trained)
        table = predictions(opened.model, None if everyone else opened.nodes, abstain, coverage)
        shown = table if rank is None else ranked(table, rank)
    n, arrived = len(table["node"]), len(opened.nodes) if arriving else 0
    if not n:
        warn("edges arrived, and no node did: there is nothing to answer about. Add --all for every node.")
    sentences = []
    if arriving:
        sentences.append(f"{arrived:,} nodes arrived at the {graph.n_nodes - arrived:,} of {graph.name}")
    if out is not None:
        sentences.append(f"{n:,} nodes of {graph.name} written to {out}")
    replaced = save is not None and save.exists()
    if save is not None:
        opened.model.save(save, with_graph=True)
        instead = ", which replaced a file of that name" * replaced
        sentences.append(f"the model with the larger graph written to {save}{instead}")
    about = _of_numbers if opened.has_numbers else _of_classes
    opened.show_table(
        shown, out, output, sentences,
        nodes=graph.n_nodes,
        unlisted=graph.n_unlisted,  # nodes that only edges mention
        arrived=arrived,
        **about(opened.model, table, sentences, arriving, abstain, coverage),
        saved=None if save is None else str(save),
        replaced=replaced,  # a file of that name
    )  # fmt: skip


def _of_numbers(model: Any, table: Table, sentences: list[str], *options: Any) -> dict[str, Any]:
    """Return facts about predicted numbers."""
    from kernode.cli.numbers import interval_of

    *_, coverage = options
    return {"target": model.model_.target_name, "interval": interval_of(model, coverage)}


def _of_classes(
    model: Any, table: Table, sentences: list[str],
    arriving: bool, abstain: float | None, coverage: float | None,
) -> dict[str, Any]:  # fmt: skip
    """Return facts about predicted classes, and add what people read of them to the sentences."""
    n, trained = len(table["node"]), model.model_
    answered = n - table["class"].count(None)
    share_answered = round(100 * answered / max(1, n), 4)
    if abstain is not None:
        sentences.append(
            f"{answered:,} of {n:,} nodes ({share_answered:.1f} %) have a class at --abstain {abstain}"
        )
    sets = None
    if coverage is not None:
        sizes = list(map(len, table["set"]))
        sets = {
            "coverage": round(100 * coverage, 4),
            "mean_size": round(sum(sizes) / max(1, n), 4),
            "single": round(100 * sizes.count(1) / max(1, n), 4),
        }
        average, single = (sets[name] for name in ("mean_size", "single"))
        sentences.append(
            f"sets at --coverage {coverage}: {average:.2f} classes each, {single:.1f} % of one class"
        )
    return {
        "recomputed": len(model.recomputed_) if arriving else 0,
        "classes": {name: table["class"].count(name) for name in trained.classes},
        "calibrated_on": 0 if trained.calibration is None else trained.calibration.nodes,
        "abstain": abstain,
        "answered": answered,
        "coverage": share_answered,
        "sets": sets,
    }


def _print_doubtful(model: ModelOptions, out: Path | None, output: OutputOptions) -> None:
    """Write the labels that the model doubts, the most doubtful first."""
    from kernode.estimators.classifier import warn_of_uncalibrated
    from kernode.explain.doubtful import nodes_with_label

    with progress("predict", quiet=output.silent):
        opened = model.open()
        graph = opened.graph
        labelled = len(nodes_with_label(opened.on))
        rows = opened.model.doubtful_labels(max(1, labelled))
    warn_of_uncalibrated(opened.model.model_)
    columns = ("node", "label", "predicted", "p_label", "p_predicted", "trained", "reason")
    table: Table = {name: [row[name] for row in rows] for name in columns}
    table["node"] = names_of(graph, graph.find(table["node"])).tolist() if rows else []
    trained = sum(table["trained"])
    sentences = [f"{len(rows):,} of {labelled:,} labels of {graph.name} are doubtful"]
    if trained:
        sentences.append(f"{trained:,} of them trained the model: their p_label is optimistic")
    if opened.on.has_training_nodes and not opened.model.has_unused_labels:
        sentences.append("every label trained the model: more may be wrong than are listed")
    if out is not None:
        sentences.append(f"{len(rows):,} nodes written to {out}")
    opened.show_table(
        table, out, output, sentences, "doubtful_labels",
        labelled=labelled, doubtful=len(rows), doubtful_trained=trained,
    )  # fmt: skip


def ranked(table: Table, name: str) -> Table:
    """Nodes of a table of predictions by their probability of a class, the highest first."""
    if (column := f"p_{name}") not in table:
        known = ", ".join(one.removeprefix("p_") for one in table if one.startswith("p_"))
        raise InputError(
            f"{name!r} is not a class of the model. It has {known}.",
            "unknown", what="class", setting="rank", name=name,
        )  # fmt: skip
    rows = sorted(zip(table["node"], table[column], table["known"], strict=True), key=lambda row: -row[1])
    columns = {title: [row[at] for row in rows] for at, title in enumerate(("node", "probability", "known"))}
    return {"rank": [*range(1, len(rows) + 1)], **columns}


def predictions(
    model: NodeKernelClassifier | NodeKernelRegressor,
    nodes: Any = None,
    abstain: float | None = None,
    coverage: float | None = None,
) -> Table:
    """Classes of nodes, all if None, as the model predicts and as the data gives them, and probabilities.

    Where no class is as probable as ``abstain`` there is none, and the most probable is in a column of
    its own. With a ``coverage`` there is a column of sets; in CSV each is a JSON list.
    Of a regressor: numbers, with intervals.
    """
    from kernode.cli.numbers import number_predictions
    from kernode.estimators.regressor import NodeKernelRegressor
    from kernode.graph import positions

    if isinstance(model, NodeKernelRegressor):
        return number_predictions(model, nodes, coverage)
    graph, classes = model.graph_, model.model_.classes
    nodes = positions(range(graph.n_nodes)) if nodes is None else nodes
    probabilities = model.predict_proba(nodes)
    found = [classes[number] for number in model.model_.decided(probabilities)]
    table: Table = {
        "node": names_of(graph, nodes).tolist(),
        "class": found,
        "known": graph.classes_of(nodes, named=isinstance(classes[0], str)),
    }
    if graph.listed is not None:
        table["listed"] = graph.listed[nodes].tolist()
    if abstain is not None:
        certain = probabilities.max(axis=1) >= abstain
        table["class"] = [one if answered else None for one, answered in zip(found, certain, strict=True)]
        table["most_probable"] = found
    if coverage is not None:
        table["set"] = model.predict_set(nodes, coverage)
    for number, name in enumerate(classes):
        table[f"p_{name}"] = [float(value) for value in probabilities[:, number]]
    return table
