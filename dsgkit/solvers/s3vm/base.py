"""Base of the S3VMs: the weights of their objective."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dsgkit.solvers.base import SemiSupervisedClassifier
from dsgkit.solvers.parameters import NOT_NEGATIVE, POSITIVE, Smoother


class S3VM(SemiSupervisedClassifier):
    """Base of the semi-supervised SVMs.

    All minimise ``1/2 ||f||^2 + C mean_labelled hinge(y f(x)) + C* mean_unlabelled u(f(x))`` over
    functions f of a kernel such as ``exp(-sigma ||x - x'||^2)``, each with its own loss u.
    """

    version: ClassVar[int] = 1

    C: Annotated[float, POSITIVE, Smoother("smaller")]
    sigma: Annotated[float, POSITIVE, Smoother("smaller")]
    C_star: Annotated[float | None, NOT_NEGATIVE]

    def _unlabeled_weight(self, n_labeled: int, n_unlabeled: int) -> float:
        """Return C*, by default the paper's ``C n_l / n_u``."""
        return self.C * n_labeled / n_unlabeled if self.C_star is None else self.C_star
