"""Differences of means: what is tested, intervals, tests, Holm's correction, and gains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dsgkit.experiment.runs import Run
from dsgkit.linalg import Array
from dsgkit.report.frame import full_at, measures_of, shows
from dsgkit.report.numbers import percents
from dsgkit.tasks.measures import Measure

LEVEL = 0.05
"""Level of the tests; intervals have the confidence 1 - LEVEL."""

NEW_ROWS_RATIO = 2.0
"""Ratio of judged to training rows in intervals about new rows: as if a third of the rows trained.

`dsg try` labels fewer of most files, but more judged rows make trials less dependent, not more:
``scripts/study_resampled_test.py``.
"""

_ROUNDING = 64 * np.finfo(np.float64).eps


class Contrast(NamedTuple):
    """The mean of B minus that of A, with a t interval and the p-value of a t-test.

    Interval and p-value are None without enough trials or variation. ``same`` says that all pairs
    are equal up to rounding.
    """

    difference: float
    interval: tuple[float, float] | None = None
    p: float | None = None
    same: bool = False

    def texts(self, measure: Measure) -> list[str]:
        """Return the difference and the ends of its interval; small ones as powers of ten."""
        numbers = [percents(measure, one) for one in (self.difference, *(self.interval or ()))]
        # one digit more than the scores: differences are smaller
        digits = measure.digits + 1
        form = f"z.{digits}f" if max(map(abs, numbers)) >= 5 * 10.0**-digits else ".1e"
        return [f"{number:{'' if i else '+'}{form}}" for i, number in enumerate(numbers)]

    def cell(self, measure: Measure) -> str:
        """Return ``+0.016 [-0.10, 0.14]``, as far as it is known."""
        first, *ends = self.texts(measure)
        return "identical" if self.same else f"{first} [{', '.join(ends)}]" if ends else first

    def words(self, measure: Measure, p: float | None = None) -> str:
        """Return ``+0.016, 95% CI -0.10 to 0.14, p = 0.34``, as far as it is known."""
        first, *ends = self.texts(measure)
        parts = [first + (" points" if measure.percent else "")]
        parts += [f"{1 - LEVEL:.0%} CI {' to '.join(ends)}"] if ends else []
        if p is not None:
            parts.append("p < 0.001" if p < 0.001 else f"p = {p:.3f}")
        return ", ".join(parts)


def contrast(a: Array, b: Array, *, paired: bool = True, ratio: float = 0.0) -> Contrast:
    """Return the contrast of trials: of pairs ``a[i], b[i]``, or by Welch's test of two groups.

    With a ratio of judged to training rows it is about new rows. Trials share rows, so the mean of
    J differences with variance s^2 is taken to have the variance ``(1/J + ratio) s^2``.

    References
    ----------
    C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 2003.
    """
    difference = float((b - a).mean()) if paired else float(b.mean() - a.mean())
    rounding = _ROUNDING * max(np.abs(a).max(), np.abs(b).max())
    if paired and np.abs(b - a).max() <= rounding:
        return Contrast(difference, same=True)
    if min(len(a), len(b)) < 2:
        return Contrast(difference)
    groups = [b - a] if paired else [a, b]
    if max(map(np.ptp, groups)) <= rounding:  # nothing varies: no test
        return Contrast(difference, (difference, difference))
    from scipy.special import stdtr, stdtrit  # scipy.stats takes a second to import

    errors = [float(one.var(ddof=1)) * (1 / len(one) + ratio) for one in groups]
    weights = [e**2 / (len(one) - 1) for e, one in zip(errors, groups, strict=True)]
    freedom, error = sum(errors) ** 2 / sum(weights), math.sqrt(sum(errors))
    reach = float(stdtrit(freedom, 1 - LEVEL / 2)) * error
    p = 2 * float(stdtr(freedom, -abs(difference) / error))
    return Contrast(difference, (difference - reach, difference + reach), p)


class Inference(NamedTuple):
    """What the differences of a run's trials are about, in words, and what they allow."""

    words: str
    tested: bool = True
    has_interval: bool = True
    ratio: float = 0.0  # of `contrast`

    def contrast(self, a: Array, b: Array, *, paired: bool = True) -> Contrast:
        """Return the contrast of trials without what they do not allow."""
        full = contrast(a, b, paired=paired, ratio=self.ratio)
        return full._replace(
            interval=full.interval if self.has_interval else None,
            p=full.p if self.tested else None,
        )


def inference(*runs: Run) -> Inference:
    """Return what differences within a run, or between several, are about: the least of them."""
    return min(map(_inference, runs), key=lambda one: (one.has_interval, one.tested))


def _inference(run: Run) -> Inference:
    if not run.task.draws:
        is_whole = run.axis is None or [*full_at(run).values()][-1:] == [True]
        rows = "the same rows" if is_whole else "samples of the same rows"
        return Inference(f"Differences are not tested: all trials use {rows}.", False, False)
    if run.experiment.inference == "new_rows":
        return Inference(
            "Intervals are about new rows: their variance is corrected for the rows that trials "
            "share (Nadeau & Bengio 2003). Differences are not tested: with few labels, a test "
            "would miss most differences that matter.",
            tested=False,
            ratio=NEW_ROWS_RATIO,
        )
    words = f"cover the random draw of the {run.task.draws} from this dataset, not other datasets."
    return Inference(f"Intervals and tests {words}")


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values adjusted by Holm's method; None is no test, and does not count.

    Rejecting those below a level bounds the probability of any false rejection by that level.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for done, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - done) * p))
        adjusted[place] = largest
    return adjusted


class Effect(NamedTuple):
    """How the values b of a solver's trials differ from those of another solver or run, a."""

    run: Run
    measure: Measure
    name: str
    size: int
    a: Array
    b: Array
    contrast: Contrast
    against: str = ""
    is_last: bool = True  # at the largest size in both; others are not tested
    holm: float | None = None  # p-value adjusted for all solvers

    @property
    def averages(self) -> tuple[float, float]:
        """The medians of times, else the means."""
        average = np.median if self.measure.unit == "seconds" else np.mean
        return float(average(self.a)), float(average(self.b))

    @property
    def significant(self) -> bool:
        return self.holm is not None and self.holm < LEVEL


def adjusted(effects: Sequence[Effect]) -> list[Effect]:
    """Return effects with p-values that are adjusted for all of them."""
    p_values = holm([one.contrast.p if one.is_last else None for one in effects])
    return [one._replace(holm=p) for one, p in zip(effects, p_values, strict=True)]


def gains(runs: Iterable[Run], measure: Measure) -> list[Effect]:
    """Return the effects, above 0 if better, of solvers that are compared with others, by size."""
    return adjusted([one for run in runs if shows(run, measure) for one in _gains(run, measure)])


def gain_measures(runs: Iterable[Run]) -> list[Measure]:
    """Return the measures with gains: those with a better side, except times."""
    return [measure for measure in measures_of(runs) if measure.better and not measure.unit]


def _gains(run: Run, measure: Measure) -> Iterator[Effect]:
    sign, how = 1 if measure.better == "higher" else -1, inference(run)
    compared = [
        (spec.against, key)
        for key, spec in run.solvers.items()
        if spec and spec.against and spec.against in run.names
    ]
    for (against, key), both in zip(compared, pairs(run, measure, compared), strict=True):
        for size, of in both.groupby("size"):
            a, b = (sign * of[side].to_numpy() for side in ("a", "b"))
            change, last = how.contrast(a, b), size == both["size"].max()
            names = run.names[key], run.names[against]
            yield Effect(run, measure, names[0], int(size), a, b, change, names[1], last)


def pairs(run: Run, measure: Measure, solvers: Iterable[tuple[str, str]]) -> Iterator[pd.DataFrame]:
    """Yield the values of every two solvers in the trials that both finished: size, trial, a, b."""
    fits, column = run.sized[run.sized["ending"] == "ok"], run.column(measure)
    # fits that do not depend on the size make one pair, at the largest one
    level = {key for key, of in fits.groupby("solver")["level"] if of.all()}
    values = fits.reindex(columns=["size", "trial", "solver", column])
    table = values.pivot_table(column, ["size", "trial"], "solver", "last")
    for two in solvers:
        both = table.reindex(columns=[*two]).dropna().set_axis(["a", "b"], axis=1).reset_index()
        yield both.drop_duplicates("trial", keep="last") if level.issuperset(two) else both
