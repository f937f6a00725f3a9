"""What a notebook shows, from a real kernel."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import kernode as kn

CELLS = (
    """
import kernode as kn
from kernode.training import callbacks
callbacks._SHORT_FIT = 0.0  # every fit takes long
graph, split = kn.load("synthetic:nodes=200,classes=3,features=5,seed=1", split="0.5/0.25/0.25")
model = kn.NodeKernelClassifier("n1", epochs=50, training={"patience": None})
model = model.fit(graph=graph, split=split)
""",
    "model.report()",
    "model.history_",
    "model.explain(0)",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
def test_a_fit_shows_one_bar_and_its_results_are_tables(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(kn.__file__).parents[1]), *os.sys.path]))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    fit, *tables = ([one for one in cell.outputs if "data" in one] for cell in notebook.cells)
    (bar,) = fit
    assert '<progress value="50" max="50"></progress> n1: epoch 50 of 50, valid' in bar["data"]["text/html"]
    for (shown,), words in zip(tables, ("accuracy", "loss", "neighbour"), strict=True):
        assert "<table>" in shown["data"]["text/html"]
        assert words in shown["data"]["text/html"]
