"""Draw docs/images/pictures-cora.png and report-cora.png: `python scripts/draw_examples.py`.

Trains K3 on Cora (three runs, FastGCN's split, seeds 0 to 2). The report's picture needs Chromium, its driver
and selenium.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
from pathlib import Path

import kernode as kn
from experiments.runs import train_variant
from kernode.compute.tensor_options import TensorOptions
from kernode.models.model import ModelOnGraph
from kernode.storage import write_whole
from kernode.viz.canvas import empty_figure
from kernode.viz.evaluation import EvaluationData
from kernode.viz.pictures import find_picture
from kernode.viz.report import Contents, write_report

ROOT = Path(__file__).parents[1]
SHOWN = (("embedding", "gram", "confusion"), ("hop-weights", "reliability", "coverage"))


def trained() -> ModelOnGraph:
    """Three runs on Cora."""
    graph, _ = kn.load("cora")
    return train_variant(graph, "k3", TensorOptions.of(32), (0, 1, 2), "fastgcn").on


def draw_sheet(evaluation: EvaluationData, path: Path) -> None:
    """Six pictures on one sheet."""
    with empty_figure(10.2, 7.6) as figure:
        above, below = figure.subfigures(2, 1, height_ratios=(1.35, 1))
        for part, names in ((above, SHOWN[0]), (below, SHOWN[1])):
            for name, axes in zip(names, part.subplots(1, 3), strict=True):
                picture = find_picture(name)
                picture.draw(axes, picture.data(evaluation))
                axes.set_title(name, fontsize=9, fontweight="bold", loc="left")
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=100, metadata={"Software": None})
    write_whole(path, content.getvalue())


def photograph(page: Path, path: Path) -> None:
    """The upper part of a page, as a browser shows it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    with tempfile.TemporaryDirectory() as profile:
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic")
        quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
        for flag in (*flags, *quiet, "--hide-scrollbars", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(str(shutil.which("chromedriver")))
        with webdriver.Chrome(options=options, service=service) as browser:
            size = {"width": 1100, "height": 1500, "deviceScaleFactor": 0.8, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            browser.get(page.as_uri())
            browser.set_script_timeout(60)
            browser.execute_async_script(
                "var done = arguments[0], tries = setInterval(function () {"
                "if (document.querySelector('[data-chart=embedding][data-drawn]')) {"
                "clearInterval(tries); setTimeout(done, 1500); } }, 100);"
            )
            shown = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    write_whole(path, base64.b64decode(shown["data"]))


def main(folder: Path) -> None:
    """Train, draw."""
    evaluation = EvaluationData.of(trained())
    draw_sheet(evaluation, folder / "pictures-cora.png")
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        sys.exit("no browser: report-cora.png stays as it is.")
    with tempfile.TemporaryDirectory() as options:
        page = Path(options) / "report.html"
        write_report(Contents(evaluation), page)
        photograph(page, folder / "report-cora.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
