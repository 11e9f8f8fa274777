"""What a run is foreseen to take, with made-up costs on a machine of made-up speed."""

import re
from dataclasses import replace

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.data import load_dataset
from dsgkit.errors import MissingDataError
from dsgkit.experiment import estimate
from dsgkit.experiment.estimate import CELL_SECONDS, describe_all, forecast_run
from dsgkit.experiment.plan import Cell, Plan, TooLarge, make_plan
from dsgkit.experiment.run import Options
from dsgkit.experiment.store import Store
from dsgkit.numerics.costs import MILLISECOND, Cost, Pace
from dsgkit.solvers.auc.samult import SAMULT
from tests.experiment.runs import key_of

SPEED = 100.0
"""Operations a second."""

GIB = 2**30
POINTS = ({"lam": 1.0}, {"lam": 2.0})


def cell(kind, seconds, name="", *, solver="samult", memory=0, needs=(), judging=0.0):
    """A cell that takes some seconds of training, and of judging."""
    costs = {"flops": (seconds + judging) * SPEED, "training": seconds * SPEED, "memory": memory}
    at, key = {"unlabeled": 40}, key_of(name or f"{solver} {kind} {seconds}")
    needs = tuple(map(key_of, needs))
    return Cell(key, kind, solver, 0, at, **costs, stages=(POINTS,), needs=needs)


@pytest.fixture
def forecast(toy, tmp_path, monkeypatch):
    """Foresee a run of made-up cells."""
    monkeypatch.setattr(estimate, "product_speed", lambda: SPEED)
    monkeypatch.setattr(estimate, "memory_limit", lambda: 8 * GIB)
    monkeypatch.setattr(estimate, "available_threads", lambda: 2)
    experiment = load_experiment(toy)

    def foresee(*cells, overrides=(), too_large=(), folder=tmp_path / "results" / "toy", **options):
        plan = Plan(list(cells), [], list(too_large))
        monkeypatch.setattr(estimate, "make_plan", lambda *_: plan)
        one = load_experiment(toy, overrides=overrides) if overrides else experiment
        return forecast_run(one, folder, Options(**{"jobs": 2, **options}))

    return foresee


def keep(folder, *records):
    with Store(folder) as store:
        for record in records:
            store.append(record)


def record(of, status="ok", **more):
    """The record of a cell."""
    found = {"points": list(of.points), "fold_scores": [[0.5], [0.6]]}
    return {
        "key": of.key,
        "kind": of.kind,
        "solver": of.solver,
        "label": of.solver,
        "trial": of.trial,
        "at": dict(of.at),
        "status": status,
        **(found if of.kind == "search" else {}),
        **more,
    }


def test_repeats_judging_and_starting_count(forecast):
    # by hand: a search once; fits of 2 s thrice, judged once; a fit of 20 s once
    run = forecast(cell("search", 5), cell("fit", 2, judging=0.5), cell("fit", 20))
    search, fit = run.groups["samult", "search"], run.groups["samult", "fit"]
    assert search.seconds == pytest.approx(5 + CELL_SECONDS)
    assert (fit.training, fit.judging) == pytest.approx((26, 0.5))
    assert run.processor == pytest.approx(run.starting + 31.5 + 3 * CELL_SECONDS)
    assert run.starting > estimate.RUN_SECONDS


def test_searches_share_the_cores_and_fits_need_not(forecast):
    run = forecast(cell("search", 50, "a"), cell("search", 50, "b"), cell("fit", 30))
    shortest, longest = run.wall
    assert longest - shortest == pytest.approx((30 + CELL_SECONDS) / 2)
    assert longest == pytest.approx(run.starting / 2 + 50 + 30 + 2 * CELL_SECONDS)
    alone = forecast(cell("fit", 30), threads=1)
    assert alone.wall[0] == alone.wall[1]


def test_what_memory_refuses_costs_nothing_and_so_does_what_follows(forecast):
    cells = (
        cell("search", 1000, "search", memory=5 * GIB),  # two at a time have 4 GiB each
        cell("fit", 1000, needs=["search"]),
        cell("fit", 30, solver="rff_s2auc", memory=5 * GIB),
        cell("fit", 2000, solver="rff_s2auc", memory=9 * GIB),
    )
    run = forecast(*cells)
    assert [part.n_refused for part in run.groups.values()] == [1, 1, 1]
    assert run.processor == pytest.approx(run.starting + 30 + CELL_SECONDS)
    assert run.text(80).count("1 refused (memory)") == 3
    below = forecast(*cells, memory=4 * GIB)
    assert below.groups["rff_s2auc", "fit"].n_refused == 2
    own = forecast(*cells, overrides=["solvers.rff_s2auc.params.max_memory=20"])
    assert own.groups["rff_s2auc", "fit"].n_refused == 0


def test_a_time_limit_is_the_most_that_a_cell_takes(forecast):
    run = forecast(cell("search", 1000), cell("fit", 15), cell("fit", 300), timeout=20)
    # a search has one of the two threads, and a fit has both
    assert run.groups["samult", "search"].training == 20
    fits = run.groups["samult", "fit"]
    assert (fits.training, fits.n_stopped) == (40 + 15, 1)
    assert "1 stopped at the time limit" in run.text(80)


def test_after_a_fit_that_ends_at_the_time_limit_no_larger_one_is_begun(forecast):
    small, large = (
        replace(cell("fit", 300, name), at={"unlabeled": n}) for name, n in (("a", 5), ("b", 9))
    )
    other = replace(large, trial=1, key=key_of("c"))
    run = forecast(small, large, other, timeout=20)
    fits = run.groups["samult", "fit"]
    assert (fits.training, fits.n_stopped, fits.n_not_begun) == (80, 2, 1)
    assert "1 not begun (a smaller one ends at the time limit)" in run.text(80)
    assert run.text(80).startswith("toy: 3 cells")


def test_finished_cells_are_known_and_tell_the_speed_of_the_others(forecast, tmp_path):
    cells = [cell("fit", 20, name) for name in "abc"] + [cell("search", 7)]
    folder = tmp_path / "results" / "toy"
    times = {"load": 99.0, "compile": 99.0, "fit": 40.0, "predict": 99.0}
    keep(folder, record(cells[0], times=times), record(cells[1], "failed", message="no"))
    keep(folder.parent / "beside", record(cells[3], times={"search": 7.0}))
    run = forecast(*cells)
    fits = run.groups["samult", "fit"]
    # one that failed runs again; a fit took twice as long as its operations say
    assert (fits.n_done, len(fits.cells), fits.training) == (1, 2, pytest.approx(80))
    assert run.groups["samult", "search"].n_done == 1
    assert "toy: 2 cells, 2 more finished already" in run.text(80)
    assert forecast(*cells, fresh=True).groups["samult", "fit"].training == pytest.approx(60)
    assert forecast(*cells, retry_failed=False).groups["samult", "fit"].n_done == 2
    assert forecast(cells[0]).processor == estimate.RUN_SECONDS  # nothing is left


def test_a_forecast_fits_the_terminal(forecast):
    names = ("qsg_s2auc", "samult", "pnu_auc", "rff_s2auc")
    run = forecast(
        *(cell(kind, 3600, solver=name) for name in names for kind in ("search", "fit")),
        cell("fit", 5, "large", memory=12 * GIB),
        overrides=[f"solvers.{name}.label={10 * 'Long name, '}{name}" for name in names],
    )
    for width in (80, 100, 120):
        text = run.text(width)
        assert max(map(len, text.splitlines())) <= width
        assert all(name in text for name in names)
        assert text.count(" 60 min ") == 8 and "1 refused (memory)" in " ".join(text.split())


def test_a_forecast_counts_points_by_search_and_names_sizes_that_are_left_out(forecast):
    shares = [
        replace(cell("search", 1, f"{trial} {n}"), trial=trial)
        for trial in range(3)
        for n in range(4)
    ]
    text = forecast(*shares, too_large=[TooLarge((5000, 9000), 539, False)]).text(100)
    assert re.search(r"^SAMULT +12 +3 searches +8 ", text, re.M)
    told = "unlabeled: 5,000, 9,000 left out: the data leave 539 unlabelled rows; `all` takes them"
    assert f"\n  {told}\n" in text
    assert "`all`" not in forecast(*shares, too_large=[TooLarge((5000,), 539, True)]).text(100)


def test_a_forecast_says_what_gains_are_over(forecast):
    overrides = ["solvers.qsg_s2auc.against=samult", "solvers.rff_s2auc.against=samult"]
    text = " ".join(forecast(cell("fit", 1), overrides=overrides).text(80).split())
    told = (
        "gains: QSG-S2AUC, RFF-S2AUC over SAMULT; PNU-AUC: none (a solver's `against: KEY` sets it)"
    )
    assert told in text
    assert "gains" not in forecast(cell("fit", 1)).text(80)


def test_missing_data_are_told_with_their_address_and_not_downloaded(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_DATA", str(tmp_path))
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("dsgkit.data.files._download", lambda *_: pytest.fail("downloads"))
    one = load_experiment(toy)
    dataset = type(one.dataset).model_validate({"name": "codrna"})
    there = forecast_run(one, tmp_path / "none", Options())
    run = forecast_run(one.model_copy(update={"dataset": dataset}), tmp_path / "none", Options())
    assert "are missing; get them from https:" in run.missing
    text = " ".join(run.text(80).split())
    assert run.missing in text and "numbers of rows are the catalogue's" in text
    sizes = {cell.at["unlabeled"] for part in run.groups.values() for cell in part.cells}
    assert max(sizes) == 59_535 - one.protocol.labeled
    assert run.groups.keys() == there.groups.keys()
    assert describe_all([run, there]).endswith("; data missing: codrna (`dsg data fetch NAME`)")


def test_without_data_and_their_description_there_is_no_plan(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    one = load_experiment(toy)
    (toy.parent / "toy.csv").unlink()
    with pytest.raises(MissingDataError, match="no such file"):
        forecast_run(one, tmp_path / "none", Options())


def test_a_plan_counts_at_the_pace_of_a_class(toy, monkeypatch):
    monkeypatch.setattr(SAMULT, "cost", lambda *_, **__: Cost(100.0, 10, 2.0))
    experiment = load_experiment(toy)

    def costs():
        plan = make_plan(experiment, load_dataset(experiment.dataset)).cells
        return {one.kind: (one.training, one.flops) for one in plan if one.solver == "samult"}

    monkeypatch.setattr(SAMULT, "pace", Pace(per_model=0))
    before = costs()
    monkeypatch.setattr(SAMULT, "pace", Pace(training=3, scoring=5, per_model=2))
    after = costs()
    for kind, n_models in (("fit", 1), ("search", 2 * 3)):  # points and folds
        assert before[kind][0] == 100
        assert after[kind][0] == 3 * 100 + 2 * MILLISECOND * n_models
    judging = [flops - training for training, flops in (before["search"], after["search"])]
    assert judging[1] == pytest.approx(5 * judging[0], rel=1e-6)


def test_a_solvers_own_time_limit_is_the_most_that_a_model_takes(toy, monkeypatch):
    monkeypatch.setattr(SAMULT, "cost", lambda *_, **__: Cost(1e30, 10, 0.0))
    monkeypatch.setattr(SAMULT, "max_seconds", 5.0, raising=False)
    experiment = load_experiment(toy)
    plan = make_plan(experiment, load_dataset(experiment.dataset)).cells
    training = {one.kind: one.training for one in plan if one.solver == "samult"}
    assert training == {"search": 6 * 5000 * MILLISECOND, "fit": 5000 * MILLISECOND}
