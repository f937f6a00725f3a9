"""``kernode fit``: train, score the test nodes once, save."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernode.cli.console import (
    JsonOption,
    QuietOption,
    check_writable,
    peak_memory_mb,
    print_json,
    progress,
    say,
)
from kernode.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from kernode.data import Split
    from kernode.graph import Graph
    from kernode.lesson import Lesson
    from kernode.model import Model

Method = {"rich_help_panel": "Method (default: as the variant has it)"}
Run = {"rich_help_panel": "Run"}


def fit(
    data: Annotated[str, typer.Argument(help="cora, citeseer, pubmed, or the path of an .npz graph.")],
    variant: Annotated[
        str, typer.Option(help="k3, k1, k2, n1 or smoother; 'k3' is the paper's best.")
    ] = "k3",
    split: Annotated[
        str | None,
        typer.Option(help="fastgcn, public, jk, fractions 0.6/0.2/0.2 or counts 140/500/1000."),
    ] = None,
    replicas: Annotated[int, typer.Option(help="Runs with seeds S, S+1, …, trained together.", **Run)] = 10,
    seed: Annotated[int, typer.Option(help="S, the first run's seed.", **Run)] = 0,
    hops: Annotated[int | None, typer.Option(help="H: neighbours at 0 … H hops.", **Method)] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the MLP.", **Method)] = None,
    hidden: Annotated[str | None, typer.Option(help="Hidden widths: 16, or 64,32.", **Method)] = None,
    powers: Annotated[str | None, typer.Option(help="each (paper) or last (its code).", **Method)] = None,
    hop_weights: Annotated[str | None, typer.Option(help="learned, or c for c^h.", **Method)] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs.", **Method)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Adam's step size.", **Method)] = None,
    weight_decay: Annotated[float | None, typer.Option(help="L2 penalty.", **Method)] = None,
    dropout: Annotated[float | None, typer.Option(help="Rate after hidden layers.", **Method)] = None,
    kernel_weight: Annotated[
        float | None, typer.Option(help="λ, weight of L_K beside L_Y.", **Method)
    ] = None,
    margin: Annotated[float | None, typer.Option(help="α of the triplet hinge.", **Method)] = None,
    triplets: Annotated[int | None, typer.Option(help="Triplets drawn each epoch.", **Method)] = None,
    kernel_loss: Annotated[str | None, typer.Option(help="hinge, squared or logistic.", **Method)] = None,
    class_weights: Annotated[str | None, typer.Option(help="balanced, for rare classes.", **Method)] = None,
    selection: Annotated[str | None, typer.Option(help="best (validation epoch) or last.", **Method)] = None,
    patience: Annotated[int | None, typer.Option(help="Stop early after so many epochs.", **Method)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Model file.", **Run)] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="File for interrupted training.", **Run)] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Write it after so many epochs.", **Run)] = 10,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from --checkpoint.", **Run)] = False,
    precision: Annotated[int, typer.Option(help="32 or 64 bits.", **Run)] = 32,
    threads: Annotated[int | None, typer.Option(help="CPU threads.", **Run)] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.", **Run)] = "auto",
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Train a kernel on a graph, print test accuracy, save the model.

    Example: [bold]kernode fit cora --variant k1 --replicas 10 --json[/]
    """
    started = time.perf_counter()
    from kernode.checkpoint import Checkpoint
    from kernode.data import load_graph, split_nodes
    from kernode.model import Model
    from kernode.sparse import Place, set_threads
    from kernode.variants import configure

    if replicas < 1:
        raise InputError(f"--replicas must be an integer ≥ 1. Got {replicas}.")
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE, the file to go on from.")
    set_threads(threads)
    place = Place.of(precision, device)
    method, training = configure(
        variant,
        _data_name(data),
        hops=hops,
        layers=layers,
        hidden=_widths(hidden),
        powers=powers,
        hop_weights=_hop_weights(hop_weights),
        epochs=epochs,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        dropout=dropout,
        kernel_weight=kernel_weight,
        margin=margin,
        triplets=triplets,
        kernel_loss=kernel_loss,
        class_weights=class_weights,
        selection=selection,
        patience=patience,
    )
    out = out or Path(f"{_data_name(data)}-{variant}.safetensors")
    for path in (out, checkpoint):
        check_writable(path)
    graph = load_graph(data)
    seeds = list(range(seed, seed + replicas))
    splits = split_nodes(graph, split, seeds)
    lesson = lesson_of(graph, splits)
    saving = Checkpoint(checkpoint, checkpoint_every, resume) if checkpoint is not None else None
    with progress(f"{graph.name} {variant}", training.epochs, quiet=quiet or json) as advance:
        model = Model.learn(
            graph, method, training, lesson, seeds, place, graph.class_names,
            progress=lambda epoch, values: advance(epoch, _note(values)),
            checkpoint=saving, variant=variant, split=split_name(graph, split),
        )  # fmt: skip
    report = _report(model, graph, splits, place.device.type)
    model.save(out)
    epochs_run = max((len(values) for values in model.history.values()), default=0)
    report |= {
        "seconds_total": round(time.perf_counter() - started, 3),
        "seconds_per_epoch": round(model.seconds / max(1, epochs_run), 5),
        "peak_memory_mb": peak_memory_mb(place.device.type),
        "model": str(out),
    }
    print_json(report) if json else _print_report(report, graph, splits)


def lesson_of(graph: Graph, splits: list[Split]) -> Lesson:
    """Training and validation nodes of every replica; one row where all share a split."""
    import numpy as np

    from kernode.lesson import Lesson

    distinct = splits[:1] if all(split is splits[0] for split in splits) else splits
    train = np.stack([split.train for split in distinct])
    validation = np.stack([split.validation for split in distinct])
    return Lesson(train, graph.labels[train], validation, graph.labels[validation], graph.n_classes)


def split_name(graph: Graph, split: str | None) -> str:
    """Name the split, the default included."""
    from kernode.data.registry import identify

    return split or ("fastgcn" if identify(graph) else "jk")


def _report(model: Model, graph: Graph, splits: list[Split], device: str) -> dict[str, Any]:
    """Everything that ``fit`` prints but time and memory. The test nodes are scored here, once."""
    answers = model.on(graph, device)
    weights = model.hop_weights()
    return {
        "dataset": graph.name,
        "variant": model.labels_of_choice["variant"],
        "split": model.labels_of_choice["split"],
        "replicas": len(model.seeds),
        "seed": model.seeds[0],
        "device": device,
        "epochs": model.training.epochs,
        "test": _accuracies(answers.probabilities, [split.test for split in splits], graph.labels),
        "validation": _accuracies(
            answers.probabilities, [split.validation for split in splits], graph.labels
        ),
        "hop_weights": None if weights is None else [round(float(w), 4) for w in weights.mean(axis=0)],
        "kept_epochs": model.kept_epochs.tolist(),
    }


def _accuracies(probabilities: Any, nodes: list[np.ndarray], labels: np.ndarray) -> dict[str, Any]:
    """Each run's accuracy in percent, their mean and spread, and the ensemble's where runs share nodes."""
    import numpy as np

    from kernode.metrics import mean_and_std

    shared = all(rows is nodes[0] for rows in nodes)
    rows = nodes[0] if shared else np.stack(nodes)
    if rows.size == 0:
        return {"accuracy_mean": None, "accuracy_std": None, "runs": [], "ensemble_accuracy": None}
    by_run = probabilities(rows)  # r × m × c
    runs = 100 * (by_run.argmax(axis=-1) == labels[rows]).mean(axis=-1)
    mean, std = mean_and_std(runs)
    ensemble = 100 * (by_run.mean(axis=0).argmax(axis=-1) == labels[rows]).mean() if shared else None
    return {
        "accuracy_mean": round(mean, 4),
        "accuracy_std": round(std, 4),
        "runs": [round(float(run), 4) for run in runs],
        "ensemble_accuracy": None if ensemble is None else round(float(ensemble), 4),
    }


def _print_report(report: dict[str, Any], graph: Graph, splits: list[Split]) -> None:
    sizes = " / ".join(f"{len(part):,}" for part in (splits[0].train, splits[0].validation, splits[0].test))
    r, seed = report["replicas"], report["seed"]
    runs = f"{r} runs, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 run, seed {seed}"
    say(f"[bold]{graph.name}[/] · {report['variant']} · split {report['split']} ({sizes}) · {runs}")
    for part in ("test", "validation"):
        values = report[part]
        if values["accuracy_mean"] is None:
            continue
        spread = f" ± {values['accuracy_std']:.2f}" if r > 1 else ""
        together = values["ensemble_accuracy"]
        note = f"   (all runs together: {together:.2f} %)" if r > 1 and together is not None else ""
        say(f"  {part + ' accuracy':<20} [bold]{values['accuracy_mean']:.2f}{spread} %[/]{note}")
    if report["hop_weights"]:
        weights = "  ".join(f"{weight:.2f}" for weight in report["hop_weights"])
        say(f"  {'hop weights ω':<20} {weights}   (at 0, 1, … hops; mean of the runs)")
    say(
        f"  {'time and memory':<20} {report['seconds_total']:.1f} s, "
        f"{1000 * report['seconds_per_epoch']:.0f} ms an epoch, {report['peak_memory_mb']:.0f} MB at most"
    )
    say(f"  {'model':<20} {report['model']}")
    say(f"Next: [bold]kernode predict {report['model']} -o predictions.csv[/]")


def _note(values: dict[str, Any]) -> str:
    accuracy = values.get("validation_accuracy")
    return "" if accuracy is None else f"validation {accuracy.mean():.1f} %"


def _data_name(data: str) -> str:
    return Path(data).stem if Path(data).suffix else data


def _widths(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(width) for width in text.split(",") if width)
    except ValueError:
        raise InputError(f"--hidden must be widths such as 16 or 64,32. Got {text!r}.") from None


def _hop_weights(text: str | None) -> Any:
    if text is None or text == "learned":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--hop-weights must be 'learned' or a number c. Got {text!r}.") from None
