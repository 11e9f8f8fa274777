"""A risk that the package does not know gets every algorithm: positive-unlabelled learning.

Of the squared loss ``(t z - 1)^2/4``, the unbiased risk of positive and unlabelled rows is
``-pi mean_P f + mean_U (f + 1)^2/4`` (du Plessis, Niu & Sugiyama, ICML 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from dsgkit.engine.problem import Data, Problem, stacked
from dsgkit.engine.streaming import stream
from dsgkit.engine.sweeps import sweep
from dsgkit.estimators.auc import decreasing
from dsgkit.exact.fixed import descend
from dsgkit.exact.quadratic import Dual, minimise
from dsgkit.features import random_features as blocks_of
from dsgkit.kernels import kernel_named
from dsgkit.risks.pairwise import Form, Loss
from tests.exact.problems import Model

SOME, MANY, BLOCKS = (blocks_of("gaussian", 2.0, n, 1) for n in (64, 256, 64))
RNG = np.random.default_rng(0)
POSITIVE, NEGATIVE = (RNG.normal(size=(n, 2)) / 5 + at for n, at in ((60, 0.6), (36, 0.1)))
P, U = POSITIVE[:20].astype(np.float32), np.vstack([POSITIVE[20:], NEGATIVE]).astype(np.float32)
DATA = Data(P, np.zeros(20, int), U, 1)


@dataclass(frozen=True, eq=False)
class PositiveUnlabeled(Loss):
    prior: Any

    @cached_property
    def form(self):
        G = len(self.prior)
        linear = np.column_stack([self.prior / 2, np.full(G, -1 / 4)])
        return Form(np.tile([0, 1 / 4], (G, 1)), np.zeros((G, 2, 2)), linear, np.full(G, 1 / 4))


class Machine:
    """What `decreasing` reads of an estimator."""

    kernel, sigma_ = "gaussian", 2.0


def steps(problem):
    return decreasing(Machine, problem)


def exact(rows):
    every = np.vstack([P, U]).astype(float)
    gram = kernel_named("gaussian").gram
    spectrum, vectors = np.linalg.eigh(gram(every, every, 2.0))
    kept = spectrum > 1e-12
    return gram(rows, every, 2.0) @ vectors[:, kept] / np.sqrt(spectrum[kept])


def first(rows):
    return SOME.transform(rows, 0).astype(float)


def four(rows):
    return np.hstack([BLOCKS.transform(rows, t) for t in range(4)]).astype(float) / 2


LEARNED = {
    "stream": (lambda p: stream(p, MANY, steps(p), 1500, 64), exact, 0.06),
    "fixed": (lambda p: descend(p, SOME, steps(p), 1000, 64), first, 0.06),
    "sweep": (lambda p: sweep(p, BLOCKS, p.each("lam"), 4, 60, 1000), four, 1e-4),
    "dual": (lambda p: minimise(p, Dual("gaussian", 2.0), p.each("lam") / 2), exact, 1e-7),
}


@pytest.mark.parametrize("how", LEARNED)
def test_every_algorithm_finds_the_minimiser(how):
    learn, features, tolerance = LEARNED[how]
    problem = Problem.of([Model(0.25, PositiveUnlabeled(0.4))], DATA)
    Phi = features(np.vstack([P, U]))
    gram = Phi[20:].T @ Phi[20:] / (2 * len(U)) + 0.25 * np.eye(Phi.shape[1])
    right = 0.4 * Phi[:20].mean(axis=0) - Phi[20:].mean(axis=0) / 2
    expected = Phi @ np.linalg.solve(gram, right)
    got = learn(problem).values(np.vstack([P, U]))[:, 0]
    assert np.max(abs(got - expected)) <= tolerance * np.max(abs(expected))


def test_its_value_is_the_risk():
    z, r = np.linspace(-1, 2, 20)[:, None], np.linspace(-1, 1, 76)[:, None]
    loss = stacked([PositiveUnlabeled(0.4)], [[20]])
    assert loss.value([z, r])[0] == pytest.approx(np.mean((r + 1) ** 2) / 4 - 0.4 * z.mean())
