"""A release has one version everywhere, and its archives hold exactly the tracked files."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import kernode

ROOT = Path(__file__).parents[2]
IN_A_CHECKOUT = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="what git tracks is known in a checkout"
)
WORKFLOWS = {
    path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")
}


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert citation["version"] == released[0] == kernode.__version__
    assert [one["family-names"] for one in citation["references"][0]["authors"]] == [
        "Tian", "Zhao", "Peng", "Metaxas",
    ]  # fmt: skip


def test_workflows_have_only_the_rights_they_need():
    assert set(WORKFLOWS) == {"test", "publish"}
    for text in WORKFLOWS.values():
        workflow = yaml.safe_load(text)
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert "uses" in job or job["timeout-minutes"] <= 90
            assert "permissions" not in job or (name, job["permissions"]) == ("upload", {"id-token": "write"})
        assert all("@" in step for step in re.findall(r"uses: ([^.\s]\S*)", text))
        assert "secrets." not in text


def test_workflows_test_every_python_of_the_classifiers():
    fast = yaml.safe_load(WORKFLOWS["test"])["jobs"]["fast"]["strategy"]["matrix"]
    named = [one.rpartition(" ")[2] for one in project()["classifiers"] if "Python :: 3." in one]
    assert fast["python"] == named
    assert {one["os"] for one in fast["include"]} == {"macos-latest", "windows-latest"}


@pytest.mark.slow
@IN_A_CHECKOUT
def test_wheel_and_sdist_hold_what_is_tracked_and_no_path_of_this_machine(tmp_path, monkeypatch):
    pytest.importorskip("build")
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import build_release

    sdist, wheel = build_release.build(tmp_path)
    files = build_release.tracked()
    assert build_release.faults(sdist, wheel, files) == []
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    held = build_release.content(wheel)
    for name in ("py.typed", "io/cora.npz", "io/datasets.toml", "viz/explorer/static/index.html"):
        assert f"kernode/{name}" in held
    # A missing file and an untracked one are found.
    assert build_release.faults(sdist, wheel, files | {"src/kernode/new.py"}) == [
        "the wheel lacks kernode/new.py",
        "the sdist lacks src/kernode/new.py",
    ]
    assert len(build_release.faults(sdist, wheel, files - {"src/kernode/config.py"})) == 2
