"""The study of the budget of support vector clustering."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from dsgkit import BSGDLMOC
from tests.scripts.conftest import invoke, numbers_of


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 20)
    return rng.normal(size=(40, 2)) / 4 + 3 * classes[:, None], classes


def test_the_best_fit_is_that_of_the_highest_nmi_on_the_grid(script, rows):
    scope = script("study_budget")
    scope["GAMMAS"][:], scope["MARGIN_C"][:] = [0.25, 2.0], [8.0, 128.0]
    fixed = {"strategy": "removal", "budget": 3, "random_state": 1}
    X, classes = rows
    best = max(
        normalized_mutual_info_score(classes, BSGDLMOC(gamma=gamma, C=C, **fixed).fit(X).labels_)
        for gamma in (0.25, 2.0)
        for C in (8.0, 128.0)
    )
    assert scope["best_fit"](BSGDLMOC, fixed, X, classes)["nmi"] == pytest.approx(best)


def test_every_method_has_a_row_in_the_means(script, rows, tmp_path):
    scope = script("study_budget")
    scope["GAMMAS"][:], scope["MARGIN_C"][:], scope["SPHERE_C"][:] = [2.0], [128.0], [0.125]
    file = tmp_path / "budget.json"
    invoke(scope["main"], "moons", "--seeds", 1, "--budget", 20, "--json", file)
    numbers = numbers_of(file)
    methods = [(row["method"], row["stop"], row["budget"]) for row in numbers["overall"]]
    assert methods[:4] == [
        ("SVC", "exact", 0),
        ("SGD-LMOC", "paper's stop", 0),
        ("BSGD-R", "paper's stop", 20),
        ("BSGD-PNN", "paper's stop", 20),
    ]
    assert len(methods) == 7
    assert numbers["means"][0]["nmi"] == pytest.approx(numbers["overall"][0]["nmi"])
