"""Tests of published figures: of the clustering paper, and of made-up ones beside results."""

import csv
from importlib.resources import files

import pytest

from dsgkit.papers.criteria import Scope
from dsgkit.papers.evidence import Case
from dsgkit.tasks.measures import Published, PublishedFigure
from tests.papers.conftest import DATASETS, TASK, judged

VARIANTS, BASELINES = ["BSGD-R", "BSGD-PNN", "BSGD-PRN"], ["SVC", "SGD", "FSVC"]
PUBLISHED = {"test": "published", "a": VARIANTS, "b": BASELINES}


def printed_count(measure, good, strictly=False):
    """Count the datasets in the file itself."""
    with files("dsgkit.published").joinpath("bsgd_svc.csv").open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["measure"] == measure]
    best = [
        (good(float(r[m]) for m in VARIANTS), good(float(r[m]) for m in BASELINES)) for r in rows
    ]
    return sum(a != b if strictly and good((a, b)) == a else good((a, b)) == a for a, b in best)


@pytest.mark.parametrize(
    "measure, more, n, verdict",
    [
        ("purity", {"holds": 12}, 12, "holds"),
        ("purity", {"holds": 12, "in_part": 8, "strictly": True}, 8, "holds in part: 8 of 15"),
        ("compactness", {"holds": 11}, 11, "holds"),
        ("davies_bouldin", {"holds": 15}, 0, "does not hold"),
        ("davies_bouldin", {"holds": 15, "better": "higher"}, 15, "holds"),
    ],
)
def test_published(measure, more, n, verdict):
    found, points = judged(PUBLISHED | {"measure": measure} | more, Scope())
    assert (str(found), sum(point.counts for point in points)) == (verdict, n)


@pytest.mark.parametrize("measure, good", [("nmi", max), ("training_seconds", min)])
def test_the_count_is_that_of_the_file(measure, good):
    _, points = judged(PUBLISHED | {"measure": measure}, Scope())
    assert sum(point.counts for point in points) == printed_count(measure, good)


@pytest.mark.parametrize(
    "more, verdict",
    [
        ({}, "does not hold"),
        ({"in_part": "more than half"}, "holds in part: 68 of 90"),
        ({"holds": 0.7}, "holds"),
    ],
)
def test_audit(more, verdict):
    assert str(judged({"test": "audit"} | more, Scope())[0]) == verdict


REPRODUCED = {"test": "reproduced", "measures": ["auc", "error"], "margin": 0.05}


def published(flag=""):
    figures = [
        PublishedFigure(solver="own", measure=name, value=value, tolerance=0.05, flag=flag)
        for name, value in (("auc", 0.9), ("error", 0.2))
    ]
    return TASK.model_copy(
        update={"published": Published(source="a paper", figures=tuple(figures))}
    )


@pytest.mark.parametrize(
    "auc, error, flag, verdict",
    [
        (0.9, 0.2, "", "holds"),
        (0.846, 0.254, "", "holds"),  # rounding counts
        (0.9, 0.26, "", "does not hold"),
        (0.9, 0.2, "impossible", "not testable here: own: impossible (codrna, ijcnn1, skin)"),
    ],
)
def test_reproduced(made, auc, error, flag, verdict):
    fit = {"scores": {"auc": auc, "error": error}}
    fits, task = {"own": {2000: [fit] * 5}}, published(flag)
    cases = [Case(name, made(fits, dataset=name, task=task)) for name in DATASETS[:3]]
    assert str(judged(REPRODUCED, Scope(cases))[0]) == verdict


@pytest.mark.parametrize(
    ("n_trials", "verdict"), [(5, "holds in part: 2 of 3"), (4, "not testable here")]
)
def test_reproduced_in_part(made, n_trials, verdict):
    cases = []
    for dataset, auc in zip(DATASETS, (0.9, 0.9, 0.5), strict=False):
        fits = {"own": {2000: [{"scores": {"auc": auc, "error": 0.2}}] * n_trials}}
        cases.append(Case(dataset, made(fits, task=published())))
    assert str(judged(REPRODUCED | {"in_part": 0.5}, Scope(cases))[0]).startswith(verdict)
