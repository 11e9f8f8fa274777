import numpy as np
import pytest

from dsgkit.objectives.similar_unlabeled import CORRECTIONS, SimilarUnlabeledObjective, parts
from tests.solvers.similar.problems import risk, squared

DELTAS = ["abs", "relu", "leaky_relu", "leaky_relu", "none"]
LEAK = np.array([-0.5, -0.5, -0.5, -2.0, -0.5])
PRIOR = np.array([0.7, 0.7, 0.7, 0.3, 0.9])


def objective(loss="squared", prior=PRIOR):
    return SimilarUnlabeledObjective(prior, DELTAS, LEAK, loss)


def batch(seed, scale):
    """Values at 6 points of pairs and 9 unlabelled rows; large ones make r1 or r2 negative."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, 5)) * scale for n in (6, 9)]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_coefficients_are_the_gradient_by_central_differences(loss, scale):
    tested, h = objective(loss), 1e-6
    values = batch(1, scale)
    got = tested.coefficients([v.astype(np.float32) for v in values])
    for source, count in enumerate((6, 9)):
        for i in range(count):
            up, down = [v.copy() for v in values], [v.copy() for v in values]
            up[source][i] += h
            down[source][i] -= h
            expected = (tested.batch_loss(up) - tested.batch_loss(down)) / (2 * h)
            np.testing.assert_allclose(got[source][i], expected, rtol=1e-4, atol=1e-6)
    assert (tested.negative > 0).any() == (scale == 3)


def test_without_correction_it_is_the_unbiased_risk():
    S, U = batch(2, 1.0)
    got = objective().batch_loss([S, U])[-1]
    assert got == pytest.approx(risk(S[:, -1].reshape(3, 2), U[:, -1], 0.9, squared))


def test_the_parts_are_the_risks_of_the_classes():
    """With the mean losses that classes of given mean losses have."""
    prior, (pos_pos, neg_pos), (pos_neg, neg_neg) = 0.7, (0.3, 1.1), (0.9, 0.2)
    share = prior**2 + (1 - prior) ** 2
    mixed = lambda w, a, b: w * a + (1 - w) * b  # noqa: E731
    of_pairs = prior**2 / share
    got = parts(
        mixed(of_pairs, pos_pos, neg_pos),
        mixed(prior, pos_pos, neg_pos),
        mixed(prior, pos_neg, neg_neg),
        mixed(of_pairs, pos_neg, neg_neg),
        prior,
    )
    np.testing.assert_allclose(got, (prior * pos_pos, (1 - prior) * neg_neg))


def test_corrections_differ_below_0_only():
    expected = {"abs": [2, 0, 3], "relu": [0, 0, 3], "leaky_relu": [1, 0, 3], "none": [-2, 0, 3]}
    assert expected.keys() == CORRECTIONS.keys()
    for name, correction in CORRECTIONS.items():
        np.testing.assert_array_equal(correction.value(np.array([-2, 0, 3]), -0.5), expected[name])
        assert correction.slope(0.0, -0.5) == 1


@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_the_other_prior_is_the_other_sign(scale):
    values = batch(3, scale)
    mirrored = objective(prior=1 - PRIOR).batch_loss([-v for v in values])
    np.testing.assert_allclose(objective().batch_loss(values), mirrored, rtol=1e-12)


def test_models_taken_are_the_same_models_and_count_in_the_same_memory():
    values = [v.astype(np.float32) for v in batch(1, 3.0)]
    whole = objective()
    expected = whole.coefficients(values)
    counted = whole.negative.copy()
    some = whole.take(slice(1, 4)).coefficients([v[:, 1:4] for v in values])
    for got, all_models in zip(some, expected, strict=True):
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, all_models[:, 1:4])
    np.testing.assert_array_equal(whole.negative, counted * [1, 2, 2, 2, 1])
    r1, r2 = (np.array(r) for r in zip(*map(_parts_of, range(5)), strict=True))
    np.testing.assert_array_equal(counted, (r1 < 0) | (r2 < 0))


def _parts_of(model):
    S, U = (v[:, model] for v in batch(1, 3.0))
    means = [np.mean([squared(z, t) for z in f]) for f, t in ((S, 1), (U, 1), (U, -1), (S, -1))]
    return parts(*means, PRIOR[model])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_model_that_overflowed_has_no_derivative(bad):
    values = [v.astype(np.float32) for v in batch(4, 1.0)]
    expected = objective().coefficients(values)
    values[0][2, 1] = bad
    with np.errstate(all="ignore"):
        got = objective().coefficients(values)
    assert not all(np.isfinite(c[:, 1]).all() for c in got)
    for c, e in zip(got, expected, strict=True):
        np.testing.assert_array_equal(np.delete(c, 1, axis=1), np.delete(e, 1, axis=1))
