"""Ids that are integers: 17 in a data frame is the customer 17, never the seventeenth row."""

import numpy as np
import pandas as pd
import pytest

import kernode as kn
from kernode.errors import InputError
from kernode.graph.lookup import as_nodes


@pytest.fixture
def customers(shop):
    """The shop's customers as a data frame, as it came out of a database: in no order."""
    frame = pd.DataFrame({"id": shop.ids, "age": shop.age, "taste": shop.taste})
    return frame.sample(frac=1, random_state=3)


@pytest.fixture
def graph(shop, customers):
    """And the graph of who bought together."""
    pairs = pd.DataFrame(shop.bought_together, columns=["source", "target"])
    return kn.read_table(pairs, customers, label="taste")


def model(**settings):
    return kn.NodeKernelClassifier("k3-tuned", epochs=40, **settings)


def test_a_column_of_ids_is_a_column_of_names(customers, graph):
    """df.id and df.taste, as anybody would write, gave 0.50 where 1.00 was right."""
    some, others = customers[:40], customers[40:]
    learned = model().fit(some.id, some.taste, graph=graph)
    assert learned.score(others.id, others.taste) == 1.0
    assert learned.predict(others.id).tolist() == others.taste.tolist()


def test_ids_that_could_be_rows_are_ids_all_the_same(shop):
    """Ids are 0 … 59, but the rows are not in that order: a row number would be somebody else."""
    new = np.random.default_rng(0).permutation(60)
    ids = dict(zip(shop.ids, new.tolist(), strict=True))
    pairs = [(ids[one], ids[other]) for one, other in shop.bought_together]
    people = pd.DataFrame({"id": new, "age": shop.age, "taste": shop.taste})
    graph = kn.read_table(pd.DataFrame(pairs, columns=["source", "target"]), people, label="taste")
    learned = model().fit(people.id[:40], people.taste[:40], graph=graph)  # the classes leave no doubt
    assert learned.score(people.id[40:], people.taste[40:]) == 1.0
    with pytest.warns(kn.KernodeWarning, match="integers were taken as names of nodes of 'edges'"):
        assert (learned.predict(people.id[40:]) == people.taste[40:]).all()
    assert (learned.predict(people.id[40:].astype(str)) == people.taste[40:]).all()  # nor does text


def test_positions_have_a_form_of_their_own_and_splits_have_it(graph):
    """A split is by row; what it holds is never taken for an id, sliced or joined."""
    split = kn.Split(range(40), range(40, 50), range(50, 60))
    learned = model().fit(split.train, graph.labels[split.train], graph=graph, validation=split.validation)
    both = np.concatenate([split.validation[::-1], split.test[:5]])
    assert learned.score(both, graph.labels[both]) == 1.0
    assert (learned.predict(kn.positions([3, 4])) == learned.predict(graph.node_names[[3, 4]])).all()


def test_row_numbers_that_are_ids_of_others_contradict_the_classes(shop):
    """And where row numbers happen to be ids of others, the classes give it away."""
    people = {"id": np.random.default_rng(0).permutation(60), "age": shop.age, "taste": shop.taste}
    graph = kn.read_table({"source": [0], "target": [1]}, people, label="taste")
    rows = np.arange(30)
    with pytest.raises(InputError, match="as positions they agree"):
        model().fit(rows, graph.labels[rows], graph=graph)


def test_a_mask_says_which_rows(graph):
    """Masks, as in PyTorch Geometric; classes of all nodes or of the marked ones both do."""
    mask = np.arange(60) < 40
    by_mask = model().fit(mask, graph.labels[mask], graph=graph)
    by_all = model().fit(mask, graph.labels, graph=graph)
    assert by_mask.score(~mask, graph.labels) == by_all.score(~mask, graph.labels[~mask]) == 1.0
    with pytest.raises(InputError, match="one boolean per node"):
        by_mask.predict(mask[:10])


def test_links_between_ids_are_links_between_those_ids(shop, graph):
    """A link is asked for between two customers, not between two rows."""
    links = kn.LinkPredictor(epochs=5).fit(graph)
    pair = [shop.bought_together[0]]
    assert links.score_pairs(pair) == links.score_pairs(graph.find(pair))


def test_a_float_too_large_to_be_exact_is_refused():
    """Ids have nineteen digits, and pandas made floats of them beside a gap."""
    graph = kn.Graph.from_edges([(0, 1)], np.eye(2), node_names=[2**60, 2**60 + 1])
    with pytest.raises(InputError, match="floats above 2⁵³ are not exact"):
        as_nodes([float(2**60 + 1)])
    assert graph.find(as_nodes([2**60 + 1])).tolist() == [1]
    negative = kn.Graph.from_edges([(0, 1)], np.eye(2), node_names=[-5, 7])
    assert negative.find(as_nodes([-5])).tolist() == [0]
