"""Forecast of a run: the processor time and the memory of its cells, before it is started."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dsgkit.config.schema import Experiment
from dsgkit.data.dataset import check_present, load_dataset
from dsgkit.errors import DataError, MissingDataError
from dsgkit.experiment.paces import product_speed
from dsgkit.experiment.plan import Cell, Plan, TooLarge, make_plan
from dsgkit.experiment.run import Options, TimeLimits
from dsgkit.experiment.status import cells, describe_too_large, duration
from dsgkit.experiment.store import Record, finished_elsewhere, read_records
from dsgkit.experiment.timing import LONG_FIT, MIN_REPEATS, MIN_SECONDS
from dsgkit.experiment.unseen import ASSUMED, stand_in
from dsgkit.system.memory import memory_limit
from dsgkit.system.threads import available_threads
from dsgkit.tasks.measures import Axis
from dsgkit.text.terminal import NO_BREAK, Column, table, wrapped

DAY = 86400.0
"""Seconds above which a run on a terminal asks first."""

RUN_SECONDS = 5.0
"""Seconds of the main process: to import libraries, and to draw tables and figures at the end."""

WORKER_SECONDS = 2.5
"""Seconds of a worker process until it has imported its libraries and opened the data."""

COMPILING_SECONDS = 0.2
"""Seconds of a worker process for the first cell of a solver and kind: a fit on a few rows loads
compiled code. Compilation, once per version of the code, takes 5 to 15 s for a family of solvers
and is not counted."""

CELL_SECONDS = 0.005
"""Seconds of a cell outside its solver, to draw rows and write a record."""

_SMALLEST_SHOWN = 0.01
"""GiB."""

_GROUPS = ("search", "fit")
_KINDS = {"search": "searches", "fit": "fits"}

Group = tuple[str, str]
"""The name of a solver in the config, and the kind of its cells."""


@dataclass
class Forecast:
    """Predicted time of the cells of one solver and kind.

    Attributes
    ----------
    cells : list of Cell
        Cells that will run.
    n_done : int
        Cells that are finished already.
    n_refused : int
        Cells that need more memory than allowed, or depend on a search that does.
    n_not_begun : int
        Cells that do not run because a smaller fit meets the time limit.
    n_stopped : int
        How many of ``cells`` meet the time limit.
    training, judging : float
        Seconds of processor time.
    """

    cells: list[Cell] = field(default_factory=list)
    n_done: int = 0
    n_refused: int = 0
    n_not_begun: int = 0
    n_stopped: int = 0
    training: float = 0.0
    judging: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds of processor time, including the overhead of each cell."""
        return self.training + self.judging + CELL_SECONDS * len(self.cells)


@dataclass(frozen=True)
class RunForecast:
    """Predicted time and memory of a run.

    Attributes
    ----------
    groups : dict
        Forecasts by solver and kind of cell.
    jobs, threads : int
        Searches at a time, and threads of a fit.
    once : bool
        Whether every fit is timed once.
    too_large : sequence of TooLarge
        Sizes of the sweep that exceed the data.
    missing : str
        Which data file is missing and where to get it; empty if none is. The plan then uses the
        catalogue's numbers of rows.
    """

    experiment: Experiment
    groups: Mapping[Group, Forecast]
    jobs: int
    threads: int
    once: bool = False
    too_large: Sequence[TooLarge] = ()
    missing: str = ""

    @property
    def starting(self) -> float:
        """Seconds of processor time to start processes, load data and compile."""
        running = [forecast for forecast in self.groups.values() if forecast.cells]
        if not running:
            return RUN_SECONDS
        workers = min(self.jobs, max(len(forecast.cells) for forecast in running))
        warm_ups = sum(min(workers, len(forecast.cells)) for forecast in running)
        return RUN_SECONDS + WORKER_SECONDS * workers + COMPILING_SECONDS * warm_ups

    def seconds(self, kind: str) -> float:
        """Return the seconds of processor time of all searches, or of all fits."""
        return sum(part.seconds for (_, of), part in self.groups.items() if of == kind)

    @property
    def processor(self) -> float:
        """Seconds of processor time in all."""
        return self.starting + sum(map(self.seconds, _GROUPS))

    @property
    def wall(self) -> tuple[float, float]:
        """Seconds until the run ends if fits use all their threads, and if they use only one."""
        before, fits = self._wall_parts
        return before + fits / self.threads, before + fits

    @property
    def too_long(self) -> str:
        """What the run takes, and its longest solver; empty up to `DAY`."""
        if self.wall[1] <= DAY:
            return ""
        seconds: defaultdict[str, float] = defaultdict(float)
        for (solver, _), part in self.groups.items():
            seconds[solver] += part.seconds
        solver, most = max(seconds.items(), key=lambda item: item[1])
        label = self.experiment.solvers[solver].label
        return f"{_totals([self])}; {label} takes {duration(most)} of it"

    @property
    def _wall_parts(self) -> tuple[float, float]:
        """Seconds until the searches end, and seconds of the fits on one thread."""
        side_by_side = self.jobs * max(1, self.threads // self.jobs)
        before = self.starting / self.jobs + self.seconds("search") / side_by_side
        fits = self.seconds("fit") / (self.jobs if self.threads == 1 else 1)
        return before, fits

    def text(self, width: int) -> str:
        """Return the forecast for a terminal: a row per solver and kind of cell, and the total.

        Times are those of one process; memory is the most that a cell takes.
        """
        n_cells = sum(
            len(part.cells) + part.n_refused + part.n_not_begun for part in self.groups.values()
        )
        n_done = sum(part.n_done for part in self.groups.values())
        done = f", {n_done:,} more finished already" if n_done else ""
        asides = {
            f"{spec.label} {_KINDS[kind]}": _aside(part)
            for solver, spec in self.experiment.solvers.items()
            for kind in _GROUPS
            if (part := self.groups.get((solver, kind)))
        }
        lines = [
            f"{self.experiment.name}: {cells(n_cells)}{done}",
            *([wrapped(f"  {self.missing}; {ASSUMED}", width)] if self.missing else []),
            *([f"\n{self._table(width)}\n"] if any(p.cells for p in self.groups.values()) else []),
            *(wrapped(f"  {what}: {aside}", width) for what, aside in asides.items() if aside),
            *(
                wrapped(f"  {line}", width)
                for line in describe_too_large(self.too_large, self.experiment.axis)
            ),
            *([wrapped(f"  {gains}", width)] if (gains := _gains(self.experiment)) else []),
            f"  start, load, compile: about {duration(self.starting)}",
            wrapped(f"  in all: {_totals([self])}", width),
        ]
        return "\n".join(lines)

    def _table(self, width: int) -> str:
        axis = self.experiment.axis
        rows, last = [], ""
        for solver, spec in self.experiment.solvers.items():
            for kind in _GROUPS:
                part = self.groups.get((solver, kind))
                if part and part.cells:
                    rows.append(
                        ["" if spec.label == last else spec.label, *_extent(part, kind, axis)]
                    )
                    last = spec.label
        size = axis.noun.capitalize() if axis else ""
        heads = ("Solver", "Cells", "For     ", "Points", size, "Time", "Judging", "GiB")
        columns = [
            Column(head, entries, [place > 0] * len(rows))
            for place, (head, entries) in enumerate(
                zip(heads, zip(*rows, strict=True), strict=True)
            )
            if any(entries)
        ]
        return table(columns, width)


def forecast_run(experiment: Experiment, folder: Path, options: Options) -> RunForecast:
    """Forecast the time and memory of a run of an experiment into a results folder.

    The time of a cell is the operations that its solver counts, at the pace of its class, divided
    by the speed of a matrix product on this machine. If cells of the solver are finished, it is
    scaled by their measured time over their predicted time.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Need not exist, and is not written to.
    options : Options

    Raises
    ------
    MissingDataError
        If the data are missing and the catalogue does not describe them.
    """
    return forecast_plan(experiment, *_plan_of(experiment), folder, options)


def forecast_plan(
    experiment: Experiment, whole: Plan, missing: str, folder: Path, options: Options
) -> RunForecast:
    """Forecast a run of a plan; ``missing`` says which data are not here."""
    cells_by_key = {cell.key: cell for cell in options.chosen(whole.cells)}
    records = {} if options.fresh else _finished(folder, set(cells_by_key))
    done = {key for key in cells_by_key if options.settled(records.get(key))}
    threads = options.threads or experiment.threads or available_threads()
    model = _Model(experiment, options, threads, product_speed())
    model.calibrate((cells_by_key[key] for key in done), records)
    return RunForecast(
        experiment,
        model.forecasts(cells_by_key.values(), done),
        options.jobs,
        threads,
        options.once,
        whole.too_large,
        missing,
    )


def _plan_of(experiment: Experiment) -> tuple[Plan, str]:
    """Return the plan, and which data are missing: then it is planned by the catalogue."""
    try:
        check_present(experiment.dataset)
    except MissingDataError as error:
        dataset = stand_in(experiment.dataset)
        if dataset is None:
            raise
        try:
            return make_plan(experiment, dataset), str(error)
        except DataError:  # due to the made-up labels
            raise error from None
    return make_plan(experiment, load_dataset(experiment.dataset)), ""


def describe_all(forecasts: Sequence[RunForecast]) -> str:
    """Return a line with the total time of runs that follow each other."""
    missing = dict.fromkeys(
        str(forecast.experiment.dataset.name) for forecast in forecasts if forecast.missing
    )
    where = f"; data missing: {', '.join(missing)} (`dsg data fetch NAME`)" if missing else ""
    return f"{len(forecasts)} experiments: {_totals(forecasts)}{where}"


def _totals(forecasts: Sequence[RunForecast]) -> str:
    processor = duration(sum(forecast.processor for forecast in forecasts))
    shortest, longest = (
        duration(sum(times))
        for times in zip(*(forecast.wall for forecast in forecasts), strict=True)
    )
    wall = shortest if shortest == longest else f"{shortest} to {longest}"
    first = forecasts[0]
    options = f"--jobs{NO_BREAK}{first.jobs} --threads{NO_BREAK}{first.threads}"
    return f"about {processor} of processor time, {wall} on the clock with {options}"


def _finished(folder: Path, keys: set[str]) -> dict[str, Record]:
    """Return the records that a run would reuse: from its folder, and from those next to it."""
    stored, _ = read_records(folder)
    records = {key: record for key, record in stored.items() if key in keys}
    others = finished_elsewhere(folder, keys - records.keys())
    return records | {record["key"]: record for _, record in others}


class _Model:
    """Predicts the processor time of cells, in seconds, under the limits of a run."""

    def __init__(
        self, experiment: Experiment, options: Options, threads: int, speed: float
    ) -> None:
        self._experiment = experiment
        self._timeout, self._memory = options.timeout, options.memory
        self._once = options.once
        self._time_limits = TimeLimits()
        self._threads = {"search": max(1, threads // options.jobs), "fit": threads}
        self._processes = {"search": options.jobs, "fit": 1}
        self._speed = speed
        self._factors: dict[Group, float] = {}

    def calibrate(self, finished: Iterable[Cell], records: dict[str, Record]) -> None:
        """Scale the predicted times of each solver to those measured in its finished cells."""
        measured: dict[Group, float] = defaultdict(float)
        predicted: dict[Group, float] = defaultdict(float)
        for cell in finished:
            if records.get(cell.key, {}).get("status") == "ok":
                group = cell.solver, cell.kind
                measured[group] += trained(records[cell.key])
                predicted[group] += cell.training / self._speed
        self._factors = {
            group: seconds / predicted[group] for group, seconds in measured.items() if seconds
        }

    def forecasts(self, plan: Iterable[Cell], done: Container[str]) -> dict[Group, Forecast]:
        """Return the forecasts by solver and kind, in the order of the plan."""
        forecasts: dict[Group, Forecast] = defaultdict(Forecast)
        refused: set[str] = set()
        for cell in plan:
            part = forecasts[cell.solver, cell.kind]
            if cell.key in done:
                part.n_done += 1
            elif self._time_limits.met(cell, self._timeout) is not None:
                part.n_not_begun += 1
            elif self._is_refused(cell) or not refused.isdisjoint(cell.needs):
                refused.add(cell.key)
                part.n_refused += 1
            else:
                self._add(part, cell)
        return forecasts

    def _is_refused(self, cell: Cell) -> bool:
        """Return whether a cell needs more memory than allowed, so that it does not begin."""
        own = self._experiment.solvers[cell.solver].params.get("max_memory")
        most = memory_limit() / self._processes[cell.kind] if own is None else own * 2**30
        return cell.memory > min(most, self._memory or math.inf)

    def _add(self, part: Forecast, cell: Cell) -> None:
        """Add a cell's time, capped by the time limit."""
        training = cell.training / self._speed
        training *= self._factors.get((cell.solver, cell.kind), 1.0)
        judging = (cell.flops - cell.training) / self._speed
        most = (self._timeout or math.inf) * self._threads[cell.kind]
        part.cells.append(cell)
        if training + judging > most:
            part.n_stopped += 1
            stopped = {"status": "timeout", "timeout": self._timeout}
            self._time_limits.note(cell, stopped)
            training = min(training, most)
            judging = most - training
        if cell.kind == "fit" and not self._once and training <= LONG_FIT:
            training = max(MIN_REPEATS * training, MIN_SECONDS)
        part.training += training
        part.judging += judging


def trained(record: Record) -> float:
    """Return the seconds of a cell's search, or of one training."""
    not_training = ("load", "compile", "predict", "evaluate", "repeat")
    times = record.get("times") or {}
    return sum(seconds for phase, seconds in times.items() if phase not in not_training)


def _gains(experiment: Experiment) -> str:
    """Return which solvers are compared with which, and which with none; empty without gains."""
    rivals: dict[str, list[str]] = defaultdict(list)
    for solver in experiment.solvers.values():
        if solver.against is not None:
            rivals[experiment.solvers[solver.against].label].append(solver.label)
    if not rivals:
        return ""
    known = {*rivals, *(label for labels in rivals.values() for label in labels)}
    others = [s.label for s in experiment.solvers.values() if s.label not in known]
    over = "; ".join(f"{', '.join(labels)} over {label}" for label, labels in rivals.items())
    none = f"; {', '.join(others)}: none" if others else ""
    return f"gains: {over}{none} (a solver's `against: KEY` sets it)"


def _aside(part: Forecast) -> str:
    """Return how many cells of a solver and kind do not run, or are stopped."""
    counts = {
        "finished already": part.n_done,
        "refused (memory)": part.n_refused,
        "not begun (a smaller one ends at the time limit)": part.n_not_begun,
        "stopped at the time limit": part.n_stopped,
    }
    return "; ".join(f"{count:,} {what}" for what, count in counts.items() if count)


def _extent(part: Forecast, kind: str, axis: Axis | None) -> list[str]:
    """Return a row of the table: cells to run, their sizes, time and memory."""
    is_search = kind == "search"
    points = _points_by_search(part.cells) if is_search else Counter()
    number = len(points) if is_search else len(part.cells)
    return [
        f"{len(part.cells):,}",
        f"{number:,} {_KINDS[kind]:<8}",
        _range(set(points.values())) if is_search else "",
        _range({cell.at[axis.name] for cell in part.cells}) if axis else "",
        duration(part.seconds),
        duration(part.judging) if part.judging >= 1 else "",
        _gib(max(cell.memory for cell in part.cells)),
    ]


def _points_by_search(shares: Iterable[Cell]) -> Counter[tuple[int, tuple[int, ...], int]]:
    """Return the number of points of each search, by trial, size and stage, from its shares."""
    points: Counter[tuple[int, tuple[int, ...], int]] = Counter()
    for cell in shares:
        points[cell.trial, tuple(cell.at.values()), len(cell.stages)] += len(cell.points)
    return points


def _gib(size: float) -> str:
    return f"{size / 2**30:.2g}" if size >= _SMALLEST_SHOWN * 2**30 else f"<{_SMALLEST_SHOWN:g}"


def _range(numbers: set[int]) -> str:
    return "..".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)}))
