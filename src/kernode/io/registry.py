"""The data sets that go by a name, with every published figure about them (the paper's Table 1)."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernode.errors import InputError, bad_setting
from kernode.graph import Graph
from kernode.io.synthetic import is_synthetic
from kernode.storage import cache_folder

Sizes = tuple[int, int, int]  # training, validation and test nodes


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """What is known about a data set without opening it.

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
    paper_jk: Sizes | None
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
        try:
            return self.path.is_file()
        except OSError:  # a cache folder that this user may not look into
            return False


# Planetoid numbers the classes. Cora's names were matched through LINQS's file, node by node. For the
# other two no file with names was at hand to match, so the numbers stay.
_ENTRIES = (
    DataSet(
        name="cora",
        title="Cora",
        origin="McCallum et al. 2000, LINQS (Sen et al. 2008), Planetoid's order (Yang et al. 2016)",
        nodes=2_708,
        edges=5_278,
        paper_edges=5_429,
        self_loops=0,
        features=1_433,
        class_names=(
            "Theory",
            "Reinforcement_Learning",
            "Genetic_Algorithms",
            "Neural_Networks",
            "Probabilistic_Methods",
            "Case_Based",
            "Rule_Learning",
        ),
        unlabelled=0,
        public_training=140,
        before_test=1_708,
        fastgcn=(1_208, 500, 1_000),
        paper_fastgcn=(1_208, 500, 1_000),
        jk=(1_624, 542, 542),
        paper_jk=(1_624, 542, 542),
        fingerprint="08a688831a328941d4562409d8ddcea53ad348ec21e4bdaeab4e2db577beeccb",
        packaged=True,
    ),
    DataSet(
        name="citeseer",
        title="Citeseer",
        origin="Giles et al. 1998, LINQS (Sen et al. 2008), Planetoid's files (Yang et al. 2016)",
        nodes=3_327,
        edges=4_552,
        paper_edges=4_732,
        self_loops=124,
        features=3_703,
        class_names=("0", "1", "2", "3", "4", "5"),
        unlabelled=15,
        public_training=120,
        before_test=2_312,
        fastgcn=(1_812, 500, 1_000),
        paper_fastgcn=(1_827, 500, 1_000),  # counts the 15 nodes without label
        jk=(1_988, 662, 662),
        paper_jk=(1_997, 665, 665),  # these too
        fingerprint="a235f1365fed04604e0fd714d5a6f6d176fa832f59039a3ac35b84ef1a44461d",
    ),
    DataSet(
        name="pubmed",
        title="Pubmed",
        origin="LINQS (Sen et al. 2008), Planetoid's files (Yang et al. 2016)",
        nodes=19_717,
        edges=44_324,
        paper_edges=44_338,
        self_loops=3,
        features=500,
        class_names=("0", "1", "2"),
        unlabelled=0,
        public_training=60,
        before_test=18_717,
        fastgcn=(18_217, 500, 1_000),
        paper_fastgcn=(18_217, 500, 1_000),
        jk=(11_831, 3_943, 3_943),
        paper_jk=None,
        fingerprint="bf77ad6dd776ec243118a2a3a54709984aa7e5c56f9c258fa75e32480e5c01e7",
    ),
)
_BY_NAME = {entry.name: entry for entry in _ENTRIES}
_MADE: dict[str, Callable[[], Graph]] = {}  # by name: functions that make a graph


def data_set(name: str) -> Callable[[Callable[[], Graph]], Callable[[], Graph]]:
    """Give a graph a name: ``@data_set("mine")`` above a function that makes or reads it.

    >>> @data_set("a-pair")
    ... def pair():
    ...     return Graph.from_edges([(0, 1)], [[1.0], [2.0]])
    >>> made("A-pair"), made("nothing")
    (Graph('a-pair': 2 nodes, 1 edges, 1 features, 0 classes), None)
    """
    if name != name.lower() or name in _BY_NAME or is_synthetic(name):
        raise bad_setting("name", "in small letters, and not the name of another data set", name)

    def add(make: Callable[[], Graph]) -> Callable[[], Graph]:
        _MADE[name] = make
        return make

    return add


def made(name: str) -> Graph | None:
    """The graph that :func:`data_set` gave this name, whatever its case; None where it gave it to none."""
    make = _MADE.get(name.lower())
    return None if make is None else replace(make(), name=name.lower())


def datasets() -> tuple[DataSet, ...]:
    """Every data set that goes by a name, and whether it is on this machine already.

    >>> [(entry.title, entry.nodes, entry.edges, entry.classes) for entry in datasets()]
    [('Cora', 2708, 5278, 7), ('Citeseer', 3327, 4552, 6), ('Pubmed', 19717, 44324, 3)]
    """
    return tuple(replace(entry, available=entry.is_here) for entry in _ENTRIES)


def is_registered(name: str) -> bool:
    """Whether a data set goes by this name, so that no file is needed.

    >>> is_registered("Cora"), is_registered("synthetic:nodes=50"), is_registered("mine")
    (True, True, False)
    """
    return name.lower() in (*_BY_NAME, *_MADE) or is_synthetic(name)


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
    known = [*_BY_NAME, *_MADE]
    close = difflib.get_close_matches(name.lower().partition(":")[0], [*known, "synthetic"], n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise InputError(
        f"There is no data set '{name}'.{hint} "
        f"Give one of {', '.join(known)}, or the path of an .npz file, or synthetic:nodes=1000,degree=10.",
        "unknown",
        what="data set",
        name=name,
    )


def identify(graph: Any) -> DataSet | None:
    """Return the data set that a graph or a store is, by its name and fingerprint, or None."""
    entry = _BY_NAME.get(graph.name)
    return entry if entry is not None and entry.fingerprint == graph.fingerprint else None
