"""Small faults that a program could have: every place of a source where one fits, as an edit of its bytes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NEEDS_GPU = b"pragma: needs a GPU"  # as in pyproject.toml: no test can run it here

ARITHMETIC = {
    ast.Add: (b"+", b"-"), ast.Sub: (b"-", b"+"), ast.Mult: (b"*", b"/"), ast.Div: (b"/", b"*"),
    ast.FloorDiv: (b"//", b"*"), ast.Mod: (b"%", b"+"), ast.Pow: (b"**", b"*"), ast.MatMult: (b"@", b"*"),
    ast.BitAnd: (b"&", b"|"), ast.BitOr: (b"|", b"&"), ast.RShift: (b">>", b"<<"), ast.LShift: (b"<<", b">>"),
}  # fmt: skip
COMPARISON = {
    ast.Lt: (b"<", b"<="), ast.LtE: (b"<=", b"<"), ast.Gt: (b">", b">="), ast.GtE: (b">=", b">"),
    ast.Eq: (b"==", b"!="), ast.NotEq: (b"!=", b"=="),
    ast.Is: (b"is", b"is not"), ast.IsNot: (b"is not", b"is"),
    ast.In: (b"in", b"not in"), ast.NotIn: (b"not in", b"in"),
}  # fmt: skip
_PAIRS = (
    "min max", "minimum maximum", "amin amax", "argmin argmax", "clamp_min clamp_max",
    "clamp_min_ clamp_max_", "sum mean", "any all", "zeros ones", "new_zeros new_ones",
    "zeros_like ones_like", "add sub", "add_ sub_",
)  # fmt: skip
OTHER_FUNCTION = {a: b for pair in _PAIRS for a, b in (pair.split(), pair.split()[::-1])}


@dataclass(frozen=True)
class Mutant:
    """One fault: the bytes from ``start`` to ``end`` of a file become ``new``."""

    file: str  # relative to the repository
    line: int
    lines: tuple[int, int]  # the first and last line of the statement, or of its head
    kind: str
    start: int
    end: int
    new: bytes
    before: str
    after: str

    @property
    def key(self) -> str:
        """What it is called, wherever its line may have moved."""
        return f"{self.file}: {self.before} → {self.after}"

    def mutated(self, source: bytes) -> bytes:
        """The whole source with the fault."""
        return source[: self.start] + self.new + source[self.end :]


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Every mutant of a file that is a program, each change once."""
    found = {one.key: one for one in _Finder(path, root).all()}
    return list(found.values())


class _Finder:
    def __init__(self, path: Path, root: Path) -> None:
        self.file = path.relative_to(root).as_posix()
        self.source = path.read_bytes()
        self.lines = self.source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def all(self) -> Iterator[Mutant]:
        for edit in self._statements(ast.parse(self.source).body):
            mutant = self._mutant(*edit)
            try:
                compile(mutant.mutated(self.source), self.file, "exec")
            except SyntaxError:
                continue
            yield mutant

    def _mutant(self, kind: str, start: int, end: int, new: bytes, lines: tuple[int, int]) -> Mutant:
        row = self.source.count(b"\n", 0, start)
        first, last = self.starts[row], max(self.starts[row + 1], end)
        last = self.starts[self.source.count(b"\n", 0, last - 1) + 1]
        before = self.source[first:last]
        after = self.source[first:start] + new + self.source[end:last]
        texts = (re.sub(r" # .*", "", " ".join(text.decode().split())) for text in (before, after))
        return Mutant(self.file, row + 1, lines, kind, start, end, new, *texts)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.AST) -> bytes:
        return self.source[slice(*self._span(node))]

    def _statements(self, body: list[ast.stmt]) -> Iterator[tuple]:
        for statement in body:
            inner = [
                part for name in ("body", "orelse", "finalbody") for part in getattr(statement, name, [])
            ]
            inner += [part for handler in getattr(statement, "handlers", []) for part in handler.body]
            last = min((part.lineno for part in inner), default=statement.end_lineno + 1) - 1
            first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])
            lines = (first, max(first, last))
            gpu = any(NEEDS_GPU in line for line in self.lines[lines[0] - 1 : lines[1]])
            if isinstance(statement, ast.Import | ast.ImportFrom):
                continue
            if not gpu:
                for edit in self._of_statement(statement):
                    yield (*edit, lines)
                yield from self._statements(
                    [part for part in inner if part in getattr(statement, "body", [])]
                )
            yield from self._statements(
                [part for part in inner if part not in getattr(statement, "body", [])]
            )

    def _of_statement(self, statement: ast.stmt) -> Iterator[tuple]:
        start, end = self._span(statement)
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name(id="__all__")]):
                return
            case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break() | ast.Assert():
                yield "statement removed", start, end, b"pass"
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield "statement removed", start, end, b"pass"
            case ast.Return(value=ast.expr() as value) if self._text(value) != b"None":
                yield "return value", start, end, b"return None"
            case ast.If(test=test):
                yield "condition", *self._span(test), b"not (" + self._text(test) + b")"
            case ast.FunctionDef(decorator_list=[_, *_]) | ast.ClassDef(decorator_list=[_, *_]):
                for decorator in statement.decorator_list:
                    at, stop = self._span(decorator)
                    yield "decorator removed", at - 1, stop, b""
        if isinstance(statement, ast.AugAssign) and type(statement.op) in ARITHMETIC:
            old, new = ARITHMETIC[type(statement.op)]
            yield from self._between("assignment", statement.target, statement.value, old + b"=", new + b"=")
        for name, part in ast.iter_fields(statement):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in part if isinstance(part, list) else [part]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt | ast.excepthandler):
                    yield from self._expressions(child)

    def _expressions(self, node: ast.AST, axis: bool = False) -> Iterator[tuple]:
        """Of an expression and all within; strings and annotations stay as they are."""
        if isinstance(node, ast.JoinedStr):
            return
        yield from self._of_expression(node, axis)
        for name, part in ast.iter_fields(node):
            if name == "annotation":
                continue
            for child in part if isinstance(part, list) else [part]:
                if isinstance(child, ast.AST):
                    is_axis = isinstance(node, ast.keyword) and node.arg in ("dim", "axis")
                    yield from self._expressions(child, is_axis or (axis and isinstance(node, ast.UnaryOp)))

    def _of_expression(self, node: ast.AST, axis: bool) -> Iterator[tuple]:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._between("arithmetic", left, right, *ARITHMETIC[type(op)])
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [left, *comparators]
                for one, op, other in zip(sides, ops, comparators, strict=False):
                    yield from self._between("comparison", one, other, *COMPARISON[type(op)])
            case ast.BoolOp(op=op, values=values):
                words = (b"and", b"or") if isinstance(op, ast.And) else (b"or", b"and")
                yield from self._between("boolean", values[0], values[1], *words)
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand) if not axis:
                yield "sign or not", *self._span(node), b"(" + self._text(operand) + b")"
            case ast.IfExp(test=test):
                yield "condition", *self._span(test), b"not (" + self._text(test) + b")"
            case ast.Constant(value=bool() as value):
                yield "True or False", *self._span(node), str(not value).encode()
            case ast.Constant(value=int() as value) if axis:
                yield "axis", *self._span(node), b"0" if value else b"1"
            case ast.Constant(value=int() as value):
                yield "constant", *self._span(node), str(value + 1).encode()
                yield "constant", *self._span(node), f"({value - 1})".encode()
            case ast.Constant(value=float() as value):
                yield "constant", *self._span(node), b"0.0" if value else b"1.0"
                yield "constant", *self._span(node), repr(2 * value + 1).encode()
            case ast.Attribute(value=value, attr="T" | "mT"):
                yield "transposition dropped", *self._span(node), self._text(value)
            case ast.Call(func=ast.Attribute(value=value, attr="transpose")):
                yield "transposition dropped", *self._span(node), self._text(value)
        if isinstance(node, ast.Call):
            yield from self._of_call(node)

    def _of_call(self, call: ast.Call) -> Iterator[tuple]:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name in OTHER_FUNCTION and hasattr(call.func, "end_col_offset"):
            end = self._span(call.func)[1]
            yield "other function", end - len(name), end, OTHER_FUNCTION[name].encode()
        match call.args:
            case [first, second, *_] if not isinstance(first, ast.Starred) and not isinstance(
                second, ast.Starred
            ):
                (start, stop), (begin, end) = self._span(first), self._span(second)
                swapped = self._text(second) + self.source[stop:begin] + self._text(first)
                if swapped != self.source[start:end] and name != "transpose":
                    yield "arguments swapped", start, end, swapped

    def _between(self, kind: str, left: ast.AST, right: ast.AST, old: bytes, new: bytes) -> Iterator[tuple]:
        """The operator that stands between two expressions."""
        start, end = self._span(left)[1], self._span(right)[0]
        found = re.search(re.escape(old).replace(rb"\ ", rb"\s+"), self.source[start:end])
        if found and b"#" not in self.source[start:end]:
            yield kind, start + found.start(), start + found.end(), new
