"""S3VMlight: a support vector machine on labels that it switches between the unlabelled rows."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.svm import SVC
from typing_extensions import Doc

from dsgkit.kernels import kernel_named
from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.costs import FUNCTION_FLOPS, Cost, Pace
from dsgkit.objectives.s3vm import Values
from dsgkit.solvers.common import GaussianOrLinear, MaxMemory, Sigma, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT, NOT_NEGATIVE, POSITIVE, Range, Smoother, Unsaid
from dsgkit.solvers.s3vm.kernel_expansion import Array, KernelS3VM
from dsgkit.system.progress import report

FIRST_SHARE = 1e-5
"""Share of their costs with which the unlabelled rows begin ..."""

SHARE_GROWTH = 1.5
"""... and the factor by which it grows until it is 1: the program's own values."""

SWITCH_MARGIN = 1e-4
"""By how much a positive row must lie below a negative one for the two to be switched."""

GROWING_TOLERANCE, FINAL_TOLERANCE = 1e-2, 1e-4
"""How far a machine may be from optimal: the program's value until the shares are 1, where it takes
1e-3; there libsvm's values would still be 4e-3 off."""

LIBSVM_CACHE = 200 * 2**20
"""Bytes of libsvm's own cache of kernel columns (scikit-learn's default)."""

USUAL_TRAININGS = 50
"""Trainings that a fit is taken to need: 30 levels of costs, and after some of the switches."""

FLOPS_PER_PAIR = 1000.0
"""Operations that libsvm's time for a training comes to, per pair of rows (measured)."""


@dataclass(frozen=True)
class _Machine:
    """A trained support vector machine: coefficients of all rows, intercept, values at all rows."""

    coef: Array
    intercept: float
    values: Array

    def objective(self, labels: Array, costs: Array) -> float:
        """Return ``1/2 ||f||^2 + sum_i costs_i max(0, 1 - labels_i (f + b)(x_i))``."""
        norm = self.coef @ (self.values - self.intercept)
        return float(norm / 2 + costs @ np.maximum(0, 1 - labels * self.values))


class S3VMLight(KernelS3VM):
    """Semi-supervised support vector machine by switching labels, as SVMlight does it.

    Minimises over functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, intercepts b,
    and labels ``z_i = +-1`` of the unlabelled rows, of which ``round(p n_unlabeled)`` are positive,

    ``1/2 ||f||^2 + C/n_labeled sum_l max(0, 1 - y_l (f(x_l) + b))
    + C*/n_unlabeled sum_u w(z_u) max(0, 1 - z_u (f(x_u) + b))``,

    where p is ``positive_share``, ``w(-1) = 1`` and ``w(+1) = (1-p)/p``. With p = 1/2, and where
    labels are the signs of the values, the last term is the mean symmetric hinge
    ``C* mean max(0, 1 - |f + b|)``: the objective of the other S3VMs with an intercept and a
    balance of the classes. ``svm_learn -c c`` is ``C = c n_labeled`` with
    ``C_star = c n_unlabeled``; other ratios take its cost factors of single rows.

    A machine trained on the labelled rows gives the top rows the positive label. The unlabelled
    costs then grow from 1e-5 of their size by factors of 1.5. At each size, as long as a positive
    row lies below a negative one, the two that are farthest apart the wrong way switch labels and
    the machine is trained again. A switch lowers the objective at the present f, and training
    lowers it again, so this ends; where rounding hides that the objective falls, it ends as well.

    At least 30 machines are trained by libsvm, and one more after every switch. For n labelled and
    unlabelled rows a fit takes about O(n^2.3) time (measured up to n = 10,000). The machines share
    one kernel matrix: 8 n^2 bytes, and up to 200 MiB of libsvm. libsvm cannot go on from an earlier
    solution.

    Where C is so small that no value comes near the margin, the intercept is that of the more
    costly class, and so is the sign of every value; ``transduction_`` still has both labels.

    References
    ----------
    .. [1] Joachims, "Transductive inference for text classification using support vector machines",
       ICML 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import S3VMLight
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(220, 2)) + np.repeat([[2, 0], [-2, 0]], 110, axis=0)
    >>> y = np.repeat([1, -1], 110)
    >>> labeled = np.arange(0, 220, 11)
    >>> unlabeled = np.setdiff1d(np.arange(220), labeled)
    >>> model = S3VMLight(sigma=0.5).fit(X[labeled], y[labeled], X[unlabeled])
    >>> bool(np.mean(model.transduction_ == y[unlabeled]) > 0.95)
    True
    """

    pace: ClassVar[Pace] = Pace(training=1.7, per_model=5)

    C: Annotated[
        float,
        POSITIVE,
        Smoother("smaller"),
        Doc(
            "Weight of the mean hinge loss of the labelled rows. scikit-learn's `SVC` "
            "weighs the sum: its C is ``C / n_l``."
        ),
    ] = 100.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    C_star: Annotated[
        float | None,
        NOT_NEGATIVE,
        Doc(
            "Weight C* of the mean loss of the unlabelled rows; None is the paper's ``C "
            "n_l / n_u``."
        ),
    ] = None
    C_star_ratio: Annotated[
        float | None,
        NOT_NEGATIVE,
        Unsaid(None),
        Doc(
            "The same weight as a multiple of C, ``C* / C``, where ``C_star`` is None. "
            "1 weighs the two means alike; the paper's default is ``n_l / n_u``, with "
            "which unlabelled rows count for next to nothing where they are many."
        ),
    ] = None
    positive_share: Annotated[
        float | None,
        Range(0, 1, open_low=True, open_high=True),
        Doc(
            "Share p of the unlabelled rows that get the positive label, between 0 and "
            "1 (``svm_learn -p``); None is the share of positives among the labelled "
            "rows."
        ),
    ] = None
    pairs_per_switch: Annotated[
        int | None,
        COUNT,
        Doc(
            "Pairs that switch labels before the machine is trained again: 1 is "
            "SVMlight's way; with None, all that lie the wrong way, fewer machines are "
            "trained. Either ends where no pair is left to switch, though not "
            "necessarily with the same labels."
        ),
    ] = 1
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("The support vectors.", "(n_support, n_inputs)")
    transduction_: Array = fitted(
        "The labels given to the unlabelled rows: 1 for the larger one of ``y``, else -1.",
        "(n_unlabeled,)",
    )
    objective_: float = fitted("The minimum that was found.")
    n_iter_: int = fitted("Machines trained on all rows.")
    n_switches_: int = fitted("Pairs whose labels were switched.")

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what the kernel matrix and the usual trainings take; see the base class."""
        n = n_labeled + n_unlabeled
        gram = 2 * n_inputs + FUNCTION_FLOPS  # of which one half is computed, in double precision
        cache = min(LIBSVM_CACHE, 4 * n**2)
        matrix = 8 * n * (n + 4 * n_inputs + 30)
        return Cost(
            flops=n_models * float(n) ** 2 * (gram + USUAL_TRAININGS * FLOPS_PER_PAIR),
            memory=max(matrix + cache, expansion_memory(n, n_inputs)),
            flops_per_row=expansion_flops(n, n_inputs),
        )

    def _loss(self, values: list[Values], C: float, C_star: float) -> float:
        """Return the losses as they are minimised: with the labels that the rows were given."""
        return self.objective_ - self._squared_norm() / 2

    def _solve(self, X: Any, y: Array, X_unlabeled: Any) -> None:
        rows = np.concatenate([X[:], X_unlabeled[:]]).astype(np.float64, copy=False)
        gram = kernel_named(self.kernel).gram(rows, rows, self._sigma)
        search = _LabelSwitching(
            gram,
            y,
            C=self.C,
            C_star=self._unlabeled_weight(len(y), len(X_unlabeled)),
            positive_share=self.positive_share,
            most_pairs=self.pairs_per_switch,
        )
        machine = search.run()
        support = np.flatnonzero(machine.coef)
        self.centers_ = rows[support]
        self.coef_ = machine.coef[support]
        self.intercept_ = machine.intercept
        self.transduction_ = search.labels[len(y) :]
        self.objective_ = machine.objective(search.labels, search.costs(1.0))
        self.n_iter_ = search.n_trainings
        self.n_switches_ = search.n_switches


class _LabelSwitching:
    """The search for labels of the unlabelled rows, which stand behind the labelled ones.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel matrix of all rows.
    y : ndarray of shape (n_labeled,)
        Labels -1 and 1.
    C, C_star : float
        Weights of the two mean losses.
    positive_share : float or None
        Of the unlabelled rows; None is that of the labelled ones.
    most_pairs : int or None
        Most pairs that are switched between two trainings.
    """

    def __init__(
        self,
        gram: Array,
        y: Array,
        *,
        C: float,
        C_star: float,
        positive_share: float | None,
        most_pairs: int | None,
    ) -> None:
        self._gram = gram
        self._n_labeled = len(y)
        self._cost_labeled = C / len(y)
        self._cost_unlabeled = C_star / (len(gram) - len(y))
        self._positive_share = float(np.mean(y > 0)) if positive_share is None else positive_share
        self._most_pairs = None if most_pairs is None else int(most_pairs)
        # no value is farther than C + C* from the intercept: below 1 the tolerances go with it
        self._scale = min(1.0, C + C_star)
        self.n_trainings = self.n_switches = 0
        self.labels = np.concatenate([y, self._first_labels(y)])

    def costs(self, share: float) -> Array:
        """Return the costs of all rows for a share of those of the unlabelled rows."""
        p, labels = self._positive_share, self.labels[self._n_labeled :]
        unlabeled = np.where(labels > 0, (1 - p) / p, 1.0) * self._cost_unlabeled * share
        return np.concatenate([np.full(self._n_labeled, self._cost_labeled), unlabeled])

    def run(self) -> _Machine:
        """Return the last machine; its labels are those of ``labels``."""
        share = FIRST_SHARE if self._cost_unlabeled else 1.0
        while True:
            machine = self._switch_all(share)
            if share == 1:
                return machine
            report(1 - math.log(share) / math.log(FIRST_SHARE))
            share = min(1.0, share * SHARE_GROWTH)

    def _first_labels(self, y: Array) -> Array:
        """Return labels whose positives are the top rows of a machine on the labelled rows."""
        n = len(y)
        within = np.ascontiguousarray(self._gram[:n, :n])
        coef, intercept = _train(within, y, np.full(n, self._cost_labeled), self._tolerance(1))
        labels = np.full(len(self._gram) - n, -1.0)
        n_positive = math.floor(len(labels) * self._positive_share + 0.5)
        order = np.argsort(-(self._gram[n:, :n] @ coef + intercept), kind="stable")
        labels[order[:n_positive]] = 1
        return labels

    def _switch_all(self, share: float) -> _Machine:
        """Train and switch labels until no pair is to be switched, or the objective stays."""
        lowest = math.inf
        while True:
            costs = self.costs(share)
            coef, intercept = _train(self._gram, self.labels, costs, self._tolerance(share))
            self.n_trainings += 1
            machine = _Machine(coef, intercept, self._gram @ coef + intercept)
            objective = machine.objective(self.labels, costs)
            positive, negative = self._wrong_pairs(machine.values)
            if not len(positive) or not objective < lowest:
                return machine
            lowest = objective
            self.labels[positive], self.labels[negative] = -1, 1
            self.n_switches += len(positive)

    def _wrong_pairs(self, values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return positive and negative rows to switch: the lowest one with the highest, and so on.

        As the values of the ones rise and those of the others fall, the pairs that lie the wrong
        way are the first.
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


def _train(gram: Array, labels: Array, costs: Array, tolerance: float) -> tuple[Array, float]:
    """Return the coefficients of all rows, signs included, and the intercept."""
    svc = SVC(kernel="precomputed", tol=tolerance, cache_size=LIBSVM_CACHE / 2**20)
    with config_context(assume_finite=True):  # a look at every kernel value is not free
        svc.fit(gram, labels, sample_weight=costs)
    coef = np.zeros(len(labels))
    coef[svc.support_] = svc.dual_coef_[0]
    return coef, float(svc.intercept_[0])
