"""Targets, on labels as files have them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.data.targets import Target

NUMBERS = np.array([1.0, 2, 3, 1])
TEXTS = np.array(["win", "draw", "1", "win"])


MADE = [
    (Target("binary", (2,), (1, 3)), NUMBERS, [-1, 1, -1, -1]),
    (Target("binary", (2,)), NUMBERS, [-1, 1, -1, -1]),
    (Target("binary", (1, "3")), NUMBERS, [1, -1, 1, 1]),
    (Target("binary", ("win",)), TEXTS, [1, -1, -1, 1]),
    (Target("binary", (1, "draw")), TEXTS, [-1, 1, 1, -1]),
    (Target(), np.array(["b", "a", "b"]), [1, -1, 1]),
    (Target("ordered"), np.array([5.0, -1, 2, 5]), [3, 1, 2, 3]),
    (Target("ordered", labels=(5, -1, 2, 8)), np.array([5.0, -1, 2, 5]), [1, 2, 3, 1]),
    (Target("ordered", labels=("low", "mid", "high")), np.array(["mid", "high", "low"]), [2, 3, 1]),
    (Target("ordered", labels=(2, 1)), np.array(["1", "2"]), [2, 1]),
    (Target("ordered", bins=2), np.array([4.0, 1, 3, 2]), [2, 1, 2, 1]),
    (Target("ordered", bins=3), np.array([1.0, 1, 1, 1, 2]), [1, 1, 1, 1, 2]),
    (Target("ordered", bins=5), np.array([1.0, 2, 2, 2, 2]), [1, 2, 2, 2, 2]),
    (Target("classes"), NUMBERS, [1, 2, 3, 1]),
    (Target("classes"), TEXTS, [3, 2, 1, 3]),
    (Target("classes", labels=(1, 2, 3, 9)), NUMBERS, [1, 2, 3, 1]),
    (Target("classes"), np.zeros(3), [1, 1, 1]),
    (Target("numeric"), np.array([2.5, -1, 1e6]), [2.5, -1, 1e6]),
]  # fmt: skip
DTYPES = {"binary": np.int8, "ordered": np.int16, "classes": np.int16, "numeric": np.float64}


@pytest.mark.parametrize(("target", "labels", "expected"), MADE)
def test_what_a_target_makes_of_labels(target, labels, expected):
    found = target.apply(labels, labels)
    assert found.tolist() == expected and found.dtype == DTYPES[target.kind]


@given(st.lists(st.sampled_from([-3.5, 2.0]), min_size=1), st.permutations([-3.5, 2.0]))
def test_the_larger_of_two_labels_is_positive(labels, training):
    labels = np.array([*labels, -3.5, 2])
    expected = [1 if label == 2 else -1 for label in labels]
    assert Target().apply(labels, np.array(training)).tolist() == expected


numbers = st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=40)


@given(labels=numbers.filter(lambda x: len(set(x)) > 1), count=st.integers(2, 12))
def test_bins_end_at_quantiles(labels, count):
    # by the definition: q_j is the least label that at least j / count of the rows do not exceed
    quantiles = {
        min(q for q in labels if sum(x <= q for x in labels) * count >= j * len(labels))
        for j in range(1, count + 1)
    }
    training = np.array(labels)
    if len(quantiles) == 1:
        with pytest.raises(ValueError, match="one quantile of the labels alone"):
            Target("ordered", bins=count).apply(training, training)
        return
    y = Target("ordered", bins=count).apply(training, training)
    assert y.tolist() == [sum(q < x for q in quantiles) + 1 for x in labels]
    assert set(y.tolist()) == set(range(1, len(quantiles) + 1))


@given(st.lists(st.integers(), min_size=2, max_size=50, unique=True), st.integers(2, 9))
def test_bins_of_different_labels_differ_by_one_row(labels, count):
    training = np.array(labels, float)
    if len(set(training)) < len(labels):  # integers that are the same float
        return
    counts = np.bincount(Target("ordered", bins=count).apply(training, training))[1:]
    assert counts.max() - counts.min() <= 1
    assert len(counts) == min(count, len(labels))


def test_bins_hold_labels_beyond_those_of_training():
    training = np.array([1.0, 2, 3, 4])
    assert Target("ordered", bins=2).apply(np.array([-9.0, 2, 2.5, 99]), training).tolist() == [
        1,
        1,
        2,
        2,
    ]


REFUSED = [
    (Target("binary", (1,), (2,)), NUMBERS, NUMBERS, r"row 3: label 3 is unknown \(known: 1, 2\)"),
    (Target("binary", ("win",), ("draw",)), TEXTS, TEXTS,
     r"row 3: label 1 is unknown \(known: win, draw\)"),
    (Target(), NUMBERS, NUMBERS,
     "row 3: label 3 is a third label after 1 and 2; say by `positive`"),
    (Target("binary", (5,)), NUMBERS, NUMBERS,
     "the labels 1, 2, 3; no row has 5, which `positive` names"),
    (Target("binary", (1, 2, 3)), NUMBERS, NUMBERS,
     "the labels 1, 2, 3; every row has 1 or 2 or 3, which `pos"),
    (Target(), [1, 1], [1, 1], "the rows have the labels 1: two classes are needed"),
    (Target("binary", ("win", 1)), NUMBERS, NUMBERS, "the labels are numbers; win or 1 is not"),
    (Target(), [1, 7], [2, 1], "row 2: label 7 is a third label after 2 and 1"),
    (Target("ordered"), [1, 9], [1, 2],
     r"row 2: label 9 is not in the training rows \(known: 1, 2\)"),
    (Target("ordered", labels=(1, 2)), [1, 2], [1, 7], "row 2: label 7 is not in the order 1, 2"),
    (Target("ordered", labels=("a", "b")), ["a"], ["b", "c"],
     "row 2: label c is not in the order a, b"),
    (Target("ordered"), ["a"], ["a", "b"], "the labels are text, such as a; set their order by"),
    (Target("ordered"), [1, 1], [1, 1], "have one label alone; ordered classes need two"),
    (Target("ordered", labels=(1, 2)), [1, 1], [1, 1],
     "have one label alone; ordered classes need two"),
    (Target("ordered"), range(40_000), range(40_000), "40,000 different labels are too many"),
    (Target("ordered", bins=3), [5, 5], [5, 5],
     "one quantile of the labels alone; ordered classes need two"),
    (Target("ordered", bins=3), ["a"], ["a", "b"],
     "bins need numbers as labels, not text such as a"),
    (Target("classes"), [1, 4], [1, 2], "row 2: label 4 is not in the training rows"),
    (Target("classes", labels=(1, 2)), NUMBERS, NUMBERS, "label 3 is not one of 1, 2"),
    (Target("numeric"), TEXTS, TEXTS, "needs numbers, not text such as win"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "labels", "training", "text"), REFUSED)
def test_labels_that_do_not_suit_are_named(target, labels, training, text):
    kind = None if isinstance(training[0], str) else float
    with pytest.raises(ValueError, match=text):
        target.apply(np.array(labels, kind), np.array(training, kind))


TOLD = [
    (Target(), TEXTS, "positive class: the larger label"),
    (Target("binary", (3, "yes")), TEXTS, "positive classes: 3, yes; negative: the rest"),
    (Target("ordered"), NUMBERS, "3 ordered classes: 1 (2 rows), 2 (1), 3 (1)"),
    (Target("ordered", labels=("win", 1, "lost", "draw")), TEXTS,
     "3 ordered classes: win (2 rows), 1 (1), draw (1); no row has lost"),
    (Target("ordered", bins=5), np.repeat([0.5, 2, 1234.5], 1000),
     "3 bins of equal frequency (5 asked for, equal ones merged): "
     "up to 0.5 (1,000 rows), up to 2 (1,000), above 2 (1,000)"),
    (Target("classes"), NUMBERS, "3 classes for judging only: 1 (2 rows), 2 (1), 3 (1)"),
    (Target("numeric"), np.array([1.0, 2, 6]), "numbers from 1 to 6, mean 3"),
]  # fmt: skip


def test_targets_are_told_and_told_apart():
    assert [target.describe(labels) for target, labels, _ in TOLD] == [told for *_, told in TOLD]
    same = Target("binary", (1, 2)).identity() == Target("binary", (2.0, "1")).identity()
    same &= (
        Target("classes", labels=(2, 1)).identity()
        == Target("classes", labels=(1, 2.0)).identity()
        != Target("classes").identity()
    )
    assert same and Target("binary", (1, 2)).identity() == ["binary", ["1", "2"], None]
    different = [Target("binary", *labels) for labels in ((), ((1,),), ((1,), (2,)), ((2,), (1,)))]
    different += [Target("binary", (1, 2)), Target("ordered")]
    different += [Target("ordered", labels=labels) for labels in ((1, 2), (2, 1))]
    different += [Target("ordered", bins=bins) for bins in (2, 3)]
    assert len({str(target.identity()) for target in different}) == len(different)


def test_targets_that_only_the_catalogue_writes():
    """Those of configs, too, are in tests/config/test_load.py."""
    written = [
        ({"positive": [1], "negative": [2]}, Target("binary", (1,), (2,))),
        ({"numeric": True}, Target("numeric")),
    ]
    assert [Target.of(keys) for keys, _ in written] == [target for _, target in written]
    for wrong in ({"bins": 5, "positive": [1]}, {"ordered": 3}, {"bin": 5}):
        with pytest.raises(TypeError):
            Target.of(wrong)
