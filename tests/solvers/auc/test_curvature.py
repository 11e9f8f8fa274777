from types import SimpleNamespace

import numpy as np
import pytest

from dsgkit.kernels import gaussian_gram
from dsgkit.objectives.pairwise_risk import samult_risk
from dsgkit.trainers.curvature import CURVATURE_MARGIN, measured_curvatures
from tests.solvers.brute_force import written_form


@pytest.mark.parametrize("risk", [samult_risk(0.0), samult_risk(0.3), samult_risk(1.0)])
@pytest.mark.parametrize("sigma", [0.01, 1.0, 100.0])
def test_it_is_the_largest_eigenvalue_of_the_hessian(risk, sigma):
    rng = np.random.default_rng(0)
    X, U = rng.random((30, 3)), rng.random((50, 3))
    codes = np.arange(30) % 3 // 2
    rows = np.concatenate([X, U])
    M, _ = written_form(risk, codes, 50)
    largest = np.linalg.eigvals(2 * M @ gaussian_gram(rows, rows, sigma)).real.max()
    pool = np.arange(30)
    found = measured_curvatures(X, codes, U, sigma, [pool, pool[:25]], [[risk, risk], [risk]])
    (measured, again), (of_fold,) = [[value / CURVATURE_MARGIN for value in part] for part in found]
    alone = (
        measured_curvatures(X[:25], codes[:25], U, sigma, [pool[:25]], [[risk]])[0][0]
        / CURVATURE_MARGIN
    )
    assert again == measured
    assert of_fold == pytest.approx(alone, rel=0.08)
    assert measured == pytest.approx(largest, rel=0.08)  # of 25%
    assert measured <= largest * (1 + 1e-9)


def test_of_many_unlabelled_rows_some_stand_for_all():
    rng = np.random.default_rng(1)
    X, U = rng.random((20, 2)), rng.random((20_000, 2))
    codes = np.arange(20) % 2
    few, all_rows = (
        measured_curvatures(X, codes, rows, 1.0, [np.arange(20)], [[samult_risk(0.5)]])[0][0]
        for rows in (U[:1000], U)
    )
    assert all_rows == pytest.approx(few, rel=0.05)


def test_of_many_labelled_rows_some_of_each_class_stand_for_all(monkeypatch):
    rng = np.random.default_rng(2)
    X, U = rng.random((600, 2)), rng.random((50, 2))
    codes = (np.arange(600) >= 590).astype(int)
    pools, risks = [np.arange(600), np.arange(0, 600, 2)], [[samult_risk(0.5)]] * 2
    exact = measured_curvatures(X, codes, U, 1.0, pools, risks)
    monkeypatch.setattr("dsgkit.trainers.curvature.MAX_LABELED_ROWS", 100)
    read = []
    monkeypatch.setattr(
        "dsgkit.trainers.curvature.kernel_named",
        lambda _: SimpleNamespace(
            gram=lambda A, *rest: read.append(len(A)) or gaussian_gram(A, *rest)
        ),
    )
    assert measured_curvatures(X, codes, U, 1.0, pools, risks) == pytest.approx(
        np.array(exact), rel=0.2
    )
    assert read == [50 + 10 + 50]


@pytest.mark.parametrize(("value", "kernel"), [(1.0, "gaussian"), (0.0, "dot_product(3)")])
def test_rows_that_are_all_equal_and_a_kernel_that_is_0_have_no_curvature(value, kernel):
    X, codes, risks = np.full((10, 2), value), np.arange(10) % 2, [[samult_risk(0.5)]]
    [[found]] = measured_curvatures(X, codes, X, 1.0, [np.arange(10)], risks, kernel)
    assert found == pytest.approx(0, abs=1e-9)
