"""Bases, profiles, overrides, defaults and the way back to YAML."""

import json
import re
from pathlib import Path

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.config.solvers import SolverSpec, Stage
from dsgkit.data import load_dataset
from dsgkit.data.catalogue import get
from dsgkit.data.dataset import resolve
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
  quick: {protocol: {trials: 2}, sweep: {unlabeled: [9]}}
  wide: {seed: 4}
"""


AUC_OUTPUTS = ["auc_table", "time_table", "auc_curve", "auc_boxplot", "time_curve"]


def test_a_minimal_config_gets_the_papers_defaults(folder):
    experiment = load_experiment(folder(MINIMAL, "my_name.yaml"))
    assert experiment.name == "my_name"
    assert (experiment.seed, experiment.threads) == (0, 1)
    assert load_experiment("my_name.yaml", overrides=["threads=null"]).threads is None
    protocol = experiment.protocol
    assert (protocol.labeled, protocol.trials, protocol.folds) == (200, 10, 5)
    assert protocol.scale == (0.0, 1.0)
    assert experiment.sweep == {"unlabeled": ["all"]}
    assert experiment.outputs == AUC_OUTPUTS
    assert experiment.solvers["samult"] == SolverSpec(
        kind="samult",
        label="SAMULT",
        search=(Stage(grid={"lam": [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0], "sigma": [1.0]}),),
    )


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ("", [*AUC_OUTPUTS, "gain_table"]),
        ("outputs: [time_table]\n", ["time_table", "gain_table"]),
        ("outputs: [gain_table, time_table]\n", ["gain_table", "time_table"]),
    ],
)
def test_a_solver_compared_with_another_one_asks_for_the_table_of_gains(folder, outputs, expected):
    solvers = "solvers: {samult: {params: {gamma: 1}}, pnu_auc: {against: samult}}\n"
    head = "dataset: {name: digits}\nprotocol: {kind: semi_supervised_auc}\n"
    experiment = load_experiment(folder(head + solvers + outputs))
    assert experiment.solvers["pnu_auc"].against == "samult"
    assert experiment.outputs == expected
    assert load_experiment(folder(experiment.to_yaml(), "c.yaml")) == experiment


def test_numbers_are_stored_as_the_solver_takes_them(folder):
    text = (
        "dataset: {name: digits}\nprotocol: {kind: semi_supervised_auc}\n"
        "solvers:\n  qsg_s2auc:\n"
        "    params: {lam: 2^-3, sigma: 1, batch_size: 2^5, n_features: 64.0, t0: stable}\n"
        "    grid: {gamma: [0, 1]}\n"
    )
    spec = load_experiment(folder(text)).solvers["qsg_s2auc"]
    found = [(name, value, type(value)) for name, value in spec.params.items()]
    assert found == [
        ("lam", 0.125, float),
        ("sigma", 1.0, float),
        ("batch_size", 32, int),
        ("n_features", 64, int),
        ("t0", "stable", str),
    ]
    assert [type(value) for value in spec.grids[0]["gamma"]] == [float, float]


def test_a_file_is_laid_over_its_base(folder):
    folder(BASE, "base/b.yaml")
    text = (
        "extends: base/b.yaml\nprotocol: {labeled: 60}\n"
        "solvers: {samult: {grid: {lam: 3}}, rff_s2auc: null}\n"
    )
    experiment = load_experiment(folder(text))
    assert experiment.name == "c"
    assert (experiment.protocol.trials, experiment.protocol.labeled) == (7, 60)
    assert list(experiment.solvers) == ["samult"]
    assert experiment.solvers["samult"].grids == ({"lam": [3.0], "sigma": [1.0]},)


def test_a_removed_solver_can_be_defined_anew(folder):
    folder(BASE, "b.yaml")
    folder("extends: b.yaml\nsolvers: {samult: null}\n", "m.yaml")
    text = "extends: m.yaml\nsolvers: {samult: {params: {sigma: 5}}}\n"
    assert load_experiment(folder(text)).solvers["samult"].grids == ()


def test_profiles_of_base_and_file_are_merged_and_laid_over_both(folder):
    folder(BASE, "b.yaml")
    path = folder(
        "extends: b.yaml\nprotocol: {trials: 9}\nseed: 2\n"
        "profiles: {quick: {protocol: {folds: 3}}, own: {seed: 5}}\n"
    )
    plain = load_experiment(path)
    assert (plain.name, plain.protocol.trials, plain.protocol.folds) == ("c", 9, 5)
    quick = load_experiment(path, profile="quick")
    assert quick.name == "c-quick"
    assert (quick.protocol.trials, quick.protocol.folds, quick.seed) == (2, 3, 2)
    assert quick.sizes == [9]
    assert [load_experiment(path, profile=p).seed for p in ("wide", "own")] == [4, 5]


def test_overrides_come_last_and_in_order(folder):
    path = folder(MINIMAL + "profiles: {quick: {protocol: {trials: 2}}}\n")
    overrides = [
        "protocol.trials=3",
        "protocol.trials=4",
        "solvers.samult.grid.lam=2^0..2^2",
        "solvers.samult.search_at.unlabeled=100",
        "solvers.samult.label=a = b",
        "solvers.rff_s2auc={params: {sigma: 1e-1}}",
        "solvers.pnu_auc={}",
        "solvers.pnu_auc=null",
        "sweep.unlabeled=[5, all]",
    ]
    experiment = load_experiment(path, profile="quick", overrides=overrides)
    assert experiment.name.startswith("c-quick-")
    assert experiment.protocol.trials == 4
    samult = experiment.solvers["samult"]
    assert samult.grids[0]["lam"] == [1.0, 2.0, 4.0]
    assert (samult.search_at, samult.label) == ({"unlabeled": 100}, "a = b")
    assert experiment.solvers["rff_s2auc"].params == {"sigma": 0.1}
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
    quick = load_experiment("c.yaml", profile="quick", overrides=["protocol.labeled=60"])
    assert quick.name == sixty.replace("base", "base-quick")


@pytest.mark.parametrize(
    ("override", "differs"),
    [
        ("protocol.trials=9", ""),
        ("sweep.unlabeled=[5, all]", ""),
        ("solvers.pnu_auc={}", ""),
        ("solvers.samult.grid.lam=[1, 2, 4]", ""),
        ("seed=1", "seed is 0 there and 1 here"),
        ("protocol.labeled=60", "protocol.labeled is 50 there and 60 here"),
        ("dataset.name=layers_5", "the data differ"),
        ("dataset.positive=[-1]", "the target is 'positive class: 1"),
    ],
)
def test_a_folder_goes_on_with_an_extension_and_refuses_another_experiment(
    folder, tmp_path, monkeypatch, override, differs
):
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    here = load_experiment(folder(BASE.replace("digits", "layers_2")))
    text = here.to_yaml().replace("  folds: 5\n", "")  # of an earlier release
    (tmp_path / "config.yaml").write_text(text)
    facts = load_dataset(here.dataset).describe()
    (tmp_path / "dataset.json").write_text(json.dumps(facts))
    other = load_experiment("c.yaml", overrides=[override])
    if differs:
        with pytest.raises(ResultsError, match="another --name") as error:
            check_settings(tmp_path, other, load_dataset(other.dataset))
        assert differs in str(error.value)
    else:
        check_settings(tmp_path, other, load_dataset(other.dataset))


def test_a_chosen_name_takes_the_place_of_the_configs(folder):
    folder(BASE)
    assert load_experiment("c.yaml", name="mine", overrides=["seed=3"]).name == "mine"
    with pytest.raises(ConfigError, match=r"^--name a/b: a name .* holds no slash"):
        load_experiment("c.yaml", name="a/b")


def test_local_files_are_looked_for_beside_the_file_that_names_them(folder, tmp_path):
    solver = "solvers: {samult: {params: {sigma: 1}}}\nprotocol: {kind: semi_supervised_auc}\n"
    folder(
        "dataset: {path: d/rows.csv, loader: delimited, positive: [1, a]}\n" + solver, "b/b.yaml"
    )
    dataset = load_experiment(folder("extends: b/b.yaml\n")).dataset
    assert dataset.path == str(tmp_path / "b" / "d" / "rows.csv")
    assert dataset.positive == [1, "a"]
    over = load_experiment("c.yaml", overrides=["dataset.path=../x", "dataset.name=mine"]).dataset
    assert over.path == str(tmp_path.parent / "x")
    assert over.name == "mine"
    home = load_experiment("c.yaml", overrides=["dataset.path=~/x"]).dataset
    assert home.path == str(Path("~/x").expanduser())


@pytest.mark.parametrize(
    ("keys", "target"),
    [
        ("name: digits", get("digits").target),
        ("name: digits, positive: [3, 7]", Target("binary", (3, 7))),
        ("name: digits, target: {positive: [3, 7]}", Target("binary", (3, 7))),
        ("name: digits, target: {bins: 5}", Target("ordered", bins=5)),
        ("name: digits, target: {ordered: true}", Target("ordered")),
        ("path: a, loader: libsvm, target: {ordered: true}", Target("ordered")),
        (
            "path: a, loader: delimited, target: {ordered: [b, 1]}",
            Target("ordered", labels=("b", 1)),
        ),
        ("name: digits, target: {classes: true}", Target("classes")),
        (
            "path: a, loader: delimited, target: {classes: [b, 1]}",
            Target("classes", labels=("b", 1)),
        ),
        ("path: a, loader: reviews, components: 9", Target("ordered")),
        ("path: a, loader: delimited, label_columns: [1, 2], categorical: [0]", Target()),
    ],
)
def test_targets_and_columns_reach_the_data_and_are_written_again(folder, keys, target):
    text = MINIMAL.replace("name: digits", keys)
    experiment = load_experiment(folder(text))
    info = resolve(experiment.dataset)
    assert info.target == target
    again = load_experiment(folder(experiment.to_yaml(), "again.yaml"))
    assert again == experiment and resolve(again.dataset) == info


HEADS = {
    "qs3orao": "protocol: {kind: ordinal}\ndataset: {name: esl}\n",
    "samult": "protocol: {kind: semi_supervised_auc}\ndataset: {name: digits}\n",
}
WORD = "class_proportion"
SEARCHES = {
    "search: [{grid: {lam: 2^-3..2^3, sigma: [1]}}]": [
        {"lam": [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0], "sigma": [1.0]}
    ],
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
    solver = "qs3orao" if "gamma" in text else "samult"
    experiment = load_experiment(folder(f"{HEADS[solver]}solvers: {{{solver}: {{{text}}}}}\n"))
    (spec,) = experiment.solvers.values()
    assert [stage.choices for stage in spec.search] == SEARCHES[text]
    assert spec.params.get("gamma", (0.5, 0.5, 1.0)) == (0.5, 0.5, 1.0)
    assert load_experiment(folder(experiment.to_yaml(), "again.yaml")).solvers == experiment.solvers


def test_a_removed_solver_stays_removed_in_a_profile_of_the_base(tmp_path):
    (tmp_path / "base.yaml").write_text(
        "dataset: {name: digits}\nprotocol: {kind: semi_supervised_auc}\n"
        "solvers: {samult: {grid: {lam: [1, 2]}}, qsg_s2auc: {}}\n"
        "profiles: {quick: {solvers: {samult: {grid: {lam: [1]}}}}}\n"
    )
    (tmp_path / "child.yaml").write_text("extends: base.yaml\nsolvers: {samult: null}\n")
    assert list(load_experiment(tmp_path / "child.yaml", profile="quick").solvers) == ["qsg_s2auc"]
    assert "samult" in load_experiment(tmp_path / "base.yaml", profile="quick").solvers
