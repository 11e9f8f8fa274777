"""The published tables, and what is told of them, against all clusterings of a few rows."""

from itertools import groupby

import numpy as np
import pytest

from dsgkit.data.catalogue import DATASETS
from dsgkit.published import bsgd_svc
from dsgkit.published.audit import (
    contradictions,
    findings,
    nmi_at_least,
    nmi_at_most,
    rand_at_least,
    same_class_share,
)
from dsgkit.published.clusterings import published_of
from dsgkit.tasks import metrics


def test_the_tables_are_whole():
    figures = bsgd_svc.figures()
    assert len(figures) == 15 * 6 * 7
    tables = {t: list(part) for t, part in groupby(figures, lambda figure: figure.table)}
    assert [(t, len(part), part[0].measure) for t, part in tables.items()] == [
        (number, 90, measure) for number, measure in enumerate(bsgd_svc.MEASURES, 2)
    ]
    assert all(0 <= f.value <= 1 for t in (2, 3, 4) for f in tables[t])
    seen = {
        ("jain", "BSGD-R", "nmi"): 0.98,
        ("car", "FSVC", "compactness"): 14.68,
        ("musk", "FSVC", "davies_bouldin"): 0.01,
        ("flame", "FSVC", "training_seconds"): 15.16,
        ("shuttle", "SVC", "clustering_seconds"): 1972.61,
    }
    assert {key: bsgd_svc.value(*key) for key in seen} == seen
    assert {f.dataset for f in figures if f.budget != 50} == {"shuttle"}
    assert {f.decimals for f in figures} == {0, 1, 2}  # as 925, 0.5 and 0.3 are printed


def test_the_class_sizes_are_those_of_all_rows():
    known = bsgd_svc.datasets()
    assert len(known) == 15
    assert all(sum(entry.class_sizes) == entry.n_rows for entry in known.values())
    other = {
        name: (entry.n_classes, len(entry.class_sizes))
        for name, entry in known.items()
        if entry.n_classes != len(entry.class_sizes)
    }
    assert other == {"glass": (7, 6), "shuttle": (5, 7)}


def test_impossible_figures_are_found():
    found = findings()
    impossible = {key for key, finding in found.items() if finding.impossible}
    assert len(found) == 90 and len(impossible) == 22
    assert {
        ("flame", "FSVC"),  # purity .03
        ("musk", "BSGD-R"),  # purity .42, where one class has .85
        ("spiral", "SVC"),  # Rand .15
        ("pathbased", "FSVC"),  # Rand 1.00 and NMI .12
        ("jain", "FSVC"),  # NMI 1.00 and purity .69
        ("iris", "SVC"),  # purity 1.00, Rand .97 and NMI .63
    } <= impossible
    by_purity = {key for key in impossible if found[key].impossible[0].startswith("purity")}
    assert impossible - by_purity == {
        ("aggregation", "SVC"),
        ("aggregation", "SGD"),
        ("iris", "SVC"),
        ("pathbased", "FSVC"),
    }


def test_figures_of_no_structure_are_found():
    degenerate = {key: found.degenerate for key, found in findings().items() if found.degenerate}
    one = [("aggregation", "FSVC"), ("compound", "FSVC"), ("car", "FSVC"), ("musk", "BSGD-R")]
    each = [("car", "SVC"), ("car", "SGD"), ("musk", "SVC"), ("musk", "FSVC")]
    assert degenerate == dict.fromkeys(one, "one cluster") | dict.fromkeys(each, "singletons")


def test_times_that_contradict_the_text_are_found():
    found = {}
    for figure in bsgd_svc.figures():
        if bsgd_svc.contradiction(figure.dataset, figure.method, figure.measure):
            found.setdefault((figure.measure, figure.method), set()).add(figure.dataset)
    every = set(bsgd_svc.datasets())
    assert found == {
        ("training_seconds", "BSGD-PNN"): {"aggregation", "breast_cancer_wisconsin", "r15", "car"},
        ("clustering_seconds", "BSGD-PNN"): every - {"musk"},
        ("clustering_seconds", "SGD"): {"car", "shuttle"},
        ("clustering_seconds", "FSVC"): {"shuttle"},
        ("clustering_seconds", "BSGD-R"): {"abalone_coded", "car", "shuttle"},
    }


def test_what_was_published_stands_beside_the_row_of_the_papers_rule():
    figures = published_of("shuttle").figures
    flags = {(f.solver, f.measure): f.flag for f in figures}
    assert {solver for solver, _ in flags} == {
        *("svc", "sgd_paper", "fsvc", "bsgd_r", "bsgd_pnn_paper", "bsgd_prn_paper")
    }
    assert "the text" in flags["bsgd_pnn_paper", "clustering_seconds"]
    assert flags["bsgd_prn_paper", "clustering_seconds"] == ""
    assert flags["svc", "purity"].startswith("impossible")


def partitions(n):
    """Yield all partitions of n rows, as labels."""

    def grown(labels, used):
        if len(labels) == n:
            yield labels
            return
        for label in range(used + 1):
            yield from grown([*labels, label], max(used, label + 1))

    yield from grown([0], 1)


@pytest.mark.parametrize("sizes", [(2, 2, 1), (4, 1), (3, 1, 1)])
def test_bounds_hold_for_every_clustering(sizes):
    classes = np.repeat(np.arange(len(sizes)), sizes)
    rands = []
    for labels in partitions(len(classes)):
        found = metrics.class_indices(classes, labels)
        purity, rand, nmi = found["purity"], found["rand"], found["nmi"]
        rands.append(rand)
        assert nmi_at_least(sizes, purity, rand) - 1e-12 <= nmi
        assert nmi <= nmi_at_most(sizes, purity) + 1e-12
        assert not contradictions(sizes, round(purity, 2), round(rand, 2), round(nmi, 2))
    n_pairs = len(classes) * (len(classes) - 1) / 2
    assert rand_at_least(sizes) <= min(rands) + 1e-12
    assert min(rands) <= rand_at_least(sizes) + len(classes) / 2 / n_pairs
    assert rands[0] == pytest.approx(same_class_share(sizes))  # one cluster
    assert rands[-1] == pytest.approx(1 - same_class_share(sizes))  # of one row each


def test_every_dataset_is_registered():
    for known in bsgd_svc.datasets().values():
        info = DATASETS[known.name]
        assert info.n_rows == known.n_rows
        assert info.n_features == (166 if known.name == "musk" else known.n_features)
