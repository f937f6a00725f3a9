"""Settings files: what ``kernode tune`` found, for ``kernode fit`` and ``kernode links``."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from kernode.errors import InputError, KernodeError
from kernode.storage import missing, write_whole


def write_settings(
    path: Path, command: str, variant: str, settings: dict[str, Any], comments: list[str]
) -> None:
    """Write a file for a command, "fit" or "links"."""
    lines = [f"# {' '.join(comment.split())}" for comment in comments]
    values = {"command": command, "variant": variant}
    for part in (values, settings):
        lines += ["", *(["[settings]"] if part is settings else [])]
        # JSON is TOML here
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in part.items()]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def with_settings(
    path: Path | None, command: str, variant: str | None, default: str, changes: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return a variant's name and changes from a file and the command line, which has priority."""
    given = None if variant is None else variant.lower()
    if path is None:
        return given or default, changes
    own, settings = read_settings(path, command)
    if given not in (None, own):
        sentence = f"{path} has settings of {own}, not of {given}. Leave the variant out."
        raise InputError(sentence, "conflict", setting="variant", value=given)
    return own, settings | changes


def read_settings(path: Path, command: str) -> tuple[str, dict[str, Any]]:
    """Return the variant that a file names, and its settings, checked before they mix with other options."""
    from kernode.tasks.classes.variants import configure
    from kernode.tasks.links.variants import configure_links

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise missing(path) from None
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"it is not TOML ({error})") from None
    if "method" in content and "variant" not in content:  # files for links before 0.2
        content |= {"command": "links", "variant": content.pop("method")}
    if unknown := sorted(set(content) - {"command", "variant", "settings"}):
        raise _wrong(path, f"{unknown[0]!r} is neither variant nor [settings]")
    meant, variant, settings = (
        content.get("command", "fit"),
        content.get("variant"),
        content.get("settings", {}),
    )
    if meant != command:
        raise _wrong(path, f"it is for `kernode {meant}`, not for `kernode {command}`")
    if not isinstance(variant, str) or not isinstance(settings, dict):
        raise _wrong(path, 'it needs a line variant = "…" and a section [settings]')
    try:
        (configure if command == "fit" else configure_links)(variant, **settings)
    except KernodeError as error:
        raise InputError(f"{path}: {error}", error.code, **error.fields, path=path) from None
    except (TypeError, ValueError) as error:
        raise _wrong(path, f"a value has the wrong type ({error})") from None
    return variant.lower(), settings


def _wrong(path: Path, reason: str) -> InputError:
    sentence = f"{path} cannot be used: {reason}."
    return InputError(sentence, "wrong-file", path=path, setting="settings")
