"""The worked examples of docs/architecture.md, added to a copy of the package and run there."""

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernode

ROOT = Path(__file__).parents[2]
PACKAGE = Path(kernode.__file__).parent  # of the checkout or of a wheel
PAGE = (ROOT / "docs" / "architecture.md").read_text()
NEW = re.compile(r"`(src/kernode/[\w/]+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
LINE = re.compile(r"In `(src/kernode/[\w/]+\.py)`, one line:\n\n```python\n(.*?)```", re.DOTALL)
EXAMPLE = re.compile(r"```python\n(>>> .*?)```", re.DOTALL)
SHELL = re.compile(r"```\n\$ (.*?)\n(.*?)```", re.DOTALL)
SECTIONS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", PAGE, re.DOTALL | re.MULTILINE))
PARTS = ("A map", "A kernel", "A loss", "A command")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package with all additions."""
    folder = tmp_path_factory.mktemp("copy")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "src" / "kernode", ignore=without)
    for path, content in NEW.findall(PAGE):
        assert not (folder / path).exists()
        (folder / path).write_text(content)
    for path, line in LINE.findall(PAGE):
        with (folder / path).open("a") as file:
            file.write(line)
    return folder


def run(folder, *arguments):
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.mark.parametrize("title", PARTS)
def test_a_part_is_one_new_file_and_at_most_one_line_of_ours(title):
    section = SECTIONS[title]
    assert len(NEW.findall(section)) == 1
    touched = LINE.findall(section)
    assert len(touched) <= 1
    assert all(line.count("\n") == 1 for _, line in touched)


def test_a_task_is_its_own_file_an_estimator_and_one_line_of_ours():
    section = SECTIONS["A task"]
    places = [Path(path).parent.name for path, _ in NEW.findall(section)]
    assert places == ["tasks", "estimators"]
    ((_, line),) = LINE.findall(section)
    assert line.count("\n") == 1


@pytest.mark.slow
def test_python_examples_give_what_the_page_shows(copy):
    examples = "".join(EXAMPLE.findall(PAGE))
    assert len(doctest.DocTestParser().get_examples(examples)) > 15
    (copy / "examples.txt").write_text(examples)
    program = "import doctest, sys; sys.exit(doctest.testfile('examples.txt', module_relative=False).failed)"
    run(copy, "-c", program)


@pytest.mark.slow
def test_new_command_prints_what_the_page_shows_and_knows_the_new_parts(copy):
    ((command, shown),) = SHELL.findall(SECTIONS["A command"])
    assert run(copy, "-m", "kernode", *command.split()[1:]) == shown
    text = run(
        copy, "-m", "kernode", "fit", "synthetic:nodes=200", "--set", "map=NeighbourMean()",
        "--set", "kernel=cauchy", "--set", "loss=joint", "--set", "loss.kernel_loss=exponential",
        "--epochs", "3", "--replicas", "1", "--quiet", "--variant", "k3",
    )  # fmt: skip
    assert "test accuracy" in text


@pytest.fixture
def draw_rooms(monkeypatch):
    """The script that draws the picture."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("draw_rooms")


def test_every_room_of_the_picture_is_there_and_described(draw_rooms):
    rooms = [room for row in draw_rooms.layers() for room in row]
    assert set(rooms) == set(draw_rooms.ROOMS)
    inside = PACKAGE.iterdir()
    there = {path.stem for path in inside if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert there - {"__init__", "__main__", "plots"} == set(rooms)  # plots: a public name for viz


def test_picture_is_of_todays_rooms(draw_rooms, tmp_path):
    draw_rooms.draw(tmp_path / "rooms")
    assert (tmp_path / "rooms.svg").read_bytes() == (ROOT / "docs" / "images" / "rooms.svg").read_bytes()
