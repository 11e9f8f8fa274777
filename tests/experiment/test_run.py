"""Whole runs in this process: what runs, in which order, what is kept, and what is told."""

import random
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
import yaml

from dsgkit import SAMULT
from dsgkit.config.schema import load_experiment
from dsgkit.errors import ConfigError, FitError, ResultsError, TimeLimitError
from dsgkit.experiment import cell as cell_module
from dsgkit.experiment import folder as folder_module
from dsgkit.experiment.cell import new_record
from dsgkit.experiment.results import load_results
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.experiment.status import describe_status
from tests.conftest import change_toy
from tests.experiment.runs import InProcess, stored, without_measurements

pytestmark = pytest.mark.usefixtures("in_process")


def run(toy, *, name="toy", **options):
    folder = toy.parent / "results" / name
    outcome = run_experiment(load_experiment(toy), folder, Options(**{"once": True} | options))
    return outcome, folder


@pytest.fixture
def alone(toy):
    """The toy's config with one solver only, SAMULT: two searches and four fits."""
    samult = yaml.safe_load(toy.read_text())["solvers"]["samult"]
    return change_toy(toy, solvers={"samult": samult})


def fits(folder):
    return [(r["status"], r["message"]) for r in stored(folder) if r["kind"] == "fit"]


def test_a_run_goes_on_where_it_was_stopped(alone, monkeypatch):
    """Whatever fails costs its own cells only, is kept or retried, and is no one else's result."""
    with monkeypatch.context() as patch:
        patch.setattr(SAMULT, "fit", lambda *_, **__: 1 / 0)
        first, _ = run(alone)
    assert (first.computed, len(first.failures)) == (6, 4)
    kept, _ = run(alone, retry_failed=False)
    assert (kept.computed, kept.reused, len(kept.failures)) == (0, 6, 4)
    other, another = run(alone, name="another")
    assert (other.computed, other.failures) == (4, [])
    assert len(stored(another)) == 6, "the searches are those of the folder next to it"
    again, _ = run(alone, name="toy")
    assert (again.computed, again.reused, again.failures) == (4, 2, [])


def test_a_failed_search_fails_its_fits_or_stops_the_run(alone, monkeypatch):
    def refuse(self, points, **training):
        raise FitError("no way")

    monkeypatch.setattr(SAMULT, "fit_points", refuse)
    stopped, _ = run(alone, fail_fast=True)
    assert (stopped.computed, stopped.left, len(stopped.failures)) == (1, 5, 1)
    outcome, folder = run(alone)
    assert fits(folder) == [("failed", "while searching: no way")] * 4
    assert len(outcome.failures) == 6


def test_what_a_folder_holds_suffices_to_run_it_again_and_changed_records_do(toy, finished):
    again, other = load_experiment(finished / "config.yaml"), toy.parent / "again" / "toy"
    assert again.solvers == load_experiment(toy).solvers
    assert run_experiment(again, other, Options(once=True)).computed == 24
    assert without_measurements(stored(other)) == without_measurements(stored(finished))
    lines = (finished / "cells.jsonl").read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"trial": 0', b'"trial": 1')
    lines[7] = lines[7][:40] + b"\n"
    (finished / "cells.jsonl").write_bytes(b"".join(lines))
    done, _ = run(toy)
    assert (done.computed, done.reused, done.bad) == (2, 22, [4, 8])
    assert len(load_results(finished).records) == 24


def test_results_of_other_code_are_told_and_computed_again_on_request(alone, monkeypatch):
    """By appending, and for the named solvers only."""
    samult = yaml.safe_load(alone.read_text())["solvers"]["samult"]
    solvers = {
        "a": {"kind": "samult", **samult},
        "samult": samult | {"params": {"kernel": "laplacian"}},
    }
    change_toy(alone, protocol={"trials": 1}, solvers=solvers)
    _, folder = run(alone)
    before = stored(folder)

    def told():
        return [line for line in describe_status(folder).splitlines() if "differs" in line]

    monkeypatch.setattr(folder_module, "source_hash", lambda: "0" * 12)
    monkeypatch.setattr(cell_module, "source_hash", lambda: "0" * 12)
    assert run(alone)[0].computed == 0
    (line,) = told()
    assert line.startswith("6 results are reused from dsgkit 0.1.0 at ")
    assert line.endswith(", whose code differs; --fresh --solvers a,samult computes them again")
    again, _ = run(alone, fresh=True, solvers=["samult"])
    assert (again.computed, again.reused) == (3, 0)
    assert len(stored(folder)) == 6 + 3 and stored(folder)[:6] == before
    (line,) = told()
    assert line.startswith("3 results are reused") and "samult" not in line
    assert run(alone, fresh=True)[0].computed == 6 == len(stored(folder))


@pytest.mark.parametrize(
    ("record", "options", "settled"),
    [
        ({"status": "ok"}, {}, True),
        ({"status": "indefinite"}, {}, True),
        ({"status": "failed"}, {}, False),
        ({"status": "crashed"}, {"retry_failed": False}, True),
        ({"status": "timeout", "timeout": 10}, {"timeout": 10}, True),
        ({"status": "timeout", "timeout": 10}, {"timeout": 11}, False),
        ({"status": "timeout", "timeout": 10}, {}, False),
        ({"status": "timeout"}, {"timeout": 0.5}, False),
        ({"status": "out_of_memory", "needed": 2**60}, {}, True),
        ({"status": "out_of_memory", "needed": 2**20}, {"memory": 2**19}, True),
        ({"status": "out_of_memory", "needed": 2**20}, {"memory": 2**21}, False),
        ({"status": "out_of_memory", "limit": 2**20}, {"memory": 2**20}, True),
        ({"status": "out_of_memory", "limit": 2**20}, {"memory": 2**21}, False),
        ({"status": "out_of_memory"}, {"memory": 2**20}, False),
    ],
)
def test_a_cell_runs_again_only_if_it_could_go_further(record, options, settled):
    assert Options(**options).settled(record) is settled


class Scheduled(InProcess):
    """An executor that ends its jobs in a random order, and notes what ran at the same time."""

    def __init__(self, slots, seed, ended):
        self.slots, self.rng, self.log = slots, random.Random(seed), []
        self.running, self.ended = {}, ended

    def submit(self, job):
        future = Future()
        self.running[future] = job
        self.log.append((job.cell, [other.cell for other in self.running.values()]))
        return future

    def wait(self, futures, return_when):
        if not futures:
            return SimpleNamespace(done=set())
        future = self.rng.choice(list(futures))
        job = self.running.pop(future)
        own = {"fold_scores": [[0.5]] * len(job.cell.points)}
        record = new_record(job) | (own if job.cell.kind == "search" else self.ended)
        future.set_result((record, b""))
        return SimpleNamespace(done={future})


@pytest.fixture
def scheduled(monkeypatch):
    def run_scheduled(toy, seed=0, ended=None, **options):
        executor = Scheduled(options.get("jobs", 1), seed, ended or {})
        monkeypatch.setattr("dsgkit.experiment.run.LocalExecutor", lambda *_: executor)
        monkeypatch.setattr("dsgkit.experiment.run.wait", executor.wait)
        return executor.log, *run(toy, **options)

    return run_scheduled


@pytest.mark.parametrize(("threads", "seed"), [(1, 0), (1, 1), (2, 0), (2, 1)])
def test_every_cell_starts_once_after_its_searches_and_fits_run_alone(
    toy, scheduled, seed, threads
):
    told = []
    options = {"trial_ended": lambda trial, fits: told.append((trial, len(fits)))}
    log, outcome, _ = scheduled(toy, seed, jobs=3, threads=threads, **options)
    order = [cell.key for cell, _ in log]
    assert outcome.computed == len(log) == 24 == len(set(order)) and told == [(0, 8), (1, 8)]
    for place, (cell, running) in enumerate(log):
        assert set(cell.needs) <= set(order[:place])
        assert not set(cell.needs) & {other.key for other in running}
        alone = threads == 2 and any(other.kind == "fit" for other in running)
        assert len(running) <= (1 if alone else 3)
    assert any(len(running) == 3 for _, running in log)
    trials = [cell.trial for cell, _ in log]
    assert trials == sorted(trials) or threads == 1
    assert log[0][0].solver == "rff_s2auc", "the solver with the least work comes first"


@pytest.mark.parametrize("status", ["timeout", TimeLimitError.status])
def test_larger_fits_are_not_begun_after_one_that_met_a_time_limit(alone, scheduled, status):
    """Until the limit is raised, if it is that of the run."""
    own = status == TimeLimitError.status
    ended = {"status": status} | ({} if own else {"timeout": 5})
    log, outcome, folder = scheduled(alone, ended=ended, timeout=5)
    assert [cell.at["unlabeled"] for cell, _ in log if cell.kind == "fit"] == [40, 40]
    assert fits(folder) == [(status, ""), (status, "not begun: a smaller fit met a time limit")] * 2
    assert outcome.failures == [] and len(outcome.ended) == 4
    assert scheduled(alone, ended=ended, timeout=5)[1].computed == 0
    log, outcome, _ = scheduled(alone, timeout=50)
    assert len(log) == (0 if own else 4) == 4 - len(outcome.ended)


def test_a_cell_that_stands_twice_in_the_plan_is_run_once(alone, scheduled):
    samult = yaml.safe_load(alone.read_text())["solvers"]["samult"]
    change_toy(alone, solvers={"samult": samult, "twin": {"kind": "samult", **samult}})
    log, outcome, folder = scheduled(alone)
    assert (len(log), outcome.computed, outcome.reused) == (6, 6, 0)
    assert len(load_results(folder).cells) == 8


REHEARSED = """
from dsgkit.bases import Estimator

class Mine(Estimator):
    tasks, version = ("semi_supervised_auc",), 1
    def __init__(self, lam=1.0): self.lam = lam
    def fit(self, X, y, X_unlabeled):
        {}
        return self
    def decision_function(self, X): return X[:][:, 0]
"""
FAILS = {
    "self.lam.no": "solvers.mine: a search on a few rows ends by AttributeError: .*no cell was",
    "exit(3)": "solvers.mine: a search on a few rows ends by SystemExit: 3 .*; no cell was",
    "assert len(X_unlabeled) > 20": None,  # more rows mend it
    "raise __import__('dsgkit.errors').errors.FitError('no solution')": None,
}


@pytest.mark.parametrize("body", FAILS)
def test_a_solver_of_ones_own_is_rehearsed_before_the_first_cell(alone, own_modules, body):
    own_modules("rehearsed", REHEARSED.format(body))
    mine = {"kind": "rehearsed:Mine", "grid": {"lam": [1.0, 2.0]}}
    rff = {"params": {"n_features": 20, "sigma": 1.0}}
    path = change_toy(alone, solvers={"rff_s2auc": rff, "mine": mine}, outputs=["auc_table"])
    if told := FAILS[body]:
        with pytest.raises(ConfigError, match=told):
            run(path)
        assert stored(path.parent / "results" / "toy") == []
    else:
        _, folder = run(path)
        assert {r["status"] for r in stored(folder) if r["solver"] == "rff_s2auc"} == {"ok"}


@pytest.mark.parametrize(
    ("timeout", "status"), [(None, "timeout"), (5.0, "timeout"), (99.0, "crashed")]
)
def test_a_rehearsal_is_short_and_slow_solvers_may_run(
    alone, own_modules, monkeypatch, timeout, status
):
    own_modules("rehearsed", REHEARSED.format(""))
    rehearsed, executor = [], InProcess()

    def submit(job):
        future = Future()
        if job.rehearsal:
            rehearsed.append((job.cell.kind, job.timeout))
        future.set_result((new_record(job, status if job.rehearsal else "indefinite"), b""))
        return future

    executor.submit = submit
    monkeypatch.setattr("dsgkit.experiment.run.LocalExecutor", lambda *_: executor)
    path = change_toy(alone, solvers={"mine": {"kind": "rehearsed:Mine"}}, outputs=["auc_table"])
    if status == "crashed":
        with pytest.raises(ConfigError, match="a fit on a few rows ends by ; no cell was started"):
            run(path, timeout=timeout)
    else:
        assert run(path, timeout=timeout)[0].computed == 4
    assert rehearsed == [("fit", timeout if timeout == 5.0 else 60.0)]


def test_an_experiment_whose_folder_cannot_be_made_ends_before_its_data_are_read(toy):
    (toy.parent / "results").touch()
    (toy.parent / "toy.csv").unlink()
    with pytest.raises(ResultsError, match="cannot write there"):
        run(toy)
