"""Targets, on labels as files have them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.data.targets import Binary

NUMBERS = np.array([1.0, 2, 3, 1])
TEXTS = np.array(["win", "draw", "1", "win"])


def applied(target, labels):
    return target.apply(labels, labels).tolist()


@pytest.mark.parametrize(
    ("target", "labels", "expected"),
    [
        (Binary((2,), (1, 3)), NUMBERS, [-1, 1, -1, -1]),
        (Binary((2,)), NUMBERS, [-1, 1, -1, -1]),
        (Binary((1, "3")), NUMBERS, [1, -1, 1, 1]),
        (Binary(("win",)), TEXTS, [1, -1, -1, 1]),
        (Binary((1, "draw")), TEXTS, [-1, 1, 1, -1]),
        (Binary(), np.array(["b", "a", "b"]), [1, -1, 1]),
    ],
)
def test_named_labels_are_positive(target, labels, expected):
    assert applied(target, labels) == expected
    assert target.apply(labels, labels).dtype == np.int8


@given(st.lists(st.sampled_from([-3.5, 2.0]), min_size=1), st.permutations([-3.5, 2.0]))
def test_the_larger_of_two_labels_is_positive(labels, training):
    labels = np.array([*labels, -3.5, 2])
    expected = [1 if label == 2 else -1 for label in labels]
    assert Binary().apply(labels, np.array(training)).tolist() == expected


@pytest.mark.parametrize(
    ("target", "labels", "text"),
    [
        (Binary((1,), (2,)), NUMBERS, r"row 3: unknown label 3 \(known: 1, 2\)"),
        (Binary(("win",), ("draw",)), TEXTS, r"row 3: unknown label 1 \(known: win, draw\)"),
        (Binary(), NUMBERS, "row 3: 3 is a third label after 1 and 2; say by `positive`"),
        (Binary((5,)), NUMBERS, r"all 4 labels are of one class \(-1; 5 is \+1, the rest -1\)"),
        (Binary((1, 2, 3)), NUMBERS, r"all 4 labels are of one class \(\+1; 1, 2 or 3 is"),
        (Binary(), np.ones(3), "all 3 labels are of one class .*; two are needed"),
        (Binary(("win", 1)), NUMBERS, "the labels are numbers; win or 1 is none"),
    ],
)
def test_labels_that_do_not_suit_are_named(target, labels, text):
    with pytest.raises(ValueError, match=text):
        applied(target, labels)


def test_the_training_labels_decide_what_is_known():
    with pytest.raises(ValueError, match="row 2: 7 is a third label after 2 and 1"):
        Binary().apply(np.array([1.0, 7]), np.array([2.0, 1]))


def test_words():
    assert Binary((2,), (1,)).words == "2 is +1, 1 -1"
    assert Binary((3, "yes")).words == "3 or yes is +1, the rest -1"
    assert Binary((0.1,)).words == "0.1 is +1, the rest -1"
    assert Binary().words == "the larger label is +1, the smaller -1"


def test_the_identity_knows_no_order_and_no_spelling():
    assert (
        Binary((1, 2)).identity() == Binary((2.0, "1")).identity() == ["binary", ["1", "2"], None]
    )
    different = [Binary(), Binary((1,)), Binary((1,), (2,)), Binary((2,), (1,)), Binary((1, 2))]
    assert len({str(target.identity()) for target in different}) == len(different)
