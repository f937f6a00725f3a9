"""People who come from scikit-learn, and expect what it does to be done here."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import kernode as kn
from graphs import CLUSTERS
from kernode.kernels import RBF, Linear, Normalized
from tasks import LABELS, SPLIT

TRUTH = CLUSTERS.labels[SPLIT.test]


def quick(kind=kn.NodeKernelClassifier, **settings):
    return kind(**{"variant": "n1", "epochs": 15, "learning_rate": 0.05, "device": "cpu"} | settings)


def links(**settings):
    return kn.LinkPredictor(epochs=3, device="cpu", **settings)


def fitted(model, **more):
    return model.fit(SPLIT.train, LABELS, graph=CLUSTERS, **more)


# ---- random_state


@pytest.mark.parametrize("kind", [kn.NodeKernelClassifier, kn.NodeKernelTransformer])
def test_no_seed_is_a_fresh_one_and_the_run_can_be_repeated(kind):
    """Lena wrote random_state=None, as everywhere, and wants to know which run she saw."""
    one, two = (fitted(quick(kind, random_state=None, replicas=2)) for _ in range(2))
    assert one.seeds_ != two.seeds_
    assert one.seeds_ == (one.seeds_[0], one.seeds_[0] + 1)
    again = fitted(quick(kind, random_state=one.seeds_[0], replicas=2))
    assert np.array_equal(again.kernel_.gram([0, 1, 2]), one.kernel_.gram([0, 1, 2]))
    assert one.get_params()["random_state"] is None


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_gives_a_seed_and_moves_on(make):
    """Lena hands one generator to everything."""
    random = make(3)
    first, second = (fitted(quick(epochs=1, random_state=random)).seeds_ for _ in range(2))
    assert first != second
    assert fitted(quick(epochs=1, random_state=make(3))).seeds_ == first
    assert links(random_state=make(3)).fit(CLUSTERS).seeds_ == first
    model = quick(random_state=random)
    assert model.get_params()["random_state"] is random
    fitted(clone(model))


# ---- nested parameters


def test_settings_of_a_kernel_are_searched_by_name():
    """Max searches gamma as he does in SVC."""
    model = quick(variant="k1", map=kn.maps.HopMLP((8,), 4), kernel=RBF(), triplets=200)
    grid = {"kernel__gamma": [0.1, 2.0], "map__hops": [1, 2]}
    search = GridSearchCV(model, grid, cv=2).fit(SPLIT.train, LABELS, graph=CLUSTERS)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_.model_.method
    assert best.kernel.gamma == search.best_params_["kernel__gamma"]
    assert best.map.hops == search.best_params_["map__hops"]
    assert model.kernel == RBF()  # what he gave is as it was


def test_settings_within_parts_are_listed_set_and_cloned():
    """Max looks at what there is to set."""
    model = quick(kernel=Linear() + Normalized(RBF()), map=kn.maps.GCN())
    params = model.get_params()
    assert params["kernel__right__kernel__gamma"] == 1.0
    assert params["map__hidden"] == model.map.hidden
    assert set(model.get_params(deep=False)) == set(model._get_param_names())
    kernel = model.kernel
    model.set_params(kernel__right__kernel__gamma=3.0, epochs=2)
    assert (model.kernel, model.epochs) == (Linear() + Normalized(RBF(3.0)), 2)
    assert kernel == Linear() + Normalized(RBF())
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(**model.get_params()).get_params() == model.get_params()
    both = quick().set_params(kernel__gamma=0.5, kernel=RBF(learned=True))
    assert both.kernel == RBF(0.5, learned=True)
    assert links(kernel=RBF()).set_params(kernel__gamma=4.0).kernel == RBF(4.0)


@pytest.mark.parametrize(
    ("settings", "name", "sentence"),
    [
        ({}, "kernel__gamma", r"kernel is None, the variant's own: give kernel= a part .* such as RBF\(\)"),
        ({}, "map__hops", "map is None, the variant's own: set hops= itself"),
        ({"kernel_loss": "hinge"}, "kernel_loss__margin", "kernel_loss is 'hinge': set margin= itself"),
        ({}, "kernel__colour", "kernel__colour is not a setting of any kernel"),
        ({"kernel": RBF()}, "kernel__gama", "kernel, RBF, has no setting 'gama'. It has gamma, learned"),
        ({"kernel": RBF()}, "kernel__gamma__x", "kernel__gamma is 1.0, which has no setting 'x'"),
        ({"kernel": RBF()}, "kernel__gamma", "gamma must be a number > 0. Got -1"),
    ],
)
def test_a_setting_that_is_nowhere_says_where_it_would_be(settings, name, sentence):
    """Max mistyped, or gave no kernel."""
    with pytest.raises(kn.InputError, match=sentence):
        quick(**settings).set_params(**{name: -1})
