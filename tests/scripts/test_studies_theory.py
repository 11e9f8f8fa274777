"""Studies of what the papers prove: their numbers against others' computations of the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner


def test_errors_of_random_features_and_of_data_are_those_of_a_plain_loop(script):
    """With many frequencies f is h, which a loop over triplets with an exact kernel gives too."""
    scope = script("study_errors")
    scope["main"].callback.__globals__.update(N_LABELED=20, N_UNLABELED=40, BATCH=8, LAM=2.0)
    X, y = scope["synthetic_rows"](60, 3, 0)
    exact = scope["minimiser"](X, y)
    lengths = [4, 16]

    def errors(n_frequencies):
        scope["main"].callback.__globals__.update(N_FREQUENCIES=n_frequencies)
        problem = scope["problem_of"](X, y, 1.5, lengths[-1], 0)
        return problem, *scope["errors_of"](problem, exact, lengths)

    _, few, _ = errors(16)
    problem, many, data = errors(8192)
    assert (many < few / 100).all()

    K = np.exp(-((X[:, None].astype(float) - X) ** 2).sum(axis=2))
    p, n, u = scope["row_numbers"](problem)
    beta = np.zeros(60)
    for t in range(1, 17):
        h = K @ beta
        beta *= 1 - 1.5 / t
        for i, j, k in zip(p[t - 1], n[t - 1], u[t - 1], strict=True):
            pn, pu, un = (1 - h[a] + h[b] for a, b in ((i, j), (i, k), (k, j)))
            step = 1.5 / 2 / t * 2 / 8
            beta[i] += step * (pn + pu) / 2
            beta[j] -= step * (pn + un) / 2
            beta[k] += step * (un - pu) / 2
        if t in lengths:
            off = beta - exact
            expected = off @ K @ off / (exact @ K @ exact)
            assert data[lengths.index(t)] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("rate", "code"), [(-1.0, 0), (-1.25, 0), (-0.6, 1), (np.nan, 1)])
def test_both_rates_of_error_are_judged(script, tmp_path, rate, code):
    main = script("study_errors")["main"]
    main.callback.__globals__.update(
        minimiser=lambda X, y: None,
        errors_of=lambda problem, exact, at: (1.0 / np.array(at), np.array(at, float) ** rate),
    )
    file = tmp_path / "errors.json"
    result = CliRunner().invoke(main, ["--seeds", "2", "--json", str(file)])
    assert result.exit_code == code, result.output
    assert ("missed: slope not within 0.3 of -1: ||h_t" in result.output) == bool(code)
    numbers = json.loads(file.read_text())["numbers"]
    assert np.shape(numbers["data_errors"]) == np.shape(numbers["feature_errors"]) == (2, 9)
    assert numbers["slopes"]["feature_errors"] == pytest.approx(-1)


def test_a_short_study_of_the_errors_on_ordered_classes_runs(script):
    main = script("study_errors")["main"]
    result = CliRunner().invoke(main, ["--seeds", "1", "--most", "128", "--ordinal"])
    assert result.exit_code in (0, 1), result.output
    assert "slope of ||h_t - f*||^2 / ||f*||^2 from t = 64 on: -" in result.output
