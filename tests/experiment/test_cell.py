"""One cell in this process: what its record holds, and what it leaves behind."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dsgkit import SAMULT
from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import FitError
from dsgkit.experiment import cell as cell_module
from dsgkit.experiment.cell import Job, run_job
from dsgkit.experiment.plan import make_plan, make_trial
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.experiment.store import seal
from dsgkit.solvers import catalogue
from dsgkit.system.progress import listening
from tests.conftest import change_toy
from tests.experiment.runs import stored

pytestmark = pytest.mark.usefixtures("in_process")


def jobs_of(path, kind="fit", solver="samult", **options):
    """The jobs of a solver's cells of the first trial, with the first point of its grid."""
    experiment = load_experiment(path)
    dataset, info = load_dataset(experiment.dataset), catalogue.get(experiment.solvers[solver].kind)
    return [
        Job(
            *(experiment, dataset.content_hash, info.version, cell),
            cell.points[0] if kind == "fit" else {},
            **{"once": True} | options,
        )
        for cell in make_plan(experiment, dataset).cells
        if (cell.trial, cell.kind, cell.solver) == (0, kind, solver)
    ]


def test_fits_and_searches_are_those_of_the_estimator_by_hand(toy):
    job, largest = jobs_of(toy)
    record, picture = run_job(job)
    trial = make_trial(job.experiment, load_dataset(job.experiment.dataset), 0)
    X, y, XU = (trial.training(job.cell.at)[name] for name in ("X", "y", "X_unlabeled"))
    model, split = SAMULT(**job.chosen).fit(X[:], y, XU[:]), trial.split
    by_hand = roc_auc_score(split.y_unlabeled, model.decision_function(split.X_unlabeled))
    assert record["scores"]["auc"] == pytest.approx(by_hand, abs=1e-12)
    assert (record["status"], record["at"], picture) == ("ok", {"unlabeled": 40}, b"")
    assert job.chosen.items() <= record["estimator"].items()
    assert set(record["times"]) >= {"load", "compile", "fit"} and record["peak_memory"] > 2**20
    assert record["environment"]["dsgkit"] and record["source"]
    assert run_job(largest)[0]["full"] is True and record["full"] is False
    refused = {"content_hash": "its rows here are not those", "solver_version": "of the version"}
    for name, text in refused.items():
        assert text in run_job(replace(job, **{name: "other"}))[0]["message"]


ENDS = {
    "an error": (lambda: 1 / 0, "failed", "ZeroDivisionError: division by zero"),
    "an exit": (lambda: exit(3), "failed", "SystemExit: 3"),
    "no memory": (lambda: bytearray(2**62), "out_of_memory", "MemoryError"),
    "no solution": (lambda: (_ for _ in ()).throw(FitError("no way")), "failed", "no way"),
}


def test_whatever_a_fit_does_ends_in_a_record(toy, monkeypatch):
    for case, (does, status, message) in ENDS.items():
        monkeypatch.setattr(SAMULT, "fit", lambda *_, does=does, **__: does())
        record, _ = run_job(jobs_of(toy)[0])
        assert record["status"] == status and message in record["message"]
        assert ("traceback" in record) == (case != "no solution")
        seal(record)


def test_a_fit_is_told_before_it_is_repeated_and_progress_inside_of_it(toy):
    told, done = [], []
    job = jobs_of(toy, solver="qsg_s2auc", once=False)[0]
    with listening(done.append):
        record, _ = run_job(job, lambda what, content: told.append((what, content)))
    assert len(done) >= 20 and done == sorted(done) and 0 <= done[0] <= done[-1] <= 1
    assert [what for what, _ in told[:2] + told[-1:]] == ["begun", "kept", "kept"]
    assert told[2:-1] == [("progress", (1.0, number)) for number in range(1, len(told) - 2)]
    (kept, _) = told[1][1]
    assert kept["status"] == "ok" and kept["scores"] == record["scores"]
    repeats = [len(one["measurements"]["wall"]["fit"]) for one in (kept, record)]
    assert repeats == [1, len(told) - 2] and repeats[1] >= 3


OWN = """
import random, warnings
import numpy as np
from dsgkit.bases import Estimator

calls = []

class Mine(Estimator):
    tasks, version = ("semi_supervised_auc",), 1
    def __init__(self, lam=1.0): self.lam = lam
    def fit(self, X, y, X_unlabeled):
        calls.append(len(X_unlabeled))
        for steps in range(3): warnings.warn(f"not converged after {{steps}} steps")
        if len(X_unlabeled) < 40: raise ValueError("n_neighbors is larger than the number of rows")
        self.given_, self.remark_ = len(X) + len(y) + len(X_unlabeled), "tried hard"
        self.coef_ = np.random.rand(X.shape[1]) - random.random()
        return self
    def decision_function(self, X): return X[:] @ self.coef_
    def diagnostics(self, X, y, X_unlabeled):
        assert len(X) + len(y) + len(X_unlabeled) == self.given_
        {}
"""
NO, ONCE = "no diagnostics: ", "not converged after 0 steps"
DIAGNOSTICS = {
    "return {'objective': np.float32(0.5), 'n': 3}": ({"objective": 0.5, "n": 3.0}, [ONCE]),
    "return {'objective': np.inf, 'n': 3}": ({"n": 3.0}, [ONCE]),
    "raise ValueError('no value')": (None, [ONCE, f"{NO}ValueError: no value"]),
    "return {'n': 'a'}": (None, [ONCE, f"{NO}FitError: a score must be a number or None, got 'a'"]),
}


@pytest.mark.parametrize("body", DIAGNOSTICS)
def test_what_a_fit_warns_of_and_its_diagnostics_are_kept(toy, own_modules, monkeypatch, body):
    """Numbers drawn from the process do not depend on what ran before; a warm-up may fail."""
    own_modules("own", OWN.format(body))
    monkeypatch.setattr(cell_module, "_WARM_UP_ROWS", 11)
    mine = {"kind": "own:Mine", "grid": {"lam": [1.0, 2.0]}}
    path = change_toy(toy, solvers={"mine": mine}, outputs=[])
    job, search = jobs_of(path, solver="mine")[0], jobs_of(path, "search", "mine")[0]
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        (record, _), (again, _), (searched, _) = run_job(job), run_job(job), run_job(search)
    assert sys.modules["own"].calls[:4] == [11, 40, 40, 11] and not printed
    told = [text.partition(" (")[0] for text in record["warnings"]]
    assert (record.get("diagnostics"), told) == DIAGNOSTICS[body]
    assert record["scores"] == again["scores"] and searched["warnings"] == [ONCE]
    assert (record["status"], record["remark"]) == ("ok", "tried hard")
    assert record["estimator"]["given_"] == 30 + 30 + 40


COORDINATES = """
dataset: {path: rows.csv, loader: delimited, target: {ordered: true}}
protocol: {kind: ordinal, labeled: 40, folds: 2, trials: 1}
outputs: [auc_table]
solvers:
  qs3orao:
    params: {batch_size: 8, n_features: 4, n_iterations: 12, thresholds: share}
    search:
    - grid: {lam: [0.25, 1], sigma: [0.5, 2], gamma: [0.25, 0.75]}
    - coordinates: {gamma: [0, 0.5, 1]}
  unset: {kind: m_pnu_auc, params: {n_centers: 5}, search: [{coordinates: {prior: [0.25, 0.5]}}]}
"""


def test_numbers_of_a_parameter_are_searched_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    X = rng.random((120, 3))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=120) / 4, [0.6, 1.0, 1.4])
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, y]), delimiter=",")
    (tmp_path / "c.yaml").write_text(COORDINATES)
    run_experiment(load_experiment(tmp_path / "c.yaml"), tmp_path / "c", Options(once=True))
    records = stored(tmp_path / "c")
    *shares, search, fit = [record for record in records if record["solver"] == "qs3orao"]
    assert [len(share["points"]) for share in shares] == [4, 4]  # cut along sigma
    start, best = search["params"], -np.inf
    gamma = [start["gamma"]] * 3
    tried = iter(zip(search["points"], search["fold_scores"], strict=True))
    for cut in range(3):
        for value in dict.fromkeys([gamma[cut], 0, 0.5, 1]):
            point, scores = next(tried)
            assert point == {"gamma": [*gamma[:cut], value, *gamma[cut + 1 :]]}
            if np.mean(scores) > best + 1e-9:
                best, better = np.mean(scores), point["gamma"]
        gamma = better
    assert next(tried, None) is None
    assert fit["params"] == {**start, "gamma": gamma} and fit["estimator"]["gamma"] == gamma
    *_, unset = [record for record in records if record["solver"] == "unset"]
    assert len(unset["params"]["prior"]) == 3 and {*unset["params"]["prior"]} <= {0.25, 0.5}
