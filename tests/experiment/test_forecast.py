"""What a run is foreseen to take."""

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.errors import MissingDataError
from dsgkit.experiment import forecast as forecast_module
from dsgkit.experiment.forecast import RUN_SECONDS, forecast_run, totals
from dsgkit.experiment.plan import Cell, Plan, TooLarge
from dsgkit.experiment.run import Options
from dsgkit.experiment.store import Store
from dsgkit.experiment.timing import MACHINE_FLOPS

GIB = 2**30


def cell(kind, seconds, name, *, solver="samult", memory=0, needs=()):
    """A cell whose operations take some seconds."""
    flops = seconds * MACHINE_FLOPS
    more = {"memory": memory, "needs": tuple(f"{name:0<32}" for name in needs)}
    return Cell(f"{name:0<32}", kind, solver, 0, {"unlabeled": 40}, flops, **more)


@pytest.fixture
def forecast(toy, tmp_path, monkeypatch):
    """Foresee a run of made-up cells on a machine of 8 GiB."""
    monkeypatch.setattr(forecast_module, "memory_limit", lambda: 8 * GIB)

    def foresee(*cells, overrides=(), too_large=(), **options):
        plan = Plan(list(cells), [], list(too_large))
        experiment = load_experiment(toy, overrides=overrides)
        options = Options(**{"jobs": 2, "threads": 2} | options)
        return forecast_run(experiment, tmp_path / "results" / "toy", options, plan)

    return foresee


def test_searches_share_the_cores_and_short_fits_are_repeated(forecast):
    cells = cell("search", 50, "a"), cell("search", 50, "b"), cell("fit", 2, "c")
    cells += (cell("fit", 20, "d"), cell("fit", 0.01, "e"))
    run = forecast(*cells)
    # by hand: fits of 2 s thrice, one of 20 s once, a short one for a second
    assert run.seconds == pytest.approx((RUN_SECONDS + 127, RUN_SECONDS + 50 + 27))
    assert forecast(*cells, threads=1).seconds[1] == pytest.approx(RUN_SECONDS + 50 + 27 / 2)
    assert forecast(*cells, once=True).seconds[1] == pytest.approx(RUN_SECONDS + 50 + 22.01)
    assert forecast(*cells, timeout=10).seconds[0] == pytest.approx(RUN_SECONDS + 20 + 6 + 10 + 1)
    assert totals([run, run]) == (
        "about 4 min of processor time, 3 min on the clock with --jobs\xa02 --threads\xa02"
    )


def test_finished_cells_are_known_also_from_folders_beside_and_tell_the_pace(forecast, tmp_path):
    cells = [cell("fit", 20, name) for name in "abc"] + [cell("search", 7, "d")]
    for folder, of, status in (("toy", 0, "ok"), ("toy", 1, "failed"), ("beside", 3, "ok")):
        one = cells[of]
        record = {"key": one.key, "kind": one.kind, "solver": one.solver, "trial": 0}
        record |= {"at": dict(one.at), "label": "", "status": status, "message": ""}
        with Store(tmp_path / "results" / folder) as store:
            store.append(record | {"times": {"fit": 30.0, "predict": 10.0}})
    run = forecast(*cells)
    assert list(run.cells["state"]) == ["finished", "to run", "to run", "finished"]
    assert run.seconds[0] == pytest.approx(RUN_SECONDS + 80)  # twice the operations
    assert run.text(80).startswith("toy: 2 cells, 2 more finished already\n")
    assert forecast(*cells, fresh=True).seconds[0] == pytest.approx(RUN_SECONDS + 67)


def test_what_memory_refuses_does_not_run_and_so_does_what_follows(forecast):
    cells = (
        cell("search", 1000, "search", memory=5 * GIB),  # two at a time have 4 GiB each
        cell("fit", 1000, "fit", needs=("search",)),
        cell("fit", 30, "other", solver="rff_s2auc", memory=5 * GIB),
    )
    run = forecast(*cells)
    assert list(run.cells["state"]) == ["refused", "refused", "to run"]
    assert "  SAMULT: 2 cells refused, need up to 5 GiB\n" in run.text(80)
    assert set(forecast(*cells, memory=4 * GIB).cells["state"]) == {"refused"}
    own = forecast(*cells, overrides=["solvers.rff_s2auc.params.max_memory=4"])
    assert own.cells["state"].iloc[2] == "refused"


def test_the_text_keeps_numbers_whole_and_says_what_takes_more_than_a_day(forecast):
    too_large = [TooLarge((5000, 9000), 539, False)]
    cells = cell("search", 3600, "s"), cell("fit", 377_827_200, "f", solver="rff_s2auc")
    run = forecast(*cells, too_large=too_large)
    for width in (40, 60, 80, 120):
        text = run.text(width)
        assert max(map(len, text.splitlines())) <= width
        assert text.count("4,373 d") == 4
    assert text.splitlines()[2].split() == ["Solver", "For", "Cells", "Unlabelled", "Time", "GiB"]
    assert text.splitlines()[4].split() == ["SAMULT", "search", "1", "40", "60", "min", "<0.01"]
    left_out = "unlabeled: 5,000, 9,000 left out: the data leave 539 unlabelled rows; `all` takes"
    assert left_out in text
    assert "RFF-S2AUC takes 4,373 d of it" in " ".join(text.split())
    assert forecast(cells[0]).too_long == ""


def test_data_that_are_not_here_are_planned_by_the_catalogue(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    one = load_experiment(toy)
    there = forecast_run(one, tmp_path / "r", Options())
    dataset = type(one.dataset).model_validate({"name": "codrna"})
    run = forecast_run(one.model_copy(update={"dataset": dataset}), tmp_path / "r", Options())
    assert "are missing; get them from https:" in run.missing
    assert run.missing.endswith("catalogue's, and shares of classes are assumed")
    assert run.missing in " ".join(run.text(80).split())
    assert run.cells["size"].max() == 59_535 - one.protocol.labeled
    assert (run.cells["solver"] == there.cells["solver"]).all()
    classes = load_experiment("configs/abalone_ordinal.yaml")
    assert len(forecast_run(classes, tmp_path / "r", Options()).cells)
    toy.with_name("toy.csv").unlink()
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "other"))
    with pytest.raises(MissingDataError, match="no such file"):
        forecast_run(load_experiment(toy), tmp_path / "r", Options())
