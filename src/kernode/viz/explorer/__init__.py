"""The explorer: a trained model in the browser, and its answers as JSON."""

from kernode.viz.explorer.application import LOOPBACK, app

__all__ = ["LOOPBACK", "app"]
