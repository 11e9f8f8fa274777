import numpy as np

from dsgkit.objectives.pnu_auc import PNUAUCObjective


def risk(f_p, f_n, f_u, gamma):
    """Mean over the batch's triplets, from the definition."""

    def loss(u, v):
        return (1 - u + v) ** 2

    return np.mean(
        gamma * loss(f_p, f_n) + (1 - gamma) * (loss(f_p, f_u) + loss(f_u, f_n) - 0.5), axis=0
    )


def test_coefficients_are_the_gradient_by_central_differences():
    rng = np.random.default_rng(0)
    gamma = np.array([0.0, 0.25, 1.0])
    values = [rng.normal(size=(6, 3)) for _ in range(3)]
    got = PNUAUCObjective(gamma).coefficients([v.astype(np.float32) for v in values])
    h = 1e-5
    for source in range(3):
        for i in range(6):
            up, down = [v.copy() for v in values], [v.copy() for v in values]
            up[source][i] += h
            down[source][i] -= h
            expected = (risk(*up, gamma) - risk(*down, gamma)) / (2 * h)
            np.testing.assert_allclose(got[source][i], expected, atol=1e-5)
