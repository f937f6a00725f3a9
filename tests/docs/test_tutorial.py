"""docs/tutorial.md and docs/why.md, run from top to bottom: they show what comes out, figures apart."""

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


CLASS = (
    r"\b(?:Case_Based|Genetic_Algorithms|Neural_Networks|Probabilistic_Methods|Reinforcement_Lea(?:rning|…)"
    r"|Rule_Learning|Theory)(?!\w)"
)
# What a training, a machine and its load decide, and what stands for it where a page is compared.
VARYING = [
    (r"[+\-−]?\b\d[\d,]*\.\d+", "#"),
    (r"\b\d[\d,]*(?= to \d+ %| %| (?:ms|s|MB|GB|min|epochs?|answers|other features)\b)", "#"),
    (r"(?<=after )\d+", "#"),
    (r"\b\d+ threads?", "# threads"),
    (CLASS, "CLASS"),
    (r"\bpaper-\d+|\b\d+ and \d+\b", "NODE"),
    (r"\S+; (?:itself|\d hops? away); CLASS", "NODE; PLACE; CLASS"),
    (r"\bfeature \d+", "FEATURE"),
    (r"without \d+ of its own edges(.*): [\d, ]+;", r"without # of its own edges\1: NODES;"),
    (r"^( *\d+)  \d+ +(?=# +CLASS$)", r"\1 NODE "),  # similar nodes
    (r"^ +[#–] +[\w-]+ \(#", "# MEMBER (#"),
    (r"[ \t]+", " "),
    (r"^ | $", ""),
    (r"^(CLASS # # # \d+) CLASS$", r"\1"),  # mostly taken for another class, or for none
    (r"^(.+)(?:\n\1$)+", r"\1"),  # rows of a table, of which there may be fewer
]


class Checker(doctest.OutputChecker):
    """Compare what is not in VARYING; … in a page stands for the rest of a line, or a part of it."""

    def check_output(self, want, got, optionflags):
        for pattern, word in VARYING:
            want, got = (re.sub(pattern, word, text, flags=re.MULTILINE) for text in (want, got))
        pattern = ".*".join(re.escape(part) for part in want.strip("\n").split("…"))
        return re.fullmatch(pattern, got.strip("\n")) is not None


SHOWN = """
  sum of kernels       weight  member (accuracy on validation nodes, epochs)
                         0.24  diffusion (89.29 % after 120)
                            –  features (67.86 % after 40)
  test accuracy        86.61 ± 1.26 %   (on 56 nodes only: 95 % interval 75 to 93 %)
  class                   precision  recall      F1  support  mostly taken for
  Neural_Networks              87.5    93.3    90.3       15  Case_Based
  time and memory      21.3 s, 35.60 ms an epoch, 1 thread, 720 MB at most
"""


@pytest.mark.parametrize(
    ("shown", "other", "same"),
    [
        ("86.61 ± 1.26 %", "7.14 ± 0.00 %", True),
        ("75 to 93 %", "8 to 100 %", True),
        ("  Case_Based", "", True),
        ("–  features (67.86 % after 40)", "0.08  stages (9.00 % after 2000)", True),
        ("1 thread, 720 MB", "16 threads, 1,024 MB", True),
        ("56 nodes", "57 nodes", False),
        ("support", "count", False),
        ("       15", "       16", False),
        ("accuracy on validation", "accuracy on test", False),
        ("  time and memory", "  time", False),
    ],
)
def test_figures_of_a_page_may_differ_and_words_may_not(shown, other, same):
    assert shown in SHOWN
    assert Checker().check_output(SHOWN, SHOWN.replace(shown, other), 0) == same


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
