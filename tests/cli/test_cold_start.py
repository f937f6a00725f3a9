"""The first answer: a command loads what it needs, and no more."""

import subprocess
import sys

import pytest
import torch

# Each takes from a tenth of a second to a second, and none has a part in the answer.
HEAVY = ("sympy", "sklearn", "scipy.stats", "pandas", "pyarrow", "torch._dynamo", "torch_geometric", "optuna")


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
