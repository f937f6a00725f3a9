"""``kernode compare``: variants on the same random splits, tested in pairs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rich.markup import escape

from kernode.cli.console import new_table, print_json, print_table, progress, say
from kernode.cli.files import check_folder
from kernode.cli.jobs import JobOptions, JobsOption
from kernode.cli.option_groups import argument, option
from kernode.cli.options.graph import DATA_HELP, TableOptions, show_notes
from kernode.cli.options.run import OutputOptions
from kernode.errors import InputError, bad_setting, kept

if TYPE_CHECKING:
    from kernode.compute.tensor_options import TensorOptions
    from kernode.search.compare import Comparison
    from kernode.search.results import Results

VARIANTS = "default,k3,n1,gcn,gat,sgc,appnp"


@dataclass(frozen=True, kw_only=True)
class CompareSettings(JobOptions):
    """How a comparison runs."""

    choose_on: str = "5"  # splits that choose a candidate for all; all: each split chooses for itself

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.choose_on != "all" and not (self.choose_on.isdecimal() and int(self.choose_on)):
            raise bad_setting("choose_on", "a number of splits, 1 or more, or all", self.choose_on)


@dataclass(frozen=True, kw_only=True)
class CompareTableOptions(TableOptions):
    """Tables among the graphs, and all settings of a comparison."""

    takes: ClassVar[dict[str, Any]] = TableOptions.takes | {"run": CompareSettings}


def compare(
    *,
    data: Annotated[list[str], argument(f"One or more: {DATA_HELP}")],
    tables: CompareTableOptions,
    variants: Annotated[
        str,
        option(
            "Variants of fit, default, and k3-c1 (ω = 1), k3-plain (no masks), k3-last, k3-released, "
            "k3-heavy (L_K × 10). The first is compared with all others."
        ),
    ] = VARIANTS,
    splits: Annotated[int, option("Random splits, the same for every variant.", min=2, max=1000)] = 30,
    split: Annotated[
        str,
        option(
            "Their sizes: training/validation/test; or 20-per-class: 20 nodes of each class train, 30 "
            "validate, the rest is tested."
        ),
    ] = "0.6/0.2/0.2",
    results: Annotated[Path, option("Folder where results are stored and looked for.")] = Path("results"),
    jobs: JobsOption = None,
    output: OutputOptions,
) -> None:
    """Compare variants on random splits, with paired tests.

    Validation picks a variant's settings on the first five splits (`--set run.choose_on=10`, or all: each
    split picks its own), test nodes are scored once, and differences are tested in pairs (Nadeau and Bengio,
    Holm). After an interrupt, repeat the command to continue.

    Example: [bold]kernode compare cora my-graph.npz --variants k3,gcn,gat --splits 30[/]

    Your own tables: [bold]kernode compare edges.csv --nodes nodes.csv --label topic --jobs 4[/]
    """
    names = list(dict.fromkeys(name.strip().lower() for name in variants.split(",") if name.strip()))
    if len(names) < 2:
        raise bad_setting("variants", f"two or more, such as {VARIANTS}", names)
    _check_sizes(split)
    check_folder(results)
    device: CompareSettings = tables.part("run").with_jobs(jobs)
    choose_on = 0 if device.choose_on == "all" else int(device.choose_on)

    from kernode.io.tables import is_table
    from kernode.search.baselines import compared_method
    from kernode.search.compare import Comparison, report
    from kernode.search.results import Results

    methods = {name: compared_method(name) for name in names}
    options, store = device.options(), Results(results)
    is_only = not any(map(is_table, data))
    graphs = {graph.name: graph for graph in (tables.read(one, is_only=is_only) for one in data)}
    for graph in graphs.values():
        tables.require_labels(graph)
    if len(graphs) < len(data):
        sentence = "two graphs have the same name. Rename one of the files, or name it once."
        raise InputError(sentence, "duplicate")
    for graph in graphs.values():
        show_notes(graph, quiet=output.silent)
    todo = [
        Comparison(graph, method, splits, split, choose_on)
        for graph in graphs.values()
        for method in methods.values()
    ]
    with device.computing():
        found = _run(todo, store, options, device, output.silent)
    figures: dict[str, dict[str, Any]] = {name: {} for name in graphs}
    for one, result in zip(todo, found, strict=True):
        figures[one.graph.name][one.method.name] = result
    notes = {name: list(graph.notes) for name, graph in graphs.items()}
    values = report(figures, methods, names[0]) | {"notes": notes}
    print_json(values) if output.json else _print_report(values)


def _run(
    todo: list[Comparison], store: Results, options: TensorOptions, device: JobOptions, quiet: bool
) -> list[dict[str, Any]]:
    """Run comparisons with a bar for each, or one for all where workers run them."""
    from kernode.cli.progress_bar import ProgressBar
    from kernode.search.compare import run_comparisons

    @contextmanager
    def local(title: str) -> Iterator[dict[str, Any]]:
        with progress(title, quiet=quiet) as begin:
            yield {"callbacks": (ProgressBar(begin),)}

    def missing() -> int:
        return sum(store.find(one) is None for one in todo)

    def stored() -> str:
        done = len(todo) - missing()
        return f"{done} of {len(todo)} comparisons are stored; repeat the command to continue."

    with kept(stored):
        if not missing() or not device.elsewhere:
            return run_comparisons(todo, store, options, threads=device.threads_each, local=local)
        with device.workers(), progress("compare", quiet=quiet) as begin:
            return run_comparisons(
                todo, store, options, threads=device.threads_each, progress=begin(missing())
            )


def _check_sizes(split: str) -> None:
    from kernode.io.node_split import is_per_class, parse_per_class, parse_sizes

    # by class, all others are tested
    sizes = parse_per_class(split) if is_per_class(split) else () if split == "jk" else parse_sizes(split)
    if not all(size > 0 for size in sizes):
        raise bad_setting("split", "sizes of training, validation and test nodes, all above 0", split)


def _print_report(values: dict[str, Any]) -> None:
    """Print a table for each graph, and one for each question."""
    for data in values["data"]:
        _print_figures(data)
    _print_differences(f"{values['against']} against the others", values["differences"], "against")
    for question in values["questions"]:
        title = f"{question['question']} ({question['with']} against {question['without']})"
        _print_differences(title, question["answers"], None)
    corrected = any(data["corrected"] for data in values["data"])
    test = "Nadeau and Bengio's corrected t-test" if corrected else "Student's t-test, over draws of labels"
    say(f"[dim]95 % intervals by {test}; p after Holm's correction.[/]")


def _print_figures(data: dict[str, Any]) -> None:
    columns = ("variant", "accuracy", "mAP", "precision at 10", "validation", "seconds")
    title = f"{escape(data['dataset'])}: {data['splits']} random splits, mean ± standard deviation, %"
    table = new_table(columns, left=("variant",), title=title)
    names = ("accuracy", "map", "precision_at_10", "validation")
    means = {name: [row[name]["mean"] for row in data["variants"] if row[name]] for name in names}
    for row in data["variants"]:
        cells = ["–"] * len(names)
        for at, name in enumerate(names):
            if figure := row[name]:
                text = f"{figure['mean']:.2f} ± {figure['std']:.2f}"
                cells[at] = f"[bold]{text}[/]" if figure["mean"] == max(means[name]) else text
        table.add_row(escape(row["title"]), *cells, f"{row['seconds']:.0f}")
    print_table(table)
    for row in data["variants"]:
        for one in row["tried"] or []:
            if one["lost"]:
                settings = ", ".join(f"{name} {value}" for name, value in one["settings"].items())
                candidate = f"candidate {settings or 'without changes'}"
                say(escape(f"{row['title']}: {candidate} failed: {one['lost']}"))
        if row["failed"]:
            say(escape(f"{row['title']}: no figures, {row['failed']}."))


def _print_differences(title: str, entries: list[dict[str, Any]], other: str | None) -> None:
    words = ("data", *([other] if other else []), "figure")
    columns = (*words, "difference", "95 % interval", "p", "verdict")
    table = new_table(columns, left=(*words, "verdict"), title=escape(title))
    for one in entries:
        colour = {"better": "green", "worse": "red"}.get(one["verdict"], "dim")
        name = one["dataset"].partition(":")[0]  # of a synthetic graph's long name
        table.add_row(
            *map(escape, (name, *([one[other]] if other else []), one["metric"])), f"{one['mean']:+.2f}",
            f"{one['low']:+.2f} … {one['high']:+.2f}", f"{one['p_corrected']:.3f}",
            f"[{colour}]{one['verdict']}[/]",
        )  # fmt: skip
    print_table(table)
