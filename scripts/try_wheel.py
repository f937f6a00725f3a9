"""Install a wheel in an empty environment and run the tests outside the checkout: `make test-wheel`.

The folder of the tests has everything that the repository tracks but src/: what is imported is what the
wheel brought. Arguments after the wheel's path go to pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from build_release import ROOT, tracked


def main(wheel: Path, arguments: list[str]) -> int:
    """Pytest's exit status."""
    with tempfile.TemporaryDirectory(prefix="kernode-wheel-") as name:
        folder = Path(name).resolve()
        venv.create(folder / "environment", with_pip=True)
        python = folder / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "-c", ROOT / "constraints.txt", f"{wheel.resolve()}[test]"], check=True)
        outside = folder / "outside"
        for file in sorted(file for file in tracked() if not file.startswith("src/")):
            (outside / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, outside / file)
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        where = [python, "-c", "import kernode; print(kernode.__file__)"]
        found = subprocess.run(where, cwd=outside, env=own, check=True, capture_output=True, text=True).stdout
        if not Path(found.strip()).is_relative_to(folder / "environment"):
            raise SystemExit(f"The tests would import {found.strip()}, which is not the wheel's.")
        tests = [python, "-m", "pytest", "-n", "2", "tests", "--pyargs", "kernode", *arguments]
        return subprocess.run(tests, cwd=outside, env=own, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: python scripts/try_wheel.py dist/kernode-….whl [pytest's arguments]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
