"""Cells and whole runs in this process: what runs, in which order, what is kept and told."""

import random
import re
import sys
import warnings
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import ConfigError, FitError, ResultsError, TimeLimitError
from dsgkit.estimators import catalogue
from dsgkit.experiment.cell import Job, new_record, run_job
from dsgkit.experiment.plan import make_plan
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.experiment.runs import load
from dsgkit.experiment.status import describe_status
from dsgkit.system.progress import listening
from tests.conftest import TOY_CONFIG, change_toy
from tests.experiment.runs import InProcess, stored, without_measurements

pytestmark = pytest.mark.usefixtures("in_process")
SAMULT = TOY_CONFIG["solvers"]["samult"]


def jobs_of(path, solver, kind="fit", **options):
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


def test_a_fit_is_told_before_it_is_repeated_and_progress_inside_of_it(toy):
    told, done = [], []
    job, largest = jobs_of(toy, "qsg_s2auc", once=False)
    with listening(done.append):
        record, picture = run_job(job, lambda what, content: told.append((what, content)))
    assert len(done) >= 20 and done == sorted(done) and 0 <= done[0] <= done[-1] <= 1
    assert [what for what, _ in told[:2] + told[-1:]] == ["begun", "kept", "kept"]
    assert told[2:-1] == [("progress", (1.0, number)) for number in range(1, len(told) - 2)]
    (kept, _) = told[1][1]
    repeats = [len(one["measurements"]["wall"]["fit"]) for one in (kept, record)]
    assert repeats == [1, len(told) - 2] and repeats[1] >= 3
    assert kept["scores"] == record["scores"] and job.chosen.items() <= record["estimator"].items()
    assert (record["status"], record["at"], picture) == ("ok", {"unlabeled": 40}, b"")
    assert set(record["times"]) >= {"load", "compile", "fit"} and record["peak_memory"] > 2**20
    assert record["environment"]["dsgkit"] and record["source"]
    assert run_job(replace(largest, once=True))[0]["full"] is True and record["full"] is False
    refused = {"content_hash": "its rows here are not those", "solver_version": "of the version"}
    for name, text in refused.items():
        assert text in run_job(replace(job, **{name: "other"}))[0]["message"]


OWN = """
import random, warnings
import numpy as np
from dsgkit.bases import Estimator

calls = []

class Mine(Estimator):
    tasks, version = ("semi_supervised_auc",), 1
    def __init__(self, lam=1.0): self.lam = lam
    def fit(self, X, y, X_unlabeled):
        {}
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
MINE = {"kind": "own:Mine", "grid": {"lam": [1.0, 2.0]}}
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
    own_modules("own", OWN.format("", body))
    monkeypatch.setattr("dsgkit.experiment.cell._WARM_UP_ROWS", 11)
    path = change_toy(toy, solvers={"mine": MINE}, outputs=[])
    job, search = jobs_of(path, "mine")[0], jobs_of(path, "mine", "search")[0]
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        (record, _), (again, _), (searched, _) = run_job(job), run_job(job), run_job(search)
    assert sys.modules["own"].calls[:4] == [11, 40, 40, 11] and not printed
    told = [text.partition(" (")[0] for text in record["warnings"]]
    assert (record.get("diagnostics"), told) == DIAGNOSTICS[body]
    assert record["scores"] == again["scores"] and searched["warnings"] == [ONCE]
    assert (record["status"], record["remark"]) == ("ok", "tried hard")
    assert record["estimator"]["given_"] == 30 + 30 + 40


def test_diagnostics_get_the_hidden_labels_of_a_fit_that_takes_them(toy):
    protocol = {"kind": "semi_supervised_svm", "select": "labeled_rows"}
    path = change_toy(toy, protocol=protocol, solvers={"all_labels_svm": {}}, outputs=[])
    (record, _) = run_job(jobs_of(path, "all_labels_svm")[0])
    assert (record["status"], record.get("warnings", [])) == ("ok", [])


@pytest.mark.parametrize("scores", [[[0.5]], [[0.5, 0.5], [0.5]]])
def test_a_search_scores_every_point_on_every_fold(toy, monkeypatch, scores):
    monkeypatch.setattr("dsgkit.tasks.semi_supervised.SemiSupervisedAUC.search", lambda *_: scores)
    record, _ = run_job(jobs_of(toy, "samult", "search")[0])
    assert (record["status"], record["message"][:25]) == ("failed", "a search must return a li")


COORDINATES = """
dataset: {path: rows.csv, loader: delimited, target: {ordered: true}}
protocol: {kind: ordinal, labeled: 40, folds: 2, trials: 1}
outputs: [auc_table]
solvers:
  qs3orao:
    params: {batch_size: 8, n_features: 4, n_iterations: 40, thresholds: share}
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
    assert next(tried, None) is None and len({start["gamma"], *gamma[:2]}) == 3
    assert fit["params"] == {**start, "gamma": gamma} and fit["estimator"]["gamma"] == gamma
    *_, unset = [record for record in records if record["solver"] == "unset"]
    assert len(unset["params"]["prior"]) == 3 and {*unset["params"]["prior"]} <= {0.25, 0.5}


def run(toy, *, name="toy", **options):
    folder = toy.parent / "results" / name
    outcome = run_experiment(load_experiment(toy), folder, Options(**{"once": True} | options))
    return outcome, folder


def counts(outcome):
    return outcome.computed, outcome.reused, outcome.left, len(outcome.failures)


@pytest.fixture
def alone(toy):
    """The toy's config with one solver only, SAMULT: two searches and four fits."""
    return change_toy(toy, solvers={"samult": SAMULT})


def fits(folder):
    return [(r["status"], r["message"]) for r in stored(folder) if r["kind"] == "fit"]


def test_a_run_goes_on_where_it_was_stopped(alone, monkeypatch):
    """Whatever fails costs its own cells only, is kept or retried, and is no one else's result."""
    with monkeypatch.context() as patch:
        patch.setattr("dsgkit.SAMULT.fit", lambda *_, **__: 1 / 0)
        failing, folder = run(alone)
    assert counts(failing) == (6, 0, 0, 4)
    assert "in <lambda>" in stored(folder)[-1]["traceback"]
    assert counts(run(alone, retry_failed=False)[0]) == (0, 6, 0, 4)
    for name in ("another", "toy"):  # the other one has the searches of the folder next to it
        assert counts(run(alone, name=name)[0]) == (4, 2, 0, 0)
    config = load_experiment(folder / "config.yaml")  # what a folder holds suffices to run it
    elsewhere = alone.parent / "again" / "toy"
    assert counts(run_experiment(config, elsewhere, Options(once=True))) == (6, 0, 0, 0)
    assert without_measurements(stored(elsewhere)) == without_measurements(stored(folder))
    lines = (elsewhere / "cells.jsonl").read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"trial": 1', b'"trial": 0')
    (elsewhere / "cells.jsonl").write_bytes(b"".join(lines))
    mended = run_experiment(config, elsewhere, Options(once=True))
    assert counts(mended) == (1, 5, 0, 0) and mended.bad == [4]
    assert len(load(elsewhere)[0].recorded) == 6


def test_a_failed_search_fails_its_fits_or_stops_the_run(alone, monkeypatch):
    monkeypatch.setattr("dsgkit.SAMULT.fit_points", Mock(side_effect=FitError("no way")))
    assert counts(run(alone, fail_fast=True)[0]) == (1, 0, 5, 1)
    outcome, folder = run(alone)
    assert fits(folder) == [("failed", "while searching: no way")] * 4
    assert counts(outcome) == (6, 0, 0, 6)
    (alone.parent / "toy.csv").unlink()
    with pytest.raises(ResultsError, match="cannot write there"):  # before data are read
        run(alone, name="../toy.yaml")


def test_results_of_other_code_are_told_and_computed_again_on_request(alone, monkeypatch):
    """By appending, and for the named solvers only."""
    other = SAMULT | {"kind": "samult", "params": {"kernel": "laplacian"}}
    change_toy(alone, protocol={"trials": 1}, solvers={"samult": SAMULT, "other": other})
    _, folder = run(alone)
    before = stored(folder)
    for module in ("folder", "cell"):
        monkeypatch.setattr(f"dsgkit.experiment.{module}.source_hash", lambda: "0" * 12)
    assert counts(run(alone)[0]) == (0, 6, 0, 0)
    reused = "\n{} results are reused from .*, whose code differs; --fresh --solvers {} computes"
    assert re.search(reused.format(6, "other,samult"), describe_status(folder))
    assert counts(run(alone, fresh=True, solvers=["samult"])[0]) == (3, 0, 0, 0)
    assert len(stored(folder)) == 6 + 3 and stored(folder)[:6] == before
    assert re.search(reused.format(3, "other"), describe_status(folder))
    assert run(alone, fresh=True)[0].computed == 6 == len(stored(folder))


OUT = {"status": "out_of_memory"}
SETTLED = [
    ({"status": "indefinite"}, {}, True),
    ({"status": "crashed"}, {"retry_failed": False}, True),
    ({"status": "timeout", "timeout": 10}, {"timeout": 10}, True),
    ({"status": "timeout", "timeout": 10}, {}, False),
    ({"status": "timeout"}, {"timeout": 0.5}, False),
    (OUT | {"needed": 2**60}, {}, True),
    (OUT | {"needed": 2**20}, {"memory": 2**19}, True),
    (OUT | {"needed": 2**20}, {"memory": 2**20}, False),
    (OUT | {"limit": 2**20}, {"memory": 2**20}, True),
    (OUT | {"limit": 2**20}, {"memory": 2**21}, False),
    (OUT, {"memory": 2**20}, False),
]


@pytest.mark.parametrize(("record", "options", "settled"), SETTLED)
def test_a_cell_runs_again_only_if_it_could_go_further(record, options, settled):
    assert Options(**options).settled(record) is settled


class Scheduled(InProcess):
    """Ends its jobs in a random order, and notes what ran at the same time; rehearsals at once."""

    def __init__(self, slots=1, seed=0, ended=None, rehearsed="ok"):
        self.slots, self.rng, self.log, self.rehearsals = slots, random.Random(seed), [], []
        self.running, self.ended, self.rehearsed = {}, ended or {}, rehearsed

    def submit(self, job):
        future = Future()
        if job.rehearsal:
            self.rehearsals.append((job.cell.kind, job.timeout))
            future.set_result((new_record(job, self.rehearsed), b""))
        else:
            self.running[future] = job
            self.log.append((job.cell, [other.cell for other in self.running.values()]))
        return future

    def wait(self, futures, return_when):
        done = self.rng.sample([*futures], min(1, len(futures)))
        for future in done:
            job = self.running.pop(future)
            own = {"fold_scores": [[0.5]] * len(job.cell.points)}
            record = new_record(job) | (own if job.cell.kind == "search" else self.ended)
            future.set_result((record, b""))
        return SimpleNamespace(done=done)


@pytest.fixture
def scheduled(monkeypatch):
    def run_scheduled(toy, executor, **options):
        monkeypatch.setattr("dsgkit.experiment.run.LocalExecutor", lambda *_: executor)
        monkeypatch.setattr("dsgkit.experiment.run.wait", executor.wait)
        return executor.log, *run(toy, **options)

    return run_scheduled


@pytest.mark.parametrize(("threads", "seed"), [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)])
def test_cells_start_once_in_order_and_fits_run_alone(toy, scheduled, monkeypatch, seed, threads):
    """On one thread only those that take more than their share of the memory, if any do."""
    share, told = 300_000 if seed == 2 else 10**6, []
    monkeypatch.setattr("dsgkit.experiment.run.memory_limit", lambda: 3 * share)
    options = {"trial_ended": lambda trial, fits: told.append((trial, len(fits)))}
    log, outcome, _ = scheduled(toy, Scheduled(3, seed), jobs=3, threads=threads, **options)
    order = [cell.key for cell, _ in log]
    assert outcome.computed == len(log) == 24 == len(set(order)) and told == [(0, 8), (1, 8)]
    for place, (cell, running) in enumerate(log):
        assert set(cell.needs) <= set(order[:place])
        assert not set(cell.needs) & {other.key for other in running}
        fits = [other for other in running if other.kind == "fit"]
        alone = any(threads == 2 or other.memory > share for other in fits)
        assert len(running) <= (1 if alone else 3)
    three = [{other.kind for other in running} for _, running in log if len(running) == 3]
    assert three and (threads == 2 or any("fit" in kinds for kinds in three))
    trials = [cell.trial for cell, _ in log]
    assert trials == sorted(trials) or threads == 1
    assert log[0][0].solver == "rff_s2auc"  # the one with the least work


@pytest.mark.parametrize("status", ["timeout", TimeLimitError.status])
def test_larger_fits_are_not_begun_after_one_that_met_a_time_limit(alone, scheduled, status):
    """Until the limit is raised, if it is that of the run; equal cells are run once."""
    change_toy(alone, solvers={"samult": SAMULT, "twin": {"kind": "samult", **SAMULT}})
    own = status == TimeLimitError.status
    ended = {"status": status} | ({} if own else {"timeout": 5})
    log, outcome, folder = scheduled(alone, Scheduled(ended=ended), timeout=5)
    assert [cell.at["unlabeled"] for cell, _ in log if cell.kind == "fit"] == [40, 40]
    assert fits(folder) == [(status, ""), (status, "not begun: a smaller fit met a time limit")] * 2
    assert counts(outcome) == (6, 0, 0, 0) and len(outcome.ended) == 4
    assert len(load(folder)[0].sized) == 8
    assert scheduled(alone, Scheduled(ended=ended), timeout=5)[1].computed == 0
    log, outcome, _ = scheduled(alone, Scheduled(), timeout=50)
    assert len(log) == (0 if own else 4) == 4 - len(outcome.ended)


FAILS = {
    "self.lam.no": "solvers.mine: a search on a few rows fails: AttributeError: .*nothing was",
    "exit(3)": "solvers.mine: a search on a few rows fails: SystemExit: 3 .*; nothing was",
    "self.decision_function = lambda X: np.ones((len(X), 2))": "a search .* returned shape .*, 2",
    "": "",  # more rows mend it
    "raise __import__('dsgkit.errors').errors.FitError('no solution')": "",
}


@pytest.mark.filterwarnings("ignore:not converged")
@pytest.mark.parametrize("body", FAILS)
def test_a_solver_of_ones_own_is_rehearsed_before_the_first_cell(alone, own_modules, body):
    own_modules("own", OWN.format(body, ""))
    path = change_toy(alone, solvers={"mine": MINE}, outputs=["auc_table"])
    with pytest.raises(ConfigError, match=FAILS[body]) if FAILS[body] else nullcontext():
        run(path)
    assert (stored(path.parent / "results" / "toy") == []) is bool(FAILS[body])


def test_a_rehearsal_is_short_and_slow_solvers_may_run(alone, own_modules, scheduled):
    own_modules("own", OWN.format("", ""))
    path = change_toy(alone, solvers={"mine": {"kind": "own:Mine"}}, outputs=["auc_table"])
    executor = Scheduled(rehearsed="crashed")
    with pytest.raises(ConfigError, match="a fit on a few rows fails: ; nothing was run"):
        scheduled(path, executor, timeout=99.0)
    assert (executor.rehearsals, executor.log) == ([("fit", 60.0)], [])
    for timeout, expected in ((5.0, 5.0), (None, 60.0)):
        executor = Scheduled(rehearsed="timeout")
        assert scheduled(path, executor, timeout=timeout, fresh=True)[1].computed == 4
        assert executor.rehearsals == [("fit", expected)]
