"""The figure of a comparison: differences of scores with their intervals, ratios of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dsgkit.report import panels
from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.contrasts import LEVEL
from dsgkit.report.curves import set_log_ticks
from dsgkit.report.effects import Effect, is_ratio
from dsgkit.report.numbers import percents, short_count
from dsgkit.report.style import RC, SolverStyle, solver_styles
from dsgkit.tasks.measures import Measure

SPREAD_SHARE = 0.8
"""Share of the gap between two sizes over which the solvers' markers spread."""

DOTS: dict[str, Any] = {"linestyle": "none", "marker": ".", "markersize": 3.5}
DOTS |= {"markeredgewidth": 0, "alpha": 0.6, "zorder": 2}

SIGNIFICANT = f"p < {LEVEL:g} (Holm)"


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw B against A: one panel for each score, one for the training time.

    Differences of scores have 95% intervals. Ratios of median times have a dot per pair of trials.
    A filled marker is a significant difference.
    """
    styles = solver_styles(comparison.solvers)
    drawn = {effect.solver for _, effects in comparison.effects for effect in effects}
    looks = {solver: styles[solver] for solver in comparison.solvers if solver in drawn}
    handles = [
        *(
            Line2D([], [], marker=look.marker, linestyle="none", label=solver, **_open(look))
            for solver, look in looks.items()
        ),
        Line2D([], [], color="0.35", marker="o", linestyle="none", label=SIGNIFICANT),
    ]
    with mpl.rc_context(RC):
        # ratios have no unit
        titles = [
            measure.title if is_ratio(measure) else panels.measure_label(measure)
            for measure, _ in comparison.effects
        ]
        figure, axes = panels.new_figure(titles, handles)
        for panel, (measure, effects) in zip(axes, comparison.effects, strict=True):
            _draw_panel(panel, measure, effects, looks, comparison)
    return figure


def _open(style: SolverStyle) -> dict[str, Any]:
    """Return the colours of an open marker."""
    return {"color": style.color, "markerfacecolor": "white"}


def _draw_panel(
    axes: Axes,
    measure: Measure,
    effects: Sequence[Effect],
    styles: dict[str, SolverStyle],
    comparison: Comparison,
) -> None:
    """Draw the effects of one measure, the solvers side by side at each size."""
    sizes = sorted({effect.size.n for effect in effects})
    solvers = list(styles)
    axes.axhline(1.0 if is_ratio(measure) else 0.0, color="0.35", linewidth=0.8, zorder=1)
    for effect in effects:
        # The solvers spread around the position of a size.
        offset = SPREAD_SHARE * ((solvers.index(effect.solver) + 0.5) / len(solvers) - 0.5)
        x = sizes.index(effect.size.n) + offset
        if is_ratio(measure):
            _draw_ratio(axes, x, effect, styles[effect.solver], comparison.paired)
        else:
            _draw_difference(axes, x, measure, effect, styles[effect.solver])
    axis = comparison.axis
    axes.set_xticks(range(len(sizes)) if axis else [], map(short_count, sizes) if axis else [])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(axis.title if axis else "")
    axes.set_ylabel("B / A" if is_ratio(measure) else "B − A")
    if is_ratio(measure):
        _set_ratio_axis(axes)


def _draw_difference(
    axes: Axes, x: float, measure: Measure, effect: Effect, style: SolverStyle
) -> None:
    """Draw a difference of means with its interval, if any."""
    interval = effect.contrast.interval
    if interval is not None:
        limits = [percents(measure, limit) for limit in interval]
        axes.plot([x, x], limits, color=style.color, linewidth=0.9, zorder=2)
    _draw_marker(axes, x, percents(measure, effect.contrast.difference), effect, style)


def _draw_ratio(axes: Axes, x: float, effect: Effect, style: SolverStyle, paired: bool) -> None:
    """Draw a ratio of medians, and the ratio of each pair of trials."""
    if paired:
        axes.plot([x] * len(effect.ratios), effect.ratios, color=style.color, **DOTS)
    _draw_marker(axes, x, effect.ratio, effect, style)


def _draw_marker(axes: Axes, x: float, y: float, effect: Effect, style: SolverStyle) -> None:
    colors: dict[str, Any] = {"color": style.color} if effect.significant else _open(style)
    axes.plot(
        [x], [y], marker=style.marker, markersize=3.4, zorder=3, label=effect.solver, **colors
    )


def _set_ratio_axis(axes: Axes) -> None:
    """Set a log scale that covers at least 1/2 to 2."""
    low, high = axes.dataLim.intervaly
    low, high = min(0.9 * low, 0.5), max(1.1 * high, 2.0)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    set_log_ticks(axes.yaxis, high / low, "{:g}".format)
