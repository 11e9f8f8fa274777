"""Every kind of rows and labels gives every solver the same model."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, DsgWarning
from dsgkit.estimators.catalogue import SOLVERS
from tests.estimators.brute_force import folds_of, problem
from tests.estimators.given import SEMI_SUPERVISED
from tests.estimators.small import made

COLUMNS = ["a", "b", "c"]
X, y, U = problem()
FOLDS = folds_of(len(y), 2)
KINDS = {
    "frame": lambda rows: pd.DataFrame(rows, columns=COLUMNS),
    "list": lambda rows: rows.tolist(),
    "csr": sparse.csr_matrix,
    "coo": sparse.coo_array,
    "lazy": Rows,
    "longdouble": lambda rows: rows.astype(np.longdouble),
}


@cache
def model_of(name):
    # one with a prior at which the risk has a minimum
    return made(name, **({"prior": 0.4} if "prior" in SOLVERS[name].params else {}))


@cache
def values_of_arrays(name):
    """Return the values of a fit, and those of a search."""
    training = {"X": X, "y": y, "X_unlabeled": U}
    searched = clone(model_of(name)).fit_points([{}], folds=FOLDS, **training)
    return clone(model_of(name)).fit(X, y, U).decision_function(U), searched


def assert_near(got, expected):
    np.testing.assert_allclose(got, expected, atol=1e-6 * abs(expected).max())


@pytest.mark.filterwarnings("error")  # an estimator's own rows have no names
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_rows_of_any_kind(name, kind):
    model, given, (expected, searched) = clone(model_of(name)), KINDS[kind], values_of_arrays(name)
    assert_near(model.fit(given(X), y, given(U)).decision_function(given(U)), expected)
    predicted = model.predict(given(U))
    assert predicted.dtype == y.dtype and set(predicted) <= {-1, 1}
    training = {"X": given(X), "y": list(y), "X_unlabeled": given(U)}
    assert_near(model.fit_points([{}], folds=FOLDS, **training), searched)
    if kind == "frame":
        assert model.feature_names_in_.tolist() == COLUMNS
        with pytest.raises(DataError, match="feature names"):
            model.decision_function(given(X)[["c", "b", "a"]])


LABELS = [(("no", "yes"), "?", np.asarray), ((0, 1), -1, sparse.csr_array)]
LABELS += [((2.0, 7.0), -1, np.asarray), ((False, True), None, None)]


@pytest.mark.parametrize(("labels", "mark", "given"), LABELS)
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_any_two_labels_and_marks_of_unlabelled_rows(name, labels, mark, given):
    model, named = clone(model_of(name)), np.take(labels, y > 0)
    expected, _ = values_of_arrays(name)
    np.testing.assert_array_equal(model.fit(X, named, U).decision_function(U), expected)
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(X).tolist()) <= set(labels)
    assert 0.4 < model.score(X, named) <= 1
    if given:
        together = given(np.vstack([X, U])), np.append(named, [mark] * len(U))
        model.set_params(unlabeled_label=mark).fit(*together)
        assert_near(model.decision_function(U), expected)
        assert model.classes_.tolist() == list(labels)
        # as model selection sees them, rows that are marked do not count
        assert model.score(*together) == model.score(X, named)


MARK = "y contains NaN or None, first in row 8: mark unlabelled rows by a label"
TEXT = "y holds the text '-1', and unlabeled_label is a number: set unlabeled_label='-1'"


@pytest.mark.parametrize("name", ["samult", "tsgs3vm", "svorex"])
def test_text_labels_and_marks_of_unlabelled_rows(name):
    words = np.where(y > 0, "spam", "ham").astype(object)
    words[8:] = -1
    assert made(name).fit(X, words).classes_.tolist() == ["ham", "spam"]
    for mark, told in ((None, MARK), (np.nan, MARK), (pd.NA, MARK), ("-1", TEXT)):
        words[8:] = mark
        with pytest.raises(DataError, match=told):
            made(name).fit(X, words)


@pytest.mark.parametrize("name", ["samult", "tsgs3vm", "svorex", "bsgd_lmoc"])
def test_a_column_of_text_is_named(name):
    for kind in ("category", "object", "string"):
        frame = KINDS["frame"](X).assign(kind=pd.Series(["u", "v"] * 8).astype(kind))
        with pytest.raises(DataError, match="not convert string to float: 'u', in column 'kind'"):
            SOLVERS[name].load()().fit(frame, y)


def test_numbers_and_labels_that_cannot_be_used_are_refused(tmp_path):
    long, model = X.astype(np.longdouble), made("samult")
    np.save(tmp_path / "X.npy", long)
    with pytest.raises(DataError, match=r"^X has numbers of more than 64 bits; store them as"):
        model.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y, U)
    with pytest.raises(DataError, match="X holds an infinite value in row 0, column 0"):
        model.fit(long * np.longdouble("1e4000"), y, U)
    model.fit(X, np.where(y > 0, 3, 2), U)
    with pytest.raises(DataError, match=r"does not know the labels \[4\]; it was fitted on \[2, 3"):
        model.score(X, np.where(y > 0, 4, 2))


def test_a_class_that_counts_as_unlabelled_is_told():
    rows, model = np.random.default_rng(0).random((60, 3)), SOLVERS["svorex"].load()()
    classes = np.digitize(rows[:, 0], [0.3, 0.7])
    for labels in ([-1, 0, 1], [-2, -1, 0]):
        with pytest.warns(DsgWarning, match="rows count as unlabelled, those labelled -1") as told:
            model.fit(rows, np.take(labels, classes))
        assert told[0].filename == __file__
    model.fit(rows, classes + 5)


RNG = np.random.default_rng(0)
SCALED = RNG.standard_normal((40, 3)), np.resize([0, 1], 40), RNG.standard_normal((500, 3))
UNSCALED = 20 + SCALED[2] * [0.01, 0.01, 3]


@pytest.mark.parametrize("kind", ["frame", "list", "csr"])
@pytest.mark.parametrize("name", ["samult", "svorex", "tsgs3vm"])
def test_unlabelled_rows_on_another_scale_are_told(name, kind):
    rows, labels, mixed = SCALED[0], SCALED[1], UNSCALED.copy()
    mixed[:, 0] = SCALED[2][:, 0]
    column = "'b'" if kind == "frame" else 1
    text = (
        rf"X_unlabeled is on another scale than X: the median of column {column} is 20, in X "
        r"-?0\.\d+ with a standard deviation of [01]\.\d+ \(2 such columns\): scale both alike"
    )
    model, given = SOLVERS[name].load()(max_memory=1.0, sigma=0.01), KINDS[kind]
    with pytest.warns(DsgWarning, match=text) as told:
        model.fit(given(rows), labels, given(mixed))
    assert [warning.filename for warning in told] == [__file__]
    model.fit_points([{}], X=given(rows), y=labels, X_unlabeled=given(mixed))  # not in a search
    # a pipeline scales the labelled rows alone; the warning is where it is called
    pipeline = make_pipeline(StandardScaler(), SOLVERS["constant_median"].load()())
    with pytest.warns(DsgWarning, match="on another scale") as told:
        pipeline.fit(rows + 30, labels, constantmedian__X_unlabeled=UNSCALED)
    assert told[0].filename == __file__


RATES = np.exp(RNG.normal(size=300))
SANE = {
    "few labelled rows": lambda n: 1000.0 * RNG.random((n, 1)) if n > 40 else RNG.random((19, 1)),
    "few unlabelled rows": lambda n: RNG.random((40, 1)) if n == 40 else 1000 + RNG.random((19, 1)),
    "one value": lambda n: np.full((n, 3), 0.1 if n == 40 else 7.0),
    "one value and rounding": lambda n: np.full((n, 1), 7 / n) + 1e-9 * RNG.random((n, 1)),
    "one of many": lambda n: sparse.csr_array(np.eye(300)[RNG.zipf(1.3, n) % 300]),
    "counts": lambda n: RNG.poisson(RATES, (n, 300)),
    "rare": lambda n: (RNG.random((n, 300)) < 0.02) * 1e6 + 1e-3 * RNG.random((n, 300)),
    "heavy tails": lambda n: np.exp(3 * RNG.standard_normal((n, 300))),
    "single outliers": lambda n: np.append(RNG.random((n - 9, 2)), np.full((9, 2), 1e9), axis=0),
    "a shift": lambda n: RNG.standard_normal((n, 30)) + (5 if n > 40 else 0),
    "another share": lambda n: np.eye(400)[:, :1] if n == 40 else np.ones((n, 1)),
    "read by themselves": lambda n: Rows(SCALED[0] if n == 40 else UNSCALED),
}


@pytest.mark.parametrize("kind", SANE)
def test_no_other_rows_are_told_to_be_on_another_scale(kind):
    for _ in range(5):
        rows, others = SANE[kind](40), SANE[kind](500)
        SOLVERS["constant_median"].load()().fit(rows, np.resize([0, 1], rows.shape[0]), others)
