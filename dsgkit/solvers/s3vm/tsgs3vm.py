"""TSGS3VM: triply stochastic gradients for the semi-supervised SVM (Geng et al., IJCAI 2019)."""

from __future__ import annotations

from typing import Annotated, Literal

from dsgkit.engine import DSGModel, Problem, sizes, train_in_passes
from dsgkit.solvers.base import FUNCTION_FLOPS
from dsgkit.solvers.inputs import check_count
from dsgkit.solvers.parameters import (
    COUNT,
    NOT_NEGATIVE,
    PER_MODEL,
    POSITIVE,
    SEED,
    Range,
    Smoother,
)
from dsgkit.solvers.s3vm.stochastic import StochasticS3VM


class TSGS3VM(StochasticS3VM):
    """Semi-supervised SVM by triply stochastic functional gradients.

    Follows the gradients of (Eq. 1 of [1]_)

    ``R(f) = 1/2 ||f||^2 + C/n_l sum_labelled hinge(y f(x)) + C*/n_u sum_unlabelled u(f(x))``

    over the functions of the Gaussian kernel ``exp(-sigma ||x - x'||^2)``. Both sums are means, so
    that C and C* do not depend on the numbers of rows; the weight of a single row is ``C/n_l`` or
    ``C*/n_u``, which are the C and C* of programs such as UniverSVM and SVMlight.

    Each iteration draws one batch of positive, one of negative and one of unlabelled rows and a new
    block of m random frequencies, and goes a constant step: all earlier blocks shrink by
    ``1 - step`` (Algorithm 1 of [1]_; the labelled rows are drawn by class and count by the share
    of their class, which has the same mean and less variance than drawing among all of them).
    Blocks that have shrunk below the resolution of the sum are dropped, after about ``21 / step``
    iterations.

    Time is O(b m d T^2 / 2), or O(21 b m d T / step) where that is less; memory is O(m T) or
    O(21 m / step), whatever the number of rows.

    Parameters
    ----------
    C : float
        Weight of the mean hinge loss of the labelled rows, > 0.
    sigma : float
        Kernel parameter, > 0.
    C_star : float, optional
        Weight C* of the mean loss of the unlabelled rows; default the paper's ``C n_l / n_u``.
    loss : {"shg", "sshg", "ramp", "da"}
        Loss u of the unlabelled rows (Table 2 of [1]_): symmetric hinge ``max(0, 1 - |r|)``, its
        square ``1/2 max(0, 1 - |r|)^2``, the two ramps
        ``sum_{z = r, -r} max(0, 1 - z) - max(0, s - z)``, or ``exp(-5 r^2)``. At r = 0, where all
        rows start, the derivative is 0, the mean of the two sides: ``sign(0) = 0``.
    ramp_s : float
        Parameter s of the ramp, in (-1, 0].
    step : float
        Step, in (0, 1]: ``1/eta`` of the paper, which tries 1, 0.1, 0.01 and 0.001. With 1 the
        model is its last block alone.
    batch_size : int
        Rows b of each of the three batches.
    n_features : int, optional
        Random frequencies m per iteration (each is a cosine and a sine); default
        ``ceil(sqrt(n))`` for n labelled and unlabelled rows.
    n_iterations : int, optional
        Iterations T; default one pass over the unlabelled rows, however few iterations that is.
    max_memory : float, optional
        Limit in GiB; None is 80% of the memory that is available.
    random_state : int
        Seed of the frequencies and of the draws, in 0..2^64-1.

    Attributes
    ----------
    model_ : DSGModel
        Seeds and coefficients.
    n_iter_ : int
        Iterations made.
    n_features_in_ : int
        Columns of the training rows.

    See Also
    --------
    FRS3VM : The same gradients on one fixed set of features.

    References
    ----------
    .. [1] Geng, Gu, Li, Shi, Zheng & Huang, "Scalable semi-supervised SVM via triply stochastic
       gradients", IJCAI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import TSGS3VM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) + np.repeat([[0], [2]], 20, axis=0)
    >>> y = np.repeat([-1, 1], 20)
    >>> X_unlabeled = rng.normal(size=(5000, 2)) + rng.integers(0, 2, (5000, 1)) * 2
    >>> model = TSGS3VM(C=100, sigma=0.5, n_features=64).fit(X, y, X_unlabeled)
    >>> bool(np.mean((model.decision_function(X) > 0) == (y > 0)) > 0.8)
    True
    """

    C: Annotated[float, POSITIVE, PER_MODEL, Smoother("smaller")]
    sigma: Annotated[float, POSITIVE, Smoother("smaller")]
    C_star: Annotated[float | None, NOT_NEGATIVE, PER_MODEL]
    loss: Annotated[Literal["shg", "sshg", "ramp", "da"], PER_MODEL]
    ramp_s: Annotated[float, Range(-1, 0, open_low=True), PER_MODEL]
    step: Annotated[float, Range(0, 1, open_low=True), PER_MODEL]
    batch_size: Annotated[int, COUNT]
    n_features: Annotated[int | None, COUNT]
    max_memory: Annotated[float | None, POSITIVE]
    random_state: Annotated[int, SEED]
    n_iterations: Annotated[int | None, COUNT]

    def __init__(
        self,
        C: float = 1.0,
        sigma: float = 1.0,
        *,
        C_star: float | None = None,
        loss: Literal["shg", "sshg", "ramp", "da"] = "shg",
        ramp_s: float = 0.0,
        step: float = 0.1,
        batch_size: int = 256,
        n_features: int | None = None,
        n_iterations: int | None = None,
        max_memory: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.sigma = sigma
        self.C_star = C_star
        self.loss = loss
        self.ramp_s = ramp_s
        self.step = step
        self.batch_size = batch_size
        self.n_features = n_features
        self.n_iterations = n_iterations
        self.max_memory = max_memory
        self.random_state = random_state

    def memory_needed(
        self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1
    ) -> int:
        """Return the bytes of resident rows, of one pass, and of all models; no block forgotten."""
        T, m = self._iterations(n_unlabeled), self._n_frequencies(n_labeled, n_unlabeled)
        resident = self._resident(n_unlabeled, n_inputs)
        n_resident = n_labeled + (n_unlabeled if resident else 0)
        per_model = sizes.model_bytes(T, 2 * m, n_resident)
        rows = 8 * n_inputs * (n_resident + sizes.ROWS_AT_ONCE)
        in_pass = per_model * min(n_models, sizes.models_at_once(per_model))
        return rows + in_pass + 8 * m * T * n_models

    def flops(self, n_labeled: int, n_unlabeled: int, n_inputs: int, *, n_models: int = 1) -> float:
        """Return about the operations of training; see the base class.

        Several models are taken to keep all blocks: the smallest of their steps decides.
        """
        T = self._iterations(n_unlabeled)
        kept = self._kept_blocks(T) if n_models == 1 else T
        # row evaluations of one drawn row per iteration: on t blocks, and no more than are kept
        met = kept * (T - kept / 2)
        resident = self._resident(n_unlabeled, n_inputs)
        rows = T * n_labeled + (T * n_unlabeled if resident else self.batch_size * met)
        m = self._n_frequencies(n_labeled, n_unlabeled)
        return rows * m * (2 * n_inputs + FUNCTION_FLOPS + 4 * n_models)

    def predict_flops(self, n_rows: int, n_labeled: int, n_unlabeled: int, n_inputs: int) -> float:
        """Return about the operations of all blocks of features; see the base class."""
        blocks = self._kept_blocks(self._iterations(n_unlabeled))
        features = float(n_rows) * blocks * self._n_frequencies(n_labeled, n_unlabeled)
        return features * (2 * n_inputs + FUNCTION_FLOPS + 4)

    def _train(self, problem: Problem) -> list[DSGModel]:
        return train_in_passes(problem)

    def _iterations(self, n_unlabeled: int) -> int:
        if self.n_iterations is not None:
            return int(self.n_iterations)
        return -(-n_unlabeled // self.batch_size)

    def _kept_blocks(self, n_iterations: int) -> int:
        """Return about how many blocks the steps leave in the model."""
        return min(n_iterations, sizes.remembered(self.step))

    def _resident(self, n_unlabeled: int, n_inputs: int) -> bool:
        """Return whether the engine keeps the values of the unlabelled rows."""
        T = self._iterations(n_unlabeled)
        return sizes.kept_resident(n_unlabeled, n_inputs, self.batch_size, T)

    def _check_params(self) -> None:
        super()._check_params()
        if self.n_iterations is not None:
            check_count(1, n_iterations=self.n_iterations)
