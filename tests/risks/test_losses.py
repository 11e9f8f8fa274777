"""Losses against their definitions: derivatives, models apart from each other, overflow, bounds."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dsgkit.engine.problem import stacked, take
from dsgkit.errors import DataError
from dsgkit.risks.margin import KINK_ROUNDING, UNLABELED_LOSSES, Margin, RoundedMargin, hinge
from dsgkit.risks.pairwise import OrdinalAUC, SemiSupervisedAUC, open_cuts
from dsgkit.risks.similar import SimilarUnlabeled
from tests.engine.reference import unlabeled_slope
from tests.estimators.similar import problems

C, C_STAR = (1.0, 2.0, 10.0, 0.5, 4.0), (4 / 3, 1 / 6, 10 / 3, 2 / 3, 1 / 3)
LOSSES = ["shg", "sshg", "ramp", "ramp", "da"]
GAMMA = np.array([0.0, 0.3, 1.0, 0.5, 0.8])
PRIOR = (0.7, 0.7, 0.7, 0.3, 0.9)
DELTAS = ["abs", "relu", "leaky_relu", "leaky_relu", "none"]


def margins(*balance):
    shapes = zip(C, C_STAR, LOSSES, (0.0, 0.0, 0.0, -0.5, 0.0), balance, strict=True)
    losses = [
        Margin(c, c_star, loss=loss, ramp_s=s, balance=bool(b)) for c, c_star, loss, s, b in shapes
    ]
    return stacked(losses, [[3, 7]] * 5)


def similar(loss, priors=PRIOR):
    shapes = zip(priors, DELTAS, (-0.5, -0.5, -0.5, -0.4, -0.5), strict=True)
    return stacked([SimilarUnlabeled(p, d, leak, loss) for p, d, leak in shapes], [[6]] * 5)


def rounded(*counts):
    return stacked([RoundedMargin(*pair) for pair in zip(C, C_STAR, strict=True)], [[3, 7]] * 5)


def auc():
    return stacked([SemiSupervisedAUC(gamma) for gamma in GAMMA], [[3, 7]] * 5)


def balanced_value(loss):
    """The loss of a batch, in which balanced models have an offset."""
    return lambda values: loss.value(loss._balanced(values))


def pairs_mean(a, b):
    return np.mean([(1 - u + v) ** 2 for u in a for v in b], axis=0)


def over_pairs(values):
    p, n, u = values
    rest = pairs_mean(p, u) + pairs_mean(u, n) - 0.5
    return GAMMA * pairs_mean(p, n) + (1 - GAMMA) * rest


def over_triplets(values):
    p, n, u = values
    rest = (1 - p + u) ** 2 + (1 - u + n) ** 2 - 0.5
    return np.mean(GAMMA * (1 - p + n) ** 2 + (1 - GAMMA) * rest, axis=0)


CASES = {
    "margins": (margins(0, 0, 0, 0, 0), (10, 10, 10), 2.0, balanced_value),
    "balanced margins": (margins(1, 1, 1, 1, 1), (10, 10, 10), 2.0, balanced_value),
    "some balanced": (margins(1, 0, 1, 0, 1), (10, 10, 10), 2.0, balanced_value),
    "rounded margins": (rounded(), (10, 10, 10), 2.0, lambda loss: loss.value),
    "similar, below 0": (similar("squared"), (6, 9), 3.0, lambda loss: loss.value),
    "similar": (similar("squared"), (6, 9), 0.2, lambda loss: loss.value),
    "similar, logistic": (similar("logistic"), (6, 9), 3.0, lambda loss: loss.value),
    "pairs": (auc(), (4, 3, 6), 1.0, lambda loss: over_pairs),
    "triplets": (auc(), (6, 6, 6), 1.0, lambda loss: over_triplets),
}


@pytest.fixture(params=CASES)
def case(request):
    """Slopes of a loss, its values, none of them near a kink, and the loss."""
    loss, sizes, scale, value = CASES[request.param]
    rng = np.random.default_rng(1)
    values = [scale * rng.uniform(-1, 1, size=(n, 5)) for n in sizes]
    if "margins" in request.param or "balanced" in request.param:
        for kink in (-1, -0.5, 0, 0.5, 1):
            for f in values:
                f[np.abs(f - kink) < 0.02] += 0.05
    if isinstance(loss, Margin):  # away from kinks when the offset -0.7 is added
        values[2][0] = len(values[2]) * (2 * 0.3 - 1) - values[2][1:].sum(axis=0)
        values = [f + np.where(loss.balance, 0.7, 0) for f in values]
    kind = "slopes" if request.param == "pairs" else "tuple_slopes"
    return loss, kind, values, value(loss)


def single(values):
    return [f.astype(np.float32) for f in values]


def test_slopes_are_the_gradient_by_central_differences(case):
    loss, kind, values, value = case
    got, h = getattr(loss, kind)(single(values), 1), 1e-6
    for source, f in enumerate(values):
        for i in range(len(f)):
            ends = [[g.copy() for g in values] for _ in range(2)]
            ends[0][source][i] += h
            ends[1][source][i] -= h
            expected = (value(ends[0]) - value(ends[1])) / (2 * h)
            np.testing.assert_allclose(got[source][i], expected, rtol=1e-4, atol=1e-5)
    assert all(np.abs(c).max() > 0 and c.dtype == np.float32 for c in got)


def test_models_taken_are_the_same_models(case):
    loss, kind, values, _ = case
    everything = getattr(loss, kind)(single(values), 1)
    some = getattr(take(loss, slice(1, 4)), kind)(single(f[:, 1:4] for f in values), 1)
    for got, expected in zip(some, everything, strict=True):
        np.testing.assert_allclose(got, expected[:, 1:4], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_model_that_overflowed_has_no_derivative_and_leaves_others_alone(case, bad):
    loss, kind, values, _ = case
    expected = getattr(loss, kind)(single(values), 1)
    for source in range(len(values)):
        changed = single(values)
        changed[source][2, 1] = bad
        with np.errstate(all="ignore"):
            got = getattr(loss, kind)(changed, 1)
        bounded = isinstance(loss, SimilarUnlabeled) and loss.loss[0] == "logistic"
        assert bounded or not np.isfinite(got[source][2, 1])
        for c, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(np.delete(c, 1, 1), np.delete(e, 1, 1), rtol=1e-6, atol=1e-7)


def test_a_source_without_rows_has_no_slopes():
    values = single(np.random.default_rng(1).normal(size=(n, 1)) for n in (4, 0, 6))
    c_p, c_n, c_u = take(auc(), slice(2, 3)).slopes(values, 1)
    assert c_p.shape == (4, 1) and c_n.shape == (0, 1) and not c_u.any()


# Ordered classes.

PER_CUT = np.array([[0.5, 0.5], [0.0, 0.25], [0.9, 1.0], [0.3, 0.7]])
POOLS = [np.arange(0, 2), np.arange(2, 3), np.arange(3, 6)]  # rows of each class
UNLABELED = np.arange(6, 8)
MISSING = [None, 0, 1, 2]  # the class that a model has no rows of


def ordinal_risk(f, pools, gamma):
    """Mean over the cuts with rows on both sides, each row of a side with the same weight."""

    def pair_loss(a, b):
        return np.mean([(1 - f[i] + f[j]) ** 2 for i in a for j in b])

    total, n_cuts = 0.0, 0
    for cut in range(1, len(pools)):
        p, n = np.concatenate(pools[cut:]), np.concatenate(pools[:cut])
        if len(p) and len(n):
            g, n_cuts = gamma[cut - 1], n_cuts + 1
            rest = pair_loss(p, UNLABELED) + pair_loss(UNLABELED, n) - 0.5
            total += g * pair_loss(p, n) + (1 - g) * rest
    return total / n_cuts


def without(missing):
    return [pool[:0] if c == missing else pool for c, pool in enumerate(POOLS)]


def ordinal():
    counts = [[len(pool) for pool in without(missing)] for missing in MISSING]
    return stacked([OrdinalAUC(gamma) for gamma in PER_CUT], counts)


def test_ordinal_slopes_are_the_gradient_of_the_risk_on_pairs_and_on_all_tuples():
    f, loss, h = np.random.default_rng(0).normal(size=(8, 4)), ordinal(), 1e-5
    tuples = np.array(list(itertools.product(*POOLS[::-1], UNLABELED)))
    on_tuples = np.zeros_like(f)
    slopes = loss.tuple_slopes([f[rows].astype(np.float32) for rows in tuples.T], 1)
    for rows, c in zip(tuples.T, slopes, strict=True):
        np.add.at(on_tuples, rows, c)
    for g, missing in enumerate(MISSING):
        pools = without(missing)
        alone = take(loss, slice(g, g + 1))
        own = alone.tuple_slopes([f[rows, g : g + 1].astype(np.float32) for rows in tuples.T], 1)
        np.testing.assert_array_equal(own, [c[:, g : g + 1] for c in slopes])
        values = [f[rows, g : g + 1] for rows in (*pools, UNLABELED)]
        assert alone.value(values)[0] == pytest.approx(ordinal_risk(f[:, g], pools, PER_CUT[g]))
        on_pairs = np.zeros(len(f))
        for rows, c in zip((*pools, UNLABELED), alone.slopes(values, 1), strict=True):
            on_pairs[rows] = c[:, 0]
        for i in range(len(f)):
            up, down = f[:, g].copy(), f[:, g].copy()
            up[i] += h
            down[i] -= h
            rise = ordinal_risk(up, pools, PER_CUT[g]) - ordinal_risk(down, pools, PER_CUT[g])
            assert on_tuples[i, g] == pytest.approx(rise / (2 * h), abs=1e-5)
            assert on_pairs[i] == pytest.approx(rise / (2 * h), abs=1e-5)


def test_cuts_without_rows_on_one_side_are_not_open():
    counts = np.array([[1, 1, 1, 1], [0, 2, 0, 3], [0, 0, 4, 0]])
    assert open_cuts(counts).tolist() == [[True] * 3, [False, True, True], [False] * 3]
    with pytest.raises(DataError, match="two classes outside of every fold"):
        stacked([OrdinalAUC(PER_CUT[0])], [[0, 4, 0]]).form  # noqa: B018


# Margins.


PAPER = [("shg", 0, 0.25, 0.75), ("shg", 0, -0.25, 0.75), ("shg", 0, -1.5, 0)]
PAPER += [("sshg", 0, -0.5, 0.125), ("sshg", 0, 3, 0), ("da", 0, -0.5, np.exp(-1.25))]
PAPER += [("ramp", -0.5, r, u) for r, u in ((0, 2), (0.75, 1.75), (-0.75, 1.75), (2, 1.5))]


@pytest.mark.parametrize(("loss", "s", "r", "expected"), PAPER)
def test_losses_are_those_of_the_paper(loss, s, r, expected):
    assert UNLABELED_LOSSES[loss].value(np.float64(r), s) == pytest.approx(expected)


@pytest.mark.parametrize("loss", UNLABELED_LOSSES)
@pytest.mark.parametrize("r", [-1.0, -0.5, -0.0, 0.0, 0.5, 1.0])
def test_at_kinks_the_derivative_is_as_stated(loss, r):
    got = UNLABELED_LOSSES[loss].slope(np.float32(r), np.float32(-0.5))
    assert got == pytest.approx(unlabeled_slope(loss, r, -0.5), rel=1e-6)
    assert r != 0 or got == 0


def test_the_loss_weighs_classes_by_their_share_and_unlabelled_rows_more_and_more():
    values = [np.full((4, 1), 0.5), np.full((4, 1), -3.0), np.full((4, 1), 0.0)]
    loss = stacked([Margin(2.0, 3.0, full_from=4.0)], [[3, 7]])
    assert loss.value(values)[0] == pytest.approx(2 * 0.3 * 0.5 + 3.0)
    for t, share in ((1, 1 / 64), (2, 1 / 8), (4, 1), (10, 1)):
        at_slope = [v.astype(np.float32) for v in (*values[:2], values[2] + 0.5)]
        assert loss.slopes(at_slope, t)[2][0, 0] == pytest.approx(-3.0 * share / 4)
    held = stacked([Margin(2.0, 3.0, balance=b) for b in (True, False)], [[3, 7]] * 2).held_mean
    assert held[0] == pytest.approx(-0.4) and np.isnan(held[1])


GRID = np.linspace(-3, 3, 601)


@pytest.mark.parametrize("source", range(3))
@pytest.mark.parametrize("f", [-2.5, -1.1, -1.0, -0.9, -0.3, 0.0, 0.3, 0.8, 1.0, 1.1, 2.5])
def test_the_bound_touches_the_rounded_loss_and_is_above_the_hinge_everywhere(source, f):
    """In one variable: the quadratic from slope and curvature, against the losses on a grid."""
    loss = stacked([RoundedMargin(3.0, 2.0)], [[1, 1]])
    at = [np.full((1, 1), v, np.float32) for v in (5.0, -5.0, 5.0)]
    at[source][:] = f
    slope, weight = loss.slopes(at, 1)[source][0, 0], loss.curvatures(at, 1)[source][0, 0]

    def value(f):
        return loss.value([np.full((1, 1), f) if k == source else v for k, v in enumerate(at)])[0]

    step = GRID - np.float32(f)
    bound = value(np.float32(f)) + slope * step + weight * step**2 / 2
    z = [GRID, -GRID, np.abs(GRID)][source]
    assert np.all(bound >= (2.0 if source == 2 else 1.5) * hinge(z) - 1e-5)
    assert np.all(bound >= [value(g) - 1e-5 for g in GRID]) and weight >= 0
    assert source < 2 or f != 0 or (slope == 0 and weight == 1)  # sign(0) = 0: curvature C*/2


def test_the_rounded_hinge_is_the_hinge_but_next_to_its_kink():
    z = np.linspace(-2, 4, 6001)
    loss = stacked([RoundedMargin(2.0, 0.0)], [[1, 1]])
    far = np.full((1, 1), -9.0)
    more = np.array([loss.value([np.full((1, 1), v), far, far])[0] for v in z]) - hinge(z)
    assert more.max() == pytest.approx(KINK_ROUNDING / 4) and z[more.argmax()] == pytest.approx(1)
    assert more.min() > -1e-12 and np.all(more[np.abs(1 - z) >= KINK_ROUNDING] < 1e-12)


# Similar pairs.


def test_batches_below_0_are_counted_in_the_memory_of_all_models():
    rng = np.random.default_rng(1)
    values = [3 * rng.normal(size=(n, 5)).astype(np.float32) for n in (6, 9)]
    whole = similar("squared")
    whole.slopes(values, 1)
    counted = whole.negative.copy()
    take(whole, slice(1, 4)).slopes([v[:, 1:4] for v in values], 2)
    np.testing.assert_array_equal(whole.negative, counted * [1, 2, 2, 2, 1])
    r1, r2 = np.transpose(
        [problems.parts(*(v[:, k] for v in values), PRIOR[k], problems.squared) for k in range(5)]
    )
    np.testing.assert_array_equal(counted, (r1 < 0) | (r2 < 0))


def test_slopes_are_taken_at_the_running_means_of_the_window():
    rng, windows = np.random.default_rng(1), np.array([1.0, 0.2, 2.0, 2.5, 9.0])
    loss, means = replace(similar("squared"), window=windows), np.zeros((5, 2))
    for t in range(1, 6):
        values = [3 * rng.normal(size=(n, 5)) for n in (6, 9)]
        loss.slopes(values, t)
        for k in range(5):
            r = problems.parts(*(v[:, k] for v in values), PRIOR[k], problems.squared)
            means[k] += (np.array(r) - means[k]) / min(t, max(1, windows[k]))
        np.testing.assert_allclose(loss.averages, means)


def test_corrections_differ_below_0_only_and_the_other_prior_is_the_other_sign():
    rng = np.random.default_rng(3)
    values = [3 * rng.normal(size=(n, 5)) for n in (6, 9)]
    found = similar("squared").value(values)
    mirrored = similar("squared", [1 - p for p in PRIOR]).value([-v for v in values])
    np.testing.assert_allclose(found, mirrored, rtol=1e-12)
    slopes = {"abs": -1.0, "relu": 0.0, "none": 1.0}
    leaks = (None, None, -0.5, -0.4, None)
    for k, (delta, leak) in enumerate(zip(DELTAS, leaks, strict=True)):
        own = [v[:, k] for v in values]
        below = slopes.get(delta, leak)
        r = problems.parts(*own, PRIOR[k], problems.squared)
        assert found[k] == pytest.approx(sum(part if part >= 0 else below * part for part in r))
