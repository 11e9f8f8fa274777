"""Targets, on labels as files have them; targets.txt has the answers to labels of every kind."""

from dataclasses import replace

import numpy as np
import pytest

from dsgkit.data.targets import Target
from tests.data.conftest import check_answers, make_dataset


def identity(target):
    return replace(make_dataset([[1]], [1]), target=target).identity[1:]


def answer(settings, labels, training=None):
    """Return what a target makes of labels, with its description and identity; or the error."""
    target = Target.of(settings) if settings else Target()
    labels, training = np.array(labels), np.array(labels if training is None else training)
    try:
        y = target.apply(labels, training)
    except ValueError as error:
        return str(error)
    told = target.words if target.kind == "binary" else target.describe(training, y)
    return f"{y.dtype} {y.tolist()}; {told}; {identity(target)}"


def test_what_targets_make_of_labels():
    check_answers("targets.txt", answer)


def test_targets_are_told_apart():
    different = [Target("binary", *labels) for labels in ((), ((1,),), ((1,), (2,)), ((2,), (1,)))]
    different += [Target("binary", (1, 2)), Target("ordered"), Target("numeric"), Target("classes")]
    different += [Target("ordered", labels=labels) for labels in ((1, 2), (2, 1))]
    different += [Target("ordered", bins=bins) for bins in (2, 3)]
    assert len({str(identity(target)) for target in different}) == len(different)
    assert len({target.words for target in different}) == len(different)
    assert identity(Target("classes", labels=(2, 1))) == identity(
        Target("classes", labels=("1", 2))
    )
    with pytest.raises(ValueError, match="40,000 different labels are too many for classes; cut"):
        Target("ordered").apply(np.arange(4e4), np.arange(4e4))
    for wrong in ({"ordered": 3}, {"bin": 5}):
        with pytest.raises(TypeError):
            Target.of(wrong)
