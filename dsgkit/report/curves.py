"""Curves of a measure, such as training time, against the swept axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from dsgkit.report import panels
from dsgkit.report.entries import time_words
from dsgkit.report.gains import gain_measures
from dsgkit.report.numbers import SHORTEST_TIME, from_to, in_sentence, memory_text, percents
from dsgkit.report.panels import END_FONT, NOTE_ROOM, PANEL_MARGIN
from dsgkit.report.placement import Label, name_beside, place, spread
from dsgkit.report.style import RC, SolverStyle, Width, styles_of
from dsgkit.report.summary import (
    LEFT_OUT_WORDS,
    NOT_RUN,
    TO_COME,
    Entry,
    Summary,
    all_axes,
    all_solvers,
    lowered,
)
from dsgkit.tasks.measures import Measure

END_WORDS = {"out of memory": "memory"}
END_MARKS: dict[str, dict[str, Any]] = {
    LEFT_OUT_WORDS: {"marker": "|", "markersize": 9, "markeredgewidth": 1.3},
    TO_COME: {"marker": ">", "markersize": 6, "markerfacecolor": "white"},
}
"""Marks at the end of a line that ends without a failure."""

CROSS_MARKER: dict[str, Any] = {"marker": "x", "markersize": 5.5}
MAX_FINE_DECADES = 1.5
MAX_NAMES = 30
MAX_PANEL_NAMES = 14
"""Most lines of names next to a panel of standard height."""

NAME_LINE_HEIGHT = 0.115
"""Inches."""

NAME_LETTERS = 20
"""Longest line of a name next to a panel."""

MAX_BANDS = 3
RING_MARKER: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 7.5,
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "markeredgewidth": 0.6,
}


def curve(shown: Sequence[Summary], measure: Measure, width: Width | None = None) -> Figure:
    """Draw a measure of each solver against the size, see `curve_in`."""
    return curve_in(shown, measure, panels.arranged(width))


def curve_in(shown: Sequence[Summary], measure: Measure, arrangement: panels.Arrangement) -> Figure:
    """Draw a measure of each solver against the size, one panel per dataset; seconds on log axes.

    Lines join medians over trials; some have a band from the lowest to the highest trial. A line
    that ends before the last size ends in a mark, after a failure in a cross with its reason. A
    solver that does not depend on the size has a level line without markers. Names are printed at
    the ends of lines in a single panel with enough room, else in a legend.
    """
    solvers = all_solvers(shown)
    styles = styles_of(shown)
    banded = with_bands(shown, measure)
    lines = _lines_of_names(solvers, [*shown, *arrangement.empty])
    named = lines > 0
    with mpl.rc_context(RC):
        handles: list[Artist] = (
            [] if named else [line_handle(styles[name], name) for name in solvers]
        )
        handles += _mark_handles(shown, measure) if arrangement.alone else []
        titles = [one.heading for one in shown]
        extra = NAME_LINE_HEIGHT * max(0, lines - MAX_PANEL_NAMES)
        figure, axes = panels.new_figure(
            titles,
            handles,
            arrangement=arrangement,
            extra_height=extra,
            note=_note(shown, measure),
        )
        ends = [
            _draw_panel(panel, one, measure, styles, banded)
            for panel, one in zip(axes, shown, strict=True)
        ]
        panels.label_axes(axes, all_axes(shown), panels.measure_label(measure))
        names = [
            name_beside(panel, _named_beside(panel_ends) if named else [], END_FONT)
            for panel, panel_ends in zip(axes, ends, strict=True)
        ]
        # Texts avoid the drawn lines, so the layout must be final.
        figure.draw_without_rendering()
        for panel, texts in zip(axes, names, strict=True):
            spread(panel, texts)
        for panel, panel_ends in zip(axes, ends, strict=True):
            place(panel, _named_within(panel_ends) if named else _reasons(panel_ends), END_FONT)
    return figure


def _lines_of_names(solvers: Iterable[str], panels_of_figure: Sequence[object]) -> int:
    """Return the number of lines of names next to a panel; 0 if they do not fit."""
    lines = [line for name in solvers for line in _folded(name)]
    fit = len(lines) <= MAX_NAMES and max(map(len, lines)) <= NAME_LETTERS
    return len(lines) if len(panels_of_figure) == 1 and fit else 0


def _folded(name: str) -> list[str]:
    return wrap(name, NAME_LETTERS, break_long_words=False)


def with_bands(
    shown: Sequence[Summary],
    measure: Measure,
    among: Iterable[str] | None = None,
    centre: Callable[[Sequence[float]], float] = median,
) -> list[str]:
    """Return the solvers that have a band: the config's first, and its best rivals.

    Rivals are ranked by the measure `banded_by`, averaged over the results; solvers with data that
    no user has are not rivals. ``among`` names the solvers with a line, by default all; ``centre``
    averages trials.
    """
    lines = set(all_solvers(shown) if among is None else among)
    solvers = [name for name in all_solvers(shown) if name in lines]
    if len(solvers) <= MAX_BANDS:
        return solvers
    keys = shown[0].results.experiment.solvers
    main = next(
        (name for key in keys if (name := shown[0].names.get(key, "")) in lines), solvers[0]
    )
    score = banded_by(shown, measure)
    ranks: dict[str, list[int]] = {}
    for one in shown if score else []:
        assert score is not None
        entries = one.largest(score).values() if one.shows(score) else []
        rivals = [e for e in entries if e.values and e.competes and e.solver in lines - {main}]
        rivals.sort(key=lambda entry: centre(entry.values), reverse=score.better == "higher")
        for rank, entry in enumerate(rivals):
            ranks.setdefault(entry.solver, []).append(rank)
    everywhere = max(map(len, ranks.values()), default=0)
    best = [name for name in ranks if len(ranks[name]) == everywhere]
    best.sort(key=lambda name: fmean(ranks[name]))
    return [main, *best[: MAX_BANDS - 1]]


def banded_by(shown: Sequence[Summary], measure: Measure) -> Measure | None:
    """Return the measure that ranks rivals: the measure itself or, for a time, the first score."""
    if measure.better and not measure.unit:
        return measure
    return next(iter(gain_measures(shown)), None)


def _note(shown: Sequence[Summary], measure: Measure) -> str:
    """Return the legend's note on points and bands."""
    counts = {one.results.experiment.protocol.trials for one in shown}
    ends = "fastest to slowest" if measure.unit == "seconds" else "lowest to highest"
    if counts != {1}:
        return f"Points: medians over {from_to(counts)} trials; bands: {ends}."
    if measure.unit == "seconds":
        return "Points: one trial each; bands: the range of its repeats."
    return "Points: one trial each."


def caption(shown: Sequence[Summary], measure: Measure) -> str:
    """Return the figure's caption."""
    ends = "fastest to the slowest" if measure.unit == "seconds" else "lowest to the highest"
    entries = [entry for one in shown for entry in one.entries(measure).values()]
    parts = [
        f"{measure.caption} against the number of {lowered(all_axes(shown))}: "
        f"{time_words(measure, shown)}medians over trials.",
        f"Bands{band_words(shown, measure)} go from the {ends} trial.",
        _explained(shown, measure),
        "A ring: disturbed by other processes." if any(e.disturbed for e in entries) else "",
    ]
    return " ".join(filter(None, parts))


def band_words(
    shown: Sequence[Summary],
    measure: Measure,
    among: Iterable[str] | None = None,
    centre: Callable[[Sequence[float]], float] = median,
) -> str:
    """Return `` of`` and the solvers that have a band; empty if all have one."""
    lines = set(all_solvers(shown) if among is None else among)
    if len(lines) <= MAX_BANDS:
        return ""
    main, *rivals = map(in_sentence, with_bands(shown, measure, lines, centre))
    score = banded_by(shown, measure)
    if not (rivals and score):
        return f" of {main}"
    average = "median" if centre is median else "mean"
    return f" of {main} and its best rivals by {average} {score.word} ({', '.join(rivals)})"


def _end_statuses(shown: Sequence[Summary], measure: Measure) -> set[str]:
    """Return the statuses at which lines end before the last size."""
    every = ((one, one.entries(measure)) for one in shown)
    return {
        end.status
        for one, entries in every
        for solver in one.solvers
        if (end := _curve_end([entries[solver, size] for size in one.sizes]))
    }


def _mark_handles(shown: Sequence[Summary], measure: Measure) -> list[Artist]:
    """Return the legend entries of the marks in use."""
    ends = _end_statuses(shown, measure)
    looks = [(END_MARKS[end], end) for end in END_MARKS if end in ends]
    looks += [(CROSS_MARKER, "could not go on")] if ends - {*END_MARKS} else []
    black: dict[str, Any] = {"color": "black", "linestyle": "none"}
    entries = [entry for one in shown for entry in one.entries(measure).values()]
    looks += [(RING_MARKER, "disturbed")] if any(e.values and e.disturbed for e in entries) else []
    return [Line2D([], [], label=label, **(black | look)) for look, label in looks]


def _explained(shown: Sequence[Summary], measure: Measure) -> str:
    """Return the caption's sentences on marks at ends and on lines without markers."""
    every = [one.entries(measure) for one in shown]
    ends = _end_statuses(shown, measure)
    failed = ends - {*END_MARKS}
    parts = ["A cross ends the line of a solver that could not go on."] if failed else []
    if LEFT_OUT_WORDS in ends:
        parts.append("A bar ends one of which the config leaves out the larger sizes.")
    if TO_COME in ends:
        parts.append("A hollow triangle ends one of which fits are still to come.")
    if any(entry.level and entry.values for entries in every for entry in entries.values()):
        axes = lowered(all_axes(shown))
        parts.append(f"A line without markers is one fit per trial, which does not use {axes}.")
    return " ".join(parts)


@dataclass(frozen=True)
class _End:
    """The last point of a solver's line, with the reason if it ends early."""

    solver: str
    x: float
    y: float
    style: SolverStyle
    why: str
    is_last: bool

    def label(self, lines: Sequence[str]) -> Label:
        return Label(self.x, self.y, "\n".join(filter(None, lines)), self.style.text_color)


def _named_beside(ends: Sequence[_End]) -> list[Label]:
    return [end.label(_folded(end.solver)) for end in ends if end.is_last]


def _named_within(ends: Sequence[_End]) -> list[Label]:
    early = [end.label([*_folded(end.solver), end.why]) for end in ends if not end.is_last]
    return [*early, *_reasons([end for end in ends if end.is_last])]


def _reasons(ends: Sequence[_End]) -> list[Label]:
    return [end.label([end.why]) for end in ends if end.why]


def _draw_panel(
    axes: Axes,
    summary: Summary,
    measure: Measure,
    styles: Mapping[str, SolverStyle],
    banded: Sequence[str],
) -> list[_End]:
    """Draw one dataset and return the ends of its lines."""
    summed = summary.entries(measure)
    absent, drawn = list(filter(None, [summary.to_come])), {}
    whys: dict[str, str] = {}
    heights: list[float] = []
    for solver in summary.solvers:
        entries = [summed[solver, size] for size in summary.sizes]
        line = {one.size.n: _heights(measure, one) for one in entries if one.values}
        failed = _curve_end(entries)
        if line:
            level, band = len(line) > 1 and any(entry.level for entry in entries), solver in banded
            _draw_line(axes, line, styles[solver], solver, level=level, band=band)
            heights += _drawn_heights(line, band=band)
            _mark_disturbed(axes, line, entries)
            drawn[solver] = line
        if line and failed:
            x, values = list(line.items())[-1]
            look = {
                "color": "black",
                "markeredgewidth": 1.1,
                **END_MARKS.get(failed.status, CROSS_MARKER),
            }
            axes.plot([x], [median(values)], zorder=4, **look)
            if failed.status not in END_MARKS:
                whys[solver] = reason(failed, "\n")
        elif failed:
            absent.append(f"{solver}: {reason(failed, ' ')}")
    sizes = [n for line in drawn.values() for n in line]
    _set_axes(axes, measure, sizes, heights, headroom=NOTE_ROOM * len(absent))
    panels.write_above(axes, absent)
    last = max((n for line in drawn.values() for n in line), default=0)
    ends = {solver: max(line) for solver, line in drawn.items()}
    return [
        _End(s, n, median(drawn[s][n]), styles[s], whys.get(s, ""), n == last)
        for s, n in ends.items()
    ]


def _heights(measure: Measure, entry: Entry) -> list[float]:
    """Return the values of an entry as they are drawn."""
    if measure.unit == "seconds":
        # the median of one trial is between the ends of the range of its repeats
        values = entry.values if len(entry.values) > 1 else (*entry.values, *entry.spread)
        return [max(value, SHORTEST_TIME) for value in values]
    return [percents(measure, value) for value in entry.values]


def _curve_end(entries: Sequence[Entry]) -> Entry | None:
    """Return the first entry past a solver's last finished size with a status."""
    last = max((place for place, entry in enumerate(entries) if entry.values), default=-1)
    return next((entry for entry in entries[last + 1 :] if entry.status != NOT_RUN), None)


Line = dict[int, list[float]]
"""The values at every size, ascending."""


def _draw_line(
    axes: Axes, line: Line, style: SolverStyle, label: str, *, level: bool, band: bool
) -> None:
    """Draw the medians and the range of one solver; a level line has no markers."""
    if band:
        low, high = ([pick(values) for values in line.values()] for pick in (min, max))
        axes.fill_between(list(line), low, high, color=style.color, alpha=0.2, linewidth=0)
    handle = line_handle(style, label)
    handle.set_data(list(line), [median(values) for values in line.values()])
    if level:
        handle.set_marker("none")
    axes.add_line(handle)


def _mark_disturbed(axes: Axes, line: Line, entries: Sequence[Entry]) -> None:
    """Put a ring around the points that other processes disturbed."""
    points = [(e.size.n, median(line[e.size.n])) for e in entries if e.values and e.disturbed]
    if points:
        axes.plot(*zip(*points, strict=True), **RING_MARKER)


def reason(failed: Entry, gap: str) -> str:
    """Return a short reason why a fit did not finish."""
    if failed.needed is not None:
        return f"needs{gap}{memory_text(failed.needed, decimal_below=10)}"
    return END_WORDS.get(failed.status, failed.status)


def line_handle(style: SolverStyle, label: str) -> Line2D:
    """Return a solver's line, and its entry in the legend."""
    return Line2D(
        [], [], color=style.color, marker=style.marker, linestyle=style.linestyle, label=label
    )


def _drawn_heights(line: Line, *, band: bool) -> list[float]:
    """Return the y values of a solver's line and, if any, its band."""
    return [
        value
        for values in line.values()
        for value in ((min(values), max(values)) if band else (median(values),))
    ]


def _set_axes(
    axes: Axes, measure: Measure, sizes: Sequence[int], values: Sequence[float], headroom: float
) -> None:
    """Set scales, limits (with headroom) and ticks."""
    if not sizes:
        axes.set_axis_off()
        return
    axes.set_xscale("log")
    axes.set_xlim(*padded(min(sizes), max(sizes)))
    panels.size_ticks(axes, sizes)
    if measure.unit == "seconds":
        axes.set_yscale("log")
        axes.set_ylim(*padded(min(values), max(values), headroom))
        set_log_ticks(axes.yaxis, max(values) / min(values), seconds_tick)
    else:
        panels.show_values(axes, values, headroom)


def padded(low: float, high: float, headroom: float = 0.0) -> tuple[float, float]:
    """Return limits of a log axis with room for the texts at the ends of lines."""
    ratio = max(high / low, 10.0)
    return low / ratio**PANEL_MARGIN, high * ratio ** (PANEL_MARGIN + headroom)


def set_log_ticks(axis: Axis, ratio: float, text: Callable[[float], str]) -> None:
    """Put ticks at decades, and with few decades also at their multiples by 2 and 5."""
    few = math.log10(ratio) < MAX_FINE_DECADES
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())
    if few:
        axis.set_minor_locator(NullLocator())


def seconds_tick(value: float) -> str:
    """Return a tick label of the time axis."""
    if 1e-3 <= value < 1e5:
        return f"{value:g}"
    return f"$10^{{{math.log10(value):.0f}}}$"
