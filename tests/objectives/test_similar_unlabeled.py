import numpy as np

from dsgkit.objectives.similar_unlabeled import CORRECTIONS, SimilarUnlabeledObjective, parts
from tests.solvers.similar import problems

PRIOR = np.array([0.7, 0.7, 0.7, 0.3, 0.9])


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


def test_batches_below_0_are_counted_in_the_memory_of_all_models():
    rng = np.random.default_rng(1)
    values = [3 * rng.normal(size=(n, 5)).astype(np.float32) for n in (6, 9)]
    whole = SimilarUnlabeledObjective(PRIOR, ["abs"] * 5, np.zeros(5), "squared")
    whole.coefficients(values)
    counted = whole.negative.copy()
    whole.take(slice(1, 4)).coefficients([v[:, 1:4] for v in values])
    np.testing.assert_array_equal(whole.negative, counted * [1, 2, 2, 2, 1])
    r1, r2 = np.transpose(
        [problems.parts(*(v[:, k] for v in values), PRIOR[k], problems.squared) for k in range(5)]
    )
    np.testing.assert_array_equal(counted, (r1 < 0) | (r2 < 0))


def test_the_other_prior_is_the_other_sign():
    rng = np.random.default_rng(3)
    values = [3 * rng.normal(size=(n, 5)) for n in (6, 9)]
    settings = ["abs", "relu", "leaky_relu", "leaky_relu", "none"], np.array([-0.5] * 5), "squared"
    mirrored = SimilarUnlabeledObjective(1 - PRIOR, *settings).batch_loss([-v for v in values])
    found = SimilarUnlabeledObjective(PRIOR, *settings).batch_loss(values)
    np.testing.assert_allclose(found, mirrored, rtol=1e-12)
    S, U = (v[:, -1] for v in values)
    unbiased = problems.risk(S.reshape(3, 2), U, PRIOR[-1], problems.squared)
    np.testing.assert_allclose(found[-1], unbiased)
