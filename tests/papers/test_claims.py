"""The files of claims: strictly read, and true of configs and tasks."""

from functools import cache
from pathlib import Path

import pytest

from dsgkit.config import load_experiment
from dsgkit.config.load import resolve
from dsgkit.errors import ConfigError
from dsgkit.papers.claims import criteria, papers, read_paper
from dsgkit.papers.criteria import Compared
from dsgkit.papers.evidence import SEARCH
from dsgkit.tasks import catalogue
from dsgkit.tasks.measures import STANDARD

CONFIGS = Path(__file__).parents[2] / "configs"
DIAGNOSTICS = ("objective", "risk", "squared_norm", "symmetric_hinge_objective")
JUDGEMENTS = [(paper, claim, one) for paper in papers() for claim, one in criteria(paper)]
IDS = [f"{claim.id}-{i}" for i, (_, claim, _) in enumerate(JUDGEMENTS)]


@cache
def profiles_of(config):
    """Return the experiments of a config by profile, that without one under an empty name."""
    places = [CONFIGS / f"{config}.yaml", CONFIGS / "claims" / f"{config}.yaml"]
    path = next(place for place in places if place.is_file())
    names = resolve(path).data.get("profiles", {})
    return {name: load_experiment(path, profile=name or None) for name in ("", *names)}


def experiments(paper, criterion):
    """Yield those whose results are judged, by config."""
    names = criterion.configs or [
        f"{name}_{paper.suffix}" for name in criterion.datasets or paper.datasets.judged
    ]
    for name in names:
        there = profiles_of(name)
        yield [there[p] for p in getattr(paper.profiles, criterion.by) if p in there]


def test_every_claim_has_its_own_id():
    ids = [claim.id for paper in papers() for claim in paper.claims]
    assert len(ids) == len(set(ids))
    assert len({paper.key for paper in papers()}) == len(papers())


@pytest.mark.parametrize(("paper", "claim", "criterion"), JUDGEMENTS, ids=IDS)
def test_a_claim_names_solvers_that_its_configs_have(paper, claim, criterion):
    if not criterion.on_results:
        return
    for of_config in experiments(paper, criterion):
        assert of_config, "no profile of a config is judged"
        solvers = {key for one in of_config for key in one.solvers}
        assert {one.protocol.kind for one in of_config} == {paper.task} or criterion.configs
        assert set(criterion.solvers) <= solvers


@pytest.mark.parametrize(("paper", "claim", "criterion"), JUDGEMENTS, ids=IDS)
def test_a_claim_names_measures_that_its_configs_have(paper, claim, criterion):
    if not criterion.on_results:
        return
    named = {getattr(criterion, name, None) for name in ("measure", "over")} - {None}
    named |= set(getattr(criterion, "measures", []))
    judged_by_a_side = hasattr(criterion, "b") and criterion.test not in ("ratio", "ends", "equal")
    for of_config in experiments(paper, criterion):
        task = catalogue.get(of_config[0].protocol.kind)
        measures = (*task.measures, *STANDARD)
        sides = {name: m.better for m in measures for name in (m.name, m.clock)}
        assert named <= {SEARCH, *DIAGNOSTICS, *sides}
        if judged_by_a_side and isinstance(criterion, Compared):
            assert criterion.better or sides[criterion.measure]


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
        ("task: semi_supervised_auc", "task: auc", "unknown task 'auc'"),
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
