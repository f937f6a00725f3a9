"""``--jobs``: how many trainings run at a time, and through joblib's backends where."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from kernode.cli.option_groups import option
from kernode.cli.options.settings import RunSettings
from kernode.errors import InputError, KernodeError, MissingExtraError, bad_setting

# Clusters that are started on this machine.
_DASK = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": logging.CRITICAL}
_RAY = {"address": "local", "include_dashboard": False}
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
class JobOptions(RunSettings):
    """What runs many trainings, through joblib, and how many at a time.

    loky: processes of this machine; dask: the cluster at DASK_SCHEDULER_ADDRESS; ray: the one at RAY_ADDRESS.
    Without an address they start one here.
    """

    backend: Annotated[Literal["loky", "dask", "ray"] | None, option("What runs them.")] = None
    jobs: JobsOption = None

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1 and self.jobs != -1:
            raise bad_setting("jobs", "an integer ≥ 1, or -1 for one per core", self.jobs)

    def with_jobs(self, jobs: int | None) -> Self:
        """The same with the number of ``--jobs``, if it is given."""
        if self.backend == "loky" and self.jobs is None and jobs is None:
            raise InputError("the backend loky needs the number of processes.", "missing", setting="jobs")
        return self if jobs is None else replace(self, jobs=jobs)

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

        backend, address = self.backend or "loky", None
        with ExitStack() as stack:
            try:
                if backend == "dask":
                    import dask
                    from distributed import Client

                    address = dask.config.get("scheduler-address", None)  # or of DASK_SCHEDULER_ADDRESS
                    stack.enter_context(Client(**self._own_cluster(address, "n_workers", _DASK)))
                elif backend == "ray":
                    import ray
                    from ray.util.joblib import register_ray

                    address = os.environ.get("RAY_ADDRESS")
                    own = self._own_cluster(address, "num_cpus", _RAY)
                    ray.init(logging_level=logging.ERROR, log_to_driver=False, **own)
                    stack.enter_context(redirect_stdout(io.StringIO()))  # Ray prints lost workers
                    stack.callback(ray.shutdown)
                    register_ray()
            except ImportError:
                sentence = f"it needs {backend.title()}: pip install 'kernode[{backend}]'."
                raise MissingExtraError(sentence, "extra", extra=backend, setting="backend") from None
            except KernodeError:
                raise
            except (OSError, ValueError, RuntimeError) as error:
                sentence = f"no {backend.title()} scheduler answers at {address} ({error})."
                raise KernodeError(sentence, "unreachable") from None
            stack.enter_context(parallel_config(backend=backend, n_jobs=self.jobs or -1))
            yield

    def _own_cluster(self, address: str | None, workers: str, own: dict[str, Any]) -> dict[str, Any]:
        """Arguments that start a cluster on this machine; none where there is one at an address."""
        if address is None:
            return own | {workers: None if self.jobs == -1 else self.jobs}
        if self.jobs is not None:
            sentence = f"the cluster at {address} has workers of its own. Leave out their number."
            raise InputError(sentence, "conflict", setting="jobs")
        return {}
