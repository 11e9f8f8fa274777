"""Axes of figures: scales, ticks, and names at the ends of lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

import numpy as np
from scipy.optimize import isotonic_regression

from dsgkit.linalg import Array
from dsgkit.report.numbers import short_count
from dsgkit.report.style import SMALL_FONT, Look, own_settings
from dsgkit.tasks.measures import Measure

# isort: split
# after the style, which imports matplotlib without the user's settings
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

NAME_LETTERS = 20  # longest line of a name next to a box, or at the end of a line
NAMES_LEFT, NAME_GAP = 1.04, 1.5  # in axes units, and in pixels
MARGIN = 0.05
TICK_ROOM = 0.3  # inches between labels of sizes
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def wrapped(text: str, letters: int) -> str:
    """Return a text in lines of at most so many letters, unless a word is longer."""
    lines = text.split("\n")
    return "\n".join(fill(line, letters, break_long_words=False) for line in lines)


def is_log(measure: Measure, values: Sequence[float]) -> bool:
    """Return whether an axis is logarithmic: for times, and for gaps over several decades."""
    gaps = measure.better == "lower" and not measure.percent and 0 < 30 * min(values) < max(values)
    return measure.unit == "seconds" or gaps


def set_y_axis(axes: Axes, values: Sequence[float], *, log: bool) -> None:
    """Set scale, limits and ticks."""
    low, high = min(values), max(values)
    if log:
        axes.set_yscale("log")
        axes.set_ylim(*padded(low, high))
        log_ticks(axes.yaxis, low, high)
    else:
        room = MARGIN * (high - low or abs(high) or 1.0)
        axes.set_ylim(low - room, high + room)
        set_few_ticks(axes.yaxis)


def set_few_ticks(axis: Axis, most: int = 6) -> None:
    axis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]))


def padded(low: float, high: float, margin: float = MARGIN) -> tuple[float, float]:
    """Return the limits of a log axis."""
    room = max(high / low, 10.0) ** margin
    return low / room, high * room


def log_ticks(axis: Axis, low: float, high: float) -> None:
    """Put ticks at decades; with few decades also at their multiples by 2 and 5."""
    few = high / low < 30
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _log_tick(value)))
    axis.set_minor_formatter(NullFormatter())
    if few:
        axis.set_minor_locator(NullLocator())


def _log_tick(value: float) -> str:
    if 1e-3 <= value <= 1e3:
        return f"{value:g}"
    return f"10{f'{math.log10(value):.0f}'.translate(SUPERSCRIPT)}"


def size_ticks(axes: Axes, sizes: Iterable[int]) -> None:
    """Label the largest size on a log axis, and smaller ones as space allows."""
    low, high = map(math.log, axes.get_xlim())
    width = axes.get_window_extent().width / axes.figure.dpi
    kept: list[int] = []
    for n in sorted(sizes, reverse=True):
        if not kept or math.log(kept[-1] / n) / (high - low) * width > TICK_ROOM:
            kept.append(n)
    axes.set_xticks(kept, map(short_count, kept))
    axes.xaxis.set_minor_locator(NullLocator())


def name_ends(made: Figure, looks: Mapping[str, Look], remarks: Mapping[str, str]) -> None:
    """Print the names of lines, with remarks, at the right of a single panel.

    A name is as near to the height of its line's end as the others allow, with a thin line to it.
    """
    (axes,) = made.axes
    lines = [line for line in axes.lines if line.get_label() in looks]
    ends = {str(line.get_label()): np.column_stack(line.get_data())[-1] for line in lines}
    leader = {"arrowstyle": "-", "linewidth": 0.4, "shrinkA": 1.0, "shrinkB": 3.0}
    with own_settings():
        texts = [
            axes.annotate(
                wrapped(f"{name}\n{remarks.get(name, '')}".strip(), NAME_LETTERS),
                end,
                xytext=(NAMES_LEFT, 0.5),
                textcoords="axes fraction",
                fontsize=SMALL_FONT,
                color=looks[name].text_color,
                va="center",
                linespacing=0.95,
                arrowprops={**leader, "color": looks[name].color, "relpos": (0.0, 0.5)},
            )
            for name, end in ends.items()
        ]
        made.draw_without_rendering()  # the layout must be final
        frame = axes.get_window_extent()
        wanted = [axes.transData.transform(text.xy)[1] for text in texts]
        heights = [Text.get_window_extent(text).height + NAME_GAP for text in texts]
    placed = spread_out(np.array(wanted), np.array(heights), frame.y0, frame.y1)
    for text, y in zip(texts, placed, strict=True):
        text.set_position((NAMES_LEFT, (y - frame.y0) / frame.height))


def spread_out(wanted: Array, heights: Array, low: float, high: float) -> Array:
    """Return centres of non-overlapping intervals that are nearest to the wanted ones.

    The order is kept and the sum of squared shifts minimised; then all intervals are shifted
    together into [low, high].
    """
    order = np.argsort(wanted, kind="stable")
    tall = heights[order]
    offsets = np.concatenate([[0.0], np.cumsum((tall[1:] + tall[:-1]) / 2)])
    bases = isotonic_regression(wanted[order] - offsets).x
    placed = np.empty_like(wanted)
    lowest, highest = low + tall[0] / 2, high - tall[-1] / 2 - offsets[-1]
    placed[order] = np.clip(bases, lowest, highest) + offsets
    return placed
