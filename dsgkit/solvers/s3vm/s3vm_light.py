"""S3VMlight: a semi-supervised SVM by switching labels of the unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, ClassVar

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.linalg import Array
from dsgkit.solvers.common import (
    GaussianOrLinear,
    MaxMemory,
    OwnCStar,
    OwnCStarRatio,
    OwnHingeWeight,
    UnlabeledLabel,
)
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT, Range
from dsgkit.solvers.s3vm.base import S3VM, Risk
from dsgkit.trainers.label_switching import LabelSwitching


class S3VMLight(S3VM):
    """Semi-supervised support vector machine by switching labels, the method of SVMlight.

    Minimises over functions f of a kernel, by default ``exp(-sigma ||x - x'||^2)``, intercepts b,
    and labels ``z_i = +-1`` of the unlabelled rows, of which ``round(p n_unlabeled)`` are positive,

    ``1/2 ||f||^2 + C/n_labeled sum_l max(0, 1 - y_l (f(x_l) + b))
    + C*/n_unlabeled sum_u w(z_u) max(0, 1 - z_u (f(x_u) + b))``,

    where p is ``positive_share``, ``w(-1) = 1`` and ``w(+1) = (1-p)/p``. With p = 1/2, and if
    labels are the signs of the values, the last term is the mean symmetric hinge
    ``C* mean max(0, 1 - |f + b|)``: the objective of the other S3VMs with an intercept and a
    balance of the classes. ``svm_learn -c c`` is ``C = c n_labeled`` with
    ``C_star = c n_unlabeled``; other ratios need its cost factors of single rows.

    An SVM of the labelled rows gives the unlabelled rows with the largest values the positive
    label. The unlabelled costs then grow from 1e-5 of their size by factors of 1.5. At each size,
    while a positive row has a lower value than a negative one, the pair with the largest difference
    switches labels and the SVM is trained again. A switch lowers the objective at the current f,
    and so does training, so that this ends; it also ends if rounding hides the decrease.

    At least 30 SVMs are trained by libsvm, and one more after every switch. For n labelled and
    unlabelled rows a fit takes about O(n^2.3) time (measured up to n = 10,000). The SVMs share one
    kernel matrix of 8 n^2 bytes; libsvm takes up to 200 MiB more. libsvm has no warm start.

    If C is so small that no value comes near the margin, the intercept is that of the more costly
    class, and so is the sign of every value; ``transduction_`` still has both labels.

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

    C: OwnHingeWeight = 100.0
    _: KW_ONLY
    kernel: GaussianOrLinear = "gaussian"
    C_star: OwnCStar = None
    C_star_ratio: OwnCStarRatio = None
    positive_share: Annotated[
        float | None,
        Range(0, 1, open_low=True, open_high=True),
        Doc(
            "Share p of the unlabelled rows that get the positive label (``svm_learn "
            "-p``); None is the share of positives among the labelled rows."
        ),
    ] = None
    pairs_per_switch: Annotated[
        int | None,
        COUNT,
        Doc(
            "Pairs that switch labels before the SVM is trained again: 1, as in SVMlight, "
            "or None for all pairs in the wrong order, which trains fewer SVMs. Both end "
            "when no pair is left to switch, but may end with different labels."
        ),
    ] = 1
    max_memory: MaxMemory = None
    unlabeled_label: UnlabeledLabel = -1

    centers_: Array = fitted("The support vectors.", "(n_support, n_inputs)")
    coef_: Array = fitted()
    intercept_: float = fitted("The offset b.")
    transduction_: Array = fitted(
        "The labels given to the unlabelled rows: 1 for the larger one of ``y``, else -1.",
        "(n_unlabeled,)",
    )
    objective_: float = fitted("Objective at the solution.")
    n_iter_: int = fitted("SVMs trained on all rows.")
    n_switches_: int = fitted("Pairs whose labels were switched.")

    def _trainer(self, n_labeled: int, n_unlabeled: int) -> LabelSwitching:
        pairs = None if self.pairs_per_switch is None else int(self.pairs_per_switch)
        return LabelSwitching(self.kernel, self._sigma, self.positive_share, pairs)

    def _risk_at(self, risk: Risk, values: Sequence[Array]) -> float:
        """Return the minimised risk, with the switched labels of the unlabelled rows."""
        return self.objective_ - self._function.squared_norm() / 2
