from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest

from dsgkit.data import find as finding
from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo, get
from dsgkit.data.datasets import check_present, load_dataset, obtain, resolve
from dsgkit.data.find import find, missing
from dsgkit.data.spec import DatasetSpec
from dsgkit.data.targets import Target
from dsgkit.errors import DataError, MissingDataError

SUFFIXED = ["plain", "plain.xz", "plain.bz2", "plain.gz"]


def made(*files):
    return DatasetInfo("made", "", "libsvm", files, folder="folder")


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.fixture
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.mark.parametrize("name", [*SUFFIXED, "alias", "alias.gz"])
@pytest.mark.parametrize("folder", ["folder", "made"])
@pytest.mark.parametrize("official", SUFFIXED)
def test_any_container_of_the_content_is_found(data, tmp_path, name, folder, official):
    """And one in the user's folder before one in the cache."""
    file = DataFile(official, aliases=("alias",))
    cached = touch(tmp_path / "cache/downloads/folder/plain.xz")
    assert find(made(file), file).path == cached
    path = touch(data / folder / name)
    assert find(made(file), file).path == path


def test_an_archive_or_its_member_is_found(data):
    file = DataFile("made.zip", member="train.csv")
    archive = touch(data / "folder/made.zip")
    assert find(made(file), file).member == "train.csv"
    archive.unlink()
    touch(data / "folder/train.csv.xz")
    assert find(made(file), file).member is None


def test_folders_and_other_names_do_not_count(data):
    (data / "folder/plain").mkdir(parents=True)
    touch(data / "folder/plain.zst")
    touch(data / "plain")
    assert find(made(DataFile("plain")), DataFile("plain")) is None


@pytest.mark.parametrize(
    "file", [f for d in DATASETS.values() for f in d.files], ids=lambda f: f.name
)
def test_every_registered_file_says_where_it_belongs(data, file):
    info = next(d for d in DATASETS.values() if file in d.files)
    with pytest.raises(MissingDataError) as caught:
        obtain(replace(info, files=(file,)))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"dataset {info.name}: ")
    assert (file.url or info.homepage) in message
    # following the advice must help
    place = message.split("put it at ")[1].split(" (or")[0].split(", or set")[0]
    assert Path(place).parent == data / info.folder
    assert find(info, file) is None
    touch(Path(place))
    assert find(info, file).path == Path(place)


def test_all_missing_files_are_named_and_no_others(data):
    info = get("dota2")
    archive = info.files[0].url
    for load in (lambda: obtain(info), lambda: check_present(DatasetSpec(name="dota2"))):
        with pytest.raises(MissingDataError) as caught:
            load()
        assert str(caught.value) == (
            "dataset dota2: files dota2Train.csv, dota2Test.csv are missing; "
            f"get them from {archive} and put them in {data}/dota2"
        )
    touch(data / "dota2/dota2Test.csv")
    with pytest.raises(
        MissingDataError, match=f"file dota2Train.csv is missing; .* {data}/dota2/dota2"
    ):
        obtain(info)
    by_hand = (DataFile("a"), DataFile("b", url="https://example.org/b"), DataFile("c"))
    one = DatasetInfo("made", "", "libsvm", by_hand, folder="x", homepage="page", note="why")
    assert missing(one, *by_hand) == (
        "dataset made: files a.xz (or plain), b, c.xz (or plain) are missing; get them from "
        f"https://example.org/b, see page (why) and put them in {data}/x"
    )


def test_a_missing_local_file_is_named(tmp_path):
    with pytest.raises(MissingDataError, match=f"no such file: {tmp_path}/none.txt"):
        load_dataset(DatasetSpec(path=str(tmp_path / "none.txt"), loader="libsvm"))
    paths = {"path": str(tmp_path / "none.txt"), "test_path": str(tmp_path / "nor.txt")}
    with pytest.raises(MissingDataError, match=f"none.txt; no such file: {tmp_path}/nor.txt"):
        load_dataset(DatasetSpec(**paths, loader="libsvm"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("whine.csv", r"whine\.csv \(did you mean 'wine\.csv'\?\)"),
        ("nowhere/wine.csv", "there is no folder .*/nowhere"),
    ],
)
def test_a_slip_in_the_name_of_a_local_file_is_told(tmp_path, name, said):
    (tmp_path / "wine.csv").write_text("1,2\n")
    with pytest.raises(MissingDataError, match=said):
        load_dataset(DatasetSpec(path=str(tmp_path / name), loader="libsvm"))


def test_the_cache_is_the_platforms_unless_set(monkeypatch, tmp_path):
    assert finding.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("DSGKIT_CACHE")
    assert finding.cache_folder() == Path(platformdirs.user_cache_dir("dsgkit"))


def test_a_file_has_no_name_of_the_catalogue():
    with pytest.raises(DataError, match="'skin' is a registered dataset; call /x by another name"):
        resolve(DatasetSpec(name="skin", path="/x", loader="libsvm"))


def test_positive_labels_may_be_named_for_a_registered_dataset():
    info = resolve(DatasetSpec(name="covtype_20k", positive=[3]))
    assert info.target == Target("binary", (3,)) != get("covtype_20k").target
    assert replace(info, target=get("covtype_20k").target) == get("covtype_20k")
