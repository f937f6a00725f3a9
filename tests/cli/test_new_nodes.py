"""Nodes that arrive after a model was trained: the command must say what Python says."""

import csv
import io

import numpy as np
import pytest

import kernode as kn

QUICK = "--variant k3 --epochs 30 --replicas 1 -q -o model.safetensors"
FIT = f"fit imports.csv --nodes packages.csv --label needs {QUICK}"
NAMES = ["torch", "sympy", "sklearn"]


@pytest.fixture
def packages(workspace):
    """Sixty packages: what each is made for tells its size a little, its imports tell it well."""
    random = np.random.default_rng(3)
    of = np.arange(60) % 3
    lines, stars = 100 * (1 + of) + random.integers(30, size=60), random.integers(100, size=60)
    rows = [(f"p{i}", lines[i], stars[i], NAMES[of[i]] if i < 45 else "") for i in range(60)]
    workspace.table("packages.csv", ("id", "lines", "stars", "needs"), rows)
    pairs = [
        (i, j) for i in range(60) for j in range(i) if random.random() < (0.2 if of[i] == of[j] else 0.005)
    ]
    workspace.table("imports.csv", ("source", "target"), [(f"p{i}", f"p{j}") for i, j in pairs])
    # Its lines look like torch's, and all its imports are sklearn's.
    workspace.table(
        "new.csv", ("id", "lines", "stars", "needs"), [("fresh", 115, 50, ""), ("second", 310, 50, "sklearn")]
    )
    workspace.table("new-imports.csv", ("source", "target"), [("fresh", f"p{i}") for i in range(2, 30, 3)] + [
        ("second", "fresh"), ("second", "p5")])  # fmt: skip
    return workspace


def rows(text):
    return {row["node"]: row for row in csv.DictReader(io.StringIO(text))}


def in_python(model):
    """What Python answers about the two that arrived: classes and probabilities."""
    grown = model.extend(None, "new.csv", "new-imports.csv")
    return grown.predict(["fresh", "second"]).tolist(), grown.predict_proba(["fresh", "second"]).tolist()


def same(table, answers):
    """To the last digit."""
    classes, chances = answers
    assert [*table] == ["fresh", "second"]
    assert [row["class"] for row in table.values()] == classes
    found = [[float(value) for name, value in row.items() if name.startswith("p_")] for row in table.values()]
    assert found == chances


def test_a_new_package_is_what_its_imports_say_not_what_it_looks_like(packages):
    """A new package imports sklearn everywhere; taken by itself it looked like another."""
    packages.kernode(f"{FIT} --with-graph")
    answers = in_python(kn.load_model("model.safetensors"))
    assert answers[0][0] == "sklearn"
    arriving = "--new-nodes new.csv --new-edges new-imports.csv"
    told = rows(packages.kernode(f"predict model.safetensors {arriving}").out)
    same(told, answers)
    alone = packages.kernode(
        "predict model.safetensors --graph new-imports.csv --nodes new.csv --set table.as_new_graph=true"
    )
    assert rows(alone.out)["fresh"]["class"] != "sklearn"
    assert [told["fresh"]["known"], told["second"]["known"]] == ["", "sklearn"]


def test_tables_that_mention_old_nodes_are_not_taken_for_a_graph_of_their_own(packages):
    """It was forgotten that new packages arrive, and there must not be another answer."""
    packages.kernode(f"{FIT} --with-graph")
    new = "new-imports.csv --nodes new.csv"
    sentence = packages.kernode(f"predict model.safetensors --graph {new}").refusal
    assert "--new-edges new-imports.csv --new-nodes new.csv" in sentence
    assert "--set table.as_new_graph=…" in sentence
    assert (
        "--set table.as_new_graph=…"
        in packages.kernode(f"embed model.safetensors --graph {new} -o v.csv").refusal
    )
    arriving = "--new-nodes new.csv --new-edges new-imports.csv"
    answer = packages.kernode(f"predict model.safetensors {arriving}")
    assert "2 nodes arrived at the 60 of imports" in answer.err
    report = packages.kernode(f"predict model.safetensors {arriving} --json").json
    assert [row["known"] for row in report["predictions"]] == [None, "sklearn"]


def test_a_model_without_its_graph_is_told_where_it_is(packages):
    """The tables were kept; they must be the very ones."""
    packages.kernode(FIT)
    model = kn.load_model("model.safetensors", kn.read_table("imports.csv", "packages.csv", label="needs"))
    arriving = "--new-nodes new.csv --new-edges new-imports.csv"
    assert "--with-graph" in packages.kernode(f"predict model.safetensors {arriving}").refusal
    asked = f"predict model.safetensors --graph imports.csv --nodes packages.csv {arriving}"
    same(rows(packages.kernode(asked).out), in_python(model))
    incomplete = asked.replace("--nodes packages.csv ", "")
    assert "--nodes" in packages.kernode(incomplete).refusal
    lines = (packages.folder / "imports.csv").read_text().splitlines(keepends=True)
    packages.write("imports.csv", "".join(lines[:-1]))
    assert "imports.csv does not hold 'imports'" in packages.kernode(asked).refusal


def test_what_could_mean_two_things_is_asked(packages):
    """Half of the old packages are listed again, and the others only mentioned."""
    packages.kernode(f"{FIT} --with-graph")
    packages.table("mixed.csv", ("id", "lines", "stars"), [("fresh", 115, 50), ("p2", 310, 5)])
    sentence = packages.kernode("predict model.safetensors --graph new-imports.csv --nodes mixed.csv").refusal
    assert "edges mention 9 nodes of 'imports'" in sentence
    whole = packages.kernode(
        "predict model.safetensors --graph new-imports.csv --nodes mixed.csv --set table.as_new_graph=true"
    )
    assert len(rows(whole.out)) == 12


def test_the_grown_model_is_kept_and_grows_on(packages):
    """Packages are added week by week, and the tables were thrown away."""
    packages.kernode(f"{FIT} --with-graph")
    arriving = "--new-nodes new.csv --new-edges new-imports.csv --save larger.safetensors --json"
    first = packages.kernode(f"predict model.safetensors {arriving}").json
    assert (first["arrived"], first["nodes"], first["saved"]) == (2, 62, "larger.safetensors")
    for name in ("imports.csv", "packages.csv"):
        (packages.folder / name).unlink()
    again = kn.load_model("larger.safetensors")
    assert (
        again.graph_.fingerprint
        == kn.load_model("model.safetensors").extend(None, "new.csv", "new-imports.csv").graph_.fingerprint
    )
    assert np.allclose(
        again.predict_proba(["fresh", "second"]), in_python(kn.load_model("model.safetensors"))[1]
    )
    packages.table("third.csv", ("id", "lines", "stars"), [("third", 310, 50)])
    packages.table("third-imports.csv", ("source", "target"), [("third", "fresh")])
    report = packages.kernode(
        "predict larger.safetensors --new-nodes third.csv --new-edges third-imports.csv --json"
    ).json
    assert [row["node"] for row in report["predictions"]] == ["third"]
    everyone = packages.kernode("predict larger.safetensors --new-edges third-imports.csv --all")
    assert len(rows(everyone.out)) == 63
    assert packages.kernode("predict larger.safetensors --json").json["nodes"] == 62


def odd_tables(packages):
    """What arrives has a class that nobody has, a node without a row, and a row with a comma too many."""
    packages.write("odd.csv", "id,lines,stars,needs\nfresh,115,50,purple\nbad,1,2,3,4\n")
    packages.write("odd-imports.csv", "source,target\nfresh,p2\nfresh,nobody\n")


def test_what_was_done_to_new_tables_is_said_beside_an_answer_on_stdout(packages):
    """Answers go on through a pipe, and what was dropped was never said."""
    packages.kernode(f"{FIT} --with-graph")
    odd_tables(packages)
    asked = "predict model.safetensors --new-nodes odd.csv --new-edges odd-imports.csv"
    answer = packages.kernode(asked)
    assert [*rows(answer.out)] == ["fresh", "nobody"]
    assert "kernode: input: odd.csv: took 'purple' in column 'needs' as not known" in answer.err
    assert "added 1 node that only edges mention, without features: nobody" in answer.err
    assert "odd.csv: dropped 1 row that did not have 4 values (row 3)" in answer.err
    assert "standardised" not in answer.err
    assert packages.kernode(f"{asked} --quiet").err == ""
    assert packages.kernode("predict model.safetensors").err == ""
