"""Measure whether trials of one dataset can show that a method is better on new rows.

`dsg try` draws labelled rows, judges on all others, and does so in a few trials, which share rows.
Nadeau & Bengio (2003) take the mean of J differences with variance s^2 to have the variance ``(1/J
+ ratio) s^2``, their ratio being that of judged to labelled rows. This measures their t-test, with
that ratio and with `NEW_ROWS_RATIO` at most, and the plain one (ratio 0), on made-up datasets:

- false positives: of datasets on which two methods differ that are equal by symmetry, since each
  sees three of six exchangeable columns
- found: of datasets on which a method is better by .05 of AUC in the mean, as it sees three more
  distinct columns
- half the width of the 95% interval of that difference, in the median

A test has power if false positives are at most .06, and found at least half, of all. The script
exits with code 1 if the bounded ratio has more false positives at a number of labelled rows that
`dsg try` has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.svm import SVC
from study import Result, show, study

from dsgkit.linalg import Array
from dsgkit.report.stats import LEVEL, NEW_ROWS_RATIO, contrast
from dsgkit.tasks.metrics import auc

SIZES = ((150, 50), (300, 100), (1000, 100), (5000, 100), (1000, 333))  # rows, labelled rows
OF_TRY = SIZES[:4]  # of balanced classes: a third of the rows, at most 100
# means of two columns of the positive class (the third is noise), and by labelled rows that of the
# columns with which the AUC is .05 higher
PROBLEMS = {
    "hard": (0.5, {50: 0.621, 100: 0.632, 333: 0.651}),  # AUC .62 to .66
    "easy": (1.5, {50: 1.872, 100: 1.932, 333: 1.996}),  # AUC .91 to .92
}
TRIALS = (3, 5, 10)
MOST_FALSE, LEAST_FOUND = 0.06, 0.5


def aucs(n_rows: int, n_labeled: int, means: tuple[float, ...], random: Any) -> Array:
    """Return the AUC of each method in each trial on a new dataset, a row per trial."""
    y = random.random(n_rows) < 0.5
    columns = random.normal(size=(len(means), n_rows, 3))
    columns[:, :, :2] += np.multiply.outer(means, y)[:, :, None]
    found = np.empty((max(TRIALS), len(means)))
    for trial in found:
        order = random.permutation(n_rows)
        first, rest = order[:n_labeled], order[n_labeled:]
        for k, X in enumerate(columns):
            trial[k] = auc(y[rest], SVC().fit(X[first], y[first]).decision_function(X[rest]))
    return found


def rows_of(problem: str, n_rows: int, n_labeled: int, datasets: int) -> Iterator[dict[str, Any]]:
    """Yield what each test finds, by number of trials."""
    mean, better = PROBLEMS[problem]
    random, means = np.random.default_rng(0), (mean, mean, better[n_labeled])
    of = np.array([aucs(n_rows, n_labeled, means, random) for _ in range(datasets)])
    ratio = (n_rows - n_labeled) / n_labeled
    for trials in TRIALS:
        a, equal, more = np.moveaxis(of[:, :trials], -1, 0)
        tests = {"plain": 0.0, "corrected": ratio, "bounded": min(ratio, NEW_ROWS_RATIO)}
        for test, by in tests.items():
            pairs = [
                [contrast(*two, ratio=by) for two in zip(a, b, strict=True)] for b in (equal, more)
            ]
            false, found = ([(one.p or 0.0) < LEVEL for one in each] for each in pairs)
            widths = [high - low for one in pairs[1] for low, high in [one.interval or (0, 0)]]
            yield {
                **{"problem": problem, "rows": n_rows, "labelled": n_labeled},
                **{"auc": of[..., 0].mean(), "difference": (of[..., 2] - of[..., 0]).mean()},
                **{"trials": trials, "test": test, "ratio": by},
                **{"false_positives": np.mean(false), "found": np.mean(found)},
                "half_width": np.median(widths) / 2,
            }


@study
@click.option("--datasets", default=300, show_default=True, help="Datasets of each size.")
def main(datasets: int) -> Result:
    cases = [(problem, *size, datasets) for problem in PROBLEMS for size in SIZES]
    rows = pd.DataFrame([row for case in cases for row in rows_of(*case)])
    show(f"shares of {datasets} datasets", rows)
    of_try = rows[[size in OF_TRY for size in zip(rows["rows"], rows["labelled"], strict=True)]]
    worst = of_try.groupby(["test", "trials"]).agg({"false_positives": "max", "found": "min"})
    has_power = worst["false_positives"].le(MOST_FALSE) & worst["found"].ge(LEAST_FOUND)
    show("at the sizes of `dsg try`, at worst", worst.assign(power=has_power).reset_index())
    too_many = worst.loc["bounded", "false_positives"].max() > MOST_FALSE
    numbers = {"datasets": datasets, **rows.to_dict("list")}
    return numbers, ["false positives, bounded"] if too_many else []
