"""The catalogue of datasets and how its entries are read."""

import pytest

from dsgkit.data.catalogue import DATASETS, read_catalogue
from dsgkit.data.targets import Target
from dsgkit.errors import DataError

ENTRY = """
[shared]
site = "https://example.org"
terms = "free of charge"

[made]
title = "Made"
loader = "delimited"
target = { positive = [1, "yes"] }
address = "{site}/files"
licence = "{terms}, see {site}"
values.3 = { a = 1 }
[[made.files]]
name = "a.csv"
n_rows = 3
[[made.files]]
name = "b.csv"
n_rows = 4
[[made.files]]
name = "c.csv"
part = "test"
n_rows = 5
"""


@pytest.mark.parametrize("info", DATASETS.values(), ids=lambda d: d.name)
def test_registered_datasets_are_complete_and_consistent(info):
    assert info.homepage.startswith("https://") and info.licence and info.citation
    if info.target.kind == "binary":
        positive, negative = info.target.positive, info.target.negative
        assert positive and negative and not set(positive) & set(negative)
    assert (info.loader == "bundled") == (info.function is not None) == (not info.files)
    assert info.n_rows and info.n_features and info.folder
    for file in info.files:
        assert file.n_rows
        assert file.url is None or file.url.endswith("/" + file.name)
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32
    for text in (info.title, info.homepage, info.licence, info.citation, info.note):
        assert text == " ".join(text.split()) and not set("{}") & set(text)


def test_an_entry_is_completed_or_refused():
    (made,) = read_catalogue(ENTRY).values()
    assert (made.name, made.folder, made.n_rows) == ("made", "made", 7)
    urls = [f"https://example.org/files/{letter}.csv" for letter in "abc"]
    assert [file.url for file in made.files] == urls
    assert made.licence == "free of charge, see https://example.org"
    assert made.target == Target("binary", (1, "yes"))
    assert made.values == {3: {"a": 1}} and made.label_columns == (-1,)
    for old, new in (("licence", "license"), ('title = "Made"', ""), ("positive", "positives")):
        with pytest.raises(TypeError, match="argument"):
            read_catalogue(ENTRY.replace(old, new))


def test_an_unknown_name_brings_the_nearest():
    with pytest.raises(DataError, match=r"unknown dataset 'cod-rna' \(did you mean 'codrna'\?\)"):
        DATASETS["cod-rna"]
    with pytest.raises(DataError, match="unknown dataset 'qqq'; `dsg list datasets` lists all 67"):
        DATASETS["qqq"]
