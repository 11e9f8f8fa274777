"""The study of published triples of indices that no clustering has."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

from dsgkit.published.audit import Finding
from dsgkit.tasks import metrics
from tests.scripts.conftest import SCRIPTS, invoke

SIZES = (30, 20, 10)


@pytest.fixture(scope="module")
def study():
    """The script, whose search is compiled once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        yield runpy.run_path(str(SCRIPTS / "study_published_triples.py"))


def triple_of(labels):
    classes = np.repeat([0, 1, 2], SIZES)
    found = metrics.class_indices(classes, labels)
    return [found[name] for name in ("purity", "rand", "nmi")]


def test_a_clustering_is_found_of_the_triple_that_one_has(study):
    labels = np.repeat([0, 1, 0, 2], [25, 5, 20, 10])
    assert study["is_found"](SIZES, triple_of(labels), study["USUAL"], 5_000, 0)


def test_none_is_found_of_a_purity_below_the_largest_class(study):
    triple = (0.3, 0.5, 0.2)
    assert not study["is_found"](SIZES, triple, study["USUAL"], 100, 0)


def test_other_readings_make_a_triple_possible(study):
    one_cluster_by_class = (1.0, sum(n * (n - 1) for n in SIZES) / (60 * 59), 0.0)
    reading = study["USUAL"]._replace(purity="class")
    assert study["is_found"](SIZES, one_cluster_by_class, reading, 5_000, 0)


def test_what_was_found_is_counted(study, monkeypatch):
    found = {("flame", "FSVC"): Finding("flame", "FSVC", ("why",), "")}
    monkeypatch.setitem(study["main"].callback.__globals__, "findings", lambda: found)
    output = invoke(study["main"], "--steps", 100).output
    assert "flame FSVC: none" in output
    assert "any of these together: 0 of 1" in output
