"""What explanations share in the explorer is what they would compute each for itself."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import kernode as kn
from kernode.explain.explain import explain_node
from kernode.show.explorer import kept
from kernode.show.explorer.kept import keep_for_explanations


@pytest.fixture(scope="module")
def small():
    rng = np.random.Generator(np.random.PCG64(0))
    edges = rng.integers(0, 60, (110, 2))
    labels = np.arange(60) % 3
    words = sparse.csr_array((rng.random((60, 9)) < 0.3) * rng.random((60, 9)))
    return kn.Graph.from_edges(edges, words, labels, weights=rng.random(110) + 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("powers", ["each", "last", "released", "plain"])
@pytest.mark.parametrize("self_loop", [None, False, True])
@pytest.mark.parametrize(
    ("entries", "numbers"), [(0, 10**9), (10**9, 10**9), (10**9, 400)], ids=["rows", "operator", "sparse"]
)
def test_kept_shares_give_the_same_explanation(small, monkeypatch, powers, self_loop, entries, numbers):
    monkeypatch.setattr(kept, "_MOST_ENTRIES", entries)
    monkeypatch.setattr(kept, "_MOST_NUMBERS", numbers)  # 400: z is kept, what the first layer gives is not
    settings = {"hidden": (4,), "outputs": 3, "hops": 2, "powers": powers, "normalize_rows": not self_loop}
    if self_loop is None:
        feature_map = kn.maps.HopMLP(**settings)
    else:
        feature_map = kn.maps.Standardized(kn.maps.HopNet(**settings, self_loop=self_loop))
    model = kn.NodeKernelClassifier("k3", map=feature_map, epochs=2, replicas=2)
    nodes = kn.positions(range(60))
    on = model.fit(nodes[:40], small.labels[:40], graph=small, validation=nodes[40:])._on(None)
    ready = replace(on, known_g=on.g)
    keep_for_explanations(ready)
    for node in (0, 17, 59):
        plain, found = explain_node(on, node, 60), explain_node(ready, node, 60)
        assert found.lead == pytest.approx(plain.lead, abs=1e-5)
        values = {part.name: part.value for part in plain.neighbours.parts if abs(part.value) > 1e-9}
        assert {p.name: p.value for p in found.neighbours.parts if abs(p.value) > 1e-9} == pytest.approx(
            values, abs=1e-5
        )
        assert [hop.value for hop in found.hops] == pytest.approx([h.value for h in plain.hops], abs=1e-5)
