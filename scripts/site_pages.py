"""Pages of the documentation site outside docs/: a hook of mkdocs.yml.

Documents are also read as plain Markdown, where `../src/…` leads into the repository. The site has no
repository around it, so what documents link to outside docs/ travels with it: code as a page below source/,
folders as lists of what is in them, anything else as it is. CHANGELOG.md, CONTRIBUTING.md
and SECURITY.md become pages.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# Documents outside docs/ that are pages of the site. In place of README.md it has a front page of its own.
OUTSIDE = {name: name.lower() for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
PAGES = OUTSIDE | {"README.md": "index.md"}
CODE = {".py": "python", ".toml": "toml"}
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)((?:#[^)\s]*)?)\)")
MARKER = re.compile(r"^<!-- (?:table: \w+|end of table) -->$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files that lie outside docs/."""
    documents = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    for name, uri in OUTSIDE.items():
        documents[name] = (ROOT / name).read_text()
        files.append(File.generated(config, uri, content=documents[name]))
    for name, text in documents.items():
        for target, _ in LINK.findall(text):
            path = _in_repository(target, name)
            if path and not path.startswith("docs/") and path not in PAGES:
                _add(path, files, config)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site has them; no markers of generated tables, which need empty lines around them."""
    here = page.file.src_uri
    document = next((name for name, uri in OUTSIDE.items() if uri == here), f"docs/{here}")

    def on_site(link: re.Match[str]) -> str:
        path = _in_repository(link[1], document)
        return f"]({_relative(path, here)}{link[2]})" if path else link[0]

    return LINK.sub(on_site, MARKER.sub("", markdown))


def _in_repository(target: str, document: str) -> str | None:
    """Path that a link leads to, or None if there is none: MkDocs then reports it."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(document), target))
    return path if not path.startswith("..") and (ROOT / path).exists() else None


def _site_uri(path: str) -> str:
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    is_page = (ROOT / path).is_dir() or Path(path).suffix in CODE
    return f"source/{path}.md" if is_page else f"source/{path}"


def _relative(path: str, page: str) -> str:
    """The link from a page of the site to a file of the repository."""
    return posixpath.relpath(_site_uri(path), posixpath.dirname(page))


def _add(path: str, files: Files, config: Any) -> None:
    """A file of the repository, or a folder with all that is in it."""
    uri, place = _site_uri(path), ROOT / path
    if files.get_file_from_path(uri):
        return
    if not uri.endswith(".md"):
        files.append(File.generated(config, uri, abs_src_path=str(place)))
        return
    if place.is_dir():
        inside = sorted(one.name for one in place.iterdir() if not one.name.startswith(("_", ".")))
        text = "\n".join(f"- [`{one}`]({_relative(f'{path}/{one}', uri)})" for one in inside)
    else:
        inside = []
        text = f"````{CODE[place.suffix]}\n{place.read_text()}````"
    front = f'---\ntitle: "{path}"\nsearch:\n  exclude: true\n---\n'
    files.append(File.generated(config, uri, content=f"{front}\n# `{path}`\n\n{text}\n"))
    for one in inside:
        _add(f"{path}/{one}", files, config)
