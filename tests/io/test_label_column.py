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


@pytest.mark.parametrize("word", ["unknown", "Unknown", "unlabelled", "N/A", "not known"])
def test_a_word_for_not_known_is_no_class(workspace, shop, word):
    """ "unknown" stood for those who had not said, and they all were said to like unknown."""
    put_tables(workspace, shop, [taste if at < 40 else word for at, taste in enumerate(shop.taste)])
    facts = workspace.kernode("data info edges.csv --nodes people.csv --label taste --json").json
    assert (facts["unlabelled"], len(facts["classes"])) == (20, 3)
    assert any("not known" in note and "20 rows" in note for note in facts["notes"])


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


def test_minus_one_beside_integers_is_not_known(workspace, shop):
    """A program wrote classes 0, 1, 2 and −1, and −1 was learned, too."""
    of = {taste: at for at, taste in enumerate(dict.fromkeys(shop.taste))}
    put_tables(workspace, shop, [of[taste] if at < 40 else -1 for at, taste in enumerate(shop.taste)])
    report = workspace.kernode(FIT).json
    assert any("took '-1' in column 'taste' as not known (20 rows)" in note for note in report["notes"])
    classes = workspace.classes("out.csv")
    assert {classes[str(one)] for one in shop.ids} == {"0", "1", "2"}


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


def test_a_price_is_no_class(workspace, shop):
    """Prices were to be foretold, and became sixty classes."""
    put_tables(workspace, shop, [f"{spent} €".replace(".", ",") for spent in shop.spent])
    refusal = workspace.kernode(FIT).refusal
    assert "column 'taste' looks like a number: regression is not offered" in refusal


def test_an_id_is_no_class(workspace, shop):
    """The wrong column: every customer has a class of their own."""
    put_tables(workspace, shop, [f"C-{one}" for one in shop.ids])
    assert (
        "column 'taste' looks like an id, with 60 different values in 60 rows"
        in workspace.kernode(FIT).refusal
    )


def test_twins_among_classes_are_warned_of(workspace, shop):
    """ "Tee" and "tee", typed by two people."""
    put_tables(
        workspace, shop, [taste.lower() if at % 7 == 0 else taste for at, taste in enumerate(shop.taste)]
    )
    facts = workspace.kernode("data info edges.csv --nodes people.csv --label taste --json").json
    assert len(facts["classes"]) == 6
    (warning,) = facts["warnings"]
    assert "differ only in case, blanks or hyphens" in warning
    assert "'Tee' and 'tee'" in warning


def test_a_customer_with_two_tastes_is_asked_about(workspace, shop):
    """Two exports pasted below each other, and in the second 1112 had changed their mind."""
    put_tables(workspace, shop, shop.taste)
    with (workspace.folder / "people.csv").open("a", encoding="utf-8") as file:
        file.write(f"{shop.ids[0]},26,1000,Kaffee\n")
    refusal = workspace.kernode(FIT).refusal
    assert f"'{shop.ids[0]}' has the class 'Tee' in row 2 and 'Kaffee' in row 62" in refusal


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
