from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from kernode.errors import InputError
from kernode.io import datasets, load, load_graph, write_npz


def test_a_path_is_read_as_text_or_as_path(tmp_path, monkeypatch):
    write_npz(load_graph("cora"), tmp_path / "copy.npz")
    monkeypatch.chdir(tmp_path)
    for data in ("copy.npz", "./copy.npz", Path("copy.npz"), str(tmp_path / "copy.npz")):
        assert load_graph(data).n_nodes == 2708


@pytest.mark.parametrize(
    ("name", "hint"), [("coar", "cora"), ("Coar", "cora"), ("cite-seer", "citeseer"), ("Pub-Med", "pubmed")]
)
def test_a_name_nearly_right_is_corrected(name, hint):
    with pytest.raises(InputError, match=f"There is no data set '{name}'. Did you mean '{hint}'"):
        load_graph(name)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        InputError, match=r"no data set 'reddit'\. Give one of cora, citeseer, pubmed, or the path"
    ):
        load_graph("reddit")


@pytest.mark.parametrize("path", ["edges.docx", "folder/graph", Path("graph")])
def test_another_kind_of_file_is_refused(path):
    with pytest.raises(
        InputError, match=r"is neither an \.npz graph, a table of edges \(\.csv.*\) nor a store"
    ):
        load_graph(path)


def test_load_hands_the_split_and_the_seed_on():
    _, first = load("cora", "jk", seed=1)
    _, second = load("cora", "jk", seed=2)
    assert first.train.tolist() != second.train.tolist()


def test_the_registry_holds_the_papers_table_1_without_loading():
    table = [
        (d.title, d.nodes, d.paper_edges, d.classes, d.features, d.paper_fastgcn, d.paper_jk)
        for d in datasets()
    ]
    assert table == [
        ("Cora", 2708, 5429, 7, 1433, (1208, 500, 1000), (1624, 542, 542)),
        ("Citeseer", 3327, 4732, 6, 3703, (1827, 500, 1000), (1997, 665, 665)),
        ("Pubmed", 19717, 44338, 3, 500, (18217, 500, 1000), None),
    ]
    assert [entry.available for entry in datasets()] == [True, False, False]
    assert asdict(datasets()[0])["available"] is True
