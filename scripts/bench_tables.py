"""The tables of docs/performance.md, from what `python -m experiments bench --results results` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from table_text import markdown

DEVICES = ("cpu", "cuda")


def bench_tables(results: Path, documents: Path) -> dict[str, Callable[[], str]]:
    """All tables by name, one for each suite and device, and the picture."""
    kinds = {
        "step": step_table,
        "replicas": replicas_table,
        "memory": memory_table,
        "scale": scale_table,
        "complexity": complexity_table,
        "stages": stages_table,
    }
    tables = {
        f"bench_{suite}_{device}": partial(_measured, results, suite, device, table)
        for suite, table in kinds.items()
        for device in DEVICES
    }
    return tables | {"bench_picture": partial(picture, documents)}


def picture(documents: Path) -> str:
    """The picture, once scripts/plot_scaling.py has drawn it."""
    if not (documents / "images" / "scaling.png").exists():
        return "*Not drawn yet: `python scripts/plot_scaling.py`.*"
    return (
        "![Time of a training step and peak memory against adjacency entries, both axes logarithmic, one "
        "line for each system](images/scaling.png)\n\n[The same as SVG](images/scaling.svg)."
    )


def _measured(results: Path, suite: str, device: str, table: Callable[[dict[str, Any]], str]) -> str:
    path = results / f"bench-{suite}-{device}.json"
    if not path.exists():
        return (
            f"*Not measured yet: `python -m experiments bench {suite} --device {device} --results results`.*"
        )
    values = json.loads(path.read_text())
    return f"{measured_with(values, values['command'])}\n\n{table(values)}"


def measured_with(values: dict[str, Any], command: str) -> str:
    """What a table was measured on, with which versions and by which command, as the line above it."""
    machine, versions = values["machine"], values["machine"]["versions"]
    where = machine["gpu"] or f"{machine['processor']}, threads: {machine['threads']}"
    return (
        f"{where}; torch {versions['torch']}, PyTorch Geometric {versions['torch_geometric']}; `{command}`:"
    )


def step_table(values: dict[str, Any]) -> str:
    """Systems down, data sets across: milliseconds, and how many times as fast as PyG's GCN."""
    return _by_dataset(values, "one training step", _speed)


def memory_table(values: dict[str, Any]) -> str:
    """Systems down, data sets across: megabytes."""
    return _by_dataset(values, "peak memory, MB", lambda row: _number(row["peak_mb"]))


def _by_dataset(values: dict[str, Any], corner: str, cell: Callable[[dict[str, Any]], str]) -> str:
    rows = values["rows"]
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    found = {(row["system"], row["dataset"]): cell(row) for row in rows}
    return _table(
        [corner, *(name.capitalize() for name in datasets)],
        [
            [f"`{system}`", *(found.get((system, dataset), "") for dataset in datasets)]
            for system in dict.fromkeys(row["system"] for row in rows)
        ],
    )


def replicas_table(values: dict[str, Any]) -> str:
    """What more replicas cost."""
    head = [
        "system",
        "data",
        "replicas",
        "ms a step",
        "ms a replica",
        "steps of `pyg-gcn`",
        "of it a replica",
    ]
    costs = ("ms_per_step", "ms_per_replica", "gcn_steps", "gcn_steps_per_replica")
    return _table(
        head,
        [
            [
                f"`{row['system']}`",
                row["dataset"],
                str(row["replicas"]),
                *(_number(row[cost]) for cost in costs),
            ]
            for row in values["rows"]
        ],
    )


def scale_table(values: dict[str, Any]) -> str:
    """Entries down, systems across: milliseconds, megabytes (while stepping); then the exponents."""
    rows = values["rows"]
    systems = list(dict.fromkeys((row["system"], row["hidden"]) for row in rows))
    found = {(row["entries"], row["system"], row["hidden"]): row for row in rows}
    costs = _table(
        ["entries", *(f"`{system}`, hidden {hidden}" for system, hidden in systems)],
        [
            [f"{entries:,}", *(_cost(found[entries, *which]) for which in systems)]
            for entries in dict.fromkeys(row["entries"] for row in rows)
        ],
    )
    kinds = {"ms_per_step": "time", "peak_mb": "memory", "steps_mb": "memory while stepping"}
    growth = _table(
        ["exponent of", "system", "over all sizes", "over the upper decade"],
        [
            [
                kinds[one["cost"]],
                f"`{one['system']}`, hidden {one['hidden']}",
                _exponent(one["all_sizes"]),
                _exponent(one["upper_decade"]),
            ]
            for one in sorted(values["exponents"], key=lambda one: one["cost"])
        ],
    )
    return f"{costs}\n\n{growth}"


def complexity_table(values: dict[str, Any]) -> str:
    """The verdicts, then every measurement next to its formula."""
    claims = _table(
        ["the paper's claim", "verdict", "measured"],
        [[claim["claim"], f"**{claim['verdict']}**", claim["sentence"]] for claim in values["claims"]],
    )
    head = ["data", "system", "width F", "layers L", "hops h", "ms a step", "peak MB", "MB while stepping"]
    which = ("hidden", "layers", "hops")
    rows = _table(
        [*head, "formula: million multiply-adds", "formula: million numbers"],
        [
            [
                row["dataset"].split(":")[0],
                f"`{row['system']}`",
                *(str(row.get(name) or "") for name in which),
                *(_number(row[cost]) for cost in ("ms_per_step", "peak_mb", "steps_mb")),
                f"{row['formula_time'] / 1e6:,.1f}",
                f"{row['formula_memory'] / 1e6:,.2f}",
            ]
            for row in values["rows"]
        ],
    )
    return f"{claims}\n\n{rows}"


def stages_table(values: dict[str, Any]) -> str:
    """A line for each data set and shape: milliseconds, and how many times as fast as PyG's SAGE."""
    groups: list[list[dict[str, Any]]] = []
    for row in values["rows"]:
        if not row["system"].startswith("pyg"):
            groups.append([])
        groups[-1].append(row)
    head = ["data", "width × depth", "ours"]
    head += [f"`{row['system'].removesuffix('-epoch')}`" for row in groups[0][1:]]
    return _table(
        [*head, "times SAGE's speed", "times its speed on CSR"],
        [
            [
                rows[0]["dataset"].split(",")[0].capitalize(),
                f"{rows[1]['hidden']} × {rows[1]['layers']}",
                *(_number(row["ms_per_step"]) for row in rows),
                *(f"{row['ms_per_step'] / rows[0]['ms_per_step']:.2f}" for row in rows[1:3]),
            ]
            for rows in groups
        ],
    )


def _speed(row: dict[str, Any]) -> str:
    return f"{_number(row['ms_per_step'])} ms ({row['ratio_to_pyg_gcn']:.2f} ×)"


def _cost(row: dict[str, Any]) -> str:
    if row["ms_per_step"] is None:
        return row["note"] if len(row["note"]) < 40 else "does not fit into memory"
    return f"{_number(row['ms_per_step'])} ms, {_number(row['peak_mb'])} ({_number(row['steps_mb'])}) MB"


def _number(value: float | None) -> str:
    """Three digits that count."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _exponent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    return markdown(
        head, [[cell.replace("|", "\\|") for cell in cells] for cells in rows]
    )  # |V| is no border
