"""Many trainings as tasks: in this process, or wherever joblib runs them (loky, Dask, Ray).

Who runs them is said as everywhere with joblib, by ``joblib.parallel_config``; where nothing is said it is
this process, one task after the other. Results are the same, because nothing that they depend on is left to
a worker: device, precision and the number of threads travel with the task.

So do a task's arguments, the graph among them: a worker need not have this machine's files. A graph goes as
an argument of its own and says how large it is (``Graph.__sizeof__``), so that it is not copied for each
task: loky's workers map its arrays from one file, and Dask and Ray give it to each of theirs once.
"""

from __future__ import annotations

import pickle
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from threadpoolctl import threadpool_limits

from kernode.compute.gpu import deterministic, is_deterministic
from kernode.compute.place import Place, cpu_threads
from kernode.errors import KernodeError, warn
from kernode.studies.worker_log import Line, kept_lines, repeat

RETRIES = 2  # in a row, without a task that got done

# What a task that runs in this process is given, as keywords: whom to tell of its epochs, where to keep them.
Here = Callable[[int], AbstractContextManager[dict[str, Any]]]
_here: ContextVar[Here | None] = ContextVar("here", default=None)  # None in a worker
_alone = threading.RLock()


class Task(NamedTuple):
    """A function of a module, to be called with a place and these arguments."""

    call: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Surroundings:
    """What the bits of a training depend on and a process has for all that it does."""

    device: str
    precision: int
    threads: int
    float32_products: str  # how exact matrix products are, in torch's words
    deterministic: bool = False

    @classmethod
    def of(cls, place: Place, threads: int | None) -> Surroundings:
        """Those of this process; ``threads``: None for as many as torch has."""
        precision = 64 if place.dtype == torch.float64 else 32
        number = torch.get_num_threads() if threads is None else threads
        products = torch.get_float32_matmul_precision()
        return cls(str(place.device), precision, number, products, is_deterministic())

    @contextmanager
    def here(self) -> Iterator[Place]:
        """While this lasts this process has them, for one task: another thread's waits."""
        repeating = deterministic() if self.deterministic else nullcontext()
        with _alone, repeating, cpu_threads(self.threads), threadpool_limits(self.threads, user_api="blas"):
            before = torch.get_float32_matmul_precision()
            torch.set_float32_matmul_precision(self.float32_products)
            try:
                yield Place.of(self.precision, self.device)
            finally:
                torch.set_float32_matmul_precision(before)


class _Outcome(NamedTuple):
    number: int
    value: Any
    error: Exception | None = None
    warned: tuple[tuple[str, type[Warning]], ...] = ()  # in a worker, whose stderr nobody reads
    logged: tuple[Line, ...] = ()  # nor its log


def run_tasks(
    tasks: Sequence[Task], place: Place, *, threads: int | None = None, here: Here | None = None
) -> Generator[tuple[int, Any]]:
    """Give the number of each task and what came of it, as they get done, in any order.

    An error of a task ends them all, and is raised. Where a worker is lost, what was not done is run again.
    Whoever leaves early closes this generator; its workers end then.
    """
    surroundings = Surroundings.of(place, threads)
    left, in_vain = dict(enumerate(tasks)), 0
    while left:
        before = len(left)
        lost = yield from _run_once(left, surroundings, here or (lambda number: nullcontext({})))
        in_vain = in_vain + 1 if len(left) == before else 0
        if lost is not None:
            _say_lost(lost, f"{len(tasks) - len(left)} of {len(tasks)} tasks are done", in_vain)


@contextmanager
def _not_for_children() -> Iterator[None]:
    """Block Ctrl-C in processes that are started meanwhile: the process that starts them ends them.

    A terminal sends it to all of them, and a Python that is still importing would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_once(
    left: dict[int, Task], surroundings: Surroundings, here: Here
) -> Generator[tuple[int, Any], None, Exception | None]:
    """Run what is left, and take from it what got done; return what ended this before all was."""
    from joblib import Parallel, delayed

    from kernode.studies.joblib_backends import prepare_backend

    prepare_backend()
    calls = [delayed(_run)(number, surroundings, task.call, *task.arguments) for number, task in left.items()]
    try:
        with _not_for_children():
            results = Parallel(batch_size=1, return_as="generator_unordered")(calls)
    except (
        Exception
    ) as error:  # a cluster that has no worker just now, or whose worker ended when it was asked
        if isinstance(error, TimeoutError) or _of_a_worker(error):
            return error
        raise
    try:
        while left:
            token = _here.set(here)
            try:
                done: _Outcome = next(results)
            except Exception as error:
                if _of_a_worker(error):
                    return error
                raise
            finally:
                _here.reset(token)
            repeat(done.logged)
            for sentence, category in done.warned:
                warn(sentence, category)
            if done.error is not None:
                raise done.error
            del left[done.number]
            yield done.number, done.value
    finally:
        with warnings.catch_warnings():  # joblib's, that tasks are given up: they are meant to be
            warnings.simplefilter("ignore")
            results.close()
    return None


def _run(number: int, surroundings: Surroundings, call: Callable[..., Any], *arguments: Any) -> _Outcome:
    """One task, in whatever process it is."""
    here = _here.get()
    try:
        if here is not None:
            with surroundings.here() as place, here(number) as own:
                return _Outcome(number, call(place, *arguments, **own))
        with (
            surroundings.here() as place,
            kept_lines() as lines,
            warnings.catch_warnings(record=True) as heard,
        ):
            warnings.simplefilter("default")
            value = call(place, *arguments)
        said = dict.fromkeys((str(one.message), one.category) for one in heard)
        return _Outcome(number, value, warned=tuple(said), logged=tuple(lines))
    except Exception as error:
        return _Outcome(number, None, error if here is not None else _portable(error))


def _of_a_worker(error: Exception) -> bool:
    """Whether a backend tells of a worker's end; a task's own error comes back as its outcome."""
    kinds = type(error).__mro__
    return isinstance(error, BrokenExecutor | CancelledError) or any(
        kind.__module__.partition(".")[0] in ("distributed", "ray") for kind in kinds
    )


def _portable(error: Exception) -> Exception:
    """An error that another process can read, and where it was raised as a note."""
    where = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # it is made of other things than its sentence, or holds what cannot be sent
        known = isinstance(error, KernodeError)
        error = KernodeError(str(error)) if known else RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(where)
    return error


def _say_lost(error: Exception, done: str, in_vain: int) -> None:
    why = f"{type(error).__name__}: {' '.join(str(error).split()).partition('. ')[0]}"
    if in_vain > RETRIES:
        raise KernodeError(
            f"the workers were lost {in_vain} times without getting a task done ({why}). {done}; the same "
            "call goes on from there. Often it is memory: run fewer at a time."
        ) from error
    warn(f"a worker was lost ({why}). {done}; the others are run again.")
