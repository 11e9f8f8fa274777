"""S3VMlight against the author's program, libsvm, all labellings, and its limits."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from dsgkit.solvers.s3vm.s3vm_light import S3VMLight
from dsgkit.trainers.label_switching import LabelSearch
from tests.solvers.brute_force import kernel

ORACLES = Path(__file__).parents[2] / "oracles"


def clusters(n_labeled=16, n_unlabeled=40, positive_share=0.5, distance=1.0, seed=0):
    """Two Gaussian clouds in the plane: X, y, X_unlabeled, y_unlabeled."""
    rng = np.random.default_rng(seed)

    def draw(n):
        y = np.where(np.arange(n) < round(n * positive_share), 1, -1)
        return rng.normal(size=(n, 2)) + np.outer(y, [distance, 0]), y

    return *draw(n_labeled), *draw(n_unlabeled)


def row_costs(y, labels, C, C_star, p=None):
    """The costs of all rows, spelled out."""
    p = np.mean(y > 0) if p is None else p
    unlabeled = [(1 - p) / p if label > 0 else 1.0 for label in labels]
    return np.append(np.full(len(y), C / len(y)), np.array(unlabeled) * C_star / len(labels))


def libsvm(X, y, U, labels, C, C_star, sigma, p=None):
    """Train on given labels of the unlabelled rows; return the objective and the machine."""
    rows, targets = np.vstack([X, U]), np.append(y, labels)
    costs = row_costs(y, labels, C, C_star, p)
    svc = SVC(kernel="rbf", gamma=sigma, tol=1e-7).fit(rows, targets, sample_weight=costs)
    coef = svc.dual_coef_[0]
    norm = coef @ kernel(rows[svc.support_], rows[svc.support_], sigma) @ coef
    slack = np.maximum(0, 1 - targets * svc.decision_function(rows))
    return norm / 2 + costs @ slack, svc


@pytest.mark.parametrize("name", ["gauss", "moons"])
def test_the_authors_program_is_reproduced(name):
    with np.load(ORACLES / f"svmlight_tsvm_{name}_C1.npz") as stored:
        z = dict(stored)
    C, C_star = float(z["C"]) * len(z["xl"]), float(z["C"]) * len(z["xu"])
    model = S3VMLight(C, float(z["gamma"]), C_star=C_star).fit(z["xl"], z["yl"], z["xu"])
    np.testing.assert_array_equal(model.transduction_, z["yhat_unlab"])
    assert 2 * model.n_switches_ == z["switches"]
    assert model.objective_ == pytest.approx(float(z["objective"]), rel=1.5e-4)
    values = model.decision_function(np.vstack([z["xl"], z["xu"]]))
    np.testing.assert_allclose(values, z["f_lu"], rtol=0, atol=4e-3)
    np.testing.assert_allclose(model.decision_function(z["xt"]), z["ft"], rtol=0, atol=4e-3)


@pytest.mark.parametrize(
    ("labeled_share", "C_star", "share"),
    [(0.5, None, None), (0.25, 30.0, None), (0.5, 30.0, 0.2), (0.5, None, 0.7)],
)
def test_the_machine_is_libsvms_on_the_labels_that_are_found(labeled_share, C_star, share):
    X, y, U, _ = clusters(positive_share=labeled_share)
    model = S3VMLight(20.0, 0.5, C_star=C_star, positive_share=share).fit(X, y, U)
    assert np.count_nonzero(model.transduction_ > 0) == (share or labeled_share) * 40
    weight = 20.0 * 16 / 40 if C_star is None else C_star
    objective, svc = libsvm(X, y, U, model.transduction_, 20.0, weight, 0.5, share)
    assert model.objective_ == pytest.approx(objective, rel=1e-4)
    rows = np.random.default_rng(1).normal(size=(50, 2))
    np.testing.assert_allclose(
        model.decision_function(rows), svc.decision_function(rows), atol=2e-4
    )


@pytest.mark.parametrize("positive_share", [0.5, 0.25])
def test_of_separate_clouds_it_finds_the_best_of_all_labellings(positive_share):
    X, y, U, truth = clusters(8, 8, positive_share, distance=1.5, seed=3)
    model = S3VMLight(8.0, 0.5, C_star=8.0).fit(X, y, U)
    n_positive = np.count_nonzero(truth > 0)
    objectives = {}
    for positive in itertools.combinations(range(8), n_positive):
        labels = np.where(np.isin(np.arange(8), positive), 1, -1)
        objectives[tuple(labels)] = libsvm(X, y, U, labels, 8.0, 8.0, 0.5)[0]
    best = min(objectives, key=objectives.get)
    assert len(set(np.round(list(objectives.values()), 3))) > 1
    np.testing.assert_array_equal(model.transduction_, best)
    assert model.objective_ == pytest.approx(objectives[best], rel=1e-4)


@pytest.mark.parametrize(("share", "label"), [(0.001, -1), (0.999, 1)])
def test_of_a_share_beyond_all_rows_every_row_gets_one_label(share, label):
    X, y, U, _ = clusters()
    model = S3VMLight(20.0, 0.5, positive_share=share).fit(X, y, U)
    assert (model.transduction_ == label).all() and np.isfinite(model.decision_function(U)).all()


def test_pairs_switched_together_save_trainings():
    X, y, U, _ = clusters(20, 150, 0.5, distance=0.3, seed=8)
    one, all_ = (
        S3VMLight(20.0, 2.0, C_star=150.0, pairs_per_switch=pairs).fit(X, y, U)
        for pairs in (1, None)
    )
    assert one.n_switches_ > 5
    assert all_.n_iter_ < one.n_iter_
    # from all switched at once: another local minimum, but about as deep
    assert all_.objective_ == pytest.approx(one.objective_, rel=0.05)


def test_wrong_pairs_are_the_outermost_first():
    y = np.array([1.0, -1.0])
    search = LabelSearch(np.eye(8), y, C=2.0, C_star=2.0, positive_share=None, most_pairs=None)
    search.labels[2:] = [1, 1, 1, -1, -1, -1]
    values = np.array([0, 0, 0.1, -0.9, 0.3, 0.2, 0.8, -0.5])
    positive, negative = search._wrong_pairs(values)
    np.testing.assert_array_equal(positive, [3, 2])
    np.testing.assert_array_equal(negative, [6, 5])
    search._most_pairs = 1
    assert [rows.tolist() for rows in search._wrong_pairs(values)] == [[3], [6]]


@pytest.mark.filterwarnings("ignore:sigma=1e.03 makes nearly all kernel values 0")
@pytest.mark.parametrize("C", [1e-3, 1e3])
@pytest.mark.parametrize("sigma", [1e-3, 1e3])
@pytest.mark.parametrize("pairs", [1, None])
def test_it_ends_at_the_corners_of_the_papers_grid(C, sigma, pairs):
    X, y, U, _ = clusters(20, 100, 0.4)
    model = S3VMLight(C, sigma, pairs_per_switch=pairs).fit(X, y, U)
    assert model.n_iter_ < 1000
    assert np.count_nonzero(model.transduction_ > 0) == 40
    # no value is farther from the intercept than the sum of all costs
    costs = row_costs(y, model.transduction_, C, C / 5).sum()
    assert abs(model.decision_function(U) - model.intercept_).max() <= costs
