"""Similar nodes: the exact answer against a full matrix, the index against the exact answer."""

import pickle
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernode.errors import InputError, MissingExtraError
from kernode.kernels import RBF, Linear, NodeKernel, Normalized, Polynomial, Sum, nearest

KERNELS = (
    Linear(),
    Normalized(Linear()),
    RBF(0.7),
    RBF(0.5, learned=True),
    Linear() + RBF(2.0),
    Polynomial(3, 1.0),
)


def on_pair(base, x, y, i):
    """k of two directions, as its formula has it; i: the replica, whose γ was learned."""
    if isinstance(base, Normalized):
        return on_pair(base.kernel, x, y, i)
    if isinstance(base, Sum):
        return on_pair(base.left, x, y, i) + on_pair(base.right, x, y, i)
    if isinstance(base, Linear):
        return x @ y
    if isinstance(base, Polynomial):
        return (x @ y + base.offset) ** base.degree
    gamma = 0.3 * (i + 1) if base.learned else base.gamma
    return np.exp(-gamma * ((x - y) ** 2).sum())


def slow(kernel, query, k, among):
    """The obvious way: every pair, a full sort."""
    x = kernel.g.numpy() / np.linalg.norm(kernel.g.numpy(), axis=-1, keepdims=True)
    full = np.array(
        [np.mean([on_pair(kernel.base, one[query], one[v], i) for i, one in enumerate(x)]) for v in among]
    )
    order = np.argsort(-full.round(9), kind="stable")  # equal but for rounding is equal
    return [(among[at], full[at]) for at in order if among[at] != query][:k]


@contextmanager
def blocks(values):
    before, nearest._VALUES = nearest._VALUES, values
    try:
        yield
    finally:
        nearest._VALUES = before


@st.composite
def kernels(draw):
    """Some vectors are those of several nodes, so there are ties."""
    r, n, seed = draw(st.integers(1, 3)), draw(st.integers(2, 40)), draw(st.integers(0, 2**31))
    random = np.random.default_rng(seed)
    pool = random.normal(size=(r, draw(st.integers(1, n)), 3))
    base = draw(st.sampled_from(KERNELS))
    learned = {"log_gamma": torch.tensor([0.3 * (i + 1) for i in range(r)], dtype=torch.float64).log()}
    parameters = learned if getattr(base, "learned", False) else {}
    return NodeKernel(base, torch.from_numpy(pool[:, random.integers(0, pool.shape[1], n)]), parameters)


@given(kernels(), st.data())
def test_similar_nodes_are_those_of_the_full_matrix(kernel, data):
    everyone = range(kernel.n_nodes)
    queries = data.draw(st.lists(st.sampled_from(everyone), min_size=1, max_size=6))
    among = data.draw(st.none() | st.lists(st.sampled_from(everyone), min_size=1, unique=True))
    k = data.draw(st.integers(1, kernel.n_nodes + 3))
    with blocks(data.draw(st.sampled_from([1, 30, 2**22]))):
        found = kernel.similar(queries, k, among=among)
        alone = kernel.similar(queries[0], k, among=among)
    for query, answer in zip(queries, found, strict=True):
        expected = slow(kernel, query, k, sorted(everyone if among is None else among))
        assert [node for node, _ in answer] == [node for node, _ in expected]
        assert [value for _, value in answer] == pytest.approx([value for _, value in expected])
        assert answer.exact
    assert alone == found[0]


@pytest.mark.parametrize(
    "base", [Linear(), RBF(1.0), RBF(300.0), Linear() + RBF(), Polynomial(2, 0.0)], ids=repr
)
@pytest.mark.parametrize("replicas", [1, 2])
def test_in_single_precision_every_bit_is_that_of_the_pair(base, replicas):
    random = np.random.default_rng(0)
    pool = random.normal(size=(replicas, 900, 5)).astype(np.float32)
    kernel = NodeKernel(base, torch.from_numpy(pool[:, random.integers(0, 900, 3001)]))
    kbar = kernel.directions
    for query, answer in zip([5, 3000, 77], kernel.similar([5, 3000, 77], 9), strict=True):
        full = kbar.pairs(np.full(3001, query), np.arange(3001))
        full[query] = -np.inf
        best = np.argsort(-full, kind="stable")[:9]
        assert answer == [(int(v), float(full[v])) for v in best]


def test_all_alike_or_alike_to_nothing_the_first_come_first():
    same = NodeKernel(Linear(), torch.ones(1, 700, 3))
    assert [node for node, _ in same.similar(1, 4)] == [0, 2, 3, 4]
    nothing = NodeKernel(Linear(), torch.zeros(1, 700, 3))
    assert nothing.similar(0, 2) == [(1, 0.0), (2, 0.0)]
    assert NodeKernel(Linear(), torch.ones(1, 1, 3)).similar(0) == []
    assert same.similar(3, among=[3]) == []


def test_no_answer_is_made_of_what_is_not_finite():
    broken = torch.ones(1, 50, 3)
    broken[0, 7, 0] = torch.nan
    with pytest.raises(InputError, match="K is not a finite number"):
        NodeKernel(Linear(), broken).similar(3)


def test_a_mask_and_names_restrict():
    names = np.array([f"v{i}" for i in range(6)])
    g = torch.randn(1, 6, 3, generator=torch.Generator().manual_seed(1))
    kernel = NodeKernel(Linear(), g, names=names)
    mask = np.array([True, False, True, False, True, False])
    assert {node for node, _ in kernel.similar("v0", among=mask)} == {"v2", "v4"}
    assert kernel.similar("v0", among=["v4", "v2", "v4"]) == kernel.similar("v0", among=mask)


# ---- the index


def clouds(n=4000, base=None, replicas=1, width=8):
    """Vectors in clouds, as a learned map has them."""
    random = np.random.default_rng(3)
    centres = random.normal(size=(replicas, 12, width))
    g = centres[:, random.integers(0, 12, n)] + 0.4 * random.normal(size=(replicas, n, width))
    return NodeKernel(base or Linear(), torch.from_numpy(g.astype(np.float32)))


@pytest.mark.parametrize(("base", "replicas"), [(Linear(), 3), (RBF(), 1), (Linear() + RBF(3.0), 2)])
def test_index_misses_few_and_its_similarities_are_exact(base, replicas):
    kernel = clouds(base=base, replicas=replicas)
    queries = list(range(0, 4000, 20))
    exact, found = (kernel.similar(queries, exact=one) for one in (True, False))
    assert all(one.exact for one in exact)
    assert not any(one.exact for one in pickle.loads(pickle.dumps(found)))
    hits = [value >= of[-1][1] for of, one in zip(exact, found, strict=True) for _, value in one]
    assert len(hits) == 10 * len(queries)
    assert np.mean(hits) >= 0.98
    for query, one in zip(queries, found, strict=True):
        nodes = [node for node, _ in one]
        assert query not in nodes
        assert len(set(nodes)) == 10
        assert [value for _, value in one] == kernel.directions.pairs([query] * 10, nodes).tolist()


def test_all_are_compared_where_the_index_holds_too_few_or_candidates_are_given():
    kernel = clouds(900)
    for how in ({"k": 899}, {"among": np.arange(0, 900, 7)}):
        found = kernel.similar([4, 7], exact=False, **how)
        assert found == kernel.similar([4, 7], exact=True, **how)
    assert all(one.exact for one in found)
    assert len(kernel.similar(4, k=5000, exact=False)) == 899


@pytest.mark.parametrize("base", [Polynomial(2, 0.0), Linear() * Linear()], ids=repr)
def test_a_kernel_that_need_not_grow_has_no_index(base):
    assert len(clouds(200, base).similar(0)) == 10
    with pytest.raises(InputError, match="an index needs a kernel that grows with the cosine"):
        clouds(200, base).similar(0, exact=False)


def test_without_faiss_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"^an index needs FAISS: pip install 'kernode\[index\]'\.$"):
        clouds(200).similar(0, exact=False)
    assert len(clouds(200).similar(0)) == 10
