"""Follow the gradient of TSGS3VM or TSGSU along runs (Theorems 1 and 2 of the papers).

The theorems are on h_t, which takes the steps of the run with kernels in place of random features:
``h_{t+1} = (1 - step) h_t - step sum_i c_i k(x_i, .)``, c_i the run's own coefficients of the rows
drawn at iteration t. It is a sum of kernels at training rows, as is the gradient ``grad R(h_t)``,
so its norm in the RKHS follows exactly from the Gram matrix of all rows. The steps are the
theorems', ``theta / T^(3/4)`` for TSGS3VM.

Its Theorem 2 bounds the mean of ``||grad R(h_t)||^2`` by O(T^(-1/4)), Theorem 1 that of ``(f_t -
h_t)^2`` by O(T^(-1/2)), where R is smooth. The hinge is not: at a minimum, rows on the margin have
some derivative between 0 and -1, but the gradient takes one end of this interval, so the norm of a
single ``grad R(h_t)`` need not vanish.

``--objective su`` takes TSGSU, with the steps ``theta / sqrt(T)``. Its Theorem 1 states O(T^(-1/2))
for the gradients, although its derivation leaves a constant, and its Lemma 1 bounds the mean of
``(f_t - h_t)^2`` by a constant. Its corrected risks ``|r|`` are not smooth at r = 0: at a minimum
there the gradient does not vanish. ``--correction none`` leaves risks uncorrected;
``--correction-at sample`` takes delta' where `TSGSU` does by default.

The theorems hold from any start, not only from f = 0. ``--starts`` adds runs of TSGS3VM from two
distant functions: a random one, and one with the wrong sign at every labelled row. The final
objective is printed too, because a stationary point can be a poor one.

The script fits both slopes against T, and exits with code 1 if one exceeds the theorem's by more
than 0.1, from any start.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import matplotlib as mpl
import numpy as np
from kept import json_option, write_json
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dsgkit.engine.problem import Data, Problem, Source, Steps, stacked
from dsgkit.engine.streaming import stream
from dsgkit.features import FourierFeatures
from dsgkit.kernels import gaussian_gram
from dsgkit.linalg import Array
from dsgkit.report.style import COLUMN_WIDTH, RC
from dsgkit.risks.margin import UNLABELED_LOSSES, Margin
from dsgkit.risks.similar import SLOPE_BELOW, SimilarUnlabeled, similar_share

N_LABELED, N_UNLABELED = 200, 1000
SIGMA = 2.0
C, C_UNLABELED = 10.0, 2.0
THETA = 1.0
BATCH, N_FREQUENCIES = 16, 16
LENGTHS = (16, 64, 256, 1024, 4096, 16384, 65536)
MOST_GRADIENTS = 16384
"""Longer runs evaluate the gradient at so many evenly spaced iterations."""

PRIOR, LAM, N_PAIRS = 0.8, 0.01, 300
RATES = {"s3vm": (-1 / 4, -1 / 2), "su": (-1 / 2, 0.0)}
"""The theorems' exponents of the squared gradient and of ``(f_T - h_T)^2``, by objective."""

STARTS = ("zero", "random", "opposite")
START_NORM = 10.0
"""RKHS norm of the distant starts: ``1/2 ||f||^2`` is then four times the objective at 0."""

QUANTITIES = ("||grad R||^2", "(f_T - h_T)^2")
"""Quantities with a rate."""

TOLERANCE = 0.1
"""Largest excess of a slope over the theorem's."""


@dataclass(frozen=True)
class Study:
    """The training of one model."""

    problem: Problem
    features: FourierFeatures
    steps: Steps
    n_iterations: int
    batch_size: int = BATCH
    in_passes: bool = False

    @property
    def tables(self) -> list[Any]:
        return self.problem.data.tables

    @property
    def sources(self) -> list[Source]:
        return self.problem.sources(in_passes=self.in_passes)

    def train(self, loss: Any, **observed: Any) -> Any:
        """Train with another loss."""
        sizes = self.n_iterations, self.batch_size
        problem = replace(self.problem, loss=loss, **observed)
        return stream(problem, self.features, self.steps, *sizes, in_passes=self.in_passes)


@dataclass(frozen=True)
class Recorder:
    """Wrapper of a loss of one model that records its slopes and the largest value.

    Attributes
    ----------
    loss : Loss
    kept : list of list of ndarray
        Slopes of every source, by iteration.
    largest : list of float
        Largest value, by iteration.
    start : sequence of list of ndarray, optional
        Remaining part of the start at the rows drawn from every source, by iteration.
    """

    loss: Any
    kept: list[list[NDArray[np.float32]]]
    largest: list[float]
    start: Sequence[list[NDArray[np.float32]]] = ()

    @property
    def descending(self) -> bool:
        return bool(self.loss.descending)

    def tuple_slopes(self, values: list[NDArray[np.float32]], t: int) -> list[NDArray[np.float32]]:
        """Return the slopes of the loss, and record them."""
        if len(self.start):
            left = self.start[len(self.kept)]
            values = [f + at_start for f, at_start in zip(values, left, strict=True)]
        self.largest.append(max(float(np.abs(f).max()) for f in values))
        self.kept.append(self.loss.tuple_slopes(values, t))
        return self.kept[-1]


@dataclass(frozen=True)
class Run:
    """Measurements of one run.

    Attributes
    ----------
    gradients : ndarray of shape (min(T, MOST_GRADIENTS) + 1,)
        ``||grad R(h_t)||^2``, from ``h = 0`` to the end of the run.
    distance : float
        Mean of ``(f - h)^2`` over all rows at the end.
    largest : float
        Largest absolute value of a row when it was drawn.
    objective : float
        ``R(h)`` at the end.
    """

    gradients: Array
    distance: float
    largest: float = 0.0
    objective: float = 0.0


def two_moons(n: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return rows on two noisy half circles, and which are on the upper one."""
    rng = np.random.default_rng(seed)
    upper = rng.random(n) < 0.5
    angle = np.pi * rng.random(n)
    x, y = np.cos(angle), np.sin(angle)
    X = np.column_stack([np.where(upper, x, 1 - x), np.where(upper, y, 0.5 - y)])
    return (X + 0.15 * rng.normal(size=X.shape)).astype(np.float32), upper


def problem_of_one(data: Data, loss: Any) -> Problem:
    """Return the problem of one model on all rows."""
    loss, first = stacked([loss], [data.counts]), np.zeros(1, np.int64)
    return Problem(data, loss, first, [None], [np.arange(len(data.X))])


def study_of(
    data: Data, loss: Any, eta: float, lam: float, T: int, seed: int, **more: Any
) -> Study:
    """Return the training of one model by constant steps."""
    problem = problem_of_one(data, loss)
    steps = Steps(*np.array([[lam], [np.nan], [0.0], [eta]]))
    return Study(problem, FourierFeatures("gaussian", SIGMA, N_FREQUENCIES, seed), steps, T, **more)


def s3vm_problem(loss: str, n_iterations: int, seed: int) -> Study:
    """Return a problem of TSGS3VM with the steps of its theorems."""
    X, positive = two_moons(N_LABELED + N_UNLABELED, seed)
    codes = np.where(positive[:N_LABELED], 0, 1)
    data = Data(X[:N_LABELED], codes, X[N_LABELED:])
    eta = THETA / n_iterations**0.75
    return study_of(data, Margin(C, C_UNLABELED, loss=loss), eta, 1.0, n_iterations, seed)


def su_problem(n_iterations: int, seed: int, correction: str = "abs", at: str = "batch") -> Study:
    """Return a problem of TSGSU with the steps of its theorem: pairs of the two moons."""
    rng = np.random.default_rng(seed)
    X, positive = two_moons(20 * (N_PAIRS + N_UNLABELED), seed)
    upper, lower = np.flatnonzero(positive), np.flatnonzero(~positive)
    n_upper = rng.binomial(N_PAIRS, PRIOR**2 / similar_share(PRIOR))
    n_positive = rng.binomial(N_UNLABELED, PRIOR)
    points = [*upper[: 2 * n_upper], *lower[: 2 * (N_PAIRS - n_upper)]]
    others = [*upper[-n_positive:], *lower[n_positive - N_UNLABELED :]]
    data = Data(X[points], np.zeros(len(points), np.int64), X[others], n_sources=1)
    window = N_UNLABELED / BATCH if at == "sample" else 1.0  # as `TSGSU.risk`
    loss, eta = SimilarUnlabeled(PRIOR, correction, window=window), THETA / n_iterations**0.5
    return study_of(data, loss, eta, LAM, n_iterations, seed, in_passes=True)


def lemma_bound(largest: float) -> float:
    """Return the bound of ``(f_T - h_T)^2`` in Lemma 1 of TSGSU.

    Parameters
    ----------
    largest : float
        Bound of the values, and so of the derivatives ``|z - t|/2`` of the loss. The kernel, the
        products of a feature and the slopes of the correction are at most 1.
    """
    scale = (2 * similar_share(PRIOR) + 1) / (2 * PRIOR - 1)
    return float((scale * (largest + 1) / 2 * 2 * THETA) ** 2)


def row_numbers(study: Study) -> list[NDArray[np.int64]]:
    """Return the rows drawn from each source at each iteration, numbered over all tables."""
    tables, T = study.tables, study.n_iterations
    starts = np.cumsum([0, *map(len, tables)])
    seed, size = study.features.seed, study.batch_size
    return [
        starts[s.table] + s.draw(number, len(tables[s.table]), seed, 0, T, size)[:, 0]
        for number, s in enumerate(study.sources)
    ]


def pools_of(study: Study) -> list[NDArray[np.int64]]:
    """Return all rows of each source, numbered over all tables."""
    tables = study.tables
    starts = np.cumsum([0, *map(len, tables)])
    return [
        starts[s.table] + (s.pools[0] if s.pools else np.arange(len(tables[s.table])))
        for s in study.sources
    ]


def full_gradient(study: Study, beta: Array, h: Array) -> Array:
    """Return the kernel coefficients of the gradient at ``h = sum_i beta_i k(x_i, .)``.

    Parameters
    ----------
    study : Study
    beta, h : ndarray of shape (n,)
        Coefficients and values at all rows.
    """
    pools = pools_of(study)
    values = [h[pool].astype(np.float32)[:, None] for pool in pools]
    gradient = study.steps.lam * beta
    for pool, c in zip(pools, study.problem.loss.tuple_slopes(values, 1), strict=True):
        gradient[pool] += c[:, 0]
    return gradient


def full_objective(study: Study, beta: Array, h: Array) -> float:
    """Return the objective at a function; parameters are those of `full_gradient`."""
    loss = study.problem.loss.value([h[pool][:, None] for pool in pools_of(study)])
    return float((study.steps.lam / 2 * (beta @ h) + loss)[0])


def start_of(name: str, study: Study, K: Array) -> Array:
    """Return the coefficients of a start at all rows."""
    beta = np.zeros(len(K))
    if name == "random":
        beta = np.random.default_rng(study.features.seed).normal(size=len(K))
    elif name == "opposite":
        positive, negative, _ = pools_of(study)
        beta[positive], beta[negative] = -1.0, 1.0
    norm = np.sqrt(beta @ K @ beta)
    return START_NORM / norm * beta if norm else beta


def follow(study: Study, start: str = "zero") -> Run:
    """Train, and take the same steps with kernels."""
    X = np.vstack(study.tables)
    K = gaussian_gram(X, X, SIGMA)
    rows = row_numbers(study)
    beta = start_of(start, study, K)
    at_start = h = K @ beta
    left = np.cumprod([1.0, *(study.steps(t + 1)[1][0] for t in range(study.n_iterations))])
    start_at_rows = [
        [(left[t] * at_start[drawn[t]]).astype(np.float32)[:, None] for drawn in rows]
        for t in range(study.n_iterations)
    ]
    recorder = Recorder(study.problem.loss, [], [], start_at_rows)
    model = study.train(recorder)
    gradients, every = [], max(1, study.n_iterations // MOST_GRADIENTS)
    for t in range(study.n_iterations + 1):
        if t % every == 0:
            gradient = full_gradient(study, beta, h)
            gradients.append(gradient @ K @ gradient)
        if t == study.n_iterations:
            break
        (step,), (decay,) = study.steps(t + 1)
        beta, h = decay * beta, decay * h
        for drawn, c in zip(rows, recorder.kept[t], strict=True):
            np.subtract.at(beta, drawn[t], step * c[:, 0])
            h -= step * (c[:, 0] @ K[drawn[t]])
    f = model.values(X)[:, 0] + left[-1] * at_start
    return Run(
        np.array(gradients),
        float(np.mean((f - h) ** 2)),
        max(recorder.largest),
        full_objective(study, beta, h),
    )


def slope(iterations: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of log value against log T."""
    return float(np.polyfit(np.log(iterations), np.log(values), 1)[0])


def draw(runs: dict[int, list[Run]], rates: tuple[float, float], path: Path) -> None:
    """Draw the squared norms along the runs, and both theorems' quantities against T."""
    iterations = list(runs)
    colors = mpl.colormaps["viridis"](np.linspace(0, 0.85, len(runs)))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.6), layout="constrained")
        along, against = figure.subplots(1, 2)
        for (T, some), color in zip(runs.items(), colors, strict=True):
            mean = np.mean([run.gradients for run in some], axis=0)
            along.loglog(
                np.linspace(1, T + 1, len(mean)), mean, color=color, lw=1, label=f"T = {T}"
            )
        along.set(xlabel="iteration t", ylabel=r"$\|\nabla R(h_t)\|^2$")
        along.legend()
        for rate, marker, label, values in (
            (rates[0], "o", r"mean $\|\nabla R(h_t)\|^2$", mean_gradients(runs)),
            (rates[1], "s", r"mean $(f_T - h_T)^2$", mean_distances(runs)),
        ):
            (line,) = against.loglog(iterations, values, marker, ls="-", ms=4, lw=1, label=label)
            theory = values[0] * (np.array(iterations) / iterations[0]) ** rate
            name = f"slope {rate:g}"
            against.loglog(iterations, theory, ls=":", color=line.get_color(), label=name)
        against.set(xlabel="iterations T")
        against.legend()
        figure.savefig(path, dpi=200)


def mean_gradients(runs: dict[int, list[Run]]) -> list[float]:
    """Return the mean squared norm over the iterations, for the runs of each length."""
    return [float(np.mean([run.gradients[:-1].mean() for run in some])) for some in runs.values()]


def mean_distances(runs: dict[int, list[Run]]) -> list[float]:
    """Return the mean final distance of f and h, for the runs of each length."""
    return [float(np.mean([run.distance for run in some])) for some in runs.values()]


def printed(name: str, runs: dict[int, list[Run]], rates: tuple[float, float]) -> list[float]:
    """Print the bounded quantities for the runs from one start, and return the slopes."""
    gradients, distances = mean_gradients(runs), mean_distances(runs)
    click.echo(f"start: {name}")
    click.echo(
        "      T  ||grad R||^2 at 0  mean over t     at the end  mean (f_T - h_T)^2   R at the end"
    )
    for (T, some), gradient, distance in zip(runs.items(), gradients, distances, strict=True):
        first, last = np.mean([run.gradients[[0, -1]] for run in some], axis=0)
        objective = np.mean([run.objective for run in some])
        click.echo(
            f"{T:7d}  {first:17.3f}  {gradient:11.3f}  {last:13.4f}  {distance:18.2e}"
            f"  {objective:13.3f}"
        )
    slopes = [slope(list(runs), values) for values in (gradients, distances)]
    for what, fitted, rate in zip(QUANTITIES, slopes, rates, strict=True):
        click.echo(f"slope of mean {what}: {fitted:.2f} (theory: at most {rate:g})")
    return slopes


def by_seed(runs: dict[int, list[Run]]) -> dict[str, Array]:
    """Return the quantities of the runs from one start, each of shape (n_seeds, n_lengths)."""
    return {
        name: np.array([[of(run) for run in some] for some in runs.values()]).T
        for name, of in (
            ("squared_gradients", lambda run: run.gradients[:-1].mean()),
            ("squared_distances", lambda run: run.distance),
            ("objectives", lambda run: run.objective),
        )
    }


@click.command(help=__doc__)
@click.option("--objective", type=click.Choice(list(RATES)), default="s3vm", show_default=True)
@click.option("--loss", type=click.Choice(list(UNLABELED_LOSSES)), default="shg", show_default=True)
@click.option(
    "--correction",
    type=click.Choice(list(SLOPE_BELOW)),
    default="abs",
    show_default=True,
    help="Correction of the risks of TSGSU.",
)
@click.option(
    "--correction-at",
    type=click.Choice(["sample", "batch"]),
    default="batch",
    show_default=True,
    help="Risks of TSGSU that its correction's slope is taken at.",
)
@click.option("--seeds", default=3, show_default=True)
@click.option(
    "--most",
    default=4096,
    show_default=True,
    type=click.IntRange(min=64),
    help="Largest number of iterations.",
)
@click.option(
    "--starts", "from_far", is_flag=True, help="Also start TSGS3VM from distant functions."
)
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), help="File of the figure."
)
@json_option
def main(
    objective: str,
    loss: str,
    correction: str,
    correction_at: str,
    seeds: int,
    most: int,
    from_far: bool,
    figure: Path | None,
    json_file: Path | None,
) -> None:
    """Print the bounded quantities for runs of growing length."""
    if from_far and objective != "s3vm":
        raise click.UsageError("--starts is for --objective s3vm")
    lengths, rates = [T for T in LENGTHS if most >= T], RATES[objective]
    problem: Callable[[int, int], Study] = functools.partial(
        su_problem, correction=correction, at=correction_at
    )
    if objective == "s3vm":
        problem = functools.partial(s3vm_problem, loss)
    by_start = {
        start: {T: [follow(problem(T, seed), start) for seed in range(seeds)] for T in lengths}
        for start in (STARTS if from_far else STARTS[:1])
    }
    slopes = {start: printed(start, runs, rates) for start, runs in by_start.items()}
    runs = by_start[STARTS[0]]
    numbers: dict[str, Any] = {
        "iterations": lengths,
        "squared_gradients": mean_gradients(runs),
        "squared_distances": mean_distances(runs),
        "slopes": slopes[STARTS[0]],
        "theory": rates,
    }
    if objective == "su":
        bounds = [lemma_bound(max(run.largest for run in runs[T])) for T in lengths]
        click.echo("bounds of (f_T - h_T)^2: " + ", ".join(f"{bound:.1f}" for bound in bounds))
        numbers["bounds"] = bounds
    if from_far:
        starts = {start: by_seed(of) for start, of in by_start.items()}
        for name in ("squared_gradients", "squared_distances"):
            numbers[name] = np.vstack([of[name] for of in starts.values()])
        numbers |= {"slopes": slopes, "starts": starts}
    write_json(json_file, "study_gradient_norm", numbers)
    if figure is not None:
        draw(runs, rates, figure)
    missed = [
        what if start == STARTS[0] else f"{what} from the {start} start"
        for start, fitted in slopes.items()
        for what, one, rate in zip(QUANTITIES, fitted, rates, strict=True)
        if not one <= rate + TOLERANCE
    ]
    if missed:
        click.echo(f"missed: the slope of {', '.join(missed)}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
