"""``kernode predict --new-nodes``: nodes that arrive after a model was trained."""

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


ARRIVING = "--new-nodes new.csv --new-edges new-imports.csv"


def same(table, model):
    """The classes and probabilities that Python gives, to the last digit."""
    grown, new = model.extend(None, "new.csv", "new-imports.csv"), ["fresh", "second"]
    assert [*table] == new
    assert [row["class"] for row in table.values()] == grown.predict(new).tolist()
    found = [[float(value) for name, value in row.items() if name.startswith("p_")] for row in table.values()]
    assert found == grown.predict_proba(new).tolist()


def test_new_nodes_are_classified_within_the_graph(packages):
    """A new package imports sklearn everywhere; by its own features it looks like another."""
    packages.kernode(f"{FIT} --with-graph")
    answer = packages.kernode(f"predict model.safetensors {ARRIVING}")
    assert "2 nodes arrived at the 60 of imports" in answer.err
    found = rows(answer.out)
    same(found, kn.load_model("model.safetensors"))
    assert found["fresh"]["class"] == "sklearn"
    assert [found["fresh"]["known"], found["second"]["known"]] == ["", "sklearn"]
    report = packages.kernode(f"predict model.safetensors {ARRIVING} --json").json
    assert [row["known"] for row in report["predictions"]] == [None, "sklearn"]
    alone = "predict model.safetensors --graph new-imports.csv --nodes new.csv --set table.as_new_graph=true"
    assert rows(packages.kernode(alone).out)["fresh"]["class"] != "sklearn"


@pytest.mark.parametrize(("nodes", "mentioned"), [("new.csv", 10), ("mixed.csv", 9)])
def test_tables_that_mention_old_nodes_are_not_taken_for_a_graph_of_their_own(packages, nodes, mentioned):
    packages.kernode(f"{FIT} --with-graph")
    packages.table("mixed.csv", ("id", "lines", "stars"), [("fresh", 115, 50), ("p2", 310, 5)])
    new = f"--graph new-imports.csv --nodes {nodes}"
    sentence = packages.kernode(f"predict model.safetensors {new}").refusal
    assert f"edges mention {mentioned} nodes of 'imports'" in sentence
    assert f"--new-edges new-imports.csv --new-nodes {nodes}" in sentence
    assert "--set table.as_new_graph=…" in sentence
    assert "table.as_new_graph" in packages.kernode(f"embed model.safetensors {new} -o v.csv").refusal
    whole = packages.kernode(f"predict model.safetensors {new} --set table.as_new_graph=true")
    assert len(rows(whole.out)) == 12


def test_a_model_without_its_graph_needs_the_same_tables(packages):
    packages.kernode(FIT)
    model = kn.load_model("model.safetensors", kn.read_table("imports.csv", "packages.csv", label="needs"))
    assert "--with-graph" in packages.kernode(f"predict model.safetensors {ARRIVING}").refusal
    line = f"predict model.safetensors --graph imports.csv --nodes packages.csv {ARRIVING}"
    same(rows(packages.kernode(line).out), model)
    assert "--nodes" in packages.kernode(line.replace("--nodes packages.csv ", "")).refusal
    lines = (packages.folder / "imports.csv").read_text().splitlines(keepends=True)
    packages.write("imports.csv", "".join(lines[:-1]))
    assert "imports.csv does not hold 'imports'" in packages.kernode(line).refusal


def test_the_grown_model_is_kept_and_grows_on(packages):
    packages.kernode(f"{FIT} --with-graph")
    line = f"predict model.safetensors {ARRIVING} --save larger.safetensors --json"
    first = packages.kernode(line).json
    assert (first["arrived"], first["nodes"], first["saved"]) == (2, 62, "larger.safetensors")
    for name in ("imports.csv", "packages.csv"):
        (packages.folder / name).unlink()
    packages.table("third.csv", ("id", "lines", "stars"), [("third", 310, 50)])
    packages.table("third-imports.csv", ("source", "target"), [("third", "fresh")])
    line = "predict larger.safetensors --new-edges third-imports.csv"
    report = packages.kernode(f"{line} --new-nodes third.csv --json").json
    assert [row["node"] for row in report["predictions"]] == ["third"]
    assert len(rows(packages.kernode(f"{line} --all").out)) == 63
    assert packages.kernode("predict larger.safetensors --json").json["nodes"] == 62


def test_what_was_done_to_new_tables_is_on_stderr(packages):
    """A class that is new, a node without a row, and a row with a comma too many."""
    packages.kernode(f"{FIT} --with-graph")
    packages.write("odd.csv", "id,lines,stars,needs\nfresh,115,50,purple\nbad,1,2,3,4\n")
    packages.write("odd-imports.csv", "source,target\nfresh,p2\nfresh,unlisted\n")
    line = "predict model.safetensors --new-nodes odd.csv --new-edges odd-imports.csv"
    answer = packages.kernode(line)
    assert [*rows(answer.out)] == ["fresh", "unlisted"]
    assert "kernode: input: odd.csv: took 'purple' in column 'needs' as not known" in answer.err
    assert "added 1 node that only edges mention, without features: unlisted" in answer.err
    assert "odd.csv: dropped 1 row that did not have 4 values (row 3)" in answer.err
    assert "standardised" not in answer.err
    assert packages.kernode(f"{line} --quiet").err == ""
    assert packages.kernode("predict model.safetensors").err == ""
