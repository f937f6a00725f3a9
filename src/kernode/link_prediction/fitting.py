"""From a task to a model: memory checked, one link method trained."""

from __future__ import annotations

from dataclasses import replace

from kernode.compute.place import cpu_threads
from kernode.data.sizes import GraphSizes
from kernode.link_prediction.method import LinkMethod
from kernode.link_prediction.model import LinkModel
from kernode.link_prediction.model_on_graph import LinkModelOnGraph
from kernode.link_prediction.task import LinkTask
from kernode.link_prediction.trainer import train_links
from kernode.progress import note, timed
from kernode.training.life_signs import note_trained
from kernode.training.memory_check import require_memory
from kernode.training.settings import Training


def fit_links(task: LinkTask, method: LinkMethod, training: Training, variant: str = "") -> LinkModelOnGraph:
    """Train one replica per seed; ``variant`` is what to call the method."""
    require_memory(GraphSizes.of(task.split.graph), method, training, task.run.place)
    if task.run.checkpoint is not None:
        task.run.checkpoint.check()
    task, graph = replace(task, run=task.run.called(variant)), task.split.graph
    run = task.run
    with cpu_threads(run.threads) as threads:
        note(
            "training",
            f"training {run.name} on the links of {graph.name}: {graph.n_edges:,} edges train, "
            f"{run.replicas} replica{'s' * (run.replicas > 1)}, {run.place.device.type}, "
            f"{threads} CPU thread{'s' * (threads > 1)}",
            training=run.name, graph=graph.name, edges=graph.n_edges, seeds=run.seeds, epochs=training.epochs,
            device=run.place.device.type, precision=run.precision, threads=threads,
        )  # fmt: skip
        with timed(f"training {run.name}"):
            trained = train_links(task, method, training)
    note_trained(run, trained.seconds, trained.epochs)
    model = LinkModel.of(task, method, training, trained, variant)
    return LinkModelOnGraph(model, task.split.graph, task.run.place, task.held_out, trained.prepared)
