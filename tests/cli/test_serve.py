"""``kernode serve``: a real process that is asked, and ends when it is told to."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

import kernode as kn


@pytest.fixture(scope="module")
def model_file(cora, tmp_path_factory):
    graph, split = cora
    model = kn.NodeKernelClassifier("k1", hidden=4, epochs=2)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    return model.save(tmp_path_factory.mktemp("serve") / "cora.safetensors")


@contextmanager
def serving(*words):
    """A server on a free port: the process, and the address that it printed."""
    command = [sys.executable, "-m", "kernode", "serve", *map(str, words), "--port", "0", "--json"]
    command += ["--layout", "pca"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while not said.rstrip().endswith("}"):
                line = process.stdout.readline()
                assert line, process.stderr.read()
                said += line
            yield process, json.loads(said)["url"]
        finally:
            process.kill()


def get(url):
    for _ in range(100):  # workers may still be reading the model
        try:
            with urllib.request.urlopen(url, timeout=60) as reply:
                return reply.status, reply.read()
        except (ConnectionError, urllib.error.URLError) as error:
            if isinstance(error, urllib.error.HTTPError):
                return error.code, error.read()
            time.sleep(0.1)
    raise AssertionError("no answer")


@pytest.mark.slow
def test_a_server_answers_and_ends_within_a_second_of_ctrl_c(model_file):
    with serving(model_file) as (process, url):
        assert get(f"{url}health") == (200, b'{"status":"ok"}')
        assert json.loads(get(f"{url}api/similar?name=35")[1])["similar"]
        with socket.create_connection(
            ("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))
        ):  # idle, kept open
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
            assert time.monotonic() - started < 6  # 1 s, on a machine that does nothing else
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_several_workers_answer_and_end_together(model_file):
    with serving(model_file, "--workers", "2") as (process, url):
        assert all(get(f"{url}api/node?name=35")[0] == 200 for _ in range(20))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


@pytest.mark.slow
def test_elsewhere_than_on_this_machine_a_token_is_made(model_file):
    with serving(model_file, "--host", "0.0.0.0") as (_, url):
        port, token = url.rsplit(":", 1)[1].split("/?token=")
        assert len(token) >= 32
        here = f"http://127.0.0.1:{port}/"
        assert get(f"{here}api/model")[0] == 401
        request = urllib.request.Request(f"{here}api/model", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=20) as reply:
            assert reply.status == 200


def test_a_port_that_is_taken_is_said(command, model_file):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, out, err = command("serve", model_file, "--port", port)
    assert (status, out) == (1, "")
    assert f"port {port}" in err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("nowhere.safetensors", "--port", "0"), 1, "nowhere.safetensors does not exist"),
        (("x.safetensors", "--port", "70000"), 2, "--port"),
        (("x.safetensors", "--port", "0", "--workers", "0"), 2, "--workers"),
        (
            ("x.safetensors", "--port", "0", "--host", "no.such.host.invalid"),
            1,
            "--host",
        ),
        (("x.safetensors", "--port", "0", "--token", "short"), 2, "--token"),
        (("x.safetensors", "--port", "0", "--root-path", "kernode"), 2, "--root-path"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(command, words, status, said):
    found, out, err = command("serve", *words)
    assert (found, out) == (status, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_plane_that_there_is_not_is_named(command, model_file):
    status, _, err = command("serve", model_file, "--port", "0", "--layout", "map")
    assert status == 2
    assert "tsne, umap, pca" in err


def test_a_method_without_a_kernel_is_refused(command, cora, tmp_path):
    graph, split = cora
    model = kn.NodeKernelClassifier("label-propagation")
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    status, _, err = command("serve", model.save(tmp_path / "lp.safetensors"), "--port", "0", "--quiet")
    assert status == 2
    assert "kernel" in err


def test_a_missing_extra_is_named(command, monkeypatch, model_file):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    status, _, err = command("serve", model_file, "--port", "0")
    assert status == 1
    assert "pip install 'kernode[serve]'" in err
