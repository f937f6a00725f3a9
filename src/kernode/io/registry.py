"""Registered data sets and their published figures (the paper's Table 1)."""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernode.errors import InputError
from kernode.io.synthetic import is_synthetic
from kernode.storage import cache_folder

Sizes = tuple[int, int, int]  # training, validation and test nodes


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Facts about a data set, without opening its file.

    Planetoid orders the nodes: first the ``public_training`` rows of ``x``, which begin the ``before_test``
    rows of ``ally``, and after these the test nodes. Both fixed splits follow from these two numbers.
    """

    name: str
    title: str
    origin: str
    nodes: int
    edges: int  # deduplicated, without self-loops: what the graph has
    paper_edges: int  # as the paper counts them
    self_loops: int  # dropped
    features: int
    class_names: tuple[str, ...]
    unlabelled: int
    public_training: int
    before_test: int
    fastgcn: Sizes
    paper_fastgcn: Sizes
    jk: Sizes
    paper_jk: Sizes | None = None
    fingerprint: str  # of the graph, so that another one of the same name is not taken for it
    packaged: bool = False
    available: bool = False  # in the package or in the cache; set by datasets()

    @property
    def classes(self) -> int:
        """Number of classes, c."""
        return len(self.class_names)

    @property
    def path(self) -> Path:
        """Where the graph's file is, or will be once it is fetched."""
        file = f"{self.name}.npz"
        return Path(__file__).with_name(file) if self.packaged else cache_folder() / file

    @property
    def is_here(self) -> bool:
        """Whether that file is there."""
        return os.path.isfile(self.path)  # noqa: PTH113 (False in a folder that this user may not look into)


def _entry(values: dict[str, Any]) -> DataSet:
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return DataSet(**values)


_FACTS = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
DIGESTS: dict[str, str] = _FACTS["sha256"]  # of Planetoid's raw files
_BY_NAME = {values["name"]: _entry(values) for values in _FACTS["datasets"]}


def datasets() -> tuple[DataSet, ...]:
    """List the registered data sets, and whether their files are on this machine.

    >>> [(entry.title, entry.nodes, entry.edges, entry.classes) for entry in datasets()]
    [('Cora', 2708, 5278, 7), ('Citeseer', 3327, 4552, 6), ('Pubmed', 19717, 44324, 3)]
    """
    return tuple(replace(entry, available=entry.is_here) for entry in _BY_NAME.values())


def is_registered(name: str) -> bool:
    """Whether a name is that of a registered or synthetic data set.

    >>> is_registered("Cora"), is_registered("synthetic:nodes=50"), is_registered("mine")
    (True, True, False)
    """
    return name.lower() in _BY_NAME or is_synthetic(name)


def find(name: str) -> DataSet:
    """Look a data set up by its name, whatever its case.

    >>> find("Cora").name
    'cora'
    >>> find("coar")
    Traceback (most recent call last):
    kernode.errors.InputError: There is no data set 'coar'. Did you mean 'cora'? ...
    """
    if name.lower() in _BY_NAME:
        return _BY_NAME[name.lower()]
    close = difflib.get_close_matches(name.lower().partition(":")[0], [*_BY_NAME, "synthetic"], n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    sentence = (
        f"There is no data set '{name}'.{hint} "
        f"Give one of {', '.join(_BY_NAME)}, or the path of an .npz file, or synthetic:nodes=1000,degree=10."
    )
    raise InputError(sentence, "unknown", what="data set", name=name)


def identify(graph: Any) -> DataSet | None:
    """Return the data set that a graph or a store is, by its name and fingerprint, or None."""
    entry = _BY_NAME.get(graph.name)
    return entry if entry is not None and entry.fingerprint == graph.fingerprint else None
