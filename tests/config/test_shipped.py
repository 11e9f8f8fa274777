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
POWERS = [2.0**k for k in range(-3, 4)]
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
TENS = [10.0**k for k in range(-3, 4)]


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


FIVE = {"labeled": 200, "trials": 10, "folds": 5, "scale": (0.0, 1.0)}
PROTOCOLS = {
    "s2auc": (PAPER, FIVE),
    "ordinal": (ORDINAL, FIVE | {"labeled": 500}),
    "s3vm": (S3VM, FIVE),
    "su": (SU, {"pairs": 5000, "trials": 10, "folds": 5, "select": "zero_one"}),
    "clustering": (CLUSTERING, {"trials": bsgd_svc.N_RUNS}),
}


@pytest.mark.parametrize("setting", PROTOCOLS)
def test_the_default_is_the_papers_protocol(setting):
    names, protocol = PROTOCOLS[setting]
    for name in names:
        experiment = load(f"{name}_{setting}")
        found = {key: getattr(experiment.protocol, key) for key in protocol}
        assert found == protocol, name
        assert experiment.dataset.name == (
            "dota2_all" if (name, setting) == ("dota2", "s3vm") else name
        )
        if setting in ("s2auc", "s3vm"):
            assert experiment.sizes[-1] == "all"
            assert experiment.outputs[-1] == "gain_table"
        if setting == "su":
            assert experiment.sizes == [10_000, 100_000, "all"]


BOTH = {"lam": POWERS, "sigma": POWERS}
FULL = BOTH | {"gamma": TENTHS}
WIDE = [2.0**k for k in range(-7, 8)]
SIGMAS_OF_PRODUCTS = [0.001, 0.01, 0.1, 1.0]
STEPS = {"batch_size": 256, "n_features": 256, "n_iterations": None, "theta_lam": 1.5, "t0": 0.0}
ROUNDS = {"batch_size": 1000, "n_features": 1000, "n_iterations": 100}
C_OF_ROWS = pytest.approx([C * FIVE["labeled"] for C in TENS])
OF_PAPERS = [  # setting, solvers, part of their first grid, and some of their parameters
    ("s2auc", "samult rff_s2auc nystrom_s2auc qsg_s2auc_p", FULL, {}),
    ("s2auc", "qsg_s2auc", FULL, {}),
    ("s2auc", "pnu_auc", {"eta": [-t for t in TENTHS[:0:-1]] + TENTHS}, {}),
    ("ordinal", "m_pnu_auc", {}, {"prior": "class_proportions"}),
    ("ordinal", "supervised", {}, {"gamma": 1.0}),
    ("s3vm", "tsgs3vm frs3vm bgs3vm", {"C": TENS, "sigma": TENS, "step": TENS[:4]}, {}),
    ("s3vm", "tsgs3vm frs3vm bgs3vm", {}, {"C_star": None}),
    ("s3vm", "tsgs3vm", {}, {"batch_size": 256}),
    ("s3vm", "bls3vm s3vm_light", {"C_star_ratio": [1.0], "C": C_OF_ROWS, "sigma": TENS}, {}),
    ("s3vm", "supervised all_labels self_training", {"C": C_OF_ROWS, "sigma": TENS}, {}),
    ("su", "tsgsu tsgsu_paper tsgsu_uncorrected", {"lam": WIDE}, ROUNDS),
    ("su", "cuu_2000", {}, {"n_centers": 2000}),
    ("su", "cuu_all", {}, {"n_centers": None}),
]


@pytest.mark.parametrize(("setting", "keys", "grid", "params"), OF_PAPERS)
def test_grids_and_parameters_are_the_papers(setting, keys, grid, params):
    for name in PROTOCOLS[setting][0]:
        solvers = load(f"{name}_{setting}").solvers
        for key in keys.split():
            assert {part: solvers[key].grids[0][part] for part in grid} == grid, (name, key)
            assert solvers[key].params.items() >= params.items(), (name, key)


EXACT = {
    "pnu_auc": {"prior": "class_proportion", "n_centers": None},
    "supervised": {"gamma": 1.0},
    "qsg_s2auc": STEPS,
}


def test_nothing_else_is_set_or_searched_in_the_first_and_the_third_paper():
    for name in PAPER:
        solvers = load(f"{name}_s2auc").solvers
        assert {key: solvers[key].params for key in EXACT} == EXACT
        for key in solvers.keys() - {"logistic"}:
            assert solvers[key].grids[0].items() >= BOTH.items(), (name, key)
    for name in ORDINAL:
        solvers = load(f"{name}_ordinal").solvers
        for key in ("qs3orao", "qs3orao_hinge", "exact_s2or", "rff_s2or"):
            assert solvers[key].grids[0] == FULL
            assert solvers[key].search[1].coordinates == {"gamma": TENTHS}


def test_what_solvers_are_compared_with_and_the_kernels_of_images():
    for name in S3VM:
        for key, solver in load(f"{name}_s3vm").solvers.items():
            without = key in ("supervised", "all_labels")
            assert solver.against == (None if without else "supervised")
    for name in SU:
        images = name in ("mnist", "mnist8m", "sim", "svhn")
        for key in ("tsgsu", "su_sl", "cuu_all", "cuu_2000"):
            (grid, *_) = load(f"{name}_su").solvers[key].grids
            assert grid["sigma"] == (SIGMAS_OF_PRODUCTS if images else WIDE)
            products = [f"dot_product({power})" for power in (1, 3, 5)]
            assert grid.get("kernel") == (products if images else None)


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


@pytest.mark.parametrize("profile", [None, "reference"])
def test_the_papers_own_variants_are_searched_as_the_rows_beside_them(profile):
    solvers = load("abalone_ordinal", profile).solvers
    assert solvers["qs3orao_hinge"].params["thresholds"] == "hinge"
    assert solvers["qs3orao_hinge"].search == solvers["qs3orao"].search
    assert solvers["qs3orao_hinge"].params == solvers["qs3orao"].params | {"thresholds": "hinge"}
    for name in ("codrna_su", "mnist_su"):
        solvers = load(name, profile).solvers
        full, few = solvers["su_dh_full"], solvers["su_dh"]
        assert full.params == few.params | {"n_centers": None} and full.search == few.search


@pytest.mark.parametrize("setting", ["abalone_ordinal", "codrna_su", "mnist_su"])
def test_the_reference_profile_leaves_no_method_out(setting):
    solvers = load(setting, "reference").solvers
    assert solvers.keys() == load(setting).solvers.keys()
    assert not any(solver.at_most for solver in solvers.values())


@pytest.mark.parametrize("profile", [None, "quick", "reference", "wide"])
def test_both_rules_of_stopping_are_compared_on_the_same_grid(profile):
    solvers = load("iris_clustering", profile).solvers
    pairs = {
        "bsgd_r": "bsgd_r_epoch",
        "sgd": "sgd_paper",
        "bsgd_pnn": "bsgd_pnn_paper",
        "bsgd_prn": "bsgd_prn_paper",
    }
    for one, other in pairs.items():
        rules = {stop_of(solvers[key]) for key in (one, other)}
        assert rules == {"paper", "epoch"}
        for key in (one, other):
            assert solvers[key].label.endswith(
                {"paper": "paper's stop"}.get(stop_of(solvers[key]), "epoch")
            )
        assert solvers[one].grids == solvers[other].grids
        assert solvers[one].search_at == solvers[other].search_at


def stop_of(solver):
    """Return by which rule a solver of a config stops, its own default included."""
    machine = SOLVERS[solver.kind].load()(**solver.params)._machine(n_rows=100)
    return "paper" if machine.patience == 1 else "epoch"


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
