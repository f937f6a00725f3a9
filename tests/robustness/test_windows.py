"""Windows and macOS, as far as they can be tested on Linux: docs/promises.md says what cannot."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernode
from commands import fails
from kernode.cli.options.graph import data_name
from kernode.cli.settings_file import read_settings
from kernode.io import read_split

PACKAGE = Path(kernode.__file__).parent
# Owners of another `open` than that of files.
NO_FILES = {"archive", "zipped", "self._zipped", "model", "super()", "os", "Store", "log_file"}

RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}

# Removes what Windows does not have, and the network, before anything of kernode is imported.
ELSEWHERE = """
import os, signal, socket, sys
def refuse(*_, **__):
    raise SystemExit("the network was used")
socket.socket.connect = socket.socket.bind = socket.getaddrinfo = refuse
for name in ("fcntl", "uvloop", "triton", "pwd", "grp"):
    sys.modules[name] = None
for owner, names in {
    os: ("fork", "sched_getaffinity", "getuid", "O_DIRECTORY"),
    signal: ("SIGKILL", "SIGALRM", "SIGHUP", "setitimer", "alarm"),
}.items():
    for name in names:
        if hasattr(owner, name):
            delattr(owner, name)
from kernode.cli import main
for line in sys.stdin.buffer.read().splitlines():
    sys.argv = ["kernode", *os.fsdecode(line).split("|")]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""


def tables(folder):
    """Two tables as a spreadsheet on Windows saves them: with a byte order mark and CRLF."""
    folder.mkdir(parents=True)
    nodes = [f"k{i};{i % 7};{('grün', 'rot')[i % 2]}" for i in range(40)]
    edges = [f"k{i};k{(i + step) % 40}" for i in range(40) for step in (2, 4)]
    for name, lines in (("knoten", ["id;größe;farbe", *nodes]), ("kanten", ["von;nach", *edges])):
        (folder / f"{name}.csv").write_bytes("\r\n".join([*lines, ""]).encode("utf-8-sig"))
    return folder / "kanten.csv", folder / "knoten.csv"


def run(lines, folder, utf_8):
    """Commands in a process that lacks what Windows lacks, with a locale of ASCII or with UTF-8."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHONU"))}
    own |= {"PYTHONUTF8": str(int(utf_8)), "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C"}
    own |= {"PYTHONPATH": str(PACKAGE.parent), "KERNODE_CACHE": str(folder / "cache")}
    given = "\n".join("|".join(map(str, line)) for line in lines).encode()
    command = [sys.executable, "-c", ELSEWHERE]
    return subprocess.run(command, input=given, capture_output=True, env=own, check=False)


# Windows and macOS have names of files in UTF-8 whatever a text's encoding is: here one says both.
@pytest.mark.parametrize(
    ("place", "utf_8"),
    [("Müllers Daten (2026)", True), pytest.param("My data (2026)", False, marks=pytest.mark.slow)],
)
def test_commands_run_without_the_network_and_what_windows_lacks(tmp_path, place, utf_8):
    """No fork, fcntl, uvloop, Triton or POSIX signals; a locale of ASCII; odd folders."""
    edges, nodes = tables(tmp_path / place)
    model, out = edges.with_name("my model.safetensors"), edges.with_name("predicted.csv")
    options = (edges, "--nodes", nodes, "--label", "farbe")
    lines = [
        ("fit", *options, "--variant", "n1", "--epochs", 3, "--with-graph", "--quiet", "-o", model),
        ("predict", model, "--quiet", "-o", out),
        ("similar", model, "k3", "-k", 2, "--json"),
        ("data", "info", *options, "--json"),
    ]
    done = run(lines, tmp_path, utf_8)
    assert done.returncode == 0, done.stderr.decode()
    written = out.read_bytes()
    assert "grün" in written.decode()
    assert b"\r" not in written
    *_, similar, info = done.stdout.decode().split("\n{\n")
    assert json.loads("{" + info)["classes"] == {"grün": 20, "rot": 20}
    assert '"node": "k3"' in similar
    if not utf_8:  # a name that the locale cannot write is answered with what to set
        done = run([("data", "info", tables(tmp_path / "Müllers Daten")[0])], tmp_path, utf_8)
        assert done.returncode == 2
        assert b"PYTHONUTF8=1" in done.stderr


def test_a_file_name_that_is_not_utf_8_is_refused(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"n\xff\x1b.csv")
    edges, _ = tables(tmp_path / "data")
    try:
        edges.rename(tmp_path / name)
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    for words in (("data", "info"), ("predict",)):
        fails(command(*words, name), 2, "name is not text in UTF-8. Rename the file")


def test_text_files_are_opened_with_an_encoding_and_written_as_bytes():
    """Without one, Windows takes its own; and where text is written, it makes CRLF of every line's end."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute | ast.Name):
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
            owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            mode = [one.value for one in call.args if isinstance(one, ast.Constant)]
            named = any(keyword.arg == "encoding" for keyword in call.keywords)
            is_open = name == "open" and owner not in NO_FILES and "Options" not in owner
            text = is_open and not any(isinstance(one, str) and "b" in one for one in mode)
            if (text or (owner and name in ("read_text", "write_text"))) and not named:
                found.append(f"{path.name}:{call.lineno}")
            if name == "write_text" and "proc" not in owner:
                found.append(f"{path.name}:{call.lineno} writes text")
    assert found == []


def test_names_of_files_are_allowed_on_windows_and_differ_in_more_than_case():
    for data in ("synthetic:nodes=50,degree=4,seed=1", "cora", "Cora"):
        assert not set(data_name(data)) & set('<>:"/\\|?*')
    for folder in (PACKAGE, PACKAGE.parents[1] / "results"):
        paths = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
        assert not [path for path in paths if set(path.name) & set('<>:"|?*')]
        assert not [path for path in paths if path.name.split(".")[0].lower() in RESERVED]
        names = [str(path.relative_to(folder)).casefold() for path in paths]
        assert len(set(names)) == len(names)


def test_settings_and_splits_with_a_byte_order_mark_and_crlf_are_read(tmp_path):
    settings = 'command = "fit"\r\nvariant = "k3"\r\n\r\n[settings]\r\nmargin = 0.2\r\n'
    (tmp_path / "settings.toml").write_bytes(settings.encode("utf-8-sig"))
    assert read_settings(tmp_path / "settings.toml", "fit") == ("k3", {"margin": 0.2})
    graph, _ = kernode.load("synthetic:nodes=60,degree=4,classes=2,features=4,seed=1")
    parts = {"train": [0, 1, 2], "validation": [3, 4], "test": [5, 6]}
    (tmp_path / "split.json").write_bytes(
        json.dumps(parts, indent=1).replace("\n", "\r\n").encode("utf-8-sig")
    )
    split = read_split(tmp_path / "split.json", graph)
    assert np.asarray(split.test).tolist() == [5, 6]
