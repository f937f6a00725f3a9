"""Every training of the package, short, on a small graph: its files must always be equal.

As a program it runs them in a separate process, in this order or backwards, whole or interrupted::

    python tests/robustness/trainings.py FOLDER [--backwards] [--interrupted] [NAME …]

Names come from the registries, so that new variants, candidates and baselines are included.
"""

import json
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from io import StringIO
from pathlib import Path

import torch

import experiments.rivals  # noqa: F401 (adds its variants)
import kernode as kn
from graphs import clustered_graph
from kernode.cli import main as kernode
from kernode.compute.tensor_options import TensorOptions
from kernode.io import load, random_split, write_npz
from kernode.io.edge_split import split_edges
from kernode.models.fit import fit_candidates
from kernode.search.baselines import METHODS
from kernode.search.compare import candidates_of
from kernode.tasks.classes.baselines import baselines
from kernode.tasks.classes.evaluation import fit_report
from kernode.tasks.classes.labels import fit_all_labels, split_labels
from kernode.tasks.classes.sum import fit_sum
from kernode.tasks.classes.task import NodeTask
from kernode.tasks.classes.variants import AUTO, CHOICES, VARIANTS, candidates, is_sum
from kernode.tasks.links.evaluation import link_baselines
from kernode.tasks.links.variants import LINK_VARIANTS
from kernode.training.callbacks import Callback
from kernode.training.checkpoint import Checkpoint
from kernode.training.run import Run
from tasks import PowerCutError

GRAPH = clustered_graph(n=60)
SPLIT = "0.5/0.25/0.25"
EPOCHS, TO_THE_LAST_RUNG = 5, 124
TIMES = ("seconds_total", "seconds_per_epoch", "seconds_training", "seconds", "peak_memory_mb")


class _PowerCut(Callback):
    """End a run after so many epochs in all."""

    def __init__(self, way):
        self.way = way

    def on_epoch_end(self, loop):
        self.way.epochs += 1
        if self.way.epochs == self.way.cut_after:
            raise PowerCutError


@dataclass
class Way:
    """How a training runs: into a folder, to its end or until the power fails after some epochs."""

    folder: Path
    bits: int = 32
    checkpoint: Checkpoint | None = None
    cut_after: int | None = None
    epochs: int = field(default=0, init=False)

    def run(self, seeds=(3, 4), **more):
        """The run that a training takes."""
        return Run(seeds, TensorOptions.of(self.bits), self.callbacks, **more)

    @property
    def callbacks(self):
        """The checkpoint, if there is one, and the power cut."""
        return (*(() if self.checkpoint is None else (self.checkpoint,)), _PowerCut(self))

    def write(self, model, report=None, graph=None, name="model"):
        """The files that are compared."""
        model.save(self.folder / name, graph)
        if report is not None:
            (self.folder / "report.json").write_text(json.dumps(without_times(report)))


def variant(name, way):
    """A variant of the node classifiers, or a choice among several; then again on all labels."""
    epochs = TO_THE_LAST_RUNG if name == AUTO else EPOCHS
    methods = {
        one: parts if parts[0].closed_form else _shorter(*parts, epochs)
        for one, parts in candidates(name, tuned=False).items()
    }
    run = way.run()
    splits, _ = split_labels(GRAPH, SPLIT, run.seeds)
    task = NodeTask.of_splits(GRAPH, splits, run)
    fit = fit_sum if is_sum(name) else fit_candidates
    on = fit(task, methods, split=SPLIT)
    way.write(on.model, fit_report(on, splits, task.nodes).figures)
    way.write(fit_all_labels(GRAPH, on.model, run).model, graph=GRAPH, name="all-labels")


def link_variant(name, way):
    """A variant of the link predictors, on most edges or on all."""
    links = _links(kn.LinkPredictor, name, way)
    way.write(links.model_, links.report().figures)


def all_edges(name, way):
    """The same on all edges, for embeddings."""
    way.write(_links(kn.LinkKernelTransformer, name, way).model_, graph=GRAPH)


def _links(kind, name, way):
    settings = {"epochs": EPOCHS, "replicas": 2, "random_state": 3, "device": "cpu"}
    return kind(name, **settings, training={"precision": way.bits}, callbacks=way.callbacks).fit(GRAPH)


def threads(name, way):
    """A variant on a graph that is large enough for two threads to share its work."""
    graph, _ = load("cora")
    methods = {name: _shorter(*candidates(name)[name], 2)}
    splits, _ = split_labels(graph, None, (0,))
    task = NodeTask.of_splits(graph, splits, way.run((0,), threads=2))
    way.write(fit_candidates(task, methods).model)


def candidates_of_method(name, way):
    """The candidates of a method of ``kernode compare``."""
    task = NodeTask.of_splits(GRAPH, [_split(0)], way.run((0,)))
    for number, one in enumerate(candidates_of(METHODS[name], GRAPH)):
        parts = _shorter(one.method, one.training)
        way.write(fit_candidates(task, {name: parts}).model, name=f"model-{number}")


def baseline_figures(way):
    """The baselines of every accuracy and every AUC: figures without models."""
    split = _split(0)
    nodes = NodeTask.of_splits(GRAPH, [split], way.run((0,))).nodes
    found = {
        "classes": baselines(GRAPH, nodes, split.test[None], GRAPH.labels[split.test][None]),
        "links": link_baselines(split_edges(GRAPH, 0)),
    }
    (way.folder / "figures.json").write_text(json.dumps(found))


def command(line, way):
    """Commands, one after the other; {} is the folder of their files."""
    write_npz(GRAPH, way.folder / "clusters.npz")
    for number, words in enumerate(line.replace("{}", str(way.folder)).split(" && ")):
        said, before = StringIO(), sys.argv
        sys.argv = ["kernode", *words.split(), "--json"]
        try:
            with redirect_stdout(said), redirect_stderr(StringIO()) as err:
                kernode()
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{words}: {err.getvalue()}") from end
        finally:
            sys.argv = before
        report = json.dumps(without_times(json.loads(said.getvalue())), indent=1)
        (way.folder / f"report-{number}.json").write_text(report.replace(str(way.folder), ""))


def _shorter(method, training, epochs=EPOCHS):
    return method, replace(training, epochs=min(training.epochs, epochs))


def _split(seed):
    return random_split(GRAPH.labels, (0.5, 0.25, 0.25), seed)


def without_times(values):
    """A report without seconds and memory, which differ between runs."""
    if isinstance(values, dict):
        return {name: without_times(value) for name, value in values.items() if name not in TIMES}
    return [without_times(value) for value in values] if isinstance(values, list) else values


Training = Callable[[Way], None]
NODES: dict[str, Training] = {f"fit {name}": partial(variant, name) for name in (*CHOICES, *VARIANTS)}
LINKS: dict[str, Training] = {
    **{f"links {name}": partial(link_variant, name) for name in LINK_VARIANTS},
    **{f"links {name} --all-edges": partial(all_edges, name) for name in LINK_VARIANTS},
}
RIVALS: dict[str, Training] = {f"compare {name}": partial(candidates_of_method, name) for name in METHODS}
_RUN = "--epochs 5 --replicas 2 --split 0.5/0.25/0.25 --set run.threads=1"
_FIT = f"fit {{}}/clusters.npz {_RUN} -o {{}}/m.safetensors"
COMMANDS: dict[str, Training] = {
    f"kernode {name}": partial(command, line)
    for name, line in {
        "fit": f"{_FIT} --variant k3 --predictions {{}}/p.csv",
        "fit --precision 64": f"{_FIT} --set run.precision=64 --all-labels --with-graph "
        "--predictions {}/p.parquet",
        "fit --resume": f"{_FIT} --variant k3 --checkpoint {{}}/c.safetensors "
        "--set run.checkpoint_every=2 && "
        f"{_FIT.replace('5', '9', 1)} --variant k3 --checkpoint {{}}/c.safetensors --resume",
        "answers": f"{_FIT} --variant k1 --with-graph && embed {{}}/m.safetensors -o {{}}/g.npz && "
        "embed {}/m.safetensors --gram -o {}/k.npz && predict {}/m.safetensors -o {}/p.json && "
        "similar {}/m.safetensors 3",
    }.items()
}
THREADS: dict[str, Training] = {f"{name} on two threads": partial(threads, name) for name in ("k1", "gat")}
TRAININGS = {**NODES, **LINKS, **RIVALS, **THREADS, **COMMANDS, "baselines": baseline_figures}


def interrupted(name, folder):
    """The power fails again and again, and each time the run goes on from its checkpoint."""
    cuts = [3, 97, 250, 61] if name == f"fit {AUTO}" else [3, 2]
    for cut in [*cuts, None]:
        checkpoint = Checkpoint(folder / "checkpoint.safetensors", every=2, resume="if there")
        try:
            TRAININGS[name](Way(folder, checkpoint=checkpoint, cut_after=cut))
        except PowerCutError:
            continue
        if cut is not None:
            raise RuntimeError(f"{name} was over before the power failed")
    for path in folder.glob("checkpoint*"):
        path.unlink()


def main(words):
    """Run some of them, or all."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    options = {word for word in words if word.startswith("--") and word not in TRAININGS}
    folder, *names = [word for word in words if word not in options]
    names = names or list(TRAININGS)
    for name in reversed(names) if "--backwards" in options else names:
        own = Path(folder) / name.replace(" ", "_")
        own.mkdir(parents=True)
        if "--interrupted" in options:
            interrupted(name, own)
        else:
            TRAININGS[name](Way(own))


if __name__ == "__main__":
    main(sys.argv[1:])
