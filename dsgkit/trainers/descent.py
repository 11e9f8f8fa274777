"""Gradient descent on corrected similar-unlabelled risks, over given basis functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dsgkit.linalg import Array
from dsgkit.objectives.similar_unlabeled import LOSSES, corrected_slope, parts
from dsgkit.trainers.basis import Basis


@dataclass(frozen=True, eq=False)
class Descent:
    """Gradient descent with heavy-ball momentum of G models on the corrected risk.

    Minimises ``lam/2 ||w||^2 + delta(r1) + delta(r2)`` (`dsgkit.objectives.similar_unlabeled`):
    ``v <- momentum v + gradient``, ``w <- w - eta v``, from ``v = 0``. delta' is taken at r1 and r2
    of the batch.

    Attributes
    ----------
    lam, eta, prior : ndarray of shape (G,)
    below : ndarray of shape (G,)
        Slopes of delta below 0 (`slopes_below`).
    loss : str
        A name in `LOSSES`.
    """

    lam: Array
    eta: Array
    prior: Array
    below: Array
    loss: str = "squared"
    momentum: float = 0.0

    def run(self, basis: Basis, batches: Iterable[tuple[Any, Any]], start: Array) -> Iterator[Step]:
        """Yield every step, from coefficients ``start`` of shape (n_functions, G)."""
        W, velocity = start, np.zeros_like(start)
        for similar, unlabeled in batches:
            r1, r2, gradient = self.risk(basis, similar, unlabeled, W)
            velocity = self.momentum * velocity + gradient + self.lam * W
            W = W - self.eta * velocity
            yield Step(r1, r2, W)

    def risk(
        self, basis: Basis, similar: Any, unlabeled: Any, W: Array
    ) -> tuple[Array, Array, Array]:
        """Return r1 and r2 of a batch, shape (G,), and the gradient of their corrected sum.

        delta' is known only after all rows, so the gradients of r1 and r2 are summed separately.
        """
        (S_pos, S_neg), (dS_pos, dS_neg) = self._means(basis, similar, W)
        (U_pos, U_neg), (dU_pos, dU_neg) = self._means(basis, unlabeled, W)
        r1, r2 = parts(S_pos, U_pos, U_neg, S_neg, self.prior)
        d1, d2 = parts(dS_pos, dU_pos, dU_neg, dS_neg, self.prior)
        return r1, r2, self._slopes(r1) * d1 + self._slopes(r2) * d2

    def corrected(self, r1: Array, r2: Array) -> Array:
        """Return ``delta(r1) + delta(r2)``, shape (G,)."""
        return self._slopes(r1) * r1 + self._slopes(r2) * r2

    def _means(self, basis: Basis, rows: Any, W: Array) -> tuple[Array, Array]:
        """Return mean losses of rows as class +1 and as class -1, and their gradients."""
        loss, n_models = LOSSES[self.loss], W.shape[1]
        total, gradient = np.zeros((2, n_models)), np.zeros((len(W), 2 * n_models))
        for values, correlate in basis.blocks(rows, W):
            total += [loss.value(values, t).sum(axis=0) for t in (1, -1)]
            gradient += correlate(np.hstack([loss.slope(values, t) for t in (1, -1)]))
        by_class = gradient.reshape(len(W), 2, n_models).transpose(1, 0, 2)
        return total / len(rows), by_class / len(rows)

    def _slopes(self, r: Array) -> Array:
        return np.asarray(corrected_slope(r, self.below))


class Step(NamedTuple):
    """A step of G models: the risks before it and the coefficients after it.

    Attributes
    ----------
    r1, r2 : ndarray of shape (G,)
        Parts of the batch's risk before the step.
    W : ndarray of shape (n_functions, G)
        Coefficients after the step.
    """

    r1: Array
    r2: Array
    W: Array
