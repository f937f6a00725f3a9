"""The documentation site, as `make docs` builds it: complete, linked, and self-contained."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
MISSING = "the site's packages are missing: pip install 'kernode[docs]'"
# Elements that a browser fetches by itself, and where each says from.
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


def build(root, target):
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", target],
        cwd=root, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    for package in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(package, reason=MISSING)
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


class Page(HTMLParser):
    """What a page loads, links to, and can be linked at."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors, self.words = [], [], set(), 0
        self._in_article = False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADS and found.get(LOADS[tag]) and found.get("rel") not in ("next", "prev", "canonical"):
            self.loads.append(found[LOADS[tag]])
        self._in_article |= tag == "article"

    def handle_endtag(self, tag):
        self._in_article &= tag != "article"

    def handle_data(self, data):
        self.words += len(data.split()) if self._in_article else 0


@pytest.fixture(scope="module")
def pages(site):
    """Every page of the site, by its path."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_link_and_picture_exists(site, pages):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links start at the root of a server
            continue
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme:
                continue
            linked = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            linked = linked / "index.html" if linked.is_dir() else linked
            anchored = (
                not parts.fragment or linked not in pages or unquote(parts.fragment) in pages[linked].anchors
            )
            if not linked.exists() or not anchored:
                broken.append(f"{path.relative_to(site)}: {target}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        assert not [one for one in page.loads if urlsplit(one).netloc], path
        assert "mermaid" not in path.read_text(), "Material fetches Mermaid where a page has a diagram of it"
    for path in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", path.read_text()), path


def test_every_page_of_the_navigation_has_text(site, pages):
    links = [urlsplit(link) for link in pages[site / "index.html"].links]
    inside = {link.path for link in links if link.path.endswith(".html") and not link.netloc}
    assert {
        "tutorial.html",
        "data.html",
        "changelog.html",
        "contributing.html",
        "api/estimators.html",
    } <= inside
    for link in inside:
        assert pages[site / link].words > 100, link


def test_the_search_finds_pages_and_public_names(site):
    found = {
        entry["location"] for entry in json.loads((site / "search" / "search_index.json").read_text())["docs"]
    }
    assert "tutorial.html" in found
    assert "api/estimators.html#kernode.NodeKernelClassifier" in found
    assert not [location for location in found if location.startswith("source/")]
    assert (site / "search" / "search_index.js").exists()  # for pages opened from the disk


def test_api_pages_show_public_classes_and_functions_alone(site, pages):
    for path in (site / "api").glob("*.html"):
        assert "doc-module" not in path.read_text(), path  # a function may have the name of its module
        assert not [
            anchor for anchor in pages[path].anchors if re.match(r"kernode\..*\._(?!_call__)", anchor)
        ], path
    anchors = set().union(*(page.anchors for page in pages.values()))
    text = "".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    assert set(re.findall(r"^::: (\S+)$", text, re.MULTILINE)) <= anchors


def test_a_broken_link_fails_the_build(site, tmp_path):
    for one in ROOT.iterdir():
        if one.name not in ("docs", "site", ".venv", ".git"):
            (tmp_path / one.name).symlink_to(one)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with (tmp_path / "docs" / "sure.md").open("a") as file:
        file.write("\n[one](missing.md) [two](data.md#missing-heading) [three](../src/missing.py)\n")
    done = build(tmp_path, tmp_path / "built")
    assert done.returncode != 0
    assert all(link in done.stderr for link in ("missing.md", "missing-heading", "missing.py"))
