"""`kernode similar`: what it shows is what the model's kernel finds, and it says how it was found."""

import json

import numpy as np
import pytest

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.io import write_npz

PLAIN = clustered_graph(n=90)
NAMES = np.array([f"node {i}" for i in np.random.default_rng(3).permutation(90)])
LABELS = np.where(np.arange(90) % 9 == 0, -1, PLAIN.labels)  # some are not known
CLASSES = ("red", "green", "[blue]")


@pytest.fixture
def trained(tmp_path):
    """A named graph and a model of two runs, as files."""
    graph = kn.Graph(PLAIN.adjacency, PLAIN.features, LABELS, CLASSES, node_names=NAMES, name="named")
    known = np.flatnonzero(LABELS >= 0)[:45]
    model = kn.NodeKernelClassifier("n1", epochs=5, replicas=2, device="cpu")
    model.fit(kn.positions(known), LABELS[known], graph=graph)
    write_npz(graph, tmp_path / "named.npz")
    return model, model.save(tmp_path / "model.safetensors", with_graph=True), tmp_path / "named.npz"


def answers(printed):
    return [
        (one["node"], [(found["node"], found["similarity"]) for found in one["similar"]])
        for one in json.loads(printed)["similar"]
    ]


def test_answers_are_the_kernels(command, trained):
    model, path, _ = trained
    status, printed, err = command("similar", path, NAMES[7], NAMES[3], "-k", 4, "--json")
    assert (status, err) == (0, "")
    expected = model.similar([NAMES[7], NAMES[3]], 4)
    assert answers(printed) == list(zip([NAMES[7], NAMES[3]], expected, strict=True))
    report = json.loads(printed)
    assert (report["exact"], report["index"], report["among"], report["count"]) == (True, None, 90, 4)
    known = {name: None if label < 0 else CLASSES[label] for name, label in zip(NAMES, LABELS, strict=True)}
    for one in report["similar"]:
        assert one["class"] == known[one["node"]]
        assert [found["class"] for found in one["similar"]] == [known[f["node"]] for f in one["similar"]]


def test_a_class_a_list_and_a_file_restrict(command, trained, tmp_path):
    model, path, _ = trained
    _, printed, _ = command("similar", path, NAMES[7], "-k", 90, "--class", "[blue]", "--json")
    ((_, found),) = answers(printed)
    assert {node for node, _ in found} == set(NAMES[(LABELS == 2)]) - {NAMES[7]}
    assert json.loads(printed)["among"] == (LABELS == 2).sum()
    listed = tmp_path / "nodes.txt"
    listed.write_text("\n".join(NAMES[:5]))
    for among in (listed, ",".join(NAMES[:5])):
        _, printed, _ = command("similar", path, NAMES[7], "--among", among, "--json")
        assert answers(printed)[0][1] == model.similar(NAMES[7], among=NAMES[:5])
    _, printed, _ = command("similar", path, NAMES[0], "--among", listed, "--class", "green", "--json")
    assert answers(printed)[0][1] == model.similar(NAMES[0], among=NAMES[:5], of_class="green")


def test_a_person_sees_a_table_for_each_node(command, trained):
    model, path, _ = trained
    status, out, _ = command("similar", path, NAMES[7], NAMES[9], "-k", 3, "--quiet")
    assert status == 0
    assert f"most similar to {NAMES[7]}, {CLASSES[LABELS[7]]}" in out
    assert f"most similar to {NAMES[9]}" in [line.rstrip() for line in out.splitlines()]  # of no known class
    for node, similarity in model.similar(NAMES[7], 3):
        assert node in out
        assert f"{similarity:.4f}" in out
    assert "compared with 90 nodes, exact" in out
    assert "kernode similar cora.safetensors" in command("similar", "--help")[1]


def test_conditions_are_about_the_columns_of_tables(kernode, tables):
    edges, _, people, *columns = tables
    kernode("fit", edges, "--nodes", people, *columns, "--variant", "n1", "--epochs", 3, "--replicas", 1,
            "--with-graph", "-o", "m.safetensors", "-q")  # fmt: skip
    graph = kn.load_model(kernode.folder / "m.safetensors").graph_
    from graphs import dense_features

    x0 = dense_features(PLAIN)[:, 0]
    status, out, err = kernode("similar", "m.safetensors", "n5", "-k", 90, "--where", "x0=1..2.5", "--json")
    assert (status, err) == (0, "")
    expected = {f"n{i}" for i in np.flatnonzero((x0 >= 1) & (x0 <= 2.5))} - {"n5"}
    assert {node for node, _ in answers(out)[0][1]} == expected
    assert 0 < len(expected) < graph.n_nodes - 1
    fails(kernode("similar", "m.safetensors", "n5", "--where", "x9=1"), 2, "'x9'", "'x0'")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("nobody",), ("'nobody'",)),
        ((NAMES[0], "-k", "0"), ("--count",)),
        ((NAMES[0], "--class", "pink"), ("'pink'", "'red', 'green', '[blue]'")),
        ((NAMES[0], "--among", "nobody"), ("'nobody'",)),
        ((NAMES[0], "--where", "year=2000"), ()),
        ((), ("Missing argument",)),
    ],
)
def test_wrong_input_is_one_sentence(command, trained, more, words):
    fails(command("similar", trained[1], *more), 2, *words)
