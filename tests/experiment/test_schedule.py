"""Which cell may start next, against the rules said one by one."""

import random
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from dsgkit.experiment.plan import Cell
from dsgkit.experiment.schedule import Schedule


def cell(kind, solver, trial, number, needs=()):
    name = f"{kind}-{solver}-{trial}-{number}"
    return Cell(kind, solver, trial, {"rows": 10 + number}, (({},),), {}, name, needs=tuple(needs))


def cells_of(solver, trial, searches, fits):
    """Return searches, and fits that need them all."""
    found = [cell("search", solver, trial, number) for number in range(searches)]
    needs = [search.key for search in found]
    return [*found, *(cell("fit", solver, trial, number, needs) for number in range(fits))]


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


def test_trial_by_trial_searches_first():
    plan = [
        cell(kind, solver, trial, 0)
        for trial in (0, 1)
        for solver in "ab"
        for kind in ("search", "fit")
    ]
    schedule = Schedule(plan, lambda _: False)
    order = []
    while (popped := schedule.pop()) is not None:
        order.append(popped.key)
        schedule.finish(popped.key)
    assert order == [
        *("search-a-0-0", "search-b-0-0", "fit-a-0-0", "fit-b-0-0"),
        *("search-a-1-0", "search-b-1-0", "fit-a-1-0", "fit-b-1-0"),
    ]


def test_a_cell_that_stands_twice_in_the_plan_is_run_once():
    plan = [cell("search", "a", 0, 0), cell("fit", "a", 0, 1), cell("fit", "a", 0, 1)]
    schedule = Schedule(plan, lambda _: False)
    assert [t.key for t in schedule.cells] == ["search-a-0-0", "fit-a-0-1"]


def test_a_large_plan_is_quick():
    """Linear in its cells, where looking for the next one each time would be quadratic."""
    plan = [
        cell(kind, "s", trial, number)
        for trial in range(500)
        for kind, count in (("search", 20), ("fit", 20))
        for number in range(count)
    ]
    schedule = Schedule(plan, lambda _: False)
    count = 0
    while (popped := schedule.pop()) is not None:
        schedule.finish(popped.key)
        count += 1
    assert count == len(plan)
