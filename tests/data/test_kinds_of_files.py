"""Files as common programs write them: read as they are meant, or one line with what to do."""

import errno
import os
import re
import shlex
import stat
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from dsgkit.cli import cli
from dsgkit.config.schema import load_experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import DataError
from dsgkit.system.files import write_atomically
from tests.data.conftest import load, refusal

N = 80
RNG = np.random.default_rng(1)
A, B = RNG.uniform(size=(2, N)).round(4)
KIND = np.where(A > 0.4, "wheat", "rye")
WHEAT = ["--label", "kind", "--positive", "wheat"]


def text(*columns, names=None, sign=",", end=""):
    rows = [sign.join(map(str, row)) + end for row in zip(*columns, strict=True)]
    return "\n".join([*([sign.join(names) + end] if names else []), *rows]) + "\n"


@pytest.fixture
def tried(tmp_path, monkeypatch):
    """Return what `dsg try` prints in one line, and the dataset of its config, if any."""
    monkeypatch.chdir(tmp_path)

    def run(content, *options):
        path = tmp_path / "rows.csv"
        path.write_text(content)
        done = CliRunner().invoke(cli, ["try", str(path), *options, "--dry-run"])
        if done.exception:
            assert isinstance(done.exception, DataError), (done.output, done.exception)
            return str(done.exception).removeprefix(str(path)), None
        told, _, config = done.output.partition("\n\n")
        (tmp_path / "c.yaml").write_text(config)
        return " ".join(told.split()), load_dataset(load_experiment(tmp_path / "c.yaml").dataset)

    return run


def test_numbers_are_a_header_that_holds_the_name_of_the_label(tried, tmp_path):
    for names in (["0", "1"], ["1100", "1102"], ["400.5", "401.25"], ["1990", "b"]):
        content = text(A, B, KIND, names=[*names, "kind"])
        told, dataset = tried(content, *WHEAT)
        assert f"header, {N} rows, 3 columns" in told
        np.testing.assert_array_equal(dataset.X, np.float32([A, B]).T)
        assert dataset.y.tolist() == np.where(KIND == "wheat", 1, -1).tolist()
        if names[1] != "b":  # by number, too, it is no row
            assert f"header, {N} rows" in tried(content, "--label", "-1", *WHEAT[2:])[0]
            assert "looks like names" in refusal(tmp_path, content, positive=["wheat"])
    # numbers in equal steps are a header, and ascending rows are none
    for names in ("012", "123", ["1990", "2000", "2010"]):
        for label in (names[-1], "-1"):
            told, dataset = tried(text(A, B, np.arange(N) % 2, names=names), "--label", label)
            assert f" header, {N} rows" in told and len(dataset.X) == N
    told, dataset = tried(text(A, A + 1, KIND), "--label", "2")
    assert "no header" in told and len(dataset.X) == N


def test_texts_are_a_header_that_no_row_below_repeats(tried):
    columns = np.where(A > B, "u", "v"), np.where(B > 0.5, "w", "x"), KIND
    for names, label in ((["c", "d", "kind"], "-1"), (None, "2")):
        told, dataset = tried(text(*columns, names=names), "--label", label, *WHEAT[2:])
        assert ("no header" in told) == (names is None) and f"{N} rows" in told
        assert len(dataset.X) == N and set(dataset.labels.tolist()) == {"wheat", "rye"}


def test_the_delimiter_is_the_one_that_splits_all_lines(tried):
    numbers = [[str(x).replace(".", ",") for x in values] for values in (A, B)]
    notes = [f"t, {k % 3}" for k in range(N)]
    for content in (
        text(*numbers, notes, KIND, names=["a", "b", "note", "kind"], sign=";"),
        text(*numbers, notes, KIND, names=["a", "b", "note", "kind"], sign="|"),
        text(A, B, notes, KIND, names=["a", "b", "note", "kind"], sign=" ; "),
        text(*numbers, KIND, KIND, names=["a", "b", "note", "kind"], sign=" "),
    ):
        _, dataset = tried(content, *WHEAT)
        np.testing.assert_array_equal(dataset.X[:, :2], np.float32([A, B]).T)
        assert dataset.X.shape[0] == N


def test_arff_is_read_with_its_names(tried):
    head = "% made\n@relation r\n@attribute 'my a' real\n@attribute b real\n@attribute kind {rye}\n"
    for label in ("kind", "2"):
        _, dataset = tried(f"{head}@data\n{BODY}", "--label", label, *WHEAT[2:])
        np.testing.assert_array_equal(dataset.X, np.float32([A, B]).T)


BODY = text(A, B, KIND)
HEAD = "a,b,kind\n"


def test_what_stands_above_the_rows_is_said(tried):
    for content, said in (
        ("# made by a tool\n# 2024\n" + HEAD + BODY, ":1: 1 of 3 columns: remove titles, comments"),
        (HEAD + "(mg/l),(cm),\n" + BODY, ":1: is followed by units or other names: keep one"),
        (HEAD + text(A, B, KIND, end=","), ":1: 3 of 4 columns: every row ends in a delim"),
        ("a,b,kind,\n" + BODY, ":1: 4 of 3 columns: remove the delimiter at its end"),
        ("% made by a tool\n" + HEAD + BODY, ":1: 1 of 3 columns: remove titles, comments"),
    ):
        assert tried(content, "--label", "kind")[0].startswith(said)


def test_what_is_no_feature_is_left_out(tried):
    numbers = [str(x).replace(".", ",") for x in A]
    columns = (range(N), RNG.permutation(N) + 7, numbers, KIND)
    content = text(*columns, names=["", "z", "CO", "kind"], sign=";", end=";;")
    told, dataset = tried(content + ";;;;;\n" * 3, *WHEAT, "--ignore", "-1")
    assert "left out 0 (no name), z (row numbers), 4 (no name), 5 (as asked)" in told
    np.testing.assert_array_equal(dataset.X, np.float32([A]).T)


def test_separators_of_thousands_are_no_decimal_signs(tried):
    grouped = [f"{n:,}" for n in RNG.integers(100, 9000, N)]
    large = [f"{1000 + k % 9 * 950:,}" for k in range(N)]
    for numbers, sign, said in (
        (grouped, "\t", "write decimal points instead of commas"),
        ([f'"{x}"' for x in grouped], ",", "write decimal points"),
        ([f'"{x:.3f}"'.replace(".", ",") for x in A], ",", "write decimal points"),
        ([x.replace(",", ".") for x in grouped], ",", "is a decimal; write thousands as "),
        ([f'"{x}.50"' for x in large], ",", "write decimal points"),
        ([x.replace(",", "\u202f") for x in large], ",", "write decimal points"),
        ([x.replace(",", "'") for x in large], ",", "write decimal points"),
    ):
        content = text(numbers, A, KIND, names=["p", "a", "kind"], sign=sign)
        told, dataset = tried(content, "--label", "kind")
        assert said in told and (dataset is None or "." in numbers[0])
        assert dataset is not None or re.match(r":\d+: column 'p': ['\"]\d\D+\d{3}", told)


def test_all_refused_columns_are_in_one_message_whose_advice_works(tried):
    columns = [np.array(x, object) for x in (A, B, A + 1, KIND)]
    columns[0][3], columns[1][5] = "1.2.3", "ill"
    content = text(*columns, names=["my size", "b", "c", "kind"])
    said, _ = tried(content, "--label", "kind")
    assert said.startswith(":5: column 'my size': '1.2.3' among numbers; ") and "'ill'" in said
    assert said.endswith("leave columns out: --ignore 'my size' --ignore b")
    _, dataset = tried(content, "--label", "kind", *shlex.split(said.rpartition(": ")[2]))
    assert dataset.X.shape == (N, 1)


def test_rows_without_a_label_are_unlabelled_rows(tried):
    classes, words = np.where(np.arange(N) % 3 == 0, A > 0.4, -1), ["ham", "spam", "unlabeled"]
    for labels, known, mark in (
        (classes, [0, 1], "-1"),
        (np.where(classes == -1, 0, 2 * classes - 1), [-1, 1], "0"),
        ([str(c) if c >= 0 else "" for c in classes], [0, 1], None),
        ([words[c] for c in classes], words[:2], "unlabeled"),
        ([str(c) if c >= 0 else "unlabelled" for c in classes], [0, 1], "unlabelled"),
    ):
        content, options = text(A, B, labels, names="aby"), ["--label", "y"]
        if mark is not None:
            said = f"{mark} looks like the mark of rows without a label: add --unlabeled {mark}"
            assert said in tried(content, *options)[0]
            options += ["--unlabeled", mark]
        told, dataset = tried(content, *options)
        n_known = int(np.sum(classes >= 0))
        assert f"; {N - n_known} rows without a label" in told
        assert "rows without a label are training rows" in told and "used for evaluation" in told
        assert set(dataset.labels.tolist()) == set(known) and len(dataset.labels) == n_known
        rows, order = np.float32([A, B]).T, np.argsort(classes < 0, kind="stable")
        np.testing.assert_array_equal(dataset.X, rows[order])
        assert dataset.unlabeled_rows.tolist() == [*range(n_known, N)]
        assert f"{N} rows, {N - n_known} without a label, 2 features" in dataset.summary


def test_words_for_a_missing_value_are_the_mark_of_no_label(tried):
    for word in ("NA", "<NA>", "?", "null", "NaN", "none"):
        content = text(A, B, np.where(np.arange(N) % 3, KIND, word), names=["a", "b", "kind"])
        said, _ = tried(content, "--label", "kind")
        assert f": {word} looks like the mark of rows without a label: " in said
        mark = re.search(r"add (--unlabeled \S+);", said)[1]
        _, dataset = tried(content, "--label", "kind", *shlex.split(mark))
        assert set(dataset.labels.tolist()) == {"wheat", "rye"} and len(dataset.X) == N
        assert "is a label here; if it means none: --unlabeled" in tried(content, *WHEAT)[0]


def test_what_the_reader_refuses_is_no_number_of_a_first_look(tried):
    for number in ("inf", "-Infinity", "1e39", "1e400"):
        a = [number if k == 3 else x for k, x in enumerate(A)]
        said, _ = tried(text(a, B, KIND, names=["a", "b", "kind"]), *WHEAT)
        assert said.startswith(":5: column 'a': ") and "among numbers" in said
    labels = np.where(A > 0.7, "one", np.where(A > 0.3, "1", "0"))
    said, _ = tried(text(A, B, labels, names=["a", "b", "y"]), "--label", "y", "--positive", "1")
    assert said.endswith("1 is a number among words; write words")


def test_labels_above_2_to_the_53_stay_apart(tried):
    labels = 2**53 + np.arange(N) % 2
    told, dataset = tried(text(A, B, labels), "--label", "-1", "--positive", str(2**53 + 1))
    assert f"{2**53}: {N // 2}, {2**53 + 1}: {N // 2}" in told
    assert dataset.y.tolist() == [-1, 1] * (N // 2)


def test_file_systems_without_memory_maps_or_flushed_folders(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.ENODEV, "No such device")

    def only_files(descriptor, flush=os.fsync):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        flush(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr("numpy.memmap", refuse)
        said = refusal(tmp_path, BODY, positive=["rye"])
    assert said.endswith("or set DSGKIT_CACHE to a local disk")
    monkeypatch.setattr(os, "fsync", only_files)
    assert len(load(tmp_path, BODY, positive=["rye"]).X) == N
    write_atomically(tmp_path / "written", lambda file: file.write(b"x"))


def test_archives_as_systems_make_them_and_pipes(tmp_path):
    with zipfile.ZipFile(tmp_path / "rows.ZIP", "w") as archive:
        for name in ("rows/", "rows/.DS_Store", "__MACOSX/rows/._rows.csv", "rows/rows.csv"):
            archive.writestr(name, BODY if name.endswith("s/rows.csv") else "")
    assert len(load(tmp_path, None, name="rows.ZIP", positive=["rye"]).X) == N
    assert "a tar archive" in refusal(tmp_path, b"rows.csv".ljust(257, b"\0") + b"ustar\0")
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or a device" in refusal(tmp_path, None, name="pipe")


def test_a_file_of_similar_pairs_is_read_by_the_rows_of_the_data_file(tmp_path):
    rows = "".join(f"{i}, {label}\n" for i, label in enumerate([1, "", 2, "", 1, 2]))
    (tmp_path / "pairs").write_text("0,4\n1 3\n 5;2 \n")
    options = {"label": {"column": 1}, "pairs": str(tmp_path / "pairs"), "delimiter": ","}
    dataset = load(tmp_path, rows, **options)
    assert dataset.X[dataset.similar_pairs][:, :, 0].tolist() == [[0, 4], [1, 3], [5, 2]]
    assert dataset.X[:, 0].tolist() == dataset.file_rows.tolist() == [0, 2, 4, 5, 1, 3]
    for wrong, place in (("0,1\n2,2\n", 2), ("0,6\n", 1), ("0,1,2\n", 1), ("a,b\n", 1), ("\n", 1)):
        (tmp_path / "pairs").write_text(wrong)
        with pytest.raises(DataError, match=f"pairs:{place}: a pair is two different row numbers"):
            load(tmp_path, rows, **options)


def test_dates_without_a_header(tried):
    days = [f"2020-01-{1 + k % 28:02d}" for k in range(N)]
    told, dataset = tried(text(A, days, KIND), "--label", "2", *WHEAT[2:])
    assert "days since 1970 in: 1 (ISO8601)" in told
    assert dataset.X[:3, 1].tolist() == [18262, 18263, 18264]


def test_libsvm_text_is_recognised(tried):
    for line in ("1 1:2 3:4", "1\t1:2", "-1 qid:3 1:2 # a note"):
        assert "looks like LIBSVM" in tried("# made by a tool\n" + f"{line}\n" * N)[0]


def test_columns_of_every_kind(tried):
    days = [f"{1 + k % 28:02d}/{1 + k % 12:02d}/{2000 + k % 7}" for k in range(N)]
    a, b, big = np.tile(A, 4), np.tile(B, 4), np.arange(4 * N)
    columns = {
        "few": ["" if k == 3 else a[k] for k in big],
        "many": ["NA" if k % 4 == 0 else b[k] for k in big],
        "colour": ["" if k == 5 else "red" if a[k] > 0.5 else "blue" for k in big],
        "day": ["" if k == 7 else days[k % N] for k in big],
        "iso": [f"200{k % 7}-0{1 + k % 9}-11 06:00" for k in big],
        "town": [f"town {k % 55}" for k in big],
        "note": [f"note {k}" for k in big],
        "kind": np.tile(KIND, 4),
    }
    told, dataset = tried(text(*columns.values(), names=columns), *WHEAT)
    assert "days since 1970 in: day (%d/%m/%Y), iso (ISO8601)" in told
    assert "marked: few (1), many (80), colour (1), day (1) left out note (text with o" in told
    assert dataset.made == "one-hot column 3 (, blue, red); gaps filled by medians"
    few, many, marked, none, blue, red, day, iso, town = dataset.X.T
    gaps = big % 4 == 0
    np.testing.assert_array_equal(few[2:4], np.float32([A[2], np.median(np.delete(a, 3))]))
    np.testing.assert_array_equal(many, np.where(gaps, np.median(b[~gaps]), b).astype("f4"))
    np.testing.assert_array_equal([marked, none], [gaps, big == 5])
    np.testing.assert_array_equal([red, blue], (1 - none) * [a > 0.5, a <= 0.5])
    assert day[:2].tolist() == [10957, 11355] and day[7] == np.median(np.delete(day, 7))
    assert len(np.unique(iso)) == 63 and iso[0] == np.float32(10967.25)
    assert town[:2].tolist() == [np.float32(columns["town"].count("town 0") / 320), town[1]]
