"""The study of published triples of indices that no clustering has."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from dsgkit.published.audit import Finding
from dsgkit.tasks import indices

SIZES = (30, 20, 10)


@pytest.fixture
def study(script):
    return script("study_published_triples")


def triple_of(labels):
    classes = np.repeat([0, 1, 2], SIZES)
    return [
        indices.purity(classes, labels),
        indices.rand_index(classes, labels),
        indices.normalized_mutual_information(classes, labels),
    ]


def test_a_clustering_is_found_of_the_triple_that_one_has(study):
    labels = np.repeat([0, 1, 0, 2], [25, 5, 20, 10])
    assert study["is_found"](SIZES, triple_of(labels), study["USUAL"], 50_000, 0)


def test_none_is_found_of_a_purity_below_the_largest_class(study):
    triple = (0.3, 0.5, 0.2)
    assert not study["is_found"](SIZES, triple, study["USUAL"], 1000, 0)


def test_other_readings_make_a_triple_possible(study):
    one_cluster_by_class = (1.0, sum(n * (n - 1) for n in SIZES) / (60 * 59), 0.0)
    reading = study["USUAL"]._replace(purity="class")
    assert study["is_found"](SIZES, one_cluster_by_class, reading, 50_000, 0)


def test_what_was_found_is_counted(study, monkeypatch):
    found = {("flame", "FSVC"): Finding("flame", "FSVC", ("why",), "")}
    monkeypatch.setitem(study["main"].callback.__globals__, "findings", lambda: found)
    done = CliRunner().invoke(study["main"], ["--steps", "100"])
    assert done.exit_code == 0, done.output
    assert "flame FSVC: none" in done.output
    assert "any of these together: 0 of 1" in done.output
