"""Clocks, repeated times of a fit, and what is said of the time that a run takes."""

import re
import threading
import time
from types import SimpleNamespace

import pytest

from dsgkit.config.load import SHIPPED
from dsgkit.config.schema import load_experiment
from dsgkit.errors import MissingDataError
from dsgkit.experiment import timing as timing_module
from dsgkit.experiment.forecast import forecast_run, totals
from dsgkit.experiment.plan import Cell, Plan, TooLarge
from dsgkit.experiment.progress import RunProgress
from dsgkit.experiment.run import Options
from dsgkit.experiment.store import Store
from dsgkit.experiment.timing import MACHINE_FLOPS, Clock, repeated, timing_record
from tests.conftest import change_toy


def test_a_clock_adds_up_phases_and_knows_the_busiest_thread():
    """Two threads that compute, in turn under Python's lock, beside this one, which waits."""
    clock, ready = Clock(), threading.Barrier(3)

    def compute(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        ready.wait()
        ready.wait()  # a thread that has ended is not seen

    with clock.phase("fit"):
        for seconds in (0.06, 0.03):
            threading.Thread(target=compute, args=(seconds,)).start()
        ready.wait()
    ready.wait()
    assert 0.06 <= clock.busiest["fit"] < 0.09 <= clock.processor["fit"]
    before = clock.wall["fit"]
    with pytest.raises(ValueError, match="x"), clock.phase("fit"):
        time.sleep(0.01)
        raise ValueError("x")
    assert list(clock.wall) == ["fit"] and clock.wall["fit"] > before + 0.009


def test_peak_memory_sees_what_was_freed():
    timing_module.reset_peak_memory()
    before = timing_module.peak_memory()
    del bytearray(2**27)[:]
    assert timing_module.peak_memory() >= before > 2**20


@pytest.mark.parametrize(
    ("wall", "more", "expected"),
    [  # reported time, number of measurements, slowdown, and whether it was disturbed
        ([3.0, 1.0, 2.0], {}, (2.0, 3, 1.0, False)),
        ([0.125] * 9, {}, (0.125, 8, 1.0, False)),  # for a second in all
        ([10.5] * 9, {}, (10.5, 1, 1.0, False)),  # a long fit once
        ([9.5] * 9, {}, (9.5, 3, 1.0, False)),
        ([0.125] * 9, {"around": 10}, (0.125, 2, 1.0, False)),  # long preparations count, too
        ([1 / 128] * 999, {}, (round(1 / 128, 6), 20, 1.0, False)),  # several in a row
        # a fit is disturbed if it waits longer than half of what it computes
        ([1.0] * 3, {"busiest": 0.7}, (1.0, 3, 1.429, False)),
        ([1.0] * 3, {"busiest": 0.6}, (1.0, 3, 1.667, True)),
        ([1.0, 8.0, 1.0], {"busiest": 1.0}, (1.0, 3, 1.0, False)),  # one of three was
        ([2e-5] * 99, {"busiest": 1e-5, "around": 0.06}, (2e-5, 18, 2.0, False)),  # noise
        ([3.0] * 3, {"busiest": 1.0, "threads": 1}, (1.0, 3, 3.0, True)),  # processor time
    ],
)
def test_short_fits_are_repeated_and_the_median_is_reported(monkeypatch, wall, more, expected):
    now, walls, around = [0.0], iter(wall), more.get("around", 0.0)
    monkeypatch.setattr(timing_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def fit(clock):
        clock.wall["fit"] += (took := next(walls))
        for kind in (clock.busiest, clock.processor):
            kind["fit"] += more.get("busiest", took)
        now[0] += took + around

    fit(first := Clock())
    record = timing_record(repeated(fit, first), more.get("threads", 2))
    timing, times = record["timing"], record["measurements"]["wall"]["fit"]
    found = record["times"]["fit"], len(times), timing["slowdown"], timing["disturbed"]
    assert found == expected and times == [round(s, 6) for s in wall[: len(times)]]
    shown = times if "threads" not in more else [1.0] * 3
    assert timing["range"] == {"fit": [min(shown), max(shown)]}


def test_a_repeat_that_fails_leaves_what_was_measured():
    first, told = Clock(), []
    assert repeated(lambda clock: exit(1), first, told.append) == [(first, 1)] and told == [1]


def cell(kind, seconds, name, *, solver="samult", judging=0, memory=0, needs=()):
    work = seconds * MACHINE_FLOPS, judging * MACHINE_FLOPS
    return Cell(name, kind, solver, 0, {"unlabeled": 40}, *work, memory=memory, needs=needs)


def test_the_line_of_a_run_has_the_time_left_by_what_cells_took(monkeypatch, capsys):
    """Two searches run at a time; the look on a terminal is in ``tests/test_cli.py``."""
    now = [0.0]
    monkeypatch.setattr("dsgkit.experiment.progress.monotonic", lambda: now[0])
    monkeypatch.setattr("dsgkit.experiment.progress.SECONDS_BETWEEN_LINES", 0.01)
    fits = [cell("fit", 1, f"fit {number}") for number in range(7)]
    searches = [cell("search", 1, f"search {number}") for number in range(6)]
    jobs = {one.key: SimpleNamespace(cell=one, description=one.key) for one in fits + searches}

    def took(seconds, **more):
        return {"status": "ok", "times": {"fit": seconds, "load": 1}} | more

    ended = [(fits[6], took(99, status="failed")), (searches[5], took(3))]
    sides = {"search": 2, "fit": 1}
    progress = RunProgress([*fits[:6], *searches[:5]], ended, side_by_side=sides)
    assert progress.line() == "0 of 11 cells, 0 s so far"
    now[0] = 30.0
    for one in fits[:2]:
        progress.advance(jobs[one.key], 0.0)
        progress.finish(jobs[one.key], took(13))
    assert progress.line() == "2 of 11 cells, 30 s so far, about 66 s left"  # 4 x 14 + 5 x 4 / 2
    progress.advance(jobs["fit 2"], 0.5)
    assert progress.line().endswith(", about 59 s left: fit 2")
    progress.advance(jobs["search 0"], 1.0, 2)
    assert progress.line().endswith(", about 57 s left: repeat 2 of search 0 (+1)")
    progress.finish(jobs["search 0"], took(3))
    assert progress.line().endswith(", about 57 s left: fit 2")
    limited = RunProgress(fits, ended, side_by_side=sides, timeout=7.0)
    limited.finish(jobs["fit 0"], took(13))  # none takes longer than the limit
    assert limited.line() == "1 of 7 cells, 0 s so far, about 42 s left"
    for one in jobs.values():
        progress.finish(one, took(14.0))
    with progress:  # without a terminal, lines have the time of day
        while not (told := capsys.readouterr().err):
            time.sleep(0.01)
    assert re.match(r"[-\d]{10} \d\d:\d\d 11 of 11 cells, 30 s so far$", told, re.M)


@pytest.fixture
def forecast(toy, tmp_path, monkeypatch):
    """Foresee a run of made-up cells on a machine of 8 GiB."""
    monkeypatch.setattr("dsgkit.experiment.forecast.memory_limit", lambda: 8 * GIB)

    def foresee(*cells, too_large=(), **options):
        plan, options = Plan(cells, [], too_large), Options(**{"jobs": 2, "threads": 2} | options)
        return forecast_run(load_experiment(toy), tmp_path / "results" / "toy", options, plan)

    return foresee


def test_searches_share_the_cores_and_finished_cells_tell_the_pace(forecast, tmp_path):
    cells = [cell("search", 50, name) for name in "ab"]
    cells += [cell("fit", seconds, f"{seconds}") for seconds in (2, 20, 0.01)]
    # by hand: fits of 2 s thrice, one of 20 s once, a short one for a second
    for options, expected in (
        ({}, (127, 50 + 27)),
        ({"threads": 1}, (127, 50 + 27 / 2)),
        ({"once": True}, (122.01, 50 + 22.01)),
        ({"timeout": 10}, (20 + 6 + 10, 10 + 16)),  # after one that is stopped, none is begun
        ({"solvers": ["qsg_s2auc"]}, (0, 0)),
    ):
        assert forecast(*cells, **options).seconds == pytest.approx(expected)
    assert totals([forecast(*cells)] * 2).startswith("about 4 min of processor time, 3 min on")
    judged = cell("fit", 8, "d", judging=5)  # 3 s thrice, 5 s once
    assert forecast(judged).seconds[0] == pytest.approx(14)
    cells = [cell("fit", 20, f"{name:0<32}") for name in "abc"]
    cells += [cell("search", 7, f"{'d':0<32}")]
    # a limit that a cell has met does not hold for a run without one
    for folder, of, status in (("toy", 0, "ok"), ("toy", 1, "timeout"), ("beside", 3, "ok")):
        record = {"key": cells[of].key, "status": status, "timeout": 9.0}
        record["times"] = {"fit": 30.0, "predict": 10.0}
        with Store(tmp_path / "results" / folder) as store:
            store.append(record)
    run = forecast(*cells)
    assert list(run.cells["state"]) == ["finished", "to run", "to run", "finished"]
    assert run.seconds[0] == pytest.approx(80)  # twice the operations
    assert forecast(*cells, fresh=True).seconds[0] == pytest.approx(67)
    assert run.text(80).startswith("toy: 4 cells, each a search or a fit; 2 of them finished\n")


GIB = 2**30
TEXT = """
RFF-S2AUC  fit       1  4,373 d  5.00 GiB

  unlabeled: 5,000, 9,000 left out: there are only 539 unlabelled rows; `all` takes them
  SAMULT: 2 cells will not run: they need up to 5.00 GiB
  in total: about 4,373 d of processor time, 4,373 d on the clock with --jobs 2 --threads
    2; RFF-S2AUC takes 4,373 d of it"""


def test_the_text_has_what_is_refused_and_what_takes_more_than_a_day(forecast):
    cells = (
        cell("search", 1000, "a", memory=5 * GIB),  # two at a time have 4 GiB each
        cell("fit", 1000, "b", needs=("a",)),  # and so does what follows
        cell("fit", 377_827_200, "c", solver="rff_s2auc", memory=5 * GIB),
    )
    run = forecast(*cells, too_large=[TooLarge((5000, 9000), 539, False)])
    assert run.text(90).endswith(TEXT) and max(map(len, run.text(40).splitlines())) <= 40
    assert [bool(forecast(cell("fit", s, "d")).too_long) for s in (86400, 86401)] == [False, True]
    assert set(forecast(*cells, memory=4 * GIB).cells["state"]) == {"refused"}


QUICK = (
    *("codrna_s2auc", "covtype_s2auc", "dota2_s2auc", "w8a_s3vm", "dota2_s3vm", "esl_ordinal"),
    *("era_ordinal", "sgemm_ordinal", "pet_ordinal", "connect4_su", "usps_su", "sim_su", "svhn_su"),
    *("musk_clustering", "shuttle_clustering", "moons_clustering", "quickstart"),
)
"""Of every setting the config that takes most, and some of the largest data."""


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_look_takes_ten_minutes_of_a_processor_at_most(name, tmp_path, monkeypatch):
    """Data that are not here are planned by the catalogue."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path))
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    experiment = load_experiment(SHIPPED / f"{name}.yaml", profile="quick")
    assert experiment.protocol.trials == 3
    assert forecast_run(experiment, tmp_path / "r", Options(timeout=90)).seconds[0] <= 600


def test_data_that_are_not_here_are_planned_by_the_catalogue(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    away = load_experiment(change_toy(toy, "away.yaml", dataset={"name": "codrna"}))
    run = forecast_run(away, tmp_path / "r", Options())
    assert "missing cod-rna, cod-rna.t" in run.missing
    assert run.missing in " ".join(run.text(80).split())
    assert run.cells["seconds"].sum() > 1e5
    toy.with_name("toy.csv").unlink()
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "other"))
    with pytest.raises(MissingDataError, match="no such file"):
        forecast_run(load_experiment(toy), tmp_path / "r", Options())
