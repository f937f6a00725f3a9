import os
import sys

import pytest
import torch
from hypothesis import settings

import kernode as kn
from kernode.cli import main
from warm import Warm
from workspace import shop, workspace

__all__ = ["shop", "workspace"]  # fixtures of every folder

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported: its kernels then run on the CPU
else:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts, in whichever test

# Two workers share two cores: one thread for each, and for each process that it starts, or all would wait.
torch.set_num_threads(1)
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("kernode", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("kernode")

# Several folders have a conftest.py, and a search for doctests would import all of them by that one name.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]


# Those that take longest begin first, so that the workers of `make test-slow` end together.
LONG = (
    "test_examples.py", "test_torchrun.py", "test_many_trainings.py", "test_strange_graphs.py",
    "test_oldest_versions.py", "test_reproducible_files.py", "test_tutorial.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def cora():
    """Cora with its FastGCN split."""
    return kn.load("cora", split="fastgcn")


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    """Runs `kernode …` in processes of their own, which begin at once."""
    cache = tmp_path_factory.mktemp("cache")
    with Warm(KERNODE_CACHE=str(cache), MPLCONFIGDIR=str(cache / "mpl")) as found:
        yield found


@pytest.fixture
def command(monkeypatch, capsys):
    """Run `kernode …` in this process; give status, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kernode", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
