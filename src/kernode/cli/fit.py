"""``kernode fit``: train, score the test nodes once, save."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from kernode.cli.console import (
    DATA_HELP,
    JsonOption,
    QuietOption,
    check_writable,
    data_name,
    peak_memory_mb,
    print_json,
    progress,
    say,
    telling,
)
from kernode.cli.predictions import check_suffix, write_predictions
from kernode.cli.settings_file import with_settings
from kernode.cli.tables import (
    FeaturesOption,
    IdOption,
    LabelOption,
    NodesOption,
    PositionsOption,
    SourceOption,
    TargetOption,
    WeightOption,
    graph_from,
    print_notes,
    require_labels,
)
from kernode.errors import InputError

if TYPE_CHECKING:
    from kernode.data import Split

Method = {"rich_help_panel": "Method (default: as the variant has it)"}
Run = {"rich_help_panel": "Run"}


def fit(
    data: Annotated[str, typer.Argument(help=DATA_HELP)],
    nodes: NodesOption = None,
    label: LabelOption = None,
    id: IdOption = None,
    source: SourceOption = None,
    target: TargetOption = None,
    weight: WeightOption = None,
    features: FeaturesOption = None,
    positions: PositionsOption = None,
    variant: Annotated[
        str | None, typer.Option(help="A method by name; all are listed below.", show_default="auto")
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help="File that `kernode tune` wrote; other options win over it.", show_default=False),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="fastgcn, public, jk, fractions 0.6/0.2/0.2 or counts 140/500/1000."),
    ] = None,
    replicas: Annotated[int, typer.Option(help="Runs with seeds S, S+1, …, trained together.", **Run)] = 10,
    seed: Annotated[int, typer.Option(help="S, the first run's seed.", **Run)] = 0,
    hops: Annotated[int | None, typer.Option(help="H: neighbours at 0 … H hops.", **Method)] = None,
    layers: Annotated[int | None, typer.Option(help="Layers of the MLP.", **Method)] = None,
    hidden: Annotated[str | None, typer.Option(help="Hidden widths: 16, or 64,32.", **Method)] = None,
    powers: Annotated[
        str | None, typer.Option(help="each (paper), last (its code) or plain (no masks).", **Method)
    ] = None,
    hop_weights: Annotated[str | None, typer.Option(help="learned, or c for c^h.", **Method)] = None,
    epochs: Annotated[int | None, typer.Option(help="Training epochs.", **Method)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Adam's step size.", **Method)] = None,
    weight_decay: Annotated[float | None, typer.Option(help="L2 penalty.", **Method)] = None,
    dropout: Annotated[float | None, typer.Option(help="Rate after hidden layers.", **Method)] = None,
    input_dropout: Annotated[float | None, typer.Option(help="Rate on the features.", **Method)] = None,
    kernel_weight: Annotated[
        float | None, typer.Option(help="λ, weight of L_K beside L_Y.", **Method)
    ] = None,
    margin: Annotated[float | None, typer.Option(help="α of the triplet hinge.", **Method)] = None,
    triplets: Annotated[int | None, typer.Option(help="Triplets drawn each epoch.", **Method)] = None,
    kernel_loss: Annotated[str | None, typer.Option(help="hinge, squared or logistic.", **Method)] = None,
    class_weights: Annotated[str | None, typer.Option(help="balanced, for rare classes.", **Method)] = None,
    selection: Annotated[str | None, typer.Option(help="best (validation epoch) or last.", **Method)] = None,
    select_by: Annotated[str | None, typer.Option(help="best by accuracy, or by map.", **Method)] = None,
    patience: Annotated[int | None, typer.Option(help="Stop early after so many epochs.", **Method)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Model file.", **Run)] = None,
    all_labels: Annotated[
        bool,
        typer.Option("--all-labels", help="After testing, train again on all labels; save that.", **Run),
    ] = False,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Also predict every node: FILE.csv, .parquet or .json.", show_default=False, **Run),
    ] = None,
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

    Your own tables: [bold]kernode fit edges.csv --nodes nodes.parquet --label topic --predictions out.csv[/]
    """
    started = time.perf_counter()
    given = locals()
    changes = {name: given[name] for name in _CHANGES}
    changes |= {"hidden": _widths(hidden), "hop_weights": _hop_weights(hop_weights)}
    named = f"-{variant}" if variant else ""
    variant, changes = with_settings(settings, "variant", variant, "auto", changes)
    if all_labels and variant == "kled":
        raise InputError("--all-labels leaves no validation nodes, by which kled chooses: leave it out.")
    if resume and checkpoint is None:
        raise InputError("--resume needs --checkpoint FILE, the file to go on from.")
    out = out or Path(f"{data_name(data)}{named}.safetensors")
    for path in (out, checkpoint, predictions):
        check_writable(path)
    check_suffix(predictions)

    from kernode.compute.place import Place, set_threads
    from kernode.data.synthetic import is_synthetic
    from kernode.node_classification import experiment
    from kernode.node_classification.variants import candidates, without_effect
    from kernode.studies.cost import look_up, require_memory
    from kernode.training.checkpoint import Checkpoint
    from kernode.training.settings import seeds_from

    methods = candidates(variant, **changes)  # what is wrong with the options is said before a graph is read
    for name, (method, _) in methods.items():
        if idle := without_effect(method, [change for change in _CHANGES if given[change] is not None]):
            raise InputError(f"--{idle.replace('_', '-')} has no effect on {name}: leave it out.")
    set_threads(threads)
    place, seeds = Place.of(precision, device), seeds_from(seed, replicas)
    if is_synthetic(data):  # and what cannot fit before it is made
        for method, training in methods.values():
            require_memory(look_up(data), method, training, place)
    saving = Checkpoint(checkpoint, checkpoint_every, resume) if checkpoint is not None else None
    with progress(f"{data_name(data)} {variant}", quiet=quiet or json) as begin:
        graph = graph_from(
            data, nodes, label=label, id=id, source=source, target=target, weight=weight,
            features=features, positions=positions,
        )  # fmt: skip
        require_labels(graph, label)
        model, report, splits = experiment.run(
            graph, variant, seeds, place,
            split=split, changes=changes, checkpoint=saving,
            progress=lambda steps: telling(begin(steps), "validation_accuracy", "validation"),
        )  # fmt: skip
        epochs_run = max((len(values) for values in model.history.values()), default=0)
        epoch = model.seconds / max(1, epochs_run)
        if all_labels:
            model = experiment.learn_from_all(graph, model, place)
    model.save(out)
    if predictions is not None:
        write_predictions(predictions, model, graph, place.device.type)
    report |= {
        "seconds_total": round(time.perf_counter() - started, 3),
        "seconds_per_epoch": round(epoch, 5),
        "peak_memory_mb": peak_memory_mb(place.device.type),
        "model": str(out),
        "trained_again_on": model.train.shape[1] if all_labels else None,
        "predictions": None if predictions is None else str(predictions),
        "notes": list(graph.notes),
        "repairs": [repair.to_json() for repair in graph.repairs],
    }
    if json:
        print_json(report)
        return
    if graph.encoding is not None:
        print_notes(graph)
    _print_report(report, splits, _own_files(data, nodes))


# Options that change a variant, by the names that `configure` takes.
_CHANGES = (
    "hops", "layers", "powers", "epochs", "learning_rate", "weight_decay", "dropout", "input_dropout",
    "kernel_weight", "margin", "triplets", "kernel_loss", "class_weights", "selection", "patience",
    "select_by",
)  # fmt: skip


def _own_files(data: str, nodes: Path | None) -> str:
    """What a later command needs to be told of the data: files; any other is found by its name."""
    if not Path(data).suffix:
        return ""
    return f" {data}" + (f" --nodes {nodes}" if nodes else "")


def _print_report(report: dict[str, Any], splits: list[Split], files: str) -> None:
    sizes = " / ".join(f"{len(part):,}" for part in (splits[0].train, splits[0].validation, splits[0].test))
    r, seed, name = report["replicas"], report["seed"], escape(report["dataset"])
    runs = f"{r} runs, seeds {seed}-{seed + r - 1}" if r > 1 else f"1 run, seed {seed}"
    say(f"[bold]{name}[/] · {report['variant']} · split {report['split']} ({sizes}) · {runs}")
    if report["chosen_by_validation"]:
        tried = ", ".join(f"{name} {figure:.2f} %" for name, figure in report["chosen_by_validation"].items())
        say(f"  {'chosen by validation':<20} {tried}")
    for part in ("test", "validation"):
        values = report[part]
        if values["accuracy_mean"] is None:
            continue
        together = values["ensemble_accuracy"]
        note = f"   (all runs together: {together:.2f} %)" if r > 1 and together is not None else ""
        say(
            f"  {part + ' accuracy':<20} [bold]{_figure(values, 'accuracy_mean', 'accuracy_std', r)}[/]{note}"
        )
    if alike := report["test"]["similarity"]:
        precision = _figure(alike, "precision_at_10", "precision_at_10_std", r)
        ranked = _figure(alike, "map", "map_std", r)
        say(f"  {'similar nodes':<20} [bold]{ranked}[/] mAP, {precision} precision at 10")
    if report["hop_weights"]:
        weights = "  ".join(f"{weight:.2f}" for weight in report["hop_weights"])
        say(f"  {'hop weights ω':<20} {weights}   (at 0, 1, … hops; mean of the runs)")
    cost = f"{report['seconds_total']:.1f} s, {1000 * report['seconds_per_epoch']:.0f} ms an epoch"
    if report["peak_memory_mb"]:
        cost += f", {report['peak_memory_mb']:.0f} MB at most"
    say(f"  {'time and memory':<20} {cost}")
    model = escape(report["model"])
    again = report["trained_again_on"]
    say(f"  {'model':<20} {model}" + (f" (trained again on all {again:,} labelled nodes)" if again else ""))
    if report["predictions"]:
        say(f"  {'predictions':<20} {escape(report['predictions'])}")
    else:
        say(f"Next: [bold]kernode predict {model}{escape(files)} -o predictions.csv[/]")


def _figure(values: dict[str, Any], mean: str, std: str, runs: int) -> str:
    spread = f" ± {values[std]:.2f}" if runs > 1 else ""
    return f"{values[mean]:.2f}{spread} %"


def _widths(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(width) for width in text.split(",")) if text else ()
    except ValueError:
        raise InputError(f"--hidden must be widths such as 16 or 64,32. Got {text!r}.") from None


def _hop_weights(text: str | None) -> Any:
    if text is None or text == "learned":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--hop-weights must be 'learned' or a number c. Got {text!r}.") from None
