import json
import sys

import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch.nn.functional import softplus

import kernode as kn
from graphs import clustered_graph
from kernode.cli import main
from kernode.compute.draws import Draws, Dropout
from kernode.compute.place import Place
from kernode.data import write_npz
from kernode.data.edge_split import is_edge, split_edges
from kernode.errors import FileError, InputError, KernodeError
from kernode.kernels import RBF, Linear, Normalized
from kernode.link_prediction.experiment import configure_links, run_links
from kernode.link_prediction.method import LINK_METHODS, LinkMethod
from kernode.link_prediction.model import LinkModel
from kernode.link_prediction.trainer import EdgePairs, LinkStack, auc, train_links
from kernode.maps import GCN, HopMLP
from kernode.training.settings import Training

GRAPH = clustered_graph(n=90)
SPLIT = split_edges(GRAPH, 0)
DOUBLE = Place.of(64)
SHORT = Training(epochs=10, weight_decay=0.0)
METHODS = {name: method for name, (method, _) in LINK_METHODS.items()}
METHODS["rbf"] = LinkMethod(HopMLP((8,), 4), RBF(learned=True), scaled=True)


def stack(method, seeds=(0, 1), training=SHORT):
    prepared = method.map.prepare(SPLIT.graph, DOUBLE)
    pairs = EdgePairs.of(SPLIT, DOUBLE.device)
    return LinkStack(prepared, method, training, SPLIT, pairs, list(seeds), DOUBLE, slice(None))


def test_no_held_out_edge_is_in_the_operator():
    """Read the operator that training multiplies with."""
    method = LinkMethod(HopMLP((), 4, hops=1), Linear())
    prepared = method.map.prepare(SPLIT.graph, DOUBLE)
    one_hop = prepared.operator.by_hop(torch.eye(GRAPH.n_nodes, dtype=torch.float64))[1].numpy()
    for pairs in (SPLIT.test, SPLIT.validation):
        assert is_edge(GRAPH.adjacency, pairs).all()
        assert not one_hop[pairs[:, 0], pairs[:, 1]].any()
        assert not one_hop[pairs[:, 1], pairs[:, 0]].any()
    assert int((one_hop != 0).sum()) == 2 * SPLIT.graph.n_edges
    positives = EdgePairs.of(SPLIT, DOUBLE.device).edges.numpy()
    held_out = {tuple(pair) for part in (SPLIT.test, SPLIT.validation) for pair in part.tolist()}
    assert not held_out & {tuple(sorted(pair)) for pair in positives.tolist()}


def test_sampled_pairs_that_are_edges_do_not_count():
    pairs = EdgePairs.of(SPLIT, DOUBLE.device)
    drawn, counts = pairs.draw_negatives(Draws(torch.arange(50), 1))
    assert drawn.shape == (50, SPLIT.graph.n_edges, 2)
    dense = SPLIT.graph.adjacency.toarray() > 0
    u, v = drawn[..., 0].numpy(), drawn[..., 1].numpy()
    assert np.array_equal(counts.numpy(), ~dense[u, v] & (u != v))
    assert 0.5 < counts.double().mean() < 1
    assert np.allclose(np.bincount(u.ravel(), minlength=90), u.size / 90, rtol=0.3)


def test_loss_equals_a_naive_loop():
    learner = stack(LinkMethod(HopMLP((4,), 3), Linear()), training=Training(epochs=1, dropout=0.0))
    loss = learner.losses(1)["loss"]
    draws = Draws(learner.seeds, 1)
    g = learner.method.map({k[4:]: v for k, v in learner.parameters.items()}, learner.prepared)
    drawn, counts = learner.pairs.draw_negatives(draws)
    for r in range(2):
        edges = [torch.log1p(torch.exp(-(g[r, u] @ g[r, v]))) for u, v in learner.pairs.edges.tolist()]
        others = [
            torch.log1p(torch.exp(g[r, u] @ g[r, v]))
            for (u, v), counted in zip(drawn[r].tolist(), counts[r].tolist(), strict=True)
            if counted
        ]
        expected = (torch.stack(edges).mean() + torch.stack(others).mean()) / 2
        assert torch.allclose(loss[r], expected)


def test_divergence_is_that_of_two_normals():
    method = METHODS["vgae"]
    learner = stack(method)
    dropout = Dropout(Draws(learner.seeds, 1), torch.zeros(2, dtype=torch.float64))
    _, divergence = method.embed(learner.parameters, learner.prepared, dropout)
    g = method.map({k[4:]: v for k, v in learner.parameters.items()}, learner.prepared)
    mean, deviation = g.chunk(2, dim=-1)[0], g.chunk(2, dim=-1)[1].exp()
    theirs = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, deviation),
        torch.distributions.Normal(torch.zeros_like(mean), torch.ones_like(mean)),
    )
    assert torch.allclose(divergence, theirs.sum(dim=-1).mean(dim=-1) / GRAPH.n_nodes)


def test_variational_training_draws_around_the_means_and_pays_the_divergence():
    method = METHODS["vgae"]
    learner = stack(method, training=Training(epochs=1, dropout=0.0))
    dropout = Dropout(Draws(learner.seeds, 1), torch.zeros(2, dtype=torch.float64))
    sample, divergence = method.embed(learner.parameters, learner.prepared, dropout)
    g = method.map({k[4:]: v for k, v in learner.parameters.items()}, learner.prepared)
    mean, deviation = g.chunk(2, dim=-1)[0], g.chunk(2, dim=-1)[1].exp()
    noise = (sample - mean) / deviation
    assert noise.mean().item() == pytest.approx(0, abs=0.1)
    assert noise.std().item() == pytest.approx(1, abs=0.1)
    assert torch.equal(method.embed(learner.parameters, learner.prepared)[0], mean)
    drawn, counts = learner.pairs.draw_negatives(Draws(learner.seeds, 1))
    on_edges = softplus(-method.logits(learner.parameters, sample, learner.pairs.edges[None])).mean(dim=1)
    on_others = (softplus(method.logits(learner.parameters, sample, drawn)) * counts).sum(dim=1)
    expected = (on_edges + on_others / counts.sum(dim=1)) / 2 + divergence
    assert torch.allclose(learner.losses(1)["loss"], expected)
    assert (divergence > 0).all()


def test_scaled_logits_are_a_k_plus_b():
    method = METHODS["rbf"]
    learner = stack(method)
    parameters = learner.parameters | {
        "log_scale": torch.tensor([0.3, -1.0]).double(),
        "offset": torch.tensor([2.0, -5.0]).double(),
    }
    embedded, _ = method.embed(parameters, learner.prepared)
    pairs = torch.tensor([[[0, 1], [2, 3]]])
    kernel = method.kernel.gram(embedded, embedded, {"log_gamma": parameters["kernel.log_gamma"]})
    for r in range(2):
        for t, (u, v) in enumerate(((0, 1), (2, 3))):
            expected = parameters["log_scale"][r].exp() * kernel[r, u, v] + parameters["offset"][r]
            assert torch.allclose(method.logits(parameters, embedded, pairs)[r, t], expected)


def test_kept_epoch_has_the_best_validation_auc():
    trained = train_links(SPLIT, METHODS["gae"], Training(epochs=25, weight_decay=0.0), [0, 1, 2], DOUBLE)
    for i, epoch in enumerate(trained.epochs):
        assert epoch > 0
        assert (
            trained.history["validation_auc"][epoch - 1, i] == trained.history["validation_auc"][:, i].max()
        )


def test_predictor_of_an_own_split_answers_the_same_after_loading(tmp_path):
    links = kn.LinkPredictor("gae", epochs=5).fit(SPLIT)
    again = LinkModel.load(links.save(tmp_path / "l"), SPLIT.graph)
    assert np.array_equal(again.score_pairs(SPLIT.test), links.score_pairs(SPLIT.test))


def test_training_that_diverges_ends_in_a_sentence():
    with pytest.raises(KernodeError, match="training diverged at epoch"):
        kn.LinkPredictor(epochs=3, learning_rate=1e30).fit(GRAPH)


def test_settings_of_link_methods_are_as_documented():
    """What docs/reproduction.md shows was measured with these."""
    kernel = LinkMethod(HopMLP((), 256, normalize_rows=False), Normalized(Linear()), scaled=True)
    gae = LinkMethod(GCN((32,), 16), Linear())
    vgae = LinkMethod(GCN((32,), 32, normalize_rows=False), Linear(), variational=True)
    assert {
        "kernel": (kernel, Training(epochs=200, weight_decay=0.0)),
        "kernel-tuned": (kernel, Training(epochs=200, weight_decay=1e-6)),
        "gae": (gae, Training(epochs=400, weight_decay=0.0, dropout=0.5)),
        "vgae": (vgae, Training(epochs=200, weight_decay=5e-4, dropout=0.0)),
    } == LINK_METHODS


def test_normal_draws_are_normal():
    draws = Draws(torch.arange(3), 1).normal(7_000, 50_000)
    assert torch.allclose(draws.mean(dim=0), torch.zeros(3).double(), atol=0.02)
    assert torch.allclose(draws.std(dim=0), torch.ones(3).double(), atol=0.02)
    assert (draws.abs() < 1.96).double().mean().item() == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize("name", METHODS)
def test_replica_equals_the_run_made_alone_with_its_seed(name):
    method = METHODS[name]
    together = train_links(SPLIT, method, SHORT, [3, 4, 5], DOUBLE)
    for i, seed in enumerate((3, 4, 5)):
        alone = train_links(SPLIT, method, SHORT, [seed], DOUBLE)
        assert together.epochs[i] == alone.epochs[0]
        for key, value in alone.parameters.items():
            assert torch.allclose(together.parameters[key][i], value[0], atol=1e-8)


def test_auc_equals_scikit_learns_with_ties():
    random = torch.Generator().manual_seed(0)
    positive, negative = (torch.randint(0, 9, (3, m), generator=random).double() for m in (40, 70))
    for i, ours in enumerate(auc(positive, negative)):
        truth = np.r_[np.ones(40), np.zeros(70)]
        assert ours.item() == pytest.approx(100 * roc_auc_score(truth, torch.cat([positive[i], negative[i]])))


@pytest.mark.parametrize("name", ["kernel", "gae", "vgae"])
def test_every_method_learns_coras_links(name, cora):
    graph, _ = cora
    model, report = run_links(graph, name, [0], Place.of(32), changes={"epochs": 100})
    assert report["test"]["auc_mean"] > 84
    split = split_edges(graph, 0)
    for part in ("test", "validation"):
        (run,) = model.evaluate(getattr(split, part), getattr(split, f"{part}_negatives"))
        assert report[part]["auc_mean"] == pytest.approx(run["auc"], abs=1e-3)
        assert report[part]["runs"][0]["mrr"] == pytest.approx(run["mrr"], abs=1e-3)


def test_predictor_scores_pairs_and_finds_missing_links(tmp_path):
    links = kn.LinkPredictor(epochs=40, replicas=2, device="cpu").fit(GRAPH)
    scores = links.score_pairs(SPLIT.test)
    assert ((scores > 0) & (scores < 1)).all()
    found = links.missing_links(5, k=4)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    neighbours = links.split_.graph.adjacency[[5]].indices
    everyone = [v for v in range(90) if v != 5 and v not in neighbours]
    best = max(everyone, key=lambda v: links.score_pairs([(5, v)])[0])
    assert found[0][0] == best
    assert links.score_pairs([(5, best)])[0] == pytest.approx(links.score_pairs([(best, 5)])[0])
    again = LinkModel.load(links.save(tmp_path / "l.safetensors"), GRAPH)
    assert np.array_equal(again.score_pairs(SPLIT.test), scores)
    assert again.evaluate(SPLIT.test, SPLIT.test_negatives)[0]["auc"] > 50
    assert clone(links).get_params() == links.get_params()


def test_predictor_takes_a_split_of_ones_own():
    links = kn.LinkPredictor("gae", epochs=5).fit(SPLIT)
    assert links.split_ is SPLIT
    assert set(links.evaluate()) == {"auc", "ap", "hits_at_20", "hits_at_50", "hits_at_100", "mrr"}


def test_wrong_use_is_one_sentence(tmp_path):
    links = kn.LinkPredictor(epochs=2).fit(GRAPH)
    path = links.save(tmp_path / "l.safetensors")
    for wrong, sentence in (
        (lambda: links.score_pairs([0, 1]), "pairs must be an m × 2 list"),
        (lambda: links.score_pairs([(0, 900)]), "node 900 is not in the graph"),
        (lambda: links.missing_links(3, k=0), "k must be an integer ≥ 1"),
        (lambda: kn.LinkPredictor("magic").fit(GRAPH), "'magic' is not a link method"),
        (lambda: kn.LinkPredictor().fit("cora"), "graph must be a kernode.Graph or an EdgeSplit"),
        (lambda: LinkModel.load(path, clustered_graph(n=90, seed=3)), "another graph"),
        (lambda: LinkMethod(GCN((4,)), Linear()), "pass outputs="),
        (lambda: configure_links("gae", colour=1), "has no setting 'colour'"),
    ):
        with pytest.raises(InputError, match=sentence):
            wrong()
    with pytest.raises(FileError):
        LinkModel.load(tmp_path / "none", GRAPH)


def test_command_prints_one_json_object(tmp_path, monkeypatch, capsys):
    write_npz(GRAPH, tmp_path / "clusters.npz")
    monkeypatch.chdir(tmp_path)
    for more in (["--json"], []):
        arguments = ["links", "clusters.npz", "--method", "gae", "--replicas", "2", "--epochs", "5", *more]
        monkeypatch.setattr(sys, "argv", ["kernode", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        printed = capsys.readouterr().out
        if more:
            report = json.loads(printed)
            assert (report["dataset"], report["method"], report["replicas"]) == ("clusters", "gae", 2)
            keys = {"auc_mean", "auc_std", "ap_mean", "ap_std", "hits_at_50_mean", "mrr_mean", "runs"}
            assert keys <= set(report["test"])
        else:
            assert "test AUC" in printed
    assert (tmp_path / "clusters-links-gae.safetensors").is_file()


# ---- scikit-learn's form: pairs and whether they are linked


def pairs_and_links(graph=GRAPH, seed=0):
    """All edges and as many pairs that are none, in random order."""
    random = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(graph.adjacency.toarray()))
    pairs = np.argwhere(np.triu(graph.adjacency.toarray() == 0, 1))
    others = pairs[random.choice(len(pairs), len(edges), replace=False)]
    order = random.permutation(2 * len(edges))
    return np.concatenate([edges, others])[order], np.repeat([1, 0], len(edges))[order]


PAIRS, LINKED = pairs_and_links()
NAMED = kn.Graph(GRAPH.adjacency, GRAPH.features, GRAPH.labels, node_names=[f"v{i}" for i in range(90)])


def pair_predictor(**settings):
    return kn.LinkPredictor(**{"epochs": 15, "device": "cpu"} | settings)


def test_edges_outside_the_given_pairs_are_never_seen():
    """Other edges are taken away, put elsewhere and weighted anew: to the last bit the same answers."""
    known, y = PAIRS[:200], LINKED[:200]
    given = {tuple(pair) for pair in known[y == 1].tolist()}
    random = np.random.default_rng(1)
    garbled = np.array([*given, *(sorted(random.choice(90, 2, replace=False)) for _ in range(300))])
    known_one = [tuple(pair) in given for pair in garbled.tolist()]
    weights = np.where(known_one, 1, random.uniform(1, 9, len(garbled)))
    other = kn.Graph.from_edges(garbled, GRAPH.features, weights=weights, name="clusters")
    assert other.n_edges > len(given) + 100
    usual, same = (pair_predictor().fit(known, y, graph=graph) for graph in (GRAPH, other))
    assert usual.model_.graph.n_edges == len(given) - int(0.05 * len(given))
    assert usual.model_.graph.fingerprint == same.model_.graph.fingerprint
    assert np.array_equal(usual.decision_function(PAIRS), same.decision_function(PAIRS))


def test_held_out_pairs_choose_the_epoch_and_never_teach():
    links = pair_predictor().fit(PAIRS, LINKED, graph=GRAPH)
    split, m = links.split_, int(LINKED.sum())
    assert len(split.validation) == len(split.validation_negatives) == int(0.05 * m)
    given = {(tuple(pair), y) for pair, y in zip(PAIRS.tolist(), LINKED.tolist(), strict=True)}
    assert {(tuple(pair), 1) for pair in split.validation.tolist()} <= given
    assert {(tuple(pair), 0) for pair in split.validation_negatives.tolist()} <= given
    assert split.graph.n_edges == m - int(0.05 * m)
    assert not is_edge(split.graph.adjacency, split.validation).any()
    shuffled = np.random.default_rng(5).permutation(len(PAIRS))
    turned = PAIRS[shuffled][:, ::-1]
    again = pair_predictor().fit(turned, LINKED[shuffled], graph=GRAPH)
    assert np.array_equal(again.score_pairs(PAIRS), links.score_pairs(PAIRS))
    other = pair_predictor(random_state=1).fit(PAIRS, LINKED, graph=GRAPH).split_
    assert not np.array_equal(other.validation, split.validation)


@pytest.mark.parametrize("y", [None, "ones", "few"])
def test_without_enough_unlinked_pairs_others_are_drawn(y):
    pairs = PAIRS[LINKED == 1]
    few = PAIRS[LINKED == 0][:3]
    if y == "few":
        pairs, y = np.concatenate([pairs, few]), np.repeat([1, 0], [len(pairs), 3])
    elif y == "ones":
        y = np.ones(len(pairs))
    links = pair_predictor().fit(pairs, y, graph=GRAPH)
    negatives = links.split_.validation_negatives
    assert len(negatives) == len(links.split_.validation) == int(0.05 * LINKED.sum())
    assert not is_edge(GRAPH.adjacency, negatives).any()
    if y is not None and not y.all():  # what teaches does not choose
        assert not {tuple(pair) for pair in few.tolist()} & {tuple(pair) for pair in negatives.tolist()}


def test_pairs_are_drawn_among_those_not_given():
    """Of 55 pairs all but three are given, and two must be found."""
    pairs = np.random.default_rng(0).permutation(np.argwhere(np.triu(np.ones((11, 11)), 1)))
    graph = kn.Graph.from_edges(pairs, np.eye(11))
    links = pair_predictor(epochs=1).fit(pairs[:53], np.repeat([1, 0], [52, 1]), graph=graph)
    assert sorted(links.split_.validation_negatives.tolist()) == sorted(pairs[53:].tolist())


def test_unlinked_pairs_teach():
    """Beside a predictor that is chosen by the same pairs, and taught by the linked ones alone."""
    told = pair_predictor(epochs=60).fit(PAIRS, LINKED, graph=GRAPH)
    untold = pair_predictor(epochs=60).fit(told.split_)
    chose = {tuple(pair) for pair in told.split_.validation_negatives.tolist()}
    taught = np.array([pair for pair in PAIRS[LINKED == 0] if tuple(pair) not in chose])
    assert told.decision_function(taught).mean() < untold.decision_function(taught).mean() - 0.1


def test_loss_counts_every_known_pair_that_is_no_edge():
    others = np.array([(0, 1), (2, 7), (3, 5)])
    pairs = EdgePairs.of(SPLIT, DOUBLE.device, others)
    drawn, counts = pairs.draw_negatives(Draws(torch.arange(4), 1))
    usual, usual_counts = EdgePairs.of(SPLIT, DOUBLE.device).draw_negatives(Draws(torch.arange(4), 1))
    assert torch.equal(drawn[:, :-3], usual)
    assert torch.equal(counts[:, :-3], usual_counts)
    assert (drawn[:, -3:].numpy() == others).all()
    assert counts[:, -3:].all()


@pytest.mark.parametrize("replicas", [1, 3])
def test_answers_about_pairs_fit_together(replicas):
    links = pair_predictor(replicas=replicas).fit(PAIRS, LINKED, graph=GRAPH)
    chances, odds = links.predict_proba(PAIRS), links.decision_function(PAIRS)
    assert chances.shape == (len(PAIRS), 2)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.array_equal(chances[:, 1], links.score_pairs(PAIRS))
    assert np.allclose(odds, np.log(chances[:, 1] / chances[:, 0]))
    assert np.array_equal(links.predict(PAIRS), links.classes_[chances.argmax(axis=1)])
    assert links.score(PAIRS, LINKED) == (links.predict(PAIRS) == LINKED).mean() > 0.7
    assert links.classes_.tolist() == [0, 1]
    extreme = LinkModel.log_odds(type("Sure", (), {"logits": lambda *_: np.array([[800.0, -900.0]])})(), None)
    assert np.allclose(extreme, [800, -900])


@pytest.mark.parametrize("name", METHODS)
def test_kernel_of_a_predictor_is_what_links_are_read_from(name):
    method = METHODS[name]
    trained = LinkModel.learn(GRAPH, SPLIT, method, SHORT, [0, 1], DOUBLE)
    embedded, _ = method.embed(trained.parameters, method.map.prepare(SPLIT.graph, DOUBLE))
    assert torch.equal(trained.kernel.embedded, embedded)
    u, v = SPLIT.test.T
    kernel = trained.kernel.pairs(u, v)
    if method.scaled:
        a, b = (trained.parameters[key].numpy() for key in ("log_scale", "offset"))
        by_run = (trained.logits(SPLIT.test) - b[:, None]) / np.exp(a)[:, None]
    else:
        by_run = trained.logits(SPLIT.test)
    assert np.allclose(kernel, by_run.mean(axis=0))
    gram = trained.kernel.gram()
    assert np.linalg.eigvalsh(gram).min() > -1e-8 * np.abs(gram).max()


def test_nodes_of_links_have_names():
    links, plain = (pair_predictor().fit(graph) for graph in (NAMED, GRAPH))
    names = NAMED.node_names
    assert np.array_equal(links.score_pairs(names[PAIRS]), plain.score_pairs(PAIRS))
    found = links.missing_links("v5", k=3)
    assert [(f"v{node}", score) for node, score in plain.missing_links(5, k=3)] == found
    assert links.missing_links(5, k=3) == found
    test, none = (names[part] for part in (links.split_.test, links.split_.test_negatives))
    assert links.evaluate(test, none) == links.evaluate()
    assert np.array_equal(links.kernel_.gram(["v3", "v4"]), plain.kernel_.gram([3, 4]))
    by_name = pair_predictor().fit(names[PAIRS], LINKED, graph=NAMED)
    by_index = pair_predictor().fit(PAIRS, LINKED, graph=GRAPH)
    assert np.array_equal(by_name.predict_proba(names[PAIRS].tolist()), by_index.predict_proba(PAIRS))


def test_folds_and_searches_over_pairs_run_unchanged():
    auc = cross_val_score(pair_predictor(), PAIRS, LINKED, params={"graph": GRAPH}, cv=3, scoring="roc_auc")
    assert auc.shape == (3,)
    assert auc.mean() > 0.6
    grid = {"method": ["kernel", "gae"], "learning_rate": [0.01, 0.05]}
    search = GridSearchCV(pair_predictor(), grid, cv=2)
    search.fit(PAIRS, LINKED, graph=GRAPH)
    assert search.best_estimator_.method == search.best_params_["method"]
    assert 0.5 < search.score(PAIRS, LINKED) <= 1
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(
            pair_predictor(), PAIRS, LINKED, params={"graph": GRAPH}, cv=3, scoring="roc_auc"
        )
    assert np.array_equal(auc, routed)


def test_weights_of_linked_pairs_are_the_graphs():
    weighted = kn.Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4)], np.eye(5), weights=[2, 3, 4, 5])
    links = pair_predictor(epochs=1).fit([(0, 1), (2, 1), (3, 2), (0, 4)], graph=weighted)
    seen = links.split_.graph.adjacency.toarray()
    expected = {(0, 1): 2, (1, 2): 3, (2, 3): 4, (0, 4): 1}
    held_out = tuple(links.split_.validation[0].tolist())
    for pair, weight in expected.items():
        assert seen[pair] == (0 if pair == held_out else weight)
    assert seen[3, 4] == 0


def test_predictor_of_pairs_answers_the_same_after_loading(tmp_path):
    links = pair_predictor().fit(PAIRS, LINKED, graph=GRAPH)
    again = LinkModel.load(links.save(tmp_path / "l"), links.split_.graph)
    assert np.array_equal(again.score_pairs(PAIRS), links.score_pairs(PAIRS))
    with pytest.raises(InputError, match="no test edges were held out"):
        links.evaluate()
    assert links.evaluate(PAIRS[LINKED == 1], PAIRS[LINKED == 0])["auc"] > 60


@pytest.mark.parametrize(
    ("pairs", "y", "graph", "sentence"),
    [
        (GRAPH, [1], None, "belong to pairs"),
        (GRAPH, None, GRAPH, "belong to pairs"),
        ([(0, 1)], None, None, "pass graph="),
        ([(0, 1), (1, 2)], [1], GRAPH, r"one number per pair \(2\)"),
        ([(0, 1), (1, 2)], [1, 2], GRAPH, "Only binary classification is supported.* Got 2"),
        ([(0, 1), (1, 2)], [1, 0.5], GRAPH, "Got a continuous 0.5"),
        ([(0, 1), (1, 0)], [1, 0], GRAPH, r"the pair \(0, 1\) is given both as linked and as not"),
        ([(0, 1), (1, 1)], None, GRAPH, r"the pair \(1, 1\) joins a node with itself"),
        ([(0, 1), (1, 0)], None, GRAPH, "1 linked pairs are too few"),
        ([], None, GRAPH, "0 linked pairs are too few"),
        ([(0, 1), (1, 2)], [0, 0], GRAPH, "0 linked pairs are too few"),
        ([(0, 1, 2)], None, GRAPH, "m × 2 list of nodes"),
        ([(0,), (1,)], None, GRAPH, r"1 feature\(s\)"),
        ([(0, 900), (1, 2)], None, GRAPH, "node 900 is not in the graph"),
        ([("a", "b"), ("b", "c")], None, GRAPH, "have no names"),
        ([(0, 1), (0, 2), (1, 2)], None, kn.Graph.from_edges([(0, 1)], np.eye(3)), "y = 0"),
    ],
)  # fmt: skip
def test_wrong_pairs_are_one_sentence(pairs, y, graph, sentence):
    with pytest.raises(InputError, match=sentence):
        pair_predictor(epochs=1).fit(pairs, y, graph=graph)
