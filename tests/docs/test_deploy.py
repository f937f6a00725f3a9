"""The systemd unit and the Dockerfile of examples/deploy name commands and options that exist."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"
UNIT, DOCKERFILE = ((DEPLOY / name).read_text() for name in ("kernode.service", "Dockerfile"))


def started():
    """What each of them starts."""
    service = re.search(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)[1].split()
    image = json.loads(re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)[1])
    return [[Path(program).name, *words] for program, *words in (service, image)]


@pytest.mark.parametrize("words", started(), ids=["systemd", "docker"])
def test_the_command_and_its_options_exist(words):
    assert words[0] == "kernode"
    ended = subprocess.run([sys.executable, "-m", *words, "--help"], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_the_port_of_the_image_is_that_of_the_command():
    from inspect import signature

    from kernode.cli.serve import serve

    port = signature(serve).parameters["port"].default
    assert f"EXPOSE {port}\n" in DOCKERFILE
    assert f"127.0.0.1:{port}/health" in DOCKERFILE
    assert f"--port {port}" in UNIT


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
def test_systemd_accepts_the_unit(tmp_path):
    unit = tmp_path / "kernode.service"
    unit.write_text(UNIT.replace("/opt/kernode/bin/kernode", sys.executable))
    ended = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
