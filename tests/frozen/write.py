"""Write the stored answers again where behaviour is meant to change: ``cd tests; python -m frozen.write``."""

import contextlib
import json
import os
import tempfile
import warnings
from pathlib import Path

import torch

from frozen import answers, cases


def write():
    """Run every case; write commands.json and answers.json."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    commands = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["KERNODE_CACHE"] = "cache"
        cases.write_files(Path(folder))
        for name in cases.COMMANDS:
            cases.answer(name, commands)
        estimators = {name: cases.plain(find()) for name, find in answers.ANSWERS.items()}
    for name, found in (("commands", commands), ("answers", estimators)):
        text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False)
        (cases.HERE / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
