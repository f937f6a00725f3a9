"""``kernode predict``: a saved model's classes and probabilities, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import progress
from kernode.cli.files import WRITERS, Table, check_out
from kernode.cli.options.model import ModelOptions, OutTableOption, names_of
from kernode.cli.options.run import OutputOptions

if TYPE_CHECKING:
    from kernode.estimators.classifier import NodeKernelClassifier


def predict(
    *,
    model: ModelOptions,
    out: OutTableOption = None,
    abstain: Annotated[
        float | None,
        typer.Option(help="Give no class where none is as probable, such as 0.9.", show_default=False),
    ] = None,
    output: OutputOptions,
) -> None:
    """Write node, class, the class that the data gives and the probability of each, for every node.

    Probabilities are those of all runs of the model together, calibrated on the nodes that validated them.
    Methods that learn nothing by gradients (label-propagation, correct-and-smooth), models that fewer
    than ten nodes validated and files of before 0.2 have theirs as they were trained. With `--abstain 0.9` a
    node has no class where none has a probability of 0.9, and its most probable class in a column of its own.

    Tables are read as those were that the model learned from; only their paths are needed. Where the model
    has its graph (`kernode fit --with-graph`), new nodes whose edges mention nodes of it arrive there, as
    with `kernode extend`. On stdout the table is CSV in UTF-8, whatever the terminal's encoding.

    Example: [bold]kernode predict cora.safetensors -o predictions.csv[/]

    Your own tables: [bold]kernode predict edges.safetensors new-edges.csv --nodes new-nodes.csv -o out.csv[/]
    """
    check_out(out, WRITERS, model.inputs)
    from kernode.estimators.classifier import checked_threshold, warn_of_uncalibrated

    if abstain is not None:
        checked_threshold(abstain)
    with progress("predict", quiet=output.silent):
        opened = model.open()
        trained, n = opened.model.model_, len(opened.nodes)
        if abstain is not None:
            warn_of_uncalibrated(trained)
        table = predictions(opened.model, opened.nodes, abstain)
    answered = n - table["class"].count(None)
    facts = {
        "model": str(model.model),
        "dataset": opened.graph.name,
        "nodes": n,
        "classes": {name: table["class"].count(name) for name in trained.classes},
        "calibrated_on": 0 if trained.calibration is None else trained.calibration.nodes,
        "abstain": abstain,
        "answered": answered,
        "coverage": round(100 * answered / max(1, n), 4),
    }
    sentences = []
    if out is not None:
        sentences.append(f"{n:,} nodes of {opened.graph.name} written to {out}")
    if abstain is not None:
        sentences.append(
            f"{answered:,} of {n:,} nodes ({facts['coverage']:.1f} %) have a class at --abstain {abstain:g}"
        )
    opened.print_table(table, facts, out, output, sentences=tuple(sentences))


def predictions(model: NodeKernelClassifier, nodes: Any = None, abstain: float | None = None) -> Table:
    """Classes of nodes, all if None, as the model predicts and as the data gives them, and probabilities.

    Where no class is as probable as ``abstain`` there is none, and the most probable is in a column of
    its own.
    """
    from kernode.graph import positions

    graph, classes = model.graph_, model.model_.classes
    nodes = positions(range(graph.n_nodes)) if nodes is None else nodes
    probabilities = model.predict_proba(nodes)
    found = [classes[number] for number in probabilities.argmax(axis=1)]
    named = all(isinstance(one, str) for one in classes)  # else the model has numbers for classes
    known: Any = graph.class_names if named else range(graph.n_classes)
    table: Table = {
        "node": names_of(graph, nodes).tolist(),
        "class": found,
        "known": [None if label < 0 else known[label] for label in graph.labels[nodes].tolist()],
    }
    if abstain is not None:
        certain = probabilities.max(axis=1) >= abstain
        table["class"] = [one if answered else None for one, answered in zip(found, certain, strict=True)]
        table["most_probable"] = found
    for number, name in enumerate(classes):
        table[f"p_{name}"] = [float(value) for value in probabilities[:, number]]
    return table
