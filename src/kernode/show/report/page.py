"""The report as one HTML file: words, tables, and plotly's own JavaScript, so that it needs no network."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from kernode.errors import MissingExtraError
from kernode.progress import tell
from kernode.show.report.contents import Contents
from kernode.storage import write_whole
from kernode.version import versions

CAPTIONS = {  # how to read each picture
    "embedding": "Alike nodes are near each other: nearness counts, directions and distances do not. Small "
    "dots trained, triangles validated, outlined circles were tested, diamonds are in no part. Point at a "
    "node for its name. A click on a class hides it, a double click shows it alone; draw a box to look "
    "closer, double click to come back.",
    "confusion": "Rows are true classes, columns are answers; the shade is the share of the true class, the "
    "number counts nodes.",
    "reliability": "Each point is a fifteenth of the answers. On the dashed line answers are as often right "
    "as they claim; bars are 95 % intervals.",
    "coverage": "If only the surest answers are given, how many of them are right.",
    "gram": "Each pixel is the similarity K̄ of two nodes, in the order of their classes. Red blocks on the "
    "diagonal are classes whose nodes are alike.",
    "hop-weights": "How much the node itself (ω0) and nodes 1, 2, … hops away count, from their start at 1; "
    "with powers='plain', walks of 1, 2, … steps.",
    "losses": "What was minimised, and the same on validation nodes.",
    "validation": "What chose the epoch, or the setting, that was kept.",
}


def plotly_script() -> str:
    """plotly's JavaScript, as its wheel brings it."""
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ImportError:
        raise MissingExtraError("the report needs plotly: pip install 'kernode[report]'.") from None
    return str(get_plotlyjs())


def write_report(contents: Contents, path: Path, title: str = "") -> int:
    """Write the page; its size in bytes."""
    page = render(contents, title or f"kernode report: {contents.evidence.model.dataset}").encode()
    write_whole(path, page)
    return len(page)


def render(contents: Contents, title: str) -> str:
    """The page."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtraError("the report needs Jinja2: pip install 'kernode[report]'.") from None
    script = plotly_script()
    tell("page", 0, 1)
    here = files("kernode.show.report")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((here / "template.html").read_text(encoding="utf-8"))
    return template.render(
        title=title,
        contents=contents,
        captions=CAPTIONS,
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
