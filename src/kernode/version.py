"""The one place that says which kernode this is."""

__version__ = "0.2.0"
