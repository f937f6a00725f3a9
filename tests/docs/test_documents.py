import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import kernode
from kernode.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if path.name != "CHANGELOG.md"]
PACKAGE = Path(kernode.__file__).parent
EXAMPLES = {"hubs"}  # commands that a page adds
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


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_commands_of_a_page_have_the_options_that_it_shows(page):
    commands = get_command(app).commands
    text = page.read_text()
    code = [line for block in re.findall(r"```.*?\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    code += re.findall(r"`(kernode [^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for line in code:
        # What follows two blanks or # explains the line.
        found = re.match(
            r"(?:\$ )?(?:\w+=\S+ )*(?:torchrun .*-m )?kernode ((?:[^ #]+ ?)+)", line.replace("\n", " ")
        )
        name, *words = found[1].split() if found else [None]
        if name is None or name in {"COMMAND", *EXAMPLES} or name.startswith("-"):
            continue
        known = commands[name]
        if hasattr(known, "commands"):
            known = known.commands[words[0]]
        options = {option for parameter in known.params for option in parameter.opts}
        used = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z].*", word)}
        assert used <= options | {"--help", "--help-all"}, line
