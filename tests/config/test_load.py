"""Bases, profiles, overrides, defaults and the way back to YAML."""

import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from dsgkit.config.schema import SolverSpec, Stage, load_experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.data.spec import resolve
from dsgkit.data.targets import Target
from dsgkit.errors import ConfigError, ResultsError
from dsgkit.experiment.folder import check_settings
from tests.config.conftest import MINIMAL

BASE = """\
name: of the base
dataset: {name: digits}
protocol: {kind: semi_supervised_auc, trials: 7, labeled: 50}
solvers:
  samult: {grid: {lam: [1, 2], sigma: 1}}
  rff_s2auc: {params: {n_features: 10}, grid: {sigma: 1}}
profiles:
  quick: {protocol: {trials: 2}, sweep: {unlabeled: [9]}, solvers: {rff_s2auc: {label: R}}}
  wide: {seed: 4}
"""


def test_a_minimal_config_gets_the_papers_defaults(folder):
    experiment = load_experiment(folder(MINIMAL, "my_name.yaml"))
    assert (experiment.name, experiment.seed, experiment.threads) == ("my_name", 0, 1)
    protocol = experiment.protocol
    assert (protocol.labeled, protocol.trials, protocol.folds) == (200, 10, 5)
    assert protocol.scale == (0.0, 1.0)
    assert experiment.sweep == {"unlabeled": ["all"]}
    assert experiment.outputs[:3] == ["auc_table", "time_table", "auc_curve"]
    grid = {"lam": [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0], "sigma": [1.0]}
    expected = SolverSpec(kind="samult", label="SAMULT", search=(Stage(grid=grid),))
    assert experiment.solvers["samult"] == expected


def test_numbers_are_stored_as_the_solver_takes_them(folder):
    params = "{lam: 2^-3, sigma: 1, batch_size: 2^5, n_features: 64.0, t0: stable}"
    text = MINIMAL.replace("  samult:\n", f"  qsg_s2auc:\n    params: {params}\n")
    text = text.replace("grid: {lam: 2^-3..2^3, sigma: 1}", "grid: {gamma: [0, 1]}")
    spec = load_experiment(folder(text)).solvers["qsg_s2auc"]
    assert repr(spec.params) == (
        "{'lam': 0.125, 'sigma': 1.0, 'batch_size': 32, 'n_features': 64, 't0': 'stable'}"
    )
    assert repr(spec.search[0].choices) == "{'gamma': [0.0, 1.0]}"


def test_a_file_and_its_profiles_are_laid_over_its_base(folder):
    folder(BASE, "base/b.yaml")
    path = folder(
        "extends: base/b.yaml\nprotocol: {labeled: 60, trials: 9}\nseed: 2\n"
        "solvers: {samult: {grid: {lam: 3}}, rff_s2auc: null}\n"
        "profiles: {quick: {protocol: {folds: 3}}, own: {seed: 5}}\n"
    )
    plain = load_experiment(path)
    assert (plain.name, plain.protocol.labeled, plain.protocol.trials) == ("c", 60, 9)
    assert list(plain.solvers) == ["samult"]
    assert plain.solvers["samult"].search == (Stage(grid={"lam": [3.0], "sigma": [1.0]}),)
    quick = load_experiment(path, profile="quick")
    assert quick.name == "c-quick"
    assert (quick.protocol.trials, quick.protocol.folds, quick.seed) == (2, 3, 2)
    assert quick.sizes == [9]
    assert list(quick.solvers) == ["samult"], "what the file removes, no profile brings back"
    assert [load_experiment(path, profile=p).seed for p in ("wide", "own")] == [4, 5]
    folder("extends: c.yaml\nsolvers: {rff_s2auc: {params: {sigma: 5}}}\n", "again.yaml")
    assert load_experiment("again.yaml").solvers["rff_s2auc"].params == {"sigma": 5.0}


def test_overrides_come_last_and_in_order(folder):
    overrides = [
        "protocol.trials=3",
        "protocol.trials=4",
        "solvers.samult.grid.lam=2^0..2^2",
        "solvers.samult.search_at.unlabeled=100",
        "solvers.samult.label=a = b",
        "solvers.pnu_auc={}",
        "solvers.pnu_auc=null",
        "sweep.unlabeled=[5, all]",
    ]
    experiment = load_experiment(folder(BASE), profile="quick", overrides=overrides)
    assert experiment.name.startswith("of the base-quick-")
    assert experiment.protocol.trials == 4
    samult = experiment.solvers["samult"]
    assert samult.search[0].choices["lam"] == [1.0, 2.0, 4.0]
    assert (samult.search_at, samult.label) == ({"unlabeled": 100}, "a = b")
    assert list(experiment.solvers) == ["samult", "rff_s2auc"]
    assert experiment.sizes == [5, "all"]


def test_an_override_that_changes_results_has_a_name_of_its_own(folder):
    text = "seed: 0\n" + BASE
    folder(text)

    def name(*overrides):
        return load_experiment("c.yaml", overrides=overrides).name

    sixty = name("protocol.labeled=60")
    assert re.fullmatch("of the base-[0-9a-f]{6}", sixty)
    changes = ["protocol.labeled=70", "solvers.samult=null", "solvers.samult_2={kind: samult}"]
    assert len({name(one) for one in changes} | {sixty}) == 4
    without = ["solvers.samult.label=a", "threads=1", "outputs=[]", "seed=0", "protocol.trials=3"]
    assert name(*without, "solvers.samult.against=rff_s2auc") == "of the base"
    assert name("protocol.labeled=60", *without[:3], without[4]) == sixty
    assert name("seed=1", "protocol.labeled=60") == name("protocol.labeled=60", "seed=1")
    assert name("solvers.pnu_auc={}") != name("solvers.qsg_s2auc={}") != "of the base"
    folder(text + "sweep: {unlabeled: [5]}\n")  # an edit of the file leads to no other folder
    assert name("protocol.labeled=60") == sixty
    assert name("protocol.labeled=60", "name=n") == "n"
    assert load_experiment("c.yaml", name="mine", overrides=["seed=3"]).name == "mine"
    with pytest.raises(ConfigError, match=r"^--name a/b: a name .* holds no slash"):
        load_experiment("c.yaml", name="a/b")


def test_local_files_are_looked_for_beside_the_file_that_names_them(folder, tmp_path):
    folder(MINIMAL.replace("name: digits", "path: d/rows.csv, loader: delimited"), "b/b.yaml")
    folder("extends: b/b.yaml\n")

    def path(*overrides):
        return load_experiment("c.yaml", overrides=overrides).dataset.path

    assert path() == str(tmp_path / "b" / "d" / "rows.csv")
    assert path("dataset.path=../x", "dataset.name=mine") == str(tmp_path.parent / "x")
    assert path("dataset.path=~/x") == str(Path("~/x").expanduser())
    binned = load_experiment("c.yaml", overrides=["dataset.target={bins: 5}"])
    again = load_experiment(folder(binned.to_yaml(), "again.yaml"))
    assert again == binned and resolve(again.dataset).target == Target("ordered", bins=5)


WORD = "class_proportion"
SEARCHES = {
    "params: {lam: 0.5}, search: [{grid: {sigma: [1, 2]}}, {grid: {lam: 1..2 step 1}}]": [
        {"sigma": [1.0, 2.0]},
        {"lam": [1.0, 2.0]},
    ],
    f"grid: {{lam: [1, {WORD}], sigma: {WORD}}}": [{"lam": [1.0, WORD], "sigma": [WORD]}],
    "search: [{grid: {lam: [1, 2]}}, {coordinates: {gamma: 0..1 step 0.5}}]": [
        {"lam": [1.0, 2.0]},
        {"gamma": [0.0, 0.5, 1.0]},
    ],
    "params: {gamma: [0.5, 2^-1, 1]}": [],
    "grid: {}": [{}],
}


@pytest.mark.parametrize("text", SEARCHES)
def test_searches_are_of_stages_grids_words_and_single_numbers(folder, text):
    config = MINIMAL.replace("samult:\n    grid: {lam: 2^-3..2^3, sigma: 1}", f"samult: {{{text}}}")
    if "gamma" in text:
        config = config.replace("samult", "qs3orao").replace("digits", "esl")
        config = config.replace("semi_supervised_auc", "ordinal")
    experiment = load_experiment(folder(config))
    (spec,) = experiment.solvers.values()
    assert [stage.choices for stage in spec.search] == SEARCHES[text]
    assert spec.params.get("gamma", (0.5, 0.5, 1.0)) == (0.5, 0.5, 1.0)
    assert load_experiment(folder(experiment.to_yaml(), "again.yaml")).solvers == experiment.solvers


@pytest.mark.parametrize(
    ("override", "differs"),
    [
        ("protocol.trials=9", ""),
        ("sweep.unlabeled=[5, all]", ""),
        ("solvers.samult.grid.lam=[1, 2, 4]", ""),
        ("seed=1", "seed is 0 there and 1 here"),
        ("protocol.labeled=60", "protocol.labeled is 50 there and 60 here"),
        ("dataset.name=layers_5", "holds another experiment"),
        ("dataset.positive=[-1]", "the target is 'positive class: 1"),
    ],
)
def test_a_folder_goes_on_with_an_extension_and_refuses_another_experiment(
    folder, tmp_path, override, differs
):
    here = load_experiment(folder(BASE.replace("digits", "layers_2")))
    text = here.to_yaml().replace("  folds: 5\n", "")  # of an earlier release
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "dataset.json").write_text(json.dumps(load_dataset(here.dataset).describe()))
    other = load_experiment("c.yaml", overrides=[override])
    with pytest.raises(ResultsError, match="another --name") if differs else nullcontext() as error:
        check_settings(tmp_path, other, load_dataset(other.dataset))
    assert not differs or differs in str(error.value)
