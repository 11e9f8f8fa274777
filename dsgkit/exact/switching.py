"""Support vector machines trained on labels that are switched between unlabelled rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.svm import SVC

from dsgkit.costs import FUNCTION_FLOPS, Cost
from dsgkit.engine.problem import Sizes
from dsgkit.kernels import expansion_flops, expansion_memory
from dsgkit.linalg import Array
from dsgkit.system.progress import report

FIRST_SHARE, SHARE_GROWTH = 1e-5, 1.5
"""Share of their final cost at which the unlabelled rows start, and the factor by which it grows
until it is 1. Both values are SVMlight's."""

SWITCH_MARGIN = 1e-4
"""A pair is switched if the positive row lies below the negative one by more than this."""

GROWING_TOLERANCE, FINAL_TOLERANCE = 1e-2, 1e-4
"""Tolerance of a machine: SVMlight's until the share is 1. There SVMlight takes 1e-3, with which
libsvm's values would still be 4e-3 off."""

LIBSVM_CACHE = 200 * 2**20
"""Bytes of libsvm's own cache of kernel columns (scikit-learn's default)."""


class Machine(NamedTuple):
    """Coefficients of all rows, intercept, and values at all rows."""

    coef: Array
    intercept: float
    values: Array

    def objective(self, labels: Array, costs: Array) -> float:
        """Return ``1/2 ||f||^2 + sum_i costs_i max(0, 1 - labels_i (f + b)(x_i))``."""
        norm = self.coef @ (self.values - self.intercept)
        return float(norm / 2 + costs @ np.maximum(0, 1 - labels * self.values))


class LabelSearch:
    """Search for labels of the unlabelled rows, which follow the labelled ones in the matrix.

    C and C* weight the two mean losses. ``positive_share`` is that of the unlabelled rows, None for
    that of the labelled ones; ``most_pairs`` limits the pairs switched between two trainings.
    """

    def __init__(
        self,
        gram: Array,
        y: Array,
        C: float,
        C_star: float,
        positive_share: float | None = None,
        most_pairs: int | None = None,
    ) -> None:
        self._gram = gram
        self._n_labeled = len(y)
        self._cost_labeled = C / len(y)
        self._cost_unlabeled = C_star / (len(gram) - len(y))
        self._positive_share = float(np.mean(y > 0)) if positive_share is None else positive_share
        self._most_pairs = most_pairs
        # values differ from the intercept by at most C + C*: below 1, tolerances shrink with it
        self._scale = min(1.0, C + C_star)
        self.n_trainings = self.n_switches = 0
        self.labels = np.concatenate([y, self._first_labels(y)])

    def costs(self, share: float) -> Array:
        """Return the costs of all rows, those of the unlabelled ones times ``share``."""
        p, labels = self._positive_share, self.labels[self._n_labeled :]
        unlabeled = np.where(labels > 0, (1 - p) / p, 1.0) * self._cost_unlabeled * share
        return np.concatenate([np.full(self._n_labeled, self._cost_labeled), unlabeled])

    def run(self) -> Machine:
        """Return the last machine, which is trained on ``labels``."""
        share = FIRST_SHARE if self._cost_unlabeled else 1.0
        while True:
            machine = self._switch_all(share)
            if share == 1:
                return machine
            report(1 - math.log(share) / math.log(FIRST_SHARE))
            share = min(1.0, share * SHARE_GROWTH)

    def _first_labels(self, y: Array) -> Array:
        """Label the top rows of a machine trained on the labelled rows positive."""
        n = len(y)
        within = np.ascontiguousarray(self._gram[:n, :n])
        coef, intercept = _trained(within, y, np.full(n, self._cost_labeled), self._tolerance(1))
        labels = np.full(len(self._gram) - n, -1.0)
        n_positive = math.floor(len(labels) * self._positive_share + 0.5)
        order = np.argsort(-(self._gram[n:, :n] @ coef + intercept), kind="stable")
        labels[order[:n_positive]] = 1
        return labels

    def _switch_all(self, share: float) -> Machine:
        """Train and switch labels until no pair is left, or the objective stops falling."""
        lowest = math.inf
        while True:
            costs = self.costs(share)
            coef, intercept = _trained(self._gram, self.labels, costs, self._tolerance(share))
            self.n_trainings += 1
            machine = Machine(coef, intercept, self._gram @ coef + intercept)
            objective = machine.objective(self.labels, costs)
            positive, negative = self._wrong_pairs(machine.values)
            if not len(positive) or not objective < lowest:
                return machine
            lowest = objective
            self.labels[positive], self.labels[negative] = -1, 1
            self.n_switches += len(positive)

    def _wrong_pairs(self, values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return positive and negative rows to switch: the lowest with the highest, and so on.

        Values of the positive rows rise and those of the negative fall, so wrong pairs come first.
        """
        unlabeled = np.arange(self._n_labeled, len(values))
        labels, values = self.labels[unlabeled], values[unlabeled]
        positive, negative = np.flatnonzero(labels > 0), np.flatnonzero(labels < 0)
        positive = positive[np.argsort(values[positive], kind="stable")]
        negative = negative[np.argsort(-values[negative], kind="stable")]
        n_pairs = min(len(positive), len(negative))
        gaps = values[negative[:n_pairs]] - values[positive[:n_pairs]]
        n_wrong = np.count_nonzero(gaps > SWITCH_MARGIN * self._scale)
        wrong = slice(n_wrong if self._most_pairs is None else min(n_wrong, self._most_pairs))
        return unlabeled[positive[wrong]], unlabeled[negative[wrong]]

    def _tolerance(self, share: float) -> float:
        return self._scale * (FINAL_TOLERANCE if share == 1 else GROWING_TOLERANCE)


def switching_cost(n: Sizes, n_models: int) -> Cost:
    """Return the cost of the kernel matrix and of 50 trainings: 30 of growing costs, and more."""
    rows = n.labeled + n.unlabeled
    gram = 2 * n.inputs + FUNCTION_FLOPS  # one half is computed, in double precision
    matrix = 8 * rows * (rows + 4 * n.inputs + 30)
    trainings = 50 * 1000.0  # libsvm takes 1000 operations per pair of rows (measured)
    return Cost(
        flops=n_models * float(rows) ** 2 * (gram + trainings),
        memory=max(matrix + min(LIBSVM_CACHE, 4 * rows**2), expansion_memory(rows, n.inputs)),
        flops_per_row=expansion_flops(rows, n.inputs),
    )


def _trained(gram: Array, labels: Array, costs: Array, tolerance: float) -> tuple[Array, float]:
    """Return the coefficients of all rows, signs included, and the intercept."""
    svc = SVC(kernel="precomputed", tol=tolerance, cache_size=LIBSVM_CACHE / 2**20)
    with config_context(assume_finite=True):  # checking every kernel value takes time
        svc.fit(gram, labels, sample_weight=costs)
    coef = np.zeros(len(labels))
    coef[svc.support_] = svc.dual_coef_[0]
    return coef, float(svc.intercept_[0])
