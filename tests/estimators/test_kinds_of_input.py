"""Every kind of rows and labels gives every solver the same model."""

import warnings
from contextlib import nullcontext
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, DsgWarning
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import folds_of, problem
from tests.estimators.fingerprints import PARAMS
from tests.estimators.given import SEMI_SUPERVISED

COLUMNS = ["a", "b", "c"]

KINDS = {
    "frame": lambda rows: pd.DataFrame(rows, columns=COLUMNS),
    "list": lambda rows: rows.tolist(),
    "csr": sparse.csr_matrix,
    "coo": sparse.coo_array,
    "lazy": Rows,
    "longdouble": lambda rows: rows.astype(np.longdouble),
}


def make(name):
    params = PARAMS[name]
    if "prior" in params:  # one with which the risk has a minimum
        params = {**params, "prior": 0.4}
    return SOLVERS[name].load()(**params)


@cache
def values_of_arrays(name):
    """Return the values of a fit, and those of a search."""
    X, y, U = problem()
    training = {"X": X, "y": y, "X_unlabeled": U}
    searched = make(name).fit_points([{}], folds=folds_of(len(y), 2), **training)
    return make(name).fit(X, y, U).decision_function(U), searched


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_rows_of_any_kind(name, kind):
    X, y, U = problem()
    model, given, (expected, searched) = make(name), KINDS[kind], values_of_arrays(name)
    got = model.fit(given(X), y, given(U)).decision_function(given(U))
    np.testing.assert_allclose(got, expected, atol=1e-6 * abs(expected).max())
    predicted = model.predict(given(U))
    assert predicted.dtype == y.dtype
    assert set(predicted) <= {-1, 1}
    training = {"X": given(X), "y": list(y), "X_unlabeled": given(U)}
    again = model.fit_points([{}], folds=folds_of(len(y), 2), **training)
    np.testing.assert_allclose(again, searched, atol=1e-6 * abs(searched).max())


def test_numbers_of_more_than_64_bits_on_disk_are_refused(tmp_path):
    X, y, U = problem()
    np.save(tmp_path / "X.npy", X.astype(np.longdouble))
    with pytest.raises(DataError, match=r"^X has numbers of more than 64 bits; store them as"):
        make("samult").fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y, U)


def test_numbers_beyond_64_bits_are_infinite():
    X, y, U = problem()
    with pytest.raises(DataError, match="X holds an infinite value in row 0, column 0"):
        make("samult").fit(X.astype(np.longdouble) * np.longdouble("1e4000"), y, U)


@pytest.mark.parametrize(
    ("labels", "mark", "given"),
    [
        (("no", "yes"), "?", np.asarray),
        ((0, 1), -1, sparse.csr_array),
        ((2.0, 7.0), -1, np.asarray),
        ((False, True), None, None),
    ],
)
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_any_two_labels_and_marks_of_unlabelled_rows(name, labels, mark, given):
    X, y, U = problem()
    model, expected, named = make(name), values_of_arrays(name)[0], np.take(labels, y > 0)
    fitted = model.fit(X, named, U)
    np.testing.assert_array_equal(fitted.decision_function(U), expected)
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(X).tolist()) <= set(labels)
    assert 0.4 < model.score(X, named) <= 1
    if given:
        together = given(np.vstack([X, U])), np.append(named, [mark] * len(U))
        values = model.set_params(unlabeled_label=mark).fit(*together).decision_function(U)
        np.testing.assert_allclose(values, expected, atol=1e-6 * abs(expected).max())
        assert model.classes_.tolist() == list(labels)


@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_names_of_columns_are_kept_and_compared(name):
    model = make(name)
    X, y, U = (KINDS["frame"](rows) if rows.ndim == 2 else rows for rows in problem())
    model.fit(X, y, U)
    assert model.feature_names_in_.tolist() == COLUMNS
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the estimator's own rows have no names
        model.predict(X)
    with pytest.raises(DataError, match="feature names"):
        model.decision_function(X[["c", "b", "a"]])


@pytest.mark.parametrize("name", ["samult", "bgs3vm"])
def test_unlabelled_rows_do_not_count_in_the_score(name):
    """What model selection with rows of -1 among the labels sees."""
    X, y, U = problem()
    model = SOLVERS[name].load()().fit(X, np.where(y > 0, 3, 2), U)
    hidden = np.where(np.arange(len(X)) % 3, np.where(y > 0, 3, 2), -1)
    labeled = hidden != -1
    assert model.score(X, hidden) == model.score(X[labeled], hidden[labeled])
    with pytest.raises(DataError, match=r"does not know the labels \[4\]; it was fitted on \[2, 3"):
        model.score(X, np.where(y > 0, 4, 2))


MARK_BY_TEXT = "y contains NaN or None, first in row 15: mark unlabelled rows by a label"


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        (-1, None),
        (None, MARK_BY_TEXT),
        (np.nan, MARK_BY_TEXT),
        (pd.NA, MARK_BY_TEXT),
        ("-1", "y holds the text '-1', and unlabeled_label is a number: set unlabeled_label='-1'"),
    ],
)
@pytest.mark.parametrize("name", ["samult", "tsgs3vm", "svorex"])
def test_text_labels_and_marks_of_unlabelled_rows(name, mark, text):
    X, y, _ = problem(30, 5, 3)
    words = np.where(y > 0, "spam", "ham").astype(object)
    words[15:] = mark
    if text is None:
        assert make(name).fit(X, words).classes_.tolist() == ["ham", "spam"]
    else:
        with pytest.raises(DataError, match=text):
            make(name).fit(X, words)


@pytest.mark.parametrize("name", ["samult", "tsgs3vm", "svorex", "bsgd_lmoc"])
@pytest.mark.parametrize("kind", ["category", "object", "string"])
def test_a_column_of_text_is_named(name, kind):
    X, y, _ = problem(30, 5, 3)
    frame = pd.DataFrame(X, columns=COLUMNS).assign(kind=pd.Series(["u", "v"] * 15).astype(kind))
    with pytest.raises(DataError, match="could not convert string to float: 'u', in column 'kind'"):
        SOLVERS[name].load()().fit(frame, y)


@pytest.mark.parametrize(
    ("labels", "warned"), [((-1, 0, 1), True), ((-2, -1, 0), True), ((5, 6, 7), False)]
)
def test_a_class_that_counts_as_unlabelled_is_told(labels, warned):
    X = np.random.default_rng(0).random((60, 3))
    y = np.array(labels)[np.digitize(X[:, 0], [0.3, 0.7])]
    with pytest.warns(DsgWarning) if warned else nullcontext() as told:
        SOLVERS["svorex"].load()().fit(X, y)
    if warned:
        assert "rows count as unlabelled, those labelled -1" in str(told[0].message)
        assert told[0].filename == __file__


RNG = np.random.default_rng(0)
SCALED = RNG.standard_normal((40, 3)), np.resize([0, 1], 40), RNG.standard_normal((500, 3))
UNSCALED = 20 + SCALED[2] * [0.01, 0.01, 3]


@pytest.mark.parametrize("kind", ["frame", "list", "csr"])
@pytest.mark.parametrize("name", ["samult", "svorex", "tsgs3vm"])
def test_unlabelled_rows_on_another_scale_are_told(name, kind):
    X, y, U = SCALED
    mixed = np.column_stack([U[:, 0], UNSCALED[:, 1:]])
    column = "'b'" if kind == "frame" else 1
    text = (
        rf"X_unlabeled is on another scale than X: the median of column {column} is 20, in X "
        r"-?0\.\d+ with a standard deviation of [01]\.\d+ \(2 such columns\): scale both alike"
    )
    with pytest.warns(DsgWarning, match=text) as told:
        SOLVERS[name].load()(max_memory=1.0, sigma=0.01).fit(KINDS[kind](X), y, KINDS[kind](mixed))
    assert [warning.filename for warning in told] == [__file__]


def test_rows_that_a_pipeline_does_not_scale_are_told_where_it_is_called():
    X, y, _ = SCALED
    with pytest.warns(DsgWarning, match="on another scale") as told:
        pipeline = make_pipeline(StandardScaler(), SOLVERS["constant_median"].load()())
        pipeline.fit(X + 30, y, constantmedian__X_unlabeled=UNSCALED)
    assert told[0].filename == __file__


RATES = np.exp(RNG.normal(size=300))


def one_of_many(n):
    return sparse.csr_array(np.eye(300)[RNG.zipf(1.3, n) % 300])


SANE = {
    "few labelled rows": lambda n: 1000.0 * RNG.random((n, 1)) if n > 40 else RNG.random((19, 1)),
    "few unlabelled rows": lambda n: RNG.random((40, 1)) if n == 40 else 1000 + RNG.random((19, 1)),
    "one value": lambda n: np.full((n, 3), 0.1 if n == 40 else 7.0),
    "one value and rounding": lambda n: np.full((n, 1), 7 / n) + 1e-9 * RNG.random((n, 1)),
    "one of many": one_of_many,
    "counts": lambda n: RNG.poisson(RATES, (n, 300)),
    "rare": lambda n: (RNG.random((n, 300)) < 0.02) * 1e6 + 1e-3 * RNG.random((n, 300)),
    "heavy tails": lambda n: np.exp(3 * RNG.standard_normal((n, 300))),
    "single outliers": lambda n: np.append(RNG.random((n - 9, 2)), np.full((9, 2), 1e9), axis=0),
    "a shift": lambda n: RNG.standard_normal((n, 30)) + (6 if n > 40 else 0),
    "another share": lambda n: np.eye(400)[:, :1] if n == 40 else np.ones((n, 1)),
    "read by themselves": lambda n: Rows(SCALED[0] if n == 40 else UNSCALED),
}


@pytest.mark.parametrize("kind", SANE)
def test_no_other_rows_are_told_to_be_on_another_scale(kind):
    for _ in range(5):
        X, U = SANE[kind](40), SANE[kind](500)
        SOLVERS["constant_median"].load()().fit(X, np.resize([0, 1], X.shape[0]), U)


def test_a_search_does_not_compare_scales():
    X, y, U = SCALED[0], SCALED[1], UNSCALED
    SOLVERS["samult"].load()(sigma=0.01).fit_points([{}], X=X, y=y, X_unlabeled=U)
