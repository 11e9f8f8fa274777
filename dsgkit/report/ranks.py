"""Mean ranks of methods over datasets, with Friedman's and Nemenyi's tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from dsgkit.errors import ResultsError

LEVEL = 0.05
"""Level of the tests."""


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of methods over datasets by one measure.

    Attributes
    ----------
    title : str
        Names the measure and the source of the values.
    ranks : mapping of str to float
        Mean rank of each method, the best (1 is the lowest possible) first.
    n_datasets : int
        Number of datasets with a value of every method; others are left out.
    p : float or None
        P-value of Friedman's test that all methods are alike; None if there is no test.
    """

    title: str
    ranks: Mapping[str, float]
    n_datasets: int
    p: float | None

    @property
    def critical_difference(self) -> float:
        """Nemenyi's critical difference of two mean ranks."""
        return critical_difference(len(self.ranks), self.n_datasets)

    @property
    def groups(self) -> list[list[str]]:
        """Maximal groups of two or more methods that Nemenyi's test does not tell apart."""
        names, ranks = list(self.ranks), list(self.ranks.values())
        groups: list[list[str]] = []
        last = 0
        for first, rank in enumerate(ranks):
            end = sum(other <= rank + self.critical_difference for other in ranks)
            if end > max(last, first + 1):
                groups.append(names[first:end])
                last = end
        return groups


def ranking(title: str, values: pd.DataFrame, better: Literal["higher", "lower"]) -> Ranking:
    """Return the mean ranks of methods; equal values share the mean of their ranks.

    Parameters
    ----------
    title : str
    values : DataFrame
        A row per dataset and a column per method. Incomplete datasets are left out: ranks among
        fewer methods would be lower.
    better : {"higher", "lower"}

    Raises
    ------
    ResultsError
        With fewer than two methods, or without a complete dataset.
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
    """Return the p-value of Friedman's test; None for two methods, one dataset, or only ties."""
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
    """Return the upper `LEVEL` quantile of the range of ``n`` standard normal numbers.

    Integrates over the smallest number z, with the others in [z, z + q]. SciPy's studentized range
    gives the same number in seconds.
    """
    from scipy import stats
    from scipy.optimize import brentq
    from scipy.special import ndtr

    z = np.linspace(-9, 9, 2001)

    def exceeded(q: float) -> float:
        within = (ndtr(z + q) - ndtr(z)) ** (n - 1)
        return 1 - LEVEL - n * float(stats.norm.pdf(z) @ within) * (z[1] - z[0])

    return float(brentq(exceeded, 0, 20))
