"""Everything that reads bytes from outside, with whole files to start from, for random bytes.

A text or a table is the bytes themselves. Files with a checksum are changed inside and sealed again, as an
attacker would: the bytes choose the changes.
"""

import gzip
import hashlib
import io
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

import kernode as kn
from graphs import clustered_graph
from kernode.cli.expressions import parse_part
from kernode.cli.settings_file import read_settings
from kernode.io import npz, read_npz, read_table, write_npz
from kernode.io.archive import write_archive
from kernode.io.node_split import read_split
from kernode.io.planetoid import unpickle
from kernode.io.shards import Store, write_store
from kernode.kernels import BaseKernel
from kernode.maps import FeatureMap
from kernode.models.file import read_model
from kernode.search.results import read_record
from kernode.storage import read_tensors, write_tensors
from kernode.tasks.links.model import LinkModel
from kernode.training.checkpoint import Checkpoint

GRAPH = clustered_graph(n=24, features=4)
EDGES = "source,target,weight\na,b,1\nb,c,2.5\nc,a,1\nd,a,3\n"
NODES = 'id,age,seen,topic\na,1,2020-01-02,x\nb,"2,5",2021-03-04,y\nc,,2022-05-06,x\nd,4,,\n'
ODD = (
    *(None, True, -1, 0, 1, 2, 2**31, 2**70, 0.5, float("nan"), float("inf")),
    *("", "x", "float32", "S99999999"),
    *("../../x", "\x1b[2J", [], {}, [[]], [0], ["x"], {"kind": "HopMLP"}, {"kind": []}, {"x": {}}),
)
PLAIN = (  # names of readers
    *("edges", "nodes", "packed edges", "parquet", "npz", "split", "split table", "settings"),
    *("record", "map", "kernel", "planetoid", "sealed graph", "sealed store"),
)
OF_MODELS = ("sealed model", "sealed model with its graph", "sealed links", "sealed checkpoint")
TYPES = (torch.float32, torch.float64, torch.int64, torch.uint8, torch.bool, torch.float16)


@dataclass(frozen=True)
class Reader:
    """Something that reads, and whole files of the kind."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


class Choices:
    """Bytes as a row of choices; the first of each when they are used up."""

    def __init__(self, content: bytes) -> None:
        self.left = iter(content)

    def below(self, count: int) -> int:
        """A number from 0 to count − 1."""
        found = next(self.left, 0)
        if count > 256:
            found = 256 * found + next(self.left, 0)
        return found % count

    def of(self, values):
        """One of some values."""
        return values[self.below(len(values))]


def edited(values, choices):
    """JSON values with one of them, at some depth, replaced, dropped or doubled."""
    if isinstance(values, dict | list) and values and choices.below(8):
        changed = values.copy()
        key = choices.of(sorted(values)) if isinstance(values, dict) else choices.below(len(values))
        match choices.below(8):
            case 0:
                del changed[key]
            case 1 if isinstance(values, list):
                changed.append(values[key])
            case 1:
                changed["more"] = values[key]
            case _:
                changed[key] = edited(values[key], choices)
        return changed
    return choices.of(ODD)


def reshaped(tensors, choices):
    """Tensors with one of them dropped, cut, filled, or of another shape or type."""
    name = choices.of(sorted(tensors))
    tensor = tensors[name]
    changes = (
        lambda: None,
        lambda: tensor.reshape(-1),
        lambda: tensor[None],
        lambda: tensor.reshape(-1)[:0],
        lambda: tensor[: max(0, len(tensor) - 1)] if tensor.dim() else tensor,
        lambda: tensor.to(choices.of(TYPES)),
        lambda: torch.full_like(tensor, choices.of((0, 1, 100))),
        lambda: tensor if tensor.dtype in (torch.uint8, torch.bool) else torch.full_like(tensor, -1),
        lambda: torch.cat([tensor.reshape(-1)] * 2),
    )
    changed = choices.of(changes)()
    return {key: value for key, value in (tensors | {name: changed}).items() if value is not None}


def sealed(path, kind, read):
    """Reads a file of tensors and facts after changes that the bytes choose, with a right checksum."""
    tensors, facts = read_tensors(path, kind)
    place = path.with_name(f"{path.name}-changed")

    def change(content):
        choices = Choices(content)
        own, about = tensors, facts
        for _ in range(1 + choices.below(3)):
            if choices.below(2):
                own = reshaped(own, choices) if own else own
            else:
                found = edited(about, choices)
                about = found if isinstance(found, dict) else about
        return read(write_tensors(place, kind, own, about | {"kind": kind}))

    return change


def sealed_graph(folder):
    """The same of a graph's .npz file."""
    packed = npz.pack(GRAPH)
    header = json.loads(packed.pop(npz.MARK).tobytes())

    def change(content):
        choices = Choices(content)
        arrays = {
            name: torch.from_numpy(value.copy()) for name, value in packed.items() if value.dtype.kind != "U"
        }
        names = {name: value for name, value in packed.items() if value.dtype.kind == "U"}
        about = edited(header, choices) if choices.below(2) else header
        if choices.below(2):
            arrays = reshaped(arrays, choices)
        about = about if isinstance(about, dict) else header
        about.pop("sha256", None)
        plain = {name: value.numpy() for name, value in arrays.items()} | names
        text = json.dumps(about | {"sha256": npz._digest(about, plain)}, sort_keys=True)
        write_archive(folder / "changed.npz", {npz.MARK: np.frombuffer(text.encode(), np.uint8), **plain})
        return read_npz(folder / "changed.npz")

    return change


def sealed_store(folder):
    """The same of a store's header."""
    write_store(GRAPH, folder / "store")
    whole = json.loads((folder / "store" / "store.json").read_bytes())
    whole.pop("checksum")

    def change(content):
        values = edited(whole, Choices(content))
        if isinstance(values, dict):
            plain = {name: value for name, value in values.items() if name != "format"}
            plain = json.dumps(plain, sort_keys=True).encode()
            values = values | {"checksum": hashlib.sha256(plain).hexdigest()}
        (folder / "store" / "store.json").write_text(json.dumps(values))
        store = Store.open(folder / "store")
        return [store.rows(0, 12), store.rows(12, 24), store.names(), store.whole()]

    return change


def as_file(folder, name, read):
    """Reads bytes out of a file of this name."""
    path = folder / name

    def written(content):
        path.write_bytes(content)
        return read(path)

    return written


def _bytes(write, *given):
    content = io.BytesIO()
    write(*given, content)
    return content.getvalue()


def all_readers(folder: Path, trained: bool = True) -> dict[str, Reader]:
    """By name; what they need lies in a folder. ``trained``: those of models, too, trained first."""
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"source": ["a", "b", "c"], "target": ["b", "c", "a"], "weight": [1.0, 2.0, 0.5]})
    benchmark = {"labels": GRAPH.labels, "attr_matrix": GRAPH.features, "adj_shape": GRAPH.adjacency.shape}
    benchmark |= {f"adj_{part}": getattr(GRAPH.adjacency, part) for part in ("data", "indices", "indptr")}
    (folder / "edges.csv").write_text(EDGES)
    write_npz(GRAPH, folder / "whole.npz")
    choices = tuple(
        bytes([a, b, c, d, 1, 2, 3, 5, 8]) for a in range(3) for b in range(3) for c, d in ((7, 2), (90, 6))
    )
    split = {"train": [0, 1, 2, 3], "validation": [4, 5], "test": [6, 7]}
    text = {
        "edges": Reader(
            as_file(folder, "e.csv", read_table), (EDGES.encode(), EDGES.replace(",", "\t").encode())
        ),
        "nodes": Reader(
            as_file(folder, "n.csv", lambda path: read_table(folder / "edges.csv", path)), (NODES.encode(),)
        ),
        "packed edges": Reader(as_file(folder, "e.csv.gz", read_table), (gzip.compress(EDGES.encode()),)),
        "parquet": Reader(as_file(folder, "e.parquet", read_table), (_bytes(parquet.write_table, table),)),
        "npz": Reader(
            as_file(folder, "g.npz", read_npz),
            ((folder / "whole.npz").read_bytes(), _bytes(lambda file: np.savez(file, **benchmark))),
        ),
        "split": Reader(
            as_file(folder, "s.json", lambda path: read_split(path, GRAPH)), (json.dumps(split).encode(),)
        ),
        "split table": Reader(
            as_file(folder, "s.csv", lambda path: read_split(path, GRAPH)),
            (b"node,part\n1,train\n2,val\n3,test\n",),
        ),
        "settings": Reader(
            as_file(folder, "s.toml", lambda path: read_settings(path, "fit")),
            (b'variant = "k3"\n[settings]\nhops = 2\nhidden = [8]\nlearning_rate = 0.1\nmargin = 1.0\n',),
        ),
        "record": Reader(as_file(folder, "r.json", read_record), (b'{"settings": {"a": [1, 2.5]}}',)),
        "map": Reader(
            lambda content: parse_part(content.decode(errors="replace"), FeatureMap, "map"),
            (b"HopMLP(hidden=(8,), hops=2)", b"GAT(heads=2)", b"GCN([64, 32], outputs=16)"),
        ),
        "kernel": Reader(
            lambda content: parse_part(content.decode(errors="replace"), BaseKernel, "kernel"),
            (b"Normalized(RBF(gamma=0.5)) + Linear()", b"kn.kernels.Polynomial(degree=3) * RBF()"),
        ),
        "planetoid": Reader(
            lambda content: unpickle(content, "ind.cora.x"),
            (b"\x80\x02]q\x00(K\x01K\x02e.", b"ccollections\ndefaultdict\n(c__builtin__\nlist\ntR."),
        ),
    }
    inside = {"graph": sealed_graph(folder), "store": sealed_store(folder)}
    inside |= _trained(folder) if trained else {}
    return text | {f"sealed {name}": Reader(read, choices) for name, read in inside.items()}


def _trained(folder):
    """Models and a checkpoint of a small graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kn.KernodeWarning)
        train, validation = np.arange(18), np.arange(18, 24)
        checkpoint = folder / "checkpoint"
        model = kn.NodeKernelClassifier("k3", hidden=4, epochs=2, callbacks=[Checkpoint(checkpoint)])
        model.fit(train, GRAPH.labels[train], graph=GRAPH, validation=validation)
        links = kn.LinkPredictor("kernel", epochs=1).fit(GRAPH)
    state = {
        name: value for name, value in read_tensors(checkpoint, "checkpoint")[0].items() if "stack" in name
    }

    def restored(path):
        Checkpoint(path, resume=True).epochs()
        cloned = {name: one.clone() for name, one in state.items()}
        loop = SimpleNamespace(state=cloned, facts={}, history={}, epoch=0, epochs=10**6)
        Checkpoint(path, resume=True).on_fit_begin(loop)
        return loop.history

    return {
        "model": sealed(model.save(folder / "model"), "model", read_model),
        "model with its graph": sealed(model.save(folder / "held", with_graph=True), "model", read_model),
        "links": sealed(links.save(folder / "links"), "link predictor", LinkModel.load),
        "checkpoint": sealed(checkpoint, "checkpoint", restored),
    }


def attempt(read, content):
    """Read, and give the sentence of the refusal, or None; anything else that is raised is a defect."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", kn.KernodeWarning)
            read(content)
    except kn.KernodeError as error:
        return str(error)
    return None
