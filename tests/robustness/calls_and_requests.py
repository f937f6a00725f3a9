"""Wrong calls in Python and wrong requests to the explorer; catalogue.py has wrong commands."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

import kernode as kn
from kernode.maps.base import width_of


@dataclass(frozen=True)
class Call:
    """A call in Python that raises an InputError with these words."""

    name: str
    call: object
    says: tuple


PAIR, EYE = [(0, 1), (1, 2)], np.eye(3)


def _edges(name, edges, *says, features=EYE, labels=None, **names):
    return Call(name, lambda: kn.Graph.from_edges(edges, features, labels, **names), says)


def _graph(node_names=None):
    names = None if node_names is None else list(node_names)
    return kn.Graph.from_edges(PAIR, EYE, [0, 1, 0], node_names=names)


def _fit(name, nodes, labels, *says, **settings):
    graph = kn.Graph.from_edges(PAIR, EYE, [0, 1, 0])
    return Call(name, lambda: kn.NodeKernelClassifier(**settings).fit(nodes, labels, graph=graph), says)


def _regression(name, nodes, numbers, *says, **settings):
    return Call(name, lambda: kn.NodeKernelRegressor(**settings).fit(nodes, numbers, graph=_graph()), says)


def _priced():
    return kn.Graph.from_edges(PAIR, EYE, targets=[1.0, 2.0, np.nan], target_name="price")


CALLS = (
    _edges("an edge to nowhere", [(0, 7)], "edge 0", "7"),
    _edges("edges of words", [("a", "b")], "edges"),
    _edges("edges with a gap", [(0, np.nan)], "edges"),
    _edges("features with a gap", PAIR, "node 1", "column 2", features=np.where(np.arange(9).reshape(3,
           3) == 5, np.nan, 1)),
    _edges("features beyond numbers", PAIR, "node 0", "column 0", features=np.full((3, 2), np.inf)),
    _edges("ragged features", PAIR, "features must be a regular array", features=[[1], [1, 2], [3]]),
    _edges("no features", PAIR, "a graph needs nodes and features", features=np.zeros((3, 0))),
    _edges("labels of halves", PAIR, "labels must be integers", labels=[0, 0.5, 1]),
    _edges("labels below −1", PAIR, "−1 where the class is not known", labels=[0, -2, 1]),
    _edges("names twice", PAIR, "unique", node_names=["a", "a", "b"]),
    _edges("weights for some", PAIR, "one number per edge (2)", weights=[1.0]),
    _edges("a weight that is not a number", PAIR, "edge 0 has weight nan", weights=[np.nan, 1.0]),
    Call("a flat matrix", lambda: kn.from_scipy(sparse.csr_array(np.ones((2, 3))), EYE), ("square",)),
    Call("a matrix with a gap", lambda: kn.from_scipy(sparse.csr_array([[0, np.nan], [1, 0]]), np.eye(2)),
         ("finite",)),
    Call("an array as graph", lambda: kn.NodeKernelClassifier().fit([0], [0], graph=np.eye(3)),
         ("from_scipy",)),
    Call("no graph", lambda: kn.NodeKernelClassifier().fit([0], [0]), ("give the graph",)),
    _edges("features for some", PAIR, "one row per node (3)", features=EYE[:, 0]),
    Call("ragged nodes", lambda: _graph().find([[0], [0, 1]]), ("regular array", "different lengths")),
    _fit("nodes of all kinds", [0, "a", None], [0, 1, 0], "all names (text) or all integer"),
    Call("positions of halves", lambda: kn.positions([0.5]), ("positions must be integers from 0",)),
    Call("an unknown number", lambda: _graph(node_names=[10, 20, 30]).find([77]), ("'77'", "Check the name")),
    Call("a position as name", lambda: _graph(node_names=[10, 20, 30]).find([1]), ("kn.positions([1])",)),
    Call("ragged new edges", lambda: kn.extend(_graph(), np.eye(3)[:1], edges=[(3, 0), (1,)]), ("m × 2",)),
    Call("new edges to an unknown node",
         lambda: kn.extend(_graph(node_names="abc"), np.eye(3)[:1], edges=[("d", "z")], names=["d"]),
         ("'z'", "in names")),
    Call("a map without a width", lambda: width_of(kn.maps.HopMLP()), ("HopMLP", "pass outputs=")),
    Call("patience without validation",
         lambda: kn.LinkKernelTransformer(training={"patience": 5}).fit(_graph()),
         ("patience has no effect",)),
    _fit("a node beyond the graph", [0, 9], [0, 1], "node 9 is not in the graph"),
    _fit("a node without a class", [0, 1, 2], [0, 1, -1], "node 2 has no label"),
    _fit("fewer classes than nodes", [0, 1, 2], [0, 1], "3", "2"),
    _fit("no such variant", [0, 1], [0, 1], "'k9' is not a variant", variant="k9"),
    _regression("numbers of two nodes", [0, 1], [1.0, 2.0], "numbers of 3 nodes", "Got 2"),
    _regression("a number that is not known", [0, 1, 2], [1.0, np.nan, 2.0], "y, entry 1", "Leave the"),
    _regression("words as numbers", [0, 1, 2], ["low", "mid", "high"], "y must be numbers"),
    _regression("numbers in two columns", [0, 1, 2], np.ones((3, 2)), "one number for each node", "(3, 2)"),
    _regression("a node with two numbers", [0, 1, 1], [1.0, 2.0, 3.0], "given twice"),
    _regression("a base kernel as covariance", [0, 1, 2], [1.0, 2.0, 3.0], "covariance", "FeatureCovariance",
                kernel=kn.kernels.RBF()),
    _regression("replicas of nothing", [0, 1, 2], [1.0, 2.0, 3.0], "replicas", "give a map", replicas=2),
    _regression("a learned term without a map", [0, 1, 2], [1.0, 2.0, 3.0], "learned", "give a map",
                kernel=kn.kernels.FeatureCovariance(kn.kernels.RBF(), columns="learned")),
    _regression("a map of so few numbers", [0, 1, 2], [1.0, 2.0, 3.0], "10 or more", "Got 3",
                map=kn.maps.HopMLP()),
    _regression("a score of classes for numbers", [0, 1, 2], [1.0, 2.0, 3.0], "scoring", "'r2'",
                map=kn.maps.HopMLP(), scoring="accuracy"),
    Call("columns of another kind", lambda: kn.kernels.FeatureCovariance(kn.kernels.RBF(), columns="all"),
         ("columns", "'learned'")),
    Call("means of learned columns",
         lambda: kn.kernels.FeatureCovariance(kn.kernels.RBF(), hops=1, columns="learned"), ("hops",)),
    _regression("inducing nodes without number", [0, 1, 2], [1.0, 2.0, 3.0], "inducing", inducing=0),
    Call("a graph without numbers", lambda: kn.NodeKernelRegressor().fit(graph=_graph()), ("no numbers",)),
    Call("a split with an unknown number",
         lambda: kn.NodeKernelRegressor().fit(graph=_priced(), split=kn.Split([0], [1], [2])),
         ("node 2", "no number")),
    Call("a learned kernel on features", lambda: kn.kernels.FeatureCovariance(kn.kernels.RBF(learned=True)),
         ("kernel", "learned here")),
    Call("no graph kernel", lambda: kn.kernels.GraphCovariance(()), ("one or more graph kernels",)),
    Call("a walk that never ends", lambda: kn.kernels.RegularizedLaplacian(1.0), ("alpha", "0.9999")),
    Call("a sum with a number", lambda: kn.kernels.GraphCovariance((kn.kernels.GraphMatern(),)) + 1,
         ("covariance",)),
    _fit("hops without end", [0, 1], [0, 1], "hops must be an integer up to 1,000", variant="k3", hops=10**9),
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A request to the explorer that gets a status and one sentence."""

    name: str
    path: str
    status: int
    says: tuple
    body: object = None  # of a POST: bytes as they are, anything else as JSON
    headers: dict = field(default_factory=dict)


REQUESTS = (
    Request("no such node", "/api/node?name=900", 404, ("900",)),
    Request("no node at all", "/api/node", 422, ("name",)),
    Request("a name without end", f"/api/node?name={'x' * 5000}", 422, ("name", "1000")),
    Request("a word as a number", "/api/similar?name=1&k=ten", 422, ("k", "integer")),
    Request("no such class", "/api/similar?name=1&of_class=purple", 400, ("purple",)),
    Request("nowhere", "/api/nothing", 404, ("nothing at this address", "/docs")),
    Request("outside the folder", "/static/../../etc/passwd", 404, ("nothing at this address",)),
    Request("a body that is not JSON", "/api/what-if", 422, ("not JSON", "Send an object"), b"{name:"),
    Request("brackets", "/api/what-if", 400, ("the body",), b"[" * 100_000),
    Request("a feature that is not a number", "/api/what-if", 422, ("not JSON",),
            b'{"name": "1", "features": {"0": nan}}'),
    Request("an unknown key", "/api/what-if", 422, ("colour",), {"name": "1", "colour": "red"}),
    Request("an edge to nowhere", "/api/what-if", 404, ("900",), {"name": "1", "add": ["900"]}),
    Request("an edge with itself", "/api/what-if", 400, ("itself",), {"name": "1", "add": ["1"]}),
    Request("too many edges", "/api/new-node", 422, ("edges", "100"), {"edges": ["1"] * 101}),
    Request("too large", "/api/new-node", 413, ("1,000,000 bytes",), b"x" * 1_000_001),
    Request("another name", "/api/model", 421, ("127.0.0.1",), None, {"host": "elsewhere.example"}),
    Request("a page of another site", "/api/model", 403, ("another site",), None,
            {"sec-fetch-site": "cross-site"}),
)  # fmt: skip
