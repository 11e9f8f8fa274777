"""Training time against the number of unlabelled rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from dsgkit.experiment.results import Results
from dsgkit.report import panels
from dsgkit.report.numbers import memory_text, short_count
from dsgkit.report.placement import Label, place
from dsgkit.report.style import RC, SolverStyle, solver_styles
from dsgkit.report.summary import Entry, curve_end, entries_of, summarise
from dsgkit.report.titles import all_labels, titles

COLUMN = "fit_seconds"
END_WORDS = {"out of memory": "memory"}
END_FONT = 6.5
FEW_DECADES = 1.5
MARGIN = 0.09
NOTE_ROOM = 0.09


def time_curve(results: Sequence[Results]) -> Figure:
    """Draw the training time of each solver, one panel per dataset, on log axes.

    Lines join medians over trials; the band goes from the fastest to the slowest trial. A line
    that ends before the last size ends in a cross with the reason.
    """
    labels = all_labels(results)
    styles = solver_styles(labels)
    with mpl.rc_context(RC):
        columns = panels.legend_columns(list(labels.values()), panels.figure_width(len(results)))
        figure, axes = panels.new_figure(titles(results), -(-len(labels) // columns))
        ends = [_draw_panel(panel, one, styles) for panel, one in zip(axes, results, strict=True)]
        panels.label_axes(axes, "Unlabelled rows", "Training time (s)")
        handles = [_handle(styles[solver], label) for solver, label in labels.items()]
        panels.add_legend(figure, handles, columns)
        # Texts keep clear of what is drawn, so that must have its final place.
        figure.draw_without_rendering()
        for panel, labelled in zip(axes, ends, strict=True):
            place(panel, labelled, END_FONT)
    return figure


def _draw_panel(axes: Axes, results: Results, styles: dict[str, SolverStyle]) -> list[Label]:
    """Draw one dataset and return the texts that its unfinished lines end in."""
    summary = summarise(results, COLUMN)
    ends, absent, drawn = [], [], []
    for solver in results.solvers:
        entries = entries_of(summary, solver)
        finished = [entry for entry in entries if entry.values]
        failed = curve_end(entries)
        if finished:
            _draw_line(axes, finished, styles[solver], results.label(solver))
            drawn += finished
        if finished and failed:
            ends.append(_draw_end(axes, finished[-1], failed, styles[solver]))
        elif failed:
            absent.append(f"{results.label(solver)}: {_reason(failed, ' ')}")
    _set_axes(axes, drawn, headroom=NOTE_ROOM * len(absent))
    axes.text(
        0.03,
        0.98,
        "\n".join(absent),
        transform=axes.transAxes,
        va="top",
        fontsize=END_FONT,
        linespacing=1.0,
    )
    return ends


def _draw_line(axes: Axes, entries: Sequence[Entry], style: SolverStyle, label: str) -> None:
    """Draw the medians and the range of one solver."""
    x = [entry.size.n for entry in entries]
    low, high = ([pick(entry.values) for entry in entries] for pick in (min, max))
    axes.fill_between(x, low, high, color=style.color, alpha=0.2, linewidth=0)
    axes.plot(
        x,
        [median(entry.values) for entry in entries],
        color=style.color,
        marker=style.marker,
        linestyle=style.linestyle,
        label=label,
    )


def _draw_end(axes: Axes, last: Entry, failed: Entry, style: SolverStyle) -> Label:
    """Cross out the last point of a line that could not go on, and return the reason's label."""
    x, y = last.size.n, median(last.values)
    axes.plot([x], [y], marker="x", color="black", markersize=5.5, markeredgewidth=1.1, zorder=4)
    return Label(x, y, _reason(failed, "\n"), style.color)


def _reason(failed: Entry, gap: str) -> str:
    """Return in a few words why a fit did not finish."""
    if failed.needed is not None:
        return f"needs{gap}{memory_text(failed.needed, decimal_below=10)}"
    return END_WORDS.get(failed.status, failed.status)


def _handle(style: SolverStyle, label: str) -> Line2D:
    """Return a solver's entry in the legend."""
    return Line2D(
        [], [], color=style.color, marker=style.marker, linestyle=style.linestyle, label=label
    )


def _set_axes(axes: Axes, drawn: Sequence[Entry], headroom: float) -> None:
    """Set log scales, limits (with some more room above) and ticks."""
    if not drawn:
        axes.set_axis_off()
        return
    sizes = [entry.size.n for entry in drawn]
    times = [value for entry in drawn for value in entry.values]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*_padded(min(sizes), max(sizes)))
    axes.set_ylim(*_padded(min(times), max(times), headroom))
    set_log_ticks(axes.xaxis, max(sizes) / min(sizes), short_count)
    set_log_ticks(axes.yaxis, max(times) / min(times), _seconds)


def _padded(low: float, high: float, headroom: float = 0.0) -> tuple[float, float]:
    """Return limits with room for the texts at the ends of lines."""
    ratio = max(high / low, 10.0)
    return low / ratio**MARGIN, high * ratio ** (MARGIN + headroom)


def set_log_ticks(axis: Axis, ratio: float, text: Callable[[float], str]) -> None:
    """Mark decades, and the steps 2 and 5 too where there are few decades."""
    few = math.log10(ratio) < FEW_DECADES
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())
    if few:
        axis.set_minor_locator(NullLocator())


def _seconds(value: float) -> str:
    """Return a tick of the time axis."""
    if 1e-3 <= value < 1e5:
        return f"{value:g}"
    return f"$10^{{{math.log10(value):.0f}}}$"
