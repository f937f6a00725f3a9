"""``python -m kernode``."""

from kernode.cli import main

if __name__ == "__main__":
    main()
