"""The pictures of the report, as plotly takes them: plain values, without colours of a theme."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from kernode.show.canvas import COLOURS, readable
from kernode.show.class_colours import GREY, ClassColours, shortened
from kernode.show.evidence import Evidence, node_names
from kernode.show.node_parts import OTHER, PARTS, TEST, TRAIN, VALIDATION
from kernode.show.picture_data import Confusion, Coverage, Embedding, Gram
from kernode.show.plots.sureness import intervals
from kernode.show.training_history import EPOCH, LOSSES, SCORES, SETTING

MOST_NODES = 20_000  # of the embedding; a page must stay small
_BY_WEBGL = 3000  # nodes from which WebGL draws
_MANY = 8000  # nodes from which marks are smaller
_SYMBOLS = {TRAIN: "circle", VALIDATION: "triangle-up", TEST: "circle", OTHER: "diamond"}
_SIZES = {TRAIN: 4, VALIDATION: 7, TEST: 7, OTHER: 5}
_DASHES = ("solid", "dash", "dot", "dashdot")
Chart = dict[str, Any]


def label(name: Any, longest: int = 40) -> str:
    """A name as plotly writes it: it takes text for HTML."""
    return escape(shortened(str(name), longest), quote=False)


def embedding_chart(evidence: Evidence, data: Embedding) -> Chart:
    """One trace for each coloured class; shapes and sizes tell the part."""
    colours = ClassColours.of(data.classes)
    is_own = np.isin(data.classes, colours.coloured)
    groups = [(readable(evidence.names[c]), colours.colour(c), data.classes == c) for c in colours.coloured]
    groups += [(colours.of_others, GREY, ~is_own)] if colours.others else []
    texts = np.array(_hover(evidence, data), dtype=object)
    shrink = 0.7 if len(data.nodes) > _MANY else 1
    kind = "scattergl" if len(data.nodes) > _BY_WEBGL else "scatter"
    traces: list[dict[str, Any]] = []
    for name, colour, here in groups:
        parts = data.part[here].tolist()
        marks = {
            "color": colour,
            "symbol": [_SYMBOLS[part] for part in parts],
            "size": [round(shrink * _SIZES[part], 1) for part in parts],
            "opacity": 0.85,
            "line": {"width": [0.7 if part == TEST else 0 for part in parts]},
        }
        own = {"mode": "markers", "legendgroup": label(name), "name": label(name, 28)}
        # The legend would take the shape of the first node: it has an entry of its own.
        traces.append(
            own | {"type": "scatter", "x": [None], "y": [None], "marker": {"color": colour, "size": 9}}
        )
        traces.append(
            own
            | {
                "type": kind,
                "showlegend": False,
                "x": _rounded(data.points[here, 0], 3),
                "y": _rounded(data.points[here, 1], 3),
                "text": texts[here].tolist(),
                "hovertemplate": "%{text}<extra></extra>",
                "marker": marks,
            }
        )
    hidden = {"visible": False, "fixedrange": False}
    layout = {
        "xaxis": hidden,
        "yaxis": hidden | {"scaleanchor": "x"},
        "legend": {"orientation": "h", "y": -0.02, "yanchor": "top", "itemsizing": "constant"},
        "margin": {"l": 4, "r": 4, "t": 8, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
    }
    return {"data": traces, "layout": layout, "height": 560, "ratio": 1.35, "of": data.of}


def _hover(evidence: Evidence, data: Embedding) -> list[str]:
    chances = evidence.shown_run.chances(data.nodes)
    found, sure = chances.argmax(axis=1), 100 * chances.max(axis=1)
    names = [label(name) for name in evidence.names]
    return [
        f"<b>{label(node)}</b><br>{_known(names, known)}answered: {names[answer]} ({chance:.0f} %)"
        f"<br>{PARTS[part]}"
        for node, known, answer, chance, part in zip(
            node_names(evidence.graph, data.nodes),
            np.where(data.is_known, data.classes, -1).tolist(),
            found.tolist(),
            sure.tolist(),
            data.part.tolist(),
            strict=True,
        )
    ]


def _known(names: list[str], number: int) -> str:
    return f"known: {names[number]}<br>" if number >= 0 else ""


def gram_chart(data: Gram) -> Chart:
    """A heat map whose axes name the classes of its blocks."""
    m, side = data.nodes, len(data.matrix)
    ends = data.counts.cumsum() / m * side
    centres = ends - data.counts / m * side / 2 - 0.5
    named = np.flatnonzero(data.counts >= 0.03 * m)
    ticks: dict[str, Any] = {
        "tickvals": _rounded(centres[named], 2),
        "ticktext": [label(readable(data.names[c]), 24) for c in named],
        "showgrid": False,
        "zeroline": False,
    }
    trace = {
        "type": "heatmap",
        "z": data.matrix.round(2).tolist(),
        "zmin": -1,
        "zmax": 1,
        "hovertemplate": "similarity %{z:.2f}<extra></extra>",
        "colorbar": {"title": {"text": "K̄"}, "thickness": 12, "len": 0.9},
    }
    layout = {
        "xaxis": {"visible": False, "constrain": "domain"},
        "yaxis": ticks
        | {"autorange": "reversed", "scaleanchor": "x", "constrain": "domain", "automargin": True},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }
    return {
        "data": [trace],
        "layout": layout,
        "height": 460,
        "scale": "diverging",
        "ratio": 0.8,
        "of": data.of,
    }


def lines_chart(
    curves: dict[str, dict[str, list[float]]], kept: list[int], axis: str, step: str = EPOCH
) -> Chart:
    """Curves over epochs, by what they are called, within their spread; a line at the epoch kept.

    Settings that were tried are points: they have no order that a line could follow.
    """
    traces: list[dict[str, Any]] = []
    for number, (name, values) in enumerate(curves.items()):
        mean, std = np.array(values["mean"]), np.array(values["std"])
        epochs = list(range(1, len(mean) + 1))
        line = {"color": COLOURS[number % len(COLOURS)], "width": 2, "dash": _DASHES[number % len(_DASHES)]}
        own: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": epochs, "legendgroup": name}
        said = {"name": name, "hovertemplate": f"{step} %{{x}}<br>{name} %{{y:.3f}}<extra></extra>"}
        if step == SETTING:
            points = {"mode": "markers", "marker": {"color": line["color"], "size": 7}}
            spread = {"type": "data", "array": _rounded(std, 4), "width": 0}
            traces.append(own | points | said | {"y": _rounded(mean, 4), "error_y": spread})
            continue
        if std.any():
            edge = own | {"line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
            band = {"fill": "tonexty", "fillcolor": _pale(str(line["color"]))}
            traces += [edge | {"y": _rounded(mean - std, 4)}, edge | band | {"y": _rounded(mean + std, 4)}]
        traces.append(own | said | {"y": _rounded(mean, 4), "line": line})
    middle = float(np.median(kept))
    layout = {
        "xaxis": {"title": {"text": "setting tried" if step == SETTING else step}},
        "yaxis": {"title": {"text": axis}},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "shapes": [{"type": "line", "x0": middle, "x1": middle, "yref": "paper", "y0": 0, "y1": 1,
                    "line": {"dash": "dot", "width": 1.5}}],
        "annotations": [{"x": middle, "y": 0, "yref": "paper", "text": f"kept {step}: {middle:g}",
                         "showarrow": False, "xanchor": "right", "yanchor": "bottom"}],
        "margin": {"l": 56, "r": 12, "t": 8, "b": 44},
    }  # fmt: skip
    return {"data": traces, "layout": layout, "height": 320}


def hop_weight_chart(data: dict[str, Any]) -> Chart:
    """ω_h over epochs."""
    mean, std = np.array(data["mean"]), np.array(data["std"])
    curves = {
        f"ω{hop}": {"mean": mean[:, place].tolist(), "std": std[:, place].tolist()}
        for place, hop in enumerate(data["hops"])
    }
    return lines_chart(curves, data["kept_epochs"], "weight of each hop")


def loss_chart(data: dict[str, Any]) -> Chart:
    """What was minimised."""
    return lines_chart(_named(data, LOSSES), data["kept_epochs"], "loss", data["step"])


def validation_chart(data: dict[str, Any]) -> Chart:
    """What chose the epoch, or the setting."""
    return lines_chart(_named(data, SCORES), data["kept_epochs"], "%", data["step"])


def _named(data: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {said: data["curves"][name] for name, said in names.items() if name in data["curves"]}


def confusion_chart(data: Confusion) -> Chart:
    """Shares of the true classes, with counts in the cells where there are not too many."""
    names = [label(readable(name), 26) for name in data.names]
    places = list(range(len(names)))
    trace: dict[str, Any] = {
        "type": "heatmap",
        "z": data.shares.round(1).tolist(),
        "text": [[f"{count:,}" for count in row] for row in data.counts.tolist()],
        "zmin": 0,
        "zmax": 100,
        "hovertemplate": "%{text} nodes, %{z:.1f} % of their class<extra></extra>",
        "colorbar": {"title": {"text": "%"}, "thickness": 12, "len": 0.9},
        "xgap": 1,
        "ygap": 1,
    }
    if len(names) <= 15:
        trace["texttemplate"] = "%{text}"
    ticks: dict[str, Any] = {
        "tickvals": places,
        "ticktext": names,
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
    }
    layout = {
        "xaxis": ticks | {"title": {"text": "answered class"}, "tickangle": -45, "constrain": "domain"},
        "yaxis": ticks | {"title": {"text": "true class", "standoff": 14}, "autorange": "reversed"},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
    }
    return {
        "data": [trace],
        "layout": layout,
        "height": 260 + 26 * len(names),
        "scale": "sequential",
        "of": data.of,
    }


def reliability_chart(data: dict[str, Any]) -> Chart:
    """What was claimed beside what came true."""
    bins = data["bins"]
    low, high = intervals(bins)
    claimed, true = ([one[name] for one in bins] for name in ("confidence", "accuracy"))
    points: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": claimed,
        "y": true,
        "customdata": [one["nodes"] for one in bins],
        "hovertemplate": "claimed %{x:.1f} %<br>came true %{y:.1f} %<br>%{customdata:,} nodes<extra></extra>",
        "marker": {"color": COLOURS[0], "size": 9},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": _rounded(high - np.array(true), 2),
            "arrayminus": _rounded(np.array(true) - low, 2),
            "width": 0,
            "color": COLOURS[0],
        },
    }
    straight: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": [0, 100],
        "y": [0, 100],
        "hoverinfo": "skip",
    }
    straight |= {"line": {"dash": "dash", "width": 1, "color": GREY}}
    layout = {
        "xaxis": {"title": {"text": "claimed probability, %"}, "range": [0, 102]},
        "yaxis": {"title": {"text": "came true, %"}, "range": [0, 102]},
        "showlegend": False,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 44},
    }
    return {"data": [straight, points], "layout": layout, "height": 360, "of": data["of"]}


def coverage_chart(data: Coverage) -> Chart:
    """Accuracy of the surest answers."""
    keep = np.unique(np.linspace(0, len(data.answered) - 1, min(len(data.answered), 800)).round().astype(int))
    trace = {
        "type": "scatter",
        "mode": "lines",
        "x": _rounded(data.answered[keep], 2),
        "y": _rounded(data.accuracy[keep], 2),
        "customdata": _rounded(100 * data.threshold[keep], 1),
        "hovertemplate": "at least %{customdata} % sure:<br>%{x:.1f} % answered, %{y:.1f} % right"
        "<extra></extra>",
        "line": {"color": COLOURS[0], "width": 2, "shape": "hv"},
    }
    layout = {
        "xaxis": {"title": {"text": "answered nodes, %"}, "range": [0, 101]},
        "yaxis": {"title": {"text": "of them right, %"}},
        "showlegend": False,
        "margin": {"l": 56, "r": 12, "t": 8, "b": 44},
    }
    return {"data": [trace], "layout": layout, "height": 360, "of": data.of}


def _rounded(values: np.ndarray, digits: int) -> list[float]:
    return np.asarray(values, dtype=np.float64).round(digits).tolist()


def _pale(colour: str) -> str:
    """A colour as it fills a band."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
