"""The configs that come with the project; their resolved settings are golden."""

from functools import cache
from pathlib import Path

import pytest

from dsgkit.config.load import read_config, shipped_names
from dsgkit.config.schema import load_experiment, load_stored

CONFIGS = Path(__file__).parents[2] / "configs"
PATHS = sorted(CONFIGS.glob("*.yaml"))
TUNED = {
    **dict.fromkeys(("svc", "fsvc", "sgd_lmoc"), ("gamma", "C")),
    "bsgd_lmoc": ("gamma", "C", "budget"),
    **dict.fromkeys(("svorex", "svorim"), ("C", "sigma")),
    **dict.fromkeys(("tsgsu", "tsgsu_p", "cuu", "su_sl", "rff_su_sl", "su_dh"), ("prior",)),
}
"""Parameters of solvers whose defaults are chosen for newcomers: no result may depend on them."""


@cache
def each(path):
    """Every form of a config, plain and by profile."""
    profiles = read_config(path).data.get("profiles", {})
    return [load_experiment(path, profile=profile) for profile in (None, *profiles)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_profile_is_loaded_and_written(path, tmp_path):
    for experiment in each(path):
        (tmp_path / "config.yaml").write_text(experiment.to_yaml(), encoding="utf-8")
        assert load_stored(tmp_path / "config.yaml").solvers == experiment.solvers
    assert load_experiment(tmp_path / "config.yaml") == experiment


def test_results_do_not_depend_on_defaults_that_are_chosen_for_newcomers():
    seen = set()
    for name in shipped_names():
        for experiment in [] if "base/" in name else each(CONFIGS / f"{name}.yaml"):
            for solver in experiment.solvers.values():
                names = [name for stage in solver.search for name in stage.choices]
                assert {*solver.params, *names} >= {*TUNED.get(solver.kind, ())}, experiment.name
                seen.add(solver.kind)
    assert seen > {*TUNED}
