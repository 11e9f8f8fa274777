"""What all estimators from similar pairs have in common: inputs, priors, predictions.

Scikit-learn's checks of estimators are left out: they call ``fit(X, y)``.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, DsgWarning, FitError
from dsgkit.solvers.similar import prior as priors
from dsgkit.solvers.similar.prior import label_noise
from dsgkit.solvers.similar.rff_su_sl import RFFSUSL
from dsgkit.solvers.similar.su_dh import SUDH
from dsgkit.solvers.similar.su_sl import SUSL
from tests.solvers.similar.problems import su_problem

SOLVERS = {
    "su_sl": SUSL(prior=0.85),
    "linear": SUSL(kernel="linear", prior=0.85),
    "rff_su_sl": RFFSUSL(n_features=30, prior=0.85),
    "su_dh": SUDH(n_centers=15, prior=0.85),
}
KINDS = {
    "frame": lambda rows: pd.DataFrame(rows, columns=["a", "b", "c"]),
    "list": lambda rows: rows.tolist(),
    "csr": sparse.csr_matrix,
    "lazy": Rows,
}


@pytest.fixture(params=SOLVERS)
def model(request):
    return clone(SOLVERS[request.param])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_kind(model, kind):
    pairs, U, _ = su_problem()
    given = KINDS[kind]
    expected = model.fit(pairs, U).decision_function(U)
    got = clone(model).fit(pairs.tolist(), given(U)).decision_function(given(U))
    np.testing.assert_allclose(got, expected, atol=1e-5 * abs(expected).max())
    if kind in ("frame", "csr"):
        halves = [given(pairs[:, half]) for half in (0, 1)]
        got = clone(model).fit(halves, given(U)).decision_function(given(U))
        np.testing.assert_allclose(got, expected, atol=1e-5 * abs(expected).max())


def test_pairs_that_are_none_are_refused():
    pairs, U, _ = su_problem()
    for wrong in (pairs.reshape(150, 6), pairs[:0], pairs.transpose(1, 0, 2), 3, None):
        with pytest.raises(DataError, match=r"X_similar must hold pairs of rows, shape \(n_sim"):
            SUSL(prior=0.8).fit(wrong, U)
    with pytest.raises(DataError, match="X_similar has 2 features, but X_unlabeled has 3"):
        SUSL(prior=0.8).fit(pairs[..., :2], U)
    pairs[3, 1, 2] = np.nan
    with pytest.raises(DataError, match="NaN or infinite"):
        SUSL(prior=0.8).fit(pairs, U)


@pytest.mark.parametrize("prior", [0.5, 0.5 + 9e-7, 0.5 - 9e-7])
def test_a_prior_of_one_half_is_refused_with_the_reason(prior):
    pairs, U, _ = su_problem()
    with pytest.raises(DataError, match=r"differ from 1/2 by more than 1e-06.*2 prior - 1 = 0"):
        SUSL(prior=prior).fit(pairs, U)
    with pytest.raises(DataError, match="differ from 1/2"):
        SUSL().fit_points([{"prior": prior}], folds=[], X_similar=pairs, X_unlabeled=U)


def test_a_prior_near_one_half_warns_of_noise():
    """The noise is the spread of the risk of the best classifier over labels drawn anew."""
    rng, prior, n_similar, n_unlabeled = np.random.default_rng(0), 0.6, 500, 800
    q, scale = prior**2 / 0.52, 2 * prior - 1
    signs = 2 * (rng.binomial(n_similar, q, 20000) / n_similar) - 1  # mean sign of pairs
    shares = rng.binomial(n_unlabeled, prior, 20000) / n_unlabeled
    # zero-one risk of a perfect classifier: of pairs -0.52/scale each sign, of rows by class
    risks = -0.52 / scale * signs + (prior * shares - (1 - prior) * (1 - shares)) / scale
    assert label_noise(prior, n_similar, n_unlabeled) == pytest.approx(risks.std(), rel=0.02)
    pairs, U, _ = su_problem()
    with pytest.warns(DsgWarning, match="prior 0.55 is so close to 1/2"):
        SUSL(prior=0.55).fit(pairs, U)
    with pytest.warns(DsgWarning) as caught:
        SUSL().fit_points(
            [{"prior": 0.55, "lam": lam} for lam in (1, 2)],
            folds=[(np.arange(3), np.arange(3)), (np.arange(4, 6), np.arange(0))],
            X_similar=pairs,
            X_unlabeled=U,
        )
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SUSL(prior=0.15).fit(pairs, U)


def test_an_estimated_prior_is_kept(monkeypatch):
    pairs, U, _ = su_problem()
    monkeypatch.setattr(
        priors,
        "checked_similar_prior",
        lambda pairs, _: (0.8 if len(pairs) == 150 else 0.5, (0.7, 0.9)),
    )
    model = SUSL().fit(pairs, U)
    assert model.prior == "estimate" and model.prior_ == 0.8
    assert model.prior_interval_ == (0.7, 0.9)
    same = SUSL(prior=0.8).fit(pairs, U)
    assert same.prior_interval_ is None
    np.testing.assert_array_equal(model.decision_function(U), same.decision_function(U))
    with pytest.raises(FitError, match="the estimated prior is 1/2"):
        SUSL().fit(pairs[:9], U)


@pytest.mark.parametrize("folds", [[np.arange(3)], [(np.arange(3), [10**6])], [1], [([0.5], [1])]])
def test_folds_that_are_no_positions_of_pairs_and_rows_are_refused(folds):
    pairs, U, _ = su_problem()
    with pytest.raises(DataError, match="a fold must be"):
        SUSL(prior=0.85).fit_points([{}], folds=folds, X_similar=pairs, X_unlabeled=U)
