"""Comparing two results folders: numbers against scipy and by hand, special cases, bad input."""

import csv
import itertools
import math
import re
import statistics

import numpy as np
import pytest
from matplotlib.image import imread
from scipy import stats

from dsgkit.errors import ResultsError
from dsgkit.report.compare import compare, comparison_text, write_comparison
from dsgkit.report.compare.figure import comparison_figure
from dsgkit.report.compare.text import answer, verdict
from dsgkit.report.contrasts import holm, paired_contrast, unpaired_contrast
from dsgkit.report.numbers import difference_text, ranges, ratio_text
from dsgkit.tasks.measures import TIME
from tests.report.conftest import AUC, CLASSES, RANKING, TEST_AUC, solver_of

MACHINE = {"processor": "old", "threads": 2}
RNG = np.random.default_rng(0)
TIED = [[0.5, 0.6], [0.6, 0.8]]


def by_signs(differences):
    """Return the exact p-value of the signed-rank test by going through all signs."""
    d = np.array([x for x in differences if x != 0])
    ranks = stats.rankdata(np.abs(d))
    center = ranks.sum() / 2
    observed = abs(ranks[d > 0].sum() - center)
    sums = np.array([np.dot(s, ranks) for s in itertools.product((0, 1), repeat=len(d))])
    return np.mean(np.abs(sums - center) >= observed - 1e-9)


@pytest.fixture
def sides(fits):
    """Return a function that makes A and B of values, with parts of both and of each.

    A list is the AUCs of SAMULT at 500 rows.
    """

    def make_side(name, values, of, parts):
        values = {"samult": {500: values}} if isinstance(values, list) else values
        stored = {"name": name, "files": {"": MACHINE}} | parts.pop("stored", {})
        return fits(values, of, stored=stored, **parts)

    def make_sides(a, b, of="auc", of_a=None, of_b=None, **parts):
        both = (("a", a, of_a), ("b", b, of_b))
        return [make_side(name, one, of, parts | (own or {})) for name, one, own in both]

    return make_sides


@pytest.fixture
def compared(sides):
    return lambda *values, **parts: compare(*sides(*values, **parts))


@pytest.fixture
def altered(typical, make):
    """Return a function that compares typical results with what a change makes of each record."""

    def compare_altered(change, **parts):
        a = typical(**parts, stored={"name": "a", "files": {"": MACHINE}})
        records = [change(one) for one in a.records]
        return compare(a, make(a.experiment, records, name="b", files={"": MACHINE}))

    return compare_altered


def timed(aucs, seconds):
    """The trials of SAMULT at 500 rows."""
    pairs = zip(aucs, seconds, strict=True)
    return {"samult": {500: [{"auc": auc, "times": {"fit": second}} for auc, second in pairs]}}


def effects_of(comparison, measure=AUC):
    return dict(comparison.effects).get(measure, [])


def effect_of(comparison, measure=AUC):
    (effect,) = effects_of(comparison, measure)
    return effect


def sizes_of(comparison):
    return [(effect.solver, effect.size.n) for effect in effects_of(comparison)]


# --- intervals, tests, correction -------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 12])
@pytest.mark.parametrize(("digits", "zeros"), [(1, 0), (12, 0), (12, 1)])
def test_paired_tests_are_those_of_scipy_and_of_all_signs(n, zeros, digits):
    d = np.round(np.random.default_rng(n).normal(0.3, 1, n), digits)
    d[d == 0] = 0.1
    d[:zeros] = 0.0
    found = paired_contrast(np.zeros(n), d)
    test = stats.ttest_1samp(d, 0)
    assert found.p_t == pytest.approx(test.pvalue)
    assert found.interval == pytest.approx(tuple(test.confidence_interval(0.95)))
    assert found.p_rank == pytest.approx(by_signs(d))


def test_unpaired_numbers_by_hand():
    a, b = np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 8.0, 9.0])
    va, vb = a.var(ddof=1) / 3, b.var(ddof=1) / 4
    freedom = (va + vb) ** 2 / (va**2 / 2 + vb**2 / 3)
    difference = b.mean() - a.mean()
    found = unpaired_contrast(a, b)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(va + vb)
    assert found.difference == pytest.approx(difference)
    assert found.interval == pytest.approx((difference - reach, difference + reach))
    assert found.p_t == pytest.approx(2 * stats.t.sf(difference / math.sqrt(va + vb), freedom))
    # U = 11: of the 35 orders of 3 and 4 values, one has U = 12 and one 11, and so from below
    assert found.p_rank == pytest.approx(4 / 35)


@pytest.mark.parametrize(
    ("contrast", "a", "b", "interval", "ranked"),
    [
        (paired_contrast, [0.5], [0.75], None, False),
        (unpaired_contrast, [0.5], [0.75], None, False),
        (paired_contrast, [0.1, 0.2, 0.7], [0.1, 0.2, 0.7], None, False),
        (paired_contrast, [0.1, 0.2, 0.7, 0.3], [0.2, 0.3, 0.8, 0.4], (0.1, 0.1), True),
        (unpaired_contrast, [0.5] * 3, [0.5] * 4, None, False),
        (unpaired_contrast, [0.5] * 3, [0.75] * 4, (0.25, 0.25), True),
    ],
)
def test_without_variance_there_is_a_difference_and_no_t_test(contrast, a, b, interval, ranked):
    found = contrast(np.array(a), np.array(b))
    assert found.difference == pytest.approx(np.mean(b) - np.mean(a))
    assert found.p_t is None and (found.p_rank is not None) == ranked
    assert found.identical == (a == b)
    if interval or len(a) == 1:
        assert found.interval == (pytest.approx(interval) if interval else None)


@pytest.mark.filterwarnings("error")
def test_nearly_equal_values_are_tested_without_a_warning():
    """scipy's own t-tests warn of a group that hardly varies."""
    flat, other = np.full(5, 0.7), np.array([0.70, 0.71, 0.72, 0.73, 0.74])
    flat[0] += 1e-16
    expected = stats.ttest_1samp(other, 0.7).pvalue  # one of Welch's two groups varies
    assert unpaired_contrast(flat, other).p_t == pytest.approx(expected)
    moved = paired_contrast(other, other + 0.1 + 1e-13 * np.arange(5))
    assert moved.p_t < 1e-40
    assert moved.interval == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize(
    ("raw", "adjusted"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.9, None, 0.6], [1.0, None, 1.0]),
        ([0.02, None], [0.02, None]),
        ([], []),
    ],
)
def test_holm_by_hand(raw, adjusted):
    assert holm(raw) == [p and pytest.approx(p) for p in adjusted]


# --- a comparison -----------------------------------------------------------------------------


def test_every_solver_and_size_with_the_numbers_of_scipy(typical):
    parts = {"trials": 8, "sizes": (500, 5000), "test": True}
    a, b = (typical(**parts, seed=s, stored={"name": str(s)}) for s in (1, 2))
    comparison = compare(a, b)
    assert comparison.paired
    for measure in (AUC, TEST_AUC, TIME):
        effects = effects_of(comparison, measure)
        assert len(effects) == 4 * 2
        for effect in effects:
            of = (effect.solver, effect.size.n)
            x, y = (r.cells.set_index(["label", "size"]).loc[of, measure.name] for r in (a, b))
            if measure is TIME:
                assert effect.ratio == pytest.approx(statistics.median(y) / statistics.median(x))
                x, y = np.log(x), np.log(y)
            else:
                assert (effect.a, effect.b) == pytest.approx((np.mean(x), np.mean(y)))
                assert effect.contrast.difference == pytest.approx(np.mean(y) - np.mean(x))
            assert effect.contrast.p_t == pytest.approx(stats.ttest_rel(y, x).pvalue)
            assert effect.contrast.p_rank == pytest.approx(stats.wilcoxon(y, x).pvalue)
        least = min(effects, key=lambda effect: effect.contrast.p_t)
        assert least.holm_t == pytest.approx(min(1, 8 * least.contrast.p_t))


def test_only_trials_that_finished_in_both_make_pairs(compared):
    effect = effect_of(compared([0.5, 0.6, 0.7, 0.8], [0.6, 0.7, "indefinite", 1.5]))
    assert effect.values_a.tolist() == [0.5, 0.6, 0.8]
    assert effect.values_b.tolist() == [0.6, 0.7, 1.5]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 3}, "seed is 0 in A and 3 in B"),
        ({"protocol": {"labeled": 100}}, "protocol.labeled is 200 in A and 100 in B"),
        (
            {"protocol": {"scale": (-1.0, 1.0)}},
            "protocol.scale is [0.0, 1.0] in A and [-1.0, 1.0] in B",
        ),
    ],
)
def test_other_splits_are_not_paired_and_the_reason_is_told(compared, change, reason):
    comparison = compared([0.5, 0.6, 0.8], [0.6, 0.7, 0.9, 0.8], of_b=change)
    assert comparison.unpaired == [reason]
    expected = stats.ttest_ind([0.6, 0.7, 0.9, 0.8], [0.5, 0.6, 0.8], equal_var=False)
    assert effect_of(comparison).contrast.p_t == pytest.approx(expected.pvalue)
    text = comparison_text(comparison, 120)
    assert all(t in text for t in (f"not paired: {reason}.", "Welch's t-test", "3+4"))


def test_a_setting_pairs_trials_unless_the_results_declare_that_it_does_not(compared):
    """Where they declare nothing, as before, the settings of the package's tasks count."""
    ten = {"of_b": {"protocol": {"folds": 10}}}
    assert compared(*TIED, **ten).paired
    declared = RANKING.model_copy(update={"not_of_splits": ("trials", "labeled")})
    (reason,) = compared(*TIED, **ten, task=declared).unpaired
    assert reason == "protocol.folds is 5 in A and 10 in B"


def data(dataset="codrna", content="x"):
    return {"dataset": dataset, "stored": {"data": {"content_hash": content}}}


def test_the_content_of_the_data_decides_whatever_its_name(compared):
    assert compared(*TIED, of_a=data(), of_b=data()).paired
    other = compared(*TIED, of_a=data(), of_b=data(content="y"))
    assert other.unpaired == ["the rows of codrna differ"]
    named = compared(*TIED, of_a=data(), of_b=data("ijcnn1", "y"))
    assert named.unpaired == ["the data are codrna in A and ijcnn1 in B"]
    assert answer(named) == "B does not repeat A: the data of B are ijcnn1, those of A codrna."


def test_a_common_key_stands_for_the_data_where_no_hash_is_stored(compared):
    a, other = [{}, {}], [{"key": "one"}, {"key": "two"}]
    assert compared(a, [a[0], other[1]]).paired
    (reason,) = compared(a, other).unpaired
    assert "not stored in both" in reason


# --- the answer in a sentence -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (
            [0.5, 0.6, 0.7, 0.6],
            [0.52, 0.59, 0.72, 0.58],
            "B agrees with A: no score differs beyond chance (0 of 1 after Holm); largest "
            "difference AUC +0.0025 (SAMULT at 500).",
        ),
        (
            [0.5],
            [0.6],
            "Too few trials to tell B from A: 1 score without a test; largest difference AUC "
            "+0.1000 (SAMULT at 500).",
        ),
        (
            [0.5, 0.6],
            ["out_of_memory"] * 2,
            "B does not reproduce A: no fit finished in both; 2 fits ended differently.",
        ),
    ],
)
def test_the_answer_says_agreement_too_few_trials_or_other_endings(compared, a, b, told):
    assert answer(compared(a, b)) == told


def test_identical_fits_reproduce_whatever_their_times(compared):
    a, b = timed([0.5, 0.6, 0.7], [1.0] * 3), timed([0.5, 0.6], [5.0] * 2)
    assert comparison_text(compared(a, b), 120).startswith(
        "B reproduces A: all 2 fits that both have are identical but for times; 1 fit in A only."
        "\n\nTraining time: "
    )


def test_scores_beyond_chance_are_counted_and_named_the_largest_first(altered):
    shift = {"qsg_s2auc": 0.0, "samult": 0.1, "pnu_auc": -0.3, "rff_s2auc": 0.2}

    def moved(one):
        by = shift[one["solver"]] * (1 + one["trial"] / 100)
        return one | {"scores": {"auc": one["scores"]["auc"] + by}}

    assert re.fullmatch(
        r"B does not reproduce A: 3 of 4 scores differ beyond chance: AUC -0\.30\d\d "
        r"\(PNU-AUC at 500\), AUC \+0\.20\d\d \(RFF-S2AUC at 500\), AUC \+0\.10\d\d \(SAMULT at "
        r"500\)\.",
        answer(altered(moved, trials=6, sizes=(500,), seed=1)),
    )


def test_other_settings_are_two_experiments_and_no_reproduction(compared):
    other = {"of_b": {"protocol": {"labeled": 60}, "name": "other", "outputs": ()}}
    told = (
        "A and B differ in protocol.labeled (200, 60): this compares two experiments, not a "
        "reproduction. "
    )
    same = answer(compared(TIED[0], TIED[0], **other))
    assert same == f"{told}All 2 fits that both have are identical but for times."
    text = answer(compared(*TIED, **other))
    assert text.startswith(told)
    assert "score" in text and "reproduce" not in text and "agrees" not in text


def test_settings_that_common_fits_do_not_depend_on_leave_a_reproduction(compared):
    values = {"samult": {500: [0.5, 0.6]}}
    others = {"protocol": {"trials": 9}, "seed": 7}
    comparison = compared(values | {"pnu_auc": {500: [0.7]}}, values, of_b=others)
    assert comparison.config and not comparison.changed
    assert answer(comparison).startswith("B reproduces A: all 2 fits ")


# --- fits that match whatever their size --------------------------------------------------------


def test_all_rows_match_however_many_they_are(compared):
    a, b = ({"samult": {100: [0.5], n: [0.6]}} for n in (539, 509))
    comparison = compared(a, b, full=True)
    assert comparison.mismatches == []
    assert [effect.size for effect in effects_of(comparison)] == [(100, False), (539, True)]
    told = "`all` is 539 unlabelled rows in A and 509 in B: tables call it by the number of A."
    assert told in comparison_text(comparison, 120)


def test_as_many_rows_that_are_not_all_keep_their_number(compared):
    a, b = ({"samult": {n: [0.5] for n in sizes}} for sizes in ((509,), (509, 539)))
    comparison = compared(a, b, full=True)
    assert sizes_of(comparison) == [("SAMULT", 509)]
    assert [one.sizes for one in comparison.mismatches] == [((539, True),)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((300, [100]), (400, [200])),
        ((300, [100, 200]), (300, [100])),
        ((300, [100]), (250, [])),
        ((250, []), (300, [100])),
    ],
)
def test_fits_that_do_not_depend_on_the_size_match_at_any(compared, a, b):
    def values(size, also):
        fit = {"also_at": also} if also else {}
        return {"samult": {n: [fit] * 2 for n in (size, *also)}, "pnu_auc": {50: [0.5] * 2}}

    comparison = compared(values(*a), values(*b))
    assert comparison.mismatches == []
    assert sizes_of(comparison) == [("SAMULT", a[0]), ("PNU-AUC", 50)]
    assert comparison.common == comparison.identical == 4


# --- the verdict ------------------------------------------------------------------------------


def test_the_last_bit_and_a_chosen_parameter_are_part_of_a_result(compared):
    comparison = compared([0.5, 0.625], [0.5, math.nextafter(0.625, 1)])
    assert (comparison.identical, comparison.common) == (1, 2)
    assert "1 of 2 common results are identical." in comparison_text(comparison, 120)
    assert compared([0.5, 0.625], [0.5, 0.625]).identical == 2
    chosen = [[{"params": {"lam": lam}}] for lam in (1.0, 8.0)]
    assert compared(*chosen).identical == 0


LOW = [0.70, 0.76, 0.71, 0.74, 0.79, 0.73, 0.72, 0.78]
HIGH = [x + 0.05 + 0.001 * t for t, x in enumerate(LOW)]
SECONDS = [1.0 + 0.01 * t for t in range(8)], [0.62 + 0.011 * t for t in range(8)]


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (
            timed(LOW, SECONDS[0]),
            timed(HIGH, SECONDS[1]),
            "AUC: B is higher in 1 (SAMULT) of 1 comparison at the 5% level after Holm's "
            "correction (paired t-tests); training time: B takes 0.64 times as long (median over "
            "1; 1 significant: SAMULT).",
        ),
        (
            HIGH,
            LOW,
            "AUC: B is lower in 1 (SAMULT) of 1 comparison at the 5% level after Holm's "
            "correction (paired t-tests); training time: identical.",
        ),
        (
            {"samult": {500: [0.5, 0.6, 0.7]}, "pnu_auc": {500: [0.1, 0.2, 0.3]}},
            {"samult": {500: [0.6, 0.5, 0.8]}, "pnu_auc": {500: [0.1, 0.2, 0.3]}},
            "AUC: no difference at the 5% level after Holm's correction (1 comparison, paired "
            "t-tests; 1 more identical); training time: identical.",
        ),
        (
            timed([0.5], [1.0]),
            timed([0.6], [3.0]),
            "AUC: not tested, for want of trials (1 comparison); training time: B takes 3.00 "
            "times as long (median over 1).",
        ),
        (
            timed([0.5, 0.6, 0.7], [1.0] * 3),
            timed([0.5, 0.6, 0.7], [1.9, 2.0, 2.1]),
            "Training time: B takes 2.00 times as long (median over 1; 1 significant: SAMULT).",
        ),
        ([0.9, 0.9], ["out_of_memory"] * 2, "No fit finished in both A and B."),
    ],
)
def test_the_verdict_tells_direction_number_and_time(compared, a, b, told):
    assert verdict(compared(a, b)) == told


def test_disturbed_times_are_not_compared(compared):
    a, b = (timed([0.5, 0.6], seconds) for seconds in ([1.0, 1.1], [2.0, 9.0]))
    first, second = b["samult"][500]
    timing = {"range": {}, "threads": 2, "slowdown": 3.0, "disturbed": True}
    second["timing"] = timing
    told = "training time: B takes 2.00 times as long (median over 1); times of 1 of 2 fits were"
    assert told in verdict(compared(a, b)).replace("Training", "training")
    first["timing"] = timing
    told = verdict(compared(a, b))
    assert "imes of 2 of 2 fits were disturbed and are not compared." in told
    assert "as long" not in told


def on(machine):
    return {"stored": {"files": {"": machine}}}


def test_times_of_other_or_unknown_machines_are_no_comparison(compared):
    fine = compared(*TIED)
    assert fine.timing_problems == fine.environment == []
    a, b = (timed(TIED[0], seconds) for seconds in ([1.0, 1.1], [2.0, 2.1]))
    other = MACHINE | {"processor": "new", "libraries": {"numpy": "3"}}
    comparison = compared(a, b, of_b=on(other))
    assert comparison.timing_problems == ["the processor is old in A and new in B"]
    assert verdict(comparison).endswith(", but times are not comparable.")
    text = comparison_text(comparison, 120)
    assert "Warning: times are not comparable: the processor is old in A and new in B." in text
    assert "  processor: old → new\n  libraries.numpy: – → 3" in text
    unknown = compared(a, b, of_b=on({}))
    assert unknown.timing_problems == ["processor and threads are not stored in both"]


def test_every_environment_of_a_folder_counts(sides):
    files = {name: MACHINE | {"threads": n} for name, n in (("one", 2), ("two", 1))}
    a, b = ([{"environment": name} for name in names] for names in (("one", "two"), ("one", "one")))
    a, b = sides(a, b, of_a={"stored": {"files": files}}, of_b={"stored": {"files": files}})
    told = "the number of threads is 2 and 1 in A and"
    assert compare(a, b).timing_problems == [f"{told} 2 in B"]
    assert compare(a, a).timing_problems == [f"{told} 2 and 1 in B"]
    assert compare(a, a).environment == []


# --- what differs besides -----------------------------------------------------------------------


def test_fits_of_one_side_and_statuses_that_differ(compared, tmp_path):
    some, every = [{}, None, {}], [{}] * 3
    refused = [{"status": "out_of_memory", "needed": 2**30}, None, {}]
    a = {key: dict.fromkeys((500, 2000, 9000), every) for key in ("qsg_s2auc", "samult")}
    b = {"qsg_s2auc": {500: refused, 2000: some}, "pnu_auc": {500: some, 2000: some}}
    comparison = compared(a, b)
    rows = [(m.solver, [s.n for s in m.sizes], m.trials, m.a, m.b) for m in comparison.mismatches]
    assert rows == [
        ("QSG-S2AUC", [500], (0,), "ok", "refused"),
        ("QSG-S2AUC", [500, 2000], (1,), "ok", "not run"),
        ("QSG-S2AUC", [9000], (0, 1, 2), "ok", "not run"),
        ("SAMULT", [500, 2000, 9000], (0, 1, 2), "ok", "not run"),
        ("PNU-AUC", [500, 2000], (0, 2), "not run", "ok"),
    ]
    write_comparison(comparison, tmp_path)
    stored = read_csv(tmp_path, "compare_status")
    assert len(stored) == 1 + 2 + 3 + 9 + 4
    assert stored[0]["status_b"] == "refused"
    text = comparison_text(comparison, 120)
    assert "500, 2,000, 9,000" in text and "1-3" in text


def choosing(*chosen):
    """Trials of SAMULT at two sizes."""
    return {"samult": {n: [{"params": params} for params in chosen] for n in (500, 2000)}}


def test_changed_choices_are_counted_by_trial(compared):
    a, b = (
        choosing(*({"lam": 1.0, "sigma": sigma} for sigma in sigmas))
        for sigmas in ([0.125, 0.125, 1.0, 8.0], [1.0, 1.0, 1.0, 0.125])
    )
    comparison = compared(a, b)
    lam, sigma = comparison.choices
    assert (lam.parameter, lam.differing) == ("lam", [])
    assert sigma.changes == [(("0.125", "1"), 2), (("8", "0.125"), 1)]
    text = comparison_text(comparison, 120)
    assert "0.125 → 1 (2), 8 → 0.125 (1)" in text and "3/4" in text
    assert "The same in every trial: SAMULT lam." in text


def test_a_parameter_fixed_on_one_side_is_compared_with_the_choices(compared):
    fixed = {"solvers": {"samult": solver_of("samult", params={"lam": 0.5})}}
    comparison = compared(choosing({"lam": 8.0, "sigma": 1.0}), choosing({}), of_b=fixed)
    changes = {one.parameter: one.changes for one in comparison.choices}
    assert changes == {"lam": [(("8", "0.5"), 1)], "sigma": [(("1", "default"), 1)]}


def test_choices_of_other_splits_are_counted_on_each_side(compared):
    a, b = choosing({"lam": 1.0}, {"lam": 2.0}, {"lam": 1.0}), choosing({"lam": 2.0})
    text = comparison_text(compared(a, b, of_b={"seed": 1}), 120)
    line = next(line for line in text.splitlines() if "lam" in line)
    assert line.split() == ["SAMULT", "lam", "1", "(2),", "2", "(1)", "2", "(1)"]


def test_config_changes_are_readable(compared):
    long = [2.0**i for i in range(-10, 4)]
    grids = [{"lam": long, "sigma": [1.0, 0.5], "gamma": [0.5]}]
    a = {"qsg_s2auc": solver_of("qsg_s2auc", None, *grids, params={"batch_size": 64})}
    grids = [{"lam": [*long[1:], 16.0], "sigma": [0.5, 1.0]}, {"t0": [1.0]}]
    b = {"qsg_s2auc": solver_of("qsg_s2auc", None, *grids)}
    own = {"qsg_s2auc": {500: [0.5]}}
    both = own | {"samult": {500: ["failed"]}}
    comparison = compared(both, own, of_a={"solvers": a}, of_b={"solvers": b, "name": "other"})
    solver = "solvers.qsg_s2auc"
    assert {d.key: (d.a, d.b) for d in comparison.config} == {
        "name": ("codrna_s2auc", "other"),
        f"{solver}.params.batch_size": ("64", "–"),
        f"{solver}.search.1.grid.lam": (
            "2^-10, 2^-9, .., 8 (14 values)",
            "2^-9, 2^-8, .., 16 (14 values); new: 16; gone: 2^-10",
        ),
        f"{solver}.search.1.grid.gamma": ("0.5", "–"),
        f"{solver}.search.2.grid.t0": ("–", "1"),
        "solvers.samult": ("SAMULT", "–"),
    }


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ([{"lam": [1.0, 2.0]}, {"t0": [4, 1, 2]}], [{"lam": [2.0, 1.0]}, {"t0": [1, 2, 4]}], []),
        (
            [{"gamma": [1.0, (0.0, 1.0)]}],
            [{"gamma": [1.0, (0.0, 0.5)]}],
            [("1, [0 1]", "1, [0 0.5]")],
        ),
    ],
)
def test_grids_are_compared_as_sets_of_values(compared, a, b, told):
    of_a, of_b = ({"solvers": {"samult": solver_of("samult", None, *one)}} for one in (a, b))
    assert [(d.a, d.b) for d in compared([0.5], [0.5], of_a=of_a, of_b=of_b).config] == told


# --- whose values these are -----------------------------------------------------------------------


def test_solvers_are_matched_by_what_they_are_not_by_their_keys(compared):
    a, b = (
        {"one": {500: [0.25]}, "two": {500: [0.75]}},
        {"two": {500: [0.25]}, "one": {500: [0.75]}},
    )
    kinds = [solver_of("samult"), solver_of("pnu_auc")]
    of_a, of_b = ({"solvers": dict(zip(keys, kinds, strict=True))} for keys in (a, b))
    comparison = compared(a, b, of_a=of_a, of_b=of_b)
    found = [(e.solver, e.a, e.b) for e in effects_of(comparison)]
    assert found == [("SAMULT", 0.25, 0.25), ("PNU-AUC", 0.75, 0.75)]


def test_a_solver_with_another_label_is_called_by_both(compared):
    of_a, of_b = ({"solvers": {"samult": solver_of("samult", x)}} for x in ("In A", "In B"))
    comparison = compared([0.5], [0.5], of_a=of_a, of_b=of_b)
    assert comparison.solvers == {"In A → In B": "samult"}
    assert effect_of(comparison).solver == "In A → In B"
    assert comparison.config[0].key == "solvers.samult.label"


def test_errors_are_percents_and_their_files_are_named_by_the_measure(compared, tmp_path):
    a, b = ({"tsgs3vm": {500: e}} for e in ([0.05, 0.06, 0.08], [0.06, 0.08, 0.09]))
    comparison = compared(a, b, of="error", task=CLASSES)
    paths = write_comparison(comparison, tmp_path)
    assert {"compare_error", "compare_time"} <= {path.stem for path in paths}
    (row,) = read_csv(tmp_path, "compare_error")
    assert float(row["difference"]) == pytest.approx(0.04 / 3)
    assert row["unlabeled"] == "500"
    text = comparison_text(comparison, 120)
    assert "Error on the unlabelled rows in percent: mean over n pairs of trials" in text
    assert "6.333  7.667  +1.333 [" in text
    error, _ = comparison_figure(comparison).axes
    assert error.get_title() == "Error (%)"
    (marker,) = [line for line in error.get_lines() if line.get_label() == "tsgs3vm"]
    assert marker.get_ydata()[0] == pytest.approx(4 / 3)


def test_a_comparison_without_a_sweep_has_no_sizes(regression, tmp_path):
    values = {"ridge": [1.5, 2.5, 2.0], "lasso": [3.0, 3.5, math.nan]}
    worse = {solver: [x + 0.5 + 0.01 * t for t, x in enumerate(v)] for solver, v in values.items()}
    a, b = (
        regression(v, name=name, data={"content_hash": "x"})
        for name, v in (("a", values), ("b", worse))
    )
    comparison = compare(a, b)
    assert verdict(comparison).startswith("RMSE: B is higher in 2 (Ridge, Lasso) of 2 comparisons")
    text = comparison_text(comparison, 120)
    assert "RMSE on the held-out rows: mean over n pairs of trials.\n" in text
    header = next(line for line in text.splitlines() if line.startswith("Solver"))
    assert header.split()[:4] == ["Solver", "n", "A", "B"]
    write_comparison(comparison, tmp_path / "out")
    rows = read_csv(tmp_path / "out", "compare_rmse")
    assert [row["solver"] for row in rows] == ["Ridge", "Lasso"]
    assert list(rows[0])[:3] == ["solver", "paired", "trials_a"]


# --- what is written ----------------------------------------------------------------------------


def read_csv(folder, name):
    with (folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def usual(typical):
    parts = {"trials": 6, "sizes": (500, 5000, 20_000), "test": True}
    a, b = (typical(**parts, name=name, seed=s) for name, s in (("before", 4), ("after", 5)))
    return compare(a, b)


def test_every_format_is_written_with_unrounded_numbers(usual, tmp_path):
    out = tmp_path / "out"
    paths = write_comparison(usual, out)
    assert sorted(paths) == sorted(path for path in out.rglob("*") if path.is_file())
    tables = ("auc", "auc_test", "time", "params", "config")
    assert {path.name for path in paths} == {
        f"compare_{table}.{suffix}" for table in tables for suffix in ("csv", "md", "tex")
    } | {"compare.pdf", "compare.png"}
    for row, effect in zip(read_csv(out, "compare_auc"), effects_of(usual, AUC), strict=True):
        assert float(row["difference"]) == pytest.approx(effect.contrast.difference, rel=1e-12)
        assert float(row["interval_low"]) == pytest.approx(effect.contrast.interval[0], rel=1e-12)
        assert float(row["holm_rank"]) == pytest.approx(effect.holm_rank, rel=1e-12)
    for row, effect in zip(read_csv(out, "compare_time"), effects_of(usual, TIME), strict=True):
        mean_ratio = math.exp(np.log(effect.values_b / effect.values_a).mean())
        assert float(row["ratio_of_medians"]) == pytest.approx(effect.ratio, rel=1e-12)
        assert float(row["geometric_mean_ratio"]) == pytest.approx(mean_ratio, rel=1e-9)
        assert float(row["interval_low"]) < mean_ratio < float(row["interval_high"])
    assert "→" not in (out / "tables" / "compare_params.tex").read_text()
    assert imread(out / "figures" / "compare.png").shape[1] > 1000


def test_the_figure_shows_differences_intervals_and_ratios(usual):
    auc, test_auc, time = comparison_figure(usual).axes
    titles = ["AUC", "AUC, official test rows", "Training time"]
    assert [axes.get_title() for axes in (auc, test_auc, time)] == titles
    for axes, measure in ((auc, AUC), (time, TIME)):
        effects = effects_of(usual, measure)
        markers = [line for line in axes.get_lines() if line.get_label() in usual.solvers]
        expected = [e.ratio if measure is TIME else e.contrast.difference for e in effects]
        assert [line.get_ydata()[0] for line in markers] == pytest.approx(expected)
        assert [line.get_label() for line in markers] == [effect.solver for effect in effects]
        hollow = [line.get_markerfacecolor() == "white" for line in markers]
        assert hollow == [not effect.significant for effect in effects]
    intervals = [tuple(line.get_ydata()) for line in auc.get_lines() if len(line.get_ydata()) == 2]
    assert {effect.contrast.interval for effect in effects_of(usual, AUC)} <= set(intervals)


def test_a_narrow_terminal_leaves_out_the_tests_by_ranks(usual):
    wide, narrow = comparison_text(usual, 120), comparison_text(usual, 80)
    for text, columns in ((wide, "p (t) Holm p (W) Holm"), (narrow, "p (t) Holm")):
        header = next(line for line in text.splitlines() if line.startswith("Solver"))
        assert " ".join(header.split("]")[1].split()) == columns
    tables = narrow[narrow.index("AUC on the unlabelled") :].split("Training time")[0]
    assert max(map(len, tables.splitlines())) <= 80
    assert "A wider terminal" in narrow and "A wider terminal" not in wide
    assert max(map(len, wide.splitlines())) <= 120


def test_tests_by_ranks_that_can_reject_nothing_are_said_to_be(compared):
    few = comparison_text(compared([0.5, 0.6, 0.7], [0.6, 0.5, 0.9]), 120)
    assert "cannot give a p below 0.25" in " ".join(few.split())
    many = comparison_text(compared(list(RNG.random(6)), list(RNG.random(6))), 120)
    assert "cannot give a p" not in " ".join(many.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (difference_text(0.01234, (-0.001, 0.02), 4), "+0.0123 [-0.0010, 0.0200]"),
        (difference_text(2e-6, (-1e-6, 5e-6), 4), "+2.0e-06 [-1.0e-06, 5.0e-06]"),
        (difference_text(-0.25, None, 4), "-0.2500"),
        (ratio_text(0.0788), "0.079"),
        (ratio_text(0.624), "0.62"),
        (ratio_text(1234.5), "1,234"),
        (ranges((1, 2, 3, 5, 7, 8), "-"), "1-3, 5, 7-8"),
    ],
)
def test_how_numbers_are_written(text, expected):
    assert text == expected


# --- bad input ----------------------------------------------------------------------------------


def test_nothing_in_common_is_an_error_in_one_line(sides, regression):
    a, b = sides({"samult": {500: [0.5]}}, {"pnu_auc": {500: [0.5]}})
    told = (
        r"no fit is in both: .*/a has SAMULT at 500 unlabelled, trial 1; .*/b has PNU-AUC at 500 "
        r"unlabelled, trial 1; to be compared, they must share a solver \(by its label\), a number "
        r"of unlabelled rows \(or `all`\) and a trial$"
    )
    with pytest.raises(ResultsError, match=told):
        compare(a, b)
    with pytest.raises(ResultsError, match="no fit is in both"):
        compare(a, regression({"ridge": [1.0]}))
    with pytest.raises(ResultsError, match=r"/b: no fit is recorded yet"):
        compare(*sides([0.5], [None]))


def test_a_fit_recorded_twice_counts_once(sides, make):
    a, b = sides([{"auc": 0.5, "key": "old"}], [0.75])
    twice = make(a.experiment, [*a.records, *b.records])
    assert effect_of(compare(twice, b)).values_a.tolist() == [0.75]


def test_a_time_of_zero_is_a_microsecond(compared):
    a, b = timed(TIED[0], [0.0, 0.0]), timed(TIED[1], [1e-6, 1e-5])
    effect = effect_of(compared(a, b), TIME)
    assert effect.ratios == pytest.approx([1, 10])
    assert effect.ratio == pytest.approx(5.5)
