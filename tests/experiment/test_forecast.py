"""What a run is foreseen to take."""

from dataclasses import replace

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.errors import MissingDataError
from dsgkit.experiment import forecast as forecast_module
from dsgkit.experiment.forecast import forecast_run, totals
from dsgkit.experiment.plan import Cell, Plan, TooLarge
from dsgkit.experiment.run import Options
from dsgkit.experiment.store import Store
from dsgkit.experiment.timing import MACHINE_FLOPS

GIB = 2**30


def cell(kind, seconds, name, *, solver="samult", memory=0, needs=()):
    """A cell whose operations take some seconds."""
    at = {"unlabeled": 40}
    return Cell(name, kind, solver, 0, at, seconds * MACHINE_FLOPS, memory=memory, needs=needs)


@pytest.fixture
def forecast(toy, tmp_path, monkeypatch):
    """Foresee a run of made-up cells on a machine of 8 GiB."""
    monkeypatch.setattr(forecast_module, "memory_limit", lambda: 8 * GIB)

    def foresee(*cells, too_large=(), **options):
        plan = Plan(list(cells), [], list(too_large))
        options = Options(**{"jobs": 2, "threads": 2} | options)
        return forecast_run(load_experiment(toy), tmp_path / "results" / "toy", options, plan)

    return foresee


def test_searches_share_the_cores_and_short_fits_are_repeated(forecast):
    cells = [cell("search", 50, name) for name in "ab"]
    cells += [cell("fit", seconds, f"{seconds}") for seconds in (2, 20, 0.01)]
    # by hand: fits of 2 s thrice, one of 20 s once, a short one for a second
    for options, expected in (
        ({}, (127, 50 + 27)),
        ({"threads": 1}, (127, 50 + 27 / 2)),
        ({"once": True}, (122.01, 50 + 22.01)),
        ({"timeout": 10}, (20 + 6 + 10 + 1, 10 + 17)),
        ({"solvers": ["qsg_s2auc"]}, (0, 0)),
    ):
        assert forecast(*cells, **options).seconds == pytest.approx(expected)
    assert totals([forecast(*cells)] * 2) == (
        "about 4 min of processor time, 3 min on the clock with --jobs 2 --threads 2"
    )


def test_finished_cells_are_known_also_from_folders_beside_and_tell_the_pace(forecast, tmp_path):
    cells = [cell("fit", 20, f"{name:0<32}") for name in "abc"]
    cells += [cell("search", 7, f"{'d':0<32}")]
    for folder, of, status in (("toy", 0, "ok"), ("toy", 1, "failed"), ("beside", 3, "ok")):
        record = {"key": cells[of].key, "status": status, "times": {"fit": 30.0, "predict": 10.0}}
        with Store(tmp_path / "results" / folder) as store:
            store.append(record)
    run = forecast(*cells)
    assert list(run.cells["state"]) == ["finished", "to run", "to run", "finished"]
    assert run.seconds[0] == pytest.approx(80)  # twice the operations
    assert run.text(80).startswith("toy: 4 cells, 2 finished already\n")
    assert forecast(*cells, fresh=True).seconds[0] == pytest.approx(67)


TEXT = """toy: 3 cells, 0 finished already

Solver     For  Cells     Time   GiB
---------  ---  -----  -------  ----
RFF-S2AUC  fit      1  4,373 d  5.00

  unlabeled: 5,000, 9,000 left out: the data leave 539 unlabelled rows; `all` takes them
  SAMULT: 2 cells refused, need up to 5.00 GiB
  in all: about 4,373 d of processor time, 4,373 d on the clock with --jobs 2 --threads 2;
    RFF-S2AUC takes 4,373 d of it"""


def test_the_text_has_what_is_refused_and_what_takes_more_than_a_day(forecast):
    cells = (
        cell("search", 1000, "a", memory=5 * GIB),  # two at a time have 4 GiB each
        cell("fit", 1000, "b", needs=("a",)),  # and so does what follows
        cell("fit", 377_827_200, "c", solver="rff_s2auc", memory=5 * GIB),
    )
    run = forecast(*cells, too_large=[TooLarge((5000, 9000), 539, False)])
    assert run.text(90) == TEXT
    assert max(map(len, run.text(40).splitlines())) <= 40
    edge = cell("fit", 86400, "day")
    assert (
        forecast(edge).too_long == "" != forecast(replace(edge, flops=edge.flops * 1.01)).too_long
    )
    assert set(forecast(*cells, memory=4 * GIB).cells["state"]) == {"refused"}


def test_data_that_are_not_here_are_planned_by_the_catalogue(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    one = load_experiment(toy)
    there = forecast_run(one, tmp_path / "r", Options())
    dataset = type(one.dataset).model_validate({"name": "codrna"})
    run = forecast_run(one.model_copy(update={"dataset": dataset}), tmp_path / "r", Options())
    assert "missing cod-rna, cod-rna.t" in run.missing
    assert run.missing in " ".join(run.text(80).split())
    assert run.cells["seconds"].sum() > there.cells["seconds"].sum()
    toy.with_name("toy.csv").unlink()
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "other"))
    with pytest.raises(MissingDataError, match="no such file"):
        forecast_run(load_experiment(toy), tmp_path / "r", Options())
