"""Write what the present version trains and saves; later versions are compared with it.

`python tests/golden/write.py` makes the folder of the version in src/kernode/version.py: once, before a
release. It is not written again after the release.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import cases
import files
import numpy as np

import kernode as kn


def write(release=kn.__version__):
    """Make the release's folder; an existing one is refused."""
    folder = cases.HERE / release
    if folder.exists():
        raise SystemExit(
            f"{folder} exists. What was released does not change: delete it only before the release."
        )
    if release not in cases.NODES:
        raise SystemExit(f"cases.py has no cases of {release} yet. Add what is new in it.")
    with tempfile.TemporaryDirectory(dir=cases.HERE) as unfinished, files.trained_briefly():
        written = Path(unfinished)
        parameters = {
            f"{name}/{key}": value
            for since, name in cases.CASES
            if since == release
            for key, value in cases.trained(since, name).items()
        }
        answers = files.write_models(written) | files.write_others(written)
        np.savez_compressed(written / "parameters.npz", **parameters)
        np.savez_compressed(written / "answers.npz", **answers)
        shutil.copytree(written, folder)


if __name__ == "__main__":
    sys.exit(write())
