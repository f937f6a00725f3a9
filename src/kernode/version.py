"""The one place that says which kernode this is."""

__version__ = "0.1.0"
