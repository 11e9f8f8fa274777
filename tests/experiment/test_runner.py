import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.metrics import roc_auc_score

from dsgkit import SAMULT
from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import FitError
from dsgkit.experiment import cells as cells_module
from dsgkit.experiment.cells import Bench, run_job
from dsgkit.experiment.jobs import Job
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.plan import make_plan
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.experiment.selection import best_point
from dsgkit.report import text_table, write_report
from dsgkit.report.html import write_page
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.system.progress import listening
from tests.experiment.runs import MEASURED, stored

pytestmark = pytest.mark.usefixtures("in_process")


def run(toy, *, overrides=(), folder="results", **options):
    experiment = load_experiment(toy, overrides=overrides)
    folder = toy.parent / folder / "toy"
    return run_experiment(experiment, folder, Options(**{"once": True} | options)), folder


@pytest.fixture
def alone(toy):
    """The toy's config with one solver only, SAMULT."""
    config = yaml.safe_load(toy.read_text())
    config["solvers"] = {"samult": config["solvers"]["samult"]}
    toy.write_text(yaml.safe_dump(config))
    return toy


def without_measurements(record):
    return {k: v for k, v in record.items() if k not in MEASURED}


def test_a_whole_experiment(finished):
    found = stored(finished)
    assert len(found) == 24
    assert {r["status"] for r in found} == {"ok"}
    results = load_results(finished)
    assert len(results.cells) == 4 * 2 * 2
    assert len(results.search) == 2 * (2 + 1 + 1)
    assert results.cells["auc"].between(0.6, 1).all()
    assert results.cells["full"].tolist() == [n == 120 for n in results.cells["size"]]
    assert list(results.environments.values()) == [results.environment]
    assert results.environment["dsgkit"]
    assert results.data == load_dataset(results.experiment.dataset).describe()
    assert results.data["n_rows"] == 150
    for r in found:
        assert all(seconds >= 0 for seconds in r["times"].values())
        assert r["peak_memory"] > 2**20
        assert set(r["times"]) >= {"load", "compile", r["kind"]}
        assert (finished / "environments" / f"{r['environment']}.json").exists()
        if r["kind"] == "fit":
            assert r["params"].items() <= r["estimator"].items()
    of = {r["solver"]: r["estimator"] for r in found if r["kind"] == "fit"}
    assert of["qsg_s2auc"]["n_iter_"] == 20
    assert 0 < of["pnu_auc"]["prior_"] < 1


def test_a_fit_is_the_chosen_estimator_on_the_split(toy, finished):
    """Done again by hand, from the search's scores to the reported AUC."""
    experiment = load_experiment(toy)
    bench = Bench(experiment, load_dataset(experiment.dataset))
    mine = [r for r in stored(finished) if r["solver"] == "samult" and r["trial"] == 1]
    search = next(r for r in mine if r["kind"] == "search")
    sides = {"lam": "larger", "sigma": "smaller"}
    point, _ = best_point(search["points"], search["fold_scores"], better="higher", smoother=sides)
    split = bench.trial(1).split
    for fit in (r for r in mine if r["kind"] == "fit"):
        assert fit["params"] == point
        model = SAMULT(**point).fit(
            split.X[:], split.y, split.X_unlabeled[: fit["at"]["unlabeled"]]
        )
        expected = roc_auc_score(split.y_unlabeled, model.decision_function(split.X_unlabeled))
        assert fit["scores"]["auc"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_a_search_scores_each_point_on_rows_its_model_did_not_see(toy, finished):
    experiment = load_experiment(toy)
    own = Bench(experiment, load_dataset(experiment.dataset)).trial(0)
    split, folds = own.split, own.folds({})
    search = next(
        r
        for r in stored(finished)
        if (r["solver"], r["kind"], r["trial"]) == ("samult", "search", 0)
    )
    X, y, XU = split.X[:], split.y, split.X_unlabeled[:]
    for point, scores in zip(search["points"], search["fold_scores"], strict=True):
        for held_out, score in zip(folds, scores, strict=True):
            train = np.setdiff1d(np.arange(30), held_out)
            f = SAMULT(**point).fit(X[train], y[train], XU).decision_function(X[held_out])
            assert score == pytest.approx(roc_auc_score(y[held_out], f), abs=1e-12)


def test_a_failing_solver_costs_its_own_cells_only_and_is_retried(toy, monkeypatch):
    def explode(self, X, y, X_unlabeled):
        raise RuntimeError("boom")

    with monkeypatch.context() as patch:
        patch.setattr(SAMULT, "fit", explode)
        outcome, folder = run(toy)
    assert len(outcome.failures) == 4
    failed = [r for r in stored(folder) if r["status"] == "failed"]
    assert {r["solver"] for r in failed} == {"samult"}
    assert all(r["message"].startswith("RuntimeError: boom (") for r in failed)
    assert all("explode" in r["traceback"] for r in failed)
    good = [r for r in stored(folder) if r["status"] == "ok"]
    again, _ = run(toy)
    assert (again.computed, again.reused, again.failures) == (4, len(good), [])


@pytest.mark.parametrize("how", ["limit", "error"])
def test_running_out_of_memory_is_a_named_status_and_no_failure(alone, monkeypatch, how):
    def exhaust(self, X, y, X_unlabeled):
        raise MemoryError("cannot allocate")

    if how == "error":
        monkeypatch.setattr(SAMULT, "fit", exhaust)
    small = ["solvers.samult.params.max_memory=0.0001"] if how == "limit" else []
    outcome, folder = run(alone, overrides=small)
    fits = [r for r in stored(folder) if r["kind"] == "fit"]
    assert outcome.failures == []
    assert {r["status"] for r in fits} == {"out_of_memory"}
    assert how == "error" or all("needs" in r["message"] for r in fits)


def test_a_failed_search_leaves_no_fit_untold(alone, monkeypatch):
    def refuse(self, points, **training):
        raise FitError("no way")

    monkeypatch.setattr(SAMULT, "fit_points", refuse)
    outcome, folder = run(alone)
    fits = [r["message"] for r in stored(folder) if r["kind"] == "fit"]
    assert fits == ["while searching: no way"] * 4
    assert len(outcome.failures) == 2 + 4


def test_progress_is_reported_inside_of_cells(toy):
    experiment = load_experiment(toy)
    bench = Bench(experiment, load_dataset(experiment.dataset))
    cell = next(c for c in make_plan(experiment, bench.dataset) if c.solver == "qsg_s2auc")
    version = SOLVERS["qsg_s2auc"].version
    job = Job(experiment, bench.dataset.content_hash, version, cell, {}, Limits())
    progress = RunProgress([cell])
    left = [progress.seconds_left()]

    def advance(fraction):
        progress.advance(job, fraction)
        left.append(progress.seconds_left())

    with listening(advance):
        run_job(job)
    assert len(left) >= 20
    assert left == sorted(left, reverse=True)


def test_fail_fast_stops_at_the_first_failure(toy, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(SAMULT, "fit_points", lambda *_, **__: 1 / 0)
        outcome, folder = run(toy, fail_fast=True)
    found = stored(folder)
    assert found[-1]["status"] == "failed"
    assert all(r["status"] == "ok" for r in found[:-1])
    assert outcome.left == 24 - len(found) > 0
    again, _ = run(toy)
    assert (again.computed, again.failures) == (outcome.left + 1, [])


def test_failed_cells_can_be_kept_and_are_not_taken_over(alone, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(SAMULT, "fit", lambda self, X, y, X_unlabeled: 1 / 0)
        _, folder = run(alone)
    kept, _ = run(alone, retry_failed=False)
    assert (kept.computed, len(kept.failures)) == (0, 4)
    experiment = load_experiment(alone, overrides=["name=another"])
    other = run_experiment(experiment, folder.parent / "another", Options(once=True))
    assert (other.computed, other.failures) == (4, [])
    again, _ = run(alone)
    assert (again.computed, again.failures) == (4, [])


def test_a_corrupted_record_is_told_and_its_cell_runs_again(toy, finished):
    folder = finished
    before = stored(folder)
    lines = (folder / "cells.jsonl").read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"trial": 0', b'"trial": 1')
    lines[7] = lines[7][:40] + b"\n"
    (folder / "cells.jsonl").write_bytes(b"".join(lines))
    again, _ = run(toy)
    assert (again.computed, again.reused) == (2, 22)
    assert again.set_aside.read_bytes() == lines[3] + lines[7]
    key = str
    assert sorted(map(without_measurements, stored(folder)), key=key) == sorted(
        map(without_measurements, before), key=key
    )


def test_compilation_is_not_fit_time(alone, monkeypatch):
    """The first fit of a process warms up before its clock starts; later ones do not again."""
    calls = []
    original = SAMULT.fit

    def counted(self, X, y, X_unlabeled):
        calls.append(len(X_unlabeled))
        return original(self, X, y, X_unlabeled)

    monkeypatch.setattr(SAMULT, "fit", counted)
    monkeypatch.setattr(cells_module, "_WARM_UP_ROWS", 11)
    run(alone)
    assert calls == [11, 40, 120, 40, 120]


def test_results_hold_what_is_needed_to_run_again(toy, finished):
    _, folder = run(toy)  # which writes the config with its own paths
    again = load_experiment(folder / "config.yaml")
    first = load_experiment(toy)
    assert again.solvers == first.solvers
    assert again.protocol == first.protocol
    assert Path(again.dataset.path) == toy.parent / "toy.csv"
    before = [without_measurements(r) for r in stored(folder)]
    fresh = run_experiment(again, folder, Options(fresh=True, once=True))
    assert fresh.computed == len(before)
    assert [without_measurements(r) for r in stored(folder)] == before


CLASSIFIER = """
import numpy as np
from dsgkit.solvers.base import SemiSupervisedClassifier

class Centroid(SemiSupervisedClassifier):
    def __init__(self, C=1.0, shift=0.0):
        self.C = C
        self.shift = shift

    def fit(self, X, y, X_unlabeled):
        a, b = X[y > 0].mean(axis=0), X[y < 0].mean(axis=0)
        self.w_ = a - b
        self.cut_ = self.w_ @ (a + b) / 2 + self.shift + (self.C - 1) ** 2
        return self

    def decision_function(self, X):
        return np.asarray(X) @ self.w_ - self.cut_
"""


def test_a_classifier_is_searched_twice_and_judged_by_its_error(toy, own_modules):
    own_modules("centroid", CLASSIFIER)
    others = [f"solvers.{name}=null" for name in ("qsg_s2auc", "samult", "pnu_auc", "rff_s2auc")]
    overrides = [
        *others,
        "protocol.kind=semi_supervised_svm",
        "outputs=[error_table, error_boxplot, balance_table, time_table, time_curve]",
        'solvers.mine={kind: "centroid:Centroid", '
        "search: [{grid: {C: [1.0, 2.0]}}, {grid: {shift: [-9.0, 0.0, 9.0]}}]}",
    ]
    outcome, folder = run(toy, overrides=overrides)
    assert outcome.failures == []
    results = load_results(folder)
    assert len(results.cells) == 2 * 2
    assert all(params == {"C": 1.0, "shift": 0.0} for params in results.cells["params"])
    assert results.cells["error"].between(0, 0.4).all()
    assert results.cells["positive"].between(0.2, 0.8).all()
    paths = {path.name for path in write_report([results], folder)}
    assert paths >= {"error_table.csv", "balance_table.md", "error_boxplot.pdf", "time_curve.png"}
    assert "auc_table.csv" not in paths
    chosen = (folder / "tables" / "params_table.csv").read_text()
    assert "Centroid,C,1," in chosen and "Centroid,shift,0," in chosen
    page = write_page([results], folder / "page.html").read_text()
    assert "C 1..2 (2); then shift -9..9 (3)" in page
    told = "hyper-parameters chosen with hidden labels"
    assert told in page
    text = text_table([results])
    assert "Error (%) on the unlabelled rows" in text
    assert text.count(told) == 1 < text.count("2 trials")
    assert "0/2" in text and "taken for positive" not in text


def test_labelled_rows_are_swept(toy, own_modules):
    """With a classifier of scikit-learn, without hidden labels; curves are against them."""
    own_modules("centroid", CLASSIFIER)
    others = [f"solvers.{name}=null" for name in ("qsg_s2auc", "samult", "pnu_auc", "rff_s2auc")]
    overrides = [
        *others,
        "protocol.kind=semi_supervised_svm",
        "protocol={select: labeled_rows, threshold: labeled_share, unlabeled: 50}",
        "sweep.labeled=[8, 16, 32]",
        "outputs=[balanced_table, auc_curve]",
        'solvers.mine={kind: "centroid:Centroid", grid: {shift: [0, 1]}}',
        'solvers.bayes={kind: "sklearn.naive_bayes:GaussianNB", grid: {var_smoothing: [0.001, 1]}}',
    ]
    outcome, folder = run(toy, overrides=overrides)
    assert outcome.failures == []
    results = load_results(folder)
    assert set(results.cells["size"]) == {8, 16, 32} and not results.cells["full"].any()
    assert results.cells["auc"].between(0.6, 1).all()
    paths = {path.name for path in write_report([results], folder)}
    assert paths >= {"balanced_table.md", "auc_curve.pdf", "params_table.csv"}
    text = text_table([results])
    assert "over 2 trials, by labelled rows." in " ".join(text.split()) and "Labelled rows " in text
    assert "hidden labels" not in text and "at most 50 unlabelled rows in training" in text
    frame = pd.read_csv(folder / "tables" / "params_table.csv")
    assert set(frame.groupby("solver")["count"].sum()) == {3 * 2}  # sizes x trials


def test_a_solver_may_need_more_rows_than_it_is_warmed_up_with(alone, monkeypatch):
    original = SAMULT.fit

    def fit(self, X, y, X_unlabeled):
        if len(X_unlabeled) < 40:
            raise ValueError("n_neighbors is larger than the number of rows")
        return original(self, X, y, X_unlabeled)

    monkeypatch.setattr(SAMULT, "fit", fit)
    monkeypatch.setattr(cells_module, "_WARM_UP_ROWS", 11)
    outcome, _ = run(alone)
    assert not outcome.failures


@pytest.mark.parametrize(("kind", "called"), [("search", "fit_points"), ("fit", "fit")])
def test_what_libraries_warn_of_is_kept_once(alone, monkeypatch, kind, called):
    """Hundreds of models of a search warn of the same with other numbers."""
    original = getattr(SAMULT, called)

    def warn(*arguments, **more):
        for steps in range(3):
            warnings.warn(f"not converged after {steps} steps", UserWarning, stacklevel=1)
        return original(*arguments, **more)

    monkeypatch.setattr(SAMULT, called, warn)
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        _, folder = run(alone)
    kept = [one["warnings"] for one in stored(folder) if one["kind"] == kind]
    assert kept and all(texts == ["not converged after 0 steps"] for texts in kept)
    assert not printed
