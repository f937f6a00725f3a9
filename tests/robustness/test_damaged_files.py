"""Files that were cut short or changed by a bit: refused in a sentence, or read as they were. Never wrong."""

import signal
import time
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import kernode as kn
from graphs import clustered_graph
from kernode.io import read_npz, write_npz
from kernode.models.file import read_model, write_model
from kernode.storage import read_tensors, write_tensors
from kernode.training.checkpoint import Checkpoint
from kernode.viz import layout

GRAPH = clustered_graph(n=24, features=4)
SECONDS = 2  # that reading may take
NAMES = (
    *("model", "model with its graph", "link model", "checkpoint"),
    *("graph", "graph of another program", "layout"),
)


@dataclass(frozen=True)
class Kind:
    """A kind of file: its bytes, and how it is read into something that can be compared."""

    content: bytes
    read: object  # a function of a path


def _plain(values):
    """Tensors and arrays as bytes, at any depth."""
    if isinstance(values, dict):
        return {name: _plain(value) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [_plain(value) for value in values]
    if isinstance(values, torch.Tensor):
        values = values.numpy()
    if isinstance(values, np.ndarray):
        return values.dtype.str, values.shape, np.ascontiguousarray(values).tobytes()
    return values


def _graph(path):
    graph = read_npz(path)
    return _plain([graph.fingerprint, graph.labels, graph.class_names, graph.node_names, graph.notes])


def _checkpoint(path):
    saved = read_tensors(path, "checkpoint")[0]
    state = {name: torch.zeros_like(value) for name, value in saved.items() if "stack" in name}
    loop = SimpleNamespace(state=state, facts={}, history={}, epoch=0, epochs=10**6)
    Checkpoint(path, resume=True).on_fit_begin(loop)
    return _plain([state, loop.history])


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Every kind of file that kernode writes and reads again."""
    folder = tmp_path_factory.mktemp("whole")

    def model(path):  # compared by the bytes that are written of it
        found = read_model(path)
        return write_model(found, folder / "again", found.graph).read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNODE_CACHE", str(folder / "cache"))
        nodes = kn.NodeKernelClassifier(
            "k3", hidden=4, epochs=3, checkpoint=Checkpoint(folder / "checkpoint")
        )
        nodes.fit(np.arange(18), GRAPH.labels[:18], graph=GRAPH, validation=np.arange(18, 24))
        links = kn.LinkPredictor("kernel", epochs=2).fit(GRAPH)
        write_npz(GRAPH, folder / "graph.npz")
        arrays = {"labels": GRAPH.labels, "attr_matrix": GRAPH.features, "adj_shape": GRAPH.adjacency.shape}
        arrays |= {f"adj_{part}": getattr(GRAPH.adjacency, part) for part in ("data", "indices", "indptr")}
        np.savez_compressed(folder / "benchmark.npz", **arrays)
        on = nodes._on(None)
        drawn = layout.node_positions(on, "pca")
        (cached,) = (folder / "cache" / "layouts").iterdir()

        def layout_again(path):  # a damaged cache is computed again without a word, to the same layout
            cached.write_bytes(path.read_bytes())
            found = layout.node_positions(on, "pca")
            assert np.array_equal(found, drawn)
            return _plain(found)

        yield {
            "model": Kind(nodes.save(folder / "model").read_bytes(), model),
            "model with its graph": Kind(nodes.save(folder / "model", with_graph=True).read_bytes(), model),
            "link model": Kind(links.save(folder / "links").read_bytes(), model),
            "checkpoint": Kind((folder / "checkpoint").read_bytes(), _checkpoint),
            "graph": Kind((folder / "graph.npz").read_bytes(), _graph),
            "graph of another program": Kind((folder / "benchmark.npz").read_bytes(), _graph),
            "layout": Kind(cached.read_bytes(), layout_again),
        }


def damages(content, count, seed):
    """Yield copies of a file, cut short or with a bit, a byte or a few changed, drawn by a seed."""
    random = np.random.default_rng(seed)
    for number in range(count):
        if number % 4 == 0:
            yield content[: random.integers(len(content))]
            continue
        changed = bytearray(content)
        # Headers are small and matter most: every other damage is near an end of the file.
        near = min(len(content), 600)
        at = int(random.integers(near) if number % 4 == 1 else random.integers(len(content)))
        at = len(content) - 1 - at if number % 8 == 1 else at
        if number % 4 == 3:
            length = int(random.integers(1, 9))
            changed[at : at + length] = random.bytes(len(changed[at : at + length]))
        else:
            changed[at] ^= 1 << int(random.integers(8))
        yield bytes(changed)


# 2,000 in all in the slow suite.
@pytest.mark.parametrize(
    ("count", "seed"), [(8, 0), pytest.param(2000 // len(NAMES) + 1, 1, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_refused_or_read_as_they_were(name, count, seed, kinds, tmp_path):
    kind, path = kinds[name], tmp_path / "damaged"
    path.write_bytes(kind.content)
    whole, sentences = kind.read(path), []
    for number, content in enumerate(damages(kind.content, count, seed)):
        path.write_bytes(content)
        started = time.process_time()
        signal.alarm(30)  # a hang fails, whatever it waits for
        try:
            found = kind.read(path)
        except kn.KernodeError as error:
            found = whole
            sentences.append(str(error))
        finally:
            signal.alarm(0)
        assert found == whole, f"damage {number} of seed {seed} was read as something else"
        assert time.process_time() - started < SECONDS
    assert [one for one in sentences if "\n" in one or not one.endswith(".")] == []
    assert sentences or name == "layout"


@pytest.mark.parametrize("kind", ["model", "link predictor"])
def test_a_model_that_lacks_something_is_refused_by_its_name(kind, tmp_path):
    """The checksum is right, for some program has written it: what is missing is named."""
    path = write_tensors(tmp_path / "short.safetensors", kind, {}, {"variant": "k3"})
    with pytest.raises(kn.FileError, match=r"short.safetensors lacks '\w+'"):
        read_model(path)
