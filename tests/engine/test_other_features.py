"""A kind of features that the package does not have, in numpy: nothing else has to know it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dsgkit.engine import sizes, train
from dsgkit.linalg import read_rows
from tests.engine.test_training import close, constant_step_problem


@dataclass(frozen=True)
class RandomProjections:
    """``x'W_t`` of m random columns, the features of the linear kernel; they serve in any order."""

    m: int
    seed: int

    @property
    def width(self):
        return self.m

    def row_flops(self, n_inputs):
        return 2.0 * self.m * n_inputs

    def psi(self, X, t):
        W = np.random.default_rng([self.seed, t]).normal(size=(X.shape[1], self.m))
        return X @ W.astype(np.float32)

    def transform(self, X, block):
        return self.psi(X, block) / np.float32(np.sqrt(self.m))

    def add(self, X, first, coefficients, values):
        for t, part in enumerate(coefficients):
            values += self.psi(X, first + t) @ part

    def correlate(self, X, block, C, factor):
        return self.psi(X, block).T @ C * (factor / self.m).astype(np.float32)

    def read(self, table, index):
        return read_rows(table, index)

    def in_order(self, n_inputs, n_blocks):
        return self


def by_hand(problem, eta):
    """The method in float64 with normalised features, one model."""
    X, XU = (table.astype(np.float64) for table in problem.tables)
    alphas = []

    def values(rows):
        phi = (problem.features.transform(rows, t) for t in range(len(alphas)))
        return sum((p @ a for p, a in zip(phi, alphas, strict=True)), np.zeros(len(rows)))

    for t in range(problem.n_iterations):
        rows = [
            (X if s.table == 0 else XU)[
                s.draw(k, len(problem.tables[s.table]), 3, t, 1, problem.batch_size)[0, 0]
            ]
            for k, s in enumerate(problem.sources)
        ]
        c = problem.objective.coefficients([values(r)[:, None].astype(np.float32) for r in rows])
        gradient = sum(
            problem.features.transform(r, t).T @ ci for r, ci in zip(rows, c, strict=True)
        )
        alphas = [(1 - eta) * a for a in alphas] + [-eta * gradient[:, 0]]
    return values(XU[:100])


@pytest.mark.parametrize("n_unlabeled", [100, 6000])
def test_the_engine_takes_any_kind_of_features(n_unlabeled, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_BLOCK_ROWS", 7 * 20)
    problem = constant_step_problem([0.05], T=50, n_unlabeled=n_unlabeled)
    problem = replace(problem, features=RandomProjections(5, seed=3))
    model = train(problem)
    rows = problem.tables[1][:100]
    values = model.decision_function(rows)
    assert close(values[:, 0], by_hand(problem, 0.05))
