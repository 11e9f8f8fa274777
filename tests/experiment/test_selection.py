import pytest

from dsgkit.errors import FitError
from dsgkit.experiment import selection
from dsgkit.experiment.plan import Cell

SIDES = {"lam": "larger", "sigma": "smaller"}


def best_point(points, scores):
    return selection.best_point(points, scores, better="higher", smoother=SIDES)


def choose(cell, searches):
    return selection.choose(cell, searches, better="higher", smoother=SIDES)


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


FIT = Cell("fit", "samult", 0, {}, (({"lam": 1.0}, {"lam": 2.0}),), {})


def test_lower_is_better_where_the_measure_says_so():
    """Ties go to the side that is smoother."""
    points = [{"lam": 1.0}, {"lam": 2.0}, {"lam": 3.0}]
    scores = [[0.5, 0.3], [0.2, 0.2], [0.2, 0.2]]
    for better, side, lam, mean in (
        ("higher", "larger", 1.0, 0.4),
        ("higher", "smaller", 1.0, 0.4),
        ("lower", "larger", 3.0, 0.2),
        ("lower", "smaller", 2.0, 0.2),
    ):
        found = selection.best_point(points, scores, better=better, smoother={"lam": side})
        assert found == ({"lam": lam}, pytest.approx(mean))


def test_parameters_that_say_nothing_of_smoothness_do_not_decide():
    points = [{"gamma": 0.1}, {"gamma": 0.9}, {"lam": "some word", "gamma": 0.0}]
    assert best_point(points, [[0.5], [0.5], [0.5]])[0] == {"gamma": 0.1}


def test_what_earlier_stages_chose_stays():
    share = search([{"gamma": 0.0}, {"gamma": 1.0}], [[0.1], [0.2]]) | {"params": {"lam": 7.0}}
    assert choose(FIT, [share]) == {"lam": 7.0, "gamma": 1.0}
    later = search([{"lam": 1.0}], [[0.1]]) | {"params": {"lam": 7.0}}
    assert choose(FIT, [later]) == {"lam": 1.0}


def search(points, scores, status="ok", message=""):
    return {"points": points, "fold_scores": scores, "status": status, "message": message}


def test_the_choice_is_over_all_shares():
    shares = [
        search([{"lam": 1.0}], [[0.5]]),
        search([{"lam": 2.0}, {"lam": 3.0}], [[0.4], [0.9]]),
    ]
    assert choose(FIT, shares) == {"lam": 3.0}


def test_a_share_without_result_passes_on_its_status():
    refused = search([], [], "out_of_memory", "needs 9 GiB") | {"needed": 9 * 2**30}
    with pytest.raises(FitError, match="needs 9 GiB") as error:
        choose(FIT, [refused, search([{"lam": 1.0}], [[0.5]])])
    assert error.value.status == "out_of_memory"
    assert error.value.needed == 9 * 2**30


def test_a_failed_first_search_is_told_once_by_all_that_follows():
    error = selection.SearchError({"status": "failed", "message": "no way"})
    again = selection.SearchError({"status": "failed", "message": str(error)})
    assert str(error) == str(again) == "while searching: no way"


def test_no_solution_anywhere_is_a_failure():
    with pytest.raises(FitError, match="no point"):
        choose(FIT, [search([{"lam": 1.0}], [[None]])])
    warned = search([{"lam": 1.0}], [[None]]) | {"warnings": ["decision_function returned NaN"]}
    with pytest.raises(FitError, match="; the search warned: decision_function returned NaN"):
        choose(FIT, [warned])
