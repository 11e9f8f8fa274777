"""The figure of a comparison: differences of scores with their intervals, ratios of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dsgkit.report import panels
from dsgkit.report.boxplots import Y_LABELS
from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.compare.contrasts import LEVEL
from dsgkit.report.compare.effects import Effect, Quantity
from dsgkit.report.curves import set_log_ticks
from dsgkit.report.numbers import short_count
from dsgkit.report.style import RC, SolverStyle, solver_styles

TITLES = {**Y_LABELS, "fit_seconds": "Training time"}
SPREAD = 0.8
"""Share of the room between two sizes that the solvers take."""

SIGNIFICANT = f"p < {LEVEL:g} (Holm)"


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw B against A: one panel for each score, one for the training time.

    Differences of scores have their 95% intervals. Ratios of median times have a dot for every pair
    of trials. A marker is filled where the t-test rejects that there is no difference.
    """
    styles = solver_styles(list(comparison.labels))
    drawn = {effect.solver for _, effects in comparison.effects for effect in effects}
    solvers = [solver for solver in comparison.labels if solver in drawn]
    handles = [
        *(_handle(styles[solver], comparison.labels[solver]) for solver in solvers),
        Line2D([], [], color="0.35", marker="o", linestyle="none", label=SIGNIFICANT),
    ]
    with mpl.rc_context(RC):
        titles = [TITLES[quantity.measure.column] for quantity, _ in comparison.effects]
        columns = panels.legend_columns(
            [str(handle.get_label()) for handle in handles], panels.figure_width(len(titles))
        )
        figure, axes = panels.new_figure(titles, -(-len(handles) // columns))
        for panel, (quantity, effects) in zip(axes, comparison.effects, strict=True):
            _draw_panel(panel, quantity, effects, solvers, styles, comparison.paired)
        panels.add_legend(figure, handles, columns)
    return figure


def _handle(style: SolverStyle, label: str) -> Line2D:
    """Return a solver's entry in the legend."""
    return Line2D([], [], marker=style.marker, linestyle="none", label=label, **_open(style))


def _open(style: SolverStyle) -> dict[str, Any]:
    """Return the colours of a marker that is not filled."""
    return {"color": style.color, "markerfacecolor": "white"}


def _draw_panel(
    axes: Axes,
    quantity: Quantity,
    effects: Sequence[Effect],
    solvers: Sequence[str],
    styles: dict[str, SolverStyle],
    paired: bool,
) -> None:
    """Draw the effects of one quantity, the solvers side by side at each size."""
    sizes = sorted({effect.size.n for effect in effects})
    axes.axhline(1.0 if quantity.is_ratio else 0.0, color="0.35", linewidth=0.8, zorder=1)
    for effect in effects:
        x = sizes.index(effect.size.n) + _offset(solvers, effect.solver)
        if quantity.is_ratio:
            _draw_ratio(axes, x, effect, styles[effect.solver], paired)
        else:
            _draw_difference(axes, x, effect, styles[effect.solver])
    axes.set_xticks(range(len(sizes)), [short_count(n) for n in sizes])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("Unlabelled rows")
    axes.set_ylabel("B / A" if quantity.is_ratio else "B − A")
    if quantity.is_ratio:
        _set_ratio_axis(axes)


def _offset(solvers: Sequence[str], solver: str) -> float:
    """Return a solver's place beside the middle of a size."""
    return SPREAD * ((solvers.index(solver) + 0.5) / len(solvers) - 0.5)


def _draw_difference(axes: Axes, x: float, effect: Effect, style: SolverStyle) -> None:
    """Draw a difference of means with its interval, where there is one."""
    interval = effect.contrast.interval
    if interval is not None:
        axes.plot([x, x], interval, color=style.color, linewidth=0.9, zorder=2)
    _draw_marker(axes, x, effect.contrast.difference, effect, style)


def _draw_ratio(axes: Axes, x: float, effect: Effect, style: SolverStyle, paired: bool) -> None:
    """Draw a ratio of medians, and the ratio of every pair of trials."""
    if paired:
        axes.plot(
            [x] * len(effect.ratios),
            effect.ratios,
            linestyle="none",
            marker=".",
            markersize=3.5,
            markeredgewidth=0,
            color=style.color,
            alpha=0.6,
            zorder=2,
        )
    _draw_marker(axes, x, effect.ratio, effect, style)


def _draw_marker(axes: Axes, x: float, y: float, effect: Effect, style: SolverStyle) -> None:
    colors: dict[str, Any] = {"color": style.color} if effect.significant else _open(style)
    axes.plot(
        [x], [y], marker=style.marker, markersize=3.4, zorder=3, label=effect.solver, **colors
    )


def _set_ratio_axis(axes: Axes) -> None:
    """Set a log scale, which has halves and doubles as far from 1, from a half to 2 at least."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    low, high = min(low, 0.5), max(high, 2.0)
    axes.set_ylim(low, high)
    set_log_ticks(axes.yaxis, high / low, "{:g}".format)
