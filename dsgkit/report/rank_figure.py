"""Critical-difference diagrams: mean ranks on a line, with bars over those not told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from dsgkit.report.numbers import from_to, p_text
from dsgkit.report.ranks import LEVEL, Ranking
from dsgkit.report.style import DPI, INCHES, RC, SMALL_FONT, SolverStyle, Width, solver_styles

FONT, SMALL_TITLE_FONT, TITLE_FONT = SMALL_FONT, SMALL_FONT, 8
LETTER_WIDTH = 0.05
"""Approximate width of a letter of a name, in inches."""

LINE_HEIGHT = 0.14
"""Height of a line of names, in inches; the y unit below the axis."""

BAR_HEIGHT = 0.45
TOP_LINES = 2.3
MIN_AXIS_WIDTH = 1.0
MIN_TICK_STEP = 0.18
"""Least distance of numbers at the axis, in inches; below it every second rank has one."""


def caption(rankings: Sequence[Ranking], solvers: Iterable[str] = ()) -> str:
    """Return the figure's caption, with the solvers of a report that the diagrams leave out."""
    over = from_to(one.n_datasets for one in rankings)
    parts = [
        f"Mean ranks over {over} datasets, the best at the left. Methods under one bar differ by "
        f"less than the critical difference (CD) of Nemenyi's test at the level {LEVEL:g}: these "
        "datasets do not tell them apart. p is that of Friedman's test that all are alike."
    ]
    blind = [one for one in rankings if one.critical_difference >= len(one.ranks) - 1]
    if blind:
        where = "" if len(blind) == len(rankings) else f" ({'; '.join(o.title for o in blind)})"
        parts.append(
            f"So few datasets cannot tell any two apart{where}: the critical difference is at "
            "least the largest that mean ranks can have."
        )
    out = [name for name in solvers if any(name not in one.ranks for one in rankings)]
    if out:
        parts.append(f"Left out where a dataset lacks their value: {', '.join(out)}.")
    return " ".join(parts)


def rank_figure(
    rankings: Sequence[Ranking],
    columns: int = 1,
    kinds: Mapping[str, str] | None = None,
    wanted: Width | None = None,
) -> Figure:
    """Draw a diagram for each ranking, line by line.

    Parameters
    ----------
    rankings : sequence of Ranking
    columns : int
        Diagrams side by side, such as 2 for published and measured ranks.
    kinds : mapping of str to str, optional
        Kinds of all solvers of a report by their names, for the same look as in other figures.
    wanted : {"column", "page"} or None
        The width; by default a column if ``columns`` is 1, else a page.
    """
    names = dict.fromkeys((name for one in rankings for name in one.ranks), "")
    kinds = kinds or {}
    styles = solver_styles({**kinds, **{name: "" for name in names if name not in kinds}})
    lines = [rankings[first : first + columns] for first in range(0, len(rankings), columns)]
    # below the axis: bars, then two columns of names
    depths = [[_names_from(one) + (len(one.ranks) + 1) // 2 for one in line] for line in lines]
    heights = [LINE_HEIGHT * (TOP_LINES + max(line)) for line in depths]
    width = INCHES[wanted or ("column" if columns == 1 else "page")]
    with mpl.rc_context({**RC, "axes.grid": False}):
        layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, wspace=0.04, hspace=0.0)
        size = width, sum(heights) + 0.3 * len(heights)
        figure = Figure(figsize=size, dpi=DPI, layout=layout)
        FigureCanvasAgg(figure)
        ratios = {"height_ratios": heights}
        axes = figure.subplots(len(lines), columns, squeeze=False, gridspec_kw=ratios)
        for panels, line, height in zip(axes, lines, heights, strict=True):
            for unused in panels[len(line) :]:
                figure.delaxes(unused)
            for panel, one in zip(panels, line, strict=False):
                panel.set_ylim(TOP_LINES - height / LINE_HEIGHT, TOP_LINES)
                _draw(panel, one, styles, width / columns)
    return figure


def _names_from(one: Ranking) -> float:
    return 0.75 + BAR_HEIGHT * len(one.groups)


def _draw(axes: Axes, one: Ranking, styles: Mapping[str, SolverStyle], width: float) -> None:
    """Draw one diagram in axes with final y limits."""
    most = len(one.ranks)
    plural = "s" if one.n_datasets != 1 else ""
    axes.set_title(f"{one.title} ({one.n_datasets} dataset{plural})", fontsize=TITLE_FONT, pad=2)
    longest = max(map(len, one.ranks)) + len(" 1.00")
    name_width = min(LETTER_WIDTH * longest + 0.1, (width - MIN_AXIS_WIDTH) / 2)
    pad = (most - 1) * name_width / (width - 2 * name_width)
    axes.set_xlim(1 - pad, most + pad)
    axes.set_axis_off()
    every = 1 if (width - 2 * name_width) / (most - 1) > MIN_TICK_STEP else 2
    axes.plot([1, most], [0, 0], color="k", linewidth=0.8)
    for tick in range(1, most + 1):
        axes.plot([tick, tick], [0, 0.3], color="k", linewidth=0.8)
        if (tick - 1) % every == 0:
            axes.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize=SMALL_TITLE_FONT)
    _draw_scale(axes, one, pad)
    for number, group in enumerate(one.groups):
        y = -BAR_HEIGHT * (number + 1.1)
        ends = [one.ranks[group[0]] - 0.04, one.ranks[group[-1]] + 0.04]
        axes.plot(ends, [y, y], color="0.3", linewidth=2.2, solid_capstyle="butt")
    for place, (name, rank) in enumerate(one.ranks.items()):
        _draw_name(axes, one, place, f"{name} {rank:.2f}", pad)
        look: dict[str, Any] = {"color": styles[name].color, "marker": styles[name].marker}
        axes.plot([rank], [0], markersize=4, markeredgecolor="white", markeredgewidth=0.3, **look)


def _draw_scale(axes: Axes, one: Ranking, pad: float) -> None:
    """Draw the critical difference above the axis; only its value if it is longer."""
    y, start, difference = 1.75, 1.0 - pad, one.critical_difference
    text = f"CD = {difference:.2f}"
    if difference < len(one.ranks) - 1 + pad:
        axes.plot([start, start + difference], [y, y], color="k", linewidth=0.8)
        for x in (start, start + difference):
            axes.plot([x, x], [y - 0.2, y + 0.2], color="k", linewidth=0.8)
        start += difference + 0.03 * (len(one.ranks) - 1 + 2 * pad)
    axes.text(start, y, text, ha="left", va="center", fontsize=SMALL_TITLE_FONT)
    if one.p is not None:
        axes.text(
            len(one.ranks) + pad,
            y,
            f"Friedman p: {p_text(one.p)}",
            ha="right",
            va="center",
            fontsize=SMALL_TITLE_FONT,
        )


def _draw_name(axes: Axes, one: Ranking, place: int, text: str, pad: float) -> None:
    """Write a name with a line to its rank; the better half is at the left."""
    half = (len(one.ranks) + 1) // 2
    left = place < half
    line = place if left else len(one.ranks) - 1 - place
    rank, y = list(one.ranks.values())[place], -_names_from(one) - line
    gap = 0.06 * (len(one.ranks) - 1)
    end = 1 - gap if left else len(one.ranks) + gap
    axes.plot([rank, rank, end], [0, y, y], color="0.45", linewidth=0.5, zorder=1)
    away = gap / 4 * (-1 if left else 1)
    axes.text(end + away, y, text, ha="right" if left else "left", va="center", fontsize=FONT)
