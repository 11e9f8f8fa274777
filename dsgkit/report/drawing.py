"""Drawing of panels: box plots, curves over sizes, and measures along training."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from statistics import median
from textwrap import fill
from typing import Any, Literal

import numpy as np
import pandas as pd

from dsgkit.experiment.runs import LEFT_OUT, NOT_RUN, TO_COME, Run
from dsgkit.report.frame import Entry
from dsgkit.report.numbers import LARGEST, SHORTEST_TIME, memory_text, percents, short_count
from dsgkit.report.style import DPI, INCHES, SMALL_FONT, Look, own_settings
from dsgkit.tasks.measures import TIME, Measure

# isort: split
# after the style, which imports matplotlib without the user's settings
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator
from matplotlib.transforms import ScaledTranslation

COLUMNS, COLUMNS_IN_COLUMN = 4, 2
NARROW = 4.5  # inches; narrower figures are laid out as those of a column
PANEL_HEIGHT, WIDE_HEIGHT = 1.7, 2.3
AROUND_ROWS, NAME_LINE, BETWEEN_NAMES = 0.45, 0.105, 0.065
"""Inches: above and below the rows of a box plot, a line of a name, and between two names."""

LETTERS_PER_INCH = 13  # of titles and labels
NAME_LETTERS = 20  # longest line of a name next to a box
NAMES_LEFT = 1.06  # in widths of a panel
LEGEND_ROW, LEGEND_ENTRY, LEGEND_LETTER = 0.17, 0.62, 0.066  # inches
SIDE_BY_SIDE = 0.14  # inches of all lines at a size
MIN_BOXED_TRIALS = 5
TICKS = 4  # intervals of ticks of a box plot, at most
MARKS = 6  # checkpoints of a line along training with a marker and a bar, the last among them
RATE_OVER = 100.0  # factor between the ends of the line of a rate

NO_FAILURES = {NOT_RUN, TO_COME, LEFT_OUT}
GREY = "0.35"
FLAGGED = "collapsed trial"
RATE: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "label": "proportional to 1/t"}
CROSS: dict[str, Any] = {"color": "black", "marker": "x", "markersize": 5.5, "zorder": 4}
RING: dict[str, Any] = {
    **{"label": FLAGGED, "linestyle": "none", "marker": "o", "markersize": 6.5, "zorder": 4},
    **{"markeredgecolor": "black", "markeredgewidth": 0.7, "markerfacecolor": "none"},
}


def wrapped(text: str, letters: int) -> str:
    """Return a text in lines of at most so many letters, unless a word or an equation is longer."""
    lines = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}").split("\n")
    return "\n".join(fill(line, letters, break_long_words=False) for line in lines)


def figure(
    panels: Sequence[tuple[str, Any]],
    draw: Callable[[Axes, Any], None],
    width: float | None = None,
    *,
    labels: tuple[str, str] = ("", ""),  # of the x and y axes
    height: float = 0.0,  # of a panel in inches
    shared: Literal["", "y", "xy"] = "",  # axes that are alike in all
    name_ends: bool = False,
) -> Figure:
    """Draw panels, each of its title and what ``draw`` draws of its content, with one legend.

    The width is by default a page; of a single panel it is a column, or a page with the names of
    lines at their ends, for which a narrow figure has no room.
    """
    is_narrow = width is not None and width < NARROW
    most = COLUMNS_IN_COLUMN if is_narrow else COLUMNS
    rows = -(-len(panels) // most)
    columns = -(-len(panels) // rows)
    inches = width or INCHES["page" if len(panels) > 1 else "column"]
    height = height or (PANEL_HEIGHT if columns > 2 else WIDE_HEIGHT)
    handles: dict[str, Any] = {}
    with own_settings():
        made = Figure(figsize=(inches, rows * height + 0.2), dpi=DPI, layout="constrained")
        grid = made.subplots(
            rows, columns, squeeze=False, sharex="x" in shared, sharey="y" in shared
        )
        axes = list(grid.flat)
        for panel, (title, content) in zip(axes, panels, strict=False):
            panel.set_title(wrapped(title, int(inches / columns * LETTERS_PER_INCH)))
            draw(panel, content)
            found, names = panel.get_legend_handles_labels()
            handles |= dict(zip(names, found, strict=True))
        for unused in axes[len(panels) :]:
            unused.remove()
        if any(labels):
            made.supxlabel(wrapped(labels[0], int(inches * LETTERS_PER_INCH)))
            made.supylabel(wrapped(labels[1], int(rows * height * LETTERS_PER_INCH)))
        name_ends = name_ends and not is_narrow
        ends = [one for one in axes[0].lines if name_ends and one.get_label() in handles]
        if ends:
            made.set_size_inches(width or INCHES["page"], max(height, LEGEND_ROW * len(ends)) + 0.2)
            _name_ends(made, axes[0], ends)
        last_of_all = (FLAGGED, RATE["label"])
        in_legend = {n: handles[n] for n in sorted(handles, key=last_of_all.__contains__)}
        in_legend = {n: one for n, one in in_legend.items() if one not in ends}
        if in_legend:
            longest = LEGEND_ENTRY + LEGEND_LETTER * max(map(len, in_legend))
            n_rows = -(-len(in_legend) // max(1, int(made.get_figwidth() / longest)))
            made.set_figheight(made.get_figheight() + LEGEND_ROW * n_rows)
            n_columns = -(-len(in_legend) // n_rows)
            made.legend(
                [*in_legend.values()], [*in_legend], loc="outside upper center", ncols=n_columns
            )
    return made


def _name_ends(made: Figure, axes: Axes, lines: Sequence[Line2D]) -> None:
    """Print names at the right, as near to the heights of their lines' ends as others allow."""
    texts = [
        axes.annotate(
            str(line.get_label()),
            tuple(np.array(line.get_xydata())[-1]),
            (NAMES_LEFT, 0.5),
            textcoords="axes fraction",
            color=line.get_color(),
            va="center",
            arrowprops={"arrowstyle": "-", "lw": 0.4, "ec": line.get_color(), "relpos": (0, 0.5)},
        )
        for line in lines
    ]
    made.draw_without_rendering()  # the layout must be final
    frame = axes.get_window_extent()
    heights = [(axes.transData.transform(text.xy)[1] - frame.y0) / frame.height for text in texts]
    apart = LEGEND_ROW * made.dpi / frame.height
    order = np.argsort(heights, kind="stable")
    for place, one in enumerate(order[1:], 1):
        heights[one] = max(heights[one], heights[order[place - 1]] + apart)
    top = 1.0
    for one in reversed(order):
        heights[one] = min(heights[one], top)
        top = heights[one] - apart
        texts[one].set_position((NAMES_LEFT, heights[one]))


def is_log(measure: Measure, values: Sequence[float]) -> bool:
    """Return whether an axis is logarithmic: for times, and for gaps over several decades."""
    gaps = measure.better == "lower" and not measure.percent and 0 < 30 * min(values) < max(values)
    return measure.unit == "seconds" or gaps


def log_ticks(axis: Axis) -> None:
    """Put ticks at decades; with few decades also at their multiples by 2 and 5."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 100 else (1,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def size_ticks(axes: Axes, sizes: Collection[int]) -> None:
    """Label the largest and the smallest size on a log axis, and those between as space allows."""
    low, high = axes.get_xlim()
    kept: list[int] = []
    for n in sorted(sizes, reverse=True):
        if not kept or kept[-1] / n > (high / low) ** 0.26:
            kept.append(n)
    if len(kept) > 1:
        kept[-1] = min(sizes)
    axes.set_xticks(kept, map(short_count, kept))
    axes.set_xticks([], minor=True)


Groups = Sequence[tuple[str, Mapping[str, Entry | None]]]  # heading, and entries by solver
Ringed = Mapping[tuple[str, int], Sequence[bool]]  # which trials have a ring, by solver and size


def boxes(
    axes: Axes, content: tuple[Groups, Ringed], measure: Measure, looks: Mapping[str, Look]
) -> None:
    """Draw a row for each solver below its group's heading, if any: a box, and a dot per trial."""
    (groups, ringed), y, names = content, 0, {}
    note: dict[str, Any] = {"va": "center", "color": GREY, "fontsize": SMALL_FONT}
    note["transform"] = axes.get_yaxis_transform()
    for heading, group in groups:
        if heading:
            axes.text(0.02, y, heading, style="italic", **note)
            y += 1
        for name, entry in group.items():
            names[y] = wrapped(name, NAME_LETTERS)
            if entry and entry.values:
                values = [percents(measure, value) for value in entry.values]
                _box(axes, y, values, looks[name])
                flags = zip(values, ringed.get((name, entry.size), ()), strict=False)
                if rings := [value for value, flag in flags if flag]:
                    axes.plot(rings, [y] * len(rings), **RING | {"markersize": 4.5})
                if entry.size and not heading and not entry.level:
                    axes.text(1.01, y, f"at {short_count(entry.size)}", **note)
            elif entry:
                axes.text(0.02, y, ending_text(entry), **note)
            y += 1
    axes.set_yticks([*names], [*names.values()])
    axes.set_ylim(y - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(TICKS))
    low, high = axes.get_xlim()
    # scores that hardly differ should look so
    room = max(0.0, percents(measure, measure.least_range) - (high - low)) / 2
    axes.set_xlim(low - room, high + room)


def _box(axes: Axes, y: float, values: Sequence[float], look: Look) -> None:
    if len(values) < MIN_BOXED_TRIALS:  # a bar at the median
        axes.plot([median(values)] * 2, [y - 0.3, y + 0.3], color=look.color, linewidth=2)
    else:
        line = {"color": look.color, "linewidth": 0.9}
        axes.boxplot(
            [values],
            positions=[y],
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            showfliers=False,
            manage_ticks=False,
            boxprops={"facecolor": (look.color, 0.35), "edgecolor": look.color},
            medianprops={"color": "black"},
            whiskerprops=line,
            capprops=line,
        )
    dot: dict[str, Any] = {"marker": "o", "markersize": 2.6, "markeredgewidth": 0.3, "zorder": 3}
    axes.plot(values, [y] * len(values), color="black", markeredgecolor="white", ls="none", **dot)


def rows_height(names: Iterable[str], n_groups: int = 1, headings: int = 0) -> float:
    """Return the height of a panel of a box plot in inches."""
    lines = [wrapped(name, NAME_LETTERS).count("\n") + 1 for name in names]
    rows = n_groups * sum(BETWEEN_NAMES + NAME_LINE * n for n in lines)
    return AROUND_ROWS + rows + headings * (BETWEEN_NAMES + NAME_LINE)


def ending_text(entry: Entry) -> str:
    """Return why an entry has no value, such as ``timeout`` or ``needs 26 GiB``."""
    if not math.isnan(entry.needed):
        return f"needs {memory_text(entry.needed, decimal_below=10)}"
    ends = (end for end, _ in entry.others.most_common() if end not in NO_FAILURES)
    return next(ends, entry.ending)


def failed(line: Sequence[Entry]) -> bool:
    """Return whether a size past the last one with values has a failure."""
    last = max((i for i, entry in enumerate(line) if entry.values), default=-1)
    return any({*entry.others} - NO_FAILURES for entry in line[last + 1 :])


def curve(
    axes: Axes, lines: Mapping[str, Sequence[Entry]], measure: Measure, looks: Mapping[str, Look]
) -> None:
    """Draw each solver's medians over trials by size, with bars from the lowest to the highest."""
    spans = {
        name: {entry.size: _heights(measure, entry) for entry in line if entry.values}
        for name, line in lines.items()
    }
    sizes = {size for span in spans.values() for size in span}
    log = is_log(measure, [y for span in spans.values() for ys in span.values() for y in ys])
    axes.set(xscale="log", yscale="log" if log else "linear")
    is_time = measure.unit == "seconds"
    for place, (name, span) in enumerate(spans.items()):
        if span:
            # scores are side by side to show their bars
            shift = 0.0 if is_time else SIDE_BY_SIDE * (place / max(1, len(lines) - 1) - 0.5)
            aside = ScaledTranslation(shift, 0, axes.figure.dpi_scale_trans)
            where: dict[str, Any] = {"transform": axes.transData + aside}
            x, y = [*span], [*map(median, span.values())]
            (drawn,) = axes.plot(x, y, label=name, **looks[name]._asdict(), **where)
            if len(x) > 1 and any(entry.level for entry in lines[name]):
                drawn.set_marker("none")
            low, high = [*map(min, span.values())], [*map(max, span.values())]
            axes.vlines(x, low, high, color=looks[name].color, linewidth=0.8, **where)
            axes.update_datalim([*zip(x, low, strict=True), *zip(x, high, strict=True)])
            if failed(lines[name]):
                axes.plot(x[-1:], y[-1:], **CROSS, **where)
    room = max(max(sizes) / min(sizes), 10.0) ** (0.04 if is_time else 0.12)
    axes.set_xlim(min(sizes) / room, max(sizes) * room)
    size_ticks(axes, sizes)
    if log:
        log_ticks(axes.yaxis)


def _heights(measure: Measure, entry: Entry) -> list[float]:
    """Return the values as drawn; of a single time, with the ends of its repeats."""
    if measure.unit == "seconds":
        ends = (entry.low, entry.high) if len(entry.values) == 1 else ()
        return [max(value, SHORTEST_TIME) for value in (*entry.values, *ends)]
    return [percents(measure, value) for value in entry.values]


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
    """Return each solver's means and ``std`` over trials at its checkpoints, by its name."""
    fits = run.sized[(run.sized["ending"] == "ok") & (run.sized["size"] == size)]
    steps = fits[_FIT].merge(_steps(run, measure), on=_FIT)
    values = fits.get(run.column(measure), np.nan)
    # of a method without iterations
    ends = fits.assign(iteration=0, seconds=fits[run.column(TIME)], value=values)
    means = {}
    for key, name in run.names.items():
        for table in (steps, ends):
            rows = table[(table["solver"] == key) & (table["value"].abs() < LARGEST)]
            if len(rows) and name not in means:
                seconds = rows["seconds"].clip(lower=SHORTEST_TIME)
                rows = rows.assign(seconds=seconds, value=percents(measure, rows["value"]))
                trials = rows.groupby("iteration")
                std = trials["value"].std().fillna(0.0)
                means[name] = trials[["seconds", "value"]].mean().assign(std=std).reset_index()
    return means


def trace(
    axes: Axes,
    content: tuple[Mapping[str, pd.DataFrame], Container[str]],
    measure: Measure,
    looks: Mapping[str, Look],
    x: Literal["seconds", "iteration"] = "seconds",
) -> None:
    """Draw a measure `along` training, with bars of a standard deviation, some solvers ringed."""
    means, ringed = content
    log = is_log(measure, [value for table in means.values() for value in table["value"]])
    axes.set(xscale="log", yscale="log" if log else "linear")
    for name, table in means.items():
        look, at, value = looks[name], table[x], table["value"]
        marked = sorted(range(len(at) - 1, -1, -len(at) // MARKS))
        axes.plot(at, value, label=name, markevery=marked, **look._asdict())
        low = value - table["std"]
        low = (low.where(low > 0, value) if log else low).iloc[marked]
        high = (value + table["std"]).iloc[marked]
        axes.vlines(at.iloc[marked], low, high, color=look.color, linewidth=0.8)
        if name in ringed:
            axes.plot(at.iloc[-1:], value.iloc[-1:], **RING)
    if x == "iteration" and log:  # the theorems' rate, below the lines
        most, low = max(table[x].max() for table in means.values()), axes.get_ylim()[0]
        ends = np.array([max(1.0, most / RATE_OVER), most])
        axes.plot(ends, 2 * low * most / ends, **RATE)
    log_ticks(axes.xaxis)
    if log:
        log_ticks(axes.yaxis)
