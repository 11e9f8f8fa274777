"""Follow TSGS3VM-P from its start to its minimum, and compare it with the exact minimisers.

For every trial, sigma, C and C*/C it is trained by growing numbers of sweeps. Without the loss of
unlabelled rows (C* = 0) its minimum is known: quadratic programs give it on the same random
features and with the kernel itself; `SupervisedSVM` also has an offset. This separates the effects
of an early stop, of few random features, and of a smaller C at the minimum.

A first sweep starts from f = 0, where its upper bound of the hinge is a square: with all blocks at
once it would be the least-squares fit, which is also computed with the kernel.

Figures are means over the trials: the objective (of the hinge, divided by C); AUC; and the error,
also as a mean over the classes, with the labelled rows' share of positives. AUC and errors are on
rows that no method is trained on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from kept import json_option, write_json
from scipy import sparse
from sklearn.base import clone

from dsgkit import TSGS3VMP, SupervisedSVM
from dsgkit.data import load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.engine.model import BlockModel
from dsgkit.kernels import gaussian_gram
from dsgkit.linalg import Array, solve_qp
from dsgkit.risks.margin import hinge
from dsgkit.tasks.metrics import auc, balanced_accuracy, error_rate
from dsgkit.tasks.semi_supervised import Split, semi_supervised_split
from dsgkit.tasks.svm import is_positive, share_cut

N_LABELED, N_UNLABELED, N_TESTED = 200, 2000, 5000
C = (1e3, 1e4, 1e5, 1e6, 1e7)
RATIOS = (0.0, 0.1)
SWEEPS = (1, 4, 16, 64)
"""The profile `useful` has 4."""

MEASURES = ("objective", "auc", "error", "balanced_error")

Row = dict[str, Any]


def minimiser(K: Array, y: Array, C: float) -> Array:
    """Return the coefficients of the function that minimises ``||f||^2/2 + C mean hinge(y f)``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel of the rows.
    y : ndarray of shape (n,)
        -1 and +1.
    C : float
    """
    n = len(y)
    box = sparse.vstack([sparse.eye(n), -sparse.eye(n)], format="csc"), np.repeat([1.0, 0.0], n)
    none = sparse.csc_matrix((0, n)), np.zeros(0)
    # dual variables are shares of their bound, C/n
    Q = sparse.csc_matrix(C / n * y[:, None] * K * y)
    return np.clip(solve_qp(Q, -np.ones(n), none, box, dense=True), 0, 1) * C / n * y


def least_squares(K: Array, y: Array, C: float) -> Array:
    """Return the coefficients of the minimiser of the hinge's bound at 0, ``mean (2 - y f)^2 / 4``.

    Parameters are those of `minimiser`.
    """
    n = len(y)
    return np.asarray(np.linalg.solve(K + 2 * n / C * np.eye(n), 2.0 * y), np.float64)


def feature_kernel(model: BlockModel, A: Any, B: Any) -> Array:
    """Return the kernel of the random features of all blocks, between two sets of rows."""
    total = np.zeros((len(A), len(B)))
    for t in range(len(model.coef)):
        of_A, of_B = (model.blocks.transform(rows, t).astype(np.float64) for rows in (A, B))
        total += of_A @ of_B.T
    return total / len(model.coef)


class Trial:
    """The rows of one trial, and scores of functions on them."""

    def __init__(self, split: Split) -> None:
        self.X, self.y = split.X[:], split.y
        self.rest = split.X_unlabeled.take(slice(N_UNLABELED))
        tested = slice(N_UNLABELED, N_UNLABELED + N_TESTED)
        self.X_tested, self.y_tested = split.X_unlabeled.take(tested), split.y_unlabeled[tested]

    @property
    def places(self) -> tuple[Any, Any, Any]:
        """The rows at which the values of a function are needed."""
        return self.X, self.rest, self.X_tested

    def scores(self, C: float, values: Any, squared_norm: float = np.nan) -> Row:
        """Return the scores of a function from its values at the `places`."""
        labeled, unlabeled, tested = values
        signs = np.where(is_positive(tested, share_cut(unlabeled, self.y)), 1, -1)
        return {
            "C": C,
            "objective": squared_norm / 2 / C + hinge(self.y * labeled).mean(),
            "auc": auc(self.y_tested, tested),
            "error": error_rate(self.y_tested, signs),
            "balanced_error": 1 - balanced_accuracy(self.y_tested, signs),
        }

    def swept(self, solver: TSGS3VMP) -> Iterator[Row]:
        """Yield the scores of TSGS3VM-P after growing numbers of sweeps, and of its minimum."""
        points = [{"C": c, "C_star_ratio": ratio} for ratio in RATIOS for c in C]
        for n_sweeps in SWEEPS:
            longer = clone(solver).set_params(n_sweeps=n_sweeps)
            together = longer.fit_points(points, X=self.X, y=self.y, X_unlabeled=self.rest)
            ((_, functions),) = together.parts
            values = zip(*(together.decision_function(rows).T for rows in self.places), strict=True)
            norms = functions.squared_norm()
            for point, at_rows, norm in zip(points, values, norms, strict=True):
                ratio = point["C_star_ratio"]
                # with unlabelled rows the objective would lack their loss
                row = self.scores(point["C"], at_rows, norm if ratio == 0 else np.nan)
                yield {"what": f"{n_sweeps} sweeps", "ratio": ratio, **row}
        kernels = [feature_kernel(functions, rows, self.X) for rows in self.places]
        yield from self.minimised("minimum, same features", minimiser, kernels)

    def minimised(self, what: str, solve: Any, kernels: list[Array]) -> Iterator[Row]:
        """Yield the scores of a closed form, with the kernel between `places` and `X`."""
        K = kernels[0]
        for c in C:
            coef = solve(K, self.y, c)
            values = [of @ coef for of in kernels]
            yield {"what": what, "ratio": 0.0, **self.scores(c, values, coef @ K @ coef)}

    def machines(self, sigma: float) -> Iterator[Row]:
        """Yield the scores of the exact kernel minimisers, without and with an offset."""
        kernels = [gaussian_gram(rows, self.X, sigma) for rows in self.places]
        yield from self.minimised("minimum, kernel", minimiser, kernels)
        yield from self.minimised("least squares, kernel", least_squares, kernels)
        weights: dict[str, Any] = {"SVM": None, "SVM, class weights": "balanced"}
        for what, weight in weights.items():
            for c in C:
                machine = SupervisedSVM(C=c, sigma=sigma, class_weight=weight).fit(self.X, self.y)
                values = [machine.decision_function(rows) for rows in self.places]
                yield {"what": what, "ratio": 0.0, **self.scores(c, values)}


@click.command(help=__doc__)
@click.argument("dataset", default="ijcnn1")
@click.option("--trials", default=5, show_default=True)
@click.option("--sigma", "sigmas", default=(0.1, 0.01, 1.0), multiple=True, show_default=True)
@click.option("--blocks", default=8, show_default=True)
@click.option("--features", default=128, show_default=True, help="Frequencies per block.")
@json_option
def main(
    dataset: str,
    trials: int,
    sigmas: tuple[float, ...],
    blocks: int,
    features: int,
    json_file: Path | None,
) -> None:
    """Print the means over the trials."""
    loaded = load_dataset(DatasetSpec(name=dataset))
    rows: list[Row] = []
    for number, sigma in itertools.product(range(trials), sigmas):
        trial = Trial(semi_supervised_split(loaded, labeled=N_LABELED, folds=2, seed=number))
        params: dict[str, Any] = {
            "n_blocks": blocks,
            "n_features": features,
            "random_state": number,
        }
        found = itertools.chain(trial.swept(TSGS3VMP(sigma=sigma, **params)), trial.machines(sigma))
        rows += [{"sigma": sigma, **row} for row in found]
    grouped = pd.DataFrame(rows).groupby(["sigma", "what", "ratio", "C"], sort=False)
    means = grouped[list(MEASURES)].mean()
    for measure in MEASURES:
        click.echo(f"\n{measure}\n{means[measure].unstack().dropna().round(4).to_string()}")
    numbers: dict[str, Any] = {"C": C}
    for (sigma, what, ratio), of in means.groupby(level=[0, 1, 2], sort=False):
        lists = {name: of[name].tolist() for name in MEASURES}
        numbers.setdefault(f"sigma {sigma:g}", {})[f"{what}, C*/C = {ratio:g}"] = lists
    write_json(json_file, "study_away", numbers)


if __name__ == "__main__":
    main()
