"""The configs that are made for claims."""

from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.config.shipped import list_configs
from dsgkit.papers.claims import criteria, papers

CLAIMS = Path(__file__).parents[2] / "configs" / "claims"
SUMMARIES = list_configs(CLAIMS)


@pytest.mark.parametrize(
    ("summary", "profile"),
    [(summary, profile) for summary in SUMMARIES for profile in (None, *summary.profiles)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_config_loads_in_every_profile_and_comes_back(summary, profile, tmp_path):
    experiment = load_experiment(summary.path, profile=profile)
    assert experiment.threads == 1
    assert experiment.protocol.trials >= 5
    file = tmp_path / "config.yaml"
    file.write_text(experiment.to_yaml(), encoding="utf-8")
    assert load_experiment(file) == experiment


def test_every_config_is_judged_by_a_claim():
    named = {name for paper in papers() for _, one in criteria(paper) for name in one.configs or ()}
    assert {summary.name for summary in SUMMARIES} <= named


def test_every_profile_of_a_config_is_judged():
    for paper in papers():
        judged = {*paper.profiles.protocol, *paper.profiles.useful}
        for _, criterion in criteria(paper):
            for summary in SUMMARIES:
                if summary.name in (criterion.configs or ()):
                    assert set(summary.profiles) <= judged
