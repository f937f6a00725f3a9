"""Part of the tests pass with the oldest versions that pyproject.toml allows, in an environment of them.

Torch and what only tests need come from the environment that runs this.
"""

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import kernode

ROOT = Path(__file__).parents[2]
HERE = "torch", "pip"  # not installed again: torch has gigabytes, and pip installs
TESTS = (
    *("tests/golden", "tests/cli/test_predict.py", "tests/test_storage.py", "tests/io/test_npz.py"),
    *("tests/io/test_tables_notation.py", "tests/io/test_tables_labels.py", "tests/io/test_column_values.py"),
)


def oldest():
    """The lowest version of each dependency, and of pyarrow, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = *project["dependencies"], *(one for one in extras["test"] if one.startswith("pyarrow>"))
    bounds = dict(one.split(">=") for one in wanted)
    return {name: bound for name, bound in bounds.items() if name not in HERE}


def run(*command, **settings):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **settings)


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the oldest versions have wheels for Python 3.11")
def test_part_of_the_tests_pass_with_the_oldest_versions(tmp_path):
    venv.create(tmp_path / "old", with_pip=True)
    python = tmp_path / "old" / "bin" / "python"
    wanted = oldest()
    pip = run(python, "-m", "pip", "-q", "install", *(f"{name}=={bound}" for name, bound in wanted.items()))
    if pip.returncode and "connection" in pip.stderr.lower():
        pytest.skip("no package index can be reached")
    assert pip.returncode == 0, pip.stderr
    # Behind the environment's own packages: what it has is taken from it, and only the rest from here.
    own = python.parents[1] / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    (own / "behind.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    source = Path(kernode.__file__).parents[1]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([] if source.name == "site-packages" else [str(source)]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
        "KERNODE_CACHE": str(tmp_path / "cache"),
    }
    code = "import json, sys; from importlib.metadata import version as v"
    code += "; print(json.dumps({name: v(name) for name in sys.argv[1:]}))"
    found = json.loads(run(python, "-c", code, *wanted, env=environment, cwd=tmp_path).stdout)
    assert {name: _numbers(one) for name, one in found.items()} == {
        name: _numbers(one) for name, one in wanted.items()
    }
    command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not float64", *TESTS)
    done = run(*command, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 100


def _numbers(version):
    """1.13 and 1.13.0 are one version."""
    return [int(number) for number in [*version.split("."), "0", "0"][:3]]
