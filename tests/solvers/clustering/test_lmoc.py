"""The estimators BSGDLMOC and SGDLMOC."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dsgkit.errors import DataError, FitError, MemoryLimitError
from dsgkit.solvers.clustering import nearest
from dsgkit.solvers.clustering.base import total_variance
from dsgkit.solvers.clustering.fsvc import FSVC
from dsgkit.solvers.clustering.lmoc import BSGDLMOC, SGDLMOC
from dsgkit.solvers.clustering.svc import BenHurSVC
from dsgkit.solvers.clustering.width import gamma_of_neighbours
from tests.solvers.brute_force import kernel

BOTH = pytest.mark.parametrize("solver", [BSGDLMOC, SGDLMOC])


def three_groups(n=150, n_inputs=2, seed=0):
    rng = np.random.default_rng(seed)
    centers = 4 * np.eye(3, n_inputs)
    return centers[np.arange(n) % 3] + 0.5 * rng.normal(size=(n, n_inputs)), np.arange(n) % 3


STRATEGIES = ("removal", "pnn", "prn")
BUDGETED = [BSGDLMOC(gamma=1, budget=80, strategy=strategy) for strategy in STRATEGIES]


@pytest.mark.parametrize("model", [SGDLMOC(gamma=1), *BUDGETED])
def test_groups_apart_are_found(model):
    X, y = three_groups()
    model = clone(model)
    labels = model.fit_predict(X)
    np.testing.assert_array_equal(labels, y)  # clusters are numbered as their rows come
    assert model.n_clusters_ == 3
    assert model.mode_seeking_only_ is False
    new, classes = three_groups(seed=1)
    np.testing.assert_array_equal(model.predict(new), classes)
    same, other = (clone(model).set_params(random_state=seed).fit(X) for seed in (0, 1))
    np.testing.assert_array_equal(same.dual_coef_, model.dual_coef_)
    assert not np.array_equal(other.support_vectors_, model.support_vectors_)


@pytest.mark.parametrize("starts", ["boundary", "all"])
@pytest.mark.parametrize("most_tree_inputs", [0, 15])
def test_rows_take_the_cluster_of_their_start(starts, most_tree_inputs, monkeypatch):
    monkeypatch.setattr(nearest, "MAX_TREE_INPUTS", most_tree_inputs)
    X = np.random.default_rng(5).normal(size=(300, 2))
    model = BSGDLMOC(6, 12, starts=starts).fit(X)
    f = kernel(X, model.support_vectors_, 6) @ model.dual_coef_ - 1
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-12)
    assert model.mass_ == pytest.approx(model.dual_coef_.sum())
    assert model.inside_ == np.mean(f >= 0)
    assert model.epsilon_ == pytest.approx(max(0.1, np.quantile(np.abs(f), 0.2)))
    assert model.n_clusters_ == len(set(model.labels_)) > 1
    begun = np.abs(f) <= model.epsilon_ if starts == "boundary" else np.full(300, True)
    assert model.n_boundary_ == begun.sum()
    distances = np.linalg.norm(X[:, None] - X[begun], axis=2)
    of_start = model.labels_[begun][distances.argmin(axis=1)]
    np.testing.assert_array_equal(model.labels_, of_start)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    reached = np.linalg.norm(X[begun][:, None] - model.equilibria_, axis=2)
    assert len(model.equilibrium_labels_) == reached.shape[1]
    assert set(model.equilibrium_labels_) == set(range(model.n_clusters_))


@pytest.mark.parametrize(
    "solver",
    [
        SGDLMOC(1.0, 1.2, starts="all"),
        BSGDLMOC(1.0, 1.2, starts="all", budget=150),
        FSVC(1.0, 0.02),
        BenHurSVC(1.0, 0.02),
    ],
)
def test_clusters_are_those_that_rows_are_in(solver):
    X = np.concatenate([[[90.0, 0]], three_groups()[0], [[0, 90.0]]])
    every = clone(solver).fit(X)
    model = clone(solver).set_params(outliers=True).fit(X)
    assert model.labels_[0] == model.labels_[-1] == -1
    kept = set(model.labels_) - {-1}
    assert kept == set(range(model.n_clusters_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    if not isinstance(solver, BenHurSVC):
        assert 1 <= model.n_clusters_ < every.n_clusters_
        assert set(model.equilibrium_labels_) == kept | {-1}


def test_an_empty_domain_joins_nothing():
    X, _ = three_groups()
    model = SGDLMOC(C=1.0).fit(X)
    assert model.mode_seeking_only_
    assert model.inside_ == 0
    assert model.n_clusters_ == len(model.equilibria_)
    with pytest.raises(FitError, match=r"no row has \|f\| <= epsilon = 0.1"):
        SGDLMOC(C=0.5, epsilon=0.1).fit(X)


@pytest.mark.parametrize(
    ("strategy", "default"), [("removal", "paper"), ("pnn", "epoch"), ("prn", "epoch")]
)
def test_the_default_stop_is_that_of_the_strategy(strategy, default):
    X, _ = three_groups()
    steps = {
        stop: BSGDLMOC(strategy=strategy, stop=stop).fit_domain(X).n_iter_
        for stop in (None, "paper", "epoch")
    }
    assert steps[None] == steps[default]
    assert steps["paper"] + len(X) <= steps["epoch"] + 1
    assert SGDLMOC().fit_domain(X).n_iter_ == SGDLMOC(stop="epoch").fit_domain(X).n_iter_


def test_the_objective_comes_down_to_the_minimum_of_the_dual():
    X, _ = three_groups(60)
    C = 6.0
    K = kernel(X, X, 1.0)

    def dual(alpha):
        return alpha @ K @ alpha / 2 - alpha.sum(), K @ alpha - 1

    box = [(0, C / len(X))] * len(X)
    found = minimize(dual, np.zeros(len(X)), jac=True, bounds=box, method="L-BFGS-B")
    least = -found.fun  # there is no duality gap
    for steps, above in ((100, 0.2), (100_000, 1e-3)):
        model = SGDLMOC(gamma=1, C=C, tol=0, max_iter=steps).fit_domain(X)
        assert least < model.diagnostics(X=X)["objective"] < (1 + above) * least
    budgeted = BSGDLMOC(gamma=1, C=C, budget=5, tol=0, max_iter=100_000).fit_domain(X)
    support = budgeted.support_vectors_
    values = kernel(X, support, 1.0) @ budgeted.dual_coef_
    norm = budgeted.dual_coef_ @ kernel(support, support, 1.0) @ budgeted.dual_coef_
    expected = norm / 2 + C * np.maximum(0, 1 - values).mean()
    assert budgeted.diagnostics(X=X) == {"objective": pytest.approx(expected)}
    assert expected > least


@BOTH
def test_mistakes_have_clear_errors(solver):
    X, _ = three_groups()
    with pytest.raises(NotFittedError):
        solver().fit_domain(X).predict(X)
    with pytest.raises(NotFittedError):
        solver().fit_clusters(X)
    with pytest.raises(MemoryLimitError):
        solver().fit_domain(X).set_params(max_memory=1e-6).fit_clusters(X)
    for scale, text in ((1e-160, "scale the features"), (1e160, "scale them")):
        with pytest.raises(DataError, match=text):
            solver().fit(scale * X)


def test_costs_grow_as_the_method_says():
    budgeted = [BSGDLMOC().cost(9, n_rows=n).flops for n in (10**6, 10**7)]
    assert budgeted[1] / budgeted[0] == pytest.approx(10, rel=0.05)
    unbudgeted = [SGDLMOC().cost(9, n_rows=n).flops for n in (10**6, 10**7)]
    assert unbudgeted[1] / unbudgeted[0] == pytest.approx(100, rel=0.05)
    assert BSGDLMOC().cost(9, n_rows=10**6).memory < 10**9


@pytest.mark.parametrize("move", [0.0, 1e4])
def test_the_kernel_fits_the_rows_unless_it_is_given(move):
    X = np.random.default_rng(0).normal(size=(70_000, 3)) * [1, 2, 5] + move
    assert total_variance(X) == pytest.approx(X.var(axis=0).sum(), rel=1e-9)
    few = X[:60]
    expected = gamma_of_neighbours(few, 0.06, few.var(axis=0).sum())
    assert BSGDLMOC().fit_domain(few).gamma_ == pytest.approx(expected, rel=1e-6)
    assert BenHurSVC().fit_domain(few).gamma_ == pytest.approx(expected, rel=1e-6)
    assert BSGDLMOC(gamma=0.1).fit(few).gamma_ == 0.1
    assert BSGDLMOC().fit(np.ones((5, 2))).gamma_ == 1
