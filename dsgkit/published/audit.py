"""Finds published indices of clusterings that are impossible.

The sizes of the classes bound purity, Rand index and NMI of any clustering. A published triple that
violates one of these bounds by more than its rounding is impossible, even as a mean over runs, for
which all bounds here hold too. Purity is that of `dsgkit.tasks.metrics`, by shares of a cluster:
the paper's own formula divides by the size of another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dsgkit.linalg import Array
from dsgkit.published import bsgd_svc

ROUNDING = 0.005
"""Rounding error of figures with two decimals."""

_ROUNDING_SLACK = 1e-9


@dataclass(frozen=True)
class Finding:
    """Checks of the published purity, Rand index and NMI of one method on one dataset.

    Attributes
    ----------
    impossible : tuple of str
        Reasons why no clustering has them; empty if no bound is violated.
    degenerate : {"", "one cluster", "singletons"}
        The trivial clustering that has this Rand index, if any.
    """

    dataset: str
    method: str
    impossible: tuple[str, ...]
    degenerate: str


@cache
def findings() -> dict[tuple[str, str], Finding]:
    """Return the findings on the clustering paper by the names of dataset and method."""
    return {
        (name, method): _finding(name, method)
        for name in bsgd_svc.datasets()
        for method in bsgd_svc.METHODS
    }


def _finding(dataset: str, method: str) -> Finding:
    sizes = bsgd_svc.datasets()[dataset].class_sizes
    purity, rand, nmi = (
        bsgd_svc.value(dataset, method, measure) for measure in ("purity", "rand", "nmi")
    )
    reasons = contradictions(sizes, purity, rand, nmi, n_runs=bsgd_svc.N_RUNS)
    return Finding(dataset, method, reasons, degenerate(sizes, rand))


def contradictions(
    sizes: Sequence[int], purity: float, rand: float, nmi: float, *, n_runs: int = 1
) -> tuple[str, ...]:
    """Return reasons why no clustering has these three indices; none if one may have them.

    Parameters
    ----------
    sizes : sequence of int
        Rows of every class.
    purity, rand, nmi : float
        As published, rounded to two digits.
    n_runs : int
        Number of runs that they are the mean of.
    """
    low, high = rand_at_least(sizes), nmi_at_most(sizes, purity + ROUNDING)
    least = nmi_at_least(sizes, purity - ROUNDING, rand - ROUNDING, n_runs=n_runs)
    share = max(sizes) / sum(sizes)
    reasons = {
        f"purity {purity:.2f} is below the share {share:.2f} of the largest class": (
            purity + ROUNDING < share - _ROUNDING_SLACK
        ),
        f"Rand {rand:.2f} is below {low:.2f}, the least of any clustering": (
            rand + ROUNDING < low - _ROUNDING_SLACK
        ),
        f"NMI {nmi:.2f} is above {high:.2f}, the most with purity {purity:.2f}": (
            nmi - ROUNDING > high + _ROUNDING_SLACK
        ),
        f"NMI {nmi:.2f} is below {least:.2f}, the least with purity {purity:.2f} and "
        f"Rand {rand:.2f}": nmi + ROUNDING < least - _ROUNDING_SLACK,
    }
    return tuple(reason for reason, holds in reasons.items() if holds)


def degenerate(sizes: Sequence[int], rand: float) -> str:
    """Return the trivial clustering that has this Rand index, rounded to two digits.

    Returns
    -------
    {"one cluster", "singletons", ""}
    """
    same = same_class_share(sizes)
    if abs(rand - same) <= ROUNDING:
        return "one cluster"
    return "singletons" if abs(rand - (1 - same)) <= ROUNDING else ""


def same_class_share(sizes: Sequence[int]) -> float:
    """Return the share of pairs of rows of the same class, the Rand index of one cluster.

    One minus it is that of clusters of one row each.
    """
    M = np.asarray(sizes, np.int64)
    n = int(M.sum())
    return float(M @ (M - 1)) / (n * (n - 1))


def rand_at_least(sizes: Sequence[int]) -> float:
    """Return a lower bound of the Rand index of all clusterings, which some nearly attain.

    Notes
    -----
    A cluster with ``n_j`` rows of class j subtracts ``Q(n) = (sum_j n_j)^2 - 2 sum_j n_j^2`` from
    the number of agreeing ordered pairs, which is ``N (N - 1) - sum_j M_j^2`` minus the sum of Q
    over all clusters. Q has Lorentzian signature: merging two clusters with ``Q >= 0`` gives at
    least the sum of their Q, so that no clustering exceeds the largest Q of one cluster, or 0. In
    the box ``0 <= n_j <= M_j`` that is attained with all rows; if one class has more than half of
    them, with as many of its rows as there are others.
    """
    M = np.asarray(sizes, np.int64)
    n, largest = int(M.sum()), int(M.max())
    most = min(largest, n - largest)
    taken = n - largest + most
    Q = max(0, taken**2 - 2 * (int(M @ M) - largest**2 + most**2))
    return (n * (n - 1) - int(M @ M) - Q) / (n * (n - 1))


def nmi_at_most(sizes: Sequence[int], purity: float) -> float:
    """Return an upper bound of the NMI (arithmetic mean) of a clustering with some purity.

    The entropy of the classes within a cluster is at least ``-log`` of the share of the largest
    one, and the mean of these logarithms is at most the logarithm of the purity. So the mutual
    information I is at most ``H + log(purity)``, and the NMI at most ``2 I/(H + I)``, as the
    entropy of the clusters is at least I.
    """
    entropy = _entropy(np.asarray(sizes) / sum(sizes))
    shared = max(0.0, entropy + np.log(min(1.0, purity)))
    return float(2 * shared / (entropy + shared))


def nmi_at_least(sizes: Sequence[int], purity: float, rand: float, *, n_runs: int = 1) -> float:
    """Return a lower bound of the NMI, given lower bounds of purity and Rand index.

    Parameters
    ----------
    sizes : sequence of int
        Rows of every class.
    purity, rand : float
        Lower bounds of their means.
    n_runs : int
        Number of runs that they, and the NMI, are means of.

    Notes
    -----
    With H the entropy of the classes, a that of the classes given the cluster, and b that of the
    clusters given the class, ``1 - NMI = (a + b)/(2 H - a + b)``. By Fano's inequality a is at most
    ``h(e) + e log(k - 1)`` where ``e = 1 - purity``; b is bounded by the number of pairs of one
    class that the Rand index allows to be split, see `_split_entropy`. Both bounds are concave, so
    they hold for means. The ratio is not, so its denominator is replaced by its minimum over runs:
    without b, and with the largest a of a run, where e is up to ``n_runs`` times the mean's.
    """
    shares = np.asarray(sizes) / sum(sizes)
    entropy = _entropy(shares)
    errors = 1 - min(1.0, purity)
    a = min(_fano(errors, len(shares)), entropy)
    a_of_one = min(_fano(n_runs * errors, len(shares)), entropy)
    b = _split_entropy(sizes, 1 - min(1.0, rand))
    return max(0.0, 1 - (a + b) / (2 * entropy - a_of_one))


def _fano(errors: float, n_classes: int) -> float:
    """Return Fano's bound on the entropy of classes that are guessed with some error rate."""
    e = min(errors, 1 - 1 / n_classes)
    return _entropy(np.array([e, 1 - e])) + e * float(np.log(max(1, n_classes - 1)))


def _split_entropy(sizes: Sequence[int], disagreeing: float) -> float:
    """Return an upper bound of the clusters' entropy given the class.

    Parameters
    ----------
    sizes : sequence of int
    disagreeing : float
        Largest share of pairs of rows that are of one class but in different clusters.

    Notes
    -----
    If a share r of a class of M rows is outside its largest piece, at least ``M^2 r/2`` pairs are
    split, and its entropy is at most ``-(1 - r) log(1 - r) + r log M``: that of r M pieces of one
    row. As this is concave, the maximum is found greedily: split pairs are assigned in small
    portions to the class whose entropy rises most.
    """
    M = np.asarray(sizes, np.float64)
    n = M.sum()
    r = np.linspace(0, 1, 501)
    kept = 1 - r
    own = -kept * np.log(np.where(kept > 0, kept, 1)) + r * np.log(M)[:, None]
    entropy = np.maximum.accumulate(M[:, None] / n * own, axis=1)
    gains = np.diff(entropy, axis=1)
    costs = np.repeat(M[:, None] ** 2 / 2 * (r[1] - r[0]), gains.shape[1], axis=1)
    best = np.argsort(-(gains / costs), axis=None, kind="stable")
    spent = np.cumsum(costs.ravel()[best])
    within = np.searchsorted(spent, disagreeing * n * (n - 1) / 2, side="right")
    return float(gains.ravel()[best][: within + 1].sum())


def _entropy(shares: Array) -> float:
    positive = shares[shares > 0]
    return float(-(positive @ np.log(positive)))
