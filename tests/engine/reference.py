"""The method as papers' authors write it: the oracle of the engine.

One model at a time, float64, numpy: every iteration evaluates the whole batch on every earlier
block of frequencies and decays every coefficient.
"""

import numpy as np

from dsgkit.random import draw_in_passes, draw_with_replacement, normal_blocks


def features(X, seed, t, m, sigma):
    """phi_t(X) with the factor sqrt(1/m)."""
    W = normal_blocks(seed, t, 1, X.shape[1], m)[0].astype(float) * np.sqrt(2 * sigma)
    Z = X.astype(np.float64) @ W
    return np.concatenate([np.cos(Z), np.sin(Z)], axis=1) / np.sqrt(m)


def predict(X, alphas, seed, m, sigma):
    """Algorithm 2."""
    f = np.zeros(len(X))
    for t, alpha in enumerate(alphas):
        f += features(X, seed, t, m, sigma) @ alpha
    return f


def decreasing(lam, theta_lam, t0):
    """The step of iteration t, and what it leaves of earlier blocks."""
    return lambda t: (theta_lam / lam / (t + t0), 1 - theta_lam / (t + t0))


def algorithm_1(sources, XU, slopes, step, *, sigma, T, b, m, seed):
    """Coefficient vectors of all iterations, for labelled rows by source.

    ``slopes(t, *values)`` returns those of the tuples, ``step(t)`` the step and the decay.
    """
    alphas, k = [], len(sources)
    for t in range(T):
        drawn = [
            rows[draw_with_replacement(seed, source, t, 1, b, len(rows))[0]]
            for source, rows in enumerate(sources)
        ]
        batch = np.vstack([*drawn, XU[draw_in_passes(seed, k, t, 1, b, len(XU))[0]]])
        c = slopes(t + 1, *np.split(predict(batch, alphas, seed, m, sigma), k + 1))
        gradient = features(batch, seed, t, m, sigma).T @ np.hstack(c) / b
        eta, decay = step(t + 1)
        alphas = [decay * alpha for alpha in alphas] + [-eta * gradient]
    return alphas


def s2auc(X, positive, XU, *, step, gamma, **size):
    """Algorithm 1 of Shi et al. for one model, with any steps."""

    def slopes(t, fp, fn, fu):
        c_p = gamma * -2 * (1 - fp + fn) + (1 - gamma) * -2 * (1 - fp + fu)
        c_n = gamma * 2 * (1 - fp + fn) + (1 - gamma) * 2 * (1 - fu + fn)
        return c_p, c_n, (1 - gamma) * (2 * (1 - fp + fu) - 2 * (1 - fu + fn))

    return algorithm_1([X[positive], X[~positive]], XU, slopes, step, **size)


def unlabeled_slope(loss, r, s):
    """u'(r) of METHODS, section 4; sign(0) is 0 and H_a'(a) is 0."""
    sign = int(r > 0) - int(r < 0)
    if loss == "shg":
        return -sign if abs(r) < 1 else 0
    if loss == "sshg":
        return -sign * (1 - abs(r)) if abs(r) < 1 else 0
    if loss == "da":
        return -10 * r * np.exp(-5 * r * r)
    H = lambda a, z: -1 if z < a else 0  # noqa: E731
    return (H(1, r) - H(s, r)) - (H(1, -r) - H(s, -r))


def tsgs3vm(X, y, XU, *, C, C_star, loss, ramp_s, step, anneal=False, balance=False, **size):
    """Algorithm 1 of Geng et al. for one model, labelled rows drawn by class.

    The step is a number, or a function that returns the step of an iteration and the decay.
    """

    def slopes(t, *values):
        fp, fn, fu = values if not balance else np.add(values, y.mean() - values[2].mean())
        grown = min(1, 2 * t / size["T"]) ** 3 if anneal else 1
        c_p = C * np.mean(y > 0) * np.where(fp < 1, -1, 0)
        c_n = C * np.mean(y < 0) * np.where(-fn < 1, 1, 0)
        c_u = np.array([grown * C_star * unlabeled_slope(loss, f, ramp_s) for f in fu])
        if balance:
            c_u = c_u - (c_p.sum() + c_n.sum() + c_u.sum()) / len(fu)
        return c_p, c_n, c_u

    step_of = step if callable(step) else lambda t: (step, 1 - step)
    return algorithm_1([X[y > 0], X[y < 0]], XU, slopes, step_of, **size)


def swept(blocks, whole, U, *, T, n_sweeps, b, lam, seed, source, bound):
    """Coefficients of block-preconditioned training: one batch at a time, every value from all.

    A batch has all rows of ``whole`` and ``b`` drawn ones of ``U``. ``bound(step, f)`` returns, of
    the values of a batch, the derivatives and the matrix of the quadratic form above the risk.
    """
    of_whole, of_U = ([blocks.transform(X, t).astype(float) for t in range(T)] for X in (whole, U))
    alpha = np.zeros((T, blocks.width))
    for step in range(n_sweeps * T):
        s, t = divmod(step, T)
        drawn, rho = np.arange(len(U)), 1.0
        if b < len(U):
            drawn, rho = draw_in_passes(seed, source, step, 1, b, len(U))[0], 1 / (s + 1)
        Phi = [np.vstack([F, G[drawn]]) for F, G in zip(of_whole, of_U, strict=True)]
        c, W = bound(step, sum(F @ a for F, a in zip(Phi, alpha, strict=True)))
        H = Phi[t].T @ W @ Phi[t] + lam * T * np.eye(blocks.width)
        alpha[t] -= rho * np.linalg.solve(H, Phi[t].T @ c + lam * T * alpha[t])
    return alpha


def of_blocks(blocks, alpha, X):
    """Values of such coefficients."""
    return sum(blocks.transform(X, t).astype(float) @ a for t, a in enumerate(alpha))
