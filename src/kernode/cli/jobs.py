"""``--jobs``: how many trainings run at a time, and through joblib's backends where."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from kernode.cli.option_groups import option
from kernode.cli.options.settings import RunSettings
from kernode.errors import InputError, KernodeError, MissingExtraError, bad_setting

JobsOption = Annotated[
    int | None,
    option(
        "Trainings at a time, each a process with one CPU thread, or as many as set; -1: one per core. "
        "They share a GPU. Results are the same for every N.",
        metavar="N",
        show_default="one at a time, with all cores",
    ),
]


@dataclass(frozen=True, kw_only=True)
class JobSettings(RunSettings):
    """What runs many trainings, through joblib.

    loky: processes of this machine; dask: the cluster at DASK_SCHEDULER_ADDRESS; ray: the one at RAY_ADDRESS.
    Without an address they start one here.
    """

    backend: Annotated[Literal["loky", "dask", "ray"] | None, option("What runs them.")] = None


@dataclass(frozen=True, kw_only=True)
class JobOptions(JobSettings):
    """The same, and how many at a time."""

    jobs: JobsOption = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1 and self.jobs != -1:
            raise bad_setting("jobs", "an integer ≥ 1, or -1 for one per core", self.jobs)
        if self.backend == "loky" and self.jobs is None:
            raise InputError("the backend loky needs the number of processes.", "missing", setting="jobs")

    @classmethod
    def of(cls, settings: JobSettings, jobs: int | None) -> JobOptions:
        """Settings of a command with its ``--jobs``."""
        return cls(**{name: getattr(settings, name) for name in JobSettings.__dataclass_fields__}, jobs=jobs)

    @property
    def elsewhere(self) -> bool:
        """Whether trainings run in other processes, whose epochs are not seen here."""
        return self.backend in ("dask", "ray") or self.jobs not in (None, 1)

    @property
    def threads_each(self) -> int | None:
        """Threads of a training: as set, or one with jobs or a backend, else torch's number.

        Not by the number of jobs: with another number of threads results have other bits.
        """
        return 1 if self.threads is None and (self.jobs or self.backend) else self.threads

    @contextmanager
    def workers(self) -> Iterator[None]:
        """Give joblib its workers."""
        if self.jobs is None and self.backend is None:
            yield
            return
        from joblib import parallel_config

        backend = self.backend or "loky"
        with ExitStack() as stack:
            try:
                stack.enter_context({"dask": self._dask, "ray": self._ray}.get(backend, nullcontext)())
            except ImportError:
                sentence = f"it needs {backend.title()}: pip install 'kernode[{backend}]'."
                raise MissingExtraError(sentence, "extra", extra=backend, setting="backend") from None
            stack.enter_context(parallel_config(backend=backend, n_jobs=self.jobs or -1))
            yield

    @contextmanager
    def _dask(self) -> Iterator[None]:
        import dask
        from distributed import Client

        address = dask.config.get("scheduler-address", None)  # DASK_SCHEDULER_ADDRESS, or Dask's own files
        own: dict[str, Any] = {"n_workers": self._count(address), "threads_per_worker": 1}
        own |= {"dashboard_address": None, "silence_logs": logging.CRITICAL}
        try:
            client = Client(**({} if address else own))
        except (OSError, ValueError) as error:
            raise KernodeError(f"no Dask scheduler answers at {address} ({error}).", "unreachable") from None
        with client:
            yield

    @contextmanager
    def _ray(self) -> Iterator[None]:
        import ray
        from ray.util.joblib import register_ray

        address = os.environ.get("RAY_ADDRESS")
        own: dict[str, Any] = {"address": "local", "num_cpus": self._count(address)}
        try:
            ray.init(
                logging_level=logging.ERROR, log_to_driver=False,
                **({} if address else own | {"include_dashboard": False}),
            )  # fmt: skip
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise KernodeError(f"Ray does not start, or not at {address} ({error}).", "unreachable") from None
        register_ray()
        with redirect_stdout(io.StringIO()):  # Ray prints lost workers
            try:
                yield
            finally:
                ray.shutdown()

    def _count(self, address: str | None) -> int | None:
        """Number of workers to start on this machine; None: one per core."""
        if address is not None and self.jobs is not None:
            sentence = f"the cluster at {address} has workers of its own. Leave out their number."
            raise InputError(sentence, "conflict", setting="jobs")
        return None if self.jobs == -1 else self.jobs
