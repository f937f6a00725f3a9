"""``python -m kernode`` and the ``kernode`` command."""

from kernode.cli import main

if __name__ == "__main__":
    main()
