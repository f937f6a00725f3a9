"""``kernode serve`` as a real process: requests, signals, workers, slow clients, the log."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress

import pytest

import kernode as kn
from commands import fails


@pytest.fixture(scope="module")
def model_file(cora, tmp_path_factory):
    graph, split = cora
    model = kn.NodeKernelClassifier("k1", hidden=4, epochs=2)
    model.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    return model.save(tmp_path_factory.mktemp("serve") / "cora.safetensors")


@contextmanager
def serving(*words, before=()):
    """A server on a free port: the process, the address that it printed, and what reads its log."""
    command = [sys.executable, "-m", "kernode", *map(str, before), "serve", *map(str, words)]
    command += ["--port", "0", "--json", "--layout", "pca"]
    with (
        tempfile.TemporaryFile("w+") as log,  # a pipe that is not read would fill up
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):

        def logged():
            log.seek(0)
            return log.read()

        try:
            said = ""
            while not said.rstrip().endswith("}"):
                line = process.stdout.readline()
                assert line, logged()
                said += line
            yield process, json.loads(said)["url"], logged
        finally:
            process.kill()


def port_of(url):
    return int(url.rsplit(":", 1)[1].split("/")[0])


def wait_for(condition, seconds=60):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.1)


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
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_answers_and_ends_with_a_line_soon_after_a_signal(model_file, ending, workers):
    with serving(model_file, "--workers", workers) as (process, url, logged):
        assert get(f"{url}health") == (200, b'{"status":"ok"}')
        assert json.loads(get(f"{url}api/similar?name=35")[1])["similar"]
        with socket.create_connection(("127.0.0.1", port_of(url))):  # idle, kept open
            started = time.monotonic()
            process.send_signal(ending)
            assert process.wait(timeout=20) == 0
            assert time.monotonic() - started < 6  # 1 s, on a machine that does nothing else
        *_, asked, last = logged().splitlines()
        assert "127.0.0.1 GET /api/similar 200" in asked
        assert last.endswith("the explorer has ended")


@pytest.mark.slow
def test_a_quiet_server_logs_nothing(model_file):
    with serving(model_file, "--quiet") as (process, url, logged):
        assert get(f"{url}health")[0] == 200
        process.terminate()
        assert process.wait(timeout=20) == 0
        assert logged() == ""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_sighup_reads_the_model_again_and_a_damaged_one_changes_nothing(cora, model_file, tmp_path, workers):
    def variants():
        return {json.loads(get(f"{url}api/model")[1])["variant"] for _ in range(8)}

    graph, split = cora
    other = kn.NodeKernelClassifier("k3", hidden=4, epochs=2)
    other.fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    path = shutil.copy(model_file, tmp_path / "model.safetensors")
    with serving(path, "--workers", workers) as (process, url, logged):
        assert variants() == {"k1"}
        path.write_bytes(b"damaged")
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: "keeping worker" in logged() or "the old one stays" in logged())
        assert variants() == {"k1"}
        other.save(path)
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: variants() == {"k3"})
        process.terminate()
        assert process.wait(timeout=20) == 0


@pytest.mark.slow
def test_a_model_of_tables_is_served_with_its_tables_by_workers_too(tmp_path):
    edges, nodes = tmp_path / "edges.csv", tmp_path / "nodes.csv"
    edges.write_text(
        "source,target\n" + "".join(f"n{i},n{(i + step) % 40}\n" for i in range(40) for step in (2, 4))
    )
    nodes.write_text("id,x,topic\n" + "".join(f"n{i},{i % 2 + i / 100},{'ab'[i % 2]}\n" for i in range(40)))
    graph = kn.read_table(edges, nodes, label="topic")
    model = kn.NodeKernelClassifier("k1", hidden=4, epochs=2).fit("topic", graph=graph)
    path = model.save(tmp_path / "tables.safetensors")
    with serving(path, "--graph", edges, "--nodes", nodes, "--workers", "2") as (_, url, _):
        assert json.loads(get(f"{url}api/node?name=n3")[1])["known_class"] == "b"


@pytest.mark.slow
def test_half_sent_requests_stop_no_honest_one_and_are_cut_off(model_file):
    from kernode.viz.explorer.connection import SECONDS

    with serving(model_file) as (_, url, _):
        started = time.monotonic()
        head = b"POST /api/what-if HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        waiting = [socket.create_connection(("127.0.0.1", port_of(url))) for _ in range(1000)]
        for number, one in enumerate(waiting):  # nothing, half a header, half a body
            one.sendall((b"", head, head + b"Content-Length: 100\r\n\r\n{")[number % 3])
        assert get(f"{url}api/similar?name=35")[0] == 200
        assert time.monotonic() - started < SECONDS
        for one in waiting:
            one.settimeout(3 * SECONDS)
            with suppress(ConnectionError):
                assert one.recv(1) == b""
            one.close()
        assert time.monotonic() - started < 3 * SECONDS
        assert get(f"{url}api/similar?name=35")[0] == 200


@pytest.mark.slow
def test_the_token_is_in_no_log_and_a_given_one_is_not_printed(model_file, tmp_path):
    log, token = tmp_path / "log.jsonl", "a-token-nobody-guesses"
    with serving(model_file, "--token", token, before=("--log-file", log)) as (process, url, logged):
        assert token not in url
        assert get(f"{url}?token={token}")[0] == 401  # a redirect, whose cookie is not kept here
        assert get(f"{url}api/node?name=35&token={token}")[0] == 401
        process.terminate()
        assert process.wait(timeout=20) == 0
        for text in (logged(), log.read_text()):
            assert "GET /api/node 303" in text
            assert token not in text


@pytest.mark.slow
def test_elsewhere_than_on_this_machine_a_token_is_made(model_file):
    with serving(model_file, "--host", "0.0.0.0") as (_, url, _):
        port, token = url.rsplit(":", 1)[1].split("/?token=")
        assert len(token) >= 32
        here = f"http://127.0.0.1:{port}/"
        assert get(f"{here}api/model")[0] == 401
        request = urllib.request.Request(f"{here}api/model", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=20) as reply:
            assert reply.status == 200


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("nowhere.safetensors", "--port", "0"), 1, "nowhere.safetensors does not exist"),
        (("x.safetensors", "--port", "70000"), 2, "--port"),
        (("x.safetensors", "--port", "0", "--workers", "0"), 2, "--workers"),
        (("x.safetensors", "--port", "0", "--host", "no.such.host.invalid"), 1, "--host"),
        (("x.safetensors", "--port", "0", "--token", "short"), 2, "--token"),
        (("x.safetensors", "--port", "0", "--root-path", "kernode"), 2, "--root-path"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(command, words, status, sentence):
    fails(command("serve", *words), status, sentence)


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
