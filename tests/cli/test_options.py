"""Groups of options: what typer makes of them, and what a command gets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from kernode.cli.fitting import FitGraphOptions
from kernode.cli.option_groups import expanded, flag
from kernode.cli.options.graph import GraphOptions, TableOptions
from kernode.cli.options.run import FitOptions
from kernode.compute.tensor_options import TensorOptions
from kernode.errors import FileError, InputError
from kernode.io.sizes import GraphSizes
from kernode.kernels import RBF
from kernode.maps import GCN
from kernode.storage import write_tensors
from refusals import refused


@dataclass(frozen=True, kw_only=True)
class Colour:
    colour: Annotated[str, typer.Option(help="Which.")] = "red"
    bright: Annotated[bool, flag("Or not.", "--bright")] = False


@dataclass(frozen=True, kw_only=True)
class Painted(Colour):
    what: Annotated[str, typer.Argument(help="What is painted.")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("door", (Painted(what="door"), 1)),
        ("--colour blue door --bright", (Painted(what="door", colour="blue", bright=True), 1)),
        ("--times 3 door", (Painted(what="door"), 3)),
        ("", None),  # what has no default must be given
    ],
)
def test_a_group_is_one_value_for_the_command_and_options_for_typer(arguments, expected):
    got = []

    def paint(*, painted: Painted, times: Annotated[int, typer.Option(help="How often.")] = 1) -> None:
        got.append((painted, times))

    app = typer.Typer()
    app.command()(expanded(paint))
    ended = CliRunner().invoke(app, arguments.split())
    assert ended.exit_code == (0 if expected else 2)
    assert got == ([expected] if expected else [])


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


def test_options_about_tables_are_for_tables(tables):
    with refused("no-effect", setting="label"):
        GraphOptions(data="cora", label="topic").graph()
    changes = ["table.id=who", "table.source=one", "table.target=other"]
    options = TableOptions(nodes=[tables[2]], label="group", changes=changes)
    assert options.read(tables[0]).n_classes == 3
    assert options.read("cora", is_only=False).name == "cora"


def test_resume_needs_a_file_and_a_checkpoint_a_place(tmp_path):
    def checkpoint(every=10, parts=("",), **options):
        with FitOptions(**options).checkpoints(every, parts) as found:
            return found

    assert checkpoint() == []
    with refused("missing", setting=("resume", "checkpoint")):
        checkpoint(resume=True)
    with refused("wrong-file", path=tmp_path):
        checkpoint(checkpoint=tmp_path)
    with refused("no-file", setting="resume"):
        checkpoint(checkpoint=tmp_path / "c", resume=True)
    (tmp_path / "c-k3").touch()
    with pytest.raises(FileError):
        checkpoint(10, ["", "k3"], checkpoint=tmp_path / "c", resume=True)
    write_tensors(tmp_path / "c-k3", "checkpoint", {}, {})
    (found,) = checkpoint(3, ["", "k3"], checkpoint=tmp_path / "c", resume=True)
    assert (found.path, found.every, found.resume) == (tmp_path / "c", 3, True)


@pytest.mark.parametrize(
    ("values", "of_sum", "count"), [(10, True, 3), (10, False, 10), (10**6, True, 1), (10**6, False, 3)]
)
def test_large_graphs_and_sums_have_fewer_replicas_on_a_cpu(values, of_sum, count):
    sizes = GraphSizes(name="g", nodes=values, entries=0, features=1, classes=2)
    options = TensorOptions.of(32, "cpu")
    assert FitOptions().seeds(sizes, options, of_sum=of_sum) == tuple(range(count))
    assert FitOptions(replicas=4, seed=7).seeds(sizes, options, of_sum=of_sum) == (7, 8, 9, 10)
