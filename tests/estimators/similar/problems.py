"""Small problems of similar pairs and unlabelled rows, and the risk spelled out."""

from pathlib import Path

import numpy as np

ORACLES = Path(__file__).parents[2] / "oracles"
SLOPES = {"abs": -1.0, "relu": 0.0, "leaky_relu": -0.25, "none": 1.0}  # of corrections below 0


def oracle(name):
    """Return the arrays of a stored problem, its pairs as such."""
    with np.load(ORACLES / f"{name}.npz") as stored:
        z = dict(stored)
    return z | {"xs": z["xs"].reshape(len(z["xs"]), 2, -1)}


def su_problem(n_similar=150, n_unlabeled=60, prior=0.85, seed=0):
    """Return pairs, unlabelled rows and their hidden classes, of two overlapping clouds."""
    rng = np.random.default_rng(seed)

    def rows(y):
        return rng.normal(size=(*y.shape, 3)) * 0.3 + 0.4 * y[..., None]

    share = prior**2 / (prior**2 + (1 - prior) ** 2)
    pairs = np.where(rng.random(n_similar) < share, 1, -1)
    y = np.where(rng.random(n_unlabeled) < prior, 1, -1)
    return rows(np.repeat(pairs[:, None], 2, axis=1)), rows(y), y


def parts(similar, unlabeled, prior, loss):
    """Return r1 and r2 of METHODS at the values of all points of pairs, and of unlabelled rows."""
    share, scale = prior**2 + (1 - prior) ** 2, 2 * prior - 1

    def mean(values, t):
        return np.mean([loss(z, t) for z in np.ravel(values)])

    r1 = share * mean(similar, 1) - (1 - prior) * mean(unlabeled, 1)
    r2 = prior * mean(unlabeled, -1) - share * mean(similar, -1)
    return r1 / scale, r2 / scale


def risk(values_similar, values_unlabeled, prior, loss):
    """Return the uncorrected risk: equations 6 and 7 of Bao, Niu & Sugiyama."""
    return sum(parts(values_similar, values_unlabeled, prior, loss))


def squared(z, t):
    return (t * z - 1) ** 2 / 4


def zero_one(z, t):
    return float((1 if z >= 0 else -1) != t)


def double_hinge(z, t):
    return max(-t * z, max(0.0, (1 - t * z) / 2))
