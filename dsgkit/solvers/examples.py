"""Examples that several estimators share in their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)

_BREAST_CANCER = """
>>> from sklearn.datasets import load_breast_cancer
>>> from sklearn.preprocessing import minmax_scale
>>> from dsgkit import {name}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> X = minmax_scale(X)
"""

RANKING = (
    _BREAST_CANCER
    + """\
>>> model = {name}({settings}).fit(X[:60], y[:60], X[60:])
>>> model.score(X[60:], y[60:]) > 0.97
True
"""
)

_DIABETES = """
>>> import numpy as np
>>> from sklearn.datasets import load_diabetes
>>> from sklearn.preprocessing import minmax_scale
>>> from dsgkit import {name}
>>> X, target = load_diabetes(return_X_y=True)
>>> X, y = minmax_scale(X), np.searchsorted(np.quantile(target, [0.2, 0.4, 0.6, 0.8]), target)
"""

ORDERED = (
    _DIABETES
    + """\
>>> model = {name}({settings}).fit(X[:150], y[:150], X[150:])
>>> model.score(X[150:], y[150:]) > 0.75
True
"""
)

ALL_LABELED = (
    _BREAST_CANCER
    + """\
>>> {name}({settings}).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.95
True
"""
)

SIMILAR_PAIRS = """
>>> import numpy as np
>>> from dsgkit import {name}
>>> rng = np.random.default_rng(0)
>>> y = np.where(rng.random(2000) < 0.8, 1, -1)
>>> X = (rng.normal(size=(2000, 2)) + 1.5 * y[:, None]) / 6 + 0.5
>>> same = y[:1000:2] == y[1:1000:2]
>>> pairs = X[:1000].reshape(500, 2, 2)[same]
>>> model = {name}({settings}).fit(pairs, X[1000:])
>>> model.score(X[1000:], y[1000:]) > 0.9
True
"""

THREE_BALLS = """
>>> import numpy as np
>>> from dsgkit import {name}
>>> rng = np.random.default_rng(0)
>>> X = np.repeat([[0, 0], [4, 0], [0, 4]], 50, axis=0) + rng.normal(size=(150, 2)) / 2
>>> {name}({settings}).fit(X).n_clusters_
3
"""


def with_example(text: str, settings: str = "") -> Callable[[Kind], Kind]:
    """Return a decorator that appends an example with these settings to a class's docstring."""

    def documented(kind: Kind) -> Kind:
        example = text.format(name=kind.__name__, settings=settings)
        kind.__doc__ = f"{inspect.getdoc(kind)}\n\nExamples\n--------{example}"
        return kind

    return documented
