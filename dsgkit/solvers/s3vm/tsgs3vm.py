"""TSGS3VM: triply stochastic gradients for the semi-supervised SVM (Geng et al., IJCAI 2019)."""

from __future__ import annotations

from typing import ClassVar, Literal

from dsgkit.costs import Cost, Pace
from dsgkit.engine import DSGModel, Problem, TableSize, train_in_passes, training_cost
from dsgkit.solvers.s3vm.stochastic import LossName, StochasticS3VM


class TSGS3VM(StochasticS3VM):
    """Semi-supervised SVM by triply stochastic functional gradients.

    Follows the gradients of (Eq. 1 of [1]_)

    ``R(f) = 1/2 ||f||^2 + C/n_l sum_labelled hinge(y f(x)) + C*/n_u sum_unlabelled u(f(x))``

    over the functions of a kernel, by default ``exp(-sigma ||x - x'||^2)``. Both sums are means, so
    that C and C* do not depend on the numbers of rows; the weight of a single row is ``C/n_l`` or
    ``C*/n_u``, which are the C and C* of programs such as UniverSVM and SVMlight.

    Each iteration draws one batch of positive, one of negative and one of unlabelled rows and a new
    block of m random frequencies, and goes a step: all earlier blocks shrink by ``1 - step``
    (Algorithm 1 of [1]_, whose step is constant; the labelled rows are drawn by class and count by
    the share of their class, which has the same mean and less variance than drawing among all).
    Blocks that have shrunk below the resolution of the sum are dropped, after about ``21 / step``
    iterations of a constant step.

    Time is O(b m d T^2 / 2), or O(21 b m d T / step) where that is less; memory is O(m T) or
    O(21 m / step), whatever the number of rows.

    Parameters
    ----------
    C : float
        Weight of the mean hinge loss of the labelled rows, > 0. scikit-learn's `SVC` weighs the
        sum: its C is ``C / n_l``.
    sigma : float or "scale"
        Parameter of the kernel, > 0. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).
    kernel : str
        Function of two rows that ``sigma`` belongs to: "gaussian", "laplacian", "matern(nu)" or
        "dot_product(p)", with a number for nu or p (``dsg list kernels``).
    C_star : float, optional
        Weight C* of the mean loss of the unlabelled rows, >= 0; default the paper's
        ``C n_l / n_u``.
    C_star_ratio : float or None
        The same weight as a multiple of C, ``C* / C``, >= 0, where ``C_star`` is None. 1 weighs the
        two means alike; the paper's default is ``n_l / n_u``, with which unlabelled rows count for
        next to nothing where they are many.
    loss : {"shg", "sshg", "ramp", "da"}
        Loss u of the unlabelled rows (Table 2 of [1]_): symmetric hinge ``max(0, 1 - |r|)``, its
        square ``1/2 max(0, 1 - |r|)^2``, the two ramps
        ``sum_{z = r, -r} max(0, 1 - z) - max(0, s - z)``, or ``exp(-5 r^2)``. At r = 0, where all
        rows start, the derivative is 0, the mean of the two sides: ``sign(0) = 0``.
    ramp_s : float
        Parameter s of the ramp, in (-1, 0].
    step : float or "decreasing"
        The decreasing step ``1 / (t + C / first_move)``, or a constant one, in (0, 1]: ``1/eta`` of
        the paper, which tries 1, 0.1, 0.01 and 0.001. With 1 the model is its last block alone.
        Which constant serves depends on C and on the iterations; the decreasing step needs no
        such search.
    first_move : float
        How far the first decreasing step goes, in margins, > 0: 3 to 30 are of use.
    anneal : bool
        Whether C* grows from 0 to full in the first half of the iterations, as ``(2 t / T)^3``.
    balance : bool
        Whether the mean of the values over the unlabelled rows is held at that of the labels. All
        losses are then taken at ``f + b``, where b makes it so in every batch, and at the end the
        model gets the intercept that does so over all unlabelled rows, or 32,768 of them.
    batch_size : int
        Rows b of each of the three batches.
    n_features : int, optional
        Random frequencies m per iteration (each is a cosine and a sine); default
        ``ceil(sqrt(n))`` for n labelled and unlabelled rows.
    n_iterations : int, "one_pass" or None
        Iterations T; of a constant step, enough are some times ``1 / step``: the start from 0 is
        then forgotten. None is one pass over the unlabelled rows, and 500 at least; "one_pass" is
        the paper's one pass, with a warning where that is less than 200.
    max_memory : float, optional
        Limit in GiB; None is 80% of the memory that is available.
    random_state : int
        Seed of the frequencies and of the draws, in 0..2^64-1.
    unlabeled_label : int, float or str
        What `fit` without ``X_unlabeled`` takes for "has no label".

    Attributes
    ----------
    sigma_ : float
        The sigma in use.
    model_ : DSGModel
        Seeds and coefficients.
    n_iter_ : int
        Iterations made.
    classes_ : ndarray of shape (2,)
        The labels, the larger and positive one last.
    n_features_in_ : int
        Columns of the training rows.

    See Also
    --------
    FRS3VM : The same gradients on one fixed set of features.

    Notes
    -----
    The text of [1]_ calls Figure 2 test errors; its axis and caption are running times. Table 3
    gives Dota2 16 features; it has 116.

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
    >>> model = TSGS3VM(sigma=0.5).fit(X, y, X_unlabeled)
    >>> model.score(X, y) > 0.8
    True
    """

    pace: ClassVar[Pace] = Pace(training=5, scoring=0.7, per_model=3)

    def __init__(
        self,
        C: float = 100.0,
        sigma: float | Literal["scale"] = "scale",
        *,
        C_star: float | None = None,
        C_star_ratio: float | None = None,
        kernel: str = "gaussian",
        loss: LossName = "shg",
        ramp_s: float = 0.0,
        step: float | Literal["decreasing"] = "decreasing",
        first_move: float = 10.0,
        anneal: bool = False,
        balance: bool = False,
        batch_size: int = 256,
        n_features: int | None = None,
        n_iterations: int | Literal["one_pass"] | None = 500,
        max_memory: float | None = None,
        random_state: int = 0,
        unlabeled_label: int | float | str = -1,
    ) -> None:
        self.C = C
        self.sigma = sigma
        self.kernel = kernel
        self.C_star = C_star
        self.C_star_ratio = C_star_ratio
        self.loss = loss
        self.ramp_s = ramp_s
        self.step = step
        self.first_move = first_move
        self.anneal = anneal
        self.balance = balance
        self.batch_size = batch_size
        self.n_features = n_features
        self.n_iterations = n_iterations
        self.max_memory = max_memory
        self.random_state = random_state
        self.unlabeled_label = unlabeled_label

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what the engine takes for one or several models; see the base class."""
        features = self._features(n_labeled + n_unlabeled)
        n_iterations, remembered = self._iterations(n_unlabeled), self._remembered()
        cost = training_cost(
            features,
            n_inputs,
            [TableSize(n_labeled, in_pools=True, n_sources=2), TableSize(n_unlabeled)],
            batch_size=int(self.batch_size),
            n_iterations=n_iterations,
            n_models=n_models,
            remembered=remembered,
            result="models",
        )
        n_blocks = n_iterations if remembered is None else min(n_iterations, remembered)
        return self._with_balance(cost, n_models, n_blocks * features.width, n_unlabeled)

    def _train(self, problem: Problem) -> list[DSGModel]:
        return train_in_passes(problem)
