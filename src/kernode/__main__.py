"""``python -m kernode`` and the ``kernode`` command."""

from kernode.ctrl_c import STATUS, answered_promptly, said


def main() -> None:
    """Run a command; Ctrl-C ends it within a second, also while Python still imports."""
    try:
        with answered_promptly():
            from kernode.cli import main as run

            run()
    except KeyboardInterrupt:  # before there was a command that could answer
        import sys

        sys.stderr.write("kernode: interrupted. Nothing was written.\n")
        said()
        raise SystemExit(STATUS) from None


if __name__ == "__main__":
    main()
