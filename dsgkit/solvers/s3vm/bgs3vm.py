"""BGS3VM: kernel stochastic gradient descent with budgets of support vectors."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Doc

from dsgkit.kernels import kernel_named
from dsgkit.kernels.base import Kernel
from dsgkit.kernels.gaussian import expansion_flops, expansion_memory
from dsgkit.numerics.costs import Cost, Pace
from dsgkit.numerics.rows import row_blocks
from dsgkit.random.draws import draw_in_passes
from dsgkit.solvers.common import GaussianOrLinear, RandomState, Sigma, UnlabeledLabel
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Range,
    Smoother,
    Unsaid,
)
from dsgkit.solvers.s3vm.kernel_expansion import Array, KernelS3VM
from dsgkit.system.jit import fast
from dsgkit.system.progress import report

LABELED, UNLABELED = 0, 1
"""Numbers of the two data sources."""

PANEL_BYTES = 2**26
"""Kernel values that are held at a time, unless those of `MIN_PANEL_STEPS` steps take more ..."""

MIN_PANEL_STEPS, MAX_PANEL_STEPS = 16, 128
"""... or those of as many steps as are worth it take less: products of more rows are no faster."""


class BGS3VM(KernelS3VM):
    """Budgeted kernel stochastic gradient descent on the objective of `TSGS3VM`.

    Descends on ``1/2 ||f||^2 + C mean_l max(0, 1 - y_l f(x_l)) + C* mean_u max(0, 1 - |f(x_u)|)``
    over the functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, in one pass: step t
    draws the next labelled and the next unlabelled row, each in a new random order every pass, and

    ``f <- (1 - e_t) f + e_t (C y_l [y_l f(x_l) < 1] k(x_l, .)
    + C* s(f(x_u)) [|f(x_u)| < 1] k(x_u, .))``,

    where s is the sign. There are ``max(n_labeled, n_unlabeled)`` steps. If more labelled rows have
    a coefficient than their budget, the smallest coefficient becomes 0, and so for the unlabelled
    rows; of equal ones the oldest. (With decreasing steps all unlabelled rows that are drawn once
    have coefficients of the same size, so there the oldest always goes.)

    O(n B d) time and O(B d) memory for n rows and budgets of B rows together. The kernel values
    that a panel of coming steps may need are computed as one matrix product; this changes nothing
    but rounding.

    The budgets and the pass are those of Geng et al. [2]_; their objective, which is the one above,
    stands here for that of Le et al. [1]_, which penalises edges of a graph. Neither names the step
    size: it is that of `TSGS3VM`, which has the same objective. Neither have they an intercept or a
    balance of the classes.

    References
    ----------
    .. [1] Le et al., "Budgeted semi-supervised support vector machine", UAI 2016.
    .. [2] Geng et al., "Scalable semi-supervised SVM via triply stochastic gradients", IJCAI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from dsgkit import BGS3VM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1100, 2)) + np.repeat([[2, 0], [-2, 0]], 550, axis=0)
    >>> y = np.repeat([1, -1], 550)
    >>> labeled = np.arange(0, 1100, 11)
    >>> unlabeled = np.setdiff1d(np.arange(1100), labeled)
    >>> model = BGS3VM(sigma=0.5).fit(X[labeled], y[labeled], X[unlabeled])
    >>> model.score(X[unlabeled], y[unlabeled]) > 0.95
    True
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=9, per_model=8)

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
    step: Annotated[
        float | Literal["decreasing"],
        Range(0, 1, open_low=True),
        Doc("The decreasing step ``e_t = 1 / (t + C / first_move)``, or a constant one."),
    ] = "decreasing"
    first_move: Annotated[
        float, POSITIVE, Doc("How far the first decreasing step goes, in margins.")
    ] = 10.0
    sign_at_zero: Annotated[
        int,
        Range(0, 1),
        Doc(
            "What s(0) is. 1 is the paper's: unlabelled rows that nothing is known of, "
            "as at the start and where no support vector is near, are taken for "
            "positive."
        ),
    ] = 0
    labeled_budget: Annotated[int, COUNT, Doc("Most labelled support vectors.")] = 100
    unlabeled_budget: Annotated[
        float,
        SHARE,
        Doc(
            "Most unlabelled support vectors, as a share of the unlabelled rows in "
            "0..1, rounded up."
        ),
    ] = 0.2
    random_state: RandomState = 0
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("The support vectors, labelled ones first.", "(n_support, n_inputs)")
    n_support_: Array = fitted("Labelled and unlabelled support vectors.", "(2,)")
    n_iter_: int = fitted("Steps.")

    def cost(  # type: ignore[override]  # of its counts by name
        self, n_inputs: int, *, n_models: int = 1, n_labeled: int, n_unlabeled: int
    ) -> Cost:
        """Return what a panel and the support vectors take, all budgets used; see the base."""
        n_support = sum(self._budgets(n_labeled, n_unlabeled))
        n_steps = max(n_labeled, n_unlabeled)
        n_rows = n_steps * (1 + min(1, n_labeled / _panel_steps(n_support)))
        row = expansion_flops(n_support, n_inputs)
        search = 8.0 * n_steps * n_support  # for the smallest coefficient
        return Cost(
            flops=n_models * (n_rows * row + search),
            memory=self._memory(n_labeled, n_unlabeled, n_inputs),
            flops_per_row=row,
        )

    def _memory(self, n_labeled: int, n_unlabeled: int, n_inputs: int) -> int:
        """Return the bytes of a panel and of the support vectors."""
        budgets = self._budgets(n_labeled, n_unlabeled)
        n_steps = _panel_steps(sum(budgets))
        n_rows = n_candidates = 0
        for size, budget in zip((n_labeled, n_unlabeled), budgets, strict=True):
            drawn = min(n_steps, size)
            n_rows += drawn
            n_candidates += min(budget + drawn, size)
        panel = 8 * n_rows * (n_candidates + 3 * n_inputs)
        support = 8 * n_candidates * (3 * n_inputs + 8)
        return max(panel + support, expansion_memory(sum(budgets), n_inputs))

    def _budgets(self, n_labeled: int, n_unlabeled: int) -> tuple[int, int]:
        """Return the most support vectors of each source; none of one that does not count."""
        weighed = self._unlabeled_weight(n_labeled, n_unlabeled) > 0
        share = self.unlabeled_budget if weighed else 0.0
        return min(int(self.labeled_budget), n_labeled), math.ceil(share * n_unlabeled)

    def _rule(self, weights: tuple[float, float], budgets: tuple[int, int]) -> _Rule:
        decreasing = self.step == "decreasing"
        return _Rule(
            weights,
            budgets,
            constant=0.0 if decreasing else float(self.step),
            t0=self.C / self.first_move,
            sign_at_zero=float(self.sign_at_zero),
        )

    def _solve(self, X: Any, y: Array, X_unlabeled: Any) -> None:
        n_labeled, n_unlabeled = len(X), len(X_unlabeled)
        n_steps = max(n_labeled, n_unlabeled)
        budgets = self._budgets(n_labeled, n_unlabeled)
        weights = self.C, self._unlabeled_weight(n_labeled, n_unlabeled)
        rule, kernel = self._rule(weights, budgets), kernel_named(self.kernel)
        seed = int(self.random_state)
        labeled = _Source(X, LABELED, seed)
        unlabeled = _Source(X_unlabeled, UNLABELED, seed)
        for panel in row_blocks(n_steps, _panel_steps(sum(budgets))):
            drawn = labeled.draw(panel)
            places = drawn, unlabeled.draw(panel)
            signs = y[labeled.ids[drawn]]
            _run_panel(labeled, unlabeled, places, signs, kernel, self._sigma, rule, panel.start)
            report(panel.stop / n_steps)
        self.centers_ = np.concatenate([labeled.rows, unlabeled.rows])
        self.coef_ = np.concatenate(
            [weights[0] * labeled.counts, weights[1] * unlabeled.counts]
        ) * rule.scale(n_steps)
        self.intercept_ = 0.0
        self.n_support_ = np.array([len(labeled.ids), len(unlabeled.ids)])
        self.n_iter_ = n_steps


class _Rule(NamedTuple):
    """The steps, the weights of the two losses, the budgets and the sign of 0.

    Coefficients are held as a scale times counts, in which a row's addition is 1 or -1. Decreasing
    steps shrink the scale, and counts are whole numbers; constant ones let the counts decay.

    Attributes
    ----------
    weights : tuple of float
    budgets : tuple of int
    constant : float
        The constant step; 0 for a decreasing one.
    t0 : float
        The decreasing step is ``1 / (t + t0)``.
    sign_at_zero : float
    """

    weights: tuple[float, float]
    budgets: tuple[int, int]
    constant: float
    t0: float
    sign_at_zero: float

    def scale(self, step: int) -> float:
        """Return what counts are multiplied by after some steps."""
        return self.constant or 1 / max(1.0, step + self.t0)


def _panel_steps(n_support: int) -> int:
    """Return the steps whose kernel values are computed together."""
    return min(max(MIN_PANEL_STEPS, PANEL_BYTES // (2 * 8 * max(1, n_support))), MAX_PANEL_STEPS)


class _Source:
    """Rows of one kind, and those of them that are support vectors or about to be drawn.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        Numbers of these rows.
    rows : ndarray of float64, shape (n, n_inputs)
    counts : ndarray of float64, shape (n,)
        The times that each was added, less those that it was subtracted, as `_Rule` has it: a
        coefficient is this times a scale and the weight of the source.
    born : ndarray of int64, shape (n,)
        The steps in which they became support vectors.
    """

    def __init__(self, X: Any, number: int, seed: int) -> None:
        self._X = X
        self._number = number
        self._seed = seed
        self.ids = np.empty(0, np.int64)
        self.rows = np.empty((0, X.shape[1]))
        self.counts = np.empty(0)
        self.born = np.empty(0, np.int64)

    def draw(self, panel: slice) -> NDArray[np.int64]:
        """Take in the rows that the steps of a panel draw; return their places in ``ids``."""
        length = panel.stop - panel.start
        drawn = draw_in_passes(self._seed, self._number, panel.start, length, 1, len(self._X))[:, 0]
        new = np.setdiff1d(drawn, self.ids)
        self.ids = np.append(self.ids, new)
        self.rows = np.concatenate([self.rows, np.asarray(self._X[new], np.float64)])
        self.counts = np.append(self.counts, np.zeros(len(new)))
        self.born = np.append(self.born, np.zeros(len(new), np.int64))
        order = np.argsort(self.ids)
        return order[np.searchsorted(self.ids, drawn, sorter=order)]

    def keep_support(self, counts: Array, born: NDArray[np.int64]) -> None:
        """Set the coefficients, and forget the rows that are no support vectors."""
        support = np.flatnonzero(counts)
        self.ids, self.rows = self.ids[support], self.rows[support]
        self.counts, self.born = counts[support], born[support]


def _run_panel(
    labeled: _Source,
    unlabeled: _Source,
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    signs: Array,
    kernel: Kernel,
    sigma: float,
    rule: _Rule,
    first: int,
) -> None:
    """Do the steps from number ``first`` on whose rows the sources have taken in."""
    n = len(labeled.ids)
    (rows_l, line_l), (rows_u, line_u) = (np.unique(p, return_inverse=True) for p in places)
    drawn = np.concatenate([labeled.rows[rows_l], unlabeled.rows[rows_u]])
    K = kernel.gram(drawn, np.concatenate([labeled.rows, unlabeled.rows]), sigma)
    K[:, :n] *= rule.weights[0]
    K[:, n:] *= rule.weights[1]
    counts = np.concatenate([labeled.counts, unlabeled.counts])
    born = np.concatenate([labeled.born, unlabeled.born])
    lines = np.column_stack([line_l, len(rows_l) + line_u])
    columns = np.column_stack([places[0], n + places[1]])
    _descend(K, lines, columns, signs, counts, born, n, rule, first)
    labeled.keep_support(counts[:n], born[:n])
    unlabeled.keep_support(counts[n:], born[n:])


@fast
def _descend(K, lines, columns, signs, counts, born, n_labeled, rule, first):  # type: ignore[no-untyped-def]
    """Do the steps of a panel: change ``counts`` and ``born`` of its candidates in place.

    Row i of ``lines`` and of ``columns`` says where the two rows of step i are in ``K``, whose
    entries are weighted kernel values; the first ``n_labeled`` columns are labelled rows.
    """
    n, budgets = len(counts), rule.budgets
    used = np.array(
        [np.count_nonzero(counts[:n_labeled]), np.count_nonzero(counts[n_labeled:])], np.int64
    )
    for i in range(len(lines)):
        done = first + i
        scale = rule.constant if rule.constant else 1 / max(1.0, done + rule.t0)
        f_labeled = scale * np.dot(K[lines[i, 0]], counts)
        f_unlabeled = scale * np.dot(K[lines[i, 1]], counts)
        if rule.constant:
            _decay(counts, 1 - rule.constant, n_labeled, used)
        if signs[i] * f_labeled < 1:
            _add(columns[i, 0], signs[i], done, counts, born, 0, n_labeled, used[:1], budgets[0])
        sign = np.sign(f_unlabeled) if f_unlabeled else rule.sign_at_zero
        if sign and abs(f_unlabeled) < 1:
            _add(columns[i, 1], sign, done, counts, born, n_labeled, n, used[1:], budgets[1])


@fast
def _decay(counts, factor, n_labeled, used):  # type: ignore[no-untyped-def]
    """Multiply all coefficients; those that vanish leave room in their budget."""
    for j in range(len(counts)):
        if counts[j] != 0:
            counts[j] *= factor
            if counts[j] == 0:
                used[int(j >= n_labeled)] -= 1


@fast
def _add(column, sign, step, counts, born, low, high, used, budget):  # type: ignore[no-untyped-def]
    """Add to a coefficient among those from ``low`` to ``high``, which keep to their budget."""
    if counts[column] == 0:
        born[column] = step
        used[0] += 1
    counts[column] += sign
    if counts[column] == 0:
        used[0] -= 1
    if used[0] > budget:
        counts[_smallest(counts, born, low, high)] = 0
        used[0] -= 1


@fast
def _smallest(counts, born, low, high):  # type: ignore[no-untyped-def]
    """Return where the smallest nonzero coefficient is, of equal ones the oldest."""
    place = -1
    for j in range(low, high):
        size = abs(counts[j])
        if size != 0 and (
            place < 0
            or size < abs(counts[place])
            or (size == abs(counts[place]) and born[j] < born[place])
        ):
            place = j
    return place
