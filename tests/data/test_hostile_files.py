"""Whatever a data file or a prepared one holds: the right values, or one line with the place."""

import json
import math
import os
import random
import subprocess
import sys
import time
import tracemalloc
from decimal import Decimal
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsgkit.data import delimited, idx, libsvm, lines, plain, reading, reviews
from dsgkit.data import prepare as preparing
from dsgkit.data.catalogue import DATASETS, DataFile
from dsgkit.data.datasets import load_dataset, resolve
from dsgkit.data.find import FoundFile
from dsgkit.data.lines import CAREFUL_LINE, ROW_LINE, Chunk, Lines
from dsgkit.data.scan import read_number
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError
from tests.data.conftest import COMPRESS, load, refusal

FORMATS = {"libsvm": b"1 1:2 2:3\n-1 1:4 2:5\n", "delimited": b"2,3,1\n4,5,-1\n"}
X = [[2, 3], [4, 5]]
DAMAGES = [
    (lambda text: text.replace(b"\n", b"\r"), ":1: a carriage"),
    (lambda text: text.replace(b"4", b"4\r"), ":2: a carriage"),
    (lambda text: text.replace(b"4", b"4\0"), ":2: a NUL byte"),
    (lambda text: text.decode().encode("utf-16"), ":1: UTF-16 text"),
    (lambda text: text.replace(b"4", b"4_0"), "'4_0' is not a number"),
    (lambda text: text.replace(b"4", b"\xd9\xa4"), "not a number"),
    (lambda text: text.replace(b"4", b"0x4"), "not a number"),
    (lambda text: text.replace(b"4", b"4" * 200_000), "of 200,000 characters"),
    (lambda text: text.replace(b"4", b"x" * 200_000), "of 200,000 characters"),
    (lambda text: text.replace(b"4", b"\xe9"), ":2: "),
]
ODD = {
    "a mark": lambda text: b"\xef\xbb\xbf" + text,
    "returns": lambda text: text.replace(b"\n", b"\r\r\n"),
    "blanks": lambda text: b"\n\t\n" + text.replace(b"\n", b" \t \n \n"),
    "digits": lambda text: text.replace(b"4", b"4." + b"0" * 1500),
    "quotes": lambda text: text.replace(b"4,", b' "4" ,'),
    "a comment": lambda text: text.replace(b"1:4", b"1:4 2:5# caf\xe9\n#"),
}


@pytest.mark.parametrize("loader", FORMATS)
def test_damaged_files_are_one_line_and_odd_ones_are_read(tmp_path, parser, monkeypatch, loader):
    text = FORMATS[loader]
    for change, said in DAMAGES:
        assert said in refusal(tmp_path, change(text), loader, n_features=2)
    for name, change in ODD.items():
        dataset = load(tmp_path, change(text), loader, name)
        np.testing.assert_array_equal(dataset.X, X)
        assert dataset.y.tolist() == [1, -1]
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(lines, "CHUNK_BYTES", 100)
    said = refusal(tmp_path, text + b"1" * 5000, loader)
    assert ":3: a line of more than 1,000 bytes" in said


@pytest.mark.parametrize(
    ("loader", "text", "said"),
    [
        ("delimited", b"1,2,0\n" + b"1," * 2**18, ":2: more than 131,072 columns"),
        ("delimited", b"1," * 2**18, ":1: more than 131,072 columns"),
        ("delimited", b"1 " * 2**18, ":1: more than 131,072 columns"),
        ("libsvm", b"1 1:2\n1 " + b"1:1 " * 2**17, ":2: feature index 1 after 1"),
    ],
)
def test_a_line_of_too_many_fields_is_not_split(tmp_path, monkeypatch, loader, text, said):
    monkeypatch.setattr(lines, "MIN_COMPILED_BYTES", 2**40)
    monkeypatch.setattr(delimited, "MAX_FEATURES", 2**17)
    tracemalloc.start()
    try:
        assert refusal(tmp_path, text, loader).startswith(said)
        assert tracemalloc.get_traced_memory()[1] < 2**22 + 8 * len(text)
    finally:
        tracemalloc.stop()


def test_texts_that_run_on(tmp_path, parser):
    word = b"x" * 200_000
    said = refusal(tmp_path, b"1," + word + b"\n2,y\n", positive=["y"])
    assert said.startswith(":1: column 1 (the 2nd): a text of 200,000 characters")
    dataset = load(tmp_path, word + b",b\n1,0\n2,1\n", name="table", header=True)
    assert dataset.X.tolist() == [[1], [2]]


def scanned(texts):
    """Read numbers by the compiled function: NaN for one that it leaves."""
    found = []
    for text in texts:
        data = np.frombuffer(text.encode() + b"\n", np.uint8)
        ok, value, end = read_number(data, np.uint64(0))
        found.append(value if ok and end == len(text) else math.nan)
    return np.array(found)


def check_numbers(texts):
    """Both compiled parsers read the number that Python reads, to the last bit."""
    texts = [text for text in texts if math.isfinite(float(text))]
    expected, found = np.array([float(text) for text in texts]), scanned(texts)
    left = np.isnan(found)
    assert found[~left].tobytes() == expected[~left].tobytes()
    usual = [len(text) < 19 and 1e-300 < abs(float(text)) < 1e300 for text in texts]
    assert not (left & np.array(usual, bool)).any()
    table = delimited.Table(delimited.Columns(1, None, ".", (0,)), len(texts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "MIN_COMPILED_BYTES", 0)
        state = table.read_plain(Lines.of(Chunk("\n".join(texts).encode(), 1)))
    assert (state == ROW_LINE).all() and table.labels[:, 0].tobytes() == expected.tobytes()


finite = st.floats(allow_nan=False, allow_infinity=False)
digits = st.text("0123456789", min_size=1, max_size=25)
powers = st.builds("{}e{}".format, digits, st.integers(-330, 307))
spelled = st.one_of(
    finite.map(repr),
    finite.map("{:.18e}".format),
    finite.map("{:.25g}".format),
    st.builds("{}{}.{}".format, st.sampled_from(["", "-", "+"]), digits, st.one_of(digits, powers)),
    st.builds("{}{}".format, st.sampled_from(["", "-", "+"]), st.one_of(digits, powers)),
    finite.map(lambda x: str((Decimal(x) + Decimal(math.nextafter(x, math.inf))) / 2)),
)


@settings(max_examples=60)
@given(st.lists(spelled.filter(lambda text: "Inf" not in text), min_size=5, max_size=5))
def test_numbers_are_those_of_python(texts):
    check_numbers([*texts, "0"])


def test_the_last_bit_of_many_numbers():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**63, 3000, np.uint64, endpoint=True).view(np.float64)
    values = values[np.isfinite(values) & (values > 1e-307)].tolist()
    check_numbers([*map(repr, values), *(f"{2**53 + k}e{k % 20}" for k in range(500))])
    check_numbers([f"1.7e{power}" for power in range(-345, 309)])


# as often right as not, so that whole lines are plain
NUMBERS = (
    *(["1", "-2.5", "1e5", "3", "0.1", "7"] * 20),
    *("1E-3", "+.5", "5.", "1e", "e1", ".", "-", "", "1_0", "nan", "inf", "-0", "00012", "True"),
    *("1e39", "3.4028235677973366e38", "3.40282356e38", "1e-400", "1e400", "1e" + "9" * 30),
    *("1" * 25, "0." + "1" * 600, "0x1", "1\xa0", "\u0661", "1d3", "1e+", "1:2", "\ufeff1"),
    *('"1"', '" 2"', '"3" ', "1,5"),
)  # fmt: skip
GAPS = (*([" "] * 99), "  ", "\t", "\v", "\f", "\xa0", "\r", "", "\0", "#", " # 1:3", "\r#")
ENDS = (*(["\n"] * 19), "\r\n", "\r\r\n", " \n", "\n\n", "# x\r\n", "#\r1\n", " #\xe9\n")
INDICES = (*(["1:"] * 30), "0:", "4:", "01:", "+1:", "qid:", "1", "9" * 30 + ":", "2:1 1:", ":")
WORDS = (
    *(["a", "b", "?", "12"] * 20),
    *(" a", "a b", '"a"', '"a,b"', '"a""b"', '"a"b', '"', 'a"b', '" b"', '"?" ', "x" * 33),
    *("x" * 300, "\xe9", "", "\x7f", "\x01", "\0", "new"),
)
seeds = st.integers(0, 2**32 - 1)


def hostile(seed, delimiter="libsvm"):
    """Return LIBSVM lines of up to three features, or lines of six columns; many are wrong."""
    rng, parts = random.Random(seed), []
    for _ in range(20):
        if delimiter == "libsvm":
            parts.append(rng.choice(NUMBERS))
            for k in range(rng.randrange(4)):
                index = rng.choice(INDICES).replace("1", str(k + 1), 1)
                parts += [rng.choice(GAPS), index, rng.choice(NUMBERS)]
        else:
            between, kinds = delimiter or " ", [WORDS, NUMBERS, WORDS, WORDS, NUMBERS, WORDS]
            blanks = [rng.choice(["", " ", "\t"]) if rng.random() < 0.1 else "" for _ in kinds]
            fields = [a + rng.choice(kind) for a, kind in zip(blanks, kinds, strict=True)]
            parts += [between.join(fields), rng.choice(["", "", "", between, "#"])]
        parts.append(rng.choice(ENDS))
    return "".join(parts)


def check_agreement(make, content):
    """Whatever is read of some lines at once is read in the same way line by line."""
    all_lines = Lines.of(Chunk(content.encode(), 1))
    fast, slow = make(len(all_lines)), make(len(all_lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "MIN_COMPILED_BYTES", 0)
        state = fast.read_plain(all_lines)
    rows = np.zeros(len(all_lines), bool)
    for i in np.flatnonzero(state != CAREFUL_LINE).tolist():
        rows[i] = slow.read_line(i, all_lines[i])
    for mine, other in zip(fast.finish(state == ROW_LINE), slow.finish(rows), strict=True):
        assert mine is other is None or mine.tobytes() == other.tobytes()
    return int((state != CAREFUL_LINE).sum())


@settings(max_examples=80)
@given(seeds)
def test_both_parsers_agree_on_libsvm(seed):
    content = hostile(seed)
    check_agreement(lambda n_lines: libsvm.Table(3, n_lines), content)
    all_lines = Lines.of(Chunk(content.encode(), 1))
    for i, index in enumerate(plain.last_indices(all_lines)):
        if index != libsvm.CAREFUL_INDEX:
            assert index == libsvm.last_index(all_lines[i])


def test_only_the_end_of_a_line_is_looked_at_for_its_columns():
    content = b"1 9:1 2:1\n\n-1 # 5:1\n1 3:1 # 7:1\n1 x:1\n1 1234567890:1\n7"
    last = plain.last_indices(Lines.of(Chunk(content, 1))).tolist()
    assert last == [2, 0, 0, 3, libsvm.CAREFUL_INDEX, libsvm.CAREFUL_INDEX, 0]


@settings(max_examples=30)
@given(seeds, st.booleans(), st.sampled_from([(), (4,), (1, 4)]))
@pytest.mark.parametrize("delimiter", [",", ";", "\t", None, "-"])
def test_both_parsers_agree_on_tables(delimiter, seed, text_labels, labels):
    columns = delimited.Columns(
        *(6, delimiter, "," if delimiter == ";" else ".", (5,) if text_labels else labels),
        text_labels=text_labels,
        categories={2: np.array(["a", "a,b", "b", "x" * 33, "\xe9"])},
        values={3: {"\xe9": 3.0, "?": 7.0, "a": 1.0, "b": 2.0}},
        ignored=(0,) if text_labels else (0, 5),
    )
    check_agreement(lambda n_lines: delimited.Table(columns, n_lines), hostile(seed, delimiter))


def test_many_of_the_generated_lines_are_plain():
    columns = delimited.Columns(6, ",", ".", (4,), ignored=(0, 2, 3, 5))
    for make, delimiter in (
        (lambda n_lines: libsvm.Table(3, n_lines), "libsvm"),
        (lambda n_lines: delimited.Table(columns, n_lines), ","),
    ):
        counts = [check_agreement(make, hostile(seed, delimiter)) for seed in range(30)]
        assert sum(counts) > 30 * 20 / 5


@pytest.mark.parametrize("loader", FORMATS)
def test_only_what_is_near_an_error_is_read_line_by_line(tmp_path, monkeypatch, loader):
    """Also where blocks of few lines are read at a time, of which none is large."""
    monkeypatch.setattr(reading, "BLOCK_VALUES", 5000)
    monkeypatch.setattr(lines, "MIN_COMPILED_BYTES", 10_000)
    table, read = {"libsvm": libsvm, "delimited": delimited}[loader].Table, []
    read_line = table.read_line
    monkeypatch.setattr(
        table, "read_line", lambda self, *of: read.append(1) or read_line(self, *of)
    )
    content = FORMATS[loader].replace(b",3,", b',"3",') * 20_000
    assert len(load(tmp_path, content, loader, n_features=2).X) == 40_000 and not read
    for n_values in (5000, 2**23):
        monkeypatch.setattr(reading, "BLOCK_VALUES", n_values)
        said = refusal(tmp_path, content + b"1 1:x\n" + content, loader, n_features=2)
        assert said.startswith(":40001: ") and 0 < len(read) < 4000


REVIEWS = b'{"reviewText": "good", "overall": 5.0}\n'
READERS = {
    "libsvm": (FORMATS["libsvm"], lambda source, info: [*reading.read_blocks(source, info)]),
    "delimited": (FORMATS["delimited"], lambda source, info: [*reading.read_blocks(source, info)]),
    "idx": (b"\0\0\x08\x02\0\0\0\x02\0\0\0\x02abcd", lambda source, _: [*idx.read_rows(source, 2)]),
    "reviews": (REVIEWS, lambda source, _: [*reviews.read_reviews(source)]),
    "reviews in a table": (
        b'overall,reviewText\n5,"a ""word"""\n',
        lambda source, _: [*reviews.read_reviews(source)],
    ),
}


def attempt(read, path, info):
    """Read a file; return None if it is refused, in one line with its name."""
    try:
        return read(FoundFile(DataFile("data"), path), info)
    except DataError as error:
        assert str(error).startswith(str(path)) and str(error).isprintable()
        assert len(str(error)) < len(str(path)) + 250
        return None


@pytest.mark.parametrize("suffix", [suffix for suffix in COMPRESS if suffix])
def test_compressed_files_cut_or_flipped_anywhere(tmp_path, suffix):
    whole, path = COMPRESS[suffix](FORMATS["libsvm"]), tmp_path / f"data{suffix}"
    info = resolve(DatasetSpec(path="data", loader="libsvm", n_features=2))
    damaged, refused = [whole[:k] for k in range(len(whole))], 0
    for place in range(len(whole)):
        damaged.append(bytes(byte ^ (0x41 * (k == place)) for k, byte in enumerate(whole)))
    for content in damaged:
        path.write_bytes(content)
        blocks = attempt(READERS["libsvm"][1], path, info)
        refused += blocks is None
        for rows, _ in blocks or []:
            np.testing.assert_array_equal(rows, X)
    assert refused > len(whole)


@pytest.mark.parametrize("loader", READERS)
def test_files_with_any_byte_changed(tmp_path, loader):
    assert {dataset.loader for dataset in DATASETS.values()} - {"bundled"} <= READERS.keys()
    (content, read), path = READERS[loader], tmp_path / "data"
    form = loader if loader in FORMATS else "reviews"
    n_features = {} if form == "reviews" else {"n_features": 2}
    info = resolve(DatasetSpec(path=str(path), loader=form, **n_features))
    rng, refused = np.random.default_rng(0), 0
    for place in range(len(content)):
        bytes_there = [b"", *(bytes([byte]) for byte in (0, 10, 13, 34, 255)), rng.bytes(1)]
        brackets = [b"[" * 10**5] * (place % -(-len(content) // 10) == 0)
        for there in [*bytes_there, *brackets, b"9" * 5000]:
            path.write_bytes(content[:place] + there + content[place + 1 :])
            refused += attempt(read, path, info) is None
    assert refused > 2 * len(content)


@pytest.fixture
def prepared(tmp_path):
    """A small prepared dataset: its spec, its folder and what it holds."""
    dataset = load(tmp_path, FORMATS["libsvm"], "libsvm")
    spec = DatasetSpec(path=str(tmp_path / "data"), loader="libsvm")
    return spec, preparing.prepared_folder(resolve(spec)), dataset.content_hash


@pytest.mark.parametrize("name", ["X.npy", "y.npy", "meta.json"])
@pytest.mark.parametrize("damage", ["flipped", "cut"])
def test_prepared_files_damaged_anywhere(prepared, name, damage):
    _, folder, content_hash = prepared
    path, noticed = folder / name, 0
    whole, times = path.read_bytes(), path.stat()
    places = range(0, len(whole), 1 if path.suffix == ".npy" else 7)
    for place in places:
        flipped = bytes([whole[place] ^ 1 << place % 8])
        content = whole[:place] + (flipped + whole[place + 1 :] if damage == "flipped" else b"")
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        try:
            meta = preparing.read_meta(folder)
            if meta is None:
                noticed += 1
                continue
            rows, labels = preparing.open_part(folder, "train", meta["parts"]["train"])
        except DataError as error:
            noticed += 1
            assert f"{name} is damaged" in str(error) and "remove the folder" in str(error)
            continue
        assert meta["content_hash"] == content_hash
        np.testing.assert_array_equal(rows, X)
        assert labels.tolist() == [1, -1]
    # of the record, only what stands between its values may change
    assert noticed == len(places) or (name == "meta.json" and noticed > len(places) // 2)


NO_RECORDS = {
    "a deep list": lambda path: path.write_bytes(b"[" * 10**5),
    "no JSON": lambda path: path.write_bytes(b"{"),
    "a pipe": os.mkfifo,  # which would be waited for
    "a device": lambda path: path.symlink_to("/dev/zero"),  # which has no end
}


@pytest.mark.parametrize("damage", NO_RECORDS.values(), ids=NO_RECORDS)
def test_a_record_that_is_no_record_is_made_again(prepared, damage):
    spec, folder, content_hash = prepared
    path = folder / "meta.json"
    path.unlink()
    damage(path)
    assert load_dataset(spec).content_hash == content_hash
    assert path.is_file() and not path.is_symlink()
    assert preparing.read_meta(folder)["version"] == preparing.VERSION


def test_a_large_prepared_file_is_read_again_only_if_it_was_touched(prepared, monkeypatch):
    spec, folder, _ = prepared
    read = mock.Mock(side_effect=preparing._crc32)
    monkeypatch.setattr(preparing, "_crc32", read)
    monkeypatch.setattr(preparing, "MAX_CHECKED_BYTES", 0)
    load_dataset(spec)
    assert not read.called
    os.utime(folder / "X.npy")
    load_dataset(spec)
    assert read.call_args_list == [mock.call(folder / "X.npy")]


@pytest.mark.slow  # two processes that import everything
def test_two_processes_prepare_one_dataset_at_once(tmp_path):
    content = b"".join(b"%d 1:%d.5 2:7\n" % (k % 2, k) for k in range(50_000))
    (tmp_path / "data").write_bytes(content)
    program = (
        "import sys, time, pathlib\n"
        "from dsgkit.data.spec import DatasetSpec\n"
        "from dsgkit.data import load_dataset\n"
        "import dsgkit.data.plain\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "(here / ('ready' + sys.argv[2])).touch()\n"
        "while not (here / 'go').exists(): time.sleep(0.001)\n"
        "spec = DatasetSpec(loader='libsvm', path=str(here / 'data'))\n"
        "print(load_dataset(spec).content_hash)\n"
    )
    command, names = [sys.executable, "-c", program, str(tmp_path)], ("one", "two")
    started = [subprocess.Popen([*command, n], stdout=subprocess.PIPE, text=True) for n in names]
    while not all((tmp_path / f"ready{name}").exists() for name in names):
        assert all(process.poll() is None for process in started)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    hashes = {process.communicate(timeout=100)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0]
    assert len(hashes) == 1
    (folder,) = (tmp_path / "cache/prepared").iterdir()
    assert json.loads((folder / "meta.json").read_text())["parts"]["train"]["n_rows"] == 50_000
