"""Every command that takes a graph takes people's own tables: real CSV files, columns named by options."""

import json
import shlex
import shutil

import pytest

from commands import fails

SMALL = ("--epochs", "2", "--set", "run.device=cpu")
COMMANDS = {
    "fit": ("fit", *SMALL, "--replicas", "1"),
    "links": ("links", *SMALL, "--replicas", "1"),
    "tune": ("tune", *SMALL, "--trials", "2", "--variant", "n1"),
    "tune links": ("tune", *SMALL, "--trials", "2", "--metric", "auc"),
    "compare": ("compare", *SMALL[2:], "--variants", "label-propagation,smoother", "--splits", "2"),
    "dry run": ("fit", "--dry-run", *SMALL[2:]),
    "data info": ("data", "info"),
    "data convert": ("data", "convert", "-o", "graph.npz"),
    "data convert to a store": ("data", "convert", "-o", "store"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_tables_are_taken_and_output_is_for_programs_and_people(kernode, tables, words):
    status, out, err = kernode(*words, *tables, "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert report.get("dataset", "clusters") == "clusters"
    if (kernode.folder / "store").exists():  # which is never written over
        shutil.rmtree(kernode.folder / "store")
    status, out, err = kernode(*words, *tables)
    assert status == 0, err
    assert "clusters" in out


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_column_that_is_not_there_is_one_sentence(kernode, tables, words):
    fails(kernode(*words, *tables[:-1], "table.target=third"), 2, "'third'", "--set table.target=")
    assert not any(kernode.folder.iterdir())


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_options_about_tables_need_a_table(kernode, words):
    fails(kernode(*words, "cora", "--label", "topic"), 2, "cora is not a table", "--label")
    assert not any(kernode.folder.iterdir())


@pytest.mark.parametrize("name", ["fit", "tune", "compare"])
def test_a_table_without_classes_is_one_sentence(kernode, tables, name):
    columns = (*tables[:3], *tables[5:])
    fails(kernode(*COMMANDS[name], *columns), 2, "--label")


def test_columns_are_those_that_were_named(kernode, tables):
    facts = json.loads(
        kernode("data", "info", *tables, "--set", "table.features=x0,x1,x2:category", "--json")[1]
    )
    assert facts["nodes"] == 90
    assert sorted(facts["classes"]) == ["group 0", "group 1", "group 2"]
    assert {note.partition(":")[0] for note in facts["notes"]} >= {"x0", "x1"}
    assert "x3" not in " ".join(facts["notes"])


def test_compare_takes_a_table_beside_a_data_set(kernode, tables):
    options = ("--variants", "label-propagation,smoother", "--splits", 2, "--set", "run.device=cpu", "--json")
    report = json.loads(kernode("compare", "cora", *tables, *options)[1])
    assert [data["dataset"] for data in report["data"]] == ["cora", "clusters"]
    assert [row["variant"] for row in report["data"][1]["variants"]] == ["label-propagation", "smoother"]
    assert {entry["variant"] for entry in report["differences"]} == {"label-propagation"}


def test_the_next_command_of_a_search_reads_the_tables_in_the_same_way(kernode, tables):
    names = ("header=true", "encoding=utf-8", "decimal=.", "dates=dmy", "unknown=-1")
    changes = [f"table.{name}" for name in names]
    more = [word for change in changes for word in ("--set", change)]
    _, out, _ = kernode(*COMMANDS["tune"], *tables, *more)
    following = shlex.split(out.partition("Next: kernode ")[2])
    assert following[:2] == ["fit", tables[0]]
    assert set(changes) <= set(following)
    assert kernode(*following, "-q")[0] == 0


def test_the_next_command_of_fit_reads_the_tables_as_they_were(kernode, tables):
    _, out, _ = kernode(*COMMANDS["fit"], *tables)
    following = shlex.split(out.partition("Next: kernode ")[2])
    assert following == ["predict", "clusters.safetensors", "--graph", *tables[:3], "-o", "predictions.csv"]
    assert kernode(*following)[0] == 0
