import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernode.kernels import RBF, Linear, NodeKernel, Normalized
from kernode.kernels.node_kernel import kernel_retrieval, retrieval_together
from tasks import retrieval

few_values = st.sampled_from([-1.0, -0.5, -0.0, 0.0, 0.25, 2.0])  # so that ties are common
any_value = st.floats(width=32, allow_nan=False)


@st.composite
def cases(draw):
    """Similarities r × m × m, labels m or r × m with lonely nodes and −1 among them, and k."""
    r, m = draw(st.integers(1, 3)), draw(st.integers(2, 12))
    values = draw(st.sampled_from([few_values, any_value]))
    similarity = draw(st.lists(values, min_size=r * m * m, max_size=r * m * m))
    rows = draw(st.sampled_from([1, r]))
    labels = draw(st.lists(st.integers(-1, 4), min_size=rows * m, max_size=rows * m))
    return np.reshape(similarity, (r, m, m)), np.reshape(labels, (rows, m)), draw(st.integers(1, 14))


def slow_retrieval(similarity, labels, k):
    """One query after the other, one other after the next: m × m, m → two figures."""
    averages, shares = [], []
    for query, label in enumerate(labels):
        others = [node for node in range(len(labels)) if node != query]
        others.sort(key=lambda node: (-similarity[query, node], node))
        hits = [labels[node] == label >= 0 for node in others]
        if any(hits):
            found = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
            averages.append(sum(found) / len(found))
            shares.append(sum(hits[:k]) / min(k, len(others)))
    return (100 * np.mean(averages), 100 * np.mean(shares)) if averages else (np.nan, np.nan)


def data(r=3, m=60, classes=5, seed=0):
    random = np.random.default_rng(seed)
    return torch.from_numpy(random.normal(size=(r, m, m))), torch.from_numpy(random.integers(0, classes, m))


@given(cases())
def test_figures_equal_slow_loops(case):
    similarity, labels, k = case
    found = retrieval(torch.from_numpy(similarity), torch.from_numpy(labels), k)
    own = np.broadcast_to(labels, (len(similarity), labels.shape[1]))
    expected = [slow_retrieval(one, of, k) for one, of in zip(similarity, own, strict=True)]
    assert np.allclose(torch.stack(found, dim=1), expected, atol=1e-9, equal_nan=True)
    assert {figure.dtype for figure in found} == {torch.float64}


@pytest.mark.parametrize("numbers", [1, 3 * 60 * 7])
def test_rows_ranked_in_blocks_give_the_same(monkeypatch, numbers):
    similarity, labels = data()
    expected = retrieval(similarity, labels)
    monkeypatch.setattr("kernode.metrics.ranking._NUMBERS_ON_CPU", numbers)
    for figure, other in zip(retrieval(similarity, labels), expected, strict=True):
        assert torch.allclose(figure, other, atol=1e-12)


def test_a_node_is_never_ranked_against_itself():
    similarity, labels = data()
    expected = retrieval(similarity, labels)
    for itself in (torch.inf, -torch.inf, torch.nan):
        changed = similarity.clone()
        changed.diagonal(dim1=1, dim2=2).fill_(itself)
        assert all(torch.equal(a, b) for a, b in zip(retrieval(changed, labels), expected, strict=True))


def test_of_equal_ones_the_first_node_comes_first():
    same = torch.zeros(1, 4, 4)
    assert retrieval(same, torch.tensor([0, 0, 1, 2]), k=1)[1].item() == 100  # both find the other first
    assert retrieval(same, torch.tensor([1, 2, 0, 0]), k=1)[1].item() == 0


def test_classes_with_one_node_ask_nothing_but_are_ranked():
    similarity = torch.tensor([[[0.0, 1.0, 9.0], [1.0, 0.0, 0.5], [9.0, 0.5, 0.0]]])
    precision, at_one = retrieval(similarity, torch.tensor([0, 0, 1]), k=1)
    assert (precision.item(), at_one.item()) == (75, 50)  # the first node finds the lonely one before
    for labels in (torch.tensor([0, 1, 2]), torch.tensor([-1, -1, -1])):
        assert torch.stack(retrieval(similarity, labels)).isnan().all()
    for m in (0, 1):
        assert torch.stack(retrieval(torch.zeros(2, m, m), torch.zeros(m, dtype=int))).isnan().all()


@pytest.mark.parametrize("base", [Linear(), RBF(gamma=0.7), RBF(learned=True)])
def test_a_kernel_is_compared_after_lengths_are_one(base):
    random = torch.Generator().manual_seed(0)
    g = torch.randn(50, 2, 4, dtype=torch.float64, generator=random).transpose(0, 1)
    labels = torch.randint(0, 3, (50,), generator=random)
    unit = Normalized(base)
    embedded, parameters = unit.embed(g), base.initial(2)
    expected = retrieval(unit.gram(embedded, embedded, parameters), labels)
    for kernel in (base, unit):
        found = kernel_retrieval(kernel, parameters, g, labels)
        assert all(torch.allclose(a, b, atol=1e-9) for a, b in zip(found, expected, strict=True))


def test_ranking_never_waits_for_the_device():
    """A meta tensor has no values: whatever asked for one would fail."""
    g, labels = torch.empty(3, 50, 4, device="meta"), torch.empty(3, 50, dtype=torch.int64, device="meta")
    assert [figure.shape for figure in retrieval(g @ g.mT, labels)] == [(3,), (3,)]


def test_all_replicas_together_rank_by_the_mean_of_their_kernels():
    g, labels = torch.randn(4, 30, 5, generator=torch.Generator().manual_seed(1)), torch.arange(30) % 3
    for kernel in (Linear(), RBF(gamma=0.5)):
        parameters = kernel.initial(4)
        mean = NodeKernel(kernel, g, parameters).directions.gram()
        expected = retrieval(torch.from_numpy(mean)[None], labels)
        found = retrieval_together(kernel, parameters, g, labels)
        assert found == pytest.approx([float(figure[0]) for figure in expected], abs=1e-4)
