"""What all objectives have in common: derivatives, models apart from each other, overflow."""

import numpy as np
import pytest

from dsgkit.objectives.majorised_s3vm import MajorisedS3VMObjective
from dsgkit.objectives.pairwise_auc import PairwiseAUCObjective
from dsgkit.objectives.pairwise_risk import pnu_risk, samult_risk
from dsgkit.objectives.pnu_auc import PNUAUCObjective
from dsgkit.objectives.s3vm import S3VMObjective
from dsgkit.objectives.similar_unlabeled import SimilarUnlabeledObjective

C = np.array([1.0, 2.0, 10.0, 0.5, 4.0])
RAMP_S = np.array([0.0, 0.0, 0.0, -0.5, 0.0])
PRIOR = np.array([0.7, 0.7, 0.7, 0.3, 0.9])
LEAK = np.array([-0.5, -0.5, -0.5, -2.0, -0.5])
GAMMA = np.array([0.0, 0.3, 1.0, 0.5, 0.8])
RISKS = [
    samult_risk(0.3),
    samult_risk(1.0),
    pnu_risk(0.4, 0.3),
    pnu_risk(-0.2, 0.6),
    samult_risk(0),
]


def s3vm(**more):
    return S3VMObjective(C, C[::-1] / 3, 0.3, ["shg", "sshg", "ramp", "ramp", "da"], RAMP_S, **more)


def similar(loss):
    deltas = ["abs", "relu", "leaky_relu", "leaky_relu", "none"]
    return SimilarUnlabeledObjective(PRIOR, deltas, LEAK, loss)


def pairs_mean(a, b):
    return np.mean([(1 - u + v) ** 2 for u in a for v in b], axis=0)


def over_pairs(values):
    """The risks of all pairs, from their definition."""
    p, n, u = values
    pn, pu, un = pairs_mean(p, n), pairs_mean(p, u), pairs_mean(u, n)
    pp, nn = pairs_mean(p, p), pairs_mean(n, n)
    return np.array(
        [
            0.3 * pn[0] + 0.7 * (pu + un)[0],
            pn[1],
            0.6 * pn[2] + 0.4 / 0.7 * (pu - 0.3 * pp)[2],
            0.8 * pn[3] + 0.2 / 0.6 * (un - 0.4 * nn)[3],
            (pu + un)[4],
        ]
    )


def over_triplets(values):
    """The mean risk of triplets of rows, from its definition."""
    p, n, u = values

    def loss(a, b):
        return (1 - a + b) ** 2

    rest = loss(p, u) + loss(u, n) - 0.5
    return np.mean(GAMMA * loss(p, n) + (1 - GAMMA) * rest, axis=0)


LOGISTIC = similar("logistic")
"""Whose slope is bounded, so that an infinite value may have a derivative."""

CASES = {
    "S3VM": (s3vm(), (10, 10, 10), 2.0),
    "S3VM, balanced": (s3vm(balance=np.ones(5, bool)), (10, 10, 10), 2.0),
    "S3VM, some balanced": (s3vm(balance=np.array([1, 0, 1, 0, 1]) > 0), (10, 10, 10), 2.0),
    "majorised S3VM": (MajorisedS3VMObjective(C, C[::-1] / 3, np.zeros(5)), (10, 10, 10), 2.0),
    "similar, below 0": (similar("squared"), (6, 9), 3.0),
    "similar": (similar("squared"), (6, 9), 0.2),
    "similar, logistic": (LOGISTIC, (6, 9), 3.0),
    "pairs": (PairwiseAUCObjective(RISKS), (4, 3, 6), 1.0),
    "triplets": (PNUAUCObjective(GAMMA), (6, 6, 6), 1.0),
}
DEFINED = {"pairs": over_pairs, "triplets": over_triplets}
"""Losses written out here; of the others, whose own files hold them, `batch_loss`."""


@pytest.fixture(params=CASES)
def case(request):
    """An objective, its values, none of them near a kink, and its loss."""
    objective, sizes, scale = CASES[request.param]
    rng = np.random.default_rng(1)
    values = [scale * rng.uniform(-1, 1, size=(n, 5)) for n in sizes]
    balanced = getattr(objective, "balance", None)
    if "S3VM" in request.param:
        for kink in (-1, -0.5, 0, 0.5, 1):
            for f in values:
                f[np.abs(f - kink) < 0.02] += 0.05
    if balanced is not None:  # away from kinks when the offset -0.7 is added
        values[2][0] = len(values[2]) * (2 * 0.3 - 1) - values[2][1:].sum(axis=0)
        values = [f + np.where(balanced, 0.7, 0) for f in values]
    return objective, values, DEFINED.get(request.param, getattr(objective, "batch_loss", None))


def single(values):
    return [f.astype(np.float32) for f in values]


def test_coefficients_are_the_gradient_by_central_differences(case):
    objective, values, loss = case
    got, h = objective.coefficients(single(values)), 1e-6
    for source, f in enumerate(values):
        for i in range(len(f)):
            ends = [[g.copy() for g in values] for _ in range(2)]
            ends[0][source][i] += h
            ends[1][source][i] -= h
            expected = (loss(ends[0]) - loss(ends[1])) / (2 * h)
            np.testing.assert_allclose(got[source][i], expected, rtol=1e-4, atol=1e-5)
    assert all(np.abs(c).max() > 0 and c.dtype == np.float32 for c in got)


def test_models_taken_are_the_same_models(case):
    objective, values, _ = case
    everything = objective.coefficients(single(values))
    some = objective.take(slice(1, 4)).coefficients(single(f[:, 1:4] for f in values))
    for got, expected in zip(some, everything, strict=True):
        np.testing.assert_allclose(got, expected[:, 1:4], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_model_that_overflowed_has_no_derivative_and_leaves_others_alone(case, bad):
    objective, values, _ = case
    expected = objective.coefficients(single(values))
    for source in range(len(values)):
        changed = single(values)
        changed[source][2, 1] = bad
        with np.errstate(all="ignore"):
            got = objective.coefficients(changed)
        assert objective is LOGISTIC or not np.isfinite(got[source][2, 1])
        for c, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(np.delete(c, 1, 1), np.delete(e, 1, 1), rtol=1e-6, atol=1e-7)


def test_a_class_without_rows_has_no_coefficients():
    values = single(np.random.default_rng(1).normal(size=(n, 1)) for n in (4, 0, 6))
    c_p, c_n, c_u = PairwiseAUCObjective(RISKS).take(slice(1, 2)).coefficients(values)
    assert c_p.shape == (4, 1) and c_n.shape == (0, 1) and not c_u.any()
