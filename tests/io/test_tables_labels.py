"""What in a column of classes is a class, what means not known, and what is refused."""

import numpy as np
import pytest

import kernode as kn
from kernode.config import Config
from kernode.errors import InputError, KernodeWarning


def read(classes, ids=None, **options):
    """A ring of nodes with these classes."""
    ids = [f"n{at}" for at in range(len(classes))] if ids is None else ids
    distinct = list(dict.fromkeys(ids))
    edges = {"source": distinct, "target": [*distinct[1:], distinct[0]]}
    return kn.read_table(edges, {"id": ids, "x": list(range(len(ids))), "label": classes}, **options)


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        ([0, 1, 2, -1, -1], ("0", "1", "2")),
        (["0", "1", "2", "-1"], ("0", "1", "2")),
        ([0.0, 1.0, 2.0, -1.0, None], ("0", "1", "2")),
        ([5, 7, -1], ("5", "7")),
        ([1, -1, 1, -1], ("-1", "1")),
        ([-2, -1, 0, 1, 2], ("-2", "-1", "0", "1", "2")),
        (["a", "-1"], ("-1", "a")),
        (["a", "b", "UNLABELED", "Not Known", "nan", "unknown"], ("a", "b")),
        (["none", "-", "?", "a"], ("-", "?", "a", "none")),
        ([True, False, None], ("false", "true")),
        ([0.5, 1.0] * 6, ("0.5", "1")),
        (["A", "B", "C", "D"], ("A", "B", "C", "D")),  # four nodes may have four classes
    ],
)
def test_classes_are_those_that_are_meant(classes, names):
    assert read(classes).class_names == names


@pytest.mark.parametrize(
    ("unknown", "names"),
    [
        ("", ("NA", "a", "unknown")),
        ("a", ("NA", "unknown")),
        (["NA", "a"], ("unknown",)),
        ("na", ("NA", "a", "unknown")),
    ],
)
def test_exactly_the_given_texts_are_not_known(unknown, names):
    graph = read(["a", "NA", "unknown", "", None], unknown=unknown)
    assert graph.class_names == names


def test_what_is_not_known_is_stored_and_said():
    first = read([0, 1, 2, -1])
    assert "nodes: took '-1' in column 'label' as not known (1 row); to keep it" in " ".join(first.notes)
    assert Config.from_json(first.encoding.to_json()) == first.encoding
    nodes = {"id": ["a", "b"], "x": [1, 2], "label": [-1, 1]}
    assert kn.read_table({"source": ["a"], "target": ["b"]}, nodes, like=first).labels.tolist() == [-1, 1]
    grown = kn.extend(first, {"id": ["a", "b"], "x": [1, 2], "label": [-1, 9]}, None)
    assert grown.labels.tolist() == [0, 1, 2, -1, -1, -1]
    assert "nodes: took '9' in column 'label' as not known, for the graph has no such class" in grown.notes
    kept = read([0, 1, 2, -1], unknown="")
    assert kn.extend(kept, {"id": ["a"], "x": [1], "label": [-1]}, None).labels.tolist()[-1] == 0


@pytest.mark.parametrize(
    ("classes", "sentence"),
    [
        ([-1, 0, 1], r"holds −1, 0 and 1.*Say which texts mean not known"),
        ([f"c{at % 7}" for at in range(12)], "looks like an id, with 7 different values in 12 rows"),
        (list(range(100, 120)), "looks like an id"),
    ],
)
def test_what_is_no_class_is_refused(classes, sentence):
    with pytest.raises(InputError, match=sentence):
        read(classes, label="label")


def test_a_node_listed_twice():
    with pytest.raises(
        InputError, match=r"nodes: 'a' has the class 'u' in row 0 and 'v' in row 3. Give it one"
    ):
        read(["u", "v", None, "v"], ids=["a", "b", "c", "a"])
    graph = read([None, "v", "u", "u", "v"], ids=["a", "b", "c", "a", "b"])
    assert graph.labels.tolist() == [0, 1, 0]
    assert graph.features[:, 1].argsort().tolist() == [0, 1, 2]  # features are those of the first rows


def test_twins_are_warned_of_once():
    with pytest.warns(
        KernodeWarning, match="'New  York' and 'new-york'; 'Sport' and 'sport'. Write"
    ) as caught:
        graph = read(["Sport", "sport", "New  York", "new-york", "1-2", "12", "-1", "1", "10"])
    assert len(caught) == 1
    assert graph.n_classes == 9
    with pytest.warns(KernodeWarning, match="; and 2 more. Write"):
        read([word for at in range(7) for word in (f"Class {'abcdefg'[at]}", f"class {'abcdefg'[at]}")] * 2)
    first = read(["Sport", "Art"])
    nodes = {"id": ["a", "b"], "x": [1, 2], "label": ["sport", "Art"]}
    with pytest.warns(KernodeWarning, match="'Sport' and 'sport'"):
        kn.read_table({"source": ["a"], "target": ["b"]}, nodes, like=first)


def test_unknown_needs_a_column_and_texts():
    edges = {"source": ["a"], "target": ["b"]}
    with pytest.raises(InputError, match="not known are about the column to predict"):
        kn.read_table(edges, {"id": ["a", "b"], "x": [1, 2]}, unknown="?")
    with pytest.raises(InputError, match="unknown must be a text"):
        read(["a", "b"], unknown=None.__class__)


def test_an_infinite_class_is_not_known():
    graph = kn.read_table(
        {"source": ["a"], "target": ["b"]},
        {"id": ["a", "b", "c", "d"], "y": [1.0, 2.0, float("inf"), None]},
        label="y",
        unknown=["2", "99"],
    )
    assert graph.labels.tolist() == [0, -1, -1, -1]


FIT = "fit edges.csv --nodes people.csv --label taste --predictions out.csv --epochs 60 --replicas 1 --json"
FIT += " --variant k3-tuned -o edges.safetensors"


def put_tables(workspace, shop, classes):
    """The shop with these classes."""
    rows = zip(shop.ids, shop.age, shop.spent, classes, strict=True)
    workspace.table("people.csv", ("id", "age", "spent", "taste"), rows)
    workspace.table("edges.csv", ("source", "target"), shop.bought_together)


def test_unknown_can_be_kept_as_a_class_or_be_another_word(workspace, shop):
    """ "unknown" may be an answer, and "later" none."""
    put_tables(workspace, shop, [*shop.taste[:40], *["unknown"] * 12, *["later"] * 8])
    info = "data info edges.csv --nodes people.csv --label taste --json"
    assert any(
        "to keep it as a class, say which texts" in note for note in workspace.kernode(info).json["notes"]
    )
    assert workspace.kernode(info, "--set", "table.unknown=").json["classes"]["unknown"] == 12
    facts = workspace.kernode(f"{info} --set table.unknown=later,never").json
    assert (facts["unlabelled"], facts["classes"]["unknown"]) == (8, 12)


def test_minus_one_zero_and_one_are_asked_about(workspace, shop):
    """Three opinions, or two and no answer?"""
    put_tables(workspace, shop, [at % 3 - 1 for at in range(60)])
    refusal = workspace.kernode(FIT).refusal
    assert "(--set table.unknown=…)" in refusal
    info = "data info edges.csv --nodes people.csv --label taste --json"
    assert len(workspace.kernode(f"{info} --set table.unknown=-1").json["classes"]) == 2
    assert len(workspace.kernode(info, "--set", "table.unknown=").json["classes"]) == 3
    put_tables(workspace, shop, [1 - 2 * (at % 2) for at in range(60)])
    assert len(workspace.kernode(info).json["classes"]) == 2


def test_python_questions_the_same_classes():
    """y comes straight from a form that people filled in."""
    graph = kn.Graph.from_edges([(0, 1), (1, 2), (2, 3)], np.eye(4))
    model = kn.NodeKernelClassifier("n1", epochs=1, selection="last")
    with pytest.warns(kn.KernodeWarning) as said:
        model.fit(range(4), ["Tea", "tea ", "Unknown", "coffee"], graph=graph)
    sentences = " ".join(str(one.message) for one in said)
    assert "y has classes that differ only in case, blanks or hyphens" in sentences
    assert "'Unknown', which is a class here" in sentences
    with pytest.raises(kn.InputError, match="node 3 has no label"):
        model.fit(range(4), ["Tea", "Tea", "Milk", ""], graph=graph)
