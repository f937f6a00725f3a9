"""Write docs/api.md from the docstrings: `python scripts/write_api.py`. A test compares them."""

from __future__ import annotations

import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import kernode as kn
from kernode import data, kernels, losses, maps
from kernode.data.tables import columns, repairs
from kernode.kernels import gp
from kernode.show import plots

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"
WIDTH = 100

# Title, what to say first, and the names: of kernode itself, or (prefix, thing).
TOPICS: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    (
        "Graphs from tables and files",
        "More on formats and kinds of columns: [your own tables](data.md#your-own-tables).",
        ("read_table", "extend", "load", "datasets"),
    ),
    (
        "Graphs of other libraries",
        "",
        ("from_networkx", "to_networkx", "from_pyg", "to_pyg", "from_scipy"),
    ),
    (
        "What a graph is",
        "",
        (
            "Graph",
            "positions",
            "Split",
            "EdgeSplit",
            "split_edges",
            ("kernode.data.tables.columns", columns.Encoding),
            ("kernode.data.tables.repairs", repairs.Repair),
        ),
    ),
    (
        "Estimators",
        "scikit-learn's contract: `clone`, `get_params`, `set_params`, `cross_val_score`, `GridSearchCV` and "
        "`Pipeline` work.",
        (
            "NodeKernelClassifier",
            "NodeKernelTransformer",
            "LinkPredictor",
            "LinkKernelTransformer",
            "load_model",
            "Checkpoint",
        ),
    ),
    ("The learned kernel", "", ("NodeKernel", "graph_kernel", ("kernode.kernels.gp", gp.GPKernel))),
    (
        "Base kernels: `kernode.kernels`",
        "",
        tuple(
            ("kernode.kernels", getattr(kernels, name))
            for name in ("BaseKernel", "Linear", "RBF", "Polynomial", "Normalized", "Sum", "Product")
        ),
    ),
    (
        "Feature maps: `kernode.maps`",
        "",
        tuple(
            ("kernode.maps", getattr(maps, name))
            for name in ("FeatureMap", "HopMLP", "Presmoothed", "Smoother", "Free", "GCN", "GAT", "APPNP",
                         "ClassicGNN", "GCNII", "MLP", "JKConcat", "FastGCN", "ModuleMap", "Wrapped")
        ),
    ),
    (
        "Losses: `kernode.losses`",
        "",
        tuple(
            ("kernode.losses", getattr(losses, name))
            for name in ("Loss", "KernelLoss", "Hinge", "Squared", "Logistic", "Softmax", "Joint",
                         "LinkCrossEntropy")
        ),
    ),
    (
        "More of `kernode.data`",
        "",
        tuple(
            ("kernode.data", getattr(data, name))
            for name in ("load_graph", "split_nodes", "random_split", "read_split", "read_npz", "write_npz",
                         "Synthetic")
        ),
    ),
    (
        "Pictures: `kernode.plots`",
        "More on them: [pictures and the report](pictures.md).",
        tuple(("kernode.plots", getattr(plots, name)) for name in plots.__all__),
    ),
    (
        "Errors",
        "",
        ("KernodeError", "KernodeWarning", "InputError", "FileError", "MissingExtraError"),
    ),
)  # fmt: skip

# In another form above, or no function or class.
ELSEWHERE = {
    "gp": "the learned kernel, above",
    "kernels": "base kernels, above",
    "losses": "losses, above",
    "maps": "feature maps, above",
    "plots": "pictures, above",
    "LINK_VARIANTS": "the same for links",
    "VARIANTS": "a dictionary of every variant's method and settings; [which to use](variants.md)",
    "__version__": "the version, as text",
}
# Their methods do the same for every one: said once, at the first.
SAME_METHODS = (kernels.BaseKernel, maps.FeatureMap, losses.Loss)
# Of these only some concern who uses them.
ONLY = {
    columns.Encoding: ("feature_names", "describe"),
    repairs.Repair: ("to_json",),
    maps.ModuleMap: ("module",),
    maps.Wrapped: ("of",),
}


def page() -> str:
    """The whole document."""
    parts = [
        "# API",
        "`import kernode as kn`. This page is written from the docstrings by `python scripts/write_api.py`. "
        "n nodes, f features, d numbers of a vector, c classes, r replicas. Examples call things "
        "as their own module does: `read_table` for `kn.read_table`, `np` for numpy. Start with the "
        "[tutorial](tutorial.md).",
    ]
    parts.append("\n".join(f"- [{title}](#{_anchor(title)})" for title, _, _ in TOPICS))
    shown: set[str] = set()
    for title, first, things in TOPICS:
        parts += [f"## {title}", *([first] if first else [])]
        for thing in things:
            prefix, value = ("kn", getattr(kn, thing)) if isinstance(thing, str) else thing
            parts += entry(prefix, value, shown)
            shown.add(value.__name__)
    others = [f"- `kn.{name}`: {text}." for name, text in ELSEWHERE.items()]
    missing = set(kn.__all__) - shown - set(ELSEWHERE)
    if missing:
        raise SystemExit(f"no topic has {', '.join(sorted(missing))}: add it to TOPICS.")
    parts += ["## Other names", "\n".join(others)]
    return "\n\n".join(parts) + "\n"


def entry(prefix: str, value: Any, shown: set[str]) -> list[str]:
    """A function, or a class with its attributes and methods."""
    name = f"{prefix}.{value.__name__}"
    parts = [f"### `{name}`"]
    if not isinstance(value, type):
        return [*parts, _code(_signature(name, value)), _markdown(value)]
    if issubclass(value, Exception):
        return [*parts, _markdown(value)]
    base = next((one for one in value.__mro__[1:] if one.__name__ in shown), None)
    settings = _signature(name, value.__init__)
    if getattr(value, "__abstractmethods__", None) or value in (*SAME_METHODS, columns.Encoding):
        settings = ""
    elif _twin(value, shown):
        settings = f"{name}(…)"
    parts += [_code(settings)] if settings else []
    parts.append(_markdown(value))
    if base is None or base not in SAME_METHODS or value in ONLY:
        parts += members(value, shown)
    return parts


def members(owner: type, shown: set[str]) -> list[str]:
    """Public attributes and methods that kernode defines, those of an earlier twin by name only."""
    twin = _twin(owner, shown)
    parts, known = [], []
    for name, value in _members(owner).items():
        if twin and name in _members(twin) and name not in owner.__dict__:
            known.append(name)
            continue
        if isinstance(value, property | cached_property):
            function = value.fget if isinstance(value, property) else value.func
            parts += [f"**`{name}`** (attribute)", _markdown(function)]
        else:
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            parts += [f"**`{_signature(name, function, width=10**6)}`**", _markdown(function)]
    if known:
        names = ", ".join(f"`{name}`" for name in known)
        parts.append(f"As `{twin.__name__}` has them: {names}.")
    return parts


_OF_FILES = ("to_json", "from_json")  # how a piece is stored


def _members(owner: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in reversed(owner.__mro__):
        if one.__module__.startswith("kernode"):
            found |= vars(one)
    functions = (property, cached_property, classmethod, staticmethod)
    return {
        name: value
        for name, value in found.items()
        if (name in ONLY[owner] if owner in ONLY else not name.startswith("_") and name not in _OF_FILES)
        and (inspect.isfunction(value) or isinstance(value, functions))
        and _doc(value)
    }


def _twin(owner: type, shown: set[str]) -> Any:
    """An earlier class with the same base: its settings and methods are not said twice."""
    twins = (kn.NodeKernelClassifier, kn.NodeKernelTransformer)
    return next((one for one in twins if owner in twins and one.__name__ in shown), None)


def _signature(name: str, function: Any, width: int = WIDTH) -> str:
    """`name(…)` with defaults, without types that say nothing; a line for each where it is long."""
    signature = inspect.signature(function)
    parts, starred = [], False
    for at, one in enumerate(signature.parameters.values()):
        if at == 0 and one.name in ("self", "cls"):
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        kind = "" if one.annotation in (one.empty, "Any") else f": {one.annotation}"
        default = "" if one.default is one.empty else _default(one.default, bool(kind))
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        starred = starred or stars == "*"
        parts.append(f"{stars}{one.name}{kind}{default}")
    line = f"{name}({', '.join(parts)})"
    returns = signature.return_annotation
    end = "" if returns in (signature.empty, None, "None", "Self", "Any") else f" -> {returns}"
    if len(line + end) <= width:
        return line + end
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _default(value: Any, typed: bool) -> str:
    text = "…" if "<factory>" in repr(value) else repr(value).replace("'", '"')
    return f" = {text}" if typed else f"={text}"


def _doc(value: Any) -> str:
    """A docstring of its own, not one that a dataclass made up."""
    text = inspect.cleandoc(value.__doc__ or "")
    return "" if text.startswith(f"{getattr(value, '__name__', '')}(") else text


def _markdown(value: Any) -> str:
    """A docstring with code in blocks, and reStructuredText's marks as Markdown's."""
    text = re.sub(r":\w+:`~[\w.]*\.(\w+)`", r"`\1`", _doc(value))
    text = re.sub(r":\w+:`([\w.]+)`", r"`\1`", text).replace("``", "`")
    parts = []
    for block in text.split("\n\n"):
        parts.append(_code(block) if block.lstrip().startswith(">>>") else block)
    return "\n\n".join(parts)


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(page())
