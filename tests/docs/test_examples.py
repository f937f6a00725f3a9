"""Every example runs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ARGUMENTS = {"debian_packages": ["1500"]}  # packages; without apt-cache it says so and ends
# Few and small packages: all of an environment take minutes.
SMALLER = {"import_graph": "import_graph.LARGEST, import_graph.PACKAGES = 300, 3"}


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_prints_nothing_on_stderr(example, tmp_path):
    command = [sys.executable, example, *ARGUMENTS.get(example.stem, [])]
    if change := SMALLER.get(example.stem):
        code = f"import sys; sys.path.insert(0, {str(example.parent)!r}); import {example.stem}; {change}"
        command = [sys.executable, "-c", f"{code}; {example.stem}.main({example.stem}.Path('.'))"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout or any(tmp_path.iterdir())


@pytest.mark.slow
def test_reproduction_page_shows_what_the_integer_example_prints():
    command = [sys.executable, ROOT / "examples" / "integer_cut.py"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    arrays, _, compared = printed.partition("powers=")
    assert f"```\n{arrays}```" in (ROOT / "docs" / "reproduction.md").read_text()
    assert [float(line.rpartition(" ")[2]) < 1e-15 for line in compared.splitlines()] == [True, True]
