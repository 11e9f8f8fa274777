"""Choosing hyper-parameters by the scores of a search."""

import pytest

from dsgkit.errors import FitError
from dsgkit.experiment import plan
from dsgkit.experiment.plan import Cell

SIDES = {"lam": "larger", "sigma": "smaller"}
FIT = Cell("k", "fit", "samult", 0, {}, stages=(({"lam": 1.0}, {"lam": 2.0}),))


def best_point(points, scores, better="higher", smoother=SIDES):
    found = plan.best_point(points, scores, better, smoother)
    return found and found[0]


def choose(*searches):
    return plan.choose(FIT, searches, "higher", SIDES)


def search(points, scores, **more):
    return {"points": points, "fold_scores": scores, "status": "ok", "message": "", **more}


def test_the_best_mean_over_the_folds_that_count_wins():
    points = [{"lam": i} for i in range(4)]
    assert best_point(points, [[0.5, 0.6], [0.9, 0.7], [0.8, 0.7], [0.7, 0.8]]) == {"lam": 1}
    best = plan.best_point(points, [[None], [0.2], [None], [0.1]], "higher", {})
    assert best == ({"lam": 1}, pytest.approx(0.2))
    assert best_point(points[:2], [[None], [None]]) is None
    # no point has a score on the second fold; the others lack one on a fold that counts
    scores = [[1.0, None, None], [None, None, 0.9], [0.7, None, 0.6]]
    assert best_point(points[:3], scores) == {"lam": 2}
    assert best_point(points[:2], scores[:2]) is None


def test_ties_go_to_the_smoother_function_whatever_the_order():
    points = [{"lam": lam, "sigma": sigma} for lam in (1.0, 2.0) for sigma in (4.0, 0.5)]
    scores = [[0.9, 0.8 + 1e-15 * k] for k in range(4)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        chosen = best_point([points[k] for k in order], [scores[k] for k in order])
        assert chosen == {"lam": 2.0, "sigma": 0.5}
    words = [{"lam": "some word", "sigma": 1.0}, {"lam": 0.0, "sigma": 0.5}, {"lam": "a word"}]
    assert best_point(words, [[0.5]] * 3) == {"lam": "a word"}, "a word counts as 0"
    assert best_point([{"gamma": 1}, {"gamma": 2}], [[0.5]] * 2) == {"gamma": 1}, "the first"


def test_lower_is_better_where_the_measure_says_so():
    points, scores = (
        [{"lam": 1.0}, {"lam": 2.0}, {"lam": 3.0}],
        [[0.5, 0.3], [0.2, 0.2], [0.2, 0.2]],
    )
    assert best_point(points, scores, "higher") == {"lam": 1.0}
    assert best_point(points, scores, "lower", {"lam": "larger"}) == {"lam": 3.0}
    assert best_point(points, scores, "lower", {"lam": "smaller"}) == {"lam": 2.0}


def test_the_choice_is_over_all_shares_and_what_earlier_stages_chose_stays():
    one = search([{"lam": 1.0}], [[0.5]], params={"gamma": 7.0})
    other = search([{"lam": 2.0}, {"lam": 3.0}], [[0.4], [0.9]], params={"gamma": 7.0})
    assert choose(one, other) == {"gamma": 7.0, "lam": 3.0}
    assert choose(search([{"lam": 1.0}], [[0.1]], params={"lam": 7.0})) == {"lam": 1.0}
    assert choose() == {"lam": 1.0}, "without a search there is one point"


def test_a_share_without_result_passes_on_its_status_and_no_solution_is_a_failure():
    refused = {"status": "out_of_memory", "message": "needs 9 GiB", "needed": 9 * 2**30}
    for message in ("needs 9 GiB", "while searching: needs 9 GiB"):
        with pytest.raises(FitError, match=r"^while searching: needs 9 GiB$") as error:
            choose(refused | {"message": message}, search([{"lam": 1.0}], [[0.5]]))
        assert (error.value.status, error.value.needed) == ("out_of_memory", 9 * 2**30)
    with pytest.raises(FitError, match=r"no point .* on every fold$"):
        choose(search([{"lam": 1.0}], [[None]]))
