"""Measure the AUC of QSG-S2AUC and its rivals against their training seconds.

A trial has 200 labelled rows, 20,000 unlabelled ones, and test rows. Every method is fitted at
growing sizes (iterations, blocks, landmarks, frequencies), at its own best lam, sigma and gamma.
These are chosen once per dataset and method, in trial 0 and at a moderate size, by the AUC of
validation rows. Users with so few labels cannot do that; it leaves the quality of model selection
out of the comparison. All gammas are below 1, where unlabelled rows are used; the exact solution on
the labelled rows alone (gamma = 1) is a line of reference.

All methods use one thread. Seconds are processor time of one fit, after a first fit that compiles:
on an idle machine that is the wall time, and other load does not count. A size of more than a few
seconds is measured in fewer trials; in the table and figure it is placed by its difference to the
next smaller size in the same trials. The table's gain is the mean difference to the exact solution
on the labelled rows alone, trial by trial. Every measurement is kept in a file, and not repeated by
another run.
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

from dsgkit.data.dataset import load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.experiment.folder import describe_environment
from dsgkit.system.machine import set_threads
from dsgkit.tasks.metrics import auc
from dsgkit.tasks.semi_supervised import semi_supervised_split

Record = dict[str, Any]

LAM = tuple(2.0**k for k in range(-18, 3, 2))
SIGMA = tuple(2.0**k for k in range(-7, 4, 2))
GAMMA = (0.5, 0.9)


@dataclass(frozen=True)
class Method:
    """Settings for the measurement of a method.

    Attributes
    ----------
    parameter : str
        Parameter that is its size.
    sizes : dict of int to int
        Most trials for each size.
    choose_at : int
        Size at which hyper-parameters are chosen.
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
    # the choice also takes the labelled and the validation rows as landmarks
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
"""Numbers of unlabelled rows: gamma = 1 without any, else settings of `nystrom_s2auc`."""


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
    """Numbers of rows; small datasets have fewer test and unlabelled rows."""

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
    """Measurements in a growing file with a JSON object per line.

    Parameters
    ----------
    path : Path
    common : dict
        Common entries of this run's measurements; others in the file are ignored.
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
        """Append a measurement."""
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
    """Return the settings with the highest AUC of the validation rows, and the seconds taken.

    The validation rows are a held-out fold, so that a method can share work among settings.
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
    """Compile all code in advance."""
    U = rows.X_unlabeled[:300]
    for method, of_method in METHODS.items():
        estimator(method, min(of_method.sizes), 0).fit(rows.X, rows.y, U)


def work(datasets: tuple[str, ...], trials: int) -> Iterator[Record]:
    """Yield the keys of all measurements, those with the most trials first."""
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
    help="Dataset of the catalogue; may be repeated.",
)
@click.option("--trials", default=5, show_default=True)
@click.option("--labeled", default=200, show_default=True)
@click.option("--unlabeled", default=20_000, show_default=True, help="At most.")
@click.option("--validation", default=1000, show_default=True, help="Validation rows.")
@click.option("--test", default=10_000, show_default=True, help="At most; a quarter of the rows.")
@click.option("--minutes", default=np.inf, help="Start no fit after this time.")
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
    """Add missing measurements to FOLDER, and write its tables and figure."""
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
    """Return the result of a measurement."""
    if key["kind"] == "choice":
        return choose(key["method"], rows)
    method = "nystrom_s2auc" if key["method"] == EXACT and key["size"] else key["method"]
    chosen = records.find({"kind": "choice", "dataset": key["dataset"], "method": method})
    assert chosen is not None  # choices come first
    return measure(key["method"], key["size"], key["trial"], chosen["setting"], rows)


if __name__ == "__main__":
    main()
