"""The command line: thin; parse, call, print."""

import sys

from kernode.errors import Interrupted

try:
    from kernode.cli.app import main
except KeyboardInterrupt:  # while typer is imported
    sys.stderr.write(f"kernode: {Interrupted()} Nothing was written.\n")
    raise SystemExit(Interrupted.exit_status) from None

__all__ = ["main"]
