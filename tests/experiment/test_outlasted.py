"""Fits that are larger than one that the time limit stopped."""

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.cells import ended_record
from dsgkit.experiment.limits import Limits
from dsgkit.experiment.runner import Options, run_experiment
from tests.experiment.in_process import InProcess
from tests.experiment.runs import behaving, stored, write_config

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def stop_at(monkeypatch):
    """Let the time limit stop every fit of so many rows or more; returns those that are begun."""
    begun = []
    run_and_wait = InProcess.wait

    def wait(self):
        job = self._jobs[-1]
        size, timeout = job.cell.at["unlabeled"], job.limits.timeout
        begun.append((job.cell.trial, size))
        if size < wait.size:
            return run_and_wait(self)
        stopped = ended_record(job, "timeout", f"stopped after {timeout} s", timeout=timeout)
        if timeout is None:
            stopped = ended_record(job, "time_limit", "took too long")
        return [(self._jobs.pop(), stopped)]

    def patch(size):
        wait.size = size
        begun.clear()
        monkeypatch.setattr(InProcess, "wait", wait)
        return begun

    return patch


def test_larger_fits_of_a_trial_are_not_begun_until_the_limit_is_higher(tmp_path, stop_at):
    config = write_config(tmp_path, {"slow": behaving()}, sizes=(60, 70, 80, 90), trials=2)
    experiment, folder = load_experiment(config), tmp_path / "r"

    def run(timeout):
        options = Options(limits=Limits(timeout=timeout), once=True)
        return run_experiment(experiment, folder, options).computed

    begun = stop_at(70)
    assert run(5) == 8
    assert begun == [(0, 60), (0, 70), (1, 60), (1, 70)]
    ends = [(one["at"]["unlabeled"], one["status"], one["message"]) for one in stored(folder)]
    not_begun = "not begun: a smaller fit was stopped after 5 s"
    assert ends[:4] == [
        (60, "ok", ""),
        (70, "timeout", "stopped after 5 s"),
        (80, "timeout", not_begun),
        (90, "timeout", not_begun),
    ]
    assert (run(5), run(4)) == (0, 0)
    begun = stop_at(90)
    assert run(50) == 6
    assert begun == [(trial, size) for trial in (0, 1) for size in (70, 80, 90)]


def test_it_holds_for_a_run_that_goes_on(tmp_path, stop_at):
    solvers, folder = {"slow": behaving()}, tmp_path / "r"
    options = Options(limits=Limits(timeout=5), once=True)
    few = load_experiment(write_config(tmp_path, solvers, sizes=(60, 70)))
    stop_at(70)
    run_experiment(few, folder, options)
    many = load_experiment(write_config(tmp_path, solvers, sizes=(60, 65, 70, 80)))
    begun = stop_at(70)
    assert run_experiment(many, folder, options).computed == 2
    assert begun == [(0, 65)]


def test_so_does_the_limit_of_a_solver(tmp_path, stop_at):
    experiment = load_experiment(write_config(tmp_path, {"slow": behaving()}, sizes=(60, 70)))
    begun = stop_at(60)
    options = Options(once=True)
    assert run_experiment(experiment, tmp_path / "r", options).computed == 2
    assert begun == [(0, 60)]
    last = stored(tmp_path / "r")[-1]
    message = "not begun: a smaller fit met the solver's own time limit"
    assert (last["status"], last["message"]) == ("time_limit", message)
    assert run_experiment(experiment, tmp_path / "r", options).computed == 0
