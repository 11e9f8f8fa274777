"""The papers' published tables: true of the data, and flagged where they cannot be right."""

import numpy as np
import pytest

from dsgkit.data.catalogue import DATASETS
from dsgkit.papers.schema import papers
from dsgkit.published import bsgd_svc, rows_of
from dsgkit.published.bsgd_svc import INDICES, MEASURES, METHODS, published_of, value

VARIANTS, BASELINES = METHODS[3:], METHODS[:3]
TABLE_1 = {row["dataset"]: row for row in rows_of("bsgd_svc_datasets.csv")}
CLASSES = {name: np.array(row["class_sizes"].split(), float) for name, row in TABLE_1.items()}
EVERY = [(name, method) for name in TABLE_1 for method in METHODS]
SLIPS = {
    ("s2auc", "higgs"): (11_000_000, 28),  # the paper takes a tenth of the rows
    ("s2auc", "unclonable"): (6_000_000, 128),  # 129 with the label
    ("s3vm", "higgs"): (11_000_000, 28),
    ("s3vm", "dota2_all"): (102_944, 116),  # 16 by a slip
}


def flags(measure):
    """Return the flag of every figure of a measure, by dataset and method."""
    place = 6 * list(MEASURES).index(measure)
    figures = {name: published_of(name).figures[place:] for name in TABLE_1}
    return {(name, method): figures[name][METHODS.index(method)].flag for name, method in EVERY}


def test_the_tables_of_bsgd_svc_are_whole():
    rows = rows_of("bsgd_svc.csv")
    tables = [(int(row["table"]), row["measure"]) for row in rows]
    assert sorted(tables) == sorted(15 * list(enumerate(MEASURES, 2)))
    assert all(0 <= value(*key, measure) <= 1 for key in EVERY for measure in INDICES)
    assert value("shuttle", "SVC", "clustering_seconds") == 1972.61
    figures = [figure for name in TABLE_1 for figure in published_of(name).figures]
    assert {figure.decimals for figure in figures} == {0, 1, 2}  # as 925, 0.5 and 0.3 are printed
    assert {figure.solver for figure in figures} == {
        *("svc", "sgd_paper", "fsvc", "bsgd_r", "bsgd_pnn_paper", "bsgd_prn_paper")
    }
    assert published_of("codrna") is None


@pytest.mark.parametrize("name", TABLE_1)
def test_sizes_of_bsgd_svc_are_those_of_the_data_but_for_slips(name):
    printed, info = TABLE_1[name], DATASETS[name]
    assert info.n_rows == int(printed["rows"]) == CLASSES[name].sum()
    assert info.n_features == (166 if name == "musk" else int(printed["features"]))
    here = {"glass": 6, "shuttle": 7}
    assert len(CLASSES[name]) == here.get(name, int(printed["classes"]))


def test_triples_of_no_clustering_or_of_no_structure_are_flagged():
    found = flags("purity")
    assert found == flags("rand") == flags("nmi")
    impossible = {key for key, flag in found.items() if flag.startswith("impossible")}
    shares = {name: sizes.max() / sizes.sum() for name, sizes in CLASSES.items()}
    by_purity = {key for key in EVERY if value(*key, "purity") + 0.005 < shares[key[0]] - 1e-9}
    # an NMI below that of any clustering of this purity and Rand index
    by_nmi = {("aggregation", "SVC"), ("aggregation", "SGD"), ("iris", "SVC")}
    assert impossible == by_purity | by_nmi | {("pathbased", "FSVC")}
    violated = dict(zip(EVERY, bsgd_svc.bounds()["violated"], strict=True))
    assert {key for key, n in violated.items() if n} == impossible
    assert violated["flame", "FSVC"] == 3 and violated["iris", "SVC"] == 1
    for key in set(EVERY) - impossible:
        sizes = CLASSES[key[0]]
        same = sizes @ (sizes - 1) / (sizes.sum() * (sizes.sum() - 1))
        ends = {"one cluster": same, "singletons": 1 - same}
        near = [
            f"the Rand index of {x}" for x in ends if abs(value(*key, "rand") - ends[x]) <= 0.005
        ]
        assert found[key] == "".join(near)


@pytest.mark.parametrize("measure", ["training_seconds", "clustering_seconds"])
def test_times_that_contradict_the_text_are_flagged(measure):
    clusters, found = measure == "clustering_seconds", flags(measure)
    for name, method in EVERY:
        seconds = {one: value(name, one, measure) for one in METHODS}
        fastest = min(seconds[one] for one in VARIANTS)
        flagged = method == "BSGD-PNN" and seconds[method] < seconds["BSGD-PRN"]
        flagged |= clusters and method in BASELINES and seconds[method] < fastest
        flagged |= clusters and method == "BSGD-R" and seconds[method] > fastest
        assert bool(found[name, method]) == flagged


@pytest.mark.parametrize("paper", papers()[:3], ids=lambda paper: paper.key)
def test_sizes_of_a_paper_are_those_of_the_catalogue_but_for_slips(paper):
    rows = rows_of(f"{paper.key}_datasets.csv")
    assert len({row["dataset"] for row in rows}) == 8
    for row in rows:
        name, printed = row["dataset"], (int(row["rows"]), int(row["features"]))
        here = DATASETS[name].n_rows, DATASETS[name].n_features
        assert here == SLIPS.get((paper.key, name), printed)
        assert (here != printed) == ((paper.key, name) in SLIPS)
        # it is judged, or said to be absent
        own = name.removesuffix("_all")
        assert (own in paper.datasets.own) != (own in paper.datasets.absent)


def test_complexities_are_of_methods_of_the_papers():
    complexities = rows_of("complexities.csv")
    assert {row["paper"] for row in complexities} == {paper.key for paper in papers()}
    assert len({(row["paper"], row["method"]) for row in complexities}) == len(complexities)
    assert all("O(" in row["time"] for row in complexities)
