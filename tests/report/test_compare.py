"""Comparing two runs: numbers against scipy, what the answer says, and what cannot be compared."""

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dsgkit.errors import ResultsError
from dsgkit.report.compare import answer, compare, comparison_text, write_comparison
from dsgkit.tasks.measures import Axis
from tests.report.runs import AUC, ERROR, make_run

A = {500: [0.8, 0.82, 0.81, 0.79, 0.83], 1000: [0.82, 0.85, 0.83, 0.8, 0.84]}
B = {500: [0.9, 0.93, 0.91, 0.9, 0.92], 1000: [0.92, 0.93, 0.9, 0.92, 0.91]}
HASH = {"content_hash": "same"}


def runs(a, b, **parts):
    """Return run A and run B with the values of solver `x`, or of several by key."""
    values = (one if isinstance(one, dict) and "x" in one else {"x": one} for one in (a, b))
    return [
        make_run(name, data=HASH, **parts, **one) for name, one in zip("ab", values, strict=True)
    ]


def with_settings(run, **settings):
    """Return a run of a config with other entries: its own, or of the protocol."""
    data = run.experiment.model_dump()
    for name, value in settings.items():
        (data if name in data else data["protocol"])[name] = value
    protocol = type(run.experiment.protocol)(**data.pop("protocol"))
    return replace(run, experiment=type(run.experiment)(**data, protocol=protocol))


def with_machine(run, folder, **machine):
    """Return a run whose environment is stored in a folder."""
    folder = folder / run.title
    (folder / "environments").mkdir(parents=True)
    about = {"processor": "p", "threads": 1, **machine}
    (folder / "environments" / "e.json").write_text(json.dumps(about))
    return replace(run, folder=folder)


@pytest.mark.parametrize("measure", [AUC, ERROR])
def test_solvers_are_compared_at_the_largest_common_size(measure):
    found = compare(*runs(A, {500: B[500]}, measure=measure))
    (effect,) = found.effects[measure]
    expected = stats.ttest_rel(B[500], A[500])
    assert (effect.size, [*effect.a], [*effect.b]) == (500, A[500], B[500])
    assert (effect.contrast.p, effect.holm) == pytest.approx((expected.pvalue,) * 2)


def test_times_are_compared_by_their_ratio():
    times = [1.0, 2.0, 1.5], [2.0, 4.5, 2.5]
    sides = [
        make_run(n, data=HASH, x=[0.5, 0.6, 0.7], seconds={"x": t})
        for n, t in zip("ab", times, strict=True)
    ]
    found = compare(*sides)
    (effect,) = next(of for measure, of in found.effects.items() if measure.unit == "seconds")
    assert ([*effect.a], [*effect.b]) == times
    assert "B takes 1.67 times as long as A" in comparison_text(found, 100)
    assert effect.contrast.p == pytest.approx(stats.ttest_rel(*map(np.log, times)).pvalue)


ANSWERS = {
    "identical": (A, A, {}, "^B reproduces A: all 10 common fits are identical but for times"),
    "better": (A, B, {}, r"^B does not reproduce A: 1 of 1 score differ significantly: .*\+0\.08"),
    "alike": (A[500], [0.81, 0.8, 0.82, 0.8, 0.81], {}, "^B agrees with A: of 1 score none"),
    "one trial": ([0.8], [0.9], {}, r"^Too few trials to tell B from A: largest .*\+0\.1"),
    "more in B": ({500: [0.8, 0.7]}, {500: [0.8, 0.7], 1000: [0.9, 0.9]}, {}, "2 fits in B only"),
    "settings": (
        A,
        A,
        {"labeled": 7},
        r"^A and B differ in protocol\.labeled: this compares two",
    ),
    "seed": (A, A, {"seed": 1}, "^B reproduces A"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_the_answer(case):
    a, b, settings, told = ANSWERS[case]
    first, second = runs(a, b)
    found = compare(first, with_settings(second, **settings))
    assert re.search(told, answer(found)), answer(found)


def test_what_both_have_is_tested_while_fits_are_to_come():
    first, second = runs([*A[500], None], B[500])
    (effect,) = compare(first, second).effects[AUC]
    assert effect.significant and len(effect.a) == 5


def test_a_run_on_other_data_does_not_repeat():
    a, b = runs(A, B)
    b = replace(with_settings(b, dataset={"name": "others"}), data={"content_hash": "other"})
    assert answer(compare(a, b)) == ("B does not repeat A: the data of B are others, those of A a.")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"seed": 3}, "seed is 0 in A and 3 in B"), ({"labeled": 7}, "protocol.labeled"), ({}, "")],
)
def test_other_splits_are_not_paired(settings, reason):
    a, b = runs(A[500], B[500])
    found = compare(a, with_settings(b, **settings))
    assert reason in "; ".join(found.unpaired) and bool(found.unpaired) == bool(reason)
    (effect,) = found.effects[AUC]
    test = stats.ttest_ind if reason else stats.ttest_rel
    own = {"equal_var": False} if reason else {}
    assert effect.contrast.p == pytest.approx(test(B[500], A[500], **own).pvalue)


def test_sweeps_that_draw_other_numbers_of_rows_are_not_paired():
    """The labelled rows of a trial are drawn for the largest size; smaller sets are their first."""
    drawn = Axis(name="labeled", title="Labelled rows", noun="labelled", drawn=True)
    swept = [{100: A[500], 200: A[1000]}, {100: B[500]}, {100: B[500], 200: B[1000]}]
    a, b, c = (
        replace(run, task=run.task.model_copy(update={"axis": drawn}))
        for run in (make_run(n, data=HASH, x=x) for n, x in zip("abc", swept, strict=True))
    )
    assert compare(a, b).unpaired == ["trials draw 200 rows in A and 100 in B"]
    assert compare(a, c).unpaired == []


@pytest.mark.parametrize(
    ("about", "why", "interval"),
    [
        ({"draws": ""}, "Differences are not tested: all trials use the same rows.", False),
        ({"inference": "new_rows"}, "Differences are not tested: with few labels", True),
    ],
)
def test_what_trials_cannot_show_is_not_tested(about, why, interval):
    a, b = runs(A[500], B[500], **about)
    for found in (compare(a, b), compare(a, runs(A[500], B[500])[1])):  # or only one of them
        (effect,) = found.effects[AUC]
        assert (effect.contrast.p, effect.holm, effect.significant) == (None, None, False)
        assert bool(effect.contrast.interval) == interval
        assert answer(found).startswith("B is not identical to A: largest difference AUC +0.1020")
        text = comparison_text(found, 300)
        assert why in text and "t-test" not in text and "Holm" not in text
        assert ("B - A [95%]" in text) == interval
    assert answer(compare(a, a)).startswith("B reproduces A")


def test_a_setting_that_the_task_declares_harmless_keeps_the_pairs():
    a, b = runs(A[500], B[500])
    assert not compare(a, with_settings(b, folds=3)).unpaired


def test_times_of_other_machines_and_disturbed_ones_are_no_comparison(tmp_path):
    a, b = runs(A[500], B[500])
    a, b = with_machine(a, tmp_path), with_machine(b, tmp_path, threads=2)
    found = compare(a, b)
    assert ("threads", "1", "2") in found.environment
    assert "not comparable: the number of threads is 1 in A and 2" in comparison_text(found, 200)
    busy = {"timing": {"threads": 2, "slowdown": 3.0, "disturbed": True, "range": {}}}
    disturbed = make_run("b", data=HASH, x=B[500], records={("x", 0, 0): busy})
    found = compare(runs(A[500], B[500])[0], disturbed)
    assert found.fits["disturbed"].sum() == 1
    assert [len(of[0].a) for m, of in found.effects.items() if m.unit == "seconds"] == [4]


def test_fits_that_do_not_depend_on_the_size_are_compared_once():
    a = make_run("a", data=HASH, x={1000: [0.8, 0.7, 0.6]}, also_at=[500])
    b = make_run("b", data=HASH, x={2000: [0.8, 0.75, 0.6]}, also_at=[500])
    (effect,) = compare(a, b).effects[AUC]
    assert (effect.size, len(effect.a)) == (500, 3)


def test_the_text_and_the_files(tmp_path):
    a, b = runs({"x": A, "y": A}, {"x": B, "y": A})
    found = compare(with_machine(a, tmp_path), with_machine(b, tmp_path, dsgkit="2"))
    text = comparison_text(found, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert (
        "dsgkit: – → 2" in text and "identical" in text and "The config" not in text.split("A:")[0]
    )
    paths = write_comparison(found, tmp_path)
    assert {p.suffix for p in paths} == {".csv", ".md", ".tex"}
    with (tmp_path / "tables" / "compare_auc.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["difference"]) == pytest.approx(np.mean(np.subtract(B[1000], A[1000])))


def test_nothing_in_common_is_one_line():
    a, b = make_run("a", x={500: [0.5]}), make_run("b", y={700: [0.5]})
    with pytest.raises(
        ResultsError, match=r"no fit is in both a and b; they must share a solver"
    ) as found:
        compare(a, b)
    assert "\n" not in str(found.value)
