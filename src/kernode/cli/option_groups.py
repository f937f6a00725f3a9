"""Options in groups: a command declares a group as one parameter, and gets all of its values as one."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from kernode.cli.log_file import start_log
from kernode.cli.ranks import require_shares


def option(text: str, *names: str, **more: Any) -> Any:
    """An option with a help text, and names unless its parameter's own is enough."""
    return typer.Option(*names, help=text, **more)


def argument(text: str, **more: Any) -> Any:
    """An argument with a help text."""
    return typer.Argument(help=text, **more)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Give typer one option for each field of a command's groups, and the command one value for each group.

    A group is a dataclass whose fields are ``Annotated[type, typer.Option(…)]``, each with its default.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = [
        one
        for name, parameter in inspect.signature(command).parameters.items()
        for one in _flat(parameter.replace(annotation=hints[name]))
    ]
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}

    @wraps(command)
    def flat(context: typer.Context, **given: Any) -> None:
        require_shares(context.command_path.partition(" ")[2])
        if context.obj is not None:  # --log-file; main ends the log, with the exit status
            arguments = {name: value for name, value in given.items() if value is not None}
            start_log(context.obj, context.command_path, arguments)
        values = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**values, **given)

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    flat.__signature__ = inspect.Signature([*parameters, context])  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, context)}
    # Typer keeps the line breaks of a docstring, whatever the width of the terminal.
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    flat.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return flat


def _flat(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """A group's fields, or the parameter itself; keyword-only, so that defaults may come in any order."""
    group, keyword = parameter.annotation, inspect.Parameter.KEYWORD_ONLY
    if not dataclasses.is_dataclass(group):
        yield parameter.replace(kind=keyword)
        return
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(field.name, keyword, default=default, annotation=hints[field.name])


class _PlainFlags:
    """Help without a type for options that take no value; typer would write <bool>, also for --help."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Command(_PlainFlags, TyperCommand):
    """A command with such help."""


class Group(_PlainFlags, TyperGroup):
    """A group of commands with such help."""
