import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.data.labels import LabelMap


def test_given_labels_are_mapped():
    assert LabelMap((2,), (1, 3)).encode(np.array([1.0, 2, 3])).tolist() == [-1, 1, -1]
    assert LabelMap((4, "5")).encode(np.array([5.0, 9, 4])).tolist() == [1, -1, 1]
    assert LabelMap(("win",)).encode(np.array(["win", "draw", "loss"])).tolist() == [1, -1, -1]


def test_an_unknown_label_is_named():
    with pytest.raises(ValueError, match=r"unknown label 7 \(known: 1, -1\)"):
        LabelMap((1,), (-1,)).encode(np.array([1.0, 7]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_label_must_be_finite(bad):
    for labels in (LabelMap(None), LabelMap((1,))):
        with pytest.raises(ValueError, match="not a finite number"):
            labels.encode(np.array([1.0, bad]))


@given(st.lists(st.lists(st.sampled_from([-3.5, 2.0]), max_size=4), min_size=1, max_size=4))
def test_the_larger_of_two_labels_is_positive_in_whatever_blocks(blocks):
    labels = LabelMap(None)
    codes = np.concatenate([labels.encode(np.array(block)) for block in blocks])
    truth = np.concatenate([np.array(block) for block in blocks])
    if len(set(truth)) == 2:
        np.testing.assert_array_equal(
            labels.finish(codes.astype(np.int8)), np.where(truth == 2, 1, -1)
        )


def test_a_third_label_is_refused():
    labels = LabelMap(None)
    labels.encode(np.array([3.0, 1.0]))
    with pytest.raises(ValueError, match=r"2 is a third label after 3 and 1.*positive"):
        labels.encode(np.array([1.0, 2.0]))
