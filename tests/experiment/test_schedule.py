"""Which cell may start next, against the rules said one by one."""

import heapq
import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsgkit.experiment.plan import Cell, Work
from dsgkit.experiment.schedule import Schedule


def cell(kind, solver, trial, number, needs=(), flops=0.0):
    name = f"{kind}-{solver}-{trial}-{number}"
    at, work = {"rows": 10 + number}, Work(flops, 0.0, 0)
    return Cell(kind, solver, trial, at, (({},),), {}, name, work, tuple(needs))


def cells_of(solver, trial, searches, fits, flops=0.0):
    """Return searches, and fits that need them all and take a tenth of the time of one."""
    found = [cell("search", solver, trial, number, (), flops) for number in range(searches)]
    needs = [search.key for search in found]
    return [
        *found,
        *(cell("fit", solver, trial, number, needs, flops / 10) for number in range(fits)),
    ]


def simulate(plan, jobs=2):
    """Run a plan on so many cores, a fit alone; return its cells with their start and end."""
    schedule, now, running, done = Schedule(plan, lambda _: False), 0.0, [], []

    def accepts(cell):
        if cell.kind == "fit" or any(other.kind == "fit" for *_, other in running):
            return not running
        return len(running) < jobs

    while True:
        while (popped := schedule.pop(accepts)) is not None:
            heapq.heappush(running, (now + popped.flops, len(done) + len(running), now, popped))
        if not running:
            return done
        now, _, start, ended = heapq.heappop(running)
        done.append((ended, start, now))
        schedule.finish(ended.key)


plans = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3).flatmap(
    lambda counts: st.integers(1, 3).map(
        lambda trials: [
            one
            for trial, (solver, (searches, fits)) in product(range(trials), enumerate(counts))
            for one in cells_of(f"s{solver}", trial, searches, fits)
        ]
    )
)


@given(plans, st.integers(0, 2**32 - 1))
def test_every_cell_that_is_left_starts_once_and_after_its_searches(plan, seed):
    """Whatever is done already, and in whatever order cells end."""
    rng = random.Random(seed)
    done = {t.key for t in plan if rng.random() < 0.3}
    schedule = Schedule(plan, done.__contains__)
    started, running = [], []
    while True:
        while (popped := schedule.pop()) is not None:
            started.append(popped)
            running.append(popped)
            assert set(popped.needs) <= done
        if not running:
            break
        ended = running.pop(rng.randrange(len(running)))
        schedule.finish(ended.key)
        done.add(ended.key)
    expected = sorted(t.key for t in schedule.cells)
    assert sorted(t.key for t in started) == expected
    assert len(done) == len(plan)


def test_trial_by_trial_each_fit_after_its_search():
    plan = [
        cell(kind, solver, trial, 0)
        for trial in (0, 1)
        for solver in "ab"
        for kind in ("search", "fit")
    ]
    assert [ended.key for ended, *_ in simulate(plan, jobs=1)] == [
        *("search-a-0-0", "fit-a-0-0", "search-b-0-0", "fit-b-0-0"),
        *("search-a-1-0", "fit-a-1-0", "search-b-1-0", "fit-b-1-0"),
    ]


def test_the_solver_with_the_least_work_comes_first():
    plan = [
        *cells_of("exact", 0, searches=1, fits=2, flops=1000.0),
        *cells_of("slow", 0, searches=5, fits=2, flops=10.0),
        *cells_of("quick", 0, searches=1, fits=2, flops=10.0),
    ]
    order = [ended.solver for ended, *_ in simulate(plan, jobs=1)]
    assert list(dict.fromkeys(order)) == ["quick", "slow", "exact"]


def comparison(trials=2):
    """Return 76 cells for two trials: the dear solvers come first, and have the most searches."""
    solvers = [("a", 10, 1000.0), ("b", 8, 400.0), ("c", 5, 200.0), ("d", 3, 50.0)]
    return [
        one
        for trial in range(trials)
        for name, searches, flops in solvers
        for one in cells_of(name, trial, searches, fits=3, flops=flops)
    ]


def test_a_run_that_is_stopped_early_has_numbers():
    """With all searches of a trial before its fits, 28 of 76 cells held not one number."""
    plan = comparison()
    assert len(plan) == 76
    done = simulate(plan)
    fits = [ended.solver for ended, *_ in done[:28] if ended.kind == "fit"]
    assert fits == [*"ddd", *"ccc", *"bbb"]
    end = max(end for *_, end in done)
    whole = max(end for ended, _, end in done if ended.trial == 0)
    assert whole < 0.6 * end


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_both_cores_are_busy_while_fits_wait(trials):
    """Not much longer than with all searches of a trial first, which one barrier ends."""
    plan = comparison(trials)
    searches = sum(one.flops for one in plan if one.kind == "search")
    fits = sum(one.flops for one in plan if one.kind == "fit")
    assert max(end for *_, end in simulate(plan)) < 1.08 * (searches / 2 + fits)


@given(st.lists(st.floats(1, 100), min_size=3, max_size=60), st.integers(1, 4))
def test_searches_do_not_keep_a_fit_waiting_for_ever(flops, jobs):
    """It waits for those that run, and for others with the work of one of these."""
    plan = [
        one
        for number, each in enumerate(flops)
        for one in cells_of(f"s{number}", 0, searches=1, fits=1, flops=each)
    ]
    done = simulate(plan, jobs)
    ready = {ended.solver: end for ended, _, end in done if ended.kind == "search"}
    fits = sum(flops) / 10
    for ended, start, _ in done:
        if ended.kind == "fit":
            assert start <= ready[ended.solver] + 2 * max(flops) + fits


def test_a_cell_that_stands_twice_in_the_plan_is_run_once():
    plan = [cell("search", "a", 0, 0), cell("fit", "a", 0, 1), cell("fit", "a", 0, 1)]
    schedule = Schedule(plan, lambda _: False)
    assert [t.key for t in schedule.cells] == ["search-a-0-0", "fit-a-0-1"]
