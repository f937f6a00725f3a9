"""The column of the classes, as people fill it: words for not known, −1, prices, ids, contradictions."""

import numpy as np
import pytest

import kernode as kn

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
