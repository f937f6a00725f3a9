"""Write the stored answers anew, where behaviour is meant to change: ``cd tests; python -m frozen.write``."""

import json
import os
import tempfile
import warnings
from pathlib import Path

import torch

from frozen import answers, cases


def write():
    """Run every case and write commands.json and answers.json."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    commands = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KERNODE_CACHE"] = str(Path(folder) / "cache")
        os.chdir(folder)
        cases.write_files(Path(folder))
        for name in cases.COMMANDS:
            cases.answer(name, commands)
        estimators = {name: cases.plain(answers.answer(name)) for name in answers.ANSWERS}
        os.chdir(cases.HERE)
    for name, found in (("commands", commands), ("answers", estimators)):
        text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False)
        (cases.HERE / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
