"""Mean ranks of methods over datasets, and which of them the datasets tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from dsgkit.text.errors import ResultsError

LEVEL = 0.05
"""Level of the tests."""


@dataclass(frozen=True)
class Ranking:
    """How methods rank over datasets by one measure.

    Attributes
    ----------
    title : str
        What the ranks are by, and whose values.
    ranks : mapping of str to float
        Mean rank of each method, the best (1 is the lowest possible) first.
    n_datasets : int
        Those with a value of every method; others do not count.
    p : float or None
        Of Friedman's test that all methods are alike; None where it cannot be made.
    """

    title: str
    ranks: Mapping[str, float]
    n_datasets: int
    p: float | None

    @property
    def critical_difference(self) -> float:
        """The least difference of two mean ranks that Nemenyi's test rejects to be chance."""
        return critical_difference(len(self.ranks), self.n_datasets)

    @property
    def groups(self) -> list[list[str]]:
        """Methods that cannot be told apart: the largest groups of two or more, best first."""
        names, ranks = list(self.ranks), list(self.ranks.values())
        found: list[list[str]] = []
        last = 0
        for first, rank in enumerate(ranks):
            end = sum(other <= rank + self.critical_difference for other in ranks)
            if end > max(last, first + 1):
                found.append(names[first:end])
                last = end
        return found


def ranking(title: str, values: pd.DataFrame, better: Literal["higher", "lower"]) -> Ranking:
    """Return the mean ranks of methods; equal values share the mean of their ranks.

    Parameters
    ----------
    title : str
    values : DataFrame
        A row per dataset and a column per method. A dataset without a value of some method is left
        out: ranks among fewer methods would be lower.
    better : {"higher", "lower"}

    Raises
    ------
    ResultsError
        If there are not two methods, or no dataset has a value of every method.
    """
    complete = values.dropna()
    if values.shape[1] < 2 or not len(complete):
        raise ResultsError(
            f"{title}: ranks need two methods and a dataset with values of all; there are "
            f"{values.shape[1]} methods and {len(complete)} such datasets"
        )
    ranks = complete.rank(axis=1, ascending=better == "lower")
    means = ranks.mean().sort_values(kind="stable")
    by_method = {str(name): float(mean) for name, mean in means.items()}
    return Ranking(title, by_method, len(complete), _friedman(ranks))


def _friedman(ranks: pd.DataFrame) -> float | None:
    """Return the p-value of Friedman's test; None for two methods, one dataset, or all equal."""
    n_datasets, n_methods = ranks.shape
    if n_methods < 3 or n_datasets < 2 or not np.ptp(ranks.to_numpy(), axis=1).any():
        return None
    from scipy import stats

    return float(stats.friedmanchisquare(*ranks.to_numpy().T).pvalue)


def critical_difference(n_methods: int, n_datasets: int) -> float:
    """Return Nemenyi's critical difference of mean ranks at the level `LEVEL` [1]_.

    References
    ----------
    .. [1] Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
    """
    q = _range_quantile(n_methods) / math.sqrt(2)
    return float(q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


@cache
def _range_quantile(n: int) -> float:
    """Return what the range of so many normal numbers exceeds with the probability `LEVEL`.

    With the smallest of them at z, the others are within q above it. SciPy's studentized range,
    of any degrees of freedom, takes seconds for the same number.
    """
    from scipy import stats
    from scipy.optimize import brentq
    from scipy.special import ndtr

    z = np.linspace(-9, 9, 2001)

    def exceeded(q: float) -> float:
        within = (ndtr(z + q) - ndtr(z)) ** (n - 1)
        return 1 - LEVEL - n * float(stats.norm.pdf(z) @ within) * (z[1] - z[0])

    return float(brentq(exceeded, 0, 20))
