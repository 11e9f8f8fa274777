"""The kernel parameter ``sigma``, and its value "scale", which is fitted to the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from dsgkit.errors import DataError, warn
from dsgkit.estimators.inputs import check_finite
from dsgkit.kernels import check_projections, kernel_named
from dsgkit.linalg import Array, rows_at

SAMPLE_ROWS = 200
"""Size of the sample of labelled and unlabelled rows: 19,900 pairs."""

NEAR_SHARE = 0.95
"""Share of the pairs, or rows, that the mean is taken over: the nearest ones."""

N_QUERIES = 16
"""Rows of the sample whose kernel values with all others are checked for the warning."""

WARNING_SHARE = 0.75
"""Share of these rows whose values must all be near 0, or all near 1, for the warning."""

NOISE, NEARLY_0, NEARLY_1 = 0.03, 1e-4, 1e-6
"""Bounds of kernel values near 0 and 1.

Values below ``NOISE`` are lost in the noise of 1,000 random features; exact methods distinguish
rows by values down to ``NEARLY_0``. Values above ``1 - NEARLY_1`` are lost in single precision.
"""

_INVERTIBLE_RANGE = 1e-280, 1e280


@contextmanager
def sigma_for(estimator: Any, data: Any) -> Iterator[None]:
    """Set ``sigma_`` for a fit, and warn of flat kernel values; a failed fit changes nothing."""
    if not hasattr(estimator, "sigma"):
        yield
        return
    before, kernel = vars(estimator).get("sigma_"), getattr(estimator, "kernel", "gaussian")
    if kernel == "linear":
        estimator.sigma_ = 1.0
    else:
        rows = sample_of(estimator, data)
        sigma = scale_of(kernel, rows) if estimator.sigma == "scale" else estimator.sigma
        estimator.sigma_ = float(sigma)
        nearly_0 = NEARLY_0
        if hasattr(estimator, "n_features"):  # random features
            nearly_0 = NOISE
            check_projections(data.X, estimator.sigma_, kernel)
        _warn_of_flat_values(kernel, estimator.sigma_, rows, nearly_0)
    try:
        yield
    except BaseException:
        del estimator.sigma_
        if before is not None:
            estimator.sigma_ = before
        raise


def sample_of(estimator: Any, data: Any) -> Array:
    """Return an evenly spaced, finite sample of the rows that "scale" is fitted to."""
    tables = data.tables[:1] if estimator.labeled_only else data.tables
    n = sum(map(len, tables))
    count = min(n, SAMPLE_ROWS)
    rows = rows_at(tables, np.arange(count) * n // count)
    check_finite(rows)
    return rows


def scale_of(kernel: str, rows: Array) -> float:
    """Return a sigma with which a kernel's values are neither all 0 nor all 1.

    For the Gaussian kernel it is ``2 / mean ||x - x'||^2``, for the Laplacian
    ``2 / mean ||x - x'||_1`` and for a dot product ``1 / mean ||x||^2``. The means leave out the
    largest 5%, so that a few rows far from all others have no influence. Without that, the first
    would be the inverse of the sum of the columns' variances, which for standardised rows is
    scikit-learn's ``gamma="scale"``. If all rows are equal, or 0, the result is 1.

    Parameters
    ----------
    kernel : str
    rows : ndarray of shape (n, n_inputs)

    Raises
    ------
    DataError
        If the mean is so small or large that its inverse over- or underflows.
    """
    known = kernel_named(kernel)
    if known.name == "linear":
        return 1.0
    with np.errstate(over="ignore"):
        if known.degree is not None:
            sizes = np.einsum("ij,ij->i", rows, rows)
        elif known.norm == 1:
            sizes = pdist(rows, "cityblock")
        else:
            sizes = pdist(rows, "sqeuclidean")
        if not sizes.any():
            return 1.0
        near = np.sort(sizes)[: math.ceil(NEAR_SHARE * len(sizes))]
        mean = float(near.mean()) or float(sizes.mean())
    if not _INVERTIBLE_RANGE[0] < mean < _INVERTIBLE_RANGE[1]:
        raise DataError(
            f"the scale of the rows, {mean:.3g}, has no finite inverse: scale the features, or set "
            "sigma"
        )
    return (1 if known.degree is not None else 2) / mean


def _warn_of_flat_values(kernel: str, sigma: float, rows: Array, nearly_0: float) -> None:
    """Warn if nearly every row's kernel values with all other rows are near 0, or near 1.

    A row counts as "near 0" by its largest value: far rows may have values of 0 as long as near
    ones have not.
    """
    known = kernel_named(kernel)
    if known.degree is not None or not np.ptp(rows, axis=0).any():
        return
    at = np.arange(min(N_QUERIES, len(rows))) * len(rows) // min(N_QUERIES, len(rows))
    values = known.gram(rows[at], rows, sigma)
    values[np.arange(len(at)), at] = np.nan
    largest, smallest = np.nanmax(values, axis=1), np.nanmin(values, axis=1)
    if np.mean(largest < nearly_0) >= WARNING_SHARE:
        flat, change = 0, "lower"
    elif np.mean(1 - smallest < NEARLY_1) >= WARNING_SHARE:
        flat, change = 1, "raise"
    else:
        return
    text = (
        f"sigma={sigma:.3g} makes nearly all kernel values {flat}: scale the features, or {change} "
        f"sigma; 'scale' would be {scale_of(kernel, rows):.3g}"
    )
    warn(text)
