import re
import sys
from pathlib import Path

import pytest

import kernode

ROOT = Path(__file__).parents[2]
PACKAGE = Path(kernode.__file__).parent
sys.path.insert(0, str(ROOT / "scripts"))


def test_readme_tables_are_what_the_results_say():
    from write_tables import DOCUMENTS, TABLES, with_tables

    documents = [(ROOT / name).read_text() for name in DOCUMENTS]
    assert all(with_tables(text) == text for text in documents)
    for table in TABLES.values():
        assert any(table() in text for text in documents)


@pytest.mark.parametrize(
    "document", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=lambda path: path.name
)
def test_links_and_pictures_of_documents_exist(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if target.startswith("http"):
            continue
        path, _, heading = target.partition("#")
        linked = document.parent / path if path else document
        if "src/kernode/" in path:  # in a wheel's tests there is no src
            linked = PACKAGE / path.partition("src/kernode/")[2]
        assert linked.exists(), target
        assert not heading or heading in anchors(linked.read_text()), target


def anchors(text):
    """What GitHub calls the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
