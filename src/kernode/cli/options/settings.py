"""``--set PART.NAME=VALUE``: settings that few people change, in one spelling for all commands."""

from __future__ import annotations

import ast
import dataclasses
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args, get_type_hints

from kernode.cli.option_groups import flag, option
from kernode.errors import InputError, bad_setting

if TYPE_CHECKING:
    from kernode.compute.tensor_options import TensorOptions

_HELP = (
    "A setting by its part: training.patience=50, map.hops=3, map='GCN(hidden=(64,))', table.weight=km, "
    "run.device=cpu. May be repeated."
)
METHOD = dict.fromkeys(("map", "kernel", "loss", "training", "method"))  # parts that check their own settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableSettings:
    """Options of tables: columns, their kinds and their notation."""

    id: str | None = None
    task: Literal["auto", "classes", "numbers"] | None = None  # what the label column holds
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    source_prefix: str | None = None  # before the ids of sources, where targets are numbered alike
    target_prefix: str | None = None
    negative: Literal["absolute", "drop"] | None = None  # weights below 0
    features: str | None = None  # columns, with kinds if need be: year,venue:category,title:text
    positions: int | None = None  # random-projection positions; 64 without features, else 0
    unknown: str | None = None  # values of the label column that mean not known: -1,unknown
    decimal: str | None = None
    dates: str | None = None  # dmy or mdy
    encoding: str | None = None
    header: bool | None = None

    def columns(self) -> dict[str, Any]:
        """The options that are set, as arguments of ``read_table``."""
        parsers: dict[str, Any] = {"features": parse_features, "unknown": lambda text: text.split(",")}
        values = {name: value for name, value in vars(self).items() if value is not None}
        return {name: parsers.get(name, lambda value: value)(value) for name, value in values.items()}


def parse_features(text: str) -> dict[str, str | None]:
    """Columns, each with its kind or None.

    >>> parse_features("year, venue:category")
    {'year': None, 'venue': 'category'}
    """
    parts = (part.rpartition(":") if ":" in part else (part, "", "") for part in text.split(","))
    return {name.strip(): kind.strip() or None for name, _, kind in parts if name.strip()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceSettings:
    """Device and threads."""

    device: Annotated[str, option("auto, cpu, cuda, or one of several GPUs: cuda:1.")] = "auto"
    threads: Annotated[int | None, option("CPU threads.")] = None

    def options(self) -> TensorOptions:
        """The device, after the threads are set."""
        from kernode.compute.gpu import prepare_gpu
        from kernode.compute.tensor_options import TensorOptions, set_threads

        set_threads(self.threads)
        if getattr(self, "deterministic", False):
            prepare_gpu()  # naming one of several may initialise it
        return TensorOptions.of(getattr(self, "precision", 32), self.device)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunSettings(DeviceSettings):
    """Device, threads and determinism of trainings."""

    deterministic: Annotated[
        bool, flag("Bitwise reproducible on a GPU, too, but slower.", "--deterministic")
    ] = False

    def computing(self) -> AbstractContextManager[None]:
        """Return a context with deterministic algorithms, if that is set."""
        from kernode.compute.gpu import deterministic

        return deterministic() if self.deterministic else nullcontext()


@dataclasses.dataclass(frozen=True, kw_only=True)
class SetOptions:
    """Settings of a command, by part and name."""

    takes: ClassVar[dict[str, Any]] = {}  # parts, with the classes of their settings

    changes: Annotated[
        list[str] | None, option(_HELP, "--set", metavar="PART.NAME=VALUE", rich_help_panel="Other settings")
    ] = None

    def __post_init__(self) -> None:
        for part in self.takes:
            self.part(part)

    @cached_property
    def given(self) -> dict[str, dict[str, str]]:
        """Texts by part and name; a part itself has the name "", and a settings file is the part "file"."""
        found: dict[str, dict[str, str]] = {}
        for text in self.changes or ():
            name, sign, value = text.partition("=")
            part, _, setting = (one.strip().replace("-", "_") for one in name.partition("."))
            if sign and part in self.takes and (setting or part in ("map", "kernel", "loss")):
                found.setdefault(part, {})[setting] = value
            elif "training" in self.takes and (text.endswith(".toml") or Path(text).is_file()):
                found.setdefault("file", {})[text] = text
            else:
                form = f"PART.NAME=VALUE{' or FILE.toml' if 'training' in self.takes else ''}"
                raise bad_setting("--set", f"{form}, where PART is one of {', '.join(self.takes)}", text)
        return found

    def part(self, name: str) -> Any:
        """The settings of a part: an instance of its class, or a mapping of values."""
        kind, given = self.takes[name], self.given.get(name, {})
        if kind is None:
            return {one: _literal(one, value) for one, value in given.items() if one}
        hints = get_type_hints(kind)
        if unknown := sorted(given.keys() - hints.keys()):
            sentence = f"{name} has no setting {unknown[0]!r} in this command. It has {', '.join(hints)}."
            raise InputError(sentence, "unknown", what="setting", name=unknown[0])
        return kind(**{one: _typed(one, value, hints[one]) for one, value in given.items()})

    @property
    def settings_file(self) -> Path | None:
        """The settings file among the changes."""
        files = list(self.given.get("file", ()))
        if len(files) > 1:
            raise InputError("give one settings file.", "conflict", setting="settings")
        return Path(files[0]) if files else None

    def method_changes(self, epochs: int | None = None) -> dict[str, Any]:
        """Changes of a variant, as :func:`kernode.models.overrides.by_part` takes them.

        A kernel may be a covariance, which a regressor takes.
        """
        from kernode.cli.expressions import parse_part  # here: maps and kernels import torch
        from kernode.config import changed
        from kernode.hops.spectral import GraphKernel
        from kernode.kernels import BaseKernel, Covariance
        from kernode.maps import FeatureMap

        found: dict[str, Any] = {name: settings for name in METHOD if (settings := self.part(name))}
        found |= found.pop("method", {})
        for name, kinds, within in (
            ("map", (FeatureMap,), ()),
            ("kernel", (BaseKernel, Covariance), (GraphKernel,)),
        ):
            if (text := self.given.get(name, {}).get("")) is not None:
                part = parse_part(text, kinds[0], name, *kinds[1:], within=within)
                found[name] = changed(part, found.get(name, {}))
        if (text := self.given.get("loss", {}).get("")) is not None:
            found["loss"] = {"objective": text} | found.get("loss", {})
        return found if epochs is None else found | {"epochs": epochs}


def _literal(name: str, text: str) -> Any:
    """Return a value as in Python, else the text; the part checks it.

    >>> _literal("hidden", "64,32"), _literal("hidden", "16"), _literal("powers", "last")
    ((64, 32), (16,), 'last')
    """
    if name == "hidden" and not text.strip():
        return ()
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {"true": True, "false": False, "none": None}.get(text.strip().lower(), text)
    return (value,) if name == "hidden" and isinstance(value, int) else value


def _typed(name: str, text: str, hint: Any) -> Any:
    """A text as the type of a setting."""
    kinds = [one for one in get_args(hint) or (hint,) if one is not type(None)]
    choices = [one for kind in kinds for one in get_args(kind)]
    if bool in kinds:
        text, choices = text.lower(), ["true", "false"]
    if choices and text not in choices:
        raise bad_setting(name, f"one of {', '.join(choices)}", text)
    try:
        return text == "true" if bool in kinds else text if choices else kinds[0](text)
    except ValueError:
        raise bad_setting(name, "an integer", text) from None
