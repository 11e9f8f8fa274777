"""The configs that come with the project; their resolved settings are golden."""

from functools import cache
from pathlib import Path

import pytest

from dsgkit.config.load import read_config, shipped_names
from dsgkit.config.schema import load_experiment, load_stored
from dsgkit.data.catalogue import DATASETS
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.user_code import is_import_path

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
def settings(path):
    return read_config(path).data


@cache
def load(path, profile=None):
    return load_experiment(path, profile=profile)


def each(path):
    """Every form of a config, plain and by profile."""
    return [load(path, profile) for profile in (None, *settings(path).get("profiles", {}))]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_profile_is_loaded_and_written(path, tmp_path):
    for experiment in each(path):
        (tmp_path / "config.yaml").write_text(experiment.to_yaml(), encoding="utf-8")
        assert load_stored(tmp_path / "config.yaml").solvers == experiment.solvers
    assert load_experiment(tmp_path / "config.yaml") == experiment


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_every_config_is_described_and_compares_all_solvers(path):
    head = path.read_text(encoding="utf-8").partition("\n")[0]
    assert f"{DATASETS[settings(path)['dataset']['name']].n_rows:,}" in head
    experiment = load(path)
    kind = experiment.protocol.kind
    compared = {spec.kind for spec in experiment.solvers.values() if not is_import_path(spec.kind)}
    there = {key for key, solver in SOLVERS.items() if kind in solver.tasks}
    assert compared < there if path.stem == "quickstart" else compared == there
    worthwhile = "useful" if kind == "semi_supervised_svm" else "wide"
    assert set(settings(path)["profiles"]) == {"quick", "reference", worthwhile}


def test_results_do_not_depend_on_defaults_that_are_chosen_for_newcomers():
    seen = set()
    for name in shipped_names():
        for experiment in [] if "base/" in name else each(CONFIGS / f"{name}.yaml"):
            for solver in experiment.solvers.values():
                said = {*solver.params, *(name for grid in solver.grids for name in grid)}
                assert said >= set(TUNED.get(solver.kind, ())), experiment.name
                seen.add(solver.kind)
    assert seen > {*TUNED}
