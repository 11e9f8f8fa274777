"""Follow the gradient of TSGS3VM or TSGSU along runs (Theorems 1 and 2 of the papers).

The theorems are on h_t, which takes a run's steps with kernels (`replay.py`); with it, the gradient
``grad R(h_t)`` is a sum of kernels at training rows. Steps are the theorems': ``theta / T^(3/4)``
for TSGS3VM, whose Theorem 2 bounds the mean of ``||grad R(h_t)||^2`` by O(T^(-1/4)), and Theorem 1
that of ``(f_t - h_t)^2`` by O(T^(-1/2)), where R is smooth. The hinge is not: at a minimum, rows on
the margin have some derivative between 0 and -1, but the gradient takes one end of this interval,
so the norm of a single ``grad R(h_t)`` need not vanish.

``--objective su`` takes TSGSU, with the steps ``theta / sqrt(T)``. Its Theorem 1 states O(T^(-1/2))
for the gradients, although its derivation leaves a constant, and its Lemma 1 bounds the mean of
``(f_t - h_t)^2`` by a constant. Its corrected risks ``|r|`` are not smooth at r = 0. ``--correction
none`` leaves risks uncorrected. ``--correction-at`` says whose r chooses the slopes of ``|r|``: the
batch's, its running mean, which `TSGSU` takes for the sample's, or that of h_t on all rows, with
which steps are unbiased, as the theorem wants; there, kernels take the place of random features
(f_t is h_t). ``negative_batches`` and ``negative_samples`` are the shares of iterations at which a
part of h_t's risk is negative: r_1 or r_2 on the batch, and on all rows.

The theorems hold from any start. ``--starts`` adds runs of TSGS3VM from two distant functions: a
random one, and one with the wrong sign at every labelled row. ``objectives`` are the final ones: a
stationary point can be poor; ``excess`` is the largest by which such a run ends above that from 0,
as a share.

A fall of the mean over a run need not be convergence: if the slopes of the data term stayed as they
are at the start, the regulariser alone would take the gradient to ``(1 - eta)^t grad R(h_0)``, and
the mean of its square, ``by_regularizer``, would fall like T^(-1/4), too. The mean over the second
half of a run, ``late_squared_gradients``, is that after it. Means are over at most 4,096 moments,
evenly spaced. The script exits with code 1 if a slope exceeds the theorem's by more than 0.1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from replay import Moment, Rows, Training, replay
from study import Result, show, slope, study

from dsgkit.engine.problem import Data, stacked
from dsgkit.features import FourierFeatures
from dsgkit.linalg import Array
from dsgkit.risks.margin import Margin
from dsgkit.risks.similar import SLOPE_BELOW, SimilarUnlabeled, similar_share

N_LABELED, N_UNLABELED, N_PAIRS = 200, 1000, 300
SIGMA, THETA = 2.0, 1.0
C, C_UNLABELED = 10.0, 2.0
PRIOR, LAM = 0.8, 0.01
BATCH, N_FREQUENCIES = 16, 16
N_EVALUATED = 4096
LENGTHS = (16, 64, 256, 1024, 4096, 16384, 65536)
RATES = {"s3vm": (-1 / 4, -1 / 2), "su": (-1 / 2, 0.0)}  # of the next two, by objective
BOUNDED = ("squared_gradients", "squared_distances")
FALLING = (*BOUNDED, "late_squared_gradients", "by_regularizer")
STARTS = ("zero", "random", "opposite")
START_NORM = 10.0  # in the RKHS: ``1/2 ||f||^2`` is then four times the objective at 0
TOLERANCE = 0.1  # excess of a slope over the theorem's


def two_moons(n: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return rows on two noisy half circles, and which are on the upper one."""
    rng = np.random.default_rng(seed)
    upper = rng.random(n) < 0.5
    angle = np.pi * rng.random(n)
    x, y = np.cos(angle), np.sin(angle)
    X = np.column_stack([np.where(upper, x, 1 - x), np.where(upper, y, 0.5 - y)])
    return (X + 0.15 * rng.normal(size=X.shape)).astype(np.float32), upper


def s3vm_training(T: int, seed: int) -> Training:
    X, positive = two_moons(N_LABELED + N_UNLABELED, seed)
    data = Data(X[:N_LABELED], np.where(positive[:N_LABELED], 0, 1), X[N_LABELED:])
    features = FourierFeatures("gaussian", SIGMA, N_FREQUENCIES, seed)
    risk = Margin(C, C_UNLABELED)
    return Training(data, risk, features, T, BATCH, lam=1.0, eta=THETA / T**0.75)


def su_training(correction: str, at: str, T: int, seed: int) -> Training:
    """Return a training of TSGSU by the steps of its theorem: pairs of the two moons."""
    rng = np.random.default_rng(seed)
    X, positive = two_moons(20 * (N_PAIRS + N_UNLABELED), seed)
    upper, lower = np.flatnonzero(positive), np.flatnonzero(~positive)
    n_upper = rng.binomial(N_PAIRS, PRIOR**2 / similar_share(PRIOR))
    n_positive = rng.binomial(N_UNLABELED, PRIOR)
    points = [*upper[: 2 * n_upper], *lower[: 2 * (N_PAIRS - n_upper)]]
    others = [*upper[-n_positive:], *lower[n_positive - N_UNLABELED :]]
    data = Data(X[points], np.zeros(len(points), np.int64), X[others], n_sources=1)
    windows = {"batch": 1.0, "sample": N_UNLABELED / BATCH, "all_rows": np.inf}  # as `TSGSU.risk`
    risk, eta = SimilarUnlabeled(PRIOR, correction, window=windows[at]), THETA / T**0.5
    features = FourierFeatures("gaussian", SIGMA, N_FREQUENCIES, seed)
    return Training(data, risk, features, T, BATCH, lam=LAM, eta=eta, in_passes=True)


def lemma_bound(largest: float) -> float:
    """Return the bound of ``(f_T - h_T)^2`` in Lemma 1 of TSGSU, for values up to ``largest``."""
    # the derivatives of the loss are |z - t|/2; the kernel, the products of a feature and the
    # slopes of the correction are at most 1
    scale = (2 * similar_share(PRIOR) + 1) / (2 * PRIOR - 1)
    return float((scale * (largest + 1) / 2 * 2 * THETA) ** 2)


def gradient(run: Training, pools: list[Rows], beta: Array, h: Array) -> Array:
    """Return the kernel coefficients of the gradient at h, whose coefficients are beta."""
    values = [h[pool].astype(np.float32)[:, None] for pool in pools]
    found = run.lam * beta
    for pool, c in zip(pools, run.problem.loss.tuple_slopes(values, 1), strict=True):
        found[pool] += c[:, 0]
    return found


def objective(run: Training, pools: list[Rows], beta: Array, h: Array) -> float:
    (loss,) = run.problem.loss.value([h[pool][:, None] for pool in pools])
    return float(run.lam / 2 * (beta @ h) + loss)


def is_negative(run: Training, h: Array, pools: list[Rows]) -> bool:
    """Return whether r_1 or r_2 of TSGSU is negative at rows of each source."""
    loss = stacked([replace(run.risk, window=1.0)], [run.data.counts])
    loss.tuple_slopes([h[rows].astype(np.float32)[:, None] for rows in pools], 1)
    return bool(loss.negative[0])


def start_of(name: str, run: Training, pools: list[Rows]) -> Array:
    """Return the coefficients of a start at all rows."""
    beta = np.zeros(len(run.K))
    if name == "random":
        beta = np.random.default_rng(run.features.seed).normal(size=len(beta))
    elif name == "opposite":
        positive, negative, _ = pools
        beta[positive], beta[negative] = -1.0, 1.0
    norm = np.sqrt(beta @ run.K @ beta)
    return START_NORM / norm * beta if norm else beta


def corrected_by_all_rows(run: Training) -> Iterator[Moment]:
    """Yield the moments of TSGSU with kernels, delta' chosen by the risks of h_t on all rows."""
    (pools, drawn), K, T = run.rows(), run.K, run.n_iterations
    loss = run.problem.loss  # its window is endless: late batches leave its averages as they are
    sample = replace(loss, window=np.ones(1))  # with the same averages
    (beta, h), largest = np.zeros((2, len(K))), 0.0
    for t in range(T):
        largest = max(largest, float(np.abs(h).max()))
        yield Moment(beta, h, None, largest)
        (step,), (decay,) = run.steps(t + 1)
        sample.slopes([h[rows][:, None] for rows in pools], 1)
        slopes = loss.slopes([h[rows[t]][:, None] for rows in drawn], sys.maxsize)
        beta, h = decay * beta, decay * h
        for rows, c in zip(drawn, slopes, strict=True):
            np.subtract.at(beta, rows[t], step * c[:, 0])
            h -= step * (c[:, 0] @ K[rows[t]])
    yield Moment(beta, h, None, largest)


def followed(run: Training, start: str) -> dict[str, float]:
    """Return the quantities of a run: means over it, and others at its end."""
    (pools, drawn), T, gradients, negative = run.rows(), run.n_iterations, [], []
    similar = isinstance(run.risk, SimilarUnlabeled)
    if similar and np.isinf(run.risk.window):
        moments = corrected_by_all_rows(run)
    else:
        moments = replay(run, [T], start_of(start, run, pools))
    for t, moment in enumerate(moments):
        if t == T or t % -(-T // N_EVALUATED):
            continue
        if similar:
            at = [rows[t] for rows in drawn], pools
            negative.append([is_negative(run, moment.h, rows) for rows in at])
        found = gradient(run, pools, moment.beta, moment.h)
        gradients.append(found @ run.K @ found)
    quantities = {
        "squared_gradients": float(np.mean(gradients)),
        "late_squared_gradients": float(np.mean(gradients[len(gradients) // 2 :])),
        "objectives": objective(run, pools, moment.beta, moment.h),
        "largest": moment.largest,
    }
    if moment.f is not None:
        quantities["squared_distances"] = float(np.mean((moment.f - moment.h) ** 2))
    if similar:
        batches, samples = np.mean(negative, axis=0)
        return quantities | {"negative_batches": batches, "negative_samples": samples}
    left = np.cumprod([1.0, *(run.steps(t)[1][0] for t in range(1, T))])
    return quantities | {"by_regularizer": float(gradients[0] * np.mean(left**2))}


@study
@click.option("--objective", "kind", type=click.Choice(list(RATES)), default="s3vm")
@click.option("--correction", type=click.Choice(list(SLOPE_BELOW)), default="abs", help="Of TSGSU.")
@click.option(
    "--correction-at", "at", type=click.Choice(["batch", "sample", "all_rows"]), default="batch"
)
@click.option("--seeds", default=3, show_default=True)
@click.option("--most", default=4096, show_default=True, type=click.IntRange(64, LENGTHS[-1]))
@click.option("--starts", "from_far", is_flag=True, help="Start TSGS3VM from distant functions.")
def main(kind: str, correction: str, at: str, seeds: int, most: int, from_far: bool) -> Result:
    if from_far and kind != "s3vm":
        raise click.UsageError("--starts is for --objective s3vm")
    lengths, rates = [T for T in LENGTHS if most >= T], RATES[kind]
    train = s3vm_training if kind == "s3vm" else partial(su_training, correction, at)
    by_start: dict[str, dict[str, Array]] = {}
    for start in STARTS if from_far else STARTS[:1]:
        found = [followed(train(T, s), start) for s in range(seeds) for T in lengths]
        shape = seeds, len(lengths)
        by_start[start] = {name: np.reshape([of[name] for of in found], shape) for name in found[0]}
    slopes, missed = {}, []
    for start, of in by_start.items():
        means = {name: values.mean(axis=0) for name, values in of.items()}
        slopes[start] = {name: slope(lengths, means[name]) for name in FALLING if name in means}
        show(f"start {start}: means over the seeds, by T", means, lengths)
        show("slopes against T", [slopes[start]])
        for name, rate in zip(BOUNDED, rates, strict=True):
            if name in means and not slopes[start][name] <= rate + TOLERANCE:
                missed.append(f"slope of {name} from start {start} above {rate:g}")
    zero = by_start["zero"]
    numbers: dict[str, Any] = {"iterations": lengths, "slopes": slopes, "theory": rates}
    numbers |= {name: values.mean(axis=0) for name, values in zero.items()}
    if kind == "su":
        numbers["bounds"] = [lemma_bound(most) for most in zero["largest"].max(axis=0)]
        click.echo(f"bounds of squared_distances: {np.round(numbers['bounds'], 1)}")
    if from_far:
        numbers["starts"] = by_start
        ends = {start: of["objectives"][:, -1] for start, of in by_start.items()}
        numbers["excess"] = {start: max(end / ends["zero"] - 1) for start, end in ends.items()}
    return numbers, missed
