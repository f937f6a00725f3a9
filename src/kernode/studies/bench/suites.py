"""The suites by name."""

from __future__ import annotations

from collections.abc import Callable

from kernode.compute.place import set_threads
from kernode.errors import InputError
from kernode.studies.bench import complexity, memory, replicas, scale, step
from kernode.studies.bench.rivals import layers_of_pyg
from kernode.studies.bench.rows import Begin, Options, Outcome

SUITES: dict[str, Callable[[Options, Begin], Outcome]] = {
    "step": step.run,
    "scale": scale.run,
    "replicas": replicas.run,
    "memory": memory.run,
    "complexity": complexity.run,
}


def run_suite(suite: str, options: Options, begin: Begin) -> Outcome:
    """Run one suite."""
    if suite not in SUITES:
        raise InputError(f"{suite!r} is not a suite. Choose one of {', '.join(SUITES)}.")
    if options.rounds is not None and options.rounds < 1:
        raise InputError(f"--rounds must be an integer ≥ 1. Got {options.rounds}.")
    if options.hidden < 1:
        raise InputError(f"--hidden must be an integer ≥ 1. Got {options.hidden}.")
    layers_of_pyg()  # said before anything is computed
    set_threads(options.threads)
    return SUITES[suite](options, begin)
