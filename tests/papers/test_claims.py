"""The files of claims: strictly read, and true of configs and tasks."""

import json
from functools import cache
from pathlib import Path

import pytest

from dsgkit.config.load import read_config
from dsgkit.errors import ConfigError
from dsgkit.papers.accuracy import AtLeastAsGood, BetterThan
from dsgkit.papers.claims import N_HEADLINES, criteria, papers, read_paper
from dsgkit.papers.criteria import Scope
from dsgkit.papers.evidence import SEARCH
from dsgkit.papers.times import Sooner
from dsgkit.tasks import base as tasks
from dsgkit.tasks.measures import STANDARD

ROOT = Path(__file__).parents[2]
CONFIGS, RESULTS = ROOT / "configs", ROOT / "results" / "reference"
DIAGNOSTICS = ("objective", "risk", "squared_norm", "symmetric_hinge_objective")
BY_SIDE = (AtLeastAsGood, BetterThan, Sooner)
"""Tests that need to know which values are good."""

JUDGEMENTS = [(paper, claim, one) for paper in papers() for claim, one in criteria(paper)]
IDS = [f"{claim.id}-{i}" for i, (_, claim, _) in enumerate(JUDGEMENTS)]


@cache
def config(name):
    """Return what a config says, with its bases, unvalidated: other tests load every one."""
    places = [CONFIGS / f"{name}.yaml", CONFIGS / "claims" / f"{name}.yaml"]
    return read_config(next(place for place in places if place.is_file())).data


def solvers_of(name, profiles):
    """Return the solvers that a config has in any of some profiles; ``""`` is without one."""
    data = config(name)
    there = {"": {}, **data.get("profiles", {})}
    of_each = [{**data["solvers"], **there[p].get("solvers", {})} for p in profiles if p in there]
    assert of_each, "no profile of a config is judged"
    return {key for solvers in of_each for key, settings in solvers.items() if settings is not None}


def configs_of(paper, criterion):
    """Return the configs whose results are judged."""
    if not criterion.on_results:
        return []
    return criterion.configs or [
        f"{name}_{paper.suffix}" for name in criterion.datasets or paper.datasets.judged
    ]


def test_every_claim_has_its_own_id():
    ids = [claim.id for paper in papers() for claim in paper.claims]
    assert len(ids) == len(set(ids))
    assert len({paper.key for paper in papers()}) == len(papers())


def test_every_paper_has_its_headlines():
    assert {len(paper.headlines) for paper in papers()} == {N_HEADLINES}


@pytest.mark.parametrize(("paper", "claim", "criterion"), JUDGEMENTS, ids=IDS)
def test_a_claim_names_solvers_that_its_configs_have(paper, claim, criterion):
    for name in configs_of(paper, criterion):
        profiles = getattr(paper.profiles, criterion.by)
        assert set(criterion.solvers) <= solvers_of(name, profiles)
        assert config(name)["protocol"]["kind"] == paper.task


@pytest.mark.parametrize(("paper", "claim", "criterion"), JUDGEMENTS, ids=IDS)
def test_a_claim_names_measures_of_its_task(paper, claim, criterion):
    measures = (*tasks.get(paper.task).measures, *STANDARD)
    sides = {name: m.better for m in measures for name in (m.name, m.clock)}
    if not criterion.on_results:
        return
    named = {getattr(criterion, "measure", None), *getattr(criterion, "measures", [])} - {None}
    assert named <= {SEARCH, *DIAGNOSTICS, *sides}
    if isinstance(criterion, BY_SIDE):
        assert criterion.better or sides[criterion.measure]


KEPT = {file.stem: file for file in (RESULTS / "studies").glob("*.json")}
OF_STUDIES = [
    pytest.param(one, id=f"{claim.id}-{one.study}")
    for _, claim, one in JUDGEMENTS
    if getattr(one, "study", None) in KEPT
]


@pytest.mark.parametrize("criterion", OF_STUDIES)
def test_a_kept_study_has_the_numbers_that_a_claim_reads(criterion):
    numbers = json.loads(KEPT[criterion.study].read_text())["numbers"]
    points = criterion.points(Scope(studies={criterion.study: numbers}))
    assert all(point.counts is not None for point in points)


PAPER = """
number: 1
key: mine
title: A paper
citation: Somebody, 2020
task: semi_supervised_auc
suffix: s2auc
profiles: {protocol: [reference]}
datasets: {own: [codrna]}
claims:
- id: mine-01
  claim: A is equal to b.
  place: sect. 1
  kind: accuracy
  judged:
  - {by: protocol, test: equal, a: x, b: y, measure: auc, margin: 0.01}
"""


@pytest.mark.parametrize(
    "old, new, told",
    [
        ("margin: 0.01", "margins: 0.01", ":16: claims.0.judged.0.margins: "),
        (", margin: 0.01", "", ":16: claims.0.judged.0: margin: Field required"),
        ("margin: 0.01", "margin: -1.0", "greater than or equal to 0"),
        ("test: equal", "test: alike", "'alike' found using 'test'"),
        ("by: protocol", "by: luck", "should be 'protocol' or 'useful'"),
        ("margin: 0.01", "margin: 0.01, holds: 1.5", "must be a share between 0 and 1, got 1.5"),
        ("margin: 0.01", "margin: 0.01, holds: most", "holds"),
        ("margin: 0.01", "margin: 0.01, datasets: [skin]", "not a dataset of the paper: skin"),
        ("claims:", "headlines: {mine-01: It is.}\nclaims:", "headlines: must be 3"),
        ("claims:", "headlines: {mine-9: It is.}\nclaims:", "no such claim: mine-9"),
        ("id: mine-01", "id: other-01", "must begin with mine-"),
        ("task: semi_supervised_auc", "task: auc", "unknown name 'auc'"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, old, new, told):
    file = tmp_path / "mine.yaml"
    file.write_text(PAPER)
    assert read_paper(file).claims[0].judged[0].margin == 0.01
    assert old in PAPER
    file.write_text(PAPER.replace(old, new))
    with pytest.raises(ConfigError) as error:
        read_paper(file)
    assert told in str(error.value)
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)
