"""Bases, profiles, overrides, solvers and the way back to YAML; wrong ones: wrong_inputs.txt."""

import json
import re
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from dsgkit.config.load import SHIPPED, copy_shipped, read_config, shipped_names
from dsgkit.config.schema import load_experiment, load_stored
from dsgkit.config.spec import MAX_VALUES, parse_values
from dsgkit.data.dataset import load_dataset
from dsgkit.errors import ConfigError, ResultsError
from dsgkit.experiment.folder import check_settings
from tests.test_wrong_inputs import RIGHT, cases

CODE = """
from dsgkit.bases import Estimator, PairwiseAUCEstimator
class Silent(Estimator):
    tasks = "ordinal"
    def fit(self, X, y): return self
    def decision_function(self, X): return X[:, 0]
class Labels(Estimator):
    tasks = "semi_supervised_auc"
    def fit(self, X, labels, X_unlabeled): return self
    def decision_function(self, X): return X[:, 0]
class Blind(Labels):
    def fit(self, X, y): return self
    def decision_function(self): return 0
class Mine(PairwiseAUCEstimator):
    def __init__(self, lam=0.5, gamma=10, t0="fast", prior=True):
        self.lam, self.gamma, self.t0, self.prior = lam, gamma, t0, prior
    def fit(self, X, y, X_unlabeled): return self
    def decision_function(self, X): return X[:, 0]
class Nothing(Mine):
    def __init__(self): pass
"""
OVERRIDES = [
    "protocol.trials=3",
    "protocol.trials=4",
    "solvers.samult.grid.lam=2^0..2^2",
    "solvers.samult.search_at.unlabeled=100",
    "solvers.samult.label=a = b",
    "solvers.samult.at_most={unlabeled: 9}",
    "solvers.pnu_auc={against: samult}",
    "solvers.nystrom_s2auc={}",
    "solvers.nystrom_s2auc=null",
    "sweep.unlabeled=[5, all]",
    "dataset.test_path=../t.csv",
    "dataset.pairs=~/pairs.csv",
    "dataset.target={bins: 5}",
    "name=mine",
]
LAYERS = Path(__file__).parent / "layers"
BASE = (LAYERS / "base" / "b.yaml").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder; the returned function writes a file there and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="c.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        return name

    return write


def config(solvers, kind="semi_supervised_auc", dataset="digits"):
    return f"dataset: {{name: {dataset}}}\nprotocol: {{kind: {kind}}}\nsolvers: {{{solvers}}}\n"


def test_base_file_profile_and_overrides_are_laid_over_each_other(folder, tmp_path):
    shutil.copytree(LAYERS, tmp_path, dirs_exist_ok=True)
    places = {"HERE": tmp_path, "UP": tmp_path.parent, "HOME": Path.home()}
    expected = (tmp_path / "read.yaml").read_text()
    expected = re.sub("HERE|UP|HOME", lambda found: str(places[found[0]]), expected)
    experiment = load_experiment("c.yaml", profile="quick", overrides=OVERRIDES)
    text = experiment.to_yaml()
    assert json.dumps(yaml.safe_load(text)) == json.dumps(yaml.safe_load(expected))
    assert load_experiment(folder(text, "again.yaml")) == experiment
    quick, own, wide = (load_experiment("c.yaml", profile=p) for p in ("quick", "own", "wide"))
    assert [one.name for one in (quick, own, wide)] == ["c-quick", "c-own", "c-wide"]
    assert [one.seed for one in (quick, own, wide)] == [2, 5, 4]
    assert [one.sizes for one in (quick, own, wide)] == [[9], [20, 60], [20, 60]]
    assert [one.axis.name for one in (quick, own)] == ["unlabeled", "labeled"]
    assert quick.drawn is quick.protocol and own.drawn.labeled == 60 and own.drawn.setting == ""
    assert (wide.outputs, list(quick.solvers)) == (["auc_table"], ["samult", "qsg_s2auc"])
    folder("extends: c.yaml\nsolvers: {rff_s2auc: {params: {sigma: 5}}}\n", "again.yaml")
    again = load_experiment("again.yaml")
    assert again.name == "again" and again.solvers["rff_s2auc"].params == {"sigma": 5.0}
    minimal = load_experiment(folder(config("samult: {}"), "my_name.yaml"))
    assert (minimal.name, minimal.seed, minimal.sizes) == ("my_name", 0, ["all"])
    assert (minimal.protocol.trials, minimal.protocol.labeled, minimal.threads) == (10, 200, 1)


def test_an_override_that_changes_results_has_a_name_of_its_own(folder):
    text = "seed: 0\n" + BASE
    folder(text)

    def name(*overrides):
        return load_experiment("c.yaml", overrides=overrides).name

    sixty = name("protocol.labeled=60")
    changes = ["protocol.labeled=70", "solvers.samult=null", "solvers.samult_2={kind: samult}"]
    assert len({name(one) for one in changes} | {sixty}) == 4
    without = ["solvers.samult.label=a", "threads=1", "outputs=[]", "seed=0", "protocol.trials=3"]
    assert name(*without, "solvers.samult.against=rff_s2auc") == "of the base"
    assert name("protocol.labeled=60", *without[:3], without[4]) == sixty
    assert name("seed=1", "protocol.labeled=60") == name("protocol.labeled=60", "seed=1")
    assert name("solvers.pnu_auc={}") != name("solvers.nystrom_s2auc={}") != "of the base"
    folder(text + "sweep: {unlabeled: [5]}\n")  # an edit of the file leads to no other folder
    assert name("protocol.labeled=60") == sixty == "of the base-6f79d7"
    assert name("protocol.labeled=60", "name=n") == "n"
    assert load_experiment("c.yaml", name="mine", overrides=["seed=3"]).name == "mine"
    with pytest.raises(ConfigError, match=r"^--name a/b: a name .* holds no slash"):
        load_experiment("c.yaml", name="a/b")


@pytest.mark.parametrize(("others", "expected"), cases("solvers beside mine", RIGHT))
def test_labels_differ_and_what_uses_unlabelled_rows_has_a_rival(
    folder, own_modules, others, expected
):
    def labels(experiment):
        rivals = [f"{key}: {s.label} > {s.against}" for key, s in experiment.solvers.items()]
        return ", ".join(rivals).replace(" > None", "")

    own_modules("my", CODE)
    experiment = load_experiment(folder(config(f"mine: {{kind: 'my:Mine'}}, {others}")))
    assert labels(experiment) == expected
    assert experiment.outputs.count("gain_table") == (">" in expected)
    if ">" in expected:
        few = load_experiment("c.yaml", overrides=["outputs=[gain_table, time_table]"])
        assert few.outputs == ["gain_table", "time_table"]
    # what is given hidden labels is neither a baseline nor compared with one
    svms = config("all_labels_svm: {}, tsgs3vm: {}, supervised_svm: {}", "semi_supervised_svm")
    expected = "all_labels_svm: SVM (all labels), tsgs3vm: TSGS3VM > supervised_svm, "
    assert labels(load_experiment(folder(svms))) == f"{expected}supervised_svm: SVM (labelled rows)"


@pytest.mark.parametrize(("solver", "expected"), cases("values of a solver", RIGHT))
def test_values_are_stored_as_the_solver_takes_them(folder, own_modules, solver, expected):
    own_modules("my", CODE)
    task = ["ordinal", "esl"] if "qs3orao" in solver else []
    experiment = load_experiment(folder(config(solver, *task)))
    (spec,) = experiment.solvers.values()
    assert f"{spec.kind} {spec.params} {[stage.choices for stage in spec.search]}" == expected
    assert load_experiment(folder(experiment.to_yaml(), "again.yaml")).solvers == experiment.solvers


def test_stored_configs_are_read_without_the_class(folder, own_modules, tmp_path):
    own_modules("my", CODE)
    experiment = load_experiment(folder(config("mine: {kind: 'my:Mine'}")))
    folder(experiment.to_yaml().replace("threads: 1\n", ""))  # of an earlier release
    (tmp_path / "my.py").unlink()
    own_modules("other", "")  # forgets the class
    stored = load_stored(Path("c.yaml")).model_dump(mode="json")
    assert stored == {**experiment.model_dump(mode="json"), "threads": None}
    with pytest.raises(ConfigError, match="module 'my' is neither"):
        load_experiment("c.yaml")


@pytest.mark.parametrize(("solver", "answer"), cases("solvers of one's own"))
def test_what_is_wrong_with_a_class_or_its_entry_is_one_line(folder, own_modules, solver, answer):
    own_modules("my", CODE)
    own_modules("checked", CODE)
    kind = "ordinal" if "Silent" in solver else "semi_supervised_auc"
    with pytest.raises(ConfigError) as error:
        load_experiment(folder(config(f"mine: {{{solver}}}", kind)))
    assert str(error.value) == answer


@pytest.mark.parametrize(("entry", "values"), cases("entries of a grid", RIGHT))
def test_ranges_lists_and_single_values_of_a_grid(entry, values):
    assert repr(parse_values(yaml.safe_load(entry))) == values


def test_a_grid_has_a_bounded_number_of_numbers():
    assert parse_values("1..1000 step 1") == [float(k) for k in range(1, 1001)]
    assert parse_values([0] * MAX_VALUES) == [0] * MAX_VALUES
    for entry in ("1..1001 step 1", [0] * 1001, "10^-400", "0^-1", "0..1 step -1", "1..0 step 1"):
        with pytest.raises(ValueError):
            parse_values(entry)


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
    base = BASE.replace("path: d/rows.csv, loader: delimited", "name: layers_2")
    here = load_experiment(folder(base))
    text = here.to_yaml().replace("  folds: 5\n", "")  # of an earlier release
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "dataset.json").write_text(json.dumps(load_dataset(here.dataset).describe()))
    other = load_experiment("c.yaml", overrides=[override])
    with pytest.raises(ResultsError, match="another --name") if differs else nullcontext() as error:
        check_settings(tmp_path, other, load_dataset(other.dataset))
    assert not differs or differs in str(error.value)


TUNED = {
    **dict.fromkeys(("svc", "fsvc", "sgd_lmoc"), ("gamma", "C")),
    "bsgd_lmoc": ("gamma", "C", "budget"),
    **dict.fromkeys(("svorex", "svorim"), ("C", "sigma")),
    **dict.fromkeys(("tsgsu", "tsgsu_p", "cuu", "su_sl", "rff_su_sl", "su_dh"), ("prior",)),
}
"""Parameters of solvers whose defaults are chosen for newcomers: no result may depend on them."""


@pytest.mark.parametrize("name", [name for name in shipped_names() if "base/" not in name])
def test_shipped_configs_are_written_and_depend_on_no_default_for_newcomers(name, tmp_path):
    path, written = SHIPPED / f"{name}.yaml", tmp_path / "config.yaml"
    for profile in (None, *read_config(path).data.get("profiles", {})):
        experiment = load_experiment(path, profile=profile)
        written.write_text(experiment.to_yaml(), encoding="utf-8")
        assert load_stored(written).solvers == experiment.solvers
        for solver in experiment.solvers.values():
            names = [name for stage in solver.search for name in stage.choices]
            assert {*solver.params, *names} >= {*TUNED.get(solver.kind, ())}, experiment.name
    assert load_experiment(written) == experiment


FULL = [
    "quickstart",
    "codrna_s2auc",
    "hepmass_s3vm",
    "lev_ordinal",
    "mnist_su",
    "shuttle_clustering",
]


@pytest.mark.parametrize("name", [*FULL, "claims/lev_ordinal_labels"])
def test_a_full_copy_is_the_same_experiment_in_every_profile(name, tmp_path):
    path, copy = SHIPPED / f"{name}.yaml", tmp_path / f"{Path(name).name}.yaml"
    copy_shipped(name, copy, full=True)
    text = copy.read_text(encoding="utf-8")
    assert text.startswith(path.read_text(encoding="utf-8").partition("\n")[0])
    assert "extends" not in text and not re.search(r"[&*]\w", text)
    profiles = read_config(path).data["profiles"]
    assert profiles and list(read_config(copy).data["profiles"]) == list(profiles)
    for profile in (None, *profiles):
        shipped, own = (load_experiment(one, profile=profile) for one in (path, copy))
        assert (own, [*own.solvers]) == (shipped, [*shipped.solvers])


@pytest.mark.parametrize("name", [name for name in shipped_names() if "/" not in name])
def test_the_profile_full_goes_on_with_the_reference(name):
    """They share all settings but the trials, so the trials of both have the same cells."""
    path = SHIPPED / f"{name}.yaml"
    fewer, full = (load_experiment(path, profile=p) for p in ("reference", "full"))
    assert (fewer.protocol.trials, full.protocol.trials) == (5, 10)
    five = full.protocol.model_copy(update={"trials": 5})
    assert full.model_copy(update={"name": fewer.name, "protocol": five}) == fewer


def test_a_profile_searches_in_stages_instead_of_by_the_grid_of_a_base(folder):
    folder(config("samult: {grid: {lam: [1, 2]}}"), "base.yaml")
    stages = "[{grid: {sigma: [1, 2]}}, {grid: {lam: [2, 3]}}]"
    folder(f"extends: base.yaml\nsolvers: {{samult: {{grid: null, search: {stages}}}}}\n")
    (spec,) = load_experiment("c.yaml").solvers.values()
    assert [stage.choices for stage in spec.search] == [{"sigma": [1, 2]}, {"lam": [2, 3]}]


def test_what_is_chosen_for_newcomers_is_in_shipped_configs():
    names = [name for name in shipped_names() if not name.startswith("base/try")]
    text = "".join((SHIPPED / f"{name}.yaml").read_text(encoding="utf-8") for name in names)
    assert [kind for kind in TUNED if not re.search(rf"\b{kind}\b", text)] == []
