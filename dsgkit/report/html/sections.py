"""What a page says of one results folder."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from datetime import datetime

from dsgkit.config.schema import Experiment, SolverSpec
from dsgkit.experiment.results import CONFIG, Results
from dsgkit.report.html.clocks import Clocks, clocks
from dsgkit.report.html.outcomes import Cause, Counts, count_cells, failures, limits
from dsgkit.report.html.pictures import Picture, pictures
from dsgkit.report.layout import Cell, Layout
from dsgkit.report.numbers import value_text
from dsgkit.report.params import grid_text
from dsgkit.report.summary import has_values
from dsgkit.report.tables import tables_of, wanted_tables


@dataclass(frozen=True)
class Section:
    """What a page says of one results folder.

    Attributes
    ----------
    anchor : str
        Where links lead to.
    title, name, folder : str
        Of the dataset, of the experiment, and where its results are.
    facts : list of (str, str)
        What was run, as headings and texts.
    counts : Counts
    solvers : Layout
        Solvers with their parameters.
    tables : list of Layout
    pictures : list of Picture
    has_fit : bool
        Whether any fit finished.
    failures, limits : list of Cause
    clocks : Clocks or None
    config : str
        The resolved config.
    command : str
        Runs it again.
    """

    anchor: str
    title: str
    name: str
    folder: str
    facts: list[tuple[str, str]]
    counts: Counts
    solvers: Layout
    tables: list[Layout]
    pictures: list[Picture]
    has_fit: bool
    failures: list[Cause]
    limits: list[Cause]
    clocks: Clocks | None
    config: str
    command: str


def make_section(results: Results, title: str, number: int) -> Section:
    """Return the section of a results folder.

    Parameters
    ----------
    results : Results
    title : str
        What the page calls it.
    number : int
        Its place on the page.
    """
    experiment = results.experiment
    return Section(
        anchor=f"{number}-{re.sub(r'[^A-Za-z0-9_]+', '-', title)}",
        title=title,
        name=experiment.name,
        folder=str(results.folder),
        facts=_facts(results),
        counts=count_cells(results),
        solvers=_solvers(experiment),
        tables=_tables(results, title),
        pictures=pictures([results]),
        has_fit=has_values(results, "fit_seconds"),
        failures=failures(results),
        limits=limits(results),
        clocks=clocks(results),
        config=experiment.to_yaml(),
        command=shlex.join(["dsg", "run", str(results.folder / CONFIG)]),
    )


def _tables(results: Results, title: str) -> list[Layout]:
    """Return the tables that `write_tables` writes; none before the first fit."""
    if not len(results.cells):
        return []
    tables = tables_of(results, title, wanted_tables([results]))
    return [layout for table in tables for layout in table.layouts if layout.rows]


def _facts(results: Results) -> list[tuple[str, str]]:
    experiment = results.experiment
    protocol = experiment.protocol
    low, high = map(value_text, protocol.scale)
    sizes = [n if n == "all" else f"{n:,}" for n in experiment.sweep.unlabeled]
    facts = [
        ("Experiment", experiment.name),
        ("Dataset", _dataset(results)),
        (
            "Protocol",
            f"{protocol.kind} with {protocol.labeled:,} labelled rows, features scaled to "
            f"[{low}, {high}]",
        ),
        ("Unlabelled rows", ", ".join(sizes)),
        ("Trials", f"{protocol.trials:,}, seed {experiment.seed}"),
        (
            "Hyper-parameters",
            f"{protocol.folds}-fold cross-validation by {protocol.metric.upper()}",
        ),
        ("Cells started", _started(results)),
        ("Folder", str(results.folder)),
    ]
    return [(heading, text) for heading, text in facts if text]


def _dataset(results: Results) -> str:
    """Return what is known of the dataset: its title or its file, and its shape."""
    data = results.data
    what = results.experiment.dataset.path or data.get("title")
    rows, features = data.get("n_rows", _rows(results)), data.get("n_features")
    shape = [f"{n:,} {unit}" for n, unit in ((rows, "rows"), (features, "features")) if n]
    known = ", ".join([what, *shape] if what else shape)
    return f"{results.dataset}: {known}" if known else results.dataset


def _rows(results: Results) -> int | None:
    """Return how many rows a fit on all rows had, None without one."""
    fits = results.cells[results.cells["full"]]
    if not len(fits):
        return None
    return int(fits["n_unlabeled"].max()) + results.experiment.protocol.labeled


def _started(results: Results) -> str:
    """Return when the first and the last cell were started, as far as records say."""
    texts = [record["started"] for record in results.records if record.get("started")]
    times = sorted(map(datetime.fromisoformat, texts))
    ends = dict.fromkeys(f"{time:%Y-%m-%d %H:%M %Z}" for time in (*times[:1], *times[-1:]))
    return " to ".join(ends)


def _solvers(experiment: Experiment) -> Layout:
    """Return the table of solvers."""
    return Layout(
        "Solvers: fixed parameters, and the grid of those chosen by cross-validation once per "
        "trial.",
        ["Solver", "Kind", "Fixed", "Grid", "Points", "Search rows, at most"],
        [_solver(spec) for spec in experiment.solvers.values()],
    )


def _solver(spec: SolverSpec) -> list[Cell]:
    points = math.prod(map(len, spec.grid.values()))
    later = math.prod(map(len, spec.then.values()))
    fixed = {name: value for name, value in spec.params.items() if name not in spec.then}
    grid, then = (
        _listed({name: grid_text(values) for name, values in part.items()})
        for part in (spec.grid, spec.then)
    )
    limit = "" if spec.max_unlabeled is None else f", fitted up to {spec.max_unlabeled:,}"
    searched = spec.search_unlabeled if points > 1 else "–"
    return [
        Cell(spec.label),
        Cell(spec.kind),
        Cell(_listed({name: value_text(value) for name, value in fixed.items()})),
        Cell(f"{grid}; then {then}" if spec.then else grid),
        Cell(f"{points:,}, then {later:,}" if spec.then else f"{points:,}", value=points),
        Cell((searched if isinstance(searched, str) else f"{searched:,}") + limit),
    ]


def _listed(texts: dict[str, str]) -> str:
    return "; ".join(f"{name} {text}" for name, text in texts.items()) or "–"
