"""What joblib's backends lack for tasks whose results are kept one by one, and for Ctrl-C."""

from __future__ import annotations

from typing import Any


def prepare_backend() -> None:
    """Complete the backend that ``joblib.parallel_config`` has chosen."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend" and "submit" not in vars(backend):  # not prepared before
        _complete_dask(backend)
    elif kind == "LokyBackend":
        # When it starts, it lets the signals through again that whoever starts workers holds back.
        from joblib.externals.loky.backend.resource_tracker import ensure_running

        ensure_running()
    elif kind == "RayBackend":
        # It gives results as they come, but is derived from joblib's multiprocessing, which does not.
        backend.supports_return_generator = True


def _complete_dask(backend: Any) -> None:
    submit, configure = backend.submit, backend.configure

    def submit_and_report(func: Any, callback: Any = None) -> Any:
        """Tell joblib, too, that a task lost its workers once too often; it would wait for it for ever."""
        job = submit(func, callback)
        if callback is not None:
            job.add_done_callback(lambda done: done.exception() and callback(done.exception()))
        return job

    def configure_for_several(*arguments: Any, **named: Any) -> int:
        """Never one at a time: joblib takes that to mean this process, and not a cluster's only worker."""
        return max(2, configure(*arguments, **named))

    backend.submit, backend.configure = submit_and_report, configure_for_several
