"""The file that remembers a search: optuna's study in SQLite, with the problem it solves."""

from __future__ import annotations

import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernode.errors import FileError, InputError, MissingExtraError
from kernode.storage import complete

if TYPE_CHECKING:
    import optuna

_NAME = "kernode"
_ATTEMPTS, _PAUSE = 5, 0.2  # to open a file that another process is just making, and seconds between them
_SHOWN = {"runs": "replicas"}  # files say runs
_HASHES = {"graph": "another graph", "nodes": "other labels or nodes", "space": "another search space"}


@contextmanager
def open_study(path: Path, facts: dict[str, Any]) -> Iterator[optuna.Study]:
    """The study in a file, new or continued; a file of another problem is refused."""
    optuna = import_optuna()
    from sqlalchemy.exc import SQLAlchemyError

    _require_ours(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    told = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        storage, study = _opened(optuna, path)
        try:
            with complete(path):
                study.get_trials(deepcopy=False)  # so that damaged ones are met here
                _require_same(study, facts)
            yield study
        finally:
            _close(storage)
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        reason = " ".join(str(getattr(error, "orig", error)).split())
        raise FileError(f"{path} cannot be used for a search ({reason}). Give another --study.") from None
    finally:
        optuna.logging.set_verbosity(told)


def import_optuna() -> Any:
    """The library that searches."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("tuning needs optuna: pip install 'kernode[tune]'.") from None
    return optuna


def tpe_sampler(seed: int, startup: int) -> optuna.samplers.BaseSampler:
    """Tree-structured Parzen estimators; trials under way count as bad, so that a batch spreads out."""
    optuna = import_optuna()
    with warnings.catch_warnings():  # in optuna 4 constant_liar is called experimental
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, constant_liar=True)


def _opened(optuna: Any, path: Path) -> tuple[Any, optuna.Study]:
    """The storage in a file and its study, made if need be: of several that make it one succeeds."""
    from sqlalchemy.exc import SQLAlchemyError

    left = _ATTEMPTS
    while True:
        storage, left = None, left - 1
        try:
            storage = _storage(optuna, path)
            return storage, optuna.create_study(
                storage=storage, study_name=_NAME, direction="maximize", load_if_exists=True
            )
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError):
            if storage is not None:
                _close(storage)
            if not left:
                raise
            time.sleep(_PAUSE)


def _close(storage: Any) -> None:
    storage.remove_session()
    storage.engine.dispose()  # else the file stays open


def _storage(optuna: Any, path: Path) -> Any:
    # The address only says which kind of database: in one, a path's ? or % would mean something else.
    try:
        return optuna.storages.RDBStorage(
            "sqlite:///study.db", engine_kwargs={"creator": lambda: _connect(path)}
        )
    except RuntimeError:
        raise FileError(f"{path} is of another version of optuna. Give another --study.") from None


def _connect(path: Path) -> sqlite3.Connection:
    """A connection that waits for the disk now and then: optuna commits twenty times for each trial."""
    connection = sqlite3.connect(path, check_same_thread=False)  # the pool sees to that
    connection.execute("PRAGMA trusted_schema = OFF")  # views and triggers of somebody's file do nothing odd
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # a power failure may cost the last trials, no others
    return connection


def _require_ours(path: Path) -> None:
    """Raise for a file of somebody else's: opening a study would add tables to it."""
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        with closing(sqlite3.connect(path)) as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.OperationalError as error:  # a full disk, a folder that is read-only, another's lock
        raise FileError(f"{path} cannot be used for a search ({error}). Give another --study.") from None
    except sqlite3.Error as error:
        raise InputError(f"{path} is not a search's file ({error}). Give another --study.") from None
    if tables and "studies" not in tables:
        raise InputError(f"{path} is a database, but not a search's. Give another --study.")


def _require_same(study: optuna.Study, facts: dict[str, Any]) -> None:
    known = study.user_attrs.get("facts")
    if known is None and not study.trials:  # new
        study.set_user_attr("facts", facts)
        return
    known = known or {}
    for name, value in facts.items():
        if known.get(name) != value:
            shown = _SHOWN.get(name, name)
            what = _HASHES.get(name) or f"{shown} {_said(known.get(name))}, not {_said(value)}"
            raise InputError(f"it holds a search with {what}. Give another --study, or move it away.")


def _said(value: Any) -> str:
    return "the default" if value is None else str(value)
