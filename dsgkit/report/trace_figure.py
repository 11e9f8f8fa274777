"""Figures of a measure against training time."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from dsgkit.report import panels
from dsgkit.report.boxplots import Flag, far_off, flagged
from dsgkit.report.curves import (
    RING_MARKER,
    band_words,
    line_handle,
    padded,
    reason,
    seconds_tick,
    set_log_ticks,
    with_bands,
)
from dsgkit.report.numbers import SHORTEST_TIME, from_to, percents, seconds_text, short_count
from dsgkit.report.panels import END_FONT, NOTE_ROOM
from dsgkit.report.style import RC, SolverStyle, Width, styles_of
from dsgkit.report.summary import NOT_RUN, Size, Summary, all_axes, all_solvers, lowered
from dsgkit.report.traces import Checkpoint, Race, largest_races, races
from dsgkit.tasks.measures import TIME, Measure

PANEL_HEIGHT = 2.1
MARKER_SPACING = 0.2
FAR_TEXT_WIDTH, FAR_LINE_HEIGHT = 0.32, 0.07
"""Width and line height of the text at a mark for values off the axis, in axes units."""

MAX_LEAD = 10.0
"""A point earlier than this factor before all lines is drawn there: it would squeeze them."""


def trace(shown: Sequence[Summary], measure: Measure, width: Width | None = None) -> Figure:
    """Draw a measure along the training of each solver, one panel per dataset and size.

    For several results, only the largest size with values along training is drawn.
    """
    every = [race for one in shown for race in races(one, measure)]
    drawn = every if len(shown) == 1 else largest_races(every)
    arrangement = panels.arranged(width)
    return draw_races(drawn, measure, all_solvers(shown), arrangement=arrangement)


def draw_races(
    drawn: Sequence[Race],
    measure: Measure,
    solvers: Mapping[str, str],
    flag: Flag | None = None,
    arrangement: panels.Arrangement = panels.REPORT_ARRANGEMENT,
) -> Figure:
    """Draw races, one panel for each.

    Lines join means over trials at equal iterations; some have a band of one standard deviation to
    each side. A method without iterations is a point with such bars. A solver that is far off the
    others throughout is a mark at the edge.

    Parameters
    ----------
    drawn : sequence of Race
    measure : Measure
    solvers : mapping of str to str
        The kind of every solver by its name.
    flag : Flag, optional
        A line with a flagged trial has a ring around its end.
    arrangement : Arrangement, optional
    """
    styles = styles_of([race.summary for race in drawn])
    flags = {id(race.summary): flagged(race.summary, flag) for race in drawn}
    moving = _moving(drawn)
    with mpl.rc_context(RC):
        handles = [line_handle(styles[name], name) for name in solvers]
        for handle in handles:
            if handle.get_label() not in moving:
                handle.set_linestyle("none")
        if flag and any(any(map(any, one.values())) for one in flags.values()):
            handles.append(flag.handle)
        titles = [_title(race, narrow=len(drawn) > 2) for race in drawn]
        figure, axes = panels.new_figure(
            titles, handles, PANEL_HEIGHT, arrangement, note=_note(drawn)
        )
        banded = with_bands([race.summary for race in drawn], measure, moving, statistics.fmean)
        for panel, race in zip(axes, drawn, strict=True):
            _draw_panel(panel, race, measure, styles, flags[id(race.summary)], banded)
        panels.label_axes(axes, TIME.axis_label, panels.measure_label(measure))
    return figure


def _moving(drawn: Iterable[Race]) -> set[str]:
    """Return the solvers that have a line."""
    return {t.entry.solver for race in drawn for t in race.trainings if t.iterative}


def caption(shown: Sequence[Summary], measure: Measure) -> str:
    """Return the figure's caption."""
    axes = lowered(all_axes(shown))
    moving = _moving(race for one in shown for race in races(one, measure))
    if not axes:
        at = ""
    elif len(shown) == 1:
        at = f", a panel for each number of {axes} at which a method in iterations finished"
    else:
        at = f", at the largest number of {axes} at which a method in iterations finished"
    return (
        f"{measure.caption} against training time{at}: lines join the means over trials at equal "
        f"iterations, and bands{band_words(shown, measure, moving, statistics.fmean)} reach one "
        f"standard deviation to each side. A method without "
        f"iterations is a point, with bars of one standard deviation in both directions; "
        f"an arrow to the left says how much earlier than drawn it belongs, one at the edge to "
        f"what value it came that is far {'above' if measure.better == 'lower' else 'below'} the "
        f"others all the time."
    )


def _note(drawn: Sequence[Race]) -> str:
    """Return the legend's note on lines, bands and bars."""
    counts = {race.summary.results.experiment.protocol.trials for race in drawn}
    if counts == {1} or not drawn:
        return "Lines and points: one trial each."
    return (
        f"Lines and points: means over {from_to(counts)} trials; bands and bars: one standard "
        "deviation to each side."
    )


def _title(race: Race, *, narrow: bool) -> str:
    """Return a dataset's name, with the size on a swept axis."""
    axis, gap = race.summary.axis, "\n" if narrow else ", "
    size = f"{gap}{short_count(race.size.n)} {axis.noun}" if axis else ""
    return race.summary.heading + size


class Mean:
    """Means and standard deviations of several trials at a checkpoint."""

    def __init__(self, measure: Measure, trials: Sequence[Checkpoint]) -> None:
        times = [max(one.seconds, SHORTEST_TIME) for one in trials]
        values = [percents(measure, one.value) for one in trials]
        self.seconds, self.seconds_std = statistics.fmean(times), _std(times)
        self.value, self.value_std = statistics.fmean(values), _std(values)
        self.earliest = min(times)

    def put_at(self, seconds: float) -> None:
        """Move it to another time, without a bar in time."""
        self.seconds, self.seconds_std, self.earliest = seconds, 0.0, seconds


def _std(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _draw_panel(
    axes: Axes,
    race: Race,
    measure: Measure,
    styles: Mapping[str, SolverStyle],
    flags: Mapping[tuple[str, Size], tuple[bool, ...]],
    banded: Sequence[str],
) -> None:
    """Draw one dataset, and list the solvers without values with their reasons."""
    by_solver = {
        training.entry.solver: [Mean(measure, trials) for trials in training.checkpoints()]
        for training in race.trainings
    }
    limit = _far_limit(race, measure, by_solver)
    drawn: list[Mean] = []
    absent, points, far = [], {}, {}
    for index, training in enumerate(race.trainings):
        solver = training.entry.solver
        means = by_solver[solver]
        if means and all(_beyond(measure, mean.value, limit) for mean in means):
            far[solver] = means[-1]
        elif means and training.iterative:
            shift = index / len(race.trainings)
            _draw_line(axes, means, styles[solver], solver, shift, band=solver in banded)
            drawn += means
        elif means:
            points[solver] = means[0]
            drawn += means
        elif training.entry.status not in ("ok", NOT_RUN):
            absent.append(f"{solver}: {reason(training.entry, ' ')}")
    first = min((mean.seconds for mean in drawn if mean not in points.values()), default=0.0)
    for solver, mean in points.items():
        if mean.seconds < first / MAX_LEAD:
            _write_time(axes, mean, styles[solver])
            mean.put_at(first / MAX_LEAD)
        _draw_point(axes, mean, styles[solver], solver)
    times = [mean.seconds for mean in (*drawn, *far.values())]
    values = [m.value for m in drawn if not _beyond(measure, m.value, limit)]
    ends = [means[-1] for solver, means in by_solver.items() if means and solver not in far]
    values += [m.value + side * m.value_std for m in ends for side in (-1, 1)]
    _set_axes(axes, times, values, headroom=NOTE_ROOM * len(absent))
    flagged_far = [solver for solver in far if any(flags.get((solver, race.size), ()))]
    _draw_far(axes, measure, far, styles, flagged_far)
    for solver, means in by_solver.items():
        if any(flags.get((solver, race.size), ())) and solver not in far:
            axes.plot([means[-1].seconds], [means[-1].value], **RING_MARKER)
    panels.write_above(axes, absent)


def _far_limit(race: Race, measure: Measure, by_solver: Mapping[str, Sequence[Mean]]) -> float:
    """Return the limit of the value axis, by the solvers that are not far off.

    It leaves a margin beyond their worst final value, equal to the spread of their final values or
    to the largest standard deviation over trials.
    """
    beyond = far_off(measure, [training.entry for training in race.trainings])
    ends = [means[-1] for solver, means in by_solver.items() if means and solver not in beyond]
    finals = [mean.value for mean in ends]
    least = max([percents(measure, measure.least_range), *(mean.value_std for mean in ends)])
    spread = max(max(finals, default=0.0) - min(finals, default=0.0), least)
    if measure.better == "lower":
        return max(finals, default=math.inf) + (spread or math.inf)
    return min(finals, default=-math.inf) - (spread or math.inf)


def _beyond(measure: Measure, value: float, limit: float) -> bool:
    return value > limit if measure.better == "lower" else value < limit


def _draw_far(
    axes: Axes,
    measure: Measure,
    far: Mapping[str, Mean],
    styles: Mapping[str, SolverStyle],
    ringed: Sequence[str],
) -> None:
    """Draw solvers beyond the axis as marks at its edge, with their final values."""
    up = measure.better == "lower"
    to_axes = axes.transAxes.inverted()
    last, level = -math.inf, 0
    for solver, mean in sorted(far.items(), key=lambda one: one[1].seconds):
        x, _ = to_axes.transform(axes.transData.transform((mean.seconds, mean.value)))
        x = min(float(x), 1 - FAR_TEXT_WIDTH)
        level = level + 1 if x - last < FAR_TEXT_WIDTH else 0
        last = x if level == 0 else last
        y = FAR_LINE_HEIGHT * (level + 0.6)
        place = (x, 1 - y if up else y)
        look: dict[str, Any] = {
            "color": styles[solver].color,
            "marker": styles[solver].marker,
            "markersize": 3.5,
        }
        axes.plot(*place, transform=axes.transAxes, linestyle="none", **look)
        if solver in ringed:
            axes.plot(*place, transform=axes.transAxes, **RING_MARKER)
        arrow = r"$\uparrow$" if up else r"$\downarrow$"
        axes.annotate(
            f"{arrow}{mean.value:.{measure.digits}f}",
            place,
            xycoords="axes fraction",
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=END_FONT,
            color=styles[solver].color,
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
            in_layout=False,
        )


def _write_time(axes: Axes, mean: Mean, style: SolverStyle) -> None:
    """Write the true time over a point that is drawn at a later time."""
    axes.annotate(
        rf"$\leftarrow$ {seconds_text(mean.seconds)}",
        (0.01, mean.value),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=END_FONT,
        color=style.color,
        path_effects=[withStroke(linewidth=1.5, foreground="white")],
    )


def _draw_line(
    axes: Axes,
    means: Sequence[Mean],
    style: SolverStyle,
    label: str,
    shift: float,
    *,
    band: bool,
) -> None:
    """Draw the line of one solver, with sparse markers."""
    x = [one.seconds for one in means]
    if band:
        low = [one.value - one.value_std for one in means]
        high = [one.value + one.value_std for one in means]
        axes.fill_between(x, low, high, color=style.color, alpha=0.15, linewidth=0)
    line = line_handle(style, label)
    line.set_data(x, [one.value for one in means])
    line.set_markevery((MARKER_SPACING * shift, MARKER_SPACING))
    axes.add_line(line)


def _draw_point(axes: Axes, mean: Mean, style: SolverStyle, label: str) -> None:
    """Draw a method without iterations; its time bar does not pass the earliest trial."""
    left = min(mean.seconds_std, mean.seconds - mean.earliest)
    axes.errorbar(
        [mean.seconds],
        [mean.value],
        xerr=[[left], [mean.seconds_std]],
        yerr=[mean.value_std],
        color=style.color,
        marker=style.marker,
        markersize=5.5,
        markeredgecolor="white",
        markeredgewidth=0.5,
        elinewidth=0.9,
        linestyle="none",
        label=label,
        zorder=4,
    )


def _set_axes(axes: Axes, times: Sequence[float], values: Sequence[float], headroom: float) -> None:
    """Set scales, limits (with headroom) and ticks."""
    if not times:
        axes.set_axis_off()
        return
    axes.set_xscale("log")
    axes.set_xlim(*padded(min(times), max(times)))
    set_log_ticks(axes.xaxis, max(times) / min(times), seconds_tick)
    panels.show_values(axes, values, headroom)
