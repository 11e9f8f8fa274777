"""Targets, on labels as files have them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.data.targets import Target
from tests.data.conftest import make_dataset

NUMBERS = np.array([1.0, 2, 3, 1])
TEXTS = np.array(["win", "draw", "1", "win"])
WORDS = np.array(["mid", "high", "low"])

MADE = [
    (Target("binary", (2,), (1, 3)), NUMBERS, [-1, 1, -1, -1]),
    (Target("binary", (1, "3")), NUMBERS, [1, -1, 1, 1]),
    (Target("binary", ("win",)), TEXTS, [1, -1, -1, 1]),
    (Target("binary", (1, "draw")), TEXTS, [-1, 1, 1, -1]),
    (Target(), np.array(["b", "a", "b"]), [1, -1, 1]),
    (Target(), np.array([2.0, -3.5, 2]), [1, -1, 1]),
    (Target("ordered"), np.array([5.0, -1, 2, 5]), [3, 1, 2, 3]),
    (Target("ordered", labels=(5, -1, 2, 8)), np.array([5.0, -1, 2, 5]), [1, 2, 3, 1]),
    (Target("ordered", labels=("low", "mid", "high")), WORDS, [2, 3, 1]),
    (Target("ordered", labels=(2, 1)), np.array(["1", "2"]), [2, 1]),
    (Target("ordered", bins=5), np.array([1.0, 2, 2, 2, 2]), [1, 2, 2, 2, 2]),
    (Target("classes"), TEXTS, [3, 2, 1, 3]),
    (Target("classes", labels=(1, 2, 3, 9)), NUMBERS, [1, 2, 3, 1]),
    (Target("classes"), np.zeros(3), [1, 1, 1]),
    (Target("numeric"), np.array([2.5, -1, 1e6]), [2.5, -1, 1e6]),
]
DTYPES = {"binary": np.int8, "ordered": np.int16, "classes": np.int16, "numeric": np.float64}


@pytest.mark.parametrize(("target", "labels", "expected"), MADE)
def test_what_a_target_makes_of_labels(target, labels, expected):
    found = target.apply(labels, labels)
    assert found.tolist() == expected and found.dtype == DTYPES[target.kind]


numbers = st.lists(st.integers(-4, 4).map(float), min_size=2, max_size=40)


@given(labels=numbers.filter(lambda x: len(set(x)) > 1), count=st.integers(2, 12))
def test_bins_end_at_quantiles(labels, count):
    # by the definition: q_j is the least label that at least j / count of the rows do not exceed
    quantiles = {
        min(q for q in labels if sum(x <= q for x in labels) * count >= j * len(labels))
        for j in range(1, count + 1)
    }
    training, target = np.array(labels), Target("ordered", bins=count)
    if len(quantiles) == 1:
        with pytest.raises(ValueError, match="one class alone"):
            target.apply(training, training)
        return
    tested = np.array([*labels, -9, 99])  # beyond those of training: in the first and last
    y = target.apply(tested, training).tolist()
    *below, _ = sorted(quantiles)
    assert y == [sum(q < x for q in below) + 1 for x in tested]
    assert set(y) == set(range(1, len(quantiles) + 1))


REFUSED = [
    (Target("binary", (1,), (2,)), NUMBERS, NUMBERS, "row 3: label 3 is neither a positive nor"),
    (Target(), NUMBERS, NUMBERS, "row 2: label 2 is a third label after 1 and 3; say by `pos"),
    (Target(), [1, 7], [2, 1], "row 2: label 7 is a third label after 1 and 2"),
    (Target(), [1, 0], [1, 0, -1, 0], "if 0 means no label: `label: {unlabeled: 0}`"),
    (Target("binary", (5,)), NUMBERS, NUMBERS, "no row is of the pos.* the labels are 1, 2, 3"),
    (Target("binary", (1, 2, 3)), NUMBERS, NUMBERS, "every row is of the positive class"),
    (Target(), [1, 1], [1, 1], "every row is of the positive class; the labels are 1$"),
    (Target("binary", ("win", 1)), NUMBERS, NUMBERS, "the labels are numbers; win, 1 is not"),
    (Target("ordered"), [1, 9], [1, 2], "row 2: label 9 is not in the training rows"),
    (Target("ordered", labels=(1, 2)), [1, 2], [1, 7], "row 2: label 7 is not one of 1, 2"),
    (Target("ordered", labels=("a", "b")), ["a"], ["b", "c"], "label c is not one of a, b"),
    (Target("ordered"), ["a"], ["a", "b"], "the labels are text, such as a; set their order by"),
    (Target("ordered"), [1, 1], [1, 1], "one class alone; ordered classes need two"),
    (Target("ordered"), range(40_000), range(40_000), "40,000 different labels are too many"),
    (Target("ordered", bins=3), ["a"], ["a", "b"], "needs numbers as labels, not text such as a"),
    (Target("classes"), [1, 4], [1, 2], "row 2: label 4 is not in the training rows"),
    (Target("numeric"), TEXTS, TEXTS, "needs numbers as labels, not text such as win"),
]


@pytest.mark.parametrize(("target", "labels", "training", "text"), REFUSED)
def test_labels_that_do_not_suit_are_named(target, labels, training, text):
    kind = None if isinstance(training[0], str) else float
    with pytest.raises(ValueError, match=text):
        target.apply(np.array(labels, kind), np.array(training, kind))


TOLD = [
    (Target("ordered"), NUMBERS, "3 ordered classes: 1 (2 rows), 2 (1), 3 (1)"),
    (Target("ordered", labels=("win", 1, "lost", "draw")), TEXTS,
     "3 ordered classes: win (2 rows), 1 (1), draw (1)"),
    (Target("ordered", bins=5), np.repeat([0.5, 2, 1234.5], 1000),
     "3 bins of equal frequency (5 asked for, equal ones merged): "
     "up to 0.5 (1,000 rows), up to 2 (1,000), above 2 (1,000)"),
    (Target("classes"), NUMBERS, "3 classes for judging only: 1 (2 rows), 2 (1), 3 (1)"),
    (Target("numeric"), np.array([1.0, 2, 6]), "numbers from 1 to 6, mean 3"),
]  # fmt: skip


def identity(target):
    return replace(make_dataset([[1]], [1]), target=target).identity[1:]


def test_targets_are_told_and_told_apart():
    for target, labels, told in TOLD:
        assert target.describe(labels, target.apply(labels, labels)) == told
    assert Target("binary", (3, "yes")).words == "positive classes: 3, yes; negative: the rest"
    assert identity(Target("binary", (2.0, "1"))) == ["binary", ["1", "2"], None]
    assert identity(Target("classes", labels=(2, 1))) == ["classes", ["1", "2"]]
    different = [Target("binary", *labels) for labels in ((), ((1,),), ((1,), (2,)), ((2,), (1,)))]
    different += [Target("binary", (1, 2)), Target("ordered"), Target("numeric"), Target("classes")]
    different += [Target("ordered", labels=labels) for labels in ((1, 2), (2, 1))]
    different += [Target("ordered", bins=bins) for bins in (2, 3)]
    assert len({str(identity(target)) for target in different}) == len(different)
    assert len({target.words for target in different}) == len(different)


def test_targets_that_only_the_catalogue_writes():
    """Those of configs, too, are in tests/config/test_load.py."""
    assert Target.of({"positive": [1], "negative": [2]}) == Target("binary", (1,), (2,))
    assert Target.of({"numeric": True}) == Target("numeric")
    for wrong in ({"ordered": 3}, {"bin": 5}):
        with pytest.raises(TypeError):
            Target.of(wrong)
