"""Measure the AUC that QSG-S2AUC and what competes with it reach against their training seconds.

Trial by trial: 200 labelled rows, 20,000 unlabelled ones, and test rows. Every method is fitted at
growing sizes (iterations, blocks, landmarks, frequencies), each at its own best lam, sigma and
gamma. These are chosen once per dataset and method, in trial 0 and at a moderate size, by the AUC
of validation rows: that uses labels that a user of so few labelled rows does not have, and leaves
out of the comparison how well each method's settings can be found. All gammas are below 1, where
unlabelled rows are used; what the labelled rows alone give (gamma = 1, exactly) is a line of
reference.

All compute with one thread. Seconds are those of the processor in one fit, after a first one that
compiles: on an idle machine that is the time by the clock, and other work does not count. A size of
more than a few seconds is measured in fewer trials; in the table and figure it is placed by its
difference to the next smaller size in the same trials. The table's gain is the mean difference to
the exact solution on the labelled rows alone, trial by trial. Every measurement is kept in a file,
and not repeated by another run.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from time_to_answer_report import draw, write_tables

from dsgkit.data.datasets import load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.experiment.environment import describe_environment
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.system.threads import set_threads
from dsgkit.tasks.metrics import auc
from dsgkit.tasks.splits import semi_supervised_split

Record = dict[str, Any]

LAM = tuple(2.0**k for k in range(-18, 3, 2))
SIGMA = tuple(2.0**k for k in range(-7, 4, 2))
GAMMA = (0.5, 0.9)


@dataclass(frozen=True)
class Method:
    """How a method is measured.

    Attributes
    ----------
    parameter : str
        What its size is.
    sizes : dict of int to int
        How many trials, at most, each size is measured in.
    choose_at : int
        Size at which its settings are chosen.
    """

    parameter: str
    sizes: dict[int, int]
    choose_at: int


ALL_SIZES = 1000
METHODS = {
    "qsg_s2auc": Method("n_iterations", {50: ALL_SIZES, 200: ALL_SIZES, 800: 3, 2000: 1}, 200),
    "qsg_s2auc_p": Method(
        "n_blocks", {4: ALL_SIZES, 8: ALL_SIZES, 16: ALL_SIZES, 32: ALL_SIZES}, 16
    ),
    # the labelled and the validation rows are landmarks where settings are chosen
    "nystrom_s2auc": Method(
        "n_landmarks", {0: ALL_SIZES, 500: ALL_SIZES, 1000: ALL_SIZES, 2000: 3, 4000: 1}, 0
    ),
    "rff_s2auc": Method(
        "n_features",
        {250: ALL_SIZES, 500: ALL_SIZES, 1000: ALL_SIZES, 2000: 3, 4000: 1, 8000: 1},
        500,
    ),
}
EXACT = "samult"
EXACT_SIZES = 0, 2000
"""Numbers of unlabelled rows: with none gamma is 1, with some all is as for `nystrom_s2auc`."""


@dataclass(frozen=True)
class Trial:
    """The rows of one trial."""

    X: NDArray[np.floating]
    y: NDArray[np.integer]
    X_unlabeled: Any
    X_validation: NDArray[np.floating]
    y_validation: NDArray[np.integer]
    X_test: NDArray[np.floating]
    y_test: NDArray[np.integer]


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows; there are fewer test and unlabelled rows where a dataset is small."""

    labeled: int
    unlabeled: int
    validation: int
    test: int

    def draw(self, name: str, trial: int) -> Trial:
        """Return the rows of a trial."""
        split = semi_supervised_split(
            load_dataset(DatasetSpec(name=name)), labeled=self.labeled, folds=2, seed=trial
        )
        rows, y = split.X_unlabeled, split.y_unlabeled
        n_test = min(self.test, len(y) // 4)
        n_rest = len(y) - n_test - self.validation
        validation, test = slice(n_rest, n_rest + self.validation), slice(len(y) - n_test, None)
        return Trial(
            X=split.X[:],
            y=split.y,
            X_unlabeled=rows.take(slice(min(self.unlabeled, n_rest))),
            X_validation=rows[validation],
            y_validation=y[validation],
            X_test=rows[test],
            y_test=y[test],
        )


class Records:
    """Measurements in a file of a JSON object per line, which grows.

    Parameters
    ----------
    path : Path
    common : dict
        What every measurement of this run has in common; others in the file are of no account.
    """

    def __init__(self, path: Path, common: Record) -> None:
        self._path, self._common = path, common
        lines = path.read_text().splitlines() if path.exists() else []
        kept = map(json.loads, lines)
        self.all = [record for record in kept if common.items() <= record.items()]

    def find(self, key: Record) -> Record | None:
        """Return the measurement with a key, if there is one."""
        return next((record for record in self.all if key.items() <= record.items()), None)

    def add(self, key: Record, result: Record) -> Record:
        """Keep a measurement."""
        record = {**self._common, **key, **result}
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        self.all.append(record)
        click.echo(", ".join(f"{k} {v}" for k, v in {**key, **result}.items()))
        return record


def estimator(method: str, size: int, trial: int) -> Any:
    """Return a method at some size."""
    params = {METHODS[method].parameter: size, "random_state": trial}
    return SOLVERS[method].load()(**params)


def choose(method: str, rows: Trial) -> Record:
    """Return the settings with the highest AUC of the validation rows, and the seconds that took.

    The validation rows are held out as a fold, so that a method can share work among settings.
    """
    gammas: tuple[float, ...] = (1.0,)
    model, U = SOLVERS[EXACT].load()(), rows.X_unlabeled[:1]
    if method != EXACT:
        model = estimator(method, METHODS[method].choose_at, 0)
        gammas, U = GAMMA, rows.X_unlabeled
    X, y = np.concatenate([rows.X, rows.X_validation]), np.append(rows.y, rows.y_validation)
    held_out = np.arange(len(rows.y), len(y))
    aucs: list[tuple[float, Record]] = []
    start = time.process_time()
    for sigma in SIGMA:
        points = [{"lam": lam, "sigma": sigma, "gamma": g} for lam in LAM for g in gammas]
        values = model.fit_points(points, folds=[held_out], X=X, y=y, X_unlabeled=U)[:, held_out]
        solved = np.isfinite(values).all(axis=1)
        aucs += [(auc(rows.y_validation, values[i]), points[i]) for i in np.flatnonzero(solved)]
    best, setting = max(aucs, key=lambda of_setting: of_setting[0])
    return {"seconds": time.process_time() - start, "auc": best, "setting": setting}


def measure(method: str, size: int, trial: int, setting: Record, rows: Trial) -> Record:
    """Return the seconds of one fit and the AUC of the test rows."""
    if method == EXACT:
        model, U = SOLVERS[EXACT].load()(), rows.X_unlabeled[: max(size, 1)]
    else:
        model, U = estimator(method, size, trial), rows.X_unlabeled
    model.set_params(**setting)
    start = time.process_time()
    model.fit(rows.X, rows.y, U)
    seconds = time.process_time() - start
    return {"seconds": seconds, "auc": auc(rows.y_test, model.decision_function(rows.X_test))}


def compile_all(rows: Trial) -> None:
    """Have all that is compiled on first use compiled."""
    U = rows.X_unlabeled[:300]
    for method, of_method in METHODS.items():
        estimator(method, min(of_method.sizes), 0).fit(rows.X, rows.y, U)


def work(datasets: tuple[str, ...], trials: int) -> Iterator[Record]:
    """Yield the keys of all measurements, those that are made in the most trials first."""
    for dataset, method in itertools.product(datasets, (EXACT, *METHODS)):
        yield {"kind": "choice", "dataset": dataset, "method": method}
    sizes = [(ALL_SIZES, EXACT, n) for n in EXACT_SIZES]
    sizes += [(most, method, n) for method, of in METHODS.items() for n, most in of.sizes.items()]
    for most, method, n in sorted(sizes, key=lambda size: -size[0]):
        for trial, dataset in itertools.product(range(min(most, trials)), datasets):
            yield {"kind": "fit", "dataset": dataset, "method": method, "size": n, "trial": trial}


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    default=("codrna", "ijcnn1", "skin", "covtype_20k"),
    show_default=True,
    help="Of the catalogue; may be repeated.",
)
@click.option("--trials", default=5, show_default=True)
@click.option("--labeled", default=200, show_default=True)
@click.option("--unlabeled", default=20_000, show_default=True, help="At most.")
@click.option("--validation", default=1000, show_default=True, help="Rows that settings rest on.")
@click.option("--test", default=10_000, show_default=True, help="At most; a quarter of the rows.")
@click.option("--minutes", default=np.inf, help="After these, begin no further fit.")
def main(
    folder: Path,
    datasets: tuple[str, ...],
    trials: int,
    labeled: int,
    unlabeled: int,
    validation: int,
    test: int,
    minutes: float,
) -> None:
    """Measure what FOLDER does not hold yet, and write its tables and its figure."""
    end = time.monotonic() + 60 * minutes
    set_threads(1, 1)
    folder.mkdir(parents=True, exist_ok=True)
    sizes = Sizes(labeled, unlabeled, validation, test)
    common = {**vars(sizes), "processor": describe_environment()["processor"]}
    records = Records(folder / "records.jsonl", common)
    drawn: tuple[tuple[str, int], Trial] | None = None
    for key in work(datasets, trials):
        if time.monotonic() > end:
            click.echo("out of time: run it again for the rest")
            break
        if records.find(key):
            continue
        place = key["dataset"], key.get("trial", 0)
        if drawn is None or drawn[0] != place:
            if drawn is None:
                compile_all(sizes.draw(*place))
            drawn = place, sizes.draw(*place)
        records.add(key, _result(key, drawn[1], records))
    write_tables(records.all, folder)
    draw(records.all, folder / "time_to_answer.png")


def _result(key: Record, rows: Trial, records: Records) -> Record:
    """Return what a measurement gives."""
    if key["kind"] == "choice":
        return choose(key["method"], rows)
    method = "nystrom_s2auc" if key["method"] == EXACT and key["size"] else key["method"]
    chosen = records.find({"kind": "choice", "dataset": key["dataset"], "method": method})
    assert chosen is not None  # choices come first
    return measure(key["method"], key["size"], key["trial"], chosen["setting"], rows)


if __name__ == "__main__":
    main()
