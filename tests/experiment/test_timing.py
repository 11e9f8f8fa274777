"""Repeated times of a fit: how many, what is reported, and what tells that it was disturbed."""

import importlib
import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import yaml

from dsgkit.config import load_experiment
from dsgkit.experiment import runner as runner_module
from dsgkit.experiment import timing as timing_module
from dsgkit.experiment import workers
from dsgkit.experiment.cells import run_job
from dsgkit.experiment.measure import Clock
from dsgkit.experiment.records import parse, sealed
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.experiment.timing import Timing
from tests.conftest import TOY_CONFIG, cells_in_this_process
from tests.experiment.in_process import InProcess
from tests.experiment.runs import behaving, stored, write_config


@pytest.fixture
def seconds(monkeypatch):
    """A clock of the test's own; the list has the time that it shows."""
    now = [0.0]
    monkeypatch.setattr(timing_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return now


def fits(seconds, *, wall, busiest=None, around=0.0, threads=2):
    """A fit that takes some seconds by its clock, and some of preparation."""
    walls = iter(wall)

    def fit(clock):
        took = next(walls)
        busy = took if busiest is None else busiest
        clock._add("fit", took, threads * busy, busy)
        seconds[0] += took + around

    return fit


def timed(fit, threads=2):
    timing = Timing(threads)
    timing.first(fit, Clock())
    timing.repeat(fit)
    return timing.record


def test_the_median_is_reported_of_three_fits_at_least(seconds):
    record = timed(fits(seconds, wall=[3.0, 1.0, 2.0]))
    assert record["measurements"]["wall"] == {"fit": [3.0, 1.0, 2.0]}
    assert record["times"] == {"fit": 2.0}
    assert record["timing"]["range"] == {"fit": [1.0, 3.0]}


@pytest.mark.parametrize(
    ("wall", "around", "number"),
    [
        (0.125, 0, 8),  # for a second in all
        (10.5, 0, 1),  # a long fit once
        (9.5, 0, 3),
        (0.1, 10, 1),  # a long preparation counts, too
        (0.1, 1, 3),
    ],
)
def test_short_fits_are_repeated_for_a_second_and_long_ones_not(seconds, wall, around, number):
    record = timed(fits(seconds, wall=[wall] * 100, around=around))
    assert record["measurements"]["wall"]["fit"] == [wall] * number


def test_very_short_fits_are_timed_several_in_a_row(seconds):
    record = timed(fits(seconds, wall=[1 / 128] * 1000))
    wall = record["measurements"]["wall"]["fit"]
    assert len(wall) < 25
    assert wall == [round(1 / 128, 6)] * len(wall)
    assert seconds[0] >= 1


def test_on_one_thread_the_time_is_processor_time(seconds):
    record = timed(fits(seconds, wall=[3.0, 3.0, 3.0], busiest=2.0, threads=1), threads=1)
    assert record["times"] == {"fit": 2.0}
    assert record["timing"]["range"] == {"fit": [2.0, 2.0]}
    assert record["measurements"]["wall"] == {"fit": [3.0, 3.0, 3.0]}


@pytest.mark.parametrize(
    ("wall", "busiest", "around", "disturbed"),
    [
        ([1.0, 1.0, 1.0], 0.7, 0, False),
        ([1.0, 1.0, 1.0], 0.6, 0, True),
        ([1.0, 1.0, 1.0], 0.0, 0, True),
        ([1.0, 9.0, 1.0], 1.0, 0, False),  # one of three was: the median is none of its
        ([20.0], 19.0, 0, False),
        ([20.0], 9.0, 0, True),
        ([2e-5] * 3, 1e-5, 0.5, False),  # waiting for less than a tick of the clock is noise
    ],
)
def test_a_fit_is_disturbed_if_it_waits_longer_than_half_of_what_it_computes(
    seconds, wall, busiest, around, disturbed
):
    timing = timed(fits(seconds, wall=wall, busiest=busiest, around=around))["timing"]
    assert timing["disturbed"] is disturbed


def test_what_is_kept_can_be_stored(seconds):
    base = {"key": "0" * 32, "kind": "fit", "solver": "a", "trial": 0, "at": {}, "status": "ok"}
    timing = timed(fits(seconds, wall=[1.0] * 3, busiest=0.0))
    line = sealed(base | timing)
    assert json.loads(line)["measurements"] == timing["measurements"]
    assert parse(line)["timing"] == timing["timing"] | {"range": {"fit": (1.0, 1.0)}}
    assert "measurements" not in parse(line)


SOLVER = """
import time
from tests.experiment.misbehaving import WARM_UP, Behaving

fits = 0

class {name}(Behaving):
    def fit(self, X, y, X_unlabeled):
        global fits
        if len(X_unlabeled) > WARM_UP:
            fits += 1
            {body}
        return super().fit(X, y, X_unlabeled)
"""


@pytest.fixture
def own(tmp_path, own_modules):
    """Write a config of one solver, whose fits do something after they were counted."""

    def write(name, body):
        own_modules(f"module_of_{name.lower()}", SOLVER.format(name=name, body=body))
        spec = behaving() | {"kind": f"module_of_{name.lower()}:{name}"}
        return load_experiment(write_config(tmp_path, {"own": spec}, sizes=[70]))

    return write


@pytest.mark.usefixtures("in_process")
def test_only_the_first_fit_is_judged_and_all_are_equal(own, tmp_path, monkeypatch):
    monkeypatch.setattr(timing_module, "MIN_SECONDS", 0)
    once = run_experiment(own("Quiet", "pass"), tmp_path / "a" / "r", Options(once=True))
    thrice = run_experiment(own("Quiet", "pass"), tmp_path / "b" / "r", Options(threads=1))
    assert (once.failures, thrice.failures) == ([], [])
    (first,), (last,) = stored(tmp_path / "a" / "r"), stored(tmp_path / "b" / "r")
    assert (first["scores"], first["estimator"]) == (last["scores"], last["estimator"])
    assert len(first["measurements"]["wall"]["fit"]) == 1
    assert len(last["measurements"]["wall"]["fit"]) == 3
    assert last["times"]["fit"] == sorted(last["measurements"]["processor"]["fit"])[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", ["1 / 0", "exit()", "time.sleep(1000)", "__import__('os')._exit(3)"]
)
def test_a_repeat_that_fails_never_ends_or_dies_leaves_the_result(own, tmp_path, monkeypatch, body):
    """The limit of time is for the fit that counts; repeats have one of their own."""
    monkeypatch.setattr(workers, "_REPEATING", workers._Stage("repeating the fit", 0.0))
    limits = runner_module.Limits(timeout=5.0 if "sleep" in body else 20.0)
    in_worker = body in ("time.sleep(1000)", "__import__('os')._exit(3)")
    with nullcontext() if in_worker else cells_in_this_process():
        experiment = own("Ending", f"fits > 1 and {body}")
        outcome = run_experiment(experiment, tmp_path / "r", Options(limits=limits))
    assert outcome.failures == []
    (record,) = stored(tmp_path / "r")
    assert record["status"] == "ok"
    assert len(record["measurements"]["wall"]["fit"]) == 1


def slowed(slowdowns):
    """A way to run jobs whose fits are disturbed so much, one after the other."""
    left = iter(slowdowns)

    def run(job):
        record = run_job(job)
        if job.cell.kind == "fit":
            slowdown = next(left)
            timing = {"threads": 2, "slowdown": slowdown, "disturbed": slowdown > 1.5}
            record |= {"timing": timing, "times": {"fit": slowdown}}
        return record

    return run


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("slowdowns", "kept", "fits"),
    [
        ([1.2, 1.3], [1.2, 1.3], 2),
        # measured again once, after all others
        ([3.0, 1.3, 1.1], [1.1, 1.3], 3),
        # twice at most; the least disturbed measurement stays
        ([3.0, 1.3, 2.0, 5.0], [2.0, 1.3], 4),
        ([3.0, 4.0, 5.0, 2.0, 1.0, 6.0], [1.0, 2.0], 6),
    ],
)
def test_disturbed_fits_are_measured_again(toy, monkeypatch, slowdowns, kept, fits):
    config = TOY_CONFIG | {"solvers": {"rff_s2auc": TOY_CONFIG["solvers"]["rff_s2auc"]}}
    toy.write_text(yaml.safe_dump(config))
    experiment = load_experiment(toy, overrides=["protocol.trials=1"])
    run, ran = slowed(slowdowns), []
    monkeypatch.setattr(InProcess, "wait", lambda self: [(j := self._jobs.pop(), run(j))])
    monkeypatch.setattr(timing_module, "MIN_REPEATS", 1)
    monkeypatch.setattr(timing_module, "MIN_SECONDS", 0)
    submit = InProcess.submit
    monkeypatch.setattr(InProcess, "submit", lambda *job: (ran.append(1), submit(*job)))
    folder = toy.parent / "again"
    outcome = run_experiment(experiment, folder, Options())
    assert (outcome.computed, len(ran)) == (2, fits)
    assert load_results(folder).cells["fit_seconds"].tolist() == kept


def test_a_config_says_on_how_many_threads_its_fits_are_timed(toy):
    assert load_experiment(toy).threads is None
    assert "threads" not in load_experiment(toy).to_yaml()
    toy.write_text(yaml.safe_dump(TOY_CONFIG | {"profiles": {"reference": {"threads": 1}}}))
    one = load_experiment(toy, profile="reference")
    assert one.threads == 1
    (toy.parent / "again.yaml").write_text(one.to_yaml())
    assert load_experiment(toy.parent / "again.yaml") == one


@pytest.mark.usefixtures("in_process")
def test_fits_on_other_threads_than_the_config_says_are_timed_again(own, tmp_path):
    """Also those of a folder beside it: rivals are compared by times of one kind."""
    two = own("Threaded", "pass")
    one = two.model_copy(update={"threads": 1})
    computed = [
        run_experiment(experiment, tmp_path / folder, Options(threads=threads, once=True)).computed
        for folder, experiment, threads in [
            ("two", two, 2),
            ("two", two, 1),
            ("one", one, None),
            ("one", one, None),
            ("one", one, 2),
        ]
    ]
    assert computed == [1, 0, 1, 0, 1]
    assert [record["timing"]["threads"] for record in stored(tmp_path / "one")] == [2, 1, 2]


@pytest.mark.usefixtures("in_process")
def test_on_one_thread_other_libraries_have_one_too(own, tmp_path):
    """scikit-learn's KMeans, for one, asks OpenMP."""
    importlib.import_module("sklearn.cluster")  # as a warm-up does
    helpers = "__import__('sklearn.utils._openmp_helpers', fromlist=['_'])"
    body = f"self.found_ = {helpers}._openmp_effective_n_threads()"
    run_experiment(own("Parallel", body), tmp_path / "r", Options(threads=1, once=True))
    (record,) = stored(tmp_path / "r")
    assert record["estimator"]["found_"] == 1


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize(
    ("threads", "available", "alone"), [(1, 2**40, False), (2, 2**40, True), (1, 1, True)]
)
def test_only_fits_that_share_neither_clock_nor_memory_run_beside_others(
    toy, monkeypatch, threads, available, alone
):
    seen = []
    submit = InProcess.submit
    monkeypatch.setattr(InProcess, "submit", lambda *job: (seen.append(job[1]), submit(*job)))
    monkeypatch.setattr(runner_module, "memory_limit", lambda: available)
    run_experiment(
        load_experiment(toy), toy.parent / "r", Options(threads=threads, jobs=2, once=True)
    )
    assert {job.cell.kind: job.alone for job in seen} == {"search": False, "fit": alone}


def test_a_forecast_knows_how_often_fits_are_repeated():
    seconds = {0.01: 1, 0.3: 1, 0.5: 1.5, 2.0: 6, 10.0: 30, 10.1: 10.1}
    assert {one: timing_module.repeated(one) for one in seconds} == seconds
