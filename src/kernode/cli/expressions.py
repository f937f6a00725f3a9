"""Kernels and maps as text, the same text as in Python: ``Normalized(RBF(gamma=0.5)) + Linear()``."""

from __future__ import annotations

import ast
from typing import Any

from kernode.config import Config
from kernode.errors import InputError, KernodeError, bad_setting


def parse_part(text: str, base: type, what: str, *others: type, within: tuple[type, ...] = ()) -> Any:
    """Build the part that a text names; ``what`` is the word for it, "kernel" or "map".

    ``others``: more kinds that it may be; ``within``: kinds that its settings may be.

    The text is read, never evaluated: names of parts in any case, their settings as literals, parts within
    parts, and + and * between kernels.

    >>> from kernode.kernels import BaseKernel
    >>> parse_part("normalized(RBF(gamma=0.5))", BaseKernel, "kernel")
    Normalized(kernel=RBF(gamma=0.5, learned=False))
    >>> parse_part("rbg", BaseKernel, "kernel")
    Traceback (most recent call last):
    kernode.errors.InputError: 'rbg' is not a kernel. Choose one of Linear, Matern, Normalized, ...
    """
    kinds = (base, *others)
    known = {name: kind for one in (*kinds, *within) for name, kind in known_parts(one).items()}
    must_be = f"a {what} as in Python, such as {next(iter(known))}()"

    def kind(function: ast.expr) -> type[Config]:
        name = ast.unparse(function).rpartition(".")[2]  # kn.kernels.RBF is RBF
        found = {one.lower(): kind for one, kind in known.items()}.get(name.lower())
        if found is None:
            sentence = f"{name!r} is not a {what}. Choose one of {', '.join(known)}."
            raise InputError(sentence, "unknown", what=what, name=name)
        return found

    def value(node: ast.expr) -> Any:
        match node:
            case ast.Name() | ast.Attribute():
                return kind(node)()
            case ast.Call(func=ast.Name() | ast.Attribute() as function, args=args, keywords=keywords):
                settings = {one.arg or "**": value(one.value) for one in keywords}
                if len(settings) < len(keywords):
                    raise ValueError("a setting is given twice")
                return kind(function)(*map(value, args), **settings)
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as sign, right=right):
                one, other = value(left), value(right)
                method = "__add__" if isinstance(sign, ast.Add) else "__mul__"
                if not all(isinstance(part, kinds) and hasattr(part, method) for part in (one, other)):
                    raise ValueError("only kernels can be added and multiplied")
                return getattr(one, method)(other)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return tuple(map(value, elements))
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError):
            raise ValueError(f"{ast.unparse(node)} is not a name, a number or text") from None

    try:
        part = value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError):
        raise bad_setting(what, must_be, text) from None
    except KernodeError as error:
        raise InputError(str(error), error.code, **error.fields | {"setting": what}) from None
    except (TypeError, ValueError) as error:  # arguments or a value that the part does not take
        raise InputError(f"{text!r} is not {must_be}: {error}.", "setting", setting=what) from None
    if not isinstance(part, kinds):
        raise bad_setting(what, must_be, text)
    return part


def known_parts(base: type) -> dict[str, type[Config]]:
    """Every part of a kind that can be built, by its name."""

    def is_abstract(kind: type) -> bool:
        return any(getattr(getattr(kind, name), "__isabstractmethod__", False) for name in dir(kind))

    kinds = {name: kind for name, kind in sorted(Config.kinds.items()) if issubclass(kind, base)}
    return {name: kind for name, kind in kinds.items() if name[0] != "_" and not is_abstract(kind)}
