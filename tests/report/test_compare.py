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

from dsgkit.report.compare import compare, comparison_text, write_comparison
from dsgkit.report.compare.figure import comparison_figure
from dsgkit.report.compare.text import answer, verdict
from dsgkit.report.contrasts import holm, paired_contrast, unpaired_contrast
from dsgkit.report.numbers import difference_text, ranges, ratio_text
from dsgkit.tasks.measures import TIME
from dsgkit.text.errors import ResultsError
from tests.report.conftest import AUC, CLASSES, RANKING, TEST_AUC, results_of

MACHINE = {"processor": "old", "threads": 2}
RNG = np.random.default_rng(0)


def by_signs(differences):
    """Return the exact p-value of the signed-rank test by going through all signs."""
    d = np.array([x for x in differences if x != 0])
    ranks = stats.rankdata(np.abs(d))
    center = ranks.sum() / 2
    observed = abs(ranks[d > 0].sum() - center)
    signs = itertools.product((0, 1), repeat=len(d))
    sums = np.array([np.dot(sign, ranks) for sign in signs])
    return np.mean(np.abs(sums - center) >= observed - 1e-9)


@pytest.fixture
def pair(tmp_path):
    """Return a function that makes the results A and B of records, each with what it stores."""

    def make_pair(a, b, *, task=RANKING, data=None, environment=None):
        return [
            results_of(
                tmp_path / name,
                *side,
                task,
                data=(data or {}).get(name),
                files={"": (environment or {}).get(name, MACHINE)},
            )
            for name, side in zip("ab", (a, b), strict=True)
        ]

    return make_pair


@pytest.fixture
def two(invent, pair):
    """Return a function that makes A and B of one solver at one size from their AUCs and times."""

    def make_two(a, b, *, times=((), ()), seeds=(0, 0), **files):
        sides = []
        for values, seconds, seed in zip((a, b), times, seeds, strict=True):
            experiment = invent.experiment(
                "codrna", solvers=("qsg_s2auc",), trials=len(values), seed=seed
            )
            seconds = seconds or [1.0] * len(values)
            records = [
                invent.record(experiment, "qsg_s2auc", trial, 500, auc=auc, times={"fit": second})
                for trial, (auc, second) in enumerate(zip(values, seconds, strict=True))
            ]
            sides.append((experiment, records))
        return pair(*sides, **files)

    return make_two


def effects_of(comparison, measure):
    return dict(comparison.effects).get(measure, [])


def effect_of(comparison, measure=AUC):
    (effect,) = effects_of(comparison, measure)
    return effect


# --- intervals, tests, correction -------------------------------------------------------------


def test_paired_numbers_by_hand():
    a, b = np.array([0.80, 0.70, 0.90, 0.60]), np.array([0.82, 0.73, 0.91, 0.66])
    d = b - a
    mean, error = d.mean(), d.std(ddof=1) / 2
    found = paired_contrast(a, b)
    quantile = 3.182446305284263  # of Student's t with 3 degrees of freedom, from a table
    assert found.difference == pytest.approx(0.03)
    assert found.interval == pytest.approx((mean - quantile * error, mean + quantile * error))
    assert found.p_t == pytest.approx(2 * stats.t.sf(mean / error, 3))
    assert found.p_rank == pytest.approx(2 / 2**4)  # all of one sign
    assert not found.identical


@pytest.mark.parametrize("n", [2, 3, 5, 9, 12])
@pytest.mark.parametrize("zeros", [0, 1])
@pytest.mark.parametrize("digits", [1, 12])
def test_paired_tests_are_those_of_scipy_and_of_all_signs(n, zeros, digits):
    rng = np.random.default_rng(n)
    d = np.round(rng.normal(0.3, 1, n), digits)
    d[d == 0] = 0.1
    if digits == 12:
        d[:zeros] = 0.0
    a = np.zeros(n)
    found = paired_contrast(a, a + d)
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


@pytest.mark.parametrize("contrast", [paired_contrast, unpaired_contrast])
def test_one_trial_has_a_difference_and_no_test(contrast):
    found = contrast(np.array([0.5]), np.array([0.75]))
    assert (found.difference, found.interval, found.p_t, found.p_rank) == (0.25, None, None, None)


def test_pairs_without_any_difference_are_identical():
    values = RNG.random(7)
    found = paired_contrast(values, values.copy())
    assert found.identical
    assert (found.difference, found.interval, found.p_t, found.p_rank) == (0, None, None, None)


def test_the_same_difference_everywhere_leaves_nothing_to_a_t_test():
    a = np.array([0.1, 0.2, 0.7, 0.3])
    found = paired_contrast(a, a + 0.1)  # equal but for rounding
    assert found.interval == (found.difference, found.difference)
    assert found.p_t is None
    assert found.p_rank is not None


def test_independent_groups_without_variance():
    same = unpaired_contrast(np.full(3, 0.5), np.full(4, 0.5))
    assert (same.difference, same.p_t, same.p_rank) == (0, None, None)
    other = unpaired_contrast(np.full(3, 0.5), np.full(4, 0.75))
    assert (other.interval, other.p_t) == ((0.25, 0.25), None)
    assert 0 < other.p_rank < 0.05


@pytest.mark.filterwarnings("error")
def test_nearly_equal_values_are_tested_without_a_warning():
    """scipy's own t-tests warn of a group that hardly varies."""
    flat, other = np.full(5, 0.7), np.array([0.70, 0.71, 0.72, 0.73, 0.74])
    flat[0] += 1e-16
    found = unpaired_contrast(flat, other)
    expected = stats.ttest_1samp(other, 0.7).pvalue  # one of Welch's two groups varies
    assert found.p_t == pytest.approx(expected)
    moved = paired_contrast(other, other + 0.1 + 1e-13 * np.arange(5))
    assert moved.p_t < 1e-40
    assert moved.interval == pytest.approx((0.1, 0.1))


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, None, 0.6]) == [1.0, None, 1.0]
    assert holm([0.02, None]) == [0.02, None]
    assert holm([None]) == [None]
    assert holm([]) == []


# --- a comparison -----------------------------------------------------------------------------


def test_every_solver_and_size_with_the_numbers_of_scipy(invent, pair):
    experiment = invent.experiment("codrna", trials=8)
    sides = [invent.typical(experiment, sizes=(500, 5000), seed=s, test=True) for s in (1, 2)]
    comparison = compare(*pair(*((experiment, records) for records in sides)))
    assert comparison.paired
    for measure, column in ((AUC, "auc"), (TEST_AUC, "test_auc"), (TIME, None)):
        effects = effects_of(comparison, measure)
        assert len(effects) == 4 * 2
        for effect in effects:
            a, b = (
                [
                    record["times"]["fit"] if column is None else record["scores"][column]
                    for record in records
                    if (record["label"], record["at"]["unlabeled"])
                    == (effect.solver, effect.size.n)
                ]
                for records in sides
            )
            if column is None:
                assert effect.ratio == pytest.approx(statistics.median(b) / statistics.median(a))
                a, b = np.log(a), np.log(b)
            else:
                assert (effect.a, effect.b) == pytest.approx((np.mean(a), np.mean(b)))
                assert effect.contrast.difference == pytest.approx(np.mean(b) - np.mean(a))
            assert effect.contrast.p_t == pytest.approx(stats.ttest_rel(b, a).pvalue)
            assert effect.contrast.p_rank == pytest.approx(stats.wilcoxon(b, a).pvalue)
        raw = sorted(effect.contrast.p_t for effect in effects)
        least = min(effects, key=lambda effect: effect.contrast.p_t)
        assert least.holm_t == pytest.approx(min(1, 8 * raw[0]))


def test_only_trials_that_finished_in_both_make_pairs(invent, pair):
    experiment = invent.experiment("codrna", trials=4, solvers=("samult",))
    a = [invent.record(experiment, "samult", t, 500, auc=0.5 + 0.1 * t) for t in range(4)]
    b = [invent.record(experiment, "samult", t, 500, auc=0.6 + 0.1 * t**2) for t in (3, 0, 1)]
    b.append(invent.failure(experiment, "samult", 2, 500, "indefinite"))
    effect = effect_of(compare(*pair((experiment, a), (experiment, b))))
    assert effect.values_a.tolist() == [0.5, 0.6, 0.8]
    assert effect.values_b.tolist() == pytest.approx([0.6, 0.7, 1.5])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 3}, "seed is 0 in A and 3 in B"),
        ({"labeled": 100}, "protocol.labeled is 200 in A and 100 in B"),
        ({"scale": (-1.0, 1.0)}, "protocol.scale is [0.0, 1.0] in A and [-1.0, 1.0] in B"),
    ],
)
def test_other_splits_are_not_paired_and_the_reason_is_told(invent, pair, change, reason):
    one = invent.experiment("codrna", trials=5, solvers=("samult",))
    protocol = one.protocol.model_copy(update={k: v for k, v in change.items() if k != "seed"})
    other = one.model_copy(update={"protocol": protocol, "seed": change.get("seed", 0)})
    a = [invent.record(one, "samult", t, 500, auc=x) for t, x in enumerate((0.5, 0.6, 0.8))]
    b = [invent.record(other, "samult", t, 500, auc=x) for t, x in enumerate((0.6, 0.7, 0.9, 0.8))]
    comparison = compare(*pair((one, a), (other, b)))
    assert comparison.unpaired == [reason]
    effect = effect_of(comparison)
    expected = stats.ttest_ind([0.6, 0.7, 0.9, 0.8], [0.5, 0.6, 0.8], equal_var=False)
    assert effect.contrast.p_t == pytest.approx(expected.pvalue)
    text = comparison_text(comparison, 120)
    assert f"Trials are not paired: {reason}." in text
    assert "Welch's t-test" in text
    assert "3+4" in text


def test_a_setting_pairs_trials_unless_the_results_declare_that_it_does_not(invent, pair):
    """Where they declare nothing, as before, the settings of the package's tasks count."""
    one = invent.experiment("codrna", trials=2, solvers=("samult",))
    other = one.model_copy(update={"protocol": one.protocol.model_copy(update={"folds": 10})})
    sides = [
        (side, [invent.record(side, "samult", t, 500) for t in range(2)]) for side in (one, other)
    ]
    assert compare(*pair(*sides)).paired
    declared = RANKING.model_copy(update={"not_of_splits": ("trials", "labeled")})
    assert compare(*pair(*sides, task=declared)).unpaired == [
        "protocol.folds is 5 in A and 10 in B"
    ]


def test_the_content_of_the_data_decides_whatever_its_name(two):
    values = [0.5, 0.6], [0.6, 0.8]
    same = {"data": {name: {"content_hash": "x"} for name in "ab"}}
    assert compare(*two(*values, **same)).paired
    other = {"data": {"a": {"content_hash": "x"}, "b": {"content_hash": "y"}}}
    assert compare(*two(*values, **other)).unpaired == ["the rows of codrna differ"]


def test_a_common_key_stands_for_the_data_where_no_hash_is_stored(invent, pair):
    experiment = invent.experiment("codrna", trials=2, solvers=("samult",))
    a = [invent.record(experiment, "samult", t, 500) for t in range(2)]
    b = [record | {"key": f"other {record['key']}"} for record in a]
    assert compare(*pair((experiment, a), (experiment, [a[0], b[1]]))).paired
    (reason,) = compare(*pair((experiment, a), (experiment, b))).unpaired
    assert "not stored in both" in reason


def test_different_data_are_named(invent, pair):
    sides = []
    for dataset in ("codrna", "ijcnn1"):
        experiment = invent.experiment(dataset, trials=3, solvers=("samult",))
        sides.append((experiment, [invent.record(experiment, "samult", t, 500) for t in range(3)]))
    hashes = {"a": {"content_hash": "x"}, "b": {"content_hash": "y"}}
    comparison = compare(*pair(*sides, data=hashes))
    assert comparison.unpaired == ["the data are codrna in A and ijcnn1 in B"]
    assert answer(comparison) == (
        "B does not repeat A: the data of B are ijcnn1, those of A codrna."
    )


# --- the answer in a sentence -----------------------------------------------------------------


def test_identical_fits_reproduce_whatever_their_times(invent, pair):
    experiment = invent.experiment("codrna", trials=3)
    records = invent.typical(experiment, sizes=(500, 20_000))
    slower = [r | {"times": {"fit": 5.0}} for r in records[:-2]]
    text = comparison_text(compare(*pair((experiment, records), (experiment, slower))), 120)
    assert text.startswith(
        "B reproduces A: all 22 fits that both have are identical but for times; 2 fits in A "
        "only.\n\nTraining time: "
    )


def test_scores_within_chance_agree_and_the_largest_difference_is_named(two):
    a, b = [0.5, 0.6, 0.7, 0.6], [0.52, 0.59, 0.71, 0.58]
    assert answer(compare(*two(a, b))) == (
        "B agrees with A: no score differs beyond chance (0 of 1 after Holm); largest difference "
        "AUC +3.9e-17 (QSG-S2AUC at 500)."
    ).replace("+3.9e-17", difference_text(np.mean(b) - np.mean(a), None, 4))


def test_scores_beyond_chance_are_counted_and_named_the_largest_first(invent, pair):
    experiment = invent.experiment("codrna", trials=6)
    a = invent.typical(experiment, sizes=(500,), seed=1)
    shift = dict(zip(experiment.solvers, (0.0, 0.1, -0.3, 0.2), strict=True))
    moved = [r["scores"]["auc"] + shift[r["solver"]] * (1 + r["trial"] / 100) for r in a]
    b = [r | {"scores": {"auc": auc}} for r, auc in zip(a, moved, strict=True)]
    text = answer(compare(*pair((experiment, a), (experiment, b))))
    assert re.fullmatch(
        r"B does not reproduce A: 3 of 4 scores differ beyond chance: AUC -0\.30\d\d "
        r"\(PNU-AUC at 500\), AUC \+0\.20\d\d \(RFF-S2AUC at 500\), AUC \+0\.10\d\d \(SAMULT at "
        r"500\)\.",
        text,
    )


def test_one_trial_cannot_tell_and_what_ended_differently_is_no_agreement(invent, pair, two):
    assert answer(compare(*two([0.5], [0.6]))) == (
        "Too few trials to tell B from A: 1 score without a test; largest difference AUC +0.1000 "
        "(QSG-S2AUC at 500)."
    )
    experiment = invent.experiment("codrna", trials=2, solvers=("samult",))
    a = [invent.record(experiment, "samult", t, 500) for t in range(2)]
    b = [invent.failure(experiment, "samult", t, 500, "out_of_memory") for t in range(2)]
    assert answer(compare(*pair((experiment, a), (experiment, b)))) == (
        "B does not reproduce A: no fit finished in both; 2 fits ended differently."
    )


@pytest.fixture
def with_labeled(invent):
    """Return a function that makes an experiment with some number of labelled rows."""

    def make(labeled, **settings):
        one = invent.experiment("codrna", trials=3, solvers=("samult", "pnu_auc"))
        protocol = one.protocol.model_copy(update={"labeled": labeled})
        return one.model_copy(update={"protocol": protocol, **settings})

    return make


def test_other_settings_are_two_experiments_and_no_reproduction(invent, pair, with_labeled):
    a, b = with_labeled(30), with_labeled(60, name="other", outputs=())
    near, far = (invent.typical(a, sizes=(500,), seed=seed) for seed in range(2))
    told = (
        "A and B differ in protocol.labeled (30, 60): this compares two experiments, not a "
        "reproduction. "
    )
    same = answer(compare(*pair((a, near), (b, near))))
    assert same == f"{told}All 6 fits that both have are identical but for times."
    other = answer(compare(*pair((a, near), (b, far))))
    assert other.startswith(told)
    assert "score" in other and "reproduce" not in other and "agrees" not in other


def test_settings_that_common_fits_do_not_depend_on_leave_a_reproduction(
    invent, pair, with_labeled
):
    a = with_labeled(30)
    records = invent.typical(a, sizes=(500,))
    sweep = a.sweep.model_copy(update={"unlabeled": (500, 700)})
    protocol = a.protocol.model_copy(update={"trials": 9})
    alone = {"samult": a.solvers["samult"].model_copy(update={"label": "SAMULT", "against": None})}
    others = {"sweep": sweep, "protocol": protocol, "solvers": alone, "seed": 7}
    b = a.model_copy(update=others)
    comparison = compare(*pair((a, records), (b, records[:3])))
    assert comparison.config and not comparison.changed
    assert answer(comparison).startswith("B reproduces A: all 3 fits ")


# --- fits that match whatever their size --------------------------------------------------------


def test_all_rows_match_however_many_they_are(invent, pair, with_labeled):
    sides = []
    for labeled, n in ((30, 539), (60, 509)):
        experiment = with_labeled(labeled)
        records = [
            invent.record(experiment, "samult", trial, size, full=size > 100)
            for trial in range(3)
            for size in (100, n)
        ]
        sides.append((experiment, records))
    comparison = compare(*pair(*sides))
    assert comparison.mismatches == []
    assert [effect.size for effect in effects_of(comparison, AUC)] == [(100, False), (539, True)]
    text = comparison_text(comparison, 120)
    assert (
        "`all` is 539 unlabelled rows in A and 509 in B: tables call it by the number of A." in text
    )


def test_as_many_rows_that_are_not_all_keep_their_number(invent, pair, with_labeled):
    experiment = with_labeled(30)
    a = [invent.record(experiment, "samult", 0, 509, full=True)]
    b = [invent.record(experiment, "samult", 0, n, full=n == 539) for n in (509, 539)]
    comparison = compare(*pair((experiment, a), (experiment, b)))
    assert [effect.size.n for effect in effects_of(comparison, AUC)] == [509]
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
def test_fits_that_do_not_depend_on_the_size_match_at_any(invent, pair, with_labeled, a, b):
    experiment = with_labeled(30)
    sides = []
    for size, also in (a, b):
        own = [
            invent.record(experiment, "samult", trial, n, **({"also_at": also} if also else {}))
            for trial in range(3)
            for n in (size, *also)
        ]
        other = [invent.record(experiment, "pnu_auc", trial, 50) for trial in range(3)]
        sides.append((experiment, own + other))
    comparison = compare(*pair(*sides))
    assert comparison.mismatches == []
    assert [(one.solver, one.size.n) for one in effects_of(comparison, AUC)] == [
        ("SAMULT", a[0]),
        ("PNU-AUC", 50),
    ]
    assert comparison.common == comparison.identical == 6


# --- the verdict ------------------------------------------------------------------------------


def test_identical_results_are_said_to_be(invent, pair):
    experiment = invent.experiment("codrna", trials=3)
    records = invent.typical(experiment, sizes=(500, 20_000))
    slower = [r | {"times": {"fit": [1.9, 2.0, 2.1][r["trial"]]}} for r in records]
    records = [r | {"times": {"fit": 1.0}} for r in records]
    comparison = compare(*pair((experiment, records), (experiment, slower)))
    assert verdict(comparison) == (
        "Training time: B takes 2.00 times as long "
        "(median over 6; 6 significant: QSG-S2AUC, SAMULT, PNU-AUC, RFF-S2AUC)."
    )


def test_the_last_bit_counts(two):
    a = [0.5, 0.625]
    assert compare(*two(a, a)).identical == 2
    comparison = compare(*two(a, [0.5, math.nextafter(0.625, 1)]))
    assert (comparison.identical, comparison.common) == (1, 2)
    assert "1 of 2 common results are identical." in comparison_text(comparison, 120)


def test_a_chosen_hyper_parameter_is_part_of_a_result(invent, pair):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    sides = [
        (experiment, [invent.record(experiment, "samult", 0, 500, params={"lam": lam})])
        for lam in (1.0, 8.0)
    ]
    assert compare(*pair(*sides)).identical == 0


def test_a_clear_difference_is_found_and_its_direction_told(two):
    a = list(0.7 + 0.1 * RNG.random(8))
    b = [x + 0.05 + 0.001 * t for t, x in enumerate(a)]
    times = [1.0 + 0.01 * t for t in range(8)], [0.62 + 0.011 * t for t in range(8)]
    text = verdict(compare(*two(a, b, times=times)))
    assert text == (
        "AUC: B is higher in 1 (QSG-S2AUC) of 1 comparison at the 5% level after Holm's correction "
        "(paired t-tests); training time: B takes 0.64 times as long (median over 1; 1 "
        "significant: QSG-S2AUC)."
    )
    assert "B is lower in 1 (QSG-S2AUC) of 1" in verdict(compare(*two(b, a, times=times)))


def test_no_difference_is_said_with_the_number_of_comparisons(invent, pair):
    experiment = invent.experiment("codrna", trials=5)
    a = invent.typical(experiment, sizes=(500, 5000), seed=1)
    rng = np.random.default_rng(3)
    b = [
        record | {"scores": {"auc": record["scores"]["auc"] + 0.01 * rng.normal()}}
        if record["solver"] != "samult"
        else record
        for record in a
    ]
    assert verdict(compare(*pair((experiment, a), (experiment, b)))).startswith(
        "AUC: no difference at the 5% level after Holm's correction (6 comparisons, paired "
        "t-tests; 2 more identical); training time: identical"
    )


def test_one_trial_is_no_test(two):
    comparison = compare(*two([0.5], [0.6], times=([1.0], [3.0])))
    assert verdict(comparison) == (
        "AUC: not tested, for want of trials (1 comparison); training time: B takes 3.00 times "
        "as long (median over 1)."
    )
    assert "Holm: " not in comparison_text(comparison, 120)


def test_identical_comparisons_are_not_counted_as_tests(invent, pair):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult", "pnu_auc"))
    records = [invent.record(experiment, solver, 0, 500) for solver in experiment.solvers]
    changed = [records[0], records[1] | {"scores": {"auc": 0.5}}]
    text = verdict(compare(*pair((experiment, records), (experiment, changed))))
    assert text == (
        "AUC: not tested, for want of trials (1 comparison; 1 more identical); training time: "
        "identical."
    )


def test_nothing_finished_in_both(invent, pair, tmp_path):
    experiment = invent.experiment("codrna", trials=2, solvers=("samult",))
    a = [invent.record(experiment, "samult", t, 500) for t in range(2)]
    b = [invent.failure(experiment, "samult", t, 500, "out_of_memory") for t in range(2)]
    comparison = compare(*pair((experiment, a), (experiment, b)))
    assert verdict(comparison) == "No fit finished in both A and B."
    paths = write_comparison(comparison, tmp_path / "out")
    assert {path.stem for path in paths} == {"compare_status"}
    assert "out of memory" in comparison_text(comparison, 80)


def test_times_of_other_machines_are_no_comparison(two):
    values = [0.5, 0.6], [0.6, 0.8]
    fine = compare(*two(*values))
    assert fine.timing_problems == fine.environment == []
    other = MACHINE | {"processor": "new", "libraries": {"numpy": "3"}}
    times = [1.0, 1.1], [2.0, 2.1]
    comparison = compare(*two(*values, times=times, environment={"a": MACHINE, "b": other}))
    assert comparison.timing_problems == ["the processor is old in A and new in B"]
    assert verdict(comparison).endswith(", but times are not comparable.")
    text = comparison_text(comparison, 120)
    assert "Warning: times are not comparable: the processor is old in A and new in B." in text
    assert "  processor: old → new\n  libraries.numpy: – → 3" in text


def test_times_of_unknown_machines_are_no_comparison(two):
    comparison = compare(*two([0.5], [0.6], environment={"a": MACHINE, "b": {}}))
    assert comparison.timing_problems == ["processor and threads are not stored in both"]


def test_every_environment_of_a_folder_counts(invent, tmp_path):
    experiment = invent.experiment("codrna", trials=2, solvers=("samult",))
    files = {name: MACHINE | {"threads": threads} for name, threads in (("one", 2), ("two", 1))}
    a, b = (
        results_of(
            tmp_path / side,
            experiment,
            [invent.record(experiment, "samult", t, 500, environment=names[t]) for t in range(2)],
            files=files,
        )
        for side, names in (("a", ("one", "two")), ("b", ("one", "one")))
    )
    comparison = compare(a, b)
    assert comparison.timing_problems == ["the number of threads is 2 and 1 in A and 2 in B"]
    again = compare(a, a)
    assert again.environment == []
    assert again.timing_problems == ["the number of threads is 2 and 1 in A and 2 and 1 in B"]


# --- what differs besides -----------------------------------------------------------------------


def test_fits_of_one_side_and_statuses_that_differ(invent, pair, tmp_path):
    a = invent.experiment("codrna", trials=3, solvers=("qsg_s2auc", "samult"))
    b = invent.experiment("codrna", trials=3, solvers=("qsg_s2auc", "pnu_auc"))
    sizes = (500, 2000)
    in_a = [invent.record(a, s, t, n) for s in a.solvers for t in range(3) for n in (*sizes, 9000)]
    in_b = [invent.record(b, s, t, n) for s in b.solvers for t in (0, 2) for n in sizes]
    in_b[0] = invent.failure(b, "qsg_s2auc", 0, 500, "out_of_memory", needed=2**30)
    comparison = compare(*pair((a, in_a), (b, in_b)))
    rows = [(m.solver, [s.n for s in m.sizes], m.trials, m.a, m.b) for m in comparison.mismatches]
    assert rows == [
        ("QSG-S2AUC", [500], (0,), "ok", "refused"),
        ("QSG-S2AUC", [500, 2000], (1,), "ok", "not run"),
        ("QSG-S2AUC", [9000], (0, 1, 2), "ok", "not run"),
        ("SAMULT", [500, 2000, 9000], (0, 1, 2), "ok", "not run"),
        ("PNU-AUC", [500, 2000], (0, 2), "not run", "ok"),
    ]
    write_comparison(comparison, tmp_path / "out")
    stored = read_csv(tmp_path / "out", "compare_status")
    assert len(stored) == 1 + 2 + 3 + 9 + 4
    assert stored[0]["status_b"] == "refused"
    text = comparison_text(comparison, 120)
    assert "500, 2,000, 9,000" in text
    assert "1-3" in text


def test_changed_choices_are_counted_by_trial(invent, pair):
    experiment = invent.experiment("codrna", trials=4, solvers=("samult",))

    def records(sigmas):
        return [
            invent.record(experiment, "samult", t, n, params={"lam": 1.0, "sigma": sigma})
            for t, sigma in enumerate(sigmas)
            for n in (500, 2000)
        ]

    comparison = compare(
        *pair(
            (experiment, records([0.125, 0.125, 1.0, 8.0])),
            (experiment, records([1.0, 1.0, 1.0, 0.125])),
        )
    )
    lam, sigma = comparison.choices
    assert (lam.parameter, lam.differing) == ("lam", [])
    assert sigma.changes == [(("0.125", "1"), 2), (("8", "0.125"), 1)]
    text = comparison_text(comparison, 120)
    assert "0.125 → 1 (2), 8 → 0.125 (1)" in text
    assert "3/4" in text
    assert "The same in every trial: SAMULT lam." in text


def test_a_parameter_fixed_on_one_side_is_compared_with_the_choices(invent, pair):
    a = invent.experiment("codrna", trials=1, solvers=("samult",))
    spec = invent.solver("samult", params={"lam": 0.5})
    b = invent.experiment("codrna", trials=1, solvers={"samult": spec})
    sides = [
        (a, [invent.record(a, "samult", 0, 500, params={"lam": 8.0, "sigma": 1.0})]),
        (b, [invent.record(b, "samult", 0, 500, params={})]),
    ]
    changes = {one.parameter: one.changes for one in compare(*pair(*sides)).choices}
    assert changes == {"lam": [(("8", "0.5"), 1)], "sigma": [(("1", "default"), 1)]}


def test_choices_of_other_splits_are_counted_on_each_side(invent, pair):
    a = invent.experiment("codrna", trials=3, solvers=("samult",))
    b = a.model_copy(update={"seed": 1})
    in_a = [invent.record(a, "samult", t, 500, params={"lam": 1.0 + t % 2}) for t in range(3)]
    in_b = [invent.record(b, "samult", 0, 500, params={"lam": 2.0})]
    text = comparison_text(compare(*pair((a, in_a), (b, in_b))), 120)
    line = next(line for line in text.splitlines() if "lam" in line)
    assert line.split() == ["SAMULT", "lam", "1", "(2),", "2", "(1)", "2", "(1)"]


def test_config_changes_are_readable(invent, pair):
    base = invent.experiment("codrna", trials=2, solvers=("qsg_s2auc", "samult"))
    long = [2.0**i for i in range(-10, 4)]

    def changed(*grids, params=None, **parts):
        spec = invent.solver("qsg_s2auc", None, *grids, params=params or {})
        return base.model_copy(update={"solvers": base.solvers | {"qsg_s2auc": spec}} | parts)

    a = changed({"lam": long, "sigma": [1.0, 0.5], "gamma": [0.5]}, params={"batch_size": 64})
    b = changed({"lam": [*long[1:], 16.0], "sigma": [0.5, 1.0]}, {"t0": [1.0]}, name="other")
    b = b.model_copy(update={"solvers": {"qsg_s2auc": b.solvers["qsg_s2auc"]}})
    sides = [(one, [invent.record(one, "qsg_s2auc", 0, 500)]) for one in (a, b)]
    found = {d.key: (d.a, d.b) for d in compare(*pair(*sides)).config}
    solver = "solvers.qsg_s2auc"
    assert found == {
        "name": ("codrna_s2auc", "other"),
        f"{solver}.params.batch_size": ("64", "–"),
        f"{solver}.search.1.grid.lam": (
            "0.000976562, 0.00195312, .., 8 (14 values)",
            "0.00195312, 0.00390625, .., 16 (14 values); new: 16; gone: 0.000976562",
        ),
        f"{solver}.search.1.grid.gamma": ("0.5", "–"),
        f"{solver}.search.2.grid.t0": ("–", "1"),
        "solvers.samult": ("SAMULT", "–"),
    }


def test_a_grid_of_any_stage_is_the_same_in_another_order(invent, pair):
    sides = []
    for values in ([1.0, 2.0, 4.0], [4.0, 1.0, 2.0]):
        solver = invent.solver("samult", None, {"lam": values}, {"t0": values})
        experiment = invent.experiment("codrna", trials=1, solvers={"samult": solver})
        sides.append((experiment, [invent.record(experiment, "samult", 0, 500)]))
    assert compare(*pair(*sides)).config == []


def test_a_value_of_a_grid_may_be_several_numbers(invent, pair):
    sides = []
    for several in ((0.0, 1.0), (0.0, 0.5)):
        solver = invent.solver("samult", None, {"gamma": [1.0, several]})
        experiment = invent.experiment("codrna", trials=1, solvers={"samult": solver})
        sides.append((experiment, [invent.record(experiment, "samult", 0, 500)]))
    [found] = compare(*pair(*sides)).config
    assert (found.a, found.b) == ("1, [0 1]", "1, [0 0.5]")


# --- whose values these are -----------------------------------------------------------------------


def test_solvers_are_matched_by_what_they_are_not_by_their_keys(invent, pair):
    sides = []
    for keys in (("one", "two"), ("two", "one")):
        solvers = {keys[0]: invent.solver("samult"), keys[1]: invent.solver("pnu_auc")}
        experiment = invent.experiment("codrna", trials=1, solvers=solvers)
        aucs = dict(zip(keys, (0.25, 0.75), strict=True))
        records = [invent.record(experiment, key, 0, 500, auc=aucs[key]) for key in keys]
        sides.append((experiment, records))
    comparison = compare(*pair(*sides))
    assert [(e.solver, e.a, e.b) for e in effects_of(comparison, AUC)] == [
        ("SAMULT", 0.25, 0.25),
        ("PNU-AUC", 0.75, 0.75),
    ]


def test_another_solver_under_the_same_key_is_not_compared(invent, pair):
    sides = []
    for kind in ("samult", "pnu_auc"):
        solvers = {"exact": invent.solver(kind), "qsg_s2auc": invent.solver("qsg_s2auc")}
        experiment = invent.experiment("codrna", trials=1, solvers=solvers)
        records = [invent.record(experiment, key, 0, 500) for key in solvers]
        sides.append((experiment, records))
    comparison = compare(*pair(*sides))
    assert [effect.solver for effect in effects_of(comparison, AUC)] == ["QSG-S2AUC"]
    assert [(one.solver, one.a, one.b) for one in comparison.mismatches] == [
        ("SAMULT", "ok", "not run"),
        ("PNU-AUC", "not run", "ok"),
    ]


def test_errors_are_percents_and_their_files_are_named_by_the_measure(invent, pair, tmp_path):
    solvers = {"tsgs3vm": invent.solver("tsgs3vm", "TSGS3VM")}
    experiment = invent.experiment("w8a", trials=3, solvers=solvers, task=CLASSES)
    errors = [0.05, 0.06, 0.08], [0.06, 0.08, 0.09]
    sides = [
        (
            experiment,
            [invent.record(experiment, "tsgs3vm", t, 500, error=x) for t, x in enumerate(e)],
        )
        for e in errors
    ]
    comparison = compare(*pair(*sides, task=CLASSES))
    paths = write_comparison(comparison, tmp_path / "out")
    assert {"compare_error", "compare_time"} <= {path.stem for path in paths}
    (row,) = read_csv(tmp_path / "out", "compare_error")
    assert float(row["difference"]) == pytest.approx(0.04 / 3)
    assert row["unlabeled"] == "500"
    text = comparison_text(comparison, 120)
    assert "Error on the unlabelled rows in percent: mean over n pairs of trials" in text
    assert "6.333  7.667  +1.333 [" in text
    error, _ = comparison_figure(comparison).axes
    assert error.get_title() == "Error (%)"
    (marker,) = [line for line in error.get_lines() if line.get_label() == "TSGS3VM"]
    assert marker.get_ydata()[0] == pytest.approx(4 / 3)


def test_a_comparison_without_a_sweep_has_no_sizes(regression, tmp_path):
    values = {"ridge": [1.5, 2.5, 2.0], "lasso": [3.0, 3.5, math.nan]}
    a = regression(values, name="a", data={"content_hash": "x"})
    worse = {solver: [x + 0.5 + 0.01 * t for t, x in enumerate(v)] for solver, v in values.items()}
    b = regression(worse, name="b", data={"content_hash": "x"})
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


def test_two_tasks_have_nothing_to_compare(invent, make, regression):
    experiment = invent.experiment("codrna", trials=1)
    ranking = make(experiment, invent.typical(experiment, sizes=(500,)))
    with pytest.raises(ResultsError, match="no fit is in both"):
        compare(ranking, regression({"ridge": [1.0]}))


# --- what is written ----------------------------------------------------------------------------


def read_csv(folder, name):
    with (folder / "tables" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def typical(invent, pair):
    a = invent.experiment("codrna", trials=6, name="before")
    b = a.model_copy(update={"name": "after"})
    sizes = (500, 5000, 20_000)
    sides = [(a, invent.typical(a, sizes=sizes, seed=4, test=True))]
    sides.append((b, invent.typical(b, sizes=sizes, seed=5, test=True)))
    return compare(*pair(*sides))


def test_every_format_is_written_with_unrounded_numbers(typical, tmp_path):
    out = tmp_path / "out"
    paths = write_comparison(typical, out)
    assert sorted(paths) == sorted(path for path in out.rglob("*") if path.is_file())
    tables = ("auc", "auc_test", "time", "params", "config")
    assert {path.name for path in paths} == {
        f"compare_{table}.{suffix}" for table in tables for suffix in ("csv", "md", "tex")
    } | {"compare.pdf", "compare.png"}
    for row, effect in zip(read_csv(out, "compare_auc"), effects_of(typical, AUC), strict=True):
        assert float(row["difference"]) == pytest.approx(effect.contrast.difference, rel=1e-12)
        assert float(row["interval_low"]) == pytest.approx(effect.contrast.interval[0], rel=1e-12)
        assert float(row["holm_rank"]) == pytest.approx(effect.holm_rank, rel=1e-12)
    for row, effect in zip(read_csv(out, "compare_time"), effects_of(typical, TIME), strict=True):
        logs = np.log(effect.values_b / effect.values_a)
        mean_ratio = math.exp(logs.mean())
        assert float(row["ratio_of_medians"]) == pytest.approx(effect.ratio, rel=1e-12)
        assert float(row["geometric_mean_ratio"]) == pytest.approx(mean_ratio, rel=1e-9)
        assert float(row["interval_low"]) < mean_ratio < float(row["interval_high"])
    assert "→" not in (out / "tables" / "compare_params.tex").read_text()
    assert imread(out / "figures" / "compare.png").shape[1] > 1000


def test_the_figure_shows_differences_intervals_and_ratios(typical):
    auc, test_auc, time = comparison_figure(typical).axes
    assert [axes.get_title() for axes in (auc, test_auc, time)] == [
        "AUC",
        "AUC, official test rows",
        "Training time",
    ]
    for axes, measure in ((auc, AUC), (time, TIME)):
        effects = effects_of(typical, measure)
        markers = [line for line in axes.get_lines() if line.get_label() in typical.solvers]
        expected = [e.ratio if measure is TIME else e.contrast.difference for e in effects]
        assert [line.get_ydata()[0] for line in markers] == pytest.approx(expected)
        assert [line.get_label() for line in markers] == [effect.solver for effect in effects]
        open_ = [line.get_markerfacecolor() == "white" for line in markers]
        assert open_ == [not effect.significant for effect in effects]
    intervals = [tuple(line.get_ydata()) for line in auc.get_lines() if len(line.get_ydata()) == 2]
    assert {effect.contrast.interval for effect in effects_of(typical, AUC)} <= set(intervals)


def test_a_narrow_terminal_leaves_out_the_tests_by_ranks(typical):
    wide, narrow = comparison_text(typical, 120), comparison_text(typical, 80)
    headers = [
        next(line for line in text.splitlines() if line.startswith("Solver"))
        for text in (wide, narrow)
    ]
    assert [header.split("]")[1].split() for header in headers] == [
        ["p", "(t)", "Holm", "p", "(W)", "Holm"],
        ["p", "(t)", "Holm"],
    ]
    tables = narrow[narrow.index("AUC on the unlabelled") :].split("Training time")[0]
    assert max(map(len, tables.splitlines())) <= 80
    assert "A wider terminal" in narrow
    assert "A wider terminal" not in wide
    assert max(map(len, wide.splitlines())) <= 120


def test_tests_by_ranks_that_can_reject_nothing_are_said_to_be(two):
    few = comparison_text(compare(*two([0.5, 0.6, 0.7], [0.6, 0.5, 0.9])), 120)
    assert "cannot give a p below 0.25" in " ".join(few.split())
    many = comparison_text(compare(*two(list(RNG.random(6)), list(RNG.random(6)))), 120)
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


def test_nothing_in_common_is_an_error_in_one_line(invent, pair):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult", "pnu_auc"))
    sides = [
        (experiment, [invent.record(experiment, solver, 0, 500)]) for solver in experiment.solvers
    ]
    told = (
        r"no fit is in both: .*/a has SAMULT at 500 unlabelled, trial 1; .*/b has PNU-AUC at 500 "
        r"unlabelled, trial 1; to be compared, they must share a solver \(by its label\), a number "
        r"of unlabelled rows \(or `all`\) and a trial$"
    )
    with pytest.raises(ResultsError, match=told):
        compare(*pair(*sides))


def test_a_folder_without_fits_is_named(invent, pair):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    a, b = pair((experiment, [invent.record(experiment, "samult", 0, 500)]), (experiment, []))
    with pytest.raises(ResultsError, match=r"/b: no fit is recorded yet"):
        compare(a, b)


def test_a_fit_recorded_twice_counts_once(invent, pair):
    experiment = invent.experiment("codrna", trials=1, solvers=("samult",))
    old = invent.record(experiment, "samult", 0, 500, auc=0.5, key="old")
    new = invent.record(experiment, "samult", 0, 500, auc=0.75)
    effect = effect_of(compare(*pair((experiment, [old, new]), (experiment, [new]))))
    assert effect.values_a.tolist() == [0.75]


def test_a_time_of_zero_is_a_microsecond(two):
    effect = effect_of(
        compare(*two([0.5, 0.6], [0.6, 0.7], times=([0.0, 0.0], [1e-6, 1e-5]))), TIME
    )
    assert effect.ratios == pytest.approx([1, 10])
    assert effect.ratio == pytest.approx(5.5)


def test_a_solver_with_another_label_is_called_by_both(invent, pair):
    sides = []
    for label in ("In A", "In B"):
        solvers = {"mine": invent.solver("samult", label)}
        experiment = invent.experiment("codrna", trials=1, solvers=solvers)
        sides.append((experiment, [invent.record(experiment, "mine", 0, 500)]))
    comparison = compare(*pair(*sides))
    assert comparison.solvers == {"In A → In B": "samult"}
    assert effect_of(comparison).solver == "In A → In B"
    assert comparison.config[0].key == "solvers.mine.label"
