"""--log-file: lines of JSON that outlast whatever becomes of the command."""

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from commands import fails
from kernode.progress import log

FIT = ("fit", "--variant", "k3", "--epochs", "3", "--replicas", "2", "--split", "0.5/0.25/0.25")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def lines_of(path):
    """Every line, as JSON that other programs read, too: NaN is none."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]


@pytest.fixture
def logged(kernode, graph_file):
    """A fit with a log, and what it said."""

    def run(*more, path="log.jsonl"):
        return kernode("--log-file", path, *FIT, graph_file, *more)

    run.folder = kernode.folder
    return run


def test_the_first_line_has_the_command_and_the_last_its_status(logged, graph_file):
    assert logged("--json")[0] == logged("--epochs", "1", "--quiet")[0] == 0
    lines = lines_of(logged.folder / "log.jsonl")  # of both
    assert {line["level"] for line in lines} <= {"debug", "info", "warning"}
    assert all(re.fullmatch(TIME, line["time"]) and line["event"] and line["message"] for line in lines)
    warned = [line["message"] for line in lines if line["event"] == "warning"]
    assert any("the best epoch was the last" in sentence for sentence in warned)
    ends = [at for at, line in enumerate(lines) if line["event"] == "end"]
    assert len(ends) == 2
    first, *_, last = lines[: ends[0] + 1]
    assert first["event"] == "start"
    assert first["command"] == "kernode fit"
    assert first["arguments"]["data"] == graph_file
    assert first["arguments"]["seed"] == 0
    assert set(first["versions"]) >= {"kernode", "torch", "numpy", "python"}
    assert (last["event"], last["status"]) == ("end", 0)
    assert last["seconds"] > 0


def test_trainings_and_epochs_have_their_figures_as_fields(logged):
    assert logged()[0] == 0
    lines = lines_of(logged.folder / "log.jsonl")
    training = next(line for line in lines if line["event"] == "training")
    assert training["seeds"] == [0, 1]
    epochs = [line for line in lines if line["event"] == "epoch"]
    assert [line["epoch"] for line in epochs] == [1, 2, 3]
    for line in epochs:
        assert line["training"] == "k3"
        assert line["loss"] > 0
        assert 0 <= line["validation_accuracy"] <= 100
    assert [line["epochs_kept"] for line in lines if line["event"] == "trained"]
    assert "clusters-k3.safetensors" in [line["file"] for line in lines if line["event"] == "written"]


def test_an_error_is_the_last_line_with_its_status(logged):
    result = logged("--set", "loss.margin=-1")
    fails(result, 2, "margin")
    last = lines_of(logged.folder / "log.jsonl")[-1]
    assert (last["event"], last["level"], last["status"]) == ("end", "error", 2)
    assert result[2] == f"kernode: {last['message']}\n"


def test_an_internal_error_is_there_with_its_traceback(logged, monkeypatch):
    def broken(data):
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("kernode.io.load_graph", broken)
    fails(logged("--quiet"), 1, "ZeroDivisionError: of ours")
    last = lines_of(logged.folder / "log.jsonl")[-1]
    assert last["error"] == "ZeroDivisionError"
    assert "def broken" in last["traceback"] or "in broken" in last["traceback"]


def test_ctrl_c_is_in_it(logged, monkeypatch):
    def pressed(data):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    monkeypatch.setattr("kernode.io.load_graph", pressed)
    assert logged("--quiet")[0] == 130
    last = lines_of(logged.folder / "log.jsonl")[-1]
    assert (last["level"], last["status"]) == ("warning", 130)
    assert "Nothing was saved" in last["message"]


def test_a_log_changes_no_bit_of_the_model(logged, kernode, graph_file):
    assert logged("-o", "with.safetensors", "--quiet")[0] == 0
    assert kernode(*FIT, graph_file, "-o", "without.safetensors", "--quiet")[0] == 0
    with_log, without = ((logged.folder / f"{name}.safetensors").read_bytes() for name in ("with", "without"))
    assert with_log == without
    assert not log.isEnabledFor(10)  # and the next command is as quiet as before


@pytest.mark.parametrize("path", ["folder", "file/log"])
def test_a_log_that_cannot_be_written_is_an_error_before_anything_is_computed(logged, path):
    (logged.folder / "folder").mkdir()
    (logged.folder / "file").touch()
    fails(logged(path=path), 2, "--log-file")
    assert not list(logged.folder.glob("*.safetensors"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
def test_a_full_disk_ends_the_log_and_not_the_training(logged):
    status, out, err = logged("--json", path="/dev/full")
    assert status == 0
    assert err.count("the log ends here") == 1
    assert any("the log ends here" in sentence for sentence in json.loads(out)["warnings"])
    assert (logged.folder / "clusters-k3.safetensors").exists()


def test_a_token_is_not_in_the_log(kernode, graph_file):
    kernode("--log-file", "log.jsonl", "serve", "missing.safetensors", "--token", "secret-of-mine")
    assert "secret-of-mine" not in (kernode.folder / "log.jsonl").read_text()
    assert lines_of(kernode.folder / "log.jsonl")[0]["arguments"]["token"] == "…"
