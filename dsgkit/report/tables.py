"""The tables of runs: which ones configs ask for, in files and in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from dsgkit.errors import ResultsError, nearest_or_all
from dsgkit.experiment.runs import Run
from dsgkit.report import frame
from dsgkit.report.choices import params_table
from dsgkit.report.formats import Cell, Layout, Table, write_table
from dsgkit.report.measure_tables import measure_table
from dsgkit.report.numbers import p_text
from dsgkit.report.published import published_table
from dsgkit.report.stats import LEVEL, Effect, gain_measures, gains, inference
from dsgkit.report.terminal import plain
from dsgkit.tasks.measures import GAINS, PARAMS_TABLE, PUBLISHED_TABLE, Measure
from dsgkit.text import DEFAULT_WIDTH


def wanted_tables(runs: Sequence[Run], only: Sequence[str] = ()) -> list[Table]:
    """Return the named tables, by default those that configs ask for and what else there is.

    That is gains, published values and, for one run, chosen hyper-parameters.
    """
    frame.check_recorded(runs)
    files: dict[str, list[Measure]] = {}
    for measure in frame.measures_of(runs):
        files.setdefault(f"{measure.file}_table", []).append(measure)
    known: dict[str, Callable[[], Table]] = {
        name: partial(measure_table, runs, name, measures) for name, measures in files.items()
    }
    outputs = {name: f"{of[0].output}_table" for name, of in files.items()}
    asked = [name for one in frame.outputs_asked(runs) for name in files if one == outputs[name]]
    if any(spec and spec.against in run.names for run in runs for spec in run.solvers.values()):
        known[GAINS] = partial(gain_table, runs)
    if any(run.task.published for run in runs):
        known[PUBLISHED_TABLE] = partial(published_table, runs)
    if len(runs) == 1:
        known[PARAMS_TABLE] = partial(params_table, *runs)
    for name in only:
        if name not in known:
            text = f"no table {name!r} in these results{nearest_or_all(name, known)}"
            raise ResultsError(f"{', '.join(str(run.folder) for run in runs)}: {text}")
    names = only or [*asked, *(name for name in known if name not in files)]
    return [known[name]() for name in dict.fromkeys(names)]


def write_tables(runs: Sequence[Run], folder: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write `wanted_tables` as CSV, Markdown and LaTeX to ``tables/`` in a folder."""
    made = [table for table in wanted_tables(runs, only) if table.layouts]
    return [path for table in made for path in write_table(table, folder / "tables")]


def text_tables(runs: Sequence[Run], only: Sequence[str] = (), width: int = DEFAULT_WIDTH) -> str:
    """Return `wanted_tables` for a terminal; if configs ask for figures only, of all measures."""
    layouts = [layout for table in wanted_tables(runs, only) for layout in table.layouts]
    shown = [layout for layout in layouts if only or not layout.aside]
    if not shown and not only:
        return text_tables(runs, [f"{one.file}_table" for one in frame.measures_of(runs)], width)
    return "\n".join(plain(layout, width) for layout in shown)


def gain_table(runs: Sequence[Run]) -> Table:
    """Return the table of gains in the measures whose tables configs ask for, at the largest sizes.

    A second part has other measures and, for one run, smaller sizes, which are not tested. Both
    are one where small sizes matter: on an axis of drawn rows, such as labelled ones.
    """
    measures, asked = gain_measures(runs), frame.outputs_asked(runs)
    main = [one for one in measures if f"{one.output}_table" in asked] or measures
    found = [gain for measure in measures for gain in gains(runs, measure)]
    found = [gain for gain in found if gain.is_last or len(runs) == 1]
    drawn = any(run.axis and run.axis.drawn for run in runs)
    parts: dict[bool, list[Effect]] = {False: [], True: []}
    for gain in found:
        parts[not (gain.is_last or drawn) or gain.measure not in main].append(gain)
    layouts = [_gains(runs, some, further) for further, some in parts.items() if some]
    return Table(GAINS, layouts, pd.DataFrame(map(_gain_row, found)))


def _gains(runs: Sequence[Run], found: Sequence[Effect], further: bool) -> Layout:
    over = list(dict.fromkeys(gain.against for gain in found))
    hows = {run.heading: inference(run) for run in runs}
    full = {run.heading: frame.full_at(run) for run in runs}
    tested = any(gain.is_last and hows[gain.run.heading].tested for gain in found)
    swept = any(run.axis for run in runs)
    notes = ["Better in: trials, of those that both finished, in which the solver is better."]
    if tested:
        at = " at the largest size that both finished" if swept else ""
        family = "all solvers" if len(runs) == 1 else "all solvers and datasets"
        notes.append(f"p: paired t-test{at}, Holm-corrected for {family}.")
    said: dict[str, list[str]] = {}
    for heading, how in hows.items():
        said.setdefault(how.words, []).append(heading)
    alike = len(said) == 1
    notes += (words if alike else f"{', '.join(of)}: {words}" for words, of in said.items())
    head = "Gain [95%]" if any(how.has_interval for how in hows.values()) else "Gain"
    layout = Layout(
        f"{'Further gains' if further else 'Gains'} over {' or '.join(over)}: mean over trials, "
        "above 0 where better.",
        ["Measure", "Dataset", "Solver", "Over", "Rows", head, "p", "Better in"],
        [_gain_cells(gain, full[gain.run.heading]) for gain in found],
        notes,
        best_means=f"better at the {LEVEL:.0%} level",
        about=frame.about(runs),
        aside=further,
    )
    several = len(runs) > 1, len(over) > 1
    return layout.with_columns([True, several[0], True, several[1], swept, True, tested, True])


def _gain_cells(gain: Effect, full: Mapping[int, bool]) -> list[Cell]:
    measure, difference = gain.measure, gain.contrast.difference
    wins, n = (gain.b > gain.a).sum(), len(gain.a)
    best = gain.significant and difference > 0 and not frame.progress(gain.run)
    return [
        Cell(f"{measure.heading} (%)" if measure.percent else measure.heading),
        *map(Cell, (gain.run.heading, gain.name, gain.against)),
        Cell(frame.size_text(gain.size, full[gain.size]), value=gain.size),
        Cell(gain.contrast.cell(measure), best=best, value=difference),
        Cell(p_text(gain.holm), value=gain.holm),
        Cell(f"{wins}/{n}", value=wins / n),
    ]


def _gain_row(gain: Effect) -> dict[str, object]:
    low, high = gain.contrast.interval or (None, None)
    return {
        "dataset": gain.run.title,
        "measure": gain.measure.name,
        "solver": gain.name,
        "against": gain.against,
        **({gain.run.axis.name: gain.size} if gain.run.axis else {}),
        "trials": len(gain.a),
        "gain": gain.contrast.difference,
        "interval_low": low,
        "interval_high": high,
        "p": gain.contrast.p if gain.is_last else None,
        "holm": gain.holm,
        "wins": (gain.b > gain.a).sum(),
        "losses": (gain.b < gain.a).sum(),
    }
