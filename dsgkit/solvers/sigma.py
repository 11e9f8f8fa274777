"""The kernel parameter ``sigma``, and its value "scale", which is fitted to the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sklearn.base import clone

from dsgkit.estimators.sigma import NEARLY_0, NOISE, _sample, _warn_of_flat_values, scale_of
from dsgkit.linalg import Array
from dsgkit.solvers.base import Estimator
from dsgkit.solvers.common import Sigma
from dsgkit.solvers.declared import fitted
from dsgkit.solvers.inputs import as_rows


class WithSigma(Estimator):
    """Base of the estimators with a parameter ``sigma``; they compute with `_sigma`.

    A class that overrides ``fit_points`` calls `_with_sigma` on its points first. A subclass names
    this base before that of its family.
    """

    sigma: Sigma
    sigma_: float = fitted("The sigma in use.")

    @property
    def _sigma(self) -> float:
        """The number in use; before a fit 1 stands for "scale", as no cost depends on it."""
        sigma = getattr(self, "sigma_", self.sigma)
        return 1.0 if sigma == "scale" else float(sigma)

    @contextmanager
    def _sigma_for(self, *tables: Any) -> Iterator[None]:
        """Set ``sigma_`` for a fit on these rows; if the fit fails, restore the previous one.

        Warns if nearly all kernel values are 0 or 1.
        """
        before = vars(self).get("sigma_")
        kernel = getattr(self, "kernel", "gaussian")
        if kernel == "linear":
            self.sigma_ = 1.0
        else:
            rows = self._sampled(tables)
            self.sigma_ = scale_of(kernel, rows) if self.sigma == "scale" else float(self.sigma)
            if self._warns:
                nearly_0 = NOISE if hasattr(self, "n_features") else NEARLY_0
                _warn_of_flat_values(kernel, self.sigma_, rows, nearly_0)
        try:
            yield
        except BaseException:
            if before is None:
                del self.sigma_
            else:
                self.sigma_ = before
            raise

    def _with_sigma(self, points: Sequence[Any], *tables: Any) -> Sequence[Any]:
        """Return settings with "scale" replaced by the number for all rows, for every fold.

        Parameters
        ----------
        points : sequence of dict
        *tables : rows or None
            As `fit` takes them.
        """
        defaults = {"sigma": self.sigma, "kernel": getattr(self, "kernel", "gaussian")}
        settings = [{**defaults, **point} for point in points]
        kernels = {s["kernel"] for s in settings if s["sigma"] == "scale"} - {"linear"}
        if not kernels:
            return points
        columns: Any = clone(self)
        checked = [as_rows(columns, tables[0], reset=True)]
        for X in tables[1:]:
            if X is not None:
                checked.append(as_rows(columns, X, reset=False, name="X_unlabeled"))
        rows = self._sampled(checked)
        scales = {kernel: scale_of(kernel, rows) for kernel in kernels}
        return [
            {**point, "sigma": scales[setting["kernel"]]}
            if setting["sigma"] == "scale" and setting["kernel"] in scales
            else point
            for point, setting in zip(points, settings, strict=True)
        ]

    def _sampled(self, tables: Sequence[Any]) -> Array:
        """Return a sample of the rows that "scale" is fitted to."""
        return _sample(tables[:1] if self._labeled_only else tables)
