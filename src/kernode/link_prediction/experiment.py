"""One link experiment: a variant, VGAE's edge split, some runs, the test edges scored once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernode.errors import InputError
from kernode.graph import Graph
from kernode.io.edge_split import EdgeSplit
from kernode.io.registry import identify
from kernode.link_prediction.fitting import fit_links
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.model import LinkModel
from kernode.link_prediction.model_on_graph import LinkModelOnGraph
from kernode.link_prediction.task import LinkTask
from kernode.link_prediction.variants import configure_links
from kernode.metrics.accuracy import mean_and_std
from kernode.progress import timed
from kernode.training.advice import advise_more_epochs
from kernode.training.run import Run
from kernode.training.settings import Training


@dataclass(frozen=True)
class LinkOutcome:
    """What an experiment gave: the model on its training edges, figures in percent, and the split."""

    on: LinkModelOnGraph
    report: dict[str, Any]
    split: EdgeSplit

    @property
    def model(self) -> LinkModel:
        """What was trained."""
        return self.on.model


def tuned_name(graph: Graph, seed: int) -> str:
    """The data set's name where found settings may be used: a search has seen other splits' test edges."""
    entry = identify(graph) if seed == 0 else None
    return entry.name if entry else ""


def run_link_variant(
    graph: Graph, variant: str, run: Run, *, changes: dict[str, Any] | None = None
) -> LinkOutcome:
    """Train a link variant, one replica per seed on one split (the first seed's), and report in percent."""
    method, training = configure_links(variant, tuned_name(graph, run.seeds[0]), **(changes or {}))
    outcome = run_link_method(graph, method, training, run, variant=variant.lower())
    advise_longer_training(outcome.model)
    return outcome


def embed_links(
    graph: Graph, variant: str, run: Run, *, changes: dict[str, Any] | None = None
) -> LinkOutcome:
    """Train a link variant on every edge of a graph, to its last epoch: no figure is left to report."""
    for name in ("selection", "patience"):
        if (changes or {}).get(name) not in (None, "last"):
            raise InputError(
                f"{name} has no effect where all edges train: none is left to choose an epoch by."
            )
    method, training = configure_links(variant, **(changes or {}))
    task, training = LinkTask.of_all_edges(graph, run), training.to_the_last()
    on = fit_links(task, method, training, variant.lower())
    return LinkOutcome(on, _facts(graph, variant.lower(), run, training, on.model), task.split)


def advise_longer_training(model: LinkModel) -> None:
    """Warn where a model had not finished learning."""
    if model.kept_epochs is not None:
        advise_more_epochs(model.kept_epochs, model.training, model.history, "validation_auc")


def run_link_method(
    graph: Graph, method: LinkMethod, training: Training, run: Run, *, variant: str = ""
) -> LinkOutcome:
    """The same for any link method; ``variant`` is what to call it."""
    task = LinkTask.of_graph(graph, run)
    on, split = fit_links(task, method, training, variant), task.split
    with timed("evaluation"):
        test, validation = (
            _summary(on.evaluate(*part))
            for part in ((split.test, split.test_negatives), (split.validation, split.validation_negatives))
        )
    report = _facts(graph, variant, run, training, on.model) | {"test": test, "validation": validation}
    return LinkOutcome(on, report, split)


def _facts(graph: Graph, variant: str, run: Run, training: Training, model: LinkModel) -> dict[str, Any]:
    """What was trained, and how."""
    return {
        "dataset": graph.name,
        "variant": variant,
        "replicas": run.replicas,
        "seed": run.seeds[0],
        "device": run.place.device.type,
        "threads": model.threads,
        "epochs": training.epochs,
        "seconds_training": round(model.seconds, 3),
    }


def _summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Mean and spread of every figure over the runs, and the runs themselves."""
    summary: dict[str, Any] = {}
    for name in runs[0]:
        mean, std = mean_and_std([run[name] for run in runs])
        summary |= {f"{name}_mean": round(mean, 4), f"{name}_std": round(std, 4)}
    return summary | {"runs": [{name: round(value, 4) for name, value in run.items()} for run in runs]}
