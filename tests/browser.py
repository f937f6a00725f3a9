"""A real browser for tests and pictures: found, started without a screen, looked at and looked into."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PHONE, DESKTOP = (360, 740), (1280, 800)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root, where Chromium has no sandbox
    "--use-gl=angle",  # WebGL without a graphics card
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
)


def missing() -> str | None:
    """What of a browser and its driver is not there, in words; None where all is."""
    if not any(map(shutil.which, _BROWSERS)):
        return "no Chromium on this machine (Debian: apt-get install chromium chromium-driver)"
    if shutil.which("chromedriver") is None:
        return "no chromedriver on this machine (Debian: apt-get install chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "no Selenium: pip install selenium"
    return None


class Browser:
    """One window, and what tests ask of it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Go to an address, and wait until the page has shown it."""
        self.driver.get(address)

    def all(self, selector: str) -> list[Any]:
        """Elements, now."""
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, selector: str, text: str = "", seconds: float = 20) -> Any:
        """The first element that is shown and has a text in it, as soon as there is one."""
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                for one in self.all(selector):
                    if one.is_displayed() and text in one.text:
                        return one
            except StaleElementReferenceException:
                pass  # the page was just drawn anew
            time.sleep(0.05)
        raise AssertionError(f"no {selector} with {text!r} after {seconds} s: {self.text('body')[:2000]}")

    def text(self, selector: str) -> str:
        """What an element shows."""
        return self.all(selector)[0].text

    def press(self, *keys: str) -> None:
        """Keys where the focus is."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def script(self, code: str, *arguments: Any) -> Any:
        """What a line of JavaScript gives."""
        return self.driver.execute_script(code, *arguments)

    def resize(self, size: tuple[int, int]) -> None:
        """The size of the page itself, whatever a window would add; a phone's width, too."""
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str) -> None:
        """Light or dark, as a system says it."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def picture(self, path: Path, *, whole: bool = False) -> Path:
        """What is seen, as a PNG file; ``whole``: what is below as well."""
        import base64

        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": whole})
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def complaints(self) -> list[str]:
        """What the page's console has said since the last time, of errors and broken policies."""
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]

    def barriers(self) -> list[str]:
        """What axe finds that keeps people out: serious and critical findings."""
        import axe_core_python

        source = next(Path(axe_core_python.__file__).parent.rglob("axe.min.js")).read_text("utf-8")
        # Through the driver, which the page's policy does not bind.
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": source})
        found = self.driver.execute_async_script("axe.run(document).then(arguments[0])")
        return [
            f"{one['id']} ({one['impact']}): {json.dumps([node['html'] for node in one['nodes']])}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]


@contextmanager
def browser(size: tuple[int, int] = DESKTOP) -> Iterator[Browser]:
    """A browser of its own, without history, gone afterwards."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, _BROWSERS)))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    profile = tempfile.mkdtemp(prefix="kernode-browser-")
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = Chrome(options=options, service=ChromeService(shutil.which("chromedriver")))
    try:
        one = Browser(driver)
        one.resize(size)
        yield one
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)
