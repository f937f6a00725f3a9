"""``python -m kernode`` and the ``kernode`` command."""


def main() -> None:
    """Run a command."""
    try:
        from kernode.cli import main as run

        run()
    except KeyboardInterrupt:  # while Python imports, before a command handles it
        import sys

        sys.stderr.write("kernode: interrupted. Nothing was written.\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
