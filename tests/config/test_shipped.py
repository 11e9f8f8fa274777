"""The configs that come with the project."""

from functools import cache
from pathlib import Path

import pytest

from dsgkit.config import shipped
from dsgkit.config.load import read_config
from dsgkit.config.schema import load_experiment, load_stored
from dsgkit.config.shipped import list_configs
from dsgkit.data.catalogue import DATASETS
from dsgkit.published import bsgd_svc
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.user_code import is_import_path

CONFIGS = Path(__file__).parents[2] / "configs"
SUMMARIES = list_configs(CONFIGS)
PAPER = ("codrna", "ijcnn1", "susy", "covtype", "higgs", "skin", "dota2", "unclonable")
TENTHS = [k / 10 for k in range(11)]


ORDINAL = (
    *("3droad", "3droad_5k", "sgemm", "year", "yolanda", "baby", "beauty", "clothing", "pet"),
    *("abalone", "esl", "swd", "lev", "era", "musical_instruments"),
)
S3VM = ("codrna", "w6a", "w8a", "ijcnn1", "susy", "skin", "higgs", "dota2", "hepmass")
SU = (
    *("codrna", "ijcnn1", "skin", "covtype", "poker", "poker_cards", "connect4", "shuttle"),
    *("letter", "usps", "mnist", "mnist8m", "acoustic", "combined", "year", "sim", "svhn"),
)
CLUSTERING = (
    *("aggregation", "compound", "d31", "flame", "jain", "pathbased", "r15", "spiral", "iris"),
    *("glass", "breast_cancer_wisconsin", "car", "abalone_coded", "musk", "shuttle"),
)
MADE = ("rings", "moons", "gaussians_3", "gaussians_4")


@cache
def load(name, profile=None):
    return load_experiment(CONFIGS / f"{name}.yaml", profile=profile)


@pytest.mark.parametrize("summary", SUMMARIES, ids=lambda summary: summary.name)
def test_every_profile_is_loaded_and_written(summary, tmp_path):
    for profile in (None, *summary.profiles):
        experiment = load(summary.name, profile)
        assert experiment.name == summary.name + (f"-{profile}" if profile else "")
        (tmp_path / "config.yaml").write_text(experiment.to_yaml(), encoding="utf-8")
        assert load_stored(tmp_path / "config.yaml").solvers == experiment.solvers
    assert load_experiment(tmp_path / "config.yaml") == experiment


@pytest.mark.parametrize("summary", SUMMARIES, ids=lambda s: s.name)
def test_every_config_is_short_described_and_compares_all_solvers(summary):
    lines = summary.path.read_text(encoding="utf-8").splitlines()
    assert 3 <= len(lines) <= (18 if summary.name == "quickstart" else 9)
    info = DATASETS[summary.dataset]
    rows = f"{info.n_rows:,}"
    assert rows in summary.description
    experiment = load(summary.name)
    kind = experiment.protocol.kind
    compared = {experiment.solvers[key].kind for key in summary.solvers}
    own = {k for k in compared if is_import_path(k)}
    there = {k for k, solver in SOLVERS.items() if kind in solver.tasks}
    if summary.name == "quickstart":  # a first look takes a minute
        assert compared - own < there
    else:
        assert compared - own == there
    worthwhile = "useful" if kind == "semi_supervised_svm" else "wide"
    assert set(summary.profiles) == {"quick", "reference", worthwhile}


def test_the_grids_of_the_fifth_paper():
    assert set(CLUSTERING) == set(bsgd_svc.datasets())
    odd = [2.0**k for k in range(-5, 6, 2)]
    keys = {bsgd_svc.key_of(method): method for method in bsgd_svc.METHODS}
    for name in CLUSTERING:
        in_plane = bsgd_svc.datasets()[name].n_features == 2
        scale = load(f"{name}_clustering").protocol.scale
        assert scale == ("raw" if in_plane else "standard")
        assert keys.keys() <= load(f"{name}_clustering").solvers.keys()
        for key, method in keys.items():
            solver = load(f"{name}_clustering").solvers[key]
            (grid, *_) = solver.grids
            # the C of a sphere has smaller values beside the paper's
            smaller = [2.0**k for k in (-11, -9, -7)] if method in ("SVC", "FSVC") else []
            assert (grid["gamma"], grid["C"]) == (odd, [*smaller, *odd])
            if method.startswith("BSGD"):
                budgets = {f.budget for f in bsgd_svc.figures() if f.dataset == name}
                assert {solver.params["budget"]} == budgets
            if key == "fsvc":
                assert grid["share"] == grid["radius"] == TENTHS[1:]


@pytest.mark.parametrize("setting", ["abalone_ordinal", "codrna_su", "mnist_su"])
def test_the_reference_profile_leaves_no_method_out(setting):
    solvers = load(setting, "reference").solvers
    assert solvers.keys() == load(setting).solvers.keys()
    assert not any(solver.at_most for solver in solvers.values())


def test_labels_say_by_which_rule_a_clustering_solver_stops():
    """Some by their default."""
    solvers = load("iris_clustering").solvers
    found = {}
    for key in ("bsgd_r", "sgd", "bsgd_pnn", "bsgd_prn"):
        for name in [name for name in solvers if name in (key, f"{key}_epoch", f"{key}_paper")]:
            model = SOLVERS[solvers[name].kind].load()(**solvers[name].params)
            rule = "paper's stop" if model._machine(n_rows=100).patience == 1 else "epoch"
            assert solvers[name].label.endswith(rule)
            found.setdefault(key, set()).add(rule)
    assert list(found.values()) == [{"paper's stop", "epoch"}] * 4


def test_samples_are_never_called_by_the_official_name():
    for summary in SUMMARIES:
        dataset, _, setting = summary.name.rpartition("_")
        complete = {"ordinal": ORDINAL, "su": SU, "clustering": (*CLUSTERING, *MADE)}.get(
            setting, (*PAPER, *S3VM)
        )
        if dataset not in complete and summary.name != "quickstart":
            assert "not the full dataset" in summary.description


TUNED = {
    **dict.fromkeys(("svc", "fsvc", "sgd_lmoc"), ("gamma", "C")),
    "bsgd_lmoc": ("gamma", "C", "budget"),
    **dict.fromkeys(("svorex", "svorim"), ("C", "sigma")),
    **dict.fromkeys(("tsgsu", "tsgsu_p", "cuu", "su_sl", "rff_su_sl", "su_dh"), ("prior",)),
}
"""Parameters of solvers whose defaults no result may depend on."""


def test_results_do_not_depend_on_defaults_that_are_chosen_for_newcomers():
    seen = set()
    for name in shipped.names():
        profiles = read_config(CONFIGS / f"{name}.yaml").data.get("profiles", {})
        for profile in (None, *profiles):
            for key, solver in load(name, profile).solvers.items():
                said = {*solver.params, *(name for grid in solver.grids for name in grid)}
                assert said >= set(TUNED.get(solver.kind, ())), (name, profile, key)
                seen.add(solver.kind)
    assert seen > {*TUNED}
