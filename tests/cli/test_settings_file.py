"""Settings files: new ones name their command, and those written before are still read."""

import pytest

import kernode as kn
from kernode.cli.settings_file import read_settings, with_settings, write_settings
from refusals import refused


def test_a_file_names_the_command_and_the_variant(tmp_path):
    path = tmp_path / "a.toml"
    write_settings(path, "links", "gae", {"learning_rate": 0.1, "hidden": [8]}, ["Why."])
    assert path.read_text() == (
        '# Why.\n\ncommand = "links"\nvariant = "gae"\n\n[settings]\nlearning_rate = 0.1\nhidden = [8]\n'
    )
    assert read_settings(path, "links") == ("gae", {"learning_rate": 0.1, "hidden": [8]})
    with refused("conflict", setting="settings"):
        read_settings(path, "fit")


@pytest.mark.parametrize(
    ("content", "command", "name"),
    [
        ('variant = "k3"\n[settings]\nepochs = 3', "fit", "k3"),
        ('method = "gae"\n[settings]\nepochs = 3', "links", "gae"),
        ('command = "fit"\nvariant = "K3"\n[settings]\nepochs = 3', "fit", "k3"),
    ],
)
def test_files_are_read_as_they_were_written_before_and_now(tmp_path, content, command, name):
    path = tmp_path / "a.toml"
    path.write_text(content)
    assert read_settings(path, command) == (name, {"epochs": 3})
    other = {"fit": "links", "links": "fit"}[command]
    with refused("conflict", setting="settings"):
        read_settings(path, other)


def test_what_the_line_gives_wins(tmp_path):
    path = tmp_path / "a.toml"
    write_settings(path, "fit", "k3", {"epochs": 3, "hops": 2}, [])
    assert with_settings(None, "fit", None, "auto", {"hops": 1}) == ("auto", {"hops": 1})
    assert with_settings(None, "fit", "K1", "auto", {}) == ("k1", {})
    assert with_settings(path, "fit", "K3", "auto", {"hops": 1}) == ("k3", {"epochs": 3, "hops": 1})
    with refused("conflict", setting="variant", value="n1"):
        with_settings(path, "fit", "N1", "auto", {})


@pytest.mark.parametrize(
    ("content", "command", "code"),
    [
        ('method = "gae"\nvariant = "gae"', "links", "wrong-file"),
        ('command = "dance"\nvariant = "k3"', "fit", "conflict"),
        ('command = "links"\nvariant = 3', "links", "wrong-file"),
        ('command = "links"\nvariant = "gae"\n[settings]\nnormalized = "no"', "links", "wrong-file"),
        ('variant = "k3"\n[settings]\nhops = 0', "fit", "setting"),
    ],
)
def test_wrong_files_are_refused(tmp_path, content, command, code):
    path = tmp_path / "a.toml"
    path.write_text(content)
    with refused(code, kn.InputError, path=path):
        read_settings(path, command)
