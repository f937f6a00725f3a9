"""Random graphs, settings and bytes: each works, in finite numbers, or is refused in one sentence.

`make test` tries some of each, `make test-slow` more; `make fuzz` looks for bytes that reach other lines.
"""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import ODD, OF_MODELS, PLAIN, all_readers, attempt

import kernode as kn
from graphs import clustered_graph
from kernode.cli.expressions import known_parts, parse_part
from kernode.cli.settings_file import read_settings
from kernode.hops.matrices import hop_matrices
from kernode.kernels import BaseKernel
from kernode.losses import KernelLoss
from kernode.maps import FeatureMap

GRAPH = clustered_graph(n=24, features=4)
TRAIN, VALIDATION = np.arange(16), np.arange(16, 24)
NUMBERS = (0.0, 1.0, -1.0, 0.5, 1e-320, 1e-30, 1e30, 1e300, -1e300, np.nan, np.inf)
examples = pytest.mark.parametrize("examples", [8, pytest.param(100, marks=pytest.mark.slow)])


def explore(check, count, *strategies):
    """Check so many examples."""
    rare = settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow])
    rare(given(*strategies)(check))()


def works_or_is_refused(do):
    """The answers are finite, or one sentence says why there are none."""
    answers = []
    sentence = attempt(lambda _: answers.append(do()), b"")
    assert sentence is None or "\n" not in sentence
    assert all(np.isfinite(found).all() for found in answers)


@st.composite
def graphs(draw):
    """Arguments of ``Graph.from_edges``, some of them invalid."""
    n, f, e = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(0, 30))
    mild = draw(st.booleans())
    value = st.sampled_from(NUMBERS[:5] if mild else NUMBERS)
    row = st.lists(value, min_size=f, max_size=f)
    ends = st.integers(0, n - 1) if mild else st.integers(-1, n)
    weight = st.sampled_from((1.0, 0.5, 1e-30, 1e30) if mild else NUMBERS)
    return {
        "edges": np.array(draw(st.lists(st.tuples(ends, ends), min_size=e, max_size=e)), int).reshape(-1, 2),
        "features": np.array(draw(st.lists(row, min_size=n, max_size=n))),
        "labels": np.array(draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))),
        "weights": draw(st.none() | st.lists(weight, min_size=e, max_size=e)),
    }


def answers_of_a_graph(arguments, variant):
    graph = kn.Graph.from_edges(**arguments)
    for matrix in hop_matrices(graph, 2):
        assert np.isfinite(matrix.data).all()
    known = np.flatnonzero(graph.labels >= 0)
    model = kn.NodeKernelClassifier(variant, epochs=2, hidden=4)
    model.fit(known, graph.labels[known], graph=graph, validation=known[:1])
    return model.predict_proba(np.arange(graph.n_nodes))


@examples
def test_a_random_graph_trains_or_is_refused(examples):
    variants = st.sampled_from(("k3", "n1", "k1", "k2", "similarity", "hops-standardized"))
    explore(
        lambda graph, variant: works_or_is_refused(lambda: answers_of_a_graph(graph, variant)),
        examples, graphs(), variants,
    )  # fmt: skip


LITERALS = (
    *(value for value in ODD if not isinstance(value, dict)),
    *(3, 8, (4,), (4, 2), "relu", "each", "last"),
)


@st.composite
def parts(draw, base, depth=1):
    """A part as text, some of its settings random."""
    name, kind = draw(st.sampled_from(sorted(known_parts(base).items())))
    settings_ = []
    for field in dataclasses.fields(kind):
        needed = field.default is field.default_factory is dataclasses.MISSING
        if needed or draw(st.integers(0, 3)) == 0:
            inner = parts(base, depth - 1) if depth else st.just("None")
            literal = st.sampled_from(LITERALS).map(repr)
            settings_.append(f"{field.name}={draw(st.one_of(inner, literal) if needed else literal)}")
    return f"{name}({', '.join(settings_)})"


def answers_with(**changes):
    model = kn.NodeKernelClassifier(**{"variant": "k1", "epochs": 1, **changes})
    model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, validation=VALIDATION)
    return model.predict_proba(np.arange(24))


@examples
def test_random_parts_train_or_are_refused(examples):
    def answers(map_text, kernel_text):
        feature_map = parse_part(map_text, FeatureMap, "map")
        return answers_with(map=feature_map, kernel=parse_part(kernel_text, BaseKernel, "kernel"))

    explore(
        lambda map_text, kernel_text: works_or_is_refused(lambda: answers(map_text, kernel_text)),
        examples, parts(FeatureMap), parts(BaseKernel),
    )  # fmt: skip


# Not how long, how many or where: such values are valid, and only slow.
SLOW = {"verbose", "device", "threads", "replicas", "epochs"}
NAMES = sorted(set(kn.NodeKernelClassifier().get_params()) - SLOW)
LOSSES = [loss() for loss in known_parts(KernelLoss).values()]


@examples
def test_an_estimator_with_random_parameters_trains_or_refuses(examples):
    values = st.sampled_from([*ODD, *LITERALS, *LOSSES])
    explore(
        lambda changes: works_or_is_refused(lambda: answers_with(**changes)),
        examples, st.dictionaries(st.sampled_from(NAMES), values, max_size=3),
    )  # fmt: skip


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(("k1", "k3", "n1", "gat", "label-propagation", "smoother", "auto", "x")),
    st.dictionaries(
        st.sampled_from([*NAMES, "epochs", "more"]),
        st.sampled_from([value for value in LITERALS if value is not None]),
    ),
)
def test_a_random_settings_file_is_read_or_refused(tmp_path, variant, values):
    path = tmp_path / "s.toml"
    literal = {name: repr(one) if isinstance(one, float) else json.dumps(one) for name, one in values.items()}
    lines = [f"{name} = {value}" for name, value in literal.items()]
    path.write_text("\n".join([f'variant = "{variant}"', "[settings]", *lines]))
    attempt(lambda _: read_settings(path, "fit"), b"")


@pytest.fixture(scope="session")
def readers(tmp_path_factory):
    """Those that need no training."""
    return all_readers(tmp_path_factory.mktemp("readers"), trained=False)


@pytest.fixture(scope="session")
def readers_of_models(tmp_path_factory):
    return all_readers(tmp_path_factory.mktemp("readers"))


@st.composite
def changed(draw, seeds):
    """A whole file with a few bytes changed, dropped, inserted or doubled."""
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


def check_reader(reader, examples):
    def check(content):
        sentence = attempt(reader.read, content)
        assert sentence is None or "\n" not in sentence

    explore(check, examples, st.binary(max_size=64) | changed(reader.seeds))


@pytest.mark.parametrize("name", PLAIN)
def test_a_reader_reads_or_refuses_random_bytes(name, readers):
    check_reader(readers[name], 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PLAIN, *OF_MODELS])
def test_a_reader_reads_or_refuses_many_random_bytes(name, readers_of_models):
    check_reader(readers_of_models[name], 60)


def test_every_reader_is_tried(readers):
    assert set(PLAIN) == set(readers)
