"""How many of 200 small faults the tests see: `python scripts/mutants.py`, or `make mutants`.

The faults (mutations.py) are drawn among the operator, the kernels, the triplets, the losses and the
classifiers, as many from each. The tests run once without any, to see which of them run which lines. Then
each fault is put into a process of its own, forked from one that has torch imported already, and the tests
that run its line follow, the shortest first, until one fails. Limits are of processor time, so that a busy
machine changes nothing.

`--survivors` tries again those that nothing saw. Why one is left is in scripts/mutant_reasons.json.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mutations import Mutant, mutants_of

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src/kernode"
RESULTS = ROOT / "results/mutants.json"
SEED = 33
EACH = 40  # mutants of a package
AT_A_TIME = 2
SECONDS = 20  # of processor time that the tests of one mutant take without it, at most
HANGS = 20  # seconds more, and five times as long: then it hangs, which is seen as well

_TRIPLETS = ("triplets", "nodes_by_class")
ROOMS = {
    "operator": sorted(SOURCES.glob("hops/*.py")),
    "kernels": sorted(SOURCES.glob("kernels/*.py")),
    "triplets": [SOURCES / f"losses/{name}.py" for name in _TRIPLETS],
    "losses": [path for path in sorted(SOURCES.glob("losses/*.py")) if path.stem not in _TRIPLETS],
    "classifiers": [
        SOURCES / f"tasks/classes/{name}.py"
        for name in ("method", "calibration", "evaluation", "kernel_ridge", "sum")
    ],
}
TESTS = [  # one process each
    ["tests/hops", "tests/ranks/test_shares.py", "tests/maps/test_equation_7.py",
     "tests/compute/test_fused.py", "tests/search/test_estimate.py", "tests/tasks/links", "tests/metrics",
     "src/kernode/hops"],
    ["tests/losses", "tests/kernels", "tests/robustness/test_malicious_files.py", "tests/tasks/classes",
     "tests/estimators/test_report.py",
     "src/kernode/kernels", "src/kernode/losses", "src/kernode/tasks/classes"],
]  # fmt: skip
IMPORTED = (
    "duckdb", "faiss", "gpytorch", "graphblas", "hypothesis.extra.numpy", "safetensors.torch",
    "scipy.optimize", "scipy.sparse", "sklearn.gaussian_process", "sklearn.linear_model", "sklearn.svm",
    "torch_geometric", "typer",
)  # fmt: skip


def sample() -> dict[str, list[Mutant]]:
    """As many mutants from each package, by a hash of their text: edits elsewhere change no draw."""

    def drawn(mutant: Mutant) -> str:
        return hashlib.sha256(f"{SEED} {mutant.key}".encode()).hexdigest()

    return {
        room: sorted((one for path in paths for one in mutants_of(path, ROOT)), key=drawn)[:EACH]
        for room, paths in ROOMS.items()
    }


class _Finder:
    """Imports one module from bytes that are not those of its file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.name = file.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.source = source

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = _Loader(name, spec.origin)
        spec.loader.source = self.source
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    source: bytes

    def get_data(self, path: str) -> bytes:
        return self.source

    def path_stats(self, path: str) -> Any:
        raise OSError  # neither read bytecode nor write it


class _Watch:
    """What pytest tells: which tests ran, how long, which failed first; ``only`` are run, in that order."""

    def __init__(
        self, only: list[str] | None = None, on_test: Callable[[str], None] = lambda _: None
    ) -> None:
        self.only, self.on_test = only, on_test
        self.seconds: dict[str, float] = {}
        self.failed: str | None = None

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.only is not None:
            by_id = {item.nodeid: item for item in items}
            items[:] = [by_id[name] for name in self.only if name in by_id]

    def pytest_runtest_setup(self, item: Any) -> None:
        self.on_test(item.nodeid)
        self.began = time.process_time()

    def pytest_runtest_teardown(self, item: Any) -> None:
        self.seconds[item.nodeid] = time.process_time() - self.began

    def pytest_exception_interact(self, node: Any) -> None:
        self.failed = self.failed or node.nodeid


def run_tests(targets: list[str], watch: _Watch) -> int:
    """Pytest in this process; what it prints goes nowhere."""
    import pytest

    # Plain assertions: pytest would import for itself, and without the mutant, what it looks for doctests in.
    # No marker: slow tests run on mutants as well.
    options = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "-m", ""]
    return int(pytest.main([*options, *targets], plugins=[watch]))


def forked(work: Callable[[], Any], seconds: float, quiet: bool = True) -> tuple[int, Path]:
    """Begin some work in a process of its own; its answer will be in the file."""
    answer = Path(tempfile.mkstemp(suffix=".json")[1])
    pid = os.fork()
    if pid:
        return pid, answer
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
        signal.alarm(int(20 * seconds))  # one that only waits
        if quiet:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        answer.write_text(json.dumps(work()))
        status = 0
    finally:
        os._exit(status)


def together(jobs: Iterator[tuple[Any, int, Path]]) -> Iterator[tuple[Any, Any]]:
    """Two jobs at a time; gives each with its answer, None where it ended without one."""
    running: dict[int, tuple[Any, Path]] = {}
    left = True
    while running or left:
        while left and len(running) < AT_A_TIME:
            if (begun := next(jobs, None)) is None:
                left = False
            else:
                running[begun[1]] = begun[0], begun[2]
        if running:
            pid, _ = os.wait()
            job, path = running.pop(pid)
            text = path.read_text()
            path.unlink()
            yield job, json.loads(text) if text else None


def baseline(targets: list[str]) -> dict[str, Any]:
    """The tests without a mutant: their times, and which of them run which lines of the packages."""
    import coverage

    files = [str(path) for paths in ROOMS.values() for path in paths]
    counter = coverage.Coverage(data_file=None, config_file=False, include=files)
    watch = _Watch(on_test=counter.switch_context)
    counter.start()
    status = run_tests(targets, watch)
    counter.stop()
    data = counter.get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): data.contexts_by_lineno(file)
        for file in files
        if data.contexts_by_lineno(file)
    }
    return {"status": status, "failed": watch.failed, "seconds": watch.seconds, "lines": lines}


def without_mutants() -> tuple[dict[str, float], dict[str, dict[int, set[str]]]]:
    """Seconds of each test, and the tests by file and line. Ends here where one fails."""
    jobs = ((targets[0], *forked(lambda targets=targets: baseline(targets), 1800)) for targets in TESTS)
    seconds: dict[str, float] = {}
    tests: dict[str, dict[int, set[str]]] = {}
    for name, found in together(jobs):
        if found is None or found["status"]:
            sys.exit(f"{name}: not green without a mutant: {found and found['failed']}")
        seconds |= found["seconds"]
        for file, lines in found["lines"].items():
            for line, names in lines.items():
                tests.setdefault(file, {}).setdefault(int(line), set()).update(names)
    return seconds, tests


def tests_of(mutant: Mutant, seconds: dict[str, float], tests: dict[str, dict[int, set[str]]]) -> list[str]:
    """Those that run the line, the shortest first; of a line that importing runs, those of its file."""
    lines = tests.get(mutant.file, {})
    first, last = mutant.lines
    names = set().union(*(lines.get(line, set()) for line in range(first, last + 1)))
    if "" in names:  # run where no test had begun
        names = set().union(*lines.values())
    chosen, total = [], 0.0
    for name in sorted(names - {""}, key=lambda one: seconds.get(one, 0.0)):
        total += seconds.get(name, 0.0)
        if total > SECONDS:
            break
        chosen.append(name)
    return chosen


def tried(mutant: Mutant, names: list[str]) -> dict[str, Any]:
    """Whether a test fails with the mutant in place; for a process of its own."""
    if not names:
        return {"killed_by": None}
    sys.meta_path.insert(0, _Finder(mutant.file, mutant.mutated((ROOT / mutant.file).read_bytes())))
    watch = _Watch(names)
    files = list(dict.fromkeys(name.split("::")[0] for name in names))
    status = run_tests(files, watch)
    return {"killed_by": (watch.failed or "it cannot be imported") if status not in (0, 5) else None}


def outcomes(mutants: list[Mutant]) -> Iterator[tuple[Mutant, str | None]]:
    """Each mutant, and what saw it."""
    began = time.monotonic()
    seconds, tests = without_mutants()
    say(f"{len(seconds)} tests pass without a mutant, in {time.monotonic() - began:.0f} s")

    def jobs() -> Iterator[tuple[Mutant, int, Path]]:
        for mutant in mutants:
            names = tests_of(mutant, seconds, tests)
            limit = HANGS + 5 * sum(seconds.get(name, 0.0) for name in names)
            yield mutant, *forked(lambda mutant=mutant, names=names: tried(mutant, names), limit)

    for mutant, found in together(jobs()):
        yield mutant, "it hangs, or ends the process" if found is None else found["killed_by"]


def say(text: str) -> None:
    """To a person who waits."""
    print(text, file=sys.stderr, flush=True)


def record(
    rooms: dict[str, list[Mutant]], killed: dict[str, str | None], before: dict[str, Any]
) -> dict[str, Any]:
    """What results/mutants.json holds."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for paths in ROOMS.values() for path in paths))
    drawn = [(room, one) for room, mutants in rooms.items() for one in mutants]
    same_draw = before.get("seed") == SEED
    first = (before.get("first_run") if same_draw else None) or {
        "mutants": len(drawn),
        "killed": sum(killed[one.key] is not None for _, one in drawn),
    }
    return {
        "seed": SEED,
        "sources": digest.hexdigest(),
        "first_run": first,
        "mutants": len(drawn),
        "killed": sum(killed[one.key] is not None for _, one in drawn),
        "by_room": _counts((room, killed[one.key]) for room, one in drawn),
        "by_kind": _counts((one.kind, killed[one.key]) for _, one in drawn),
        "each": [
            {"room": room, "file": one.file, "line": one.line, "kind": one.kind, "before": one.before,
             "after": one.after, "killed_by": killed[one.key]}
            for room, one in drawn
        ],
    }  # fmt: skip


def _counts(outcome: Iterator[tuple[str, str | None]]) -> dict[str, dict[str, int]]:
    seen = list(outcome)
    every, killed = Counter(name for name, _ in seen), Counter(name for name, by in seen if by is not None)
    return {name: {"mutants": every[name], "killed": killed[name]} for name in sorted(every)}


def main() -> None:
    """Try all, or those that were left, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--survivors", action="store_true", help="try again those that nothing saw")
    parser.add_argument("--first", type=int, metavar="N", help="the first N of each, and write nothing")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TRITON_INTERPRET": "1"}
    os.chdir(ROOT)
    for path in ("tests", "src"):
        sys.path.insert(0, str(ROOT / path))
    for name in IMPORTED:
        if importlib.util.find_spec(name.split(".")[0]):
            importlib.import_module(name)
    rooms = sample()
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    killed = {
        f"{one['file']}: {one['before']} → {one['after']}": one["killed_by"] for one in before.get("each", [])
    }
    mutants = [one for drawn in rooms.values() for one in drawn[: options.first]]
    if options.survivors:
        mutants = [one for one in mutants if killed.get(one.key) is None]
    for done, (mutant, by) in enumerate(outcomes(mutants), 1):
        killed[mutant.key] = by
        outcome = f"killed by {by}" if by else "SURVIVED"
        say(f"{done}/{len(mutants)} {mutant.file}:{mutant.line} {mutant.before} → {mutant.after}: {outcome}")
    if not options.first:
        RESULTS.write_text(json.dumps(record(rooms, killed, before), indent=1, ensure_ascii=False) + "\n")
    counted = [killed[one.key] is not None for one in mutants]
    print(f"{sum(counted)} of {len(counted)} mutants killed ({sum(counted) / max(1, len(counted)):.1%})")


if __name__ == "__main__":
    main()
