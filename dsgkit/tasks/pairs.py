"""Splits of a dataset into similar pairs, unlabelled rows and test rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dsgkit.data.datasets import Dataset
from dsgkit.data.rows import Rows
from dsgkit.data.targets import check_kind
from dsgkit.errors import DataError
from dsgkit.numerics.arrays import Single
from dsgkit.objectives.similar_unlabeled import similar_share
from dsgkit.random.seeds import derive_seed, permutation

Positions = NDArray[np.int64]

MAX_PAIR_SHARE = 2 / 3
"""Largest share of the rows of a class in pairs; the rest is for unlabelled rows."""

RESERVE_DEVIATIONS = 3
"""Reserve of rows of a class, in standard deviations of the drawn number."""

MIN_ROWS = 10
"""Smallest number of pairs and of unlabelled rows."""


@dataclass(frozen=True)
class PairSizes:
    """Numbers of drawn pairs and rows, and ``prior``, the share of positives among the rows."""

    n_similar: int
    n_unlabeled: int
    n_test: int
    prior: float

    @property
    def positive_pairs(self) -> float:
        """Probability that a similar pair is positive, ``pi^2/(pi^2 + (1 - pi)^2)``."""
        return float(self.prior**2 / similar_share(self.prior))


@dataclass(frozen=True)
class PairSplit:
    """One trial of the similar-unlabelled protocol; no row is used twice.

    Attributes
    ----------
    similar : Rows of shape (2 n_similar, d)
        Scaled points of the pairs; those of a pair are adjacent.
    X_unlabeled : Rows
        In a random order: the first k are a random subset.
    y_unlabeled : ndarray of int
        Their hidden labels, -1 and +1.
    """

    similar: Rows
    X_unlabeled: Rows
    y_unlabeled: NDArray[np.integer]
    X_test: Rows
    y_test: NDArray[np.integer]


def pair_sizes(dataset: Dataset, *, pairs: int, test: int, prior: float | None = None) -> PairSizes:
    """Return the largest possible numbers of pairs, up to ``pairs``, and then of unlabelled rows.

    A third as many test rows as unlabelled ones are drawn. The expected number of rows of class c
    is ``2 n_S pi_c^2/pi_S + (n_U + n_test) pi_c``, plus a reserve of three standard deviations.
    Pairs use at most two thirds of a class.

    Parameters
    ----------
    dataset : Dataset
    pairs, test : int
        Largest numbers of pairs and test rows.
    prior : float, optional
        Share of the positive class, by default the dataset's own.

    Raises
    ------
    DataError
        If there are too few rows, or the dataset's target is not binary.
    """
    check_kind(dataset, "binary")
    counts = [int(np.count_nonzero(dataset.y == label)) for label in (1, -1)]
    share = counts[0] / sum(counts) if prior is None else prior

    def sizes(n_similar: int, n_unlabeled: int) -> PairSizes:
        return PairSizes(n_similar, n_unlabeled, min(n_unlabeled // 3, test), share)

    def fit(drawn: PairSizes, most: float) -> bool:
        taken = zip(counts, _taken(drawn), strict=True)
        return all(rows <= most * count for count, rows in taken)

    n_similar = _largest(pairs, lambda n: fit(sizes(n, 0), MAX_PAIR_SHARE))
    n_unlabeled = _largest(sum(counts), lambda n: fit(sizes(n_similar, n), 1.0))
    if min(n_similar, n_unlabeled) < MIN_ROWS:
        raise DataError(
            f"dataset {dataset.name}: {counts[0]:,} positive and {counts[1]:,} negative rows, "
            f"drawn by a prior of {share:.3g}, give {n_similar} similar pairs and {n_unlabeled} "
            f"unlabelled rows; {MIN_ROWS} of each are needed"
        )
    return sizes(n_similar, n_unlabeled)


def _largest(most: int, holds: Callable[[int], bool]) -> int:
    """Return the largest n in 0..most for which a monotone condition holds, by bisection."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _taken(sizes: PairSizes) -> Iterator[float]:
    """Yield the numbers of rows of the positive and the negative class, including the reserve."""
    q, single = sizes.positive_pairs, sizes.n_unlabeled + sizes.n_test
    spread = 4 * sizes.n_similar * q * (1 - q) + single * sizes.prior * (1 - sizes.prior)
    for pair_share, row_share in ((q, sizes.prior), (1 - q, 1 - sizes.prior)):
        mean = 2 * sizes.n_similar * pair_share + single * row_share
        yield mean + RESERVE_DEVIATIONS * math.sqrt(spread)


def pair_split(
    dataset: Dataset, sizes: PairSizes, seed: int, scaling: tuple[Single, Single]
) -> PairSplit:
    """Draw the rows of one trial, by class and without replacement.

    The class of every pair and of every single row is drawn first, then rows of that class.

    Parameters
    ----------
    dataset : Dataset
    sizes : PairSizes
        From `pair_sizes`.
    seed : int
        Seed of the trial.
    scaling : offset, factor
        Scaling of every feature.
    """
    left = {
        label: _shuffled(np.flatnonzero(dataset.y == label), derive_seed(seed, "class", label))
        for label in (1, -1)
    }

    def draw(kind: str, n: int, probability: float, each: int) -> Positions:
        most = len(left[1]) // each
        fewest = max(0, n - len(left[-1]) // each)
        key = derive_seed(seed, kind)
        n_positive = int(np.clip(_successes(n, probability, key), fewest, most))
        counts = {1: each * n_positive, -1: each * (n - n_positive)}
        drawn = np.concatenate([left[label][:count] for label, count in counts.items()])
        for label, count in counts.items():
            left[label] = left[label][count:]
        order = permutation(n, derive_seed(seed, kind, "order"))
        return drawn.reshape(n, each)[order].ravel()

    similar = draw("similar", sizes.n_similar, sizes.positive_pairs, 2)
    unlabeled = draw("unlabeled", sizes.n_unlabeled, sizes.prior, 1)
    test = draw("test", sizes.n_test, sizes.prior, 1)
    return PairSplit(
        similar=Rows(dataset.X, similar, *scaling),
        X_unlabeled=Rows(dataset.X, unlabeled, *scaling),
        y_unlabeled=dataset.y[unlabeled],
        X_test=Rows(dataset.X, test, *scaling),
        y_test=dataset.y[test],
    )


def _shuffled(positions: Positions, seed: int) -> Positions:
    return positions[permutation(len(positions), seed)]


def _successes(n: int, probability: float, seed: int) -> int:
    """Return the number of successes in n independent trials."""
    words = np.random.PCG64(seed).random_raw(n)
    return int(np.count_nonzero(words < np.uint64(probability * 2.0**64)))
