"""What all commands have in common: help, names, and what happens when something is wrong."""

import json
import re
import subprocess
import sys

import pytest
import torch
import typer
from rich.text import Text

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.cli.app import app
from kernode.io import write_npz

GRAPH = clustered_graph(n=90)
QUICK = ("--epochs", "8", "--set", "loss.triplets=200", "--replicas", "2")


def commands(group, path=()):
    """Every command under a group, with its words."""
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name), command
        yield from commands(command, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
LEAVES = {words: command for words, command in COMMANDS.items() if not hasattr(command, "commands")}


def by_words(found):
    return pytest.mark.parametrize("words", found, ids=" ".join)


def test_help_names_no_type_where_an_option_takes_no_value(kernode):
    status, out, err = kernode("fit", "--help")
    assert (status, err) == (0, "")
    assert not [line for line in out.splitlines() if "<bool>" in line and "--help" not in line]


@by_words(LEAVES)
def test_every_command_has_an_example_and_every_option_a_help_text(words):
    command = LEAVES[words]
    assert f"[bold]kernode {' '.join(words)}" in command.help
    assert [one.name for one in command.params if not one.help] == []


@by_words(COMMANDS)
def test_markup_of_help_texts_is_whole(words):
    """Without our own tags, what is shown is what is written: nothing else was taken for a tag."""
    command = COMMANDS[words]
    for text in (command.help, command.epilog, *(one.help for one in command.params if hasattr(one, "help"))):
        plain = re.sub(r"(?<!\\)\[(bold|/)\]", "", text or "")
        assert Text.from_markup(text or "").plain == plain.replace("\\[", "[")


def test_every_command_of_a_graph_takes_the_same_options_about_tables():
    shared = {"nodes", "label", "changes"}
    for words in (("fit",), ("links",), ("tune",), ("compare",), ("data", "info"),
                  ("data", "convert")):  # fmt: skip
        assert shared <= {one.name for one in LEAVES[words].params}, words
    of_models = {words for words, one in LEAVES.items() if any(given.name == "model" for given in one.params)}
    assert len(of_models) == 8
    for words in of_models:
        assert {"model", "data", "nodes", "changes"} <= {one.name for one in LEAVES[words].params}, words


def test_one_thing_has_one_name_in_all_commands():
    options = {opt for command in LEAVES.values() for one in command.params for opt in one.opts}
    assert options & {"--runs", "--method", "--methods"} == set()
    # What a command is for goes to --out; only predict can write a model beside its answers.
    saving = [words for words, one in LEAVES.items() if any("--save" in given.opts for given in one.params)]
    assert saving == [("predict",)]
    for command in LEAVES.values():
        names = {one.name: one.opts for one in command.params}
        assert "out" not in names or set(names["out"]) == {"--out", "-o"}
        assert {"quiet", "json"} <= set(names)


def test_a_person_can_read_all_options():
    counts = {
        words: sum(one.opts[0].startswith("-") for one in command.params) for words, command in LEAVES.items()
    }
    assert len({words[0] for words in LEAVES}) <= 15
    assert counts["fit",] <= 20
    assert sum(counts.values()) <= 150


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("fit cora --dropout 0.5", "--set training.dropout=…"),
        ("fit cora --map gcn", "--set map=…"),
        ("links cora --hidden 8", "--set map.hidden=…"),
        ("fit cora --settings s.toml", "--set FILE.toml"),
        ("predict m.safetensors --whole", "--set table.as_new_graph=true"),
        ("predict m.safetensors graph.npz", "--graph DATA"),
        ("fit cora --log-file log.jsonl", "kernode --log-file FILE"),
        ("missing m.safetensors", "predict-links"),
        ("gram m.safetensors", "embed --gram"),
        ("extend m.safetensors", "predict --new-nodes"),
        ("estimate cora", "fit --dry-run"),
        ("what-if m.safetensors 3", "explain"),
        ("data shard cora -o parts", "data convert … -o FOLDER"),
    ],
)
def test_what_was_renamed_names_what_to_write_now(kernode, words, now):
    fails(kernode(*words.split()), 2, f"it is now {now}")


def test_a_setting_of_no_part_is_one_sentence(kernode, graph_file):
    for change in ("hops=3", "maps.hops=3", "map.hops", "training.hops=3", "run.folds=3", "run.threads=many"):
        fails(kernode("fit", graph_file, "--set", change), 2, change.partition("=")[0].rpartition(".")[2])
    fails(kernode("data", "info", graph_file, "--set", "map.hops=3"), 2, "table")
    assert not any(kernode.folder.iterdir())


def test_names_with_brackets_are_shown_as_they_are(kernode, tmp_path):
    path = tmp_path / "x[red]y.npz"
    write_npz(kn.Graph(GRAPH.adjacency, GRAPH.features, GRAPH.labels, name="x[red]y"), path)
    assert "x[red]y" in kernode("data", "info", path)[1]
    assert "x[red]y" in kernode("fit", path, *QUICK)[1]
    assert "x[red]y" in kernode("compare", path, "--variants", "label-propagation,smoother", "--splits", 2)[1]
    assert "x[red]y" in kernode("fit", path, "--dry-run")[1]


def test_other_names_are_found_whatever_their_case(kernode, graph_file):
    report = json.loads(kernode("data", "info", "Cora", "--json")[1])
    assert report["dataset"] == "cora"
    link = json.loads(kernode("links", graph_file, "--variant", "GAE", "--epochs", 2, "--json")[1])
    assert link["variant"] == "gae"
    compared = kernode(
        "compare", graph_file, "--variants", "Label-Propagation,Smoother", "--splits", 2, "--json"
    )
    assert json.loads(compared[1])["against"] == "label-propagation"


def test_unknown_data_set_is_one_sentence(kernode):
    fails(kernode("fit", "coar"), 2, "'coar'", "'cora'")
    fails(kernode("data", "info", "nothing.npz"), 1, "nothing.npz")
    assert not any(kernode.folder.iterdir())


def test_unknown_options_and_missing_arguments_are_one_sentence(kernode):
    fails(kernode("fit", "cora", "--colour", "[red]"), 2, "No such option: --colour", "kernode fit --help")
    fails(kernode("fit"), 2, "Missing argument 'data'. See: kernode fit --help")
    fails(kernode("fit", "cora", "--set", "map.hops=[two]"), 2, "hops must be an integer", "--set map.hops=")
    fails(kernode("dance"), 2, "No such command 'dance'. See: kernode --help")
    fails(kernode("data", "convert", "edges.csv"), 2, "--out", "See: kernode data convert --help")


def test_nothing_to_do_is_answered_by_help(kernode):
    status, out, err = kernode()
    assert (status, err) == (2, "")
    assert "Start with: kernode fit cora" in out


def test_internal_errors_show_no_traceback(kernode, graph_file, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("kernode.io.load_graph", broken)
    fails(kernode("fit", graph_file), 1, "RuntimeError: first line second line", "KERNODE_DEBUG")


def test_version_and_help_work_as_a_process():
    for arguments in (["--version"], ["--help"], ["fit", "--help"]):
        command = [sys.executable, "-m", "kernode", *arguments]
        finished = subprocess.run(command, capture_output=True, text=True, check=True)
        assert ("kernode " + kn.__version__ if arguments == ["--version"] else "kernode") in finished.stdout
        if arguments == ["fit", "--help"]:
            assert all(f"{name}, " in finished.stdout for name in ("auto", "k3", "gcn", "similarity"))


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["fit", "--help"], ["data", "--help"]])
def test_help_does_not_wait_for_large_libraries(arguments):
    code = f"import sys; sys.argv = ['kernode', *{arguments}]\nfrom kernode.cli import main\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += "print(*{'torch', 'numpy', 'scipy', 'duckdb'} & {*sys.modules})"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.endswith("\n\n")


# Each takes from a tenth of a second to a second, and none has a part in the answer.
HEAVY = ("sympy", "torch._dynamo", "torch_geometric", "optuna", "matplotlib", "fastapi")


@pytest.mark.slow
def test_first_answers_do_without_heavy_libraries(graph_file, tmp_path):
    heavy = [*HEAVY, *([] if torch.cuda.is_available() else ["triton"])]
    code = f"""
import sys
from kernode.cli import main
for words in (["fit", "--variant", "k3"], ["links"]):
    sys.argv = ["kernode", *words, {graph_file!r}, "--epochs", "2", "--replicas", "2", "--json"]
    try:
        main()
    except SystemExit as end:
        assert not end.code
    print(words[0], [name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count('"baselines"') == 2
    assert ended.stderr.splitlines() == ["fit []", "links []"]
