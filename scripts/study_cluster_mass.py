"""Follow the mass of a budgeted one-class machine along a long training.

Rows that are drawn once all have the coefficient C/t, so removal takes the oldest of them. The rest
weighs C (B + repeated draws of kept rows)/t, which falls: fewer rows are inside the domain, in the
end often none. Projection transfers the coefficient to others, and keeps the mass.

The script trains on the rows of a dataset, scaled to [0, 1]. For each seed and number of steps it
measures the sum of the coefficients, the share of rows inside, the objective above its minimum, by
the dual quadratic program, and the number of support vectors. It exits with code 1 unless removal
loses many rows while PNN stays as without a budget.

Theorem 7 of the paper bounds the mean of the objectives of all iterates minus the minimum: without
maintenance by O(log T/T), with removal by an additional term for the removed coefficients. A loop
over a kernel matrix, on the rows that the machines draw, computes that mean and the bound without a
budget, with removal, and with removal of random vectors.
"""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale
from study import Result, show, study

from dsgkit.clustering.estimators import BSGDLMOC, SGDLMOC
from dsgkit.clustering.one_class import ROWS
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.dataset import load_dataset
from dsgkit.linalg import Array, solve_qp
from dsgkit.random import draw_with_replacement

GAMMA, C = 8.0, 32.0
LENGTHS = (100, 150, 200, 300, 500, 700, 1000, 2000, 3000, 5000, 10_000, 20_000, 30_000)
STRATEGIES = ("removal", "pnn", "prn", "none")
MIN_LOST_SHARE = 0.3  # of rows inside at the end, PNN minus removal
MAX_SHARE_GAP = 0.1  # between PNN and no budget


def machine(strategy: Any, gamma: float, C: float, budget: int, steps: int, seed: int) -> SGDLMOC:
    drawn: dict[str, Any] = {"tol": 0.0, "max_iter": steps, "random_state": seed}
    if strategy == "none":
        return SGDLMOC(gamma, C, **drawn)
    return BSGDLMOC(gamma, C, budget=budget, strategy=strategy, **drawn)


def measured(model: SGDLMOC, X: Array) -> tuple[float, float, float, int]:
    """Train a machine; return its mass, share inside, objective and number of support vectors."""
    inside = float(np.mean(model.fit_domain(X).decision_function(X) >= 0))
    return model.mass_, inside, model.diagnostics(X)["objective"], len(model.dual_coef_)


def averaged(
    K: Array, C: float, budget: int, strategy: str, lengths: list[int], seed: int
) -> tuple[Array, Array]:
    """Return the mean of the iterates' objectives after some steps, and its bound of Theorem 7.

    ``K`` has the kernel values of all rows. Past the budget, ``removal`` removes the vector with
    the smallest coefficient (the oldest of equal ones), ``removal_at_random`` a random one.
    """
    n, rng = len(K), np.random.default_rng(seed)
    drawn = draw_with_replacement(seed, ROWS, 0, lengths[-1], 1, n)[:, 0]
    s, values, norm = np.zeros(n), np.zeros(n), 0.0  # t w, its values and squared norm
    since = np.zeros(n, np.int64)
    total = removed = most = 0.0
    found = []
    for t, row in enumerate(drawn, start=1):
        before = max(t - 1, 1)
        total += norm / before**2 / 2 + C * np.maximum(0, 1 - values / before).mean()
        if t == 1 or values[row] < t - 1:
            since[row] = since[row] if s[row] else t
            norm += 2 * C * values[row] + C * C
            s[row] += C
            values += C * K[row]
            support = np.flatnonzero(s)
            if strategy != "none" and len(support) > budget:
                gone = rng.choice(support)
                if strategy == "removal":
                    gone = support[np.lexsort((since[support], s[support]))[0]]
                removed, most = removed + s[gone], max(most, s[gone])
                norm += s[gone] ** 2 - 2 * s[gone] * values[gone]
                values -= s[gone] * K[gone]
                s[gone] = 0
        if t in lengths:
            found.append((total / t, theorem_bound(C, most, removed, t)))
    objective, bound = np.array(found).T
    return objective, bound


def theorem_bound(C: float, most: float, removed: float, n_steps: int) -> float:
    """Return the right side of Theorem 7 for rows of norm 1.

    ``most`` and ``removed`` are the largest and the sum of all removed ``t alpha``.
    """
    G, H = 2 * C, most  # Lemmas 3 and 5
    W = H + np.sqrt(H**2 + (G + H) ** 2)
    return float((G + H) ** 2 * (np.log(n_steps) + 1) / (2 * n_steps) + W * removed / n_steps)


def minimum(K: Array, C: float) -> float:
    """Return the minimum of the objective, by its dual, which has no gap."""
    n = len(K)
    box = sparse.vstack([-sparse.eye_array(n), sparse.eye_array(n)])
    limits = np.concatenate([np.zeros(n), np.full(n, C / n)])
    none = sparse.csc_array((0, n)), np.empty(0)
    alpha = solve_qp(sparse.csc_array(K), -np.ones(n), none, (box, limits), dense=True)
    return float(alpha.sum() - alpha @ K @ alpha / 2)


@study
@click.option("--dataset", default="aggregation", show_default=True)
@click.option("--budget", default=50, show_default=True)
@click.option("--seeds", default=5, show_default=True)
@click.option("--most", default=LENGTHS[-1], show_default=True, help="Largest number of steps.")
def main(dataset: str, budget: int, seeds: int, most: int) -> Result:
    X = minmax_scale(load_dataset(DATASETS[dataset]).X[:].astype(float))
    lengths = [n for n in LENGTHS if n <= most]
    K = rbf_kernel(X, gamma=GAMMA)
    least = minimum(K, C)
    numbers: dict[str, Any] = {"rows": dataset, "n_rows": len(X)}
    parts = ("mass", "inside", "above_minimum", "supports", "averaged_gaps", "bounds")
    numbers |= {"budget": budget, "steps": lengths, **{part: {} for part in parts}}
    for strategy in STRATEGIES:
        runs = [
            [measured(machine(strategy, GAMMA, C, budget, n, seed), X) for n in lengths]
            for seed in range(seeds)
        ]
        mass, inside, objective, supports = np.moveaxis(np.array(runs), 2, 0)
        numbers["mass"][strategy], numbers["inside"][strategy] = mass, inside
        numbers["above_minimum"][strategy] = objective / least - 1
        numbers["supports"][strategy] = supports.mean(axis=0)
    for strategy in ("none", "removal", "removal_at_random"):
        means = [averaged(K, C, budget, strategy, lengths, seed) for seed in range(seeds)]
        objective, bound = np.mean(means, axis=0)
        numbers["averaged_gaps"][strategy], numbers["bounds"][strategy] = objective - least, bound
    for part in parts:
        columns = {
            strategy: np.atleast_2d(of).mean(axis=0) for strategy, of in numbers[part].items()
        }
        show(f"{part}, by steps: means over {seeds} seeds", columns, lengths)
    last = {strategy: inside[:, -1].mean() for strategy, inside in numbers["inside"].items()}
    missed = []
    if last["removal"] > last["pnn"] - MIN_LOST_SHARE:
        missed.append("removal has kept its rows")
    if abs(last["pnn"] - last["none"]) > MAX_SHARE_GAP:
        missed.append("PNN is not as without a budget")
    return numbers, missed
