"""The configs that are made for claims."""

from pathlib import Path

import pytest

from dsgkit.config.load import read_config
from dsgkit.config.schema import load_experiment
from dsgkit.papers.schema import papers

CLAIMS = Path(__file__).parents[2] / "configs" / "claims"
PROFILES = {p: list(read_config(p).data.get("profiles", {})) for p in CLAIMS.glob("*.yaml")}


@pytest.mark.parametrize(
    ("path", "profile"),
    [(path, profile) for path in sorted(PROFILES) for profile in (None, *PROFILES[path])],
    ids=lambda value: getattr(value, "stem", value),
)
def test_a_config_loads_in_every_profile_and_comes_back(path, profile, tmp_path):
    experiment = load_experiment(path, profile=profile)
    assert experiment.threads == 1
    assert not any("," in spec.label for spec in experiment.solvers.values())
    assert experiment.protocol.trials >= 5
    file = tmp_path / "config.yaml"
    file.write_text(experiment.to_yaml(), encoding="utf-8")
    assert load_experiment(file) == experiment


def test_every_config_is_judged_by_a_claim_in_all_its_profiles():
    profiles = {}
    for paper in papers():
        for criterion in (one for claim in paper.claims for one in claim.judged):
            judged = {*paper.profiles.protocol, *paper.profiles.useful}
            profiles |= dict.fromkeys(criterion.configs or (), judged)
    assert all({*own} <= profiles[path.stem] for path, own in PROFILES.items())
