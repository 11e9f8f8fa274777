"""A learning setting of a user's own: supervised ridge regression, judged by its RMSE.

It does without scikit-learn, which a process takes more than a second to import.
"""

from typing import Annotated, ClassVar

import numpy as np

from dsgkit.costs import Cost
from dsgkit.estimators.parameters import PER_MODEL, POSITIVE, Smoother
from dsgkit.tasks.base import Judgement, ProtocolSpec, Task
from dsgkit.tasks.measures import Measure

RMSE = Measure(name="rmse", title="RMSE", word="RMSE", where="held-out rows", better="lower")


class RidgeSpec(ProtocolSpec):
    held_out: float = 0.25
    parts: int = 3
    digits: int = 12
    only_for_search: ClassVar = ("parts",)
    only_for_judging: ClassVar = ("digits",)

    @property
    def setting(self):
        return f"{self.held_out:.0%} of the rows held out"

    @property
    def selection(self):
        return f"{self.parts}-fold cross-validation by RMSE"


def rmse(target, values):
    return float(np.sqrt(np.mean((np.asarray(values) - target) ** 2)))


class RidgeTask(Task):
    """Predicts the first column from the others."""

    kind = f"{__name__}:RidgeTask"
    Spec = RidgeSpec
    measures = (RMSE,)
    chooses = "rmse"
    outputs = ("rmse_table", "rmse_boxplot", "time_table")
    words = ("mean_square",)
    values: ClassVar = {"mean_square": 0.25}

    def rows(self):
        """Return columns and targets in the trial's order, and the number that is held out."""
        rows = np.random.default_rng(self.seed).permutation(len(self.dataset.y))
        X = np.asarray(self.dataset.X)[rows]
        return X[:, 1:], X[:, 0], int(self.spec.held_out * len(X))

    def counts(self, at):
        return {"n_rows": len(self.training(at)["X"])}

    def training(self, at):
        X, target, held_out = self.rows()
        return {"X": X[held_out:], "target": target[held_out:]}

    def search(self, estimator, at, points):
        X, target = self.training(at).values()
        folds = [np.arange(len(X)) % self.spec.parts == k for k in range(self.spec.parts)]

        def score(point, fold):
            model = type(estimator)(**estimator.get_params() | point)
            model.fit(X=X[~fold], target=target[~fold])
            return rmse(target[fold], model.decision_function(X[fold]))

        return [[score(point, fold) for fold in folds] for point in points]

    def judge(self, model, at, clock):
        X, target, held_out = self.rows()
        with clock.phase("assign"):
            values = model.decision_function(X[:held_out])
        return Judgement(
            {"rmse": round(rmse(target[:held_out], values), self.spec.digits)},
            trace=[{"seconds": 0.5, "rmse": 1.0}, {"seconds": 1.0, "rmse": 0.5}],
            artefact={"coefficients": model.coef_},
        )


class Ridge:
    """Least squares with a penalty; a larger one makes the smoother function."""

    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]
    tasks: ClassVar = (RidgeTask.kind,)
    version: ClassVar = 1

    def __init__(self, lam=1.0):
        self.lam = lam

    def get_params(self, deep=True):
        return {"lam": self.lam}

    def fit(self, X, target):
        penalty = self.lam * np.eye(X.shape[1])
        self.coef_ = np.linalg.solve(X.T @ X + penalty, X.T @ target)
        return self

    def decision_function(self, X):
        return X @ self.coef_

    def cost(self, n_inputs, *, n_models=1, n_rows):
        return Cost(2.0 * n_rows * n_inputs**2 * n_models, 8 * n_rows * n_inputs)
