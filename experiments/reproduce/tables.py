"""The settings files, one per table: what is run, which of it the paper states, and the printed figures."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from kernode.errors import FileError, InputError
from kernode.search.results import digest_of

SETTINGS = Path(__file__).with_name("settings")
TABLES = (  # in the order of printing
    *(f"table{number}" for number in range(1, 6)),
    *("beyond", "tuned", "tuned-jk", "tuned-links", "similarity", "figures"),
)
KINDS = ("counts", "nodes", "links", "figures")
SECTIONS = ("stated", "changed", "unstated", "readings")


@dataclass(frozen=True)
class Printed:
    """A figure of the paper: its mean, its spread where it has one, and how it is printed."""

    mean: float
    std: float | None
    text: str

    @classmethod
    def of(cls, text: str, where: str) -> Printed:
        """Read "86.68 ± 0.17" or "86.0".

        >>> Printed.of("86.68 ± 0.17", "table2.toml")
        Printed(mean=86.68, std=0.17, text='86.68 ± 0.17')
        """
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?", text)
        if found is None:
            raise InputError(
                f"{where}: {text!r} is not a figure. Write it as '86.68 ± 0.17' or '86.0'.",
                "wrong-file",
                value=text,
            )
        return cls(float(found[1]), None if found[2] is None else float(found[2]), text)


@dataclass(frozen=True)
class Cell:
    """One system on one data set. ``settings`` are all that decides its figures, and nothing else."""

    table: str
    row: str
    dataset: str
    reading: str  # "" where there is only one
    settings: Mapping[str, Any]
    paper: Mapping[str, Printed]

    @cached_property
    def digest(self) -> str:
        """Key of the stored result, which cells of other tables with the same settings share."""
        return digest_of(self.settings)

    @property
    def name(self) -> str:
        """Name for file names and the progress bar."""
        return "-".join(filter(None, (self.dataset, self.row, self.reading)))

    @property
    def source(self) -> str:
        """Where its settings are, for errors."""
        return f"{self.table}.toml, [{self.row}]"

    @property
    def values(self) -> dict[str, Any]:
        """Settings of method and training."""
        return {name: value for name, value in self.settings.items() if name not in _AROUND}

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of its runs."""
        return tuple(range(self.settings["seed"], self.settings["seed"] + self.settings["runs"]))


# Of a cell's settings, what does not belong to its method: where it is run, and how a figure is made of it.
_AROUND = ("kind", "dataset", "split", "runs", "seed", "perplexity", "iterations", "tsne_seed", "pixels")


@dataclass(frozen=True)
class Row:
    """A line of a table: one system, one reading."""

    name: str
    title: str
    reading: str
    cells: Mapping[str, Cell]  # by data set


@dataclass(frozen=True)
class Table:
    """A settings file."""

    name: str
    title: str
    kind: str
    datasets: tuple[str, ...]
    rows: tuple[Row, ...]
    marks: Mapping[str, Mapping[str, str]]  # by row and value: the section it stands in
    facts: Mapping[str, Any]  # the file's other values

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics shown of each cell."""
        usual = {"nodes": ("accuracy",), "links": ("auc", "ap")}
        return tuple(self.facts.get("metrics", usual.get(self.kind, ())))

    def only(self, datasets: Iterable[str]) -> Table:
        """The same table with some of its data sets."""
        kept = set(datasets)
        rows = [
            replace(row, cells={name: cell for name, cell in row.cells.items() if name in kept})
            for row in self.rows
        ]
        return replace(
            self,
            datasets=tuple(name for name in self.datasets if name in kept),
            rows=tuple(row for row in rows if row.cells),
        )

    def cells(self) -> Iterator[Cell]:
        """Every cell, row by row."""
        for row in self.rows:
            yield from row.cells.values()


def read_tables(names: Iterable[str], folder: Path | None = None, runs: int | None = None) -> list[Table]:
    """Read some tables' settings, in the order of printing."""
    if folder is not None and not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Copy {SETTINGS} there first.", "no-file", path=folder)
    return [read_paper_table(name, folder, runs) for name in TABLES if name in names]


def read_paper_table(name: str, folder: Path | None = None, runs: int | None = None) -> Table:
    """Read a table's settings from a folder, or those of this package.

    >>> table = read_paper_table("table2")
    >>> cell = next(table.cells())
    >>> cell.name, cell.paper["accuracy"].mean
    ('cora-kled', 82.3)
    """
    path = (folder or SETTINGS) / f"{name}.toml"
    if folder is not None and not path.is_file():
        path = SETTINGS / path.name
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}.", "wrong-file", path=path) from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(f"{path} cannot be read ({error}).", "damaged-file", path=path) from None
    if content.get("kind") == "figures":
        return _figures(content, read_paper_table("table2", folder, runs), path.name)
    return _table(name, content, path.name, runs)


def _figures(content: dict[str, Any], table2: Table, where: str) -> Table:
    """Figures of rows of Table 2, as the paper reads them (their first reading)."""
    first = {row.name: row for row in reversed(table2.rows)}
    rows = []
    for figure, section in content.items():
        if not isinstance(section, dict):
            continue
        own = dict(section)
        title, datasets, names = own.pop("title"), own.pop("datasets"), own.pop("rows")
        for name in names:
            if name not in first:
                raise InputError(
                    f"{where}, [{figure}]: {name!r} is not a row of table2.toml.", "unknown", name=name
                )
            cells = {}
            for dataset in datasets:
                of = first[name].cells[dataset]
                settings = {**of.settings, **own, "kind": figure}
                cells[dataset] = Cell("figures", f"{figure}-{name}", dataset, "", settings, {})
            rows.append(Row(f"{figure}-{name}", f"{title}: {first[name].title}", "", cells))
    facts = {key: value for key, value in content.items() if not isinstance(value, dict)}
    return Table("figures", content["title"], "figures", (), tuple(rows), {}, facts)


def _table(name: str, content: dict[str, Any], where: str, runs: int | None) -> Table:
    facts = {key: value for key, value in content.items() if not isinstance(value, dict)}
    sections = {key: value for key, value in content.items() if isinstance(value, dict)}
    needed = (
        "title",
        "kind",
        "datasets",
        *(() if facts.get("kind") == "counts" else ("split", "runs", "seed")),
    )
    missing = [key for key in needed if key not in facts]
    if missing or facts["kind"] not in KINDS:
        raise InputError(
            f"{where}: {missing[0] if missing else 'kind'!r} is missing or unknown at its top.",
            "missing",
            setting=missing[0] if missing else "kind",
        )
    if runs is not None and "runs" in facts:
        facts["runs"] = runs
    common = sections.pop("common", {})
    rows: list[Row] = []
    marks = {}
    for key, section in sections.items():
        merged = _merged(common, section, f"{where}, [{key}]")
        marks[key] = {value: part for part, values in merged.items() for value in values}
        rows += _rows(name, key, section, merged, facts, where)
    return Table(name, facts["title"], facts["kind"], tuple(facts["datasets"]), tuple(rows), marks, facts)


def _merged(common: dict[str, Any], section: dict[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """A row's four sections over those that all rows share; a value stands in one of them."""
    unknown = set(section) - {*SECTIONS, "title", "paper"}
    if unknown:
        name = sorted(unknown)[0]
        raise InputError(f"{where}: {name!r} is not one of {', '.join(SECTIONS)}.", "unknown", name=name)
    own = {part: section.get(part, {}) for part in SECTIONS}
    named = [value for part in SECTIONS for value in own[part]]
    twice = [value for value in named if named.count(value) > 1]
    if twice:
        raise InputError(
            f"{where}: {twice[0]!r} is given twice. Keep one of them.", "duplicate", setting=twice[0]
        )
    shared = {
        part: {key: value for key, value in common.get(part, {}).items() if key not in named}
        for part in SECTIONS
    }
    return {part: shared[part] | own[part] for part in SECTIONS}


def _rows(
    table: str,
    name: str,
    section: dict[str, Any],
    merged: dict[str, dict[str, Any]],
    facts: dict[str, Any],
    where: str,
) -> Iterator[Row]:
    """One row for each combination of readings."""
    values = {key: value for part in SECTIONS[:3] for key, value in merged[part].items()}
    readings = merged["readings"]
    around = {key: facts[key] for key in _AROUND if key in facts}
    for chosen in product(*readings.values()):
        reading = "-".join(map(str, chosen))
        cells = {}
        for dataset in facts["datasets"]:
            own = {key: value for key, of in values.items() if (value := _on(dataset, of)) is not None}
            settings = around | {"dataset": dataset} | own | dict(zip(readings, chosen, strict=True))
            paper = _printed(facts["kind"], section.get("paper", {}).get(dataset), f"{where}, [{name}]")
            cells[dataset] = Cell(table, name, dataset, reading, settings, paper)
        yield Row(name, section.get("title", name), reading, cells)


def _on(dataset: str, value: Any) -> Any:
    """A value that differs between data sets is a table of them; None: it is not set on this one."""
    return value.get(dataset) if isinstance(value, dict) else value


def _printed(kind: str, figure: Any, where: str) -> dict[str, Printed]:
    if figure is None:
        return {}
    if kind == "counts":  # compared as they are printed
        return {kind: Printed(math.nan, None, str(figure))}
    named = figure if isinstance(figure, dict) else {"accuracy": figure}
    return {metric: Printed.of(str(text), where) for metric, text in named.items()}
