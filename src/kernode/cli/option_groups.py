"""Options in groups: a command declares a dataclass of options as one parameter, and gets one value."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, get_type_hints

import typer

from kernode.cli.log_file import start_log
from kernode.cli.ranks import require_shares
from kernode.errors import KernodeError

# Options and commands of 0.2, by what to write now; errors about a setting (task is new) name it so, too.
_SETTINGS = {
    "table": "id source target weight source_prefix target_prefix negative features positions unknown "
    "decimal dates encoding header as_new_graph task",
    "map": "hops layers hidden powers hop_weights",
    "loss": "objective kernel_loss kernel_weight margin triplets class_weights",
    "training": "learning_rate weight_decay dropout input_dropout selection select_by patience averaging",
    "run": "device threads precision deterministic tensorboard checkpoint_every backend batch folds study "
    "choose_on",
}
MOVED = {
    f"--{name.replace('_', '-')}": f"--set {part}.{name}=…"
    for part, names in _SETTINGS.items()
    for name in names.split()
} | {
    "--map": "--set map=…",
    "--kernel": "--set kernel=…",
    "--negative-weights": "--set table.negative=…",
    "--no-header": "--set table.header=false",
    "--whole": "--set table.as_new_graph=true",
    "--settings": "--set FILE.toml",
    "--against": "the first of --variants",
    "--plane": "--layout",
    "--log-file": "kernode --log-file FILE …, before the command",
}
FORMER_COMMANDS = {
    "missing": "predict-links",
    "shard": "data convert … -o FOLDER",
    "gram": "embed --gram",
    "extend": "predict --new-nodes … --new-edges …",
    "estimate": "fit --dry-run",
    "what-if": "explain",
}


def option(text: str, *names: str, **more: Any) -> Any:
    """An option with a help text, and names unless its parameter's own is enough."""
    return typer.Option(*names, help=text, **more)


def flag(text: str, *names: str, **more: Any) -> Any:
    """An option without a value; typer's help would show <bool> as its value."""
    return typer.Option(*names, help=text, metavar="", **more)


def argument(text: str, **more: Any) -> Any:
    """An argument with a help text."""
    return typer.Argument(help=text, **more)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Give typer one option for each field of a command's groups, and the command one value for each group.

    A group is a dataclass whose fields are ``Annotated[type, typer.Option(…)]``, each with its default.
    Errors of the command name the options of the settings that they are about.
    """
    hints: dict[str, Any] = get_type_hints(command)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    parameters = list(_parameters(command))

    @wraps(command)
    def flat(context: typer.Context, **given: Any) -> None:
        try:
            require_shares(context.command_path.partition(" ")[2])
            if context.obj is not None:  # --log-file; main ends the log, with the exit status
                arguments = {name: value for name, value in given.items() if value is not None}
                start_log(context.obj, context.command_path, arguments)
            values = {
                name: group(**{one.name: given.pop(one.name) for one in dataclasses.fields(group)})
                for name, group in groups.items()
            }
            command(**values, **given)
        except KernodeError as error:
            error.args = (
                with_options(error, [*context.find_root().command.params, *context.command.params]),
            )
            raise

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    flat.__signature__ = inspect.Signature([*parameters, context])  # type: ignore[attr-defined]
    flat.__annotations__ = {one.name: one.annotation for one in (*parameters, context)}
    # Typer keeps the line breaks of a docstring, whatever the width of the terminal.
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    flat.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return flat


def _parameters(of: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """Parameters with those of groups in their place; keyword-only, so that defaults come in any order."""
    hints = get_type_hints(of, include_extras=True)
    for name, parameter in inspect.signature(of).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            yield from _parameters(hints[name])
        else:
            yield parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])


def with_options(error: KernodeError, parameters: list[Any]) -> str:
    """The sentence of an error, with the command's options for the settings that it is about."""
    setting, found = error.fields.get("setting", ()), []
    for name in (setting,) if isinstance(setting, str) else setting:
        option = f"--{name.replace('_', '-')}"
        named = [one for one in parameters if one.name == name or {f"-{name}", option} & {*one.opts}]
        found += ["/".join([one.opts[0], *one.secondary_opts]) for one in named if one.opts[0][0] == "-"]
        if not named and option in MOVED and any("--set" in one.opts for one in parameters):
            found.append(MOVED[option])
    return f"{error} ({', '.join(found)})" if found else str(error)
