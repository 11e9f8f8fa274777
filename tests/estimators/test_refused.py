"""What every solver refuses: values of parameters, rows, labels, folds, too little memory."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dsgkit import SAMULT
from dsgkit.data.dataset import Rows
from dsgkit.errors import DataError, MemoryLimitError
from dsgkit.estimators import inputs
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.tasks.base import depends_on
from tests.estimators.allocated import peak_of
from tests.estimators.brute_force import problem
from tests.estimators.given import SEMI_SUPERVISED
from tests.estimators.small import arrays, folds_for, made, of_task, rows_at

# a few pairs tell little at any prior: the class of each moves the risk
pytestmark = pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")

X, y, U = problem()
WRONG_ROWS = [
    ({"X_unlabeled": U[:, :2]}, None, "X_unlabeled has 2 features, .* expecting 3"),
    ({"y": y[1:]}, None, "15 labels, 16 rows"),
    ({"X_unlabeled": U[:0]}, None, "at least one row"),
    ({"y": np.ones(16)}, None, "two classes"),
    ({}, [np.flatnonzero(y > 0)], "class"),
    *(
        ({name: rows}, None, rf"^{name} must have two dimensions, got shape {shape}. Reshape your")
        for name in ("X", "X_unlabeled")
        for rows, shape in (([0.5, 1.5], r"\(2,\)"), (np.ones(2), r"\(2,\)"), (3.0, r"\(\)"))
    ),
    *(
        ({}, folds, "a fold must be an array of held-out positions in 0..15")
        for folds in ([np.arange(17)], [(np.arange(3), np.arange(3, 10))], [np.ones(2, bool)])
    ),
]


@pytest.mark.parametrize(("change", "folds", "told"), WRONG_ROWS)
@pytest.mark.parametrize("name", SEMI_SUPERVISED)
def test_rows_that_do_not_fit_together_are_refused(name, change, folds, told):
    model, training = SOLVERS[name].load()(), {"X": X, "y": y, "X_unlabeled": U} | change
    with pytest.raises(DataError, match=told):
        model.fit_points([{}], folds=folds, **training) if folds else model.fit(**training)


# rows that are kept, and streamed
@pytest.mark.parametrize(
    ("value", "n_unlabeled", "told"), [(np.nan, 30, "NaN"), (-np.inf, 3000, "an infinite value")]
)
@pytest.mark.parametrize("name", SOLVERS)
def test_rows_that_are_not_finite_are_refused_by_their_place(name, value, n_unlabeled, told):
    """A failed fit leaves the model before it."""
    training = arrays(name, n_unlabeled)
    rows, model = rows_at(training).copy(), made(name).fit(**training)
    before, sigma = model.decision_function(rows), getattr(model, "sigma_", None)
    folds = {} if name in of_task("clustering") else {"folds": folds_for(training)}
    for part in {"X", "X_unlabeled", "X_similar"} & set(training):
        if part == "X_unlabeled" and not depends_on(model, ("X_unlabeled", "y_unlabeled")):
            continue
        bad, half = training[part].copy(), len(training[part]) // 2
        bad[half:, ..., 1] = value
        place = f"[{half}, 0]" if bad.ndim == 3 else half
        text = (
            f"{part} holds {told} in row {place}, column 1 ({bad[half:, ..., 1].size:,} rows in "
            "all): remove or replace those rows"
        )
        with pytest.raises(DataError) as fitted:
            model.fit(**training | {part: bad})
        with pytest.raises(DataError) as searched:
            made(name).fit_points([{}, {}], **folds, **training | {part: bad})
        assert str(fitted.value) == str(searched.value) == text
        np.testing.assert_array_equal(model.decision_function(rows), before)
        assert getattr(model, "sigma_", None) == sigma
    rows[3, 1] = value
    text = f"X holds {told} in row 3, column 1: remove or replace that row"
    for predict in (model.decision_function, model.predict):
        with pytest.raises(DataError, match=f"^{text}$"):
            predict(rows)


NOT_FINITE = {
    "marked": (lambda rows: rows, "X holds NaN in row 45, column 2"),
    "frame": (lambda rows: pd.DataFrame(rows, columns=["a", "b", "c d"]), "column 'c d' (2 rows"),
    "sparse": (sparse.csr_array, "in row 45, column 2 (2 rows in all)"),
    "lazy": (Rows, "in row 45, column 2 (2 rows in all)"),
    "list": (np.ndarray.tolist, "in row 45, column 2 (2 rows in all)"),
}


@pytest.mark.parametrize("kind", NOT_FINITE)
@pytest.mark.parametrize("part", ["X", "X_unlabeled"])
def test_the_place_is_that_in_what_was_passed(kind, part, monkeypatch):
    """Also if rows are marked as unlabelled, and whatever rows are checked at a time."""
    monkeypatch.setattr(inputs, "BLOCK_ROWS", 40)
    (given, text), rows = NOT_FINITE[kind], problem(60, 5)[0].astype(float)
    labels, bad = np.resize([1, 0], 60), rows.copy()
    bad[[45, 50], 2] = np.nan, np.inf
    training = {"X": given(rows), "X_unlabeled": given(rows), part: given(bad)}
    if kind == "marked":
        training = {"X": given(bad)}
        labels[:: 7 if part == "X" else 3] = -1  # row 45 has this label, or not
    with pytest.raises(DataError, match=re.escape(text)):
        SAMULT().fit(y=labels, **training)


@pytest.mark.parametrize("name", [n for n, s in SOLVERS.items() if "max_memory" in s.params])
def test_what_does_not_fit_the_memory_limit_is_refused(name):
    model, training = made(name, max_memory=1e-6), arrays(name)
    is_searched = name not in of_task("clustering")
    for folds in ({}, {"folds": None}, {"folds": folds_for(training)})[: 3 if is_searched else 1]:
        with pytest.raises(MemoryLimitError, match="limit"):
            model.fit_points([{}], **folds, **training) if folds else model.fit(**training)


@pytest.mark.parametrize(
    ("endless", "most"),
    [
        (Rows(np.broadcast_to(X[:1], (10**6, 3))), 2**20),  # its kernel matrix would take 8 TB
        (sparse.csr_array((10**6, 3)), 2**23),  # three words a row would be 23 MiB
    ],
)
def test_a_fit_above_the_limit_is_refused_before_it_allocates(endless, most):
    def refused():
        with pytest.raises(MemoryLimitError, match=r"needs 745\d\.\d GiB, limit 1\.0 GiB"):
            SAMULT(max_memory=1.0).fit(X, y, endless)

    assert peak_of(refused) < most
