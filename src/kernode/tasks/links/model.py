"""A trained link predictor: its fields, and its scores of node pairs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from scipy import sparse
from torch.nn.functional import logsigmoid

from kernode.compute.chunks import chunks
from kernode.compute.replicas import whole
from kernode.compute.tensor_options import TensorOptions
from kernode.config import Config
from kernode.errors import InputError, warn
from kernode.graph import Graph, positions
from kernode.graph.lookup import Positions, as_pairs
from kernode.io.edge_split import EdgeSplit, split_edges
from kernode.metrics.ranking import link_metrics
from kernode.models.file import require_nodes
from kernode.models.model import ARRAY, FACT, Model, ModelOnGraph
from kernode.progress import report_progress
from kernode.tasks.links.method import LinkMethod

_NUMBERS = 2**23  # of the vectors that pairs take at a time
_CELLS = 2**22  # scores in a block of rows, those of all runs counted
_ROOM = 1e-3  # of the largest log-odds: far more than a matrix product rounds otherwise than single pairs


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkModel(Model):
    """Learned parameters of r replicas that predict links."""

    kind: ClassVar[str] = "link predictor"

    method: LinkMethod = field(metadata=FACT | {"read": Config.from_json})
    split_seed: int | None = field(default=None, metadata=FACT)  # of the split; None: the split was given
    all_edges: bool = field(default=False, metadata=FACT)  # whether every edge trained, and none was held out
    held_out: np.ndarray | None = field(default=None, metadata=ARRAY)  # m × 2 edges, where a split was given
    # Of a sum of kernels: name, share of the log-odds and validation AUC of each member.
    members: tuple[dict[str, Any], ...] = field(default=(), metadata=FACT | {"read": tuple})

    @classmethod
    def upgraded(cls, facts: dict[str, Any]) -> dict[str, Any]:
        """Convert files of 0.1.0, where training had settings of losses that links do not have."""
        if "facts" not in facts:
            return facts
        facts = dict(facts)
        training, about = dict(facts["training"]), dict(facts.pop("facts"))
        for name in ("kernel_weight", "margin", "triplets", "class_weights"):
            training.pop(name)
        variant = about.pop("name", "")
        return {**facts, **about, "training": training, "variant": variant}

    def check(self) -> None:
        """Raise unless held-out edges are pairs of nodes."""
        super().check()
        if self.held_out is not None:
            require_nodes("held_out", self.held_out.reshape(-1, 2).T, 2)

    def split_of(self, whole: Graph) -> EdgeSplit:
        """The split that it learned from, made again; of an own split only the training edges are known."""
        if whole.fingerprint != self.fingerprint:
            own = self.split_seed is None and not self.all_edges
            graph = "split.graph, the graph of its training edges" if own else "that graph"
            raise InputError(
                f"the model was trained on {self.dataset!r}, which {whole.name!r} is not. Give {graph}.",
                "missing" if own else "conflict", setting="graph",
            )  # fmt: skip
        if self.split_seed is not None:
            return split_edges(whole, self.split_seed)
        none = np.empty((0, 2), np.int64)
        return EdgeSplit(whole, none, none, none, none)

    def on(self, split: EdgeSplit, device: str = "cpu") -> LinkModelOnGraph:
        """Use the model on the training edges of its split."""
        held_out = (
            self.held_out if self.split_seed is None else np.concatenate([split.validation, split.test])
        )
        return LinkModelOnGraph(
            self, split.graph, TensorOptions.of(self.precision, device), held_out=held_out
        )

    def summary(self) -> list[tuple[str, str]]:
        """Return a short description."""
        held = "every edge, none held out" if self.all_edges else "the training edges of a split"
        lines = super().summary()
        lines.insert(2, ("trained on", held))
        if self.members:
            shares = (f"{one['weight']:.2f} {one['name']}" for one in self.members)
            tried = (f"{name} {auc:.1f} %" for name, auc in (self.chosen_by_validation or {}).items())
            lines.append(("sum of kernels", ", ".join(shares)))
            lines.append(("members alone", f"{', '.join(tried)} (validation AUC)"))
        elif (figure := self.validated("auc")) > 0:
            lines.append(("validation", f"{figure:.2f} % AUC (optimistic: used for selection)"))
        return lines


@dataclass(frozen=True)
class LinkModelOnGraph(ModelOnGraph):
    """A link model on the graph of its training edges: scores for any pair, the likeliest missing links."""

    model: LinkModel
    held_out: np.ndarray | None = field(default=None, compare=False, repr=False)  # m × 2 edges not in graph

    @torch.no_grad()
    def logits(self, pairs: Any) -> np.ndarray:
        """log-odds of links, replica by replica: r × m for pairs (m × 2) of names or indices."""
        rows = torch.from_numpy(self.graph.find(as_pairs(pairs))).to(self.options.device)
        method, embedded = self.model.method, self.kernel.embedded
        each = max(1, _NUMBERS // (len(embedded) * embedded.shape[-1]))
        blocks = [rows[None, some] for some in chunks(len(rows), each)] or [rows[None]]
        found = [method.logits(self.parameters, embedded, block) for block in blocks]
        return torch.cat(found, dim=1).cpu().numpy()

    def score_pairs(self, pairs: Any) -> np.ndarray:
        """Probability of a link, the mean over replicas: m numbers for pairs (m × 2)."""
        return (1 / (1 + np.exp(-self.logits(pairs).astype(np.float64)))).mean(axis=0)

    def log_odds(self, pairs: Any) -> np.ndarray:
        """log p / (1 − p) of those probabilities: m numbers, finite where p rounds to 0 or 1."""
        logits = self.logits(pairs).astype(np.float64)
        return np.logaddexp.reduce(-np.logaddexp(0, -logits), axis=0) - np.logaddexp.reduce(
            -np.logaddexp(0, logits), axis=0
        )

    def missing_links(self, node: Any = None, k: int = 10) -> list[tuple[Any, ...]]:
        """The k likeliest node pairs without an edge, with their probabilities: of a node, or of all nodes.

        Gives (other, probability) of a node, (node, other, probability) of all. Of equals the first.
        """
        pairs, scores = self.missing_pairs(None if node is None else self.find_one(node), k)
        names = self.graph.node_names
        columns = (pairs if names is None else names[pairs]).T.tolist()
        return list(zip(*columns[0 if node is None else 1 :], scores.tolist(), strict=True))

    def missing_pairs(self, node: int | None, k: int) -> tuple[Positions, np.ndarray]:
        """The same by position (m × 2, a node's own first), and m probabilities."""
        whole("k", k, 1)
        if self.held_out is None:
            warn(
                f"this model's file does not say which edges of {self.model.dataset!r} were held out: they "
                "may be among the missing links. Train and save it again."
            )
        if node is None:
            pairs = likeliest_pairs(self, k)
        else:
            others = np.setdiff1d(np.arange(self.graph.n_nodes), [node, *self.known_edges[[node]].indices])
            pairs = positions(np.column_stack([np.full_like(others, node), others]))
            # Log-odds, because several probabilities round to 1.
            pairs = positions(pairs[np.argsort(-self.log_odds(pairs), kind="stable")[:k]])
        return pairs, self.score_pairs(pairs)

    @cached_property
    def known_edges(self) -> sparse.csr_array:
        """All edges that are there, those that trained and those that did not: n × n."""
        if self.held_out is None or not len(self.held_out):
            return self.graph.adjacency
        ends = np.concatenate([self.held_out, self.held_out[:, ::-1]])
        others = sparse.csr_array((np.ones(len(ends), np.float32), tuple(ends.T)), self.graph.adjacency.shape)
        return self.graph.adjacency + others

    def evaluate(self, edges: Any, negatives: Any) -> list[dict[str, float]]:
        """AUC, AP, Hits@k and MRR of every replica, in percent."""
        pairs = zip(self.logits(edges), self.logits(negatives), strict=True)
        return [link_metrics(positive, negative) for positive, negative in pairs]


def likeliest_pairs(on: LinkModelOnGraph, k: int) -> Positions:
    """The k likeliest pairs without an edge, (u, v) with u < v, of equals the first: k × 2.

    Every pair is scored, block by block of rows, and n × n is never held. A block's Gram matrix says which
    of its pairs can be among the best; these are then scored one by one, as any pair is, so that no rounding
    of the matrix product decides.
    """
    n, runs = on.graph.n_nodes, len(on.model.seeds)
    best, odds = positions(np.empty((0, 2), np.int64)), np.empty(0)
    total = n * (n - 1) // 2
    for rows in chunks(n, max(1, _CELLS // (n * runs))):
        left = n - rows.start
        report_progress(
            "missing links: pairs", total - left * (left - 1) // 2, total
        )  # later rows have fewer
        found = _candidates(on, rows, k)
        pairs, scores = np.concatenate([best, found]), np.concatenate([odds, on.log_odds(found)])
        first = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))[:k]
        best, odds = positions(pairs[first]), scores[first]
    return best


@torch.no_grad()
def _candidates(on: LinkModelOnGraph, rows: slice, k: int) -> Positions:
    """Pairs of some rows, each with a later node, that can be among the k best of these rows."""
    some = torch.arange(rows.start, rows.stop, device=on.options.device)
    others = torch.arange(rows.start, on.graph.n_nodes, device=on.options.device)
    logits = on.model.method.logits_between(on.parameters, on.kernel.embedded, some, others)
    odds = logits[0]  # log p / (1 − p), nearly: m × p
    if len(logits) > 1:
        odds = logsigmoid(logits).logsumexp(dim=0) - logsigmoid(-logits).logsumexp(dim=0)
    lower = torch.ones(odds.shape, dtype=torch.bool, device=odds.device).tril()  # with the diagonal
    known = on.known_edges[rows, rows.start :].tocoo()
    lower[torch.from_numpy(known.row).long(), torch.from_numpy(known.col).long()] = True
    room = _ROOM * (1 + float(odds.abs().max()))
    odds.masked_fill_(lower, -torch.inf)
    # k pairs have at least kth − room in truth: whatever seems to have 2 room less has less than they.
    kth = odds.flatten().topk(min(k, odds.numel())).values[-1]
    chosen = odds.ge(kth - 2 * room) & ~lower
    return positions(rows.start + chosen.nonzero().cpu().numpy())
