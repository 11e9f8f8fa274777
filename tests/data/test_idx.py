"""IDX files written by hand, in every container, and what is wrong with others."""

import gzip
import struct

import numpy as np
import pytest

from dsgkit.data import idx
from dsgkit.data.catalogue import DataFile, DatasetInfo
from dsgkit.data.datasets import open_dataset
from dsgkit.data.find import FoundFile
from dsgkit.data.targets import Target
from dsgkit.errors import DataError
from tests.data.conftest import COMPRESS

IMAGES = (np.arange(5 * 2 * 3) * 8 % 256).astype(np.uint8).reshape(5, 2, 3)
LABELS = np.array([3, 0, 7, 3, 9], np.uint8)


def idx_bytes(array, sizes=None):
    sizes = array.shape if sizes is None else sizes
    header = struct.pack(f">BBBB{len(sizes)}I", 0, 0, 8, len(sizes), *sizes)
    return header + array.tobytes()


def made_file(tmp_path, name, content, **known):
    path = tmp_path / name
    path.write_bytes(content)
    return FoundFile(DataFile(str(path), **known), path)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_images_become_rows(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(idx, "BLOCK_BYTES", 13)  # two images, and a part of a third
    files = []
    for part, count in (("train", 5), ("test", 2)):
        for name, array in ((part, IMAGES), (f"{part}_labels", LABELS)):
            content = COMPRESS[suffix](idx_bytes(array[:count]))
            source = made_file(tmp_path, name + suffix, content, part=name, n_rows=count)
            files.append(source.file)
    info = DatasetInfo(
        *("made", "Made", "idx", tuple(files), Target("binary", (3,))), n_features=6, local=True
    )
    dataset = open_dataset(info)
    assert dataset.X.dtype == np.float32
    np.testing.assert_array_equal(dataset.X, IMAGES.reshape(5, 6))
    np.testing.assert_array_equal(dataset.X_test, IMAGES[:2].reshape(2, 6))
    assert dataset.labels.tolist() == LABELS.tolist()
    assert dataset.y.tolist() == [1, -1, -1, 1, -1] and dataset.y_test.tolist() == [1, -1]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", r"not an IDX file of unsigned bytes \(it begins with , not"),
        (b"\x00\x00\x0d\x03" + bytes(12), "begins with 00 00 0d 03, not with 00 00 08"),
        (b"3,4,5,6\n", "begins with 33 2c 34 2c"),
        (idx_bytes(IMAGES)[:10], "the file ends within its header"),
        (idx_bytes(IMAGES)[:-7], "the file ends within item 4 of the 5 that its header says"),
        (idx_bytes(IMAGES) + b"\0", "the file continues after the 5 items of its header"),
        (idx_bytes(LABELS), "its header says 5, but not items of 6 values each"),
        (idx_bytes(IMAGES, (5, 3, 3)), "its header says 5 x 3 x 3, but not items of 6 values"),
        (idx_bytes(IMAGES[:0]), "the file holds no rows"),
        (idx_bytes(IMAGES[:4]), "4 rows, but 5 are expected"),
        (idx_bytes(IMAGES), "the sha256 of the uncompressed content is"),
        (gzip.compress(idx_bytes(IMAGES), mtime=0)[:-9], "cannot be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # the bytes say nothing
)
def test_what_is_wrong_is_said_with_the_file(tmp_path, content, text):
    suffix = ".gz" if content[:2] == b"\x1f\x8b" else ""
    source = made_file(tmp_path, f"images{suffix}", content, n_rows=5, sha256="00" * 32)
    with pytest.raises(DataError, match=f"^{source.path}: .*{text}") as caught:
        list(idx.read_rows(source, 6))
    assert "\n" not in str(caught.value)


def test_labels_have_one_dimension(tmp_path):
    source = made_file(tmp_path, "labels", idx_bytes(IMAGES))
    with pytest.raises(DataError, match="its header says 5 x 2 x 3, but not one label each"):
        idx.read_labels(source)
