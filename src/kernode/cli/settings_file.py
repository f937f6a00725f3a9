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
    lines += ["", f'command = "{command}"', f'variant = "{variant}"', "", "[settings]"]
    # JSON is TOML here
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items()]
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
        if "method" in content and "variant" not in content:  # files for links before 0.2
            content |= {"command": "links", "variant": content.pop("method")}
        if unknown := sorted(set(content) - {"command", "variant", "settings"}):
            raise ValueError(f"{unknown[0]!r} is neither variant nor [settings]")
        variant, settings = content.get("variant"), content.get("settings", {})
        if (meant := content.get("command", "fit")) != command:
            raise ValueError(f"it is for `kernode {meant}`, not for `kernode {command}`")
        if not isinstance(variant, str) or not isinstance(settings, dict):
            raise ValueError('it needs a line variant = "…" and a section [settings]')
        (configure if command == "fit" else configure_links)(variant, **settings)
    except FileNotFoundError:
        raise missing(path) from None
    except KernodeError as error:
        raise InputError(f"{path}: {error}", error.code, **error.fields, path=path) from None
    except (TypeError, ValueError, RecursionError) as error:  # not TOML, or a value of a wrong type
        is_toml = not isinstance(error, tomllib.TOMLDecodeError | UnicodeDecodeError | RecursionError)
        sentence = f"{path} cannot be used: {'' if is_toml else 'it is not TOML: '}{error}."
        raise InputError(sentence, "wrong-file", path=path, setting="settings") from None
    return variant.lower(), settings
