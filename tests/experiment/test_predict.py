"""Predictions of a run: those of the estimator called by hand, in every learning setting."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from dsgkit import QS3ORAO, QSGS2AUC, SUSL, TSGS3VM, BenHurSVC
from dsgkit.cli import cli
from dsgkit.config.schema import load_experiment
from dsgkit.data.dataset import load_dataset, resolve
from dsgkit.data.new_rows import read_new_rows
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError, ResultsError
from dsgkit.experiment.plan import make_trial
from dsgkit.experiment.predict import Predictor, _best
from dsgkit.experiment.results import load_results
from dsgkit.experiment.run import Options, run_experiment

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3)).round(4)
KINDS = np.where(X[:, 0] > 0.2, "yes", "no")
GRADES = np.digitize(X[:, 1], [-0.5, 0.5]) * 10 + 10
NEW = RNG.normal(size=(9, 3)).round(4)
FEW = {"n_iterations": 30, "n_features": 16, "batch_size": 16, "random_state": 3}
SEMI = {"labeled": 40, "trials": 2, "folds": 2, "scale": [0, 1]}

RUNS = {
    "semi_supervised_auc": (KINDS, {}, SEMI, {"qsg_s2auc": {"params": FEW}}),
    "semi_supervised_svm": (
        KINDS,
        {},
        {**SEMI, "select": "labeled_rows"},
        {"tsgs3vm": {"params": FEW}},
    ),
    "ordinal": (GRADES, {"target": {"ordered": True}}, SEMI, {"qs3orao": {"params": FEW}}),
    "similar_unlabeled": (
        KINDS,
        {},
        {"trials": 1, "folds": 2},
        {"su_sl": {"params": {"lam": 0.1, "sigma": 1.0, "prior": 0.15}}},
    ),
    "clustering": (
        GRADES,
        {"target": {"classes": True}},
        {"trials": 1, "scale": [0, 1]},
        {"svc": {"params": {"gamma": 2.0}}},
    ),
}


@pytest.fixture
def run(tmp_path, monkeypatch, in_process):
    """Run a config on rows of a kind; return the results folder."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(kind, **changes):
        labels, dataset, protocol, solvers = RUNS[kind]
        lines = [",".join(map(str, [*row, label])) for row, label in zip(X, labels, strict=True)]
        (tmp_path / "rows.csv").write_text("a,b,c,kind\n" + "\n".join(lines) + "\n")
        where = {"path": "rows.csv", "loader": "delimited", "header": True, "label_column": "kind"}
        if kind in ("semi_supervised_auc", "semi_supervised_svm", "similar_unlabeled"):
            where["positive"] = ["yes"]
        config = {"dataset": where | dataset, "protocol": {"kind": kind, **protocol}}
        config |= {"solvers": solvers, "outputs": []} | changes
        (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
        folder = tmp_path / kind
        done = run_experiment(load_experiment("c.yaml"), folder, Options(once=True))
        assert done.failures == []
        return folder

    return run


def scaled(rows):
    low, high = X.astype("f4").min(axis=0), X.astype("f4").max(axis=0)
    return (rows.astype("f4") - low) / (high - low)


TRAINED = {
    "semi_supervised_auc": lambda X: QSGS2AUC(**FEW).fit(X, KINDS == "yes", X),
    "semi_supervised_svm": lambda X: TSGS3VM(**FEW).fit(X, KINDS, X),
    "ordinal": lambda X: QS3ORAO(**FEW).fit(X, GRADES, X),
    "clustering": lambda X: BenHurSVC(gamma=2.0).fit(X),
}
CLASSES = {"semi_supervised_svm": "class", "ordinal": "class", "clustering": "cluster"}


@pytest.mark.parametrize("kind", TRAINED)
def test_predictions_are_those_of_the_estimator_called_by_hand(run, kind):
    """A class has its label in the file."""
    told, model = Predictor(run(kind)).predict(NEW), TRAINED[kind](scaled(X))
    scores = [] if kind == "clustering" else ["score"]
    assert list(told) == ["row", *scores, *filter(None, [CLASSES.get(kind)])]
    assert told["row"].tolist() == list(range(9))
    for name in scores:
        np.testing.assert_allclose(told[name], model.decision_function(scaled(NEW)), rtol=1e-4)
    if name := CLASSES.get(kind):
        predicted = model.predict(scaled(NEW))
        assert told[name].astype(str).tolist() == predicted.astype(str).tolist()
        assert name == "cluster" or told[name].nunique() > 1


@pytest.mark.filterwarnings("ignore:prior")
def test_similar_pairs_are_those_of_the_first_trial(run):
    folder = run("similar_unlabeled")
    told = Predictor(folder).predict(NEW)
    experiment = load_experiment(folder / "config.yaml")
    trial = make_trial(experiment, load_dataset(experiment.dataset), 0)
    model = SUSL(lam=0.1, sigma=1.0, prior=0.15)
    model.fit(**trial.training(trial.sizes))
    values = model.decision_function(scaled(NEW))
    np.testing.assert_allclose(told["score"], values, rtol=1e-3, atol=1e-5)
    assert told["class"].tolist() == np.where(values >= 0, "yes", "no").tolist()


def test_rows_without_a_label_are_the_unlabelled_ones(run, monkeypatch):
    folder = run("semi_supervised_auc")
    dataset = load_dataset(load_experiment(folder / "config.yaml").dataset)
    dataset = replace(dataset, labels=dataset.labels[:50], unlabeled_rows=np.arange(50, len(X)))
    monkeypatch.setattr("dsgkit.experiment.predict.load_dataset", lambda _: dataset)
    told = Predictor(folder).predict(NEW)
    model = QSGS2AUC(**FEW).fit(scaled(X)[:50], KINDS[:50] == "yes", scaled(X)[50:])
    np.testing.assert_allclose(told["score"], model.decision_function(scaled(NEW)), rtol=1e-4)


def test_the_best_point_is_that_of_the_mean_over_the_trials(run):
    solver = {"params": FEW, "grid": {"lam": [0.125, 0.25, 0.5], "sigma": [1.0]}}
    folder = run("semi_supervised_auc", solvers={"qsg_s2auc": solver})
    results = load_results(folder)
    points, folds = [{"lam": lam, "sigma": 1.0} for lam in (0.125, 0.25, 0.5)], []
    for trial, scores in enumerate(([0.5, 0.9, 0.7], [0.9, 0.6, 0.8])):
        for record in results.records:
            if (record["kind"], record["trial"]) == ("search", trial):
                record |= {"points": points, "fold_scores": [[score] * 2 for score in scores]}
                folds.append(record)
    experiment = load_experiment(folder / "config.yaml")
    results = SimpleNamespace(records=folds, task=results.task, folder=folder)
    # lam 0.25 and 0.5 tie at .75: the larger one makes the function smoother
    assert _best(results, experiment, "qsg_s2auc", "higher") == ({"lam": 0.5, "sigma": 1.0}, 0.75)


def test_the_solver_is_the_best_that_is_given_no_hidden_labels(run):
    grid = {"grid": {"lam": [0.125, 0.25]}, "params": FEW}
    folder = run("semi_supervised_auc", solvers={"qsg_s2auc": grid, "samult": {}})
    assert Predictor(folder).solver == "qsg_s2auc", "the only one that was searched"
    assert Predictor(folder, "samult").solver == "samult"
    with pytest.raises(ResultsError, match=r"no solver is called 'samul' \(did you mean"):
        Predictor(folder, "samul")
    oracle = {
        "all_labels_svm": {"grid": {"C": [1, 10], "sigma": [1.0]}},
        "tsgs3vm": {"grid": {"C": [1, 10]}, "params": FEW},
    }
    assert Predictor(run("semi_supervised_svm", solvers=oracle)).solver == "tsgs3vm"


def predicted(folder, text, *options):
    """Run ``dsg predict`` on the text of a file; return its lines, or its error."""
    Path("new.csv").write_text(text)
    done = CliRunner().invoke(cli, ["predict", str(folder), "new.csv", *options])
    return done.stdout.splitlines() if done.exit_code == 0 else str(done.exception)


def test_the_command_writes_a_csv_for_rows_with_or_without_labels(run):
    folder = run("semi_supervised_svm")
    told = Predictor(folder).predict(NEW.astype("f4"))
    plain = "".join(",".join(map(str, row)) + "\n" for row in NEW)
    labeled = plain.replace("\n", ",?\n")
    for text in (f"a,b,c\n{plain}", f"a,b,c,kind\n{labeled}"):
        head, *lines = predicted(folder, text)
        assert head == "row,score,class"
        assert [line.split(",")[2] for line in lines] == told["class"].tolist()
        scores = [float(line.split(",")[1]) for line in lines]
        np.testing.assert_allclose(scores, told["score"], rtol=1e-5)
    assert predicted(folder, f"a,b,c\n{plain}", "--out", "out.csv") == ["out.csv"]
    assert Path("out.csv").read_text().splitlines() == [head, *lines]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "its 2 columns are not the 3 of the run: they differ in c"),
        ("a,b,c,d\n1,2,3,4\n", "its 4 columns are not the 3 of the run: they differ in d"),
        (
            "a,c,b\n1,2,3\n",
            "its 3 columns are not the 3 of the run: they differ in number or order",
        ),
        ("a,b,c\n1,2,x\n", ":2: column 'c': 'x' is not a number"),
        ("a,b,c\n", ": the file holds no rows"),
    ],
)
def test_rows_of_other_columns_are_refused_before_training(run, monkeypatch, text, why):
    folder = run("semi_supervised_auc")
    monkeypatch.setattr(QSGS2AUC, "fit", None)
    assert why in predicted(folder, text)


def test_categories_are_those_of_the_dataset(tmp_path):
    (tmp_path / "rows.csv").write_text("a,kind,colour\n1,0,red\n2,1,blue\n3,0,red\n")
    where = {"path": str(tmp_path / "rows.csv"), "loader": "delimited", "header": True}
    spec = DatasetSpec(**where, label_column="kind", categorical=["colour"])
    new = tmp_path / "new.csv"
    for text in ("a,colour\n1.5,red\n", "a,kind,colour\n1.5,,red\n"):
        new.write_text(text)
        assert read_new_rows(resolve(spec), new, 3).tolist() == [[1.5, 0, 1]]
    new.write_text("a,colour\n1.5,green\n")
    with pytest.raises(DataError, match="no row of the dataset has the category 'green'"):
        read_new_rows(resolve(spec), new, 3)


def test_libsvm_text_and_numbers_alone_are_read(tmp_path):
    (tmp_path / "rows.txt").write_text("1 1:0.5 3:2\n-1 2:1\n")
    info = resolve(DatasetSpec(path=str(tmp_path / "rows.txt"), loader="libsvm"))
    for name, text in {"new.txt": "0 1:0.5 3:2\n", "new.csv": "0.5,0,2\n"}.items():
        (tmp_path / name).write_text(text)
        assert read_new_rows(info, tmp_path / name, 3).tolist() == [[0.5, 0, 2]]
    (tmp_path / "new.csv").write_text("0.5,0\n")
    with pytest.raises(DataError, match="2 columns, not the 3 of the dataset"):
        read_new_rows(info, tmp_path / "new.csv", 3)


def test_other_rows_than_those_of_the_run_are_not_trained_on(run):
    folder = run("semi_supervised_auc")
    text = Path("rows.csv").read_text()
    Path("rows.csv").write_text(text + text.splitlines()[1] + "\n")
    assert "rows.csv: its rows are not those of the run" in predicted(folder, "a,b,c\n1,2,3\n")
