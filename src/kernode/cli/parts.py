"""Kernels and maps as text, the same text as in Python: ``Normalized(RBF(gamma=0.5)) + Linear()``."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from kernode.config import Config
from kernode.errors import InputError


def parse_part(text: str, base: type, what: str) -> Any:
    """Build the part that a text names; ``what`` is the word for it, "kernel" or "map".

    The text is read, never evaluated: names of parts whatever their case, their settings as literals,
    parts within parts, and + and * between kernels.

    >>> from kernode.kernels import BaseKernel
    >>> parse_part("normalized(RBF(gamma=0.5))", BaseKernel, "kernel")
    Normalized(kernel=RBF(gamma=0.5, learned=False))
    >>> parse_part("rbg", BaseKernel, "kernel")
    Traceback (most recent call last):
    kernode.errors.InputError: 'rbg' is not a kernel. Choose one of Linear, Normalized, Polynomial, ...
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(
            f"--{what} must be a {what} as in Python, such as {_example(base)}. Got {text!r}."
        ) from None
    try:
        part = _Reader(base, what).value(tree.body)
    except RecursionError:
        raise InputError(f"--{what} has parts within parts without end. Write fewer.") from None
    if not isinstance(part, base):
        raise InputError(f"--{what} must be a {what}, such as {_example(base)}. Got {text!r}.")
    return part


def known_parts(base: type) -> dict[str, type[Config]]:
    """Every part of a kind that can be built, by its name."""
    kinds = {name: kind for name, kind in Config.kinds.items() if issubclass(kind, base)}
    return {
        name: kinds[name] for name in sorted(kinds) if not name.startswith("_") and _is_whole(kinds[name])
    }


def _is_whole(kind: type) -> bool:
    """Whether no method is left to be defined by others."""
    return not any(getattr(getattr(kind, name), "__isabstractmethod__", False) for name in dir(kind))


def _example(base: type) -> str:
    return f"{next(iter(known_parts(base)))}()"


@dataclasses.dataclass(frozen=True)
class _Reader:
    """Values of a syntax tree."""

    base: type
    what: str

    def value(self, node: ast.expr) -> Any:
        """A part, or a plain value."""
        match node:
            case ast.Name() | ast.Attribute():
                return self.part(node, [], [])
            case ast.Call(func=ast.Name() | ast.Attribute() as function, args=args, keywords=keywords):
                return self.part(function, args, keywords)
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as sign, right=right):
                return self.combination(left, sign, right)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return tuple(self.value(element) for element in elements)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, MemoryError):  # TypeError: a list as a key
            raise InputError(
                f"--{self.what} takes names, numbers and text. Got {ast.unparse(node)!r}."
            ) from None

    def combination(self, left: ast.expr, sign: ast.operator, right: ast.expr) -> Any:
        """A sum or a product, of parts that have one."""
        one, other = self.value(left), self.value(right)
        method = "__add__" if isinstance(sign, ast.Add) else "__mul__"
        if not all(isinstance(part, self.base) and hasattr(part, method) for part in (one, other)):
            raise InputError(f"--{self.what}: only kernels can be added and multiplied.")
        return getattr(one, method)(other)

    def part(self, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> Any:
        """A part with its settings."""
        name = ast.unparse(function).rpartition(".")[2]  # kn.kernels.RBF is RBF
        known = known_parts(self.base)
        kind = {one.lower(): kind for one, kind in known.items()}.get(name.lower())
        if kind is None:
            raise InputError(f"{name!r} is not a {self.what}. Choose one of {', '.join(known)}.")
        settings = self.settings(kind, args, keywords)
        try:
            return kind(**settings)
        except InputError as error:
            raise InputError(f"--{self.what}: {error}") from None
        except (TypeError, ValueError) as error:  # a value of another type than the part expects
            raise InputError(f"--{self.what}: a setting of {kind.__name__} is wrong ({error}).") from None

    def settings(
        self, kind: type[Config], args: list[ast.expr], keywords: list[ast.keyword]
    ) -> dict[str, Any]:
        """Arguments by the names of the part's fields; all that it needs, and no others."""
        fields = [field for field in dataclasses.fields(kind) if field.init]
        names = [field.name for field in fields]
        its = f"Its settings are {', '.join(names)}." if names else "It has no settings."
        if len(args) > len(names):
            raise InputError(f"--{self.what}: {kind.__name__} has too many values. {its}")
        given = dict(zip(names, map(self.value, args), strict=False))
        for keyword in keywords:
            if keyword.arg not in names:
                raise InputError(f"--{self.what}: {kind.__name__} has no setting {keyword.arg!r}. {its}")
            if keyword.arg in given:
                raise InputError(f"--{self.what}: {kind.__name__} has {keyword.arg} twice. Give it once.")
            given[keyword.arg] = self.value(keyword.value)
        for field in fields:
            needed = field.default is field.default_factory is dataclasses.MISSING
            if needed and field.name not in given:
                raise InputError(f"--{self.what}: {kind.__name__} needs {field.name}=. {its}")
        return given
