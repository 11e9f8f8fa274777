"""FRS3VM: the semi-supervised SVM by stochastic gradients on fixed random features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.engine import DSGModel, Problem, sizes
from dsgkit.features import FourierFeatures, StructuredFeatures
from dsgkit.numerics.costs import Cost, Pace
from dsgkit.objectives import Objective, objective_at
from dsgkit.solvers.common import (
    CStar,
    CStarRatio,
    FourierKernelName,
    Frequencies,
    HingeWeight,
    MaxMemory,
    RampS,
    RandomState,
    Sigma,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT
from dsgkit.solvers.s3vm.stochastic import (
    Anneal,
    Balance,
    FirstMove,
    Step,
    StochasticS3VM,
    UnlabeledLoss,
)
from dsgkit.system.progress import report
from dsgkit.system.threads import single_blas_thread

Array = NDArray[np.float32]


class FRS3VM(StochasticS3VM):
    """Semi-supervised SVM by stochastic gradient descent on one fixed set of random features.

    The objective, the draws and the steps of `TSGS3VM`, with the kernel replaced
    once and for all by ``phi(x) = sqrt(1/m) [cos(w_1.x) .. cos(w_m.x), sin(w_1.x) .. sin(w_m.x)]``
    (the baseline of [1]_). It minimises

    ``1/2 ||v||^2 + C/n_l sum_labelled hinge(y v.phi(x)) + C*/n_u sum_unlabelled u(v.phi(x))``

    with both sums as means: the weight of a single row is ``C/n_l`` or ``C*/n_u``.

    Features are made anew in every pass, a batch at a time: time is O(b m d T) for T iterations,
    memory O(m (b + n_l)); only the features of the labelled rows are kept. What it cannot do is get
    better with more rows than m features can tell apart: the error of the kernel falls like
    ``1 / sqrt(m)``.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import FRS3VM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) + np.repeat([[0], [2]], 20, axis=0)
    >>> y = np.repeat([-1, 1], 20)
    >>> X_unlabeled = rng.normal(size=(5000, 2)) + rng.integers(0, 2, (5000, 1)) * 2
    >>> model = FRS3VM(sigma=0.5, n_features=64).fit(X, y, X_unlabeled)
    >>> model.score(X, y) > 0.8
    True
    """

    pace: ClassVar[Pace] = Pace(training=3.5, per_model=4)

    C: HingeWeight = 100.0
    sigma: Sigma = "scale"
    _: KW_ONLY
    C_star: CStar = None
    C_star_ratio: CStarRatio = None
    kernel: FourierKernelName = "gaussian"
    loss: UnlabeledLoss = "shg"
    ramp_s: RampS = 0.0
    step: Step = "decreasing"
    first_move: FirstMove = 10.0
    anneal: Anneal = False
    balance: Balance = False
    batch_size: Annotated[int, COUNT, Doc("Rows b of each of the three batches.")] = 256
    n_features: Annotated[
        int | None,
        COUNT,
        Doc(
            "Random frequencies m (each is a cosine and a sine). None is the paper's "
            "``ceil(sqrt(n))`` for n labelled and unlabelled rows, too few to tell some "
            "hundred rows apart."
        ),
    ] = 500
    frequencies: Frequencies = "independent"
    n_iterations: Annotated[
        int | Literal["one_pass"] | None,
        COUNT,
        Doc(
            'Iterations T. None are those of ``n_passes``, and 500 at least; "one_pass" '
            "are those of ``n_passes``, with a warning where these are less than 200."
        ),
    ] = 500
    n_passes: Annotated[
        int,
        COUNT,
        Doc(
            "Passes over the unlabelled rows, the paper's 10; not used where "
            "``n_iterations`` is a number."
        ),
    ] = 10
    max_memory: MaxMemory = None
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    model_: DSGModel = fitted("Seed and coefficients of its one block.")
    n_iter_: int = fitted("Iterations made.")

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what the features of batches and labelled rows take; see the base class."""
        features = self._features_for(n_labeled + n_unlabeled)
        assert isinstance(features, FourierFeatures | StructuredFeatures)
        m, b, T = features.n_frequencies, int(self.batch_size), self._iterations(n_unlabeled)
        rows = 4 * n_inputs * (n_labeled + sizes.rows_at_once(n_inputs, n_models))
        held = 8 * m * (n_labeled + b)
        # values and gradients: the features of all rows of an iteration times the models, twice
        products = T * (b + n_labeled) * m * 8 * n_models
        cost = Cost(
            flops=T * b * features.row_flops(n_inputs) + products,
            memory=rows + held + 4 * m * n_inputs + 3 * 8 * m * n_models,
            flops_per_row=features.row_flops(n_inputs) + 4.0 * m,
            shared_per_row=features.row_flops(n_inputs),
        )
        return self._with_balance(cost, n_models, features.width, n_unlabeled)

    def _train(self, problem: Problem) -> list[DSGModel]:
        with single_blas_thread(), np.errstate(all="ignore"):
            return [_descend(problem)]


def _descend(problem: Problem) -> DSGModel:
    """Make the iterations of a problem with the features of block 0 alone.

    The coefficients are those of features without their factor ``sqrt(1/m)``.
    """
    p, features = problem, problem.features
    assert isinstance(features, FourierFeatures | StructuredFeatures)
    W: Any = features.draw(0, p.n_inputs)
    coefficients = np.zeros((features.width, p.n_models), np.float32)
    labeled = features.cos_sin(features.read(p.tables[0], slice(None)), W)
    length = max(1, sizes.rows_at_once(p.n_inputs, p.n_models) // p.batch_size)
    for first in range(0, p.n_iterations, length):
        count = min(length, p.n_iterations - first)
        positive, negative, unlabeled = (_draws(p, s, first, count) for s in range(3))
        X = features.read(p.tables[1], unlabeled.ravel()).reshape(*unlabeled.shape, p.n_inputs)
        for k in range(count):
            rows = [positive[k], negative[k]]
            t = first + k + 1
            objective = objective_at(p.objective, t)
            Phi_u = features.cos_sin(X[k], W)
            gradient = _gradient(objective, labeled, rows, Phi_u, coefficients)
            eta, decay = p.step(t)
            coefficients *= decay.astype(np.float32)
            coefficients -= gradient * (eta / features.n_frequencies).astype(np.float32)
        report((first + count) / p.n_iterations)
    return DSGModel(p.features, coefficients[None], p.n_inputs)


def _draws(problem: Problem, source: int, first: int, count: int) -> NDArray[np.int64]:
    """Return the rows of some iterations, as the engine draws them, shape (count, batch_size)."""
    p, drawn = problem, problem.sources[source]
    n_rows = p.tables[drawn.table].shape[0]
    return drawn.draw(source, n_rows, p.features.seed, first, count, p.batch_size)[:, 0]


def _gradient(
    objective: Objective,
    labeled: Array,
    rows: list[NDArray[np.int64]],
    unlabeled: Array,
    coefficients: Array,
) -> Array:
    """Return the derivative of a batch's loss by the coefficients.

    Parameters
    ----------
    objective : Objective
    labeled : ndarray of shape (n_labeled, 2m)
        Features of all labelled rows: few, and drawn again and again.
    rows : list of two arrays of shape (batch_size,)
        Those that are drawn of the positive and of the negative ones.
    unlabeled : ndarray of shape (batch_size, 2m)
        Features of the unlabelled rows that are drawn.
    coefficients : ndarray of shape (2m, G)
    """
    F = labeled @ coefficients
    values = [F[drawn] for drawn in rows]
    *c_labeled, c_u = objective.coefficients([*values, unlabeled @ coefficients])
    C = np.zeros_like(F)
    for drawn, c in zip(rows, c_labeled, strict=True):
        np.add.at(C, drawn, c)
    return labeled.T @ C + unlabeled.T @ c_u
