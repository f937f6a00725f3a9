"""A fitted model answers several threads at once as it answers one; fits in several threads do not mix."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

import kernode as kn
from graphs import clustered_graph

GRAPH = clustered_graph(n=90, features=6)
TRAIN, VALIDATION = np.arange(60), np.arange(60, 90)
THREADS = 8


def fitted(variant="k3", seed=0, **settings):
    model = kn.NodeKernelClassifier(variant, epochs=4, hidden=8, random_state=seed, threads=1, **settings)
    return model.fit(TRAIN, GRAPH.labels[TRAIN], graph=GRAPH, validation=VALIDATION)


def at_once(function, arguments):
    """Results of a function for several arguments, started at the same moment, a thread each."""
    barrier = threading.Barrier(len(arguments))

    def begun(argument):
        barrier.wait()
        return function(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(begun, arguments))


def answers(model):
    """All kinds of answers for some nodes."""
    nodes = kn.positions(np.arange(0, 90, 7))
    parts = model.explain(kn.positions([3])[0])
    return (
        model.predict_proba(nodes).tobytes(),
        model.predict(nodes).tolist(),
        model.similar(nodes, k=5),
        model.kernel_.gram(nodes).tobytes(),
        repr(parts),
        repr(model.odd(nodes)),
    )


def test_a_fitted_model_answers_eight_threads_as_it_answers_one(tmp_path):
    path = fitted().save(tmp_path / "model.safetensors", with_graph=True)
    expected = answers(kn.load_model(path))
    for _ in range(3):  # each time a model that has computed nothing yet: all threads fill its caches
        fresh = kn.load_model(path)
        assert at_once(lambda _, fresh=fresh: answers(fresh), range(THREADS)) == [expected] * THREADS


def test_what_if_in_several_threads_changes_nothing_for_the_others():
    model = fitted()
    before = answers(model)

    def what_if(number):
        return repr(model.what_if(kn.positions([number])[0], features={0: 1.0}))

    expected = [before if number % 2 else what_if(number) for number in range(THREADS)]
    assert len(set(expected[::2])) == THREADS // 2  # each node has an answer of its own
    found = at_once(lambda number: answers(model) if number % 2 else what_if(number), range(THREADS))
    assert found == expected


def test_link_predictors_answer_eight_threads_as_they_answer_one():
    links = kn.LinkPredictor("kernel", epochs=2, random_state=0).fit(GRAPH)
    pairs = np.stack([np.arange(40), np.arange(50, 90)], axis=1)
    expected = links.score_pairs(pairs).tobytes(), links.missing_links(k=5)
    found = at_once(lambda _: (links.score_pairs(pairs).tobytes(), links.missing_links(k=5)), range(THREADS))
    assert found == [expected] * THREADS


def test_fits_in_several_threads_give_what_they_give_alone(tmp_path):
    def parameters(seed):
        path = fitted(seed=seed).save(tmp_path / f"{threading.get_ident()}-{seed}")
        return path.read_bytes()

    alone = [parameters(seed) for seed in range(4)]
    before = torch.get_num_threads(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002
    with warnings.catch_warnings():  # filters are global: set before the threads start
        warnings.simplefilter("ignore")
        filters = list(warnings.filters)
        assert at_once(parameters, range(4)) == alone
        assert warnings.filters == filters
    after = torch.get_num_threads(), torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002
    assert before == after
