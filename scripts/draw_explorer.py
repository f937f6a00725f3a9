"""Screenshots of the explorer for the documents: docs/images/explorer-*.png.

    python scripts/draw_explorer.py cora-k3.safetensors

Needs Chromium and chromedriver; what `kernode fit cora --variant k3` wrote is the model.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
from json import loads
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from browser import DESKTOP, PHONE, browser, missing

IMAGES = Path(__file__).parent.parent / "docs" / "images"
SHOTS = {
    "explorer-node": ("#node=1110563", (1280, 960), "light"),
    "explorer-pair": ("#pair=35,1033", DESKTOP, "dark"),
    "explorer-phone": ("#node=1110563", PHONE, "dark"),
}


def main() -> None:
    """Serve, look, and write."""
    if (reason := missing()) is not None:
        raise SystemExit(f"{reason}.")
    words = [sys.executable, "-m", "kernode", "serve", sys.argv[1], "--port", "0", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            said += server.stdout.readline()
        try:
            with browser() as window:
                for name, (where, size, scheme) in SHOTS.items():
                    window.resize(size)
                    window.prefer(scheme)
                    window.open("about:blank")
                    window.open(loads(said)["url"] + where)
                    window.wait("#panel dl")
                    time.sleep(1)  # names come after the picture
                    path = window.picture(IMAGES / f"{name}.png")
                    shrink(path)
                    print(f"{path.name}: {path.stat().st_size // 1024} KB")
        finally:
            server.terminate()


def shrink(path: Path) -> None:
    """Fewer colours: a page has few, and the file is a third."""
    from PIL import Image

    content = io.BytesIO()
    Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
        content, "PNG", optimize=True
    )
    path.write_bytes(content.getvalue())


if __name__ == "__main__":
    main()
