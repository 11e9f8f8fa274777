"""Problems of models with given losses, and the minimisers of their forms by dense algebra."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dsgkit.engine.problem import Data, Fold, Problem
from dsgkit.kernels import kernel_named


@dataclass
class Model:
    """What a `Problem` needs of an estimator: its parameters and its loss."""

    lam: float
    loss: Any
    t0: float | str = "stable"
    theta_lam: float = 1.5

    def risk(self, part):
        return self.loss


def data_of(counts, n_unlabeled=9, seed=0):
    """Return random rows of some sources, shuffled, of two columns."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    X = rng.normal(size=(len(codes), 2)) + codes[:, None] / 2
    return Data(X, codes, rng.normal(size=(n_unlabeled, 2)) + 0.3, len(counts))


def folds_of(data, k=2, unlabeled=False):
    """Return folds that keep some rows of every source, and leave others in all folds."""
    order = np.argsort(data.codes, kind="stable")
    rows_u = np.arange(len(data.U) - 1)
    return [Fold(np.sort(order[j :: k + 1]), rows_u[j::k] if unlabeled else None) for j in range(k)]


def written_form(form, codes, n_unlabeled):
    """Return (M, v) at all rows of a form, with the weights of its sources written out."""
    n, n_sources = len(codes), len(form.linear) - 1
    W = np.zeros((n + n_unlabeled, n_sources + 1))
    for i, code in enumerate(codes):
        W[i, code] = 1 / np.sum(codes == code)
    W[n:, -1] = 1 / n_unlabeled
    return np.diag(W @ form.diagonal) + W @ form.cross @ W.T, W @ form.linear


def dense_values(problem, penalties, features, rows):
    """Return the values at rows of every model's minimiser, NaN if it has none, shape (n, G)."""
    form, out = problem.loss.form, []
    for g, pool in enumerate(problem.pool):
        own = problem.own_data(int(pool))
        parts = [part[g] for part in (form.diagonal, form.cross, form.linear)]
        M, v = written_form(type(form)(*parts), own.codes, len(own.U))
        Phi = features(np.vstack([own.X, own.U]))
        A = Phi.T @ M @ Phi + penalties[g] * np.eye(Phi.shape[1])
        solved = np.linalg.eigvalsh(A)[0] > 0
        w = np.linalg.solve(A, Phi.T @ v) if solved else np.full(len(A), np.nan)
        out.append(features(rows) @ w)
    return np.array(out).T


def whitened(centers, sigma):
    """Return features whose products are the Gaussian kernel, at rows in the span of centres."""
    gram = kernel_named("gaussian").gram
    spectrum, vectors = np.linalg.eigh(gram(centers, centers, sigma))
    kept = spectrum > 1e-13 * spectrum[-1]
    return lambda rows: gram(rows, centers, sigma) @ (vectors[:, kept] / np.sqrt(spectrum[kept]))


def problem_of(losses, lams, data, folds=None):
    """Return the problem of every loss with every lam."""
    models = [Model(lam, loss) for lam in lams for loss in losses]
    return Problem.of(models, data, folds)
