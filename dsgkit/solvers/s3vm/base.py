"""Base of the S3VMs: the weights of their objective."""

from __future__ import annotations

from typing import Annotated, ClassVar

from dsgkit.errors import DataError
from dsgkit.solvers.base import SemiSupervisedClassifier
from dsgkit.solvers.parameters import NOT_NEGATIVE, POSITIVE, Smoother, Unsaid
from dsgkit.solvers.sigma import Sigma, WithSigma


class S3VM(WithSigma, SemiSupervisedClassifier):
    """Base of the semi-supervised SVMs.

    All minimise ``1/2 ||f||^2 + C mean_labelled hinge(y f(x)) + C* mean_unlabelled u(f(x))`` over
    functions f of a kernel such as ``exp(-sigma ||x - x'||^2)``, each with its own loss u.
    """

    version: ClassVar[int] = 1

    C: Annotated[float, POSITIVE, Smoother("smaller")]
    sigma: Sigma
    C_star: Annotated[float | None, NOT_NEGATIVE]
    C_star_ratio: Annotated[float | None, NOT_NEGATIVE, Unsaid(None)]

    def _check_params(self) -> None:
        super()._check_params()
        if self.C_star is not None and self.C_star_ratio is not None:
            raise DataError(
                f"C_star is {self.C_star:g} and C_star_ratio is {self.C_star_ratio:g}: set one of "
                "them, the other one to null"
            )

    def _unlabeled_weight(self, n_labeled: int, n_unlabeled: int) -> float:
        """Return C*, by default the paper's ``C n_l / n_u``."""
        if self.C_star is not None:
            return self.C_star
        if self.C_star_ratio is not None:
            return self.C * self.C_star_ratio
        return self.C * n_labeled / n_unlabeled
