"""Settings in a file: what a search found, for ``kernode fit`` and ``kernode links`` to take."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from kernode.errors import FileError, InputError


def write_settings(
    path: Path, command: str, variant: str, settings: dict[str, Any], comments: list[str]
) -> None:
    """Write a file, whole or not at all; ``command`` is the one that is to take it, "fit" or "links"."""
    from kernode.storage import write_whole  # here: commands import this file before they need numpy

    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    lines += ["", f"command = {_value(command)}", f"variant = {_value(variant)}", "", "[settings]"]
    lines += [f"{key} = {_value(value)}" for key, value in settings.items()]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def _value(value: Any) -> str:
    """A plain value in TOML, which for these is JSON.

    >>> _value(1e-05), _value(True), _value([16]), _value("each")
    ('1e-05', 'true', '[16]', '"each"')
    """
    return json.dumps(value, ensure_ascii=False)


def with_settings(
    path: Path | None, command: str, variant: str | None, default: str, changes: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """A variant's name and changes, from a file and the command line: what the line gives wins."""
    given = None if variant is None else variant.lower()
    if path is None:
        return given or default, changes
    own, settings = read_settings(path, command)
    if given not in (None, own):
        raise InputError(f"{path} has settings of {own}, not of {given}. Leave --variant out.")
    return own, settings | changes


def read_settings(path: Path, command: str) -> tuple[str, dict[str, Any]]:
    """The variant that a file names, and its settings, all of which the variant has."""
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give the name of a file.")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}. Right it there.") from None
    except RecursionError:
        raise InputError(f"{path} is not TOML of settings: lists in lists. Right it there.") from None
    except FileNotFoundError:
        raise FileError(f"{path} does not exist. Check the path.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error}). Check the path.") from None
    if "method" in content and "variant" not in content:  # as files of links were before they named it
        content |= {"command": "links", "variant": content.pop("method")}
    unknown = set(content) - {"command", "variant", "settings"}
    if unknown:
        raise InputError(f"{path}: {sorted(unknown)[0]!r} is neither variant nor [settings]. Take it out.")
    meant = content.get("command", "fit")
    if meant != command:
        raise InputError(
            f"{path} is for `kernode {meant}`, not for `kernode {command}`: use that, or leave it."
        )
    variant, settings = content.get("variant"), content.get("settings", {})
    if not isinstance(variant, str) or not isinstance(settings, dict):
        raise InputError(f'{path} must have a line variant = "…" and a section [settings].')
    variant = variant.lower()
    _check(path, command, variant, settings)
    return variant, settings


def _check(path: Path, command: str, variant: str, settings: dict[str, Any]) -> None:
    """Say what is wrong with a file by its name, before its values mix with those of the command line."""
    from kernode.tasks.classes.configure import configure
    from kernode.tasks.links.variants import configure_links

    of_name = configure if command == "fit" else configure_links
    try:
        usual = _flat(*of_name(variant))
        for key, value in settings.items():
            if isinstance(usual.get(key), bool) and not isinstance(value, bool):
                raise InputError(f"{key} must be true or false. Got {value!r}.")
        of_name(variant, **settings)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (TypeError, ValueError) as error:  # a value of another type than the code expects
        raise InputError(f"{path}: a value has the wrong type ({error}). Right it there.") from None


def _flat(method: Any, training: Any) -> dict[str, Any]:
    return vars(training) | vars(method) | vars(getattr(method, "map", method))
