"""Many trainings: as tasks of joblib (loky, Dask, Ray), and as the replicas of a stack.

``joblib.parallel_config`` chooses the workers; without it tasks run in this process, one after the other.
Results are the same either way: device, precision and number of threads travel with the task, and so do its
arguments. A graph is a separate argument that reports its size (``Graph.__sizeof__``): loky's workers map
its arrays from one file, Dask and Ray send it to each worker once.
"""

from __future__ import annotations

import gc
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, NamedTuple, TypeVar

import torch
from threadpoolctl import threadpool_limits

from kernode.compute.gpu import deterministic, is_deterministic
from kernode.compute.tensor_options import TensorOptions, cpu_threads
from kernode.errors import InputError, KernodeError, warn
from kernode.training.loop import DivergedError

# Keyword arguments, such as callbacks, of a task that runs in this process, by its number.
Local = Callable[[int], AbstractContextManager[dict[str, Any]]]
Member = TypeVar("Member")
Result = TypeVar("Result")
_one_at_a_time = threading.RLock()


class Task(NamedTuple):
    """A function of a module, to be called with a place and these arguments."""

    call: Callable[..., Any]
    arguments: tuple[Any, ...]


class Environment(NamedTuple):
    """Settings of a process that the bits of a training depend on."""

    device: str
    precision: int
    threads: int
    deterministic: bool = False

    @classmethod
    def of(cls, options: TensorOptions, threads: int | None) -> Environment:
        """Return the environment of this process; ``threads``: None for torch's number."""
        precision = 64 if options.dtype == torch.float64 else 32
        return cls(str(options.device), precision, threads or torch.get_num_threads(), is_deterministic())

    @contextmanager
    def applied(self) -> Iterator[TensorOptions]:
        """Apply the settings to this process for one task; tasks in other threads wait."""
        repeatable = deterministic() if self.deterministic else nullcontext()
        with _one_at_a_time, repeatable, cpu_threads(self.threads), threadpool_limits(self.threads, "blas"):
            yield TensorOptions.of(self.precision, self.device)


class _Outcome(NamedTuple):
    number: int
    value: Any
    error: Exception | None = None
    warned: tuple[tuple[str, type[Warning]], ...] = ()


def run_tasks(
    tasks: Sequence[Task], options: TensorOptions, *, threads: int | None = None, local: Local | None = None
) -> Generator[tuple[int, Any]]:
    """Yield the number and the result of each task as it finishes, in any order.

    The error of a task, or the loss of a worker, ends all of them and is raised. To leave early, close this
    generator: that ends its workers.
    """
    environment, local = Environment.of(options, threads), local or (lambda number: nullcontext({}))
    if not _has_workers():
        for number, task in enumerate(tasks):
            with environment.applied() as own_place, local(number) as more:
                value = task.call(own_place, *task.arguments, **more)
            yield number, value
        return
    from joblib import Parallel, delayed

    calls = (delayed(_run)(i, environment, one.call, *one.arguments) for i, one in enumerate(tasks))
    results = None
    try:
        with _interrupts_blocked():
            results = Parallel(batch_size=1, return_as="generator_unordered")(calls)
        for done in results:
            for sentence, category in done.warned:
                warn(sentence, category)
            if done.error is not None:
                raise done.error
            yield done.number, done.value
    except Exception as error:
        packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
        if not isinstance(error, BrokenExecutor | CancelledError | TimeoutError) and not (
            packages & {"distributed", "ray"}
        ):
            raise
        lost = f"{type(error).__name__}: {' '.join(str(error).split()).partition('. ')[0]}"
        raise KernodeError(
            f"a worker was lost ({lost}). The same call continues from what is done. A frequent cause is "
            "memory: run fewer at a time.",
            "lost-workers",
        ) from error
    finally:
        if results is not None:
            with warnings.catch_warnings(action="ignore"):  # joblib warns of unfinished tasks
                results.close()


def _run(number: int, environment: Environment, call: Callable[..., Any], *arguments: Any) -> _Outcome:
    """Run one task in a worker."""
    try:
        with environment.applied() as options, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            value = call(options, *arguments)
        warned = dict.fromkeys((str(one.message), one.category) for one in caught)
        return _Outcome(number, value, None, tuple(warned))
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        return _Outcome(number, None, error)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all: this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _has_workers() -> bool:
    """Return whether ``joblib.parallel_config`` has chosen workers, after adding what its backend lacks."""
    from joblib.parallel import get_active_backend

    backend, jobs = get_active_backend()
    kind = type(backend).__name__
    if kind == "RayBackend":
        backend.supports_return_generator = True  # unlike its base, for multiprocessing
        return True
    if kind == "DaskDistributedBackend":
        if "submit" not in vars(backend):
            _complete_dask(backend)
        return True
    if kind == "LokyBackend":
        from joblib.externals.loky.backend.resource_tracker import ensure_running

        ensure_running()  # before interrupts are blocked, since its start unblocks them
    return bool(backend.effective_n_jobs(1 if jobs is None else jobs) > 1)


def _complete_dask(backend: Any) -> None:
    submit, configure = backend.submit, backend.configure

    def submit_and_report(func: Any, callback: Any = None) -> Any:
        """Report a task that Dask gave up: joblib would wait for it forever."""
        job = submit(func, callback)
        if callback is not None:
            job.add_done_callback(lambda done: done.exception() and callback(done.exception()))
        return job

    # joblib takes one job to mean this process, and not the only worker of a cluster.
    backend.configure = lambda *arguments, **named: max(2, configure(*arguments, **named))
    backend.submit = submit_and_report


class Failure(NamedTuple):
    """Why a member of a stack could not be trained."""

    why: Literal["diverged", "memory", "refused"]  # refused: the method does not support such a graph
    sentence: str

    @classmethod
    def of(cls, error: BaseException) -> Failure | None:
        """Return the failure that an error means, or None for any other error."""
        if isinstance(error, DivergedError):
            return cls("diverged", str(error))
        if isinstance(error, InputError):
            return cls("memory" if error.code == "too-large" else "refused", str(error))
        cause: BaseException | None = error
        while cause is not None:  # running out of memory within a CUDA capture ends in another error
            known = isinstance(cause, torch.OutOfMemoryError | MemoryError)
            if known or (isinstance(cause, RuntimeError) and "alloc" in str(cause).lower()):
                return cls("memory", "not even one run at a time fits into memory.")
            cause = cause.__cause__ or cause.__context__
        return None


def train_stack(
    members: Sequence[Member], train: Callable[[Sequence[Member]], Sequence[Result]], replicas: int = 1
) -> list[Result | Failure]:
    """Train members as one stack, so many replicas each; return the result or the failure of each.

    A failure ends a stack. It is then trained without the members that diverged, or else in halves, which
    gives the others the results that they would have had.
    """
    failed: set[int] = set()
    try:
        return [*train(members)]
    except (KernodeError, RuntimeError, MemoryError) as error:
        failure = Failure.of(error)
        if failure is None:
            raise
        if isinstance(error, DivergedError):
            failed = {replica // replicas for replica in error.replicas}
    gc.collect()  # after the except block, where no error holds tensors any more
    if torch.cuda.is_available():  # pragma: needs a GPU
        torch.cuda.empty_cache()
    if len(members) == 1 or len(failed) == len(members):
        return [failure] * len(members)
    if not failed:
        half = len(members) // 2
        return train_stack(members[:half], train, replicas) + train_stack(members[half:], train, replicas)
    others = iter(train_stack([one for i, one in enumerate(members) if i not in failed], train, replicas))
    return [failure if i in failed else next(others) for i in range(len(members))]
