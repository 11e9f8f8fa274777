"""The registered datasets that are at hand, against counts taken from the files independently."""

import numpy as np
import pytest

from dsgkit.data import commands
from dsgkit.data.catalogue import get
from dsgkit.data.datasets import load_dataset
from dsgkit.data.find import find
from dsgkit.tasks.splits import semi_supervised_split
from tests.data.conftest import make_spec

# rows and features, negatives and positives of the training and the test part
COUNTS = {
    "codrna": ((59_535, 8), (39_690, 19_845), (181_078, 90_539)),
    "ijcnn1": ((49_990, 22), (45_137, 4_853), (82_989, 8_712)),
    "skin": ((245_057, 3), (194_198, 50_859), None),
    "dota2": ((92_650, 116), (43_868, 48_782), (4_792, 5_502)),
    "covtype_20k": ((20_000, 54), (13_978, 6_022), None),
    "susy_10k": ((10_000, 8), (5_372, 4_628), (544, 456)),
    "higgs_11k": ((10_984, 28), (5_163, 5_821), None),
    "higgs_7k": ((7_000, 28), (3_284, 3_716), (228, 272)),
}
RANGES = {
    "codrna": (-1868, 133),
    "ijcnn1": (-0.930435, 1),
    "skin": (0, 255),
    "dota2": (-1, 261),
    "covtype_20k": (-146, 7173),
    "higgs_7k": (-2.941, 13.098),
}


def counts(y):
    return None if y is None else (np.sum(y == -1), np.sum(y == 1))


@pytest.mark.parametrize("name", COUNTS)
def test_shapes_counts_and_ranges(real_data, name):
    info = get(name)
    if any(find(info, file) is None for file in info.files):
        pytest.skip(f"{name} is not in DSGKIT_DATA")
    dataset = load_dataset(make_spec(name=name))
    assert (dataset.X.shape, counts(dataset.y), counts(dataset.y_test)) == COUNTS[name]
    if name in RANGES:
        extremes = dataset.minimum.min(), dataset.maximum.max()
        np.testing.assert_allclose(extremes, RANGES[name], rtol=1e-6)
    assert all(check.ok is not False for check in commands.verify(name))
    split = semi_supervised_split(dataset, labeled=200, folds=5, seed=0)
    values = split.X_unlabeled[:]
    assert values.min() == 0 and values.max() <= 1 and values.max() > 0.999999
