"""Findings on made-up results whose answers are known."""

import re
from dataclasses import replace

import pytest
from scipy import stats

from dsgkit.report.contrasts import holm
from dsgkit.report.crossings import crossings
from dsgkit.report.findings import MAX_FINDING_LINES, findings, findings_text
from dsgkit.report.summary import summarise
from dsgkit.tasks.measures import SolverFacts
from tests.report.conftest import CLASSES, RANKING, UNLABELED, solver_of

LABELED_ONLY = (0.80, 0.82, 0.81, 0.79, 0.83)
BETTER = (0.90, 0.93, 0.91, 0.90, 0.92)
ALIKE = (0.81, 0.80, 0.82, 0.80, 0.81)
SIZES = {500: ALIKE, 5000: ALIKE}
TWO = {"a": {500: ALIKE}, "b": {500: BETTER}}
GRID = {"lam": [0.125, 1.0, 8.0], "gamma": [0.0, 0.5, 1.0]}


@pytest.fixture
def ranked(fits):
    """Return a function that makes results from the values of each trial by solver and size.

    Options ``seconds`` are times by solver and size, ``chosen`` parameters by solver and trial.
    """

    def make_results(values, task=RANKING, seconds=None, chosen=None, against=None):
        def fit(key, n, trial, value):
            if isinstance(value, str):
                return value
            time = (seconds or {}).get(key, {}).get(n, 1.0)
            params = (chosen or {}).get(key, [{}] * 9)[trial]
            return {task.measures[0].name: value, "times": {"fit": time}, "params": params}

        trials = {
            key: {n: [fit(key, n, t, v) for t, v in enumerate(one)] for n, one in by_size.items()}
            for key, by_size in values.items()
        }
        solvers = {
            key: solver_of(key, key.upper(), GRID, against=(against or {}).get(key))
            for key in values
        }
        return fits(trials, task=task, solvers=solvers, full=True, outputs=("auc_table",))

    return make_results


def found(results, kind):
    """Return the sentences of a kind."""
    (summary,) = summarise([results])
    return [one.sentence for one in findings(summary) if one.kind == kind]


def facts(key, **known):
    """Return the ranking task with facts on a solver."""
    return RANKING.model_copy(update={"solvers": {key: SolverFacts(**known)}})


# --- the best ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("b", "told"),
    [
        (
            BETTER,
            "B is the best at 500 unlabelled rows with a mean of 0.912, ahead of A (0.808) by "
            "0.1040, beyond chance (95% interval {low:.4f} to {high:.4f}; p < 0.001).",
        ),
        (
            LABELED_ONLY,
            "no method is ahead beyond chance at 500 unlabelled rows; the highest mean is that of "
            "B, 0.810, ahead of A (0.808) by 0.0020 (95% interval {low:.4f} to {high:.4f}; "
            "p = {p:.3f}).",
        ),
    ],
)
def test_the_best_leads_beyond_chance_or_is_not_called_so(ranked, b, told):
    test = stats.ttest_rel(b, ALIKE)
    low, high = test.confidence_interval(0.95)
    told = told.format(low=low, high=high, p=test.pvalue)
    (sentence,) = found(ranked({"a": {500: ALIKE}, "b": {500: b}}), "best")
    assert sentence == f"AUC on the unlabelled rows: {told}"


def test_the_best_of_errors_is_the_lowest(ranked):
    (sentence,) = found(ranked({"a": {500: (0.2, 0.3)}, "b": {500: (0.1, 0.12)}}, CLASSES), "best")
    assert (
        "no method is ahead beyond chance at 500 unlabelled rows; the lowest mean is that of B, "
        "11.00%, ahead of A (25.00%) by 14.000 points (95% interval "
    ) in sentence


def test_one_trial_tells_nothing_of_chance(ranked):
    results = ranked({"a": {500: (0.8,)}, "b": {500: (0.9,)}})
    assert found(results, "best")[0].endswith(
        "B has the highest value at 500 unlabelled rows, 0.900, ahead of A (0.800) by 0.1000; in "
        "one trial, so this may be chance."
    )
    assert found(results, "test") == ["One trial says nothing about chance."]


def test_equal_solvers_come_first_together(ranked):
    (sentence,) = found(ranked(TWO | {"c": {500: BETTER}}), "best")
    assert "B and C come first at 500 unlabelled rows, equal in every trial" in sentence


def test_others_that_lead_at_other_sizes_are_named(ranked):
    a = {500: BETTER, 1000: BETTER, 2000: ALIKE}
    (sentence,) = found(ranked({"a": a, "b": {500: ALIKE, 1000: ALIKE, 2000: BETTER}}), "best")
    assert "B is the best at 2,000" in sentence
    assert sentence.endswith("At other sizes others have the highest mean: A at 500 and 1,000.")


def test_nobody_is_the_best_where_hidden_labels_choose(ranked):
    oracle = RANKING.model_copy(update={"oracle": "parameters chosen with hidden labels"})
    results = ranked(TWO, oracle)
    (sentence,) = found(results, "best")
    assert "(parameters chosen with hidden labels: none is called the best): B comes" in sentence
    assert "is the best" not in sentence


def test_what_is_told_hidden_labels_is_never_the_best(ranked):
    values = {"a": {500: ALIKE}, "b": {500: LABELED_ONLY}, "bound": {500: BETTER}}
    results = ranked(values, facts("bound", told="the hidden labels"))
    assert "the highest mean is that of B" in found(results, "best")[0]
    assert found(results, "oracle") == [
        "Not compared, as given the hidden labels, which no user has: BOUND (0.912)."
    ]
    assert found(results, "time")[0].startswith(
        "Training time at 500 unlabelled rows: of the methods that are not given the hidden "
        "labels, A is the fastest"
    )


def test_no_solver_is_the_best_by_a_measure_that_cannot_say_it(ranked):
    caution = "is high for many reasons"
    measures = [replace(RANKING.measures[0], caution=caution), *RANKING.measures[1:]]
    results = ranked(TWO, RANKING.model_copy(update={"measures": measures}))
    assert found(results, "caution") == [f"The AUC {caution}."]
    (sentence,) = found(results, "best")
    assert "B comes first" in sentence and "the best" not in sentence
    assert found(ranked(TWO), "caution") == []


def test_an_unfinished_run_names_no_best(ranked, monkeypatch):
    results = ranked(TWO)
    monkeypatch.setattr("dsgkit.report.summary.Summary.to_come", "10 of 20 fits have run")
    told = "So far 10 of 20 fits have run; none is called the best before all have."
    assert found(results, "progress") == [told]
    assert found(results, "best") == []
    empty = ranked({"a": {500: ["failed"]}, "b": {500: ()}})
    assert found(empty, "progress") == ["No fit has finished."]


# --- gains ------------------------------------------------------------------------------------


def test_gains_and_losses_over_another_solver_are_corrected_together(ranked):
    worse = tuple(value - 0.1 - 0.001 * i for i, value in enumerate(LABELED_ONLY))
    trials = {"base": LABELED_ONLY, "up": BETTER, "even": ALIKE, "down": worse}
    results = ranked(
        {key: {500: one} for key, one in trials.items()},
        against=dict.fromkeys(("up", "even", "down"), "base"),
    )
    tests = [stats.ttest_rel(one, LABELED_ONLY) for one in (BETTER, ALIKE, worse)]
    (low, high), _, (lower, upper) = (one.confidence_interval(0.95) for one in tests)
    assert found(results, "gain") == [
        f"AUC, compared with BASE: UP (by 0.1020, 95% interval {low:.4f} to {high:.4f}) is better "
        f"beyond chance; DOWN (by 0.1020, 95% interval {-upper:.4f} to {-lower:.4f}) is worse "
        "beyond chance; EVEN does not differ beyond chance."
    ]
    assert found(results, "test") == [
        "Chance: paired t-tests over the trials at the 5% level; p-values are adjusted (Holm) "
        "for 1 test of leads and for 3 tests of gains, as in their table."
    ]
    assert [p < 0.05 for p in holm([one.pvalue for one in tests])] == [True, False, True]


def test_gains_have_the_p_values_of_their_table(ranked):
    """A gain at the largest size is corrected for those at all sizes, wherever it is told."""
    slight = tuple(x + gain / 100 for x, gain in zip(LABELED_ONLY, (3, 1, 4, 2, 1), strict=True))
    p = stats.ttest_rel(slight, LABELED_ONLY).pvalue
    assert p < 0.05 < 10 * p
    for n, told in ((1, "is better beyond chance"), (10, "does not differ")):
        sizes = range(100, 100 * n + 1, 100)
        values = {"base": dict.fromkeys(sizes, LABELED_ONLY), "up": dict.fromkeys(sizes, slight)}
        (sentence,) = found(ranked(values, against={"up": "base"}), "gain")
        assert told in sentence


def test_on_an_axis_of_what_is_drawn_every_size_is_compared(ranked):
    drawn = RANKING.model_copy(update={"axis": UNLABELED.model_copy(update={"drawn": True})})
    values = {
        "base": {20: LABELED_ONLY, 50: LABELED_ONLY, 100: BETTER},
        "a": {20: BETTER, 50: BETTER, 100: BETTER[::-1]},
    }
    (sentence,) = found(ranked(values, drawn, against={"a": "base"}), "gain")
    assert "compared with BASE: A at 20 and 50 (by 0.1020, 95% interval " in sentence
    assert sentence.endswith(") is better beyond chance.")


# --- times ------------------------------------------------------------------------------------


def test_lines_cross_where_the_logarithms_do():
    # t = n / 100 and t = 1000 / n are equal at n = sqrt(100,000)
    up, down = ({n: f(n) for n in (100, 1000)} for f in (lambda n: n / 100, lambda n: 1000 / n))
    assert crossings(up, down) == pytest.approx([100_000**0.5])
    assert crossings(up, {n: 2 * t for n, t in up.items()}) == []
    assert crossings(up, {100: 1.0, 1000: 20.0}) == []  # they touch


def test_the_fastest_and_where_times_cross(ranked):
    seconds = {
        "main": {500: 1.0, 5000: 10.0},
        "cubic": {500: 0.1, 5000: 100.0},
        "quick": {500: 0.2, 5000: 0.5},
        "slow": {500: 2.0, 5000: 20.0},
    }
    results = ranked(dict.fromkeys(seconds, SIZES), seconds=seconds)
    assert found(results, "time") == [
        "Training time at 5,000 unlabelled rows: of all methods, QUICK is the fastest (0.5 s), "
        "20 times as fast as MAIN."
    ]
    # 0.1 (n / 500)^3 = n / 500 at n = 500 sqrt(10)
    assert found(results, "crossing") == [
        "MAIN trains faster than CUBIC from about 1,600 unlabelled rows on; more slowly than QUICK "
        "at every number of unlabelled rows; faster than SLOW at every number of unlabelled rows."
    ]


def test_times_of_methods_without_the_swept_rows_are_told_apart(ranked, make):
    quick = "quick, labelled rows"
    seconds = {"main": {500: 1.0, 5000: 2.0}, "other": {500: 2.0, 5000: 6.0}}
    seconds[quick] = {500: 0.002, 5000: 0.002}
    results = ranked(dict.fromkeys(seconds, SIZES), seconds=seconds)
    level = [
        record
        | (
            {"also_at": [500]}
            if (record["solver"], record["at"]["unlabeled"]) == (quick, 5000)
            else {}
        )
        for record in results.records
    ]
    apart = (
        "of the methods that use unlabelled rows, MAIN is the fastest (2 s), 3.00 times as fast "
        'as OTHER; of all methods, "QUICK, LABELLED ROWS" is the fastest (2 ms)'
    )
    for records, told in (
        (
            results.records,
            'of all methods, "QUICK, LABELLED ROWS" is the fastest (2 ms), 1,000 times as fast as '
            "MAIN.",
        ),
        (level, f"{apart}."),
    ):
        (sentence,) = found(make(results.experiment, records, results.task), "time")
        assert sentence == f"Training time at 5,000 unlabelled rows: {told}"


def test_a_trivial_prediction_is_not_called_the_fastest(ranked):
    seconds = {"main": {500: 1.0}, "other": {500: 2.0}, "constant_median": {500: 0.001}}
    results = ranked({key: {500: [0.8, 0.8]} for key in seconds}, seconds=seconds)
    assert found(results, "time") == [
        "Training time at 500 unlabelled rows: of the methods that are not trivial, MAIN is the "
        "fastest (1 s), 2.00 times as fast as OTHER."
    ]


def test_nothing_is_claimed_from_disturbed_times(ranked, make):
    seconds = {"main": {500: 1.0, 5000: 9.0}, "other": {500: 2.0, 5000: 6.0}}
    results = ranked(dict.fromkeys(seconds, SIZES), seconds=seconds)
    timing = {"range": {"fit": (1.0, 4.0)}, "threads": 2, "slowdown": 3.0, "disturbed": True}

    def told(sizes, threads=2):
        records = [
            one
            | (
                {"timing": timing | {"threads": threads}}
                if one["trial"] == 0 and one["at"]["unlabeled"] in sizes
                else {}
            )
            for one in results.records
        ]
        again = make(results.experiment, records, results.task)
        return found(again, "time"), found(again, "crossing")

    kept = (
        "Training time: times at 5,000 unlabelled rows were disturbed and are not compared.",
        "Training time at 500 unlabelled rows: of all methods, MAIN is the fastest (1 s), 2.00 "
        "times as fast as OTHER.",
    )
    none = ["Training time: times were disturbed and are not compared."]
    assert told((500, 5000)) == (none, [])
    assert told((5000,)) == (list(kept), [])
    both = told((500, 5000), threads=1)  # processor time
    assert both == told(()) and "is the fastest" in both[0][0] and len(both[1]) == 1


# --- endings and choices ----------------------------------------------------------------------


def test_each_cause_of_lost_results_is_a_line(ranked):
    values = {"a": {500: ALIKE, 5000: ["timeout"] * 5}, "b": {500: ("failed", *BETTER[1:])}}
    assert found(ranked(values), "ending") == [
        "Without a result: A, trials 1..5, 5,000 unlabelled (5 cells): timeout",
        "Without a result: B, trial 1, 500 unlabelled: failed",
    ]


def test_choices_at_an_edge_say_what_to_widen(ranked):
    chosen = {
        "a": [{"lam": 8.0, "gamma": 1.0}] * 3 + [{"lam": 1.0, "gamma": 1.0}] * 2,
        "b": [{"lam": 0.125, "gamma": 0.5}] * 2 + [{"lam": 1.0, "gamma": 0.5}] * 3,
    }
    limited = facts("a", ends={"gamma": (0.0, 1.0), "lam": (None, None)})
    assert found(ranked(TWO, limited, chosen=chosen), "edge") == [
        "lam is at 8, the upper end of its grid, for A (3 of 5 trials): widen it upwards."
    ]
    assert any("gamma is at 1" in one for one in found(ranked(TWO, chosen=chosen), "edge"))


@pytest.mark.parametrize(("first", "count"), [(None, 5), (0, 0), (2, 4)])
def test_a_choice_at_an_edge_that_another_value_equals_is_no_reason_to_widen(
    ranked, make, first, count
):
    results = ranked(TWO, chosen={"a": [{"lam": 8.0}] * 5})
    # the last two have other values of which none is as good as the chosen one
    scores = [[[1.0, 1.0], [1.0, 1.0]]] * 3
    scores += [[[0.9, 1.0], [1.0, 1.0]], [[None, 1.0], [1.0, 1.0]]]
    points = [{"lam": 1.0}, {"lam": 8.0}]
    own = [record for record in results.records if record["solver"] == "a"]
    searches = [
        record | {"kind": "search", "points": points, "fold_scores": of_folds}
        for record, of_folds in zip(own, scores, strict=True)
    ]
    kept = [] if first is None else searches[first:]
    told = f"lam is at 8, the upper end of its grid, for A ({count} of 5 trials): widen it upwards."
    made = make(results.experiment, [*kept, *results.records], results.task)
    assert found(made, "edge") == [told] * bool(count)


# --- where they are shown ---------------------------------------------------------------------


def test_they_fit_a_screen_and_the_others_are_counted(ranked, monkeypatch):
    values = {
        f"solver_with_a_long_name_{i}": {500: ALIKE, 2000: ALIKE[i:] + ALIKE[:i]} for i in range(5)
    } | {"a": {10: ["failed"], 20: ["timeout"], 500: BETTER, 2000: BETTER}}
    results = ranked(values)
    lines = findings_text(results, 80).splitlines()
    assert lines[0] == "Findings on codrna:" and lines[1].startswith("- AUC")
    assert len(lines) <= MAX_FINDING_LINES and max(map(len, lines)) <= 80
    monkeypatch.setattr("dsgkit.report.findings.MAX_FINDING_LINES", 4)
    assert re.fullmatch(
        r"- and \d more, on the page of `dsg report`", findings_text(results, 80).splitlines()[-1]
    )
