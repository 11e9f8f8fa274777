"""Arrays of fits, in files beside the records."""

import numpy as np
import pytest

from dsgkit.errors import ResultsError
from dsgkit.experiment.artefacts import copy_artefact, keep_artefact, load_artefact

KEY = "ab12" * 8
ARRAYS = {"rows": np.arange(6, dtype=np.float32).reshape(3, 2), "labels": np.array([0, 1, -1])}


@pytest.fixture
def record(tmp_path):
    return keep_artefact(tmp_path, {"key": KEY, "status": "ok", "artefact": ARRAYS})


def test_what_is_kept_is_read_back(tmp_path, record):
    assert record == {"key": KEY, "status": "ok", "artefact": f"artefacts/{KEY}.npz"}
    assert [path.name for path in (tmp_path / "artefacts").iterdir()] == [f"{KEY}.npz"]
    found = load_artefact(tmp_path, record)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_a_copy_reads_the_same(tmp_path, record):
    other = tmp_path / "other"
    other.mkdir()
    assert load_artefact(other, record) == {}
    assert copy_artefact(tmp_path, other, record)
    assert (other / record["artefact"]).read_bytes() == (tmp_path / record["artefact"]).read_bytes()
    assert not copy_artefact(tmp_path / "nowhere", other, record)


def test_records_without_arrays_have_none(tmp_path):
    record = {"key": KEY, "status": "ok"}
    assert keep_artefact(tmp_path, record) is record
    assert load_artefact(tmp_path, record) == {}
    assert copy_artefact(tmp_path, tmp_path / "other", record)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"no arrays"])
def test_a_broken_file_is_named(tmp_path, record, content):
    (tmp_path / record["artefact"]).write_bytes(content)
    with pytest.raises(ResultsError, match=r"\.npz: cannot be read"):
        load_artefact(tmp_path, record)


def test_objects_are_not_unpickled(tmp_path):
    objects = {"rows": np.array([{"a": 1}], dtype=object)}
    record = keep_artefact(tmp_path, {"key": KEY, "artefact": objects})
    with pytest.raises(ResultsError, match="cannot be read"):
        load_artefact(tmp_path, record)
