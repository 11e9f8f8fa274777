"""A training, and the same one with kernels in place of random features.

The papers prove their rates by a function h_t between the trained f_t and the minimiser. It takes
the steps of the run with kernels: ``h_t = decay h_{t-1} - step sum_i c_i k(x_i, .)``, c_i the run's
own slopes of the rows drawn at iteration t. So h_t is a sum of kernels at training rows, and norms
in the RKHS follow exactly from their Gram matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsgkit.engine.clock import Clock
from dsgkit.engine.problem import Data, Problem, Steps, stacked
from dsgkit.engine.streaming import stream
from dsgkit.features import FourierFeatures
from dsgkit.kernels import gaussian_gram
from dsgkit.linalg import Array

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Training:
    """The training of one model, with rows numbered over both tables, labelled ones first."""

    data: Data
    risk: Any
    features: FourierFeatures
    n_iterations: int
    batch_size: int
    lam: float
    theta_lam: float = np.nan  # steps are theta_lam / t / lam, or
    eta: float = np.nan  # this constant
    in_passes: bool = False

    @cached_property
    def problem(self) -> Problem:
        loss, rows = stacked([self.risk], [self.data.counts]), np.arange(len(self.data.X))
        return Problem(self.data, loss, np.zeros(1, np.int64), [None], [rows])

    @cached_property
    def steps(self) -> Steps:
        return Steps(*np.array([[self.lam], [self.theta_lam], [0.0], [self.eta]]))

    @cached_property
    def X(self) -> Any:  # noqa: N802
        return np.vstack(self.data.tables)

    @cached_property
    def K(self) -> Array:  # noqa: N802
        return gaussian_gram(self.X, self.X, self.features.sigma)

    def rows(self) -> tuple[list[Rows], list[Rows]]:
        """Return all rows of each source, and those drawn, shape (n_iterations, batch_size)."""
        pools, drawn, seed = [], [], self.features.seed
        for number, s in enumerate(self.problem.sources(in_passes=self.in_passes)):
            first, n = s.table * len(self.data.X), len(self.data.tables[s.table])
            own = s.draw(number, n, seed, 0, self.n_iterations, self.batch_size)[:, 0]
            pools.append(first + (s.pools[0] if s.pools else np.arange(n)))
            drawn.append(first + own)
        return pools, drawn


@dataclass(frozen=True)
class Recorder:
    """Wrapper of a loss that keeps its slopes, and the largest value, of every iteration."""

    loss: Any
    start: list[list[Any]]  # what is left of it at the drawn rows, by iteration and source
    slopes: list[list[Any]] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)

    @property
    def descending(self) -> bool:
        return bool(self.loss.descending)

    def tuple_slopes(self, values: list[Any], t: int) -> list[Any]:
        values = [f + left for f, left in zip(values, self.start[t - 1], strict=True)]
        self.largest.append(max(float(np.abs(f).max()) for f in values))
        self.slopes.append(self.loss.tuple_slopes(values, t))
        return self.slopes[-1]


class Moment(NamedTuple):
    """Both functions after iteration t."""

    beta: Array  # coefficients of h_t at all rows
    h: Array  # its values there
    f: Array | None  # values of f_t, at the iterations that were asked for
    largest: float  # absolute value of a drawn row so far


def replay(run: Training, at: Sequence[int], start: Array | None = None) -> Iterator[Moment]:
    """Train, and yield both functions before the first and after every iteration.

    f is evaluated ``at`` ascending iterations; ``start`` has the coefficients of h_0 = f_0, or 0.
    """
    T, K, drawn, f = run.n_iterations, run.K, run.rows()[1], {}
    beta = np.zeros(len(K)) if start is None else start
    at_start = h = K @ beta
    left = np.cumprod([1.0, *(run.steps(t + 1)[1][0] for t in range(T))])
    start_at_rows = [
        [(left[t] * at_start[rows[t]]).astype(np.float32)[:, None] for rows in drawn]
        for t in range(T)
    ]

    def observe(t: int, seconds: float, model: Any) -> None:
        f[t] = model.values(run.X)[:, 0] + left[t] * at_start

    recorder = Recorder(run.problem.loss, start_at_rows)
    problem = replace(run.problem, loss=recorder, clock=Clock(at, observe))
    stream(problem, run.features, run.steps, T, run.batch_size, in_passes=run.in_passes)
    yield Moment(beta, h, None, 0.0)
    largest = np.maximum.accumulate(recorder.largest)
    for t, slopes in enumerate(recorder.slopes, start=1):
        (step,), (decay,) = run.steps(t)
        beta, h = decay * beta, decay * h
        for rows, c in zip(drawn, slopes, strict=True):
            np.subtract.at(beta, rows[t - 1], step * c[:, 0])
            h -= step * (c[:, 0] @ K[rows[t - 1]])
        yield Moment(beta, h, f.get(t), largest[t - 1])
