"""The command line: thin; parse, call, print."""

from kernode.cli.app import main

__all__ = ["main"]
