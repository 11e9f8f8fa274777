"""SU-DH: the similar-unlabelled risk with the double hinge loss, as a quadratic program."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

from typing_extensions import Doc

from dsgkit.costs import Pace
from dsgkit.linalg import Array
from dsgkit.objectives.similar_risks import SimilarUnlabeled
from dsgkit.solvers.common import LinearOrKernel, MaxMemory, Prior, RandomState
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.parameters import COUNT, POSITIVE
from dsgkit.solvers.similar.risk import SimilarRiskEstimator
from dsgkit.trainers.double_hinge import DoubleHinge


class SUDH(SimilarRiskEstimator):
    """Minimiser of the similar-unlabelled risk with the double hinge loss.

    The loss is ``max(-t z, max(0, (1 - t z)/2))``, and the problem ``min lam/2 ||w||^2
    - pi_S/(2 pi - 1) mean_S z + (1 - pi)/(2 pi - 1) mean_U z + mean_U max(0, (1 + z)/2, z)``,
    where ``z = phi(x)'w``, S are the points of the similar pairs and U the unlabelled rows. It is
    convex and bounded below for every prior. The program that the authors published [1]_ is
    unbounded, because its last term is a multiple of the loss. Solved by an interior-point method
    in about 25 iterations of O(n_unlabeled n_features^2).

    References
    ----------
    .. [1] Bao, Niu & Sugiyama, "Classification from pairwise similarity and unlabeled data",
       ICML 2018.
    """

    version: ClassVar[int] = 2
    pace: ClassVar[Pace] = Pace(training=3, per_model=80)

    _: KW_ONLY
    kernel: Annotated[
        LinearOrKernel,
        Doc(
            '"linear" (with a bias, which is penalised too), or a kernel such as '
            '"gaussian" or "dot_product(3)": expansions at ``n_centers`` '
            "unlabelled rows, regularised by the norm of the kernel's space."
        ),
    ] = "gaussian"
    n_centers: Annotated[
        int | None,
        COUNT,
        Doc("Centres, at most one per unlabelled row; None takes all of these, as [1]_ does."),
    ] = 200
    prior: Prior = "estimate"
    max_memory: MaxMemory = None
    max_seconds: Annotated[
        float | None,
        POSITIVE,
        Doc("Time limit of the quadratic program; beyond it the fit raises `TimeLimitError`."),
    ] = None
    random_state: RandomState = 0

    coef_: Array = fitted(
        "Coefficients of the inputs, then the bias; or those of the kernel at ``centers_``.",
        "(n_inputs + 1,) or (n_centers,)",
    )
    centers_: Array = fitted("Centres of a kernel.", "(n_centers, n_inputs)")
    objective_: float = fitted("Minimum of the objective.")

    def _risk(self) -> SimilarUnlabeled:
        return SimilarUnlabeled(self.prior_, loss="double_hinge")

    def _trainer(self) -> DoubleHinge:
        return DoubleHinge(
            self.kernel,
            self._sigma,
            None if self.n_centers is None else int(self.n_centers),
            int(self.random_state),
            self.max_seconds,
        )

    def diagnostics(self, X_similar: Any, X_unlabeled: Any) -> dict[str, float]:
        """Return the objective at the fitted function, ``objective_``."""
        return {"objective": self.objective_}
