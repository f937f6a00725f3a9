"""`kernode embed`, with and without --gram: what stands in the files is what the model's kernel gives."""

import csv
import json

import numpy as np
import pytest
from pyarrow import parquet

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.io import load_graph, write_npz

PLAIN = clustered_graph(n=90)
NAMES = np.array([f"node {i}" for i in np.random.default_rng(3).permutation(90)])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two graphs as files, without and with names, and a model of two runs for each."""
    folder = tmp_path_factory.mktemp("models")
    graphs = {
        "plain": kn.Graph(PLAIN.adjacency, PLAIN.features, PLAIN.labels, name="plain"),
        "named": kn.Graph(PLAIN.adjacency, PLAIN.features, PLAIN.labels, node_names=NAMES, name="named"),
    }
    made = {}
    for name, graph in graphs.items():
        model = kn.NodeKernelClassifier("n1", epochs=5, replicas=2, device="cpu")
        model.fit(np.arange(45), graph.labels[:45], graph=graph)
        write_npz(graph, folder / f"{name}.npz")
        made[name] = model, model.save(folder / f"{name}.safetensors"), folder / f"{name}.npz"
    assert load_graph(str(folder / "named.npz")).node_names is not None
    return made


def read(path):
    """Rows, columns and values of a file that holds a matrix of nodes."""
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as held:
            if "gram" in held:
                return held["rows"].tolist(), held["columns"].tolist(), held["gram"]
            return held["nodes"].tolist(), None, held["vectors"]
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
        rows, columns = table.column("node").to_pylist(), table.column_names[1:]
        return rows, columns, np.stack([table.column(name).to_numpy() for name in columns], axis=1)
    header, *lines = list(csv.reader(path.read_text().splitlines()))
    return [line[0] for line in lines], header[1:], np.array([line[1:] for line in lines], dtype=np.float32)


@pytest.mark.parametrize("kind", ["npz", "parquet", "csv"])
@pytest.mark.parametrize("named", ["plain", "named"])
def test_vectors_in_a_file_are_the_kernels(command, trained, tmp_path, kind, named):
    model, path, data = trained[named]
    out = tmp_path / f"vectors.{kind}"
    status, printed, err = command("embed", path, "--graph", data, "-o", out, "--json")
    assert (status, err) == (0, "")
    report = json.loads(printed)
    assert (report["nodes"], report["dimensions"], report["out"]) == (90, 6, str(out))
    assert report["bytes"] == out.stat().st_size
    rows, columns, vectors = read(out)
    assert [str(row) for row in rows] == [str(v) for v in (range(90) if named == "plain" else NAMES)]
    assert columns in (None, ["v0", "v1", "v2", "v3", "v4", "v5"])
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, model.kernel_.vectors())
    assert np.allclose(vectors @ vectors.T, model.kernel_.gram(), atol=1e-6)


@pytest.mark.parametrize("named", ["plain", "named"])
def test_gram_in_a_file_is_the_kernels(command, trained, tmp_path, named):
    model, path, data = trained[named]
    out = tmp_path / "gram.npz"
    status, printed, err = command("embed", path, "--graph", data, "--gram", "-o", out, "--json")
    assert (status, err) == (0, "")
    report = json.loads(printed)
    assert (report["rows"], report["columns"], report["dataset"]) == (90, 90, named)
    rows, columns, gram = read(out)
    everyone = list(range(90)) if named == "plain" else NAMES.tolist()
    assert [str(row) for row in rows] == [str(one) for one in everyone]
    assert [str(column) for column in columns] == [str(one) for one in everyone]
    assert np.allclose(gram, model.kernel_.gram(), atol=1e-6)
    assert gram.dtype == np.float32
    again = tmp_path / "AGAIN.NPZ"
    command("embed", path, "--graph", data, "--gram", "-o", again)
    assert again.read_bytes() == out.read_bytes()


def test_some_nodes_are_chosen_by_name_by_index_or_in_a_file(command, trained, tmp_path):
    model, path, data = trained["named"]
    listed = tmp_path / "nodes.txt"
    listed.write_text("\n".join(NAMES[:5]) + "\n\n")
    out = tmp_path / "gram.npz"
    only = f"{NAMES[7]}, {NAMES[3]}"
    assert (
        command("embed", path, "--graph", data, "--gram", "-o", out, "--only", only, "--with", listed)[0] == 0
    )
    rows, columns, gram = read(out)
    assert (rows, columns) == ([NAMES[7], NAMES[3]], NAMES[:5].tolist())
    assert np.allclose(gram, model.kernel_.gram([7, 3], range(5)), atol=1e-6)
    assert command("embed", path, "--graph", data, "-o", out, "--only", listed)[0] == 0
    assert np.array_equal(read(out)[2], model.kernel_.vectors(range(5)))
    model, path, data = trained["plain"]
    assert command("embed", path, "--graph", data, "--gram", "-o", out, "--only", "7,3")[0] == 0
    rows, columns, gram = read(out)
    assert (rows, [int(column) for column in columns]) == ([7, 3], [7, 3])
    assert np.allclose(gram, model.kernel_.gram([7, 3]), atol=1e-6)
    many = ",".join(map(str, range(89, -1, -1)))  # longer than the name of a file can be
    assert len(many) > 255
    assert command("embed", path, "--graph", data, "-o", out, "--only", many)[0] == 0
    assert np.array_equal(read(out)[2], model.kernel_.vectors(range(89, -1, -1)))
    (tmp_path / "odd.txt").write_bytes(b"\xff\xfe0\n")
    fails(command("embed", path, "--graph", data, "-o", out, "--only", tmp_path / "odd.txt"), 2, "odd.txt")


def test_a_sentence_says_what_was_written_except_with_quiet(command, trained, tmp_path):
    _, path, data = trained["plain"]
    status, out, _ = command("embed", path, "--graph", data, "--gram", "-o", tmp_path / "g.npz")
    assert status == 0
    assert "K of 90 nodes of plain × 90 nodes written" in " ".join(out.split())
    status, out, _ = command("embed", path, "--graph", data, "-o", tmp_path / "v.npz")
    assert "90 nodes of plain × 6 numbers written" in " ".join(out.split())
    for more in ((), ("--gram",)):
        assert command("embed", path, "--graph", data, *more, "-o", tmp_path / "q.npz", "--quiet") == (
            0,
            "",
            "",
        )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("embed", "-o", "v.json"), (".npz, .parquet, .csv", "--out")),
        (("embed", "--gram", "-o", "k.csv"), (".npz", "--out")),
        (("embed", "--gram", "-o", "g.npz", "--only", "90"), ("90",)),
        (("embed", "--gram", "-o", "g.npz", "--only", "1,1"), ("1 is listed twice", "--only")),
        (("embed", "--gram", "-o", "g.npz", "--with", "0,1,0"), ("0 is listed twice", "--with")),
        (("embed", "--gram", "-o", "g.npz", "--only", "ann"), ("no names",)),
        (("embed", "-o", "v.npz", "--only", ","), ("--only",)),
    ],
)
def test_wrong_options_are_one_sentence(command, trained, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    _, path, data = trained["plain"]
    name, *more = arguments
    fails(command(name, path, "--graph", data, *more), 2, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_a_kernel_is_refused(command, tmp_path):
    model = kn.NodeKernelClassifier("label-propagation").fit(np.arange(45), PLAIN.labels[:45], graph=PLAIN)
    write_npz(PLAIN, tmp_path / "g.npz")
    path = model.save(tmp_path / "labels.safetensors")
    words = ("embed", path, "--graph", tmp_path / "g.npz", "-o", tmp_path / "v.npz")
    fails(command(*words), 2, "LabelPropagation")
