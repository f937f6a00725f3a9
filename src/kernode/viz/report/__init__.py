"""The report as one HTML file: text, tables and plotly's own JavaScript, so that it needs no network."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from kernode.errors import MissingExtraError
from kernode.progress import tell
from kernode.storage import write_whole
from kernode.version import versions
from kernode.viz.report.contents import Contents


def plotly_script() -> str:
    """Return plotly's JavaScript from its wheel."""
    try:
        import jinja2  # noqa: F401
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ImportError as error:
        sentence = f"the report needs {error.name}: pip install 'kernode[report]'."
        raise MissingExtraError(sentence, "extra", package=error.name, extra="report") from None
    return str(get_plotlyjs())


def write_report(contents: Contents, path: Path) -> int:
    """Write the page and return its size in bytes."""
    page = render(contents, f"kernode report: {contents.evaluation.model.dataset}").encode()
    write_whole(path, page)
    return len(page)


def render(contents: Contents, title: str) -> str:
    """Return the page."""
    script = plotly_script()
    from jinja2 import Environment, StrictUndefined

    tell("page", 0, 1)
    here = files("kernode.viz.report")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((here / "template.html").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        contents=contents,
        charts=_as_script(contents.charts),
        style=(here / "style.css").read_text(encoding="utf-8"),
        program=(here / "charts.js").read_text(encoding="utf-8"),
        plotly=script,
        versions=versions(),
    )


def _as_script(values: Any) -> str:
    """JSON that may stand inside a script element, whatever text is in it."""
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
