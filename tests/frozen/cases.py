"""Small graphs, the commands that are run on them, and what is compared of an answer."""

import contextlib
import csv
import io
import json
import math
import sys
import tomllib
from pathlib import Path

import numpy as np

from kernode.cli import main

HERE = Path(__file__).parent
SYNTHETIC = "synthetic:nodes=90,degree=6,classes=3,features=8,seed=1"
TRAINED = "--precision 64 --epochs 20 --seed 3 --device cpu"
TABLES = "papers.csv --nodes papers-nodes.csv --label topic"  # names, numbers, categories, texts, gaps
NUMBERED = "roads.csv --nodes towns.csv --label region --weight km"  # integer ids, weights, no features

COMMANDS = {
    "fit: softmax": f"fit {SYNTHETIC} --variant k3 --replicas 3 {TRAINED} -o softmax.safetensors",
    "fit: auto": f"fit {SYNTHETIC} --replicas 1 {TRAINED} -o auto.safetensors",
    "fit: auto, 3 replicas": f"fit graph.npz --replicas 3 {TRAINED} -o auto3.safetensors",
    "fit: centroids": f"fit graph.npz --variant k1 --replicas 1 --split split.json {TRAINED} "
    "-o centroids.safetensors",
    "fit: rbf": f"fit graph.npz --variant k2 --replicas 1 --split 0.5/0.2/0.3 {TRAINED} --epochs 6 "
    "-o rbf.safetensors",
    "fit: propagation": "fit graph.npz --variant label-propagation --seed 3 -o propagation.safetensors",
    "fit: tables": f"fit {TABLES} --variant k3 --replicas 3 --with-graph {TRAINED} -o tables.safetensors",
    "fit: all labels": f"fit {TABLES} --variant k3 --replicas 1 --all-labels {TRAINED} -o all.safetensors",
    "fit: few labels": f"fit papers.csv --nodes few-nodes.csv --label topic --replicas 1 {TRAINED} "
    "-o few.safetensors",
    "fit: numbered": f"fit {NUMBERED} --variant k1 --replicas 1 --with-graph {TRAINED} "
    "-o numbered.safetensors",
    "fit: settings": f"fit graph.npz --settings tuned.toml --replicas 1 {TRAINED} -o tuned.safetensors",
    "fit: store": f"fit parts --variant k3 --replicas 1 {TRAINED} -o store.safetensors",
    "links": f"links graph.npz --variant kernel --replicas 3 --with-graph {TRAINED} -o links.safetensors",
    "links: tables": f"links papers.csv --nodes papers-nodes.csv --replicas 1 {TRAINED} -o named.safetensors",
    "links: embedding": f"links graph.npz --all-edges --replicas 1 --with-graph {TRAINED} -o all.embedding",
    "predict": "predict softmax.safetensors",
    "predict: auto": "predict auto3.safetensors graph.npz",
    "predict: abstain": "predict centroids.safetensors graph.npz --abstain 0.5 -o centroids.csv",
    "predict: rbf": "predict rbf.safetensors graph.npz -o rbf.json",
    "predict: few labels": "predict few.safetensors papers.csv --nodes few-nodes.csv -o few.csv",
    "predict: tables": "predict tables.safetensors -o tables.csv",
    "predict: new tables": "predict tables.safetensors new.csv --nodes new-nodes.csv",
    "predict: all labels": "predict all.safetensors papers.csv --nodes papers-nodes.csv -o all.csv",
    "predict: numbered": "predict numbered.safetensors -o numbered.json",
    "similar": "similar softmax.safetensors 3 5 -k 3",
    "similar: names": "similar tables.safetensors p8 -k 3 --class ai --where year=1995..",
    "similar: numbered": "similar numbered.safetensors 107 -k 3 --among 114,121,128,135,142",
    "explain": "explain softmax.safetensors 3 --top 3",
    "explain: two": "explain softmax.safetensors 3 4 --top 3",
    "explain: auto": "explain auto3.safetensors 3 --graph graph.npz --top 2",
    "explain: centroids": "explain centroids.safetensors 2 --graph graph.npz --top 2 --class 2 --against 0",
    "explain: tables": "explain tables.safetensors p8 --top 3",
    "what-if": "what-if centroids.safetensors 2 --graph graph.npz --add 7",
    "what-if: edges": "what-if softmax.safetensors 3 --smallest edges",
    "what-if: features": "what-if centroids.safetensors 2 --graph graph.npz --smallest features",
    "what-if: columns": "what-if tables.safetensors p8 --set venue=b --set year=2011",
    "extend": "extend tables.safetensors --nodes new-nodes.csv --edges new.csv",
    "extend: all": "extend tables.safetensors --nodes new-nodes.csv --edges new.csv --all -o larger.csv",
    "embed": "embed softmax.safetensors --only 0,7 -o vectors.npz",
    "embed: links": "embed all.embedding --only 0 -o link-vectors.npz",
    "gram": "gram softmax.safetensors --only 0,7,9 --with 1,2 -o gram.npz",
    "gram: names": "gram tables.safetensors --only p1,p2 -o named.npz",
    "plot": "plot softmax.safetensors confusion gram losses -o pictures",
    "report": "report centroids.safetensors graph.npz --plane pca -o centroids.html",
    "report: tables": "report tables.safetensors --plane pca -o tables.html",
    "missing": "missing links.safetensors -k 4",
    "missing: one node": "missing named.safetensors papers.csv --nodes papers-nodes.csv --node p8 -k 3",
    "tune": "tune graph.npz --trials 3 --epochs 20 --device cpu -o tuned.toml",
    "tune: links": "tune graph.npz --metric auc --trials 2 --epochs 20 --device cpu -o tuned-links.toml",
    "compare": "compare graph.npz --variants n1,label-propagation --splits 3 --choose-on 1 --results stored",
    "estimate": f"estimate {SYNTHETIC} --variant k3 --replicas 3 --no-measure --device cpu",
    "estimate: auto": f"estimate {TABLES} --no-measure --device cpu",
    "data list": "data list",
    "data info": f"data info {SYNTHETIC}",
    "data info: npz": "data info graph.npz",
    "data info: tables": f"data info {TABLES}",
    "data info: numbered": f"data info {NUMBERED}",
    "data info: converted": "data info converted.npz",
    "data convert": f"data convert {TABLES} -o converted.npz",
    "data shard": "data shard graph.npz --parts 2 -o parts",
}
_WRITERS = {line.partition(" -o ")[2]: name for name, line in COMMANDS.items() if " -o " in line}


def write_files(folder):
    """Write the graphs that are not synthetic: an .npz file with a split, and two pairs of tables."""
    random = np.random.default_rng(0)
    n = 60
    classes = np.arange(n) % 3
    near = classes[:, None] == classes
    linked = np.triu(random.random((n, n)) < np.where(near, 0.2, 0.03), 1)
    edges, both = np.argwhere(linked), linked | linked.T
    np.savez(
        folder / "graph.npz",
        adj_data=np.ones(both.sum()), adj_indices=np.nonzero(both)[1], adj_shape=both.shape,
        adj_indptr=np.append(0, both.sum(axis=1).cumsum()), labels=classes,
        attr_matrix=np.abs(random.normal(size=(n, 6)) + np.eye(3, 6)[classes]).round(3),
    )  # fmt: skip
    parts = {"train": [*range(36)], "validation": [*range(36, 48)], "test": [*range(48, n)]}
    (folder / "split.json").write_text(json.dumps(parts))

    def write(name, *rows):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)

    def paper(i, topic):
        words = random.choice("deep gene graph kernel long proof study theory wide".split(), 4)
        year = 1990 + 3 * i % 25 if i % 11 else ""
        return f"p{i}", year, "abc"[(i + i // 5) % 3], " ".join([*words, f"number{i}"]), topic

    topics = [("ai", "bio", "logic")[one] for one in classes]
    header = "id", "year", "venue", "title", "topic"
    write("papers.csv", ("source", "target"), *((f"p{u}", f"p{v}") for u, v in edges))
    write("papers-nodes.csv", header, *(paper(i, topics[i] if i % 7 else "") for i in range(n)))
    write("few-nodes.csv", header, *(paper(i, topics[i] if i < 15 else "") for i in range(n)))
    write("new.csv", ("source", "target"), ("new1", "p3"), ("new1", "p6"), ("new2", "new1"), ("new2", "p1"))
    write("new-nodes.csv", header[:4], ("new1", 2001, "a", "deep gene study"), ("new2", "", "z", "other"))
    write("roads.csv", ("a", "b", "km"), *((100 + 7 * u, 100 + 7 * v, 1 + (u + v) % 5) for u, v in edges))
    write("towns.csv", ("town", "region"), *((100 + 7 * i, "nms"[classes[i]]) for i in range(n)))


def run(line):
    """Run ``kernode …`` in this process; give its status, stdout and stderr."""
    before, out, err, status = sys.argv, io.StringIO(), io.StringIO(), 0
    sys.argv = ["kernode", *line.split()]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.argv = before
    return status, out.getvalue(), err.getvalue()


def answer(name, done):
    """Run a command and, before it, those that write its files; ``done`` holds what was run before."""
    if name not in done:
        read, _, target = COMMANDS[name].partition(" -o ")
        for word in _WRITERS.keys() & read.split():
            answer(_WRITERS[word], done)
        status, out, err = run(f"{COMMANDS[name]} --json")
        assert status == 0, err
        done[name] = {"printed": plain(json.loads(out)), "written": _written(Path(target))}
    return done[name]


def _written(path):
    """Values in a file that a command wrote, as far as it is small: the first rows of a table."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return plain([[_number(cell) for cell in row] for row in csv.reader(file)][:8])
    if path.suffix == ".json":
        return plain(json.loads(path.read_text(encoding="utf-8"))[:8])
    if path.suffix == ".toml":
        return plain(tomllib.loads(path.read_text(encoding="utf-8")))
    if path.suffix == ".npz" and path.stat().st_size < 4000:
        with np.load(path) as arrays:
            return plain(dict(arrays))
    return None


def _number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


def plain(value):
    """Return what must not change: no times, memory and versions, only the number of notes and warnings."""
    if isinstance(value, dict):
        return {str(key): _counted(key, one) for key, one in value.items() if not _is_volatile(key)}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, str):
        return "…" if len(value.split()) > 3 else value
    value = value.item() if isinstance(value, np.generic) else value
    return float(f"{value:.10g}") if isinstance(value, float) else value


def _counted(key, value):
    return len(value) if key in ("notes", "warnings", "repairs", "input", "facts") else plain(value)


def _is_volatile(key):
    key = str(key)
    return key in ("threads", "versions", "bytes", "predicted_from") or key.startswith("seconds") or "_mb" in key


def differences(old, new, path="", rel=1e-6):
    """Paths at which a stored answer is not found again; what is new in an object does not count."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from differences(value, new[key], f"{path}.{key}", rel)
            else:
                yield f"{path}.{key} is gone"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{path}[{at}]", rel)
    elif type(old) in (int, float) and type(new) in (int, float):
        if not math.isclose(old, new, rel_tol=rel, abs_tol=rel / 10):
            yield f"{path}: {old} became {new}"
    elif old != new:
        yield f"{path}: {old!r} became {new!r}"
