import numpy as np
import pytest

from dsgkit.errors import FitError
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.runner import choose
from dsgkit.experiment.selection import best_point, fold_scores


def test_scores_are_the_share_of_ordered_pairs_in_each_fold():
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 30)
    values = rng.integers(0, 6, (4, 30)).astype(float)  # with ties
    folds = np.array_split(rng.permutation(30), 3)
    scores = fold_scores(values, y, folds)
    for row, got in zip(values, scores, strict=True):
        for fold, score in zip(folds, got, strict=True):
            p, n = row[fold][y[fold] == 1], row[fold][y[fold] == -1]
            wins = [(a > b) + 0.5 * (a == b) for a in p for b in n]
            assert score == pytest.approx(np.mean(wins))


def test_a_fold_of_one_class_and_a_point_without_solution_have_no_score():
    y = np.array([1, 1, 1, -1])
    folds = [np.array([0, 1]), np.array([2, 3])]
    values = np.array([[1.0, 2, 3, 0], [1.0, 2, np.nan, np.nan]])
    assert fold_scores(values, y, folds) == [[None, 1.0], [None, None]]


def test_the_best_mean_wins():
    points = [{"lam": i} for i in range(4)]
    assert best_point(points, [[0.5, 0.6], [0.9, 0.7], [0.8, 0.7], [0.7, 0.8]]) == (
        {"lam": 1},
        pytest.approx(0.8),
    )
    assert best_point(points, [[None], [0.2], [None], [0.1]])[0] == {"lam": 1}
    assert best_point(points[:2], [[None], [None]]) is None


def test_a_point_must_have_a_solution_on_every_fold_that_counts():
    points = [{"eta": -1.0}, {"eta": 0.0}, {"eta": 1.0}]
    scores = [[1.0, None, None], [None, None, 0.9], [0.7, None, 0.6]]
    assert best_point(points, scores) == ({"eta": 1.0}, pytest.approx(0.65))
    assert best_point(points[:2], scores[:2]) is None


def test_ties_go_to_the_smoother_function_whatever_the_order():
    points = [{"lam": lam, "sigma": sigma} for lam in (1.0, 2.0) for sigma in (4.0, 0.5)]
    scores = [[0.9, 0.8 + 1e-15 * k] for k in range(4)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        chosen = best_point([points[k] for k in order], [scores[k] for k in order])
        assert chosen[0] == {"lam": 2.0, "sigma": 0.5}


FIT = Cell("fit", "samult", 0, 10, ({"lam": 1.0}, {"lam": 2.0}))


def search(points, scores, status="ok", message=""):
    return {"points": points, "fold_scores": scores, "status": status, "message": message}


def test_the_choice_is_over_all_shares():
    shares = [
        search([{"lam": 1.0}], [[0.5]]),
        search([{"lam": 2.0}, {"lam": 3.0}], [[0.4], [0.9]]),
    ]
    assert choose(FIT, shares) == {"lam": 3.0}


def test_a_grid_of_one_point_needs_no_search():
    assert choose(Cell("fit", "samult", 0, 10, ({},)), []) == {}


def test_a_share_without_result_passes_on_its_status():
    refused = search([], [], "out_of_memory", "needs 9 GiB") | {"needed": 9 * 2**30}
    with pytest.raises(FitError, match="needs 9 GiB") as error:
        choose(FIT, [refused, search([{"lam": 1.0}], [[0.5]])])
    assert error.value.status == "out_of_memory"
    assert error.value.needed == 9 * 2**30


def test_no_solution_anywhere_is_a_failure():
    with pytest.raises(FitError, match="no point"):
        choose(FIT, [search([{"lam": 1.0}], [[None]])])
