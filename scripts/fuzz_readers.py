"""Look for bytes that a reader does not answer with a graph, a model or one sentence (atheris, libFuzzer).

    python scripts/fuzz_readers.py [READER …] [--seconds 60] [--memory 2048] [--keep DIR]

Every reader of tests/robustness/readers.py gets so many seconds in a process of its own, guided by the
lines of kernode that an input reaches, from whole files made on the spot. A find is an exception that is no
KernodeError, a call of more than two seconds, or more megabytes than --memory; the bytes are left in --keep.
The status is 1 where there are finds. `make fuzz` runs it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).resolve()
TESTS = HERE.parents[1] / "tests"
LONGEST_CALL = 2  # seconds
LONGEST_INPUT = 20_000  # bytes


def fuzz_one(name: str, folder: Path, options: list[str]) -> None:
    """Fuzz one reader in this process, until libFuzzer ends it."""
    import atheris

    sys.path[:0] = [str(TESTS), str(TESTS / "robustness")]
    with atheris.instrument_imports(include=["kernode"]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import readers

    warnings.simplefilter("ignore")
    reader = readers.all_readers(folder)[name]
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(reader.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda content: readers.attempt(reader.read, content))
    atheris.Fuzz()


def fuzz_apart(name: str, seconds: int, memory: int, keep: Path) -> tuple[int, bool, str]:
    """Fuzz one reader in a process of its own: executions, whether all went well, and what was printed."""
    with tempfile.TemporaryDirectory(prefix="kernode-fuzz-") as folder:
        options = [
            *(f"-max_total_time={seconds}", f"-timeout={LONGEST_CALL}", f"-rss_limit_mb={memory}"),
            *(f"-max_len={LONGEST_INPUT}", f"-artifact_prefix={keep / name.replace(' ', '-')}-"),
            "-print_final_stats=1",
        ]
        command = [sys.executable, str(HERE), "--one", name, "--folder", folder, "--", *options]
        own = os.environ | {"KERNODE_CACHE": f"{folder}/cache", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env=own)
    said = f"{done.stdout}{done.stderr}\nIt ended with {done.returncode}."
    counted = re.search(r"stat::number_of_executed_units:\s*(\d+)", said)
    return int(counted[1]) if counted else 0, done.returncode == 0 and counted is not None, said


def reader_names() -> list[str]:
    """Every reader's name, as readers.py has them."""
    sys.path[:0] = [str(TESTS), str(TESTS / "robustness")]
    import readers

    with tempfile.TemporaryDirectory() as folder:
        return list(readers.all_readers(Path(folder)))


def main() -> int:
    """Fuzz one reader after the other, and say what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("readers", nargs="*", help="their names; all where none is given")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--memory", type=int, default=2048, help="megabytes that a reader's process may have")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-finds"), help="where inputs are left")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given, options = parser.parse_known_args()
    if given.one:
        fuzz_one(given.one, given.folder, [one for one in (*options, *given.readers) if one != "--"])
        return 0
    given.keep.mkdir(parents=True, exist_ok=True)
    total = finds = 0
    for name in given.readers or reader_names():
        executions, well, said = fuzz_apart(name, given.seconds, given.memory, given.keep)
        total, finds = total + executions, finds + (not well)
        print(f"{name:24} {executions:>10,} executions   {'nothing found' if well else 'FOUND:'}", flush=True)
        if not well:
            print("\n".join(f"    {line}" for line in said.splitlines()[-40:]), flush=True)
    print(f"{total:,} executions, {finds} readers with finds")
    return 1 if finds else 0


if __name__ == "__main__":
    raise SystemExit(main())
