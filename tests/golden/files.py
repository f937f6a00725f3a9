"""What a release saved, and how each kind of file is read and queried."""

import contextlib
import io
import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from unittest.mock import patch

import cases
import numpy as np

import kernode as kn
from kernode.cli import main
from kernode.cli.settings_file import read_settings, write_settings
from kernode.io import Store, read_npz, write_npz, write_store
from kernode.maps import ConcatMap, DiffusedComponents, Diffusion, HopMLP, HopNet, HopStages, Standardized
from kernode.search.results import Results, digest_of

PAIRS = np.stack([np.arange(200), np.arange(40, 240)], axis=1)
QUERIES = np.arange(0, 240, 12)

_NARROW = Diffusion((8,), 4, hops=4, hop_weights="pagerank")
_STANDARDIZED = Standardized(HopNet((8,), self_loop=True))
# Model files of 0.2.0: the variant and what is changed.
MODELS = {
    "auto": ("auto", {"replicas": 1}),
    "diffusion": ("diffusion", {"hidden": 8}),
    "family": ("k3", {"map": _STANDARDIZED}),
    "released": ("k3", {"powers": "released", "hops": 3}),
    "stages": ("k3", {"map": HopStages((8, 8), hops=2)}),
    "open": ("similarity-open", {"map": ConcatMap(_NARROW, DiffusedComponents(6))}),
    "sage": ("sage", {"hidden": 8}),
    "gcnii": ("gcnii", {"hidden": 8}),
    "mlp": ("mlp", {"hidden": 8}),
    "label-propagation": ("label-propagation", {}),
    "correct-and-smooth": ("correct-and-smooth", {"hidden": 8}),
}
REPORTS = {
    "fit": ("fit", "DATA", "--variant", "n1", "--epochs", "3", "--seed", "1", "-o", "FOLDER/n1.safetensors"),
    "links": ("links", "DATA", "--epochs", "2", "--seed", "1", "-o", "FOLDER/links.safetensors"),
    "predict": ("predict", "MODEL", "-o", "FOLDER/predictions.csv"),
    "similar": ("similar", "MODEL", "3", "-k", "2"),
    "explain": ("explain", "MODEL", "3"),
    "what-if": ("explain", "MODEL", "3", "--smallest", "edges"),
    "info": ("data", "info", "DATA"),
    "estimate": ("fit", "DATA", "--dry-run"),
}


@contextlib.contextmanager
def trained_briefly():
    """Ignore the advice to train for more than six epochs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the best epoch was the last")
        yield


def write_models(folder):
    """Model files, with the answers that they gave."""
    answers = {}
    for name, (variant, changes) in MODELS.items():
        model = cases.fit_nodes(variant, **changes)
        model.save(folder / f"{name}.safetensors")
        answers[name] = model.predict_proba(np.arange(240))
    tables = cases.fit_tables()
    tables.save(folder / "tables.safetensors", with_graph=True)
    answers["tables"] = tables.predict_proba(np.arange(tables.graph_.n_nodes))
    links = cases.fit_links("auto", map=HopMLP((8,), 8))
    links.save(folder / "links.safetensors")
    answers["links"] = links.score_pairs(PAIRS)
    embedding = cases.fit_embedding()
    embedding.save(folder / "embedding.safetensors")
    answers["embedding"] = embedding.transform(None)
    return answers


def model_answers(folder, name):
    """Answers of a model file by the present code."""
    old_tables = name == "tables" and folder.name == "0.1.0"
    graph = kn.read_table(*cases.own_tables(), label="topic") if old_tables else None
    model = kn.load_model(folder / f"{name}.safetensors", graph=graph)
    if name == "links":
        return model.score_pairs(PAIRS)
    if name == "embedding":
        return model.transform(None)
    return model.predict_proba(np.arange(model.graph_.n_nodes))


def fit_from(checkpoint):
    """The training that a checkpoint is of: six epochs, in float64."""
    return cases.fit_nodes("k3", precision=64, checkpoint=checkpoint)


def write_others(folder):
    """Write files of every other kind; return what they hold."""
    graph, _ = cases.graph_and_split()
    # At the fourth of six epochs, and not at the end: there is something left to do.
    fit_from(kn.Checkpoint(folder / "checkpoint", every=4, seconds=1e-9))
    write_store(graph, folder / "store")
    write_npz(graph, folder / "graph.npz")
    write_settings(folder / "settings.toml", "fit", "k3", {"margin": 0.2, "hidden": [8]}, ["Of a search."])
    Results(folder / "results").save(_Cell(), {"accuracy": [80.5, 81.25]})
    shapes = json.dumps({name: report_shape(folder, name) for name in REPORTS}, indent=1)
    (folder / "reports.json").write_bytes(shapes.encode() + b"\n")
    return {
        "resumed": resumed(folder),
        "index": index_answers(folder),
        "fingerprints": np.array(fingerprints(folder)),
        "settings": np.array(json.dumps(read_settings(folder / "settings.toml", "fit"))),
    }


class _Cell:
    """A result's key."""

    settings = {"kind": "nodes", "variant": "k3", "dataset": "Größe", "seeds": [0, 1]}  # noqa: RUF012
    name = "k3-golden"
    digest = digest_of(settings)


def stored_result(folder):
    """The figures of a stored result, found by its settings."""
    return Results(folder / "results").find(_Cell())


def resumed(folder):
    """Answers of the model that the checkpoint's training ends in, resumed from a copy."""
    with tempfile.TemporaryDirectory() as name:
        copy = shutil.copy(folder / "checkpoint", Path(name) / "checkpoint")
        model = fit_from(kn.Checkpoint(copy, resume=True))
    return model.predict_proba(np.arange(240))


def index_answers(folder):
    """Positions of the five nodes most similar to some, by an index."""
    model = kn.load_model(folder / "diffusion.safetensors")
    found = model.similar(kn.positions(QUERIES), k=5, exact=False)
    return np.array([[int(node) for node, _ in one] for one in found])


def fingerprints(folder):
    """Fingerprints of the graphs in the store and in the .npz file."""
    return [Store.open(folder / "store").whole().fingerprint, read_npz(folder / "graph.npz").fingerprint]


def report_shape(folder, name):
    """What a command prints with --json: the type of every value by its path."""
    with tempfile.TemporaryDirectory() as out:
        words = {"DATA": cases.DATA, "MODEL": str(folder / "released.safetensors")}
        line = [words.get(word, word.replace("FOLDER", out)) for word in REPORTS[name]]
        return dict(sorted(_types(json.loads(_output("kernode", *line, "--json", "--quiet")))))


def _types(value, path=""):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _types(one, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield path, "list"
        for one in value[:1]:
            yield from _types(one, f"{path}[]")
    else:
        # Whether a number is whole is not guaranteed.
        yield path, "number" if type(value) in (int, float) else type(value).__name__


def _output(*words):
    printed = io.StringIO()
    with patch.object(sys, "argv", list(words)), contextlib.redirect_stdout(printed):
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
    return printed.getvalue()
