"""Losses against risks spelled out: derivatives, models apart from each other, overflow, bounds."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dsgkit.engine.problem import stacked, take
from dsgkit.errors import DataError
from dsgkit.risks.margin import UNLABELED_LOSSES, Margin, RoundedMargin
from dsgkit.risks.pairwise import (
    OnCuts,
    OrdinalAUC,
    PriorAUC,
    SemiSupervisedAUC,
    SquaredLoss,
    open_cuts,
)
from dsgkit.risks.similar import SimilarUnlabeled
from tests.engine.reference import unlabeled_slope
from tests.estimators.brute_force import UNLABELED, hinge, ordinal, pnu, rounded, semi_supervised
from tests.estimators.similar import problems

C, C_STAR = (1.0, 2.0, 10.0, 0.5, 4.0), (4 / 3, 1 / 6, 10 / 3, 2 / 3, 1 / 3)
LOSSES, RAMP_S = ("shg", "sshg", "ramp", "ramp", "da"), (0.0, 0.0, 0.0, -0.5, 0.0)
GAMMA, PRIOR = (0.0, 0.3, 1.0, 0.5, 0.8), (0.7, 0.7, 0.7, 0.3, 0.9)
ETA = (-1.0, -0.3, 0.0, 0.9, 1.0)
PER_CUT = [[0.5, 0.5], [0.0, 0.25], [0.9, 1.0], [0.3, 0.7], [0.2, 0.6]]
MISSING = (None, 0, 1, 2, None)  # the class that a model has no rows of
DELTAS = ("abs", "relu", "leaky_relu", "leaky_relu", "none")
BELOW_0 = {"abs": -1.0, "relu": 0.0, "leaky_relu": -0.4, "none": 1.0}
SOME = (True, False, True, False, True)


def margin(p, n, u, C, C_star, loss, s, balance):
    """Classes weigh 0.3 and 0.7; balanced models have the offset of a mean of -0.4."""
    offset = balance * (-0.4 - u.mean())
    labeled = 0.3 * hinge(p + offset).mean() + 0.7 * hinge(-n - offset).mean()
    return C * labeled + C_star * UNLABELED[loss](u + offset, s).mean()


def rounded_margin(p, n, u, C, C_star):
    return C * rounded(np.append(p, -n)).mean() + C_star * rounded(abs(u)).mean()


def similar(s, u, prior, delta, loss):
    written = {"squared": problems.squared, "logistic": lambda z, t: np.logaddexp(0, -t * z)}
    parts = problems.parts(s, u, prior, written[loss])
    return sum(r if r >= 0 else BELOW_0[delta] * r for r in parts)


def per_cut(first, second, third, u, gammas, missing):
    classes = [f[: 0 if k == missing else 9] for k, f in enumerate((first, second, third))]
    return ordinal(classes, u, gammas)


def squared(p, n, u, _):
    return (3 * (1 - 2 * p.mean()) + 7 * (1 + 2 * n.mean())) / 40 + (u**2).mean() / 4


RISKS = {
    # a model's loss of its parameters, and the rows of each source
    margin: (lambda *own: Margin(*own[:2], loss=own[2], ramp_s=own[3], balance=own[4]), (3, 7)),
    rounded_margin: (RoundedMargin, (3, 7)),
    similar: (lambda prior, delta, loss: SimilarUnlabeled(prior, delta, -0.4, loss), (6,)),
    semi_supervised: (SemiSupervisedAUC, (4, 3)),
    pnu: (PriorAUC, (4, 3)),
    squared: (lambda _: SquaredLoss(), (3, 7)),
    per_cut: (lambda gammas, missing: OrdinalAUC(np.array(gammas)), (2, 1, 3)),
}
MARGINS, PAIRS = (C, C_STAR, LOSSES, RAMP_S), (PRIOR, DELTAS)
CASES = {
    # a risk, five models' parameters, the sizes of batches, and the scale of values
    "margins": (margin, (*MARGINS, [False] * 5), (10, 10, 10), 2.0),
    "balanced margins": (margin, (*MARGINS, [True] * 5), (10, 10, 10), 2.0),
    "some balanced": (margin, (*MARGINS, SOME), (10, 10, 10), 2.0),
    "rounded margins": (rounded_margin, (C, C_STAR), (10, 10, 10), 2.0),
    "similar, below 0": (similar, (*PAIRS, ["squared"] * 5), (6, 9), 3.0),
    "similar": (similar, (*PAIRS, ["squared"] * 5), (6, 9), 0.2),
    "similar, logistic": (similar, (*PAIRS, ["logistic"] * 5), (6, 9), 3.0),
    "pairs": (semi_supervised, (GAMMA,), (4, 3, 6), 1.0),
    "triplets": (semi_supervised, (GAMMA,), (4, 3, 6), 1.0),
    "pnu": (pnu, (ETA, PRIOR), (4, 3, 6), 1.0),
    "squares": (squared, (range(5),), (3, 7, 10), 1.0),
    "ordinal": (per_cut, (PER_CUT, MISSING), (2, 1, 3, 2), 1.0),
    "tuples": (per_cut, (PER_CUT, MISSING), (2, 1, 3, 2), 1.0),
}


def loss_of(name):
    """Return the loss of a case's five models."""
    risk, params, *_ = CASES[name]
    (made, rows), missing = RISKS[risk], MISSING if risk is per_cut else [None] * 5
    counts = [[0 if k == m else n for k, n in enumerate(rows)] for m in missing]
    return stacked([made(*own) for own in zip(*params, strict=True)], counts)


def on_all_tuples(loss, values):
    """Return slopes summed over the batch of all tuples of rows, one of each source."""
    classes, out = [*range(len(values) - 1)], [np.zeros_like(f) for f in values]
    sources = [*(classes[::-1] if loss.descending else classes), len(classes)]
    tuples = np.array([*itertools.product(*(range(len(values[k])) for k in sources))]).T
    batch = [values[k][rows] for k, rows in zip(sources, tuples, strict=True)]
    for k, rows, c in zip(sources, tuples, loss.tuple_slopes(batch, 1), strict=True):
        np.add.at(out[k], rows, c)
    return out


@pytest.fixture(params=CASES)
def case(request):
    """A loss, what has its slopes, values that are not near a kink, and their risks."""
    risk, params, sizes, scale = CASES[request.param]
    loss, rng = loss_of(request.param), np.random.default_rng(1)
    values = [scale * rng.uniform(-1, 1, size=(n, 5)) for n in sizes]
    if "margins" in request.param or "balanced" in request.param:
        for kink in (-1, -0.5, 0, 0.5, 1):
            for f in values:
                f[np.abs(f - kink) < 0.02] += 0.05
    if isinstance(loss, Margin):  # away from kinks when the offset -0.7 is added
        values[2][0] = len(values[2]) * (2 * 0.3 - 1) - values[2][1:].sum(axis=0)
        values = [f + np.where(loss.balance, 0.7, 0) for f in values]

    def slopes(loss, values):
        single = [f.astype(np.float32) for f in values]
        on_tuples = request.param in ("triplets", "tuples")
        return on_all_tuples(loss, single) if on_tuples else loss.slopes(single, 1)

    def risks(values):
        models = enumerate(zip(*params, strict=True))
        return np.array([risk(*(f[:, k] for f in values), *own) for k, own in models])

    return loss, slopes, values, risks


def test_values_are_the_risks_and_slopes_their_central_differences(case):
    loss, slopes, values, risks = case
    got, h = slopes(loss, values), 1e-6
    centred = loss._balanced(values) if isinstance(loss, Margin) else values
    np.testing.assert_allclose(loss.value(centred), risks(values), rtol=1e-6)
    for source, f in enumerate(values):
        for i in range(len(f)):
            ends = [[g.copy() for g in values] for _ in range(2)]
            ends[0][source][i] += h
            ends[1][source][i] -= h
            expected = (risks(ends[0]) - risks(ends[1])) / (2 * h)
            np.testing.assert_allclose(got[source][i], expected, rtol=1e-4, atol=1e-5)
    assert all(np.abs(c).max() > 0 and c.dtype == np.float32 for c in got)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_models_are_apart_and_one_that_overflowed_has_no_derivative(case, bad):
    loss, slopes, values, _ = case
    expected, near = slopes(loss, values), {"rtol": 1e-6, "atol": 1e-7}
    some = slopes(take(loss, slice(1, 4)), [f[:, 1:4] for f in values])
    for got, all_models in zip(some, expected, strict=True):
        np.testing.assert_allclose(got, all_models[:, 1:4], **near)
    for source in range(len(values)):
        changed = [f.copy() for f in values]
        changed[source][-1, 1] = bad
        with np.errstate(all="ignore"):
            got = slopes(loss, changed)
        bounded = isinstance(loss, SimilarUnlabeled) and loss.loss[0] == "logistic"
        by_means = isinstance(loss, SquaredLoss) and source < 2
        assert bounded or by_means or not np.isfinite(got[source][-1, 1])
        for c, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(np.delete(c, 1, 1), np.delete(e, 1, 1), **near)


def test_a_source_without_rows_has_no_slopes():
    rng = np.random.default_rng(1)
    values = [rng.normal(size=(n, 1)).astype(np.float32) for n in (4, 0, 6)]
    c_p, c_n, c_u = stacked([SemiSupervisedAUC(1.0)], [[4, 3]]).slopes(values, 1)
    assert c_p.shape == (4, 1) and c_n.shape == (0, 1) and not c_u.any()


def test_cuts_without_rows_on_one_side_are_not_open_and_take_the_nearest_loss():
    counts = np.array([[1, 1, 1, 1], [0, 2, 0, 3], [0, 0, 4, 0]])
    assert open_cuts(counts).tolist() == [[True] * 3, [False, True, True], [False] * 3]
    with pytest.raises(DataError, match="two classes outside of every fold"):
        stacked([OrdinalAUC(PER_CUT[0])], [[0, 4, 0]]).form  # noqa: B018
    rng, nearest = np.random.default_rng(0), (0, 1, 1)
    f = [rng.normal(size=(n, 1, 3)) for n in (3, 2, 4, 1, 5)]
    risks = []
    for cut, used in enumerate(nearest):
        *classes, _, u = (z[:, 0, cut] for z in f)
        p, n = np.concatenate(classes[used + 1 :]), np.concatenate(classes[: used + 1])
        risks.append(pnu(p, n, u, 0.2, 0.4) if used else semi_supervised(p, n, u, 0.3))
    binary = [SemiSupervisedAUC(0.3), PriorAUC(0.2, 0.4), SemiSupervisedAUC(0.8)]
    value = stacked([OnCuts(binary)], [np.array([3, 2, 4, 0])]).value(f)
    assert value[0] == pytest.approx(np.mean(risks))


@pytest.mark.parametrize("loss", UNLABELED_LOSSES)
def test_at_kinks_the_derivative_is_as_stated(loss):
    for r in (-1.0, -0.5, -0.0, 0.0, 0.5, 1.0):
        got = UNLABELED_LOSSES[loss].slope(np.float32(r), np.float32(-0.5))
        assert got == pytest.approx(unlabeled_slope(loss, r, -0.5), rel=1e-6)
        assert r != 0 or got == 0


def test_unlabelled_rows_weigh_more_and_more_and_balanced_models_have_the_mean_of_labels():
    values = [np.full((4, 1), f, np.float32) for f in (1.0, -1.0, 0.5)]
    loss = stacked([Margin(2.0, 3.0, full_from=4.0)], [[3, 7]])
    for t, share in ((1, 1 / 64), (2, 1 / 8), (4, 1), (10, 1)):
        c_p, c_n, c_u = loss.slopes(values, t)
        assert not c_p.any() and not c_n.any()  # at their kinks
        assert c_u[0, 0] == pytest.approx(-3.0 * share / 4)
    held = loss_of("some balanced").held_mean
    np.testing.assert_allclose(held, [-0.4, np.nan, -0.4, np.nan, -0.4])


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


def test_batches_below_0_and_running_means_are_kept_in_the_memory_of_all_models():
    rng, windows = np.random.default_rng(1), np.array([1.0, 0.2, 2.0, 2.5, 9.0])
    counted, averaged = (loss_of("similar") for _ in range(2))
    averaged, means, below = replace(averaged, window=windows), np.zeros((5, 2)), np.zeros(5)
    for t in range(1, 6):
        values = [3 * rng.normal(size=(n, 5)) for n in (6, 9)]
        averaged.slopes(values, t)
        models = slice(1, 4) if t == 2 else slice(0, 5)
        take(counted, models).slopes([f[:, models] for f in values], t)
        for k in range(5):
            r = np.array(problems.parts(*(f[:, k] for f in values), PRIOR[k], problems.squared))
            means[k] += (r - means[k]) / min(t, max(1, windows[k]))
            below[k] += (r < 0).any() and k in range(*models.indices(5))
        np.testing.assert_allclose(averaged.averages, means)
    np.testing.assert_array_equal(counted.negative, below)
    assert below.min() > 0
