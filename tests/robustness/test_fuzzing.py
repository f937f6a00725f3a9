"""Graphs, settings and bytes that nobody thought of: they work, in numbers, or are refused in one sentence.

`make test` tries some of each, `make test-slow` more; `make fuzz` looks for bytes that reach other lines.
"""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import ODD, all_readers, attempt

import kernode as kn
from graphs import clustered_graph
from kernode.cli.parts import known_parts, parse_part
from kernode.cli.settings_file import read_settings
from kernode.hops.matrices import hop_matrices
from kernode.kernels import BaseKernel
from kernode.losses import KernelLoss
from kernode.maps import FeatureMap

GRAPH = clustered_graph(n=24, features=4)
TRAIN, VALIDATION = np.arange(16), np.arange(16, 24)
NUMBERS = (0.0, 1.0, -1.0, 0.5, 1e-320, 1e-30, 1e30, 1e300, -1e300, np.nan, np.inf)
FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(FEW, max_examples=150)


def works_or_is_refused(do):
    """What was done gives finite numbers, or one sentence is said."""
    answers = []
    sentence = attempt(lambda _: answers.append(do()), b"")
    assert sentence is None or "\n" not in sentence
    assert all(np.isfinite(found).all() for found in answers)


@st.composite
def graphs(draw):
    """Arguments of ``Graph.from_edges``, a few of which are no graph."""
    n, f, e = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(0, 30))
    mild = draw(st.booleans())
    value = st.sampled_from(NUMBERS[:5] if mild else NUMBERS)
    row = st.lists(value, min_size=f, max_size=f)
    ends = st.integers(0, n - 1) if mild else st.integers(-1, n)
    return {
        "edges": np.array(draw(st.lists(st.tuples(ends, ends), min_size=e, max_size=e)), int).reshape(-1, 2),
        "features": np.array(draw(st.lists(row, min_size=n, max_size=n))),
        "labels": np.array(draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))),
        "weights": draw(st.none() | st.lists(st.sampled_from((1.0, 0.5, 1e-30, 1e30) if mild else NUMBERS),
                                             min_size=e, max_size=e)),
    }  # fmt: skip


def _answers_of_a_graph(given_, variant):
    graph = kn.Graph.from_edges(**given_)
    for matrix in hop_matrices(graph, 2):
        assert np.isfinite(matrix.data).all()
    known = np.flatnonzero(graph.labels >= 0)
    model = kn.NodeKernelClassifier(variant, epochs=2, hidden=4)
    model.fit(known, graph.labels[known], graph=graph, validation=known[:1])
    return model.predict_proba(np.arange(graph.n_nodes))


@FEW
@given(graphs(), st.sampled_from(("k3", "n1")))
def test_a_graph_of_anything_trains_or_is_refused(given_, variant):
    works_or_is_refused(lambda: _answers_of_a_graph(given_, variant))


@pytest.mark.slow
@MANY
@given(graphs(), st.sampled_from(("k1", "k2", "k3", "n1", "similarity", "hops-standardized")))
def test_many_graphs_of_anything_train_or_are_refused(given_, variant):
    works_or_is_refused(lambda: _answers_of_a_graph(given_, variant))


LITERALS = (
    *(value for value in ODD if not isinstance(value, dict)),
    *(3, 8, (4,), (4, 2), "relu", "each", "last"),
)


@st.composite
def parts(draw, base, depth=1):
    """A part as text, with some of its settings set to anything."""
    name, kind = draw(st.sampled_from(sorted(known_parts(base).items())))
    given_ = []
    for field in dataclasses.fields(kind):
        needed = field.default is field.default_factory is dataclasses.MISSING
        if needed or draw(st.integers(0, 3)) == 0:
            inner = parts(base, depth - 1) if depth else st.just("None")
            literal = st.sampled_from(LITERALS).map(repr)
            given_.append(f"{field.name}={draw(st.one_of(inner, literal) if needed else literal)}")
    return f"{name}({', '.join(given_)})"


def _answers_with(**changes):
    model = kn.NodeKernelClassifier(**{"variant": "k1", "epochs": 1, **changes})
    model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, validation=VALIDATION)
    return model.predict_proba(np.arange(24))


def _answers_of_parts(map_text, kernel_text):
    chosen = parse_part(map_text, FeatureMap, "map"), parse_part(kernel_text, BaseKernel, "kernel")
    return _answers_with(map=chosen[0], kernel=chosen[1])


@FEW
@given(parts(FeatureMap), parts(BaseKernel))
def test_parts_with_any_settings_train_or_are_refused(map_text, kernel_text):
    works_or_is_refused(lambda: _answers_of_parts(map_text, kernel_text))


@pytest.mark.slow
@MANY
@given(parts(FeatureMap), parts(BaseKernel))
def test_many_parts_with_any_settings_train_or_are_refused(map_text, kernel_text):
    works_or_is_refused(lambda: _answers_of_parts(map_text, kernel_text))


# Not how long, how many or where: these are honest wishes, and only take their time.
WISHES = {"verbose", "device", "threads", "replicas", "epochs"}
NAMES = sorted(set(kn.NodeKernelClassifier().get_params()) - WISHES)
LOSSES = [loss() for loss in known_parts(KernelLoss).values()]
PARAMETERS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([*ODD, *LITERALS, *LOSSES]), max_size=3)


@FEW
@given(PARAMETERS)
def test_an_estimator_with_any_parameters_trains_or_refuses(changes):
    works_or_is_refused(lambda: _answers_with(**changes))


@pytest.mark.slow
@MANY
@given(PARAMETERS)
def test_an_estimator_with_many_parameters_trains_or_refuses(changes):
    works_or_is_refused(lambda: _answers_with(**changes))


def _toml(value):
    return json.dumps(value) if not isinstance(value, float) else repr(value)


@settings(FEW, max_examples=25)
@given(
    st.sampled_from(("k1", "k3", "n1", "gat", "label-propagation", "smoother", "auto", "x")),
    st.dictionaries(
        st.sampled_from([*NAMES, "epochs", "more"]),
        st.sampled_from([value for value in LITERALS if value is not None]),
    ),
)
def test_a_settings_file_of_anything_is_read_or_refused(tmp_path, variant, values):
    path = tmp_path / "s.toml"
    lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
    path.write_text("\n".join([f'variant = "{variant}"', "[settings]", *lines]))
    attempt(lambda _: read_settings(path, "fit"), b"")


@pytest.fixture(scope="session")
def readers(tmp_path_factory):
    """Those that need no training."""
    return all_readers(tmp_path_factory.mktemp("readers"), trained=False)


@pytest.fixture(scope="session")
def readers_of_models(tmp_path_factory):
    """All of them."""
    return all_readers(tmp_path_factory.mktemp("readers"))


@st.composite
def changed(draw, seeds):
    """A whole file with a few bytes changed, dropped, put in or doubled."""
    content = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 5))):
        at, length = draw(st.integers(0, len(content))), draw(st.integers(0, 12))
        match draw(st.integers(0, 3)):
            case 0:
                content[at : at + length] = draw(st.binary(max_size=12))
            case 1:
                del content[at : at + length]
            case 2:
                content[at:at] = content[at : at + length] * draw(st.integers(1, 3))
            case _ if at < len(content):
                content[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(content)


NAMES_OF_READERS = (
    *("edges", "nodes", "packed edges", "parquet", "npz", "split", "split table", "settings"),
    *("record", "map", "kernel", "planetoid", "sealed graph", "sealed store"),
)
OF_MODELS = (*("sealed model", "sealed model with its graph", "sealed links", "sealed checkpoint"),)


def check_reader(reader, data):
    """Any bytes, or those of a whole file that were changed."""
    content = data.draw(st.binary(max_size=64) | changed(reader.seeds))
    sentence = attempt(reader.read, content)
    assert sentence is None or "\n" not in sentence


@pytest.mark.parametrize("name", NAMES_OF_READERS)
@settings(FEW, max_examples=6)
@given(data=st.data())
def test_a_reader_reads_or_refuses_anything(name, readers, data):
    check_reader(readers[name], data)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES_OF_READERS, *OF_MODELS])
@settings(FEW, max_examples=100)
@given(data=st.data())
def test_a_reader_reads_or_refuses_much_of_anything(name, readers_of_models, data):
    check_reader(readers_of_models[name], data)


def test_every_reader_is_tried(readers):
    assert set(NAMES_OF_READERS) == set(readers)
