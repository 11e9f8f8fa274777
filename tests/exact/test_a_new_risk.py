"""A risk that the package does not know gets every algorithm: positive-unlabelled learning.

Of the squared loss ``(t z - 1)^2/4``, the unbiased risk of positive and unlabelled rows is
``-pi mean_P f + mean_U (f + 1)^2/4`` (du Plessis, Niu & Sugiyama, ICML 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dsgkit.engine.problem import Data, Problem
from dsgkit.engine.streaming import stream
from dsgkit.engine.sweeps import sweep
from dsgkit.estimators.auc import decreasing
from dsgkit.exact.fixed import descend
from dsgkit.exact.quadratic import Dual, minimise
from dsgkit.features import random_features as blocks_of
from dsgkit.risks.pairwise import Form, Loss
from tests.exact.problems import Model, whitened

SOME, MANY, BLOCKS = (blocks_of("gaussian", 2.0, n, 1) for n in (64, 256, 64))
RNG = np.random.default_rng(0)
POSITIVE, NEGATIVE = (RNG.normal(size=(n, 2)) / 5 + at for n, at in ((60, 0.6), (36, 0.1)))
P, U = POSITIVE[:20].astype(np.float32), np.vstack([POSITIVE[20:], NEGATIVE]).astype(np.float32)
ROWS = np.vstack([P, U])


@dataclass(frozen=True, eq=False)
class PositiveUnlabeled(Loss):
    prior: Any

    @cached_property
    def form(self):
        G = len(self.prior)
        linear = np.column_stack([self.prior / 2, np.full(G, -1 / 4)])
        return Form(np.tile([0, 1 / 4], (G, 1)), np.zeros((G, 2, 2)), linear, np.full(G, 1 / 4))


def steps(problem):
    return decreasing(SimpleNamespace(kernel="gaussian", sigma_=2.0), problem)


EXACT = whitened(ROWS.astype(float), 2.0)(ROWS)
FIRST, *OTHERS = (BLOCKS.transform(ROWS, t).astype(float) for t in range(4))
LEARNED = {
    "stream": (lambda p: stream(p, MANY, steps(p), 1500, 64), EXACT, 0.06),
    "fixed": (lambda p: descend(p, SOME, steps(p), 1000, 64), FIRST, 0.06),
    "sweep": (
        lambda p: sweep(p, BLOCKS, p.each("lam"), 4, 60, 1000),
        np.hstack([FIRST, *OTHERS]) / 2,
        1e-4,
    ),
    "dual": (lambda p: minimise(p, Dual("gaussian", 2.0), p.each("lam") / 2), EXACT, 1e-7),
}


@pytest.mark.parametrize("how", LEARNED)
def test_every_algorithm_finds_the_minimiser(how):
    learn, Phi, tolerance = LEARNED[how]
    problem = Problem.of([Model(0.25, PositiveUnlabeled(0.4))], Data(P, np.zeros(20, int), U, 1))
    gram = Phi[20:].T @ Phi[20:] / (2 * len(U)) + 0.25 * np.eye(Phi.shape[1])
    right = 0.4 * Phi[:20].mean(axis=0) - Phi[20:].mean(axis=0) / 2
    expected = Phi @ np.linalg.solve(gram, right)
    got = learn(problem).values(ROWS)[:, 0]
    assert np.max(abs(got - expected)) <= tolerance * np.max(abs(expected))
    value = problem.loss.value([got[:20, None], got[20:, None]])
    assert value[0] == pytest.approx(np.mean((got[20:] + 1) ** 2) / 4 - 0.4 * got[:20].mean())
