"""Drawing of panels: box plots, curves over sizes, and measures along training."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Literal

import numpy as np
import pandas as pd

from dsgkit.experiment.runs import LEFT_OUT, NOT_RUN, TO_COME, Run
from dsgkit.report.axes import (
    NAME_LETTERS,
    is_log,
    log_ticks,
    padded,
    set_few_ticks,
    set_y_axis,
    size_ticks,
    wrapped,
)
from dsgkit.report.frame import Entry
from dsgkit.report.numbers import SHORTEST_TIME, memory_text, percents, short_count
from dsgkit.report.style import DPI, INCHES, SMALL_FONT, Look, Width, own_settings
from dsgkit.tasks.measures import TIME, Measure

# isort: split
# after the style, which imports matplotlib without the user's settings
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

COLUMNS, COLUMNS_IN_COLUMN = 4, 2
PANEL_HEIGHT, WIDE_HEIGHT, SINGLE_HEIGHT = 1.7, 2.1, 2.5
AROUND_ROWS, NAME_LINE, BETWEEN_NAMES = 0.45, 0.105, 0.065
"""Inches: above and below the rows of a box plot, a line of a name, and between two names."""

LETTERS_PER_INCH = 13  # of titles and labels
LEGEND_ROW, LEGEND_ENTRY, LEGEND_LETTER = 0.17, 0.62, 0.066
SIDE_BY_SIDE = 0.14  # inches of all lines at a size
MIN_BOXED_TRIALS = 5
BARS_ALONG = 6  # error bars on a line along training
RATE_OVER = 100.0  # factor between the ends of the line of a rate
LARGEST = 1e150  # squares of greater values overflow

NO_FAILURES = {NOT_RUN, TO_COME, LEFT_OUT}
GREY = "0.35"
FLAGGED = "collapsed trial"
RATE: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "label": "proportional to 1/t"}
CROSS: dict[str, Any] = {"color": "black", "marker": "x", "markersize": 5.5, "zorder": 4}
_EDGE = {"linestyle": "none", "marker": "o", "markeredgecolor": "black", "markeredgewidth": 0.7}
HOLLOW: dict[str, Any] = _EDGE | {"markersize": 3.2, "markerfacecolor": "white", "label": FLAGGED}
RING: dict[str, Any] = _EDGE | {"markersize": 7.5, "markerfacecolor": "none", "label": FLAGGED}


def figure(
    groups: Sequence[tuple[str, Any]],
    draw: Callable[[Axes, Any], None],
    width: Width | None = None,
    *,
    labels: tuple[str, str] = ("", ""),
    legend: Callable[[], Sequence[Artist]] | None = None,
    columns: int = COLUMNS,
    height: float = 0.0,
    same_rows: bool = False,
) -> Figure:
    """Draw a panel for each group, its title and what ``draw`` draws of its content.

    A content that is text stands in an empty panel. The width is by default a column for a single
    panel, else a page, with at most so many ``columns`` of panels; ``height`` is a panel's, in
    inches. ``labels`` are those of the x and of the y axes, and ``legend`` returns the handles of
    the legend, by default of all lines with a label. With the ``same_rows`` on all y axes, their
    names are at the left only.
    """
    single = len(groups) == 1
    columns = min(len(groups), COLUMNS_IN_COLUMN if width == "column" else columns)
    rows = -(-len(groups) // columns)
    inches = INCHES[width or ("column" if single else "page")]
    height = height or (PANEL_HEIGHT if columns > 2 else SINGLE_HEIGHT if single else WIDE_HEIGHT)
    letters = int(inches / columns * LETTERS_PER_INCH)
    with own_settings():
        made = Figure(figsize=(inches, rows * height + 0.2), dpi=DPI, layout="constrained")
        axes = list(made.subplots(rows, columns, squeeze=False).flat)
        lefts: dict[int, Axes] = {}
        bottoms: dict[int, Axes] = {}
        for place, (panel, (title, content)) in enumerate(zip(axes, groups, strict=False)):
            if isinstance(content, str):
                panel.set_axis_off()
                text = wrapped(f"{title}: {content}", letters)
                panel.text(0.5, 0.5, text, ha="center", va="center", color=GREY, in_layout=False)
                continue
            panel.set_title(wrapped(title, letters), linespacing=1.0)
            draw(panel, content)
            if lefts.setdefault(place // columns, panel) is not panel and same_rows:
                panel.tick_params(labelleft=False)
            bottoms[place % columns] = panel
        for unused in axes[len(groups) :]:
            made.delaxes(unused)
        for panel in bottoms.values() if labels[0] else ():
            panel.set_xlabel(wrapped(labels[0], letters))
        for panel in lefts.values():
            panel.set_ylabel(wrapped(labels[1], int(height * LETTERS_PER_INCH)))
        lines = [line for panel in axes for line in panel.lines]
        labelled = {str(line.get_label()): line for line in reversed(lines)}
        own = [line for label, line in reversed(labelled.items()) if not label.startswith("_")]
        if handles := own if legend is None else legend():
            in_row = _legend_columns([str(one.get_label()) for one in handles], inches)
            made.set_figheight(made.get_figheight() + LEGEND_ROW * -(-len(handles) // in_row))
            made.legend(handles=handles, loc="outside lower center", ncols=in_row)
    return made


def _legend_columns(names: Sequence[str], inches: float) -> int:
    """Return the columns of a legend that fits into a width; its rows are as even as possible."""
    for rows in range(1, len(names) + 1):
        columns = -(-len(names) // rows)
        parts = np.array_split([len(name) for name in names], columns)
        if sum(LEGEND_ENTRY + LEGEND_LETTER * part.max() for part in parts) <= inches:
            return columns
    return 1


def boxes(
    axes: Axes,
    groups: Sequence[tuple[str | None, Mapping[str, Entry | None]]],
    measure: Measure,
    looks: Mapping[str, Look],
    marked: Mapping[tuple[str, int], Sequence[bool]],
) -> None:
    """Draw a row for each solver below its group's heading, if any: a box, and a dot per trial.

    With few trials, a bar at the median replaces the box. ``marked`` trials, by solver and size,
    are hollow dots. A text says why a box is missing, or is at another size than most.
    """
    y, names = 0, {}
    for heading, group in groups:
        if heading is not None:
            _in_row(axes, y, heading, style="italic")
            y += 1
        common = common_size(filter(None, group.values()))
        for name, entry in group.items():
            names[y] = wrapped(name, NAME_LETTERS)
            if entry and entry.values:
                values = [percents(measure, value) for value in entry.values]
                hollow = marked.get((name, entry.size), [False] * len(values))
                _box(axes, y, values, looks[name], hollow)
                if not entry.level and entry.size != common:
                    _in_row(axes, y, f"at {short_count(entry.size)}", x=1.01)
            elif entry:
                _in_row(axes, y, ending_text(entry))
            y += 1
    axes.set_yticks([*names], [*names.values()], linespacing=1.0)
    axes.set_ylim(y - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    low, high = axes.get_xlim()
    is_error = measure.percent and measure.better == "lower"
    # scores that hardly differ should look so
    least = max(percents(measure, measure.least_range), high / 4 if is_error else 0.0)
    missing = max(0.0, least - (high - low))
    from_0 = is_error and 2 * low < high
    axes.set_xlim(0.0 if from_0 else low - missing / 2, high + missing / 2)
    set_few_ticks(axes.xaxis, 4)


def common_size(group: Iterable[Entry]) -> int:
    """Return the most frequent size of entries with values, of fits that depend on it."""
    sizes = Counter(entry.size for entry in group if entry.values and not entry.level)
    return sizes.most_common(1)[0][0] if sizes else 0


def _in_row(axes: Axes, y: float, text: str, x: float = 0.02, **look: Any) -> None:
    look |= {"va": "center", "color": GREY, "fontsize": SMALL_FONT}
    axes.text(x, y, text, transform=axes.get_yaxis_transform(), **look)


def ending_text(entry: Entry) -> str:
    """Return why an entry has no value, such as ``timeout`` or ``needs 26 GiB``."""
    if not math.isnan(entry.needed):
        return f"needs {memory_text(entry.needed, decimal_below=10)}"
    ends = (end for end, _ in entry.others.most_common() if end not in NO_FAILURES)
    return next(ends, entry.ending)


def failure(line: Sequence[Entry]) -> Entry | None:
    """Return the first entry with a failure past the last size with values."""
    last = max((i for i, entry in enumerate(line) if entry.values), default=-1)
    return next((one for one in line[last + 1 :] if {*one.others} - NO_FAILURES), None)


def _box(axes: Axes, y: float, values: Sequence[float], look: Look, hollow: Sequence[bool]) -> None:
    dot: dict[str, Any] = {"marker": "o", "markersize": 2.2, "markeredgewidth": 0.3}
    face = "black"
    if len(values) < MIN_BOXED_TRIALS:
        axes.plot([median(values)] * 2, [y - 0.25, y + 0.25], color=look.color, linewidth=1.3)
        dot = {"marker": look.marker, "markersize": 4, "markeredgewidth": 0.4}
        face = look.color
    else:
        light = tuple(0.35 * part + 0.65 for part in to_rgb(look.color))
        line = {"color": look.color, "linewidth": 0.9}
        axes.boxplot(
            [values],
            positions=[y],
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            showfliers=False,
            manage_ticks=False,
            boxprops={"facecolor": light, "edgecolor": look.color, "hatch": look.hatch},
            medianprops={"color": "black", "linewidth": 1.2},
            whiskerprops=line,
            capprops=line,
        )
    full = {"markerfacecolor": face, "markeredgecolor": "white", "linestyle": "none"} | dot
    for kind, look_of_dots in ((False, full), (True, HOLLOW)):
        chosen = [value for value, flag in zip(values, hollow, strict=True) if flag is kind]
        if chosen:
            axes.plot(chosen, [y] * len(chosen), zorder=3, **look_of_dots)


def rows_height(names: Iterable[str], n_groups: int = 1, headings: int = 0) -> float:
    """Return the height of a panel of a box plot in inches."""
    lines = [wrapped(name, NAME_LETTERS).count("\n") + 1 for name in names]
    rows = n_groups * sum(BETWEEN_NAMES + NAME_LINE * n for n in lines)
    return AROUND_ROWS + rows + headings * (BETWEEN_NAMES + NAME_LINE)


def curve(
    axes: Axes, lines: Mapping[str, Sequence[Entry]], measure: Measure, looks: Mapping[str, Look]
) -> None:
    """Draw each solver's medians over trials by size, with bars from the lowest to the highest.

    If the size after a line's end failed, the line ends with a cross. A line without markers is of
    fits that do not depend on the size. Scores are drawn side by side to show their bars.
    """
    sizes: set[int] = set()
    heights: list[float] = []
    is_time = measure.unit == "seconds"
    for place, (name, line) in enumerate(lines.items()):
        spans = {entry.size: _heights(measure, entry) for entry in line if entry.values}
        if spans:
            shift = 0.0 if is_time else SIDE_BY_SIDE * (place / max(1, len(lines) - 1) - 0.5)
            aside = ScaledTranslation(shift, 0, axes.figure.dpi_scale_trans)
            where: dict[str, Any] = {"transform": axes.transData + aside}
            x, y = [*spans], [*map(median, spans.values())]
            level = len(x) > 1 and any(entry.level for entry in line)
            drawn = _line(looks[name], name, x, y, marker=not level, line=True)
            drawn.set(**where)
            axes.add_line(drawn)
            low, high = [*map(min, spans.values())], [*map(max, spans.values())]
            axes.vlines(x, low, high, color=looks[name].color, linewidth=0.8, **where)
            if failure(line):
                axes.plot(x[-1:], y[-1:], **CROSS, **where)
            sizes |= {*x}
            heights += [*low, *high]
    axes.set_xscale("log")
    axes.set_xlim(*padded(min(sizes), max(sizes), 0.04 if is_time else 0.12))
    size_ticks(axes, sizes)
    set_y_axis(axes, heights, log=is_log(measure, heights))


def _heights(measure: Measure, entry: Entry) -> list[float]:
    """Return the values as drawn; of a single time, with the ends of its repeats."""
    if measure.unit == "seconds":
        ends = (entry.low, entry.high) if len(entry.values) == 1 else ()
        return [max(value, SHORTEST_TIME) for value in (*entry.values, *ends)]
    return [percents(measure, value) for value in entry.values]


def _line(
    look: Look, label: str, x: Iterable[float], y: Iterable[float], *, marker: bool, line: bool
) -> Line2D:
    style, shape = look.linestyle if line else "none", look.marker if marker else "none"
    return Line2D([*x], [*y], color=look.color, marker=shape, linestyle=style, label=label)


_FIT = ["key", "solver", "trial"]


def traced_sizes(run: Run, measure: Measure) -> list[int]:
    """Return the sizes at which fits have values along training, ascending."""
    traced = _steps(run, measure)[_FIT].drop_duplicates()
    return sorted({*run.sized[run.sized["ending"] == "ok"].merge(traced)["size"].tolist()})


def _steps(run: Run, measure: Measure) -> pd.DataFrame:
    """Return the checkpoints with a finite ``value`` of a measure; others are stored as text."""
    known = run.traces.get(measure.name, np.nan) if measure.traced else np.nan
    steps = run.traces.assign(value=pd.to_numeric(known, errors="coerce"))
    return steps[steps["value"].abs() < LARGEST]


def along(run: Run, measure: Measure, size: int) -> dict[str, pd.DataFrame]:
    """Return each solver's means over trials at its checkpoints, by its name.

    Columns are ``iteration``, ``seconds`` and ``value``, and the standard deviations
    ``seconds_std`` and ``value_std``. A method without iterations has one row, of iteration 0.
    """
    fits = run.sized[(run.sized["ending"] == "ok") & (run.sized["size"] == size)]
    steps = fits[_FIT].merge(_steps(run, measure), on=_FIT)
    values = fits.get(run.column(measure), np.nan)
    ends = fits.assign(iteration=0, seconds=fits[run.column(TIME)], value=values)
    means = {}
    for key, name in run.names.items():
        for table in (steps, ends):
            rows = table[(table["solver"] == key) & (table["value"].abs() < LARGEST)]
            if len(rows) and name not in means:
                seconds = rows["seconds"].clip(lower=SHORTEST_TIME)
                rows = rows.assign(seconds=seconds, value=percents(measure, rows["value"]))
                trials = rows.groupby("iteration")[["seconds", "value"]]
                spread = trials.std().fillna(0.0).add_suffix("_std")
                means[name] = trials.mean().join(spread).reset_index()
    return means


def trace(
    axes: Axes,
    means: Mapping[str, pd.DataFrame],
    measure: Measure,
    looks: Mapping[str, Look],
    ringed: Container[str] = (),
    x: Literal["seconds", "iteration"] = "seconds",
) -> None:
    """Draw a measure along training, see `along`, with bars of a standard deviation.

    A method without iterations is a point. ``ringed`` solvers have a ring around their end.
    """
    values = [value for table in means.values() for value in table["value"]]
    log = is_log(measure, values)
    times: list[float] = []
    for name, table in means.items():
        moving, look = bool(table["iteration"].iloc[-1]), looks[name]
        some = [*range(len(table) - 1, -1, -max(1, len(table) // BARS_ALONG))]
        line = _line(look, name, table[x], table["value"], marker=True, line=moving)
        line.set_markevery(some)
        axes.add_line(line)
        barred = table.iloc[some]
        low, high = (barred["value"] + side * barred["value_std"] for side in (-1, 1))
        low = low.where(low > 0, barred["value"]) if log else low
        axes.vlines(barred[x], low, high, color=look.color, linewidth=0.8)
        times += [*table[x]]
        if not moving:
            left = (table["seconds"] - table["seconds_std"]).clip(lower=table["seconds"] / 10)
            right = table["seconds"] + table["seconds_std"]
            axes.hlines(table["value"], left, right, color=look.color, linewidth=0.8)
            times += [*left, *right]
        if name in ringed:
            axes.plot(table[x].iloc[-1:], table["value"].iloc[-1:], **RING)
        values += [*low, *high]
    axes.set_xscale("log")
    axes.set_xlim(*padded(min(times), max(times)))
    log_ticks(axes.xaxis, min(times), max(times))
    set_y_axis(axes, values, log=log)
    if x == "iteration" and log:  # the theorems' rate, below the lines
        most = max(times)
        low, high = axes.get_ylim()
        ends = np.array([max(1.0, most / RATE_OVER), most])
        axes.plot(ends, 2 * low * most / ends, **RATE)
