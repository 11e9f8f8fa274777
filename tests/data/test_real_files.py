"""The registered datasets that are at hand, against counts taken from the files independently."""

from unittest import mock

import numpy as np
import pytest

from dsgkit.data import commands
from dsgkit.data.datasets import load_dataset
from dsgkit.data.rows import Rows
from dsgkit.data.spec import DatasetSpec
from dsgkit.published import bsgd_svc
from dsgkit.tasks.semi_supervised import semi_supervised_split
from tests.data.conftest import opened

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
    "poker": ((25_010, 10), (12_517, 12_493), None),
    "poker_cards": ((25_010, 85), (12_517, 12_493), None),
    "connect4": ((67_557, 126), (23_084, 44_473), None),
    "shuttle": ((43_500, 9), (9_392, 34_108), (3_022, 11_478)),
    "letter": ((20_000, 16), (19_211, 789), None),
    "usps": ((7_291, 256), (6_097, 1_194), (1_648, 359)),
}
# rows with each label, of the training and the test part, where more than two labels count
LABELS = {
    "covtype_20k": ([2_942, 6_022, 2_160, 2_160, 2_396, 2_160, 2_160], None),
    "poker": ([12_493, 10_599, 1_206, 513, 93, 54, 36, 6, 5, 5], None),
    "connect4": ([6_449, 16_635, 44_473], None),
    "shuttle": ([34_108, 37, 132, 6_748, 2_458, 6, 11], [11_478, 13, 39, 2_155, 809, 4, 2]),
    "letter": (
        [
            *(789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792),
            *(783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734),
        ],
        None,
    ),
    "usps": (
        [1_194, 1_005, 731, 658, 652, 556, 664, 645, 542, 644],
        [359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
    ),
    "mnist": (
        [5_923, 6_742, 5_958, 6_131, 5_842, 5_421, 5_918, 6_265, 5_851, 5_949],
        [980, 1_135, 1_032, 1_010, 982, 892, 958, 1_028, 974, 1_009],
    ),
}
# one label against the rest
CHOSEN = {
    "codrna": 1,
    "ijcnn1": -1,
    "skin": 2,
    "covtype_20k": 2,
    "poker": 1,
    "connect4": "draw",
    "shuttle": 4,
    "letter": "B",
    "usps": 7,
}
# rows and features, and rows of each class
CLASSES = {
    "sgemm": ((241_600, 14), (48_322, 48_318, 48_320, 48_321, 48_319)),
    "3droad_5k": ((5_000, 2), (1_000,) * 5),
    "abalone": ((4_177, 10), (839, 1_257, 634, 754, 693)),
    "esl": ((488, 4), (2, 12, 38, 100, 116, 135, 62, 19, 4)),
    "swd": ((1_000, 10), (32, 352, 399, 217)),
    "lev": ((1_000, 4), (93, 280, 403, 197, 27)),
    "era": ((1_000, 4), (92, 142, 181, 172, 158, 118, 88, 31, 18)),
}
SGEMM_FORMS = ("sgemm_product_dataset.zip", "sgemm_product.csv.xz")
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


def check_labels(name, dataset):
    for labels, expected in zip((dataset.labels, dataset.labels_test), LABELS[name], strict=True):
        found = None if labels is None else np.unique(labels, return_counts=True)[1].tolist()
        assert found == expected


def check_chosen(name):
    dataset, label = opened(name, target={"positive": [CHOSEN[name]]}), CHOSEN[name]
    for y, labels in ((dataset.y, dataset.labels), (dataset.y_test, dataset.labels_test)):
        if y is not None:
            np.testing.assert_array_equal(y, np.where(labels == label, 1, -1))


@pytest.mark.parametrize("name", COUNTS)
def test_shapes_counts_and_ranges(real_data, name):
    dataset = opened(name)
    assert (dataset.X.shape, counts(dataset.y), counts(dataset.y_test)) == COUNTS[name]
    if name in LABELS:
        check_labels(name, dataset)
    if name in CHOSEN:
        check_chosen(name)
    if name in RANGES:
        extremes = dataset.minimum.min(), dataset.maximum.max()
        np.testing.assert_allclose(extremes, RANGES[name], rtol=1e-6)
    assert all(check.ok is not False for check in commands.verify(name))
    split = semi_supervised_split(dataset, labeled=200, folds=5, seed=0)
    values = split.X_unlabeled[:]
    assert values.min() == 0 and values.max() <= 1 and values.max() > 0.999999


def test_the_images_of_mnist(real_data):
    dataset = opened("mnist")
    assert dataset.X.shape == (60_000, 784) and dataset.X_test.shape == (10_000, 784)
    check_labels("mnist", dataset)
    assert (dataset.minimum.min(), dataset.maximum.max()) == (0, 255)
    # everybody normalises by a mean of .1307 and a standard deviation of .3081
    assert dataset.mean_square / 784 / 255**2 == pytest.approx(0.1307**2 + 0.3081**2, abs=1e-4)


@pytest.mark.parametrize("name", CLASSES)
def test_ordered_classes(real_data, name):
    dataset = opened(name)
    assert (dataset.X.shape, tuple(np.bincount(dataset.y)[1:])) == CLASSES[name]
    assert all(check.ok is not False for check in commands.verify(name))
    offset, factor = dataset.common_scaling()
    squares = np.square(Rows(dataset.X, None, offset, factor)[:], dtype=float)
    assert np.mean(squares.sum(axis=1)) == pytest.approx(1, rel=1e-5)


def test_both_forms_of_sgemm_hold_the_same(real_data, tmp_path, monkeypatch):
    shapes = set()
    for form in SGEMM_FORMS:
        if not (real_data / "sgemm" / form).exists():
            pytest.skip(f"{form} is not in DSGKIT_DATA")
        (tmp_path / form / "sgemm").mkdir(parents=True)
        (tmp_path / form / "sgemm" / form).symlink_to(real_data / "sgemm" / form)
        monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / form))
        dataset = opened("sgemm")
        shapes.add((dataset.content_hash, dataset.labels.min(), dataset.labels.max()))
    ((_, low, high),) = shapes
    assert (low, high) == pytest.approx((13.3175, 3341.5075), rel=1e-12)


def test_the_columns_of_abalone_are_those_of_the_file(real_data):
    dataset = opened("abalone")
    assert dataset.X[:, :3].sum(axis=0).tolist() == [1_307, 1_342, 1_528]  # F, I, M
    np.testing.assert_array_equal(dataset.X[0, :5], np.float32([0, 0, 1, 0.455, 0.365]))
    assert np.bincount(dataset.labels.astype(int))[[1, 9, 29]].tolist() == [1, 689, 1]


@pytest.mark.parametrize(
    "form", ["reviews_Musical_Instruments_5.json.xz", "Musical_instruments_reviews.csv.xz"]
)
def test_both_forms_of_reviews_hold_the_same(real_data, form):
    path = real_data / "amazon_musical_instruments_5" / form
    if not path.exists():
        pytest.skip(f"{form} is not in DSGKIT_DATA")
    spec = DatasetSpec(path=str(path), loader="reviews", components=5)
    dataset = load_dataset(spec)
    assert np.bincount(dataset.y)[1:].tolist() == [217, 250, 772, 2_084, 6_938]
    assert np.count_nonzero(~dataset.X.any(axis=1)) == 7
    assert "5 components of TF-IDF over 20,551 terms" in dataset.describe()["features"]


@pytest.mark.parametrize("name", bsgd_svc.datasets())
def test_the_datasets_of_the_clustering_paper(real_data, name):
    known = bsgd_svc.datasets()[name]
    dataset = opened(name, target={"classes": True})
    n_features = 166 if name == "musk" else known.n_features
    assert dataset.X.shape == (known.n_rows, n_features)
    assert sorted(np.bincount(dataset.y)[1:]) == sorted(known.class_sizes)
    distinct = {"car": 1_728, "breast_cancer_wisconsin": 457}
    assert len(np.unique(dataset.X, axis=0)) == distinct.get(name, mock.ANY)
