"""Findings on invented runs whose answers are known."""

import re

import numpy as np
import pytest

from dsgkit.report.findings import MAX_FINDING_LINES, findings, findings_text
from dsgkit.report.stats import contrast
from dsgkit.tasks.measures import Measure
from tests.report.runs import ERROR, make_run

LOW = [0.80, 0.82, 0.81, 0.79, 0.83]
HIGH = [0.90, 0.93, 0.91, 0.90, 0.92]
ALIKE = [0.81, 0.80, 0.82, 0.80, 0.81]
AGAINST = {"b": {"against": "a"}, "c": {"against": "a"}}


def said(run, kind):
    return [one.sentence for one in findings(run) if one.kind == kind]


LEADS = {
    "significant": (LOW, HIGH, r"^Significant difference in AUC [^:]*: B 0\.912, then A 0\.810 \("),
    "alike": (LOW, ALIKE, r"^No significant difference in AUC [^:]*: A 0\.810, then B 0\.808 \("),
    "equal": (LOW, LOW, r"^Highest AUC [^:]*: A and B, equal \(0\.810\)"),
    "rounding": ([0.1 + 0.2] * 2, [0.3] * 2, r"A and B, equal"),
    "one trial": (LOW[:1], HIGH[:1], r"^Highest .*, in one trial: B 0\.900, then A 0\.800 .*\)\.$"),
    "no variation": ([0.5] * 3, [0.7] * 3, r"^Highest .*, in every trial: B 0\.700, then A 0\.500"),
}  # fmt: skip


@pytest.mark.parametrize("case", LEADS)
def test_who_leads_and_whether_it_is_significant(case):
    a, b, told = LEADS[case]
    (sentence,) = said(make_run(a=a, b=b), "best")
    assert re.search(told, sentence), sentence
    assert "chance" not in sentence


def test_a_lead_in_the_one_common_trial_is_not_one_in_every_trial():
    late = {place: {"status": "timeout", "scores": {}} for place in [("a", 0, 0), ("b", 0, 2)]}
    (sentence,) = said(make_run(a=LOW[:3], b=HIGH[:3], records=late), "best")
    assert re.search(r"^Highest AUC on the unlabelled rows: B 0\.915, then A 0\.815 \(", sentence)


@pytest.mark.parametrize("b", [HIGH, ALIKE])
def test_a_lead_has_the_p_value_of_its_contrast(b):
    p = contrast(np.array(LOW), np.array(b)).p
    (sentence,) = said(make_run(a=LOW, b=b), "best")
    assert ("p < 0.001)" if p < 0.001 else f"p = {p:.3f})") in sentence


def test_the_best_of_errors_is_the_lowest():
    (sentence,) = said(make_run(measure=ERROR, outputs=["error_table"], a=LOW, b=HIGH), "best")
    told = "Significant difference in error: A 81.00%, then B 91.20% (+10.200 points"
    assert sentence.startswith(told)


@pytest.mark.parametrize(
    ("outputs", "words"),
    [(["auc_table"], ["AUC"]), (["f1_table", "auc_table"], ["F1", "AUC"]), ([], ["AUC", "F1"])],
)
def test_leads_are_in_the_measures_that_configs_ask_for(outputs, words):
    scores = {("a", 0, trial): {"scores": {"auc": x, "f1": x}} for trial, x in enumerate(LOW)}
    scores |= {("b", 0, trial): {"scores": {"auc": x, "f1": x}} for trial, x in enumerate(HIGH)}
    more = [Measure("f1", "F1", better="higher")]
    run = make_run(a=LOW, b=HIGH, records=scores, further=more, outputs=outputs)
    assert [re.search(r"in (\w+)", one)[1].upper() for one in said(run, "best")] == words


def test_the_lead_is_at_the_largest_size_that_two_finished():
    run = make_run(a={500: LOW, 1000: LOW, 2000: LOW}, b={500: HIGH, 1000: HIGH})
    assert "on the unlabelled rows with 1,000 of them in training" in said(run, "best")[0]


def test_what_is_told_hidden_labels_is_not_ranked():
    run = make_run(a=LOW, b=ALIKE, c=HIGH, told={"c": "the hidden labels"})
    assert "C 0" not in said(run, "best")[0]
    assert said(run, "oracle") == [
        "Not ranked, because given the hidden labels, which no user has: C (0.912)."
    ]


def test_a_measure_without_a_value_is_left_out():
    run = make_run(a=LOW, b=HIGH, further=[Measure("precision", "Precision", better="higher")])
    assert len(said(run, "best")) == 1


def test_gains_over_another_solver():
    run = make_run(a=ALIKE, b=HIGH, c=LOW, solvers=AGAINST)
    better, no = said(run, "gain")
    assert re.match(
        r"Significantly higher AUC than A, gain with 95% CI: B \+0\.1040 \[.*\]\.$", better
    )
    told = r"No significant difference in AUC from A, gain with 95% CI: C \+0\.0020 \[.*\]\.$"
    assert re.match(told, no)
    (test,) = said(run, "test")
    assert test.startswith("Paired t-tests over 5 trials, Holm-corrected for 3 tests; ")
    assert "the random draw of the labelled rows from this dataset" in test


@pytest.mark.parametrize(
    ("draws", "solvers", "n"),
    [("labelled rows", {}, 1), ("labelled rows", AGAINST, 0), ("pairs", {}, 0), ("", {}, 0)],
)
def test_a_run_without_a_baseline_cannot_say_whether_unlabelled_rows_help(draws, solvers, n):
    run = make_run(a=LOW, b=HIGH, c=ALIKE, solvers=solvers, draws=draws)
    assert sum("cannot be said" in sentence for sentence in said(run, "gain")) == n


def test_a_higher_error_is_worse():
    run = make_run(measure=ERROR, outputs=["error_table"], a=LOW, b=HIGH, solvers=AGAINST)
    (sentence,) = said(run, "gain")
    told = r"Significantly higher error than A, gain in points with 95% CI: B -10\.200 \["
    assert re.match(told, sentence), sentence


SAME_ROWS = {"draws": ""}
NEW_ROWS = {"inference": "new_rows"}


@pytest.mark.parametrize(
    ("about", "lead", "gain", "test"),
    [
        (SAME_ROWS, r" \(\+0\.1020\)\.$", r"A, gain: B \+0\.1020\.$", "use the same rows"),
        (
            *(NEW_ROWS, r" \(\+0\.1020, 95% CI .*\)\.$", r"95% CI: B \+0\.1020 \[.*\]\.$"),
            r"Intervals are about new rows.*Nadeau & Bengio 2003.*Differences are not tested",
        ),
    ],
)
def test_what_trials_cannot_show_is_not_tested(about, lead, gain, test):
    run = make_run(a=LOW, b=HIGH, solvers={"b": {"against": "a"}}, **about)
    for kind, told in (("best", lead), ("gain", gain), ("test", test)):
        (sentence,) = said(run, kind)
        assert re.search(told, sentence), sentence
    text = findings_text(run, 200)
    assert "p = " not in text and "p < " not in text and "significant" not in text.lower()


def test_trials_on_parts_of_the_rows_are_told_from_those_on_all():
    run = make_run(a={500: LOW}, b={500: HIGH}, draws="")
    assert said(run, "test") == [
        "Differences are not tested: all trials use samples of the same rows."
    ]


def test_an_unfinished_run_names_no_best():
    run = make_run(a=LOW, b=[*HIGH[:3], None, None])
    assert said(run, "progress") == [
        "So far 8 of 10 fits have run; methods are compared when all have."
    ]
    assert not said(run, "best") and not said(run, "time")
    failed = {("a", 0, 0): {"status": "failed", "message": "no", "scores": {}}}
    run = make_run(a=[0.5], records=failed)
    assert said(run, "progress") == ["No fit has finished."]


BUSY = {"timing": {"threads": 2, "slowdown": 3.0, "disturbed": True, "range": {}}}
TIMES = {"a": {500: [1.0] * 2, 1000: [2.0] * 2}, "b": {500: [4.0] * 2, 1000: [3.0] * 2}}


def test_the_fastest_is_among_undisturbed_times():
    sizes = {500: LOW[:2], 1000: LOW[:2]}
    run = make_run(a=sizes, b=sizes, seconds=TIMES)
    assert said(run, "time") == [
        "Fastest training at 1,000 unlabelled rows: A (2 s), 1.50 times as fast as B."
    ]
    times, unused = TIMES | {"c": TIMES["b"]}, {("a", 1000, 0): {"remark": "gamma = 1"}}
    (sentence,) = said(make_run(a=sizes, b=sizes, c=sizes, seconds=times, records=unused), "time")
    assert "B (3 s)" in sentence and sentence.endswith(" as C. Left out (gamma = 1): A.")
    run = make_run(a=sizes, b=sizes, seconds=TIMES, records={("b", 1000, 0): BUSY})
    (sentence,) = said(run, "time")
    assert "at 500 unlabelled rows, the largest without disturbed" in sentence
    assert "A (1 s), 4.00 times" in sentence
    every = {(key, size, t): BUSY for key in "ab" for size in sizes for t in range(2)}
    (sentence,) = said(make_run(a=sizes, b=sizes, seconds=TIMES, records=every), "time")
    assert "disturbed" in sentence and "Fastest" not in sentence


def test_each_cause_of_lost_results_is_a_sentence():
    lost = {("b", 0, t): {"status": "failed", "message": f"no {t}", "scores": {}} for t in range(2)}
    lost[("c", 0, 0)] = {
        "status": "out_of_memory",
        "message": "needs 9 GiB",
        "needed": 9,
        "scores": {},
    }
    run = make_run(a=LOW[:2], b=LOW[:2], c=LOW[:2], records=lost)
    assert said(run, "ending") == [
        "Without a result: B, trials 1..2 (2 cells): failed: no 0",
        "Without a result: C, trial 1: refused: needs 9 GiB",
    ]


GRID = {"search": [{"grid": {"lam": [0.1, 1.0, 10.0]}}]}


@pytest.mark.parametrize(("tie", "told"), [(0.7, True), (0.9, False)])
def test_grids_to_widen_unless_an_inner_value_is_as_good(tie, told):
    chosen = {("a", 0, t): {"params": {"lam": 0.1}} for t in range(2)}
    points = [{"lam": lam} for lam in (0.1, 1.0, 10.0)]
    shares = [
        {"points": points, "fold_scores": [[0.9, 0.9], [tie, tie], [0.5, 0.5]]} for _ in range(2)
    ]
    run = make_run(
        a=LOW[:2], b=LOW[:2], records=chosen, solvers={"a": GRID}, searches={"a": shares}
    )
    assert bool(said(run, "edge")) == told
    if told:
        assert said(run, "edge") == [
            "lam is at 0.1, the lower end of its grid, for A (2 of 2 searches): widen it by "
            "`dsg run CONFIG --set 'solvers.a.grid.lam=10^-2..10^1'`."
        ]


def test_they_fit_a_screen_and_the_others_are_counted():
    lost = {
        (f"s{n}", 0, 0): {"status": "failed", "message": "x" * 90 + "abcdefgh"[n], "scores": {}}
        for n in range(8)
    }
    labels = {f"s{n}": {"label": f"A long name of solver number {n}"} for n in range(8)}
    run = make_run(records=lost, solvers=labels, **{key: [0.5, 0.5] for key in labels})
    lines = findings_text(run, 40).splitlines()
    assert len(lines) <= MAX_FINDING_LINES and re.match(r"- and \d+ more", lines[-1])
