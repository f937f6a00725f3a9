"""docs/tutorial.md and docs/why.md, run from top to bottom: what they show is what comes out."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the one script that the tutorial needs."""
    shutil.copy(ROOT / "examples" / "cora_as_tables.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)  # the figures are a CPU's
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tutorial.md", "why.md"])
def test_a_page_shows_what_comes_out(folder, command, page):
    names = {}
    for kind, text in BLOCK.findall((ROOT / "docs" / page).read_text()):
        if kind == "python":
            run_python(text, names)
            continue
        for line, shown in commands(text):
            out = run_command(line, command)
            assert Checker().check_output(shown, out, 0), f"$ {line}\n{out}"


class Checker(doctest.OutputChecker):
    """… in the document stands for the rest of a line, or a part of it, that varies or is long."""

    def check_output(self, want, got, optionflags):
        pattern = ".*".join(re.escape(part) for part in want.strip("\n").split("…"))
        got = "\n".join(line.rstrip() for line in got.strip("\n").split("\n"))  # tables are padded
        return re.fullmatch(pattern, got) is not None


def commands(text):
    """Each `$ line` with what is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


def run_command(line, command):
    """What a line prints: stdout, and of stderr notes on the input, or the sentence where it fails."""
    if line.startswith("kernode "):  # in this process: torch is imported already
        words, _, file = line.partition(" > ")
        status, out, err = command(*shlex.split(words)[1:])
        if file:
            Path(file).write_text(out)
        notes = "".join(one for one in err.splitlines(True) if one.startswith("kernode: input:"))
        return err if status else "" if file else notes + out
    line = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", line)
    return subprocess.run(line, shell=True, check=True, text=True, stdout=subprocess.PIPE).stdout


def run_python(text, names):
    test = doctest.DocTestParser().get_doctest(text, names, "page", None, 0)
    test.globs = names  # the parser has copied them; the next block needs what this one defines
    runner = doctest.DocTestRunner(Checker(), verbose=False)
    failures = []
    runner.run(test, out=failures.append, clear_globs=False)
    assert not runner.failures, "".join(failures)
