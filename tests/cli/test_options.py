"""Groups of options: what typer sees of them, and what a command gets."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from kernode.cli.fit import FitGraphOptions
from kernode.cli.option_groups import Command, expanded
from kernode.cli.options.graph import GraphOptions, TableOptions
from kernode.cli.options.run import FitOptions, FitSettings
from kernode.errors import FileError, InputError
from kernode.kernels import RBF
from kernode.maps import GCN
from kernode.storage import write_tensors
from refusals import refused


@dataclass(frozen=True, kw_only=True)
class Colour:
    colour: Annotated[str, typer.Option(help="Which.")] = "red"
    bright: Annotated[bool, typer.Option("--bright", help="Or not.")] = False


@dataclass(frozen=True, kw_only=True)
class Painted(Colour):
    what: Annotated[str, typer.Argument(help="What is painted.")]


def app_of(command):
    app = typer.Typer(rich_markup_mode="rich")
    app.command(cls=Command)(expanded(command))
    return app


def test_a_group_is_one_value_for_the_command_and_options_for_typer():
    got = []

    def paint(*, painted: Painted, times: Annotated[int, typer.Option(help="How often.")] = 1) -> None:
        got.append((painted, times))

    names = list(inspect.signature(expanded(paint)).parameters)
    assert names == ["colour", "bright", "what", "times", "context"]
    app = app_of(paint)
    for arguments, expected in [
        (["door"], (Painted(what="door"), 1)),
        (["--colour", "blue", "door", "--bright"], (Painted(what="door", colour="blue", bright=True), 1)),
        (["--times", "3", "door"], (Painted(what="door"), 3)),
    ]:
        assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
        assert got.pop() == expected
    assert CliRunner().invoke(app, []).exit_code == 2  # what has no default must be given


def test_two_groups_with_one_name_are_a_mistake_of_ours():
    def paint(*, first: Colour, second: Painted) -> None: ...

    with pytest.raises(ValueError, match="duplicate"):
        expanded(paint)


def test_docstrings_flow_whatever_the_width_of_the_terminal():
    def paint(*, colour: Colour) -> None:
        """Paint it.

        A sentence that goes on
        in the next line.
        """

    assert expanded(paint).__doc__ == "Paint it.\n\nA sentence that goes on in the next line."
    assert "<bool>" not in CliRunner().invoke(app_of(paint), ["--help"]).output


def test_only_what_was_given_changes_a_variant():
    assert FitGraphOptions(data="cora").method_changes() == {}
    changes = ["map.hops=3", "map.hidden=64,32", "map.hop-weights=0.5", "loss=joint", "training.dropout=0"]
    found = FitGraphOptions(data="cora", changes=[*changes, "method.steps=4"]).method_changes(epochs=0)
    assert found == {
        "map": {"hops": 3, "hidden": (64, 32), "hop_weights": 0.5}, "loss": {"objective": "joint"},
        "training": {"dropout": 0}, "steps": 4, "epochs": 0,
    }  # fmt: skip
    parts = FitGraphOptions(data="cora", changes=["map=gcn", "map.hidden=8", "kernel=RBF(gamma=0.5)"])
    assert parts.method_changes() == {"map": GCN(hidden=(8,)), "kernel": RBF(0.5)}


def test_settings_have_types_and_belong_to_a_command():
    run = FitGraphOptions(data="cora", changes=["run.threads=2", "run.deterministic=true"]).part("run")
    assert (run.threads, run.deterministic, run.device) == (2, True, "auto")
    for wrong in ("run.threads=two", "run.deterministic=maybe", "run.folds=2", "table.negative=keep"):
        with pytest.raises(InputError):
            FitGraphOptions(data="cora", changes=[wrong])
    with pytest.raises(InputError):
        GraphOptions(data="cora", changes=["run.threads=2"])
    assert FitGraphOptions(data="cora", changes=["a=b/tuned.toml"]).settings_file == Path("a=b/tuned.toml")


def test_files_of_a_graph_are_told_to_the_next_command():
    cora = GraphOptions(data="cora")
    assert (cora.name, cora.model_words, cora.words) == ("cora", [], ["cora"])
    own = GraphOptions(data="my/e.csv", nodes=["n.csv"], label="topic", changes=["table.positions=8"])
    assert own.name == "e"
    assert own.model_words == ["--graph", "my/e.csv", "--nodes", "n.csv"]
    tables = ["my/e.csv", "--nodes", "n.csv", "--label", "topic", "--set", "table.positions=8"]
    assert own.words == tables


def test_options_about_tables_are_for_tables(tables, graph_file):
    with refused("no-effect", setting="label"):
        GraphOptions(data="cora", label="topic").graph()
    changes = ["table.id=who", "table.source=one", "table.target=other"]
    options = TableOptions(nodes=[tables[2]], label="group", changes=changes)
    one, other = options.graphs([tables[0], "cora"])
    assert (one.n_classes, other.name) == (3, "cora")
    with refused("no-effect", setting="nodes"):
        options.graphs(["cora", graph_file])


def test_resume_needs_a_file_and_a_checkpoint_a_place(tmp_path):
    assert FitOptions().file() is None
    with refused("missing", setting=("resume", "checkpoint")):
        FitOptions(resume=True).file()
    with refused("wrong-file", path=tmp_path):
        FitOptions(checkpoint=tmp_path).file()
    with refused("no-file", setting="resume"):
        FitOptions(checkpoint=tmp_path / "c", resume=True).file()
    (tmp_path / "c-k3").touch()
    with pytest.raises(FileError):
        FitOptions(checkpoint=tmp_path / "c", resume=True).file(10, ["", "k3"])
    write_tensors(tmp_path / "c-k3", "checkpoint", {}, {})
    found = FitOptions(checkpoint=tmp_path / "c", resume=True).file(3, ["", "k3"])
    assert (found.path, found.every, found.resume) == (tmp_path / "c", 3, True)


def test_runs_have_seeds_and_a_place():
    assert list(FitOptions(replicas=3, seed=5).seeds()) == [5, 6, 7]
    place = FitSettings(precision=64, device="cpu").place()
    assert (place.device.type, place.dtype.itemsize) == ("cpu", 8)
