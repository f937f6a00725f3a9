"""Settings in a file: what a search found, for ``kernode fit`` and ``kernode links`` to take."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from kernode.errors import FileError, InputError

_COMMANDS = {"variant": "fit", "method": "links"}


def write_settings(path: Path, kind: str, name: str, settings: dict[str, Any], comments: list[str]) -> None:
    """Write a file, whole or not at all; ``kind`` is "variant" for nodes and "method" for links."""
    from kernode.storage import write_whole  # here: commands import this file before they need numpy

    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    lines += ["", f"{kind} = {_value(name)}", "", "[settings]"]
    lines += [f"{key} = {_value(value)}" for key, value in settings.items()]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def _value(value: Any) -> str:
    """A plain value in TOML, which for these is JSON.

    >>> _value(1e-05), _value(True), _value([16]), _value("each")
    ('1e-05', 'true', '[16]', '"each"')
    """
    return json.dumps(value, ensure_ascii=False)


def with_settings(
    path: Path | None, kind: str, name: str | None, default: str, changes: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """A method's name and changes, from a file and the command line: what the line gives wins."""
    if path is None:
        return name or default, changes
    own, settings = read_settings(path, kind)
    if name not in (None, own):
        raise InputError(f"{path} has settings of {own}, not of {name}. Leave --{kind} out.")
    return own, settings | {key: value for key, value in changes.items() if value is not None}


def read_settings(path: Path, kind: str) -> tuple[str, dict[str, Any]]:
    """The method that a file names, and its settings, all of which the method has."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}. Right it there.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error}).") from None
    other = next(one for one in _COMMANDS if one != kind)
    if other in content:
        raise InputError(f"{path} is for `kernode {_COMMANDS[other]}`: it names a {other}, not a {kind}.")
    unknown = set(content) - {kind, "settings"}
    if unknown:
        raise InputError(f"{path}: {sorted(unknown)[0]!r} is neither {kind} nor [settings]. Take it out.")
    name, settings = content.get(kind), content.get("settings", {})
    if not isinstance(name, str) or not isinstance(settings, dict):
        raise InputError(f'{path} must have a line {kind} = "…" and a section [settings].')
    _check(path, kind, name, settings)
    return name, settings


def _check(path: Path, kind: str, name: str, settings: dict[str, Any]) -> None:
    """Say what is wrong with a file by its name, before its values mix with those of the command line."""
    from kernode.link_prediction.experiment import configure_links
    from kernode.node_classification.variants import configure

    of_name = configure if kind == "variant" else configure_links
    try:
        usual = _flat(*of_name(name))
        for key, value in settings.items():
            if isinstance(usual.get(key), bool) and not isinstance(value, bool):
                raise InputError(f"{key} must be true or false. Got {value!r}.")
        of_name(name, **settings)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (TypeError, ValueError) as error:  # a value of another type than the code expects
        raise InputError(f"{path}: a value has the wrong type ({error}). Right it there.") from None


def _flat(method: Any, training: Any) -> dict[str, Any]:
    return vars(training) | vars(method) | vars(getattr(method, "map", method))
