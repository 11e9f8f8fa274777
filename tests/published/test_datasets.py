"""The papers' tables of datasets, against the catalogue."""

import csv
from importlib.resources import files

import pytest

from dsgkit.data.catalogue import DATASETS
from dsgkit.papers.schema import papers

DIFFERENT = {
    ("s2auc", "higgs"): (11_000_000, 28),  # the paper takes a tenth of the rows
    ("s2auc", "unclonable"): (6_000_000, 128),  # 129 with the label
    ("s3vm", "higgs"): (11_000_000, 28),
    ("s3vm", "dota2_all"): (102_944, 116),  # 16 by a slip
}


def rows_of(name):
    with files("dsgkit.published").joinpath(f"{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("key", ["s2auc", "ordinal", "s3vm"])
def test_published_sizes_are_those_of_the_catalogue_but_for_slips(key):
    published = {
        r["dataset"]: (int(r["rows"]), int(r["features"])) for r in rows_of(f"{key}_datasets")
    }
    assert len(published) == 8
    for name, printed in published.items():
        info = DATASETS[name]
        here = info.n_rows, info.n_features
        assert here == DIFFERENT.get((key, name), printed)
        assert (here != printed) == ((key, name) in DIFFERENT)


def test_a_published_dataset_is_judged_or_said_to_be_absent():
    for paper in papers()[:3]:
        for name in (
            row["dataset"].removesuffix("_all") for row in rows_of(f"{paper.key}_datasets")
        ):
            assert (name in paper.datasets.own) != (name in paper.datasets.absent)


def test_complexities_are_of_methods_of_the_papers():
    complexities = rows_of("complexities")
    assert {row["paper"] for row in complexities} == {paper.key for paper in papers()}
    assert len({(row["paper"], row["method"]) for row in complexities}) == len(complexities)
    assert all("O(" in row["time"] for row in complexities)
