"""Box plots of scores over trials: a dot per trial; with few trials, a bar at the median."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from statistics import median
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dsgkit.report import panels
from dsgkit.report.numbers import in_sentence, memory_text, percents, short_count
from dsgkit.report.style import RC, SMALL_FONT, SolverStyle, Width, styles_of
from dsgkit.report.summary import Entry, Size, Summary, all_axes, all_solvers, lowered
from dsgkit.tasks.measures import Measure

BOX_WIDTH = 0.6
MIN_SLOTS = 3
STATUS_FONT = SMALL_FONT
MIN_BOXED_TRIALS = 5
"""With fewer trials a bar at the median replaces the box."""

MAX_NAME_LETTERS = 60
"""Longest name that is printed at its box; with a longer one, names are in a legend."""

LINE_LETTERS = 20
"""Longest line of a name next to its box."""

TEXT_LINE, BETWEEN_NAMES = 0.115, 0.07
"""Heights in inches: a line of a name, and the gap between two names."""

MAX_TICKS = 4
"""Ticks on the axis of values when names stand at its left."""

STATUS_WIDTH = 0.25
LETTER_WIDTH = 0.062
Y_AXIS_WIDTH = 0.5
BETWEEN_GROUPS = 0.6
DOT: dict[str, Any] = {"marker": "o", "markersize": 2.2, "markeredgewidth": 0.3, "zorder": 3}
HOLLOW_MARKER: dict[str, Any] = {
    "markersize": 3.2,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 0.7,
    "zorder": 4,
}


@dataclass(frozen=True)
class Flag:
    """A mark for trials with a measure above 0, such as that all rows are in one class."""

    measure: Measure
    label: str

    @property
    def handle(self) -> Line2D:
        """The entry of the legend."""
        look: dict[str, Any] = {**DOT, **HOLLOW_MARKER, "markersize": 4}
        return Line2D([], [], label=self.label, linestyle="none", **look)


def boxplot(shown: Sequence[Summary], measure: Measure, width: Width | None = None) -> Figure:
    """Draw a score of each solver at its largest finished size, one panel per dataset.

    Every trial is a dot. On a swept axis, each box's size is printed below it, or once if all boxes
    have the same. In a single panel names are printed below the boxes, or at the left of horizontal
    boxes if they are too long; in several panels, in a legend.
    """
    solvers = all_solvers(shown)
    styles = styles_of(shown)
    named = len(shown) == 1 and max(map(len, solvers)) <= MAX_NAME_LETTERS
    axis, label = all_axes(shown), panels.measure_label(measure)
    with mpl.rc_context(RC):
        entries = [list(one.largest(measure).values()) for one in shown]
        handles = [] if named else _handles(styles, entries)
        names = _names_below(entries[0], swept=bool(axis)) if named else []
        horizontal = named and _are_wide(names)
        names = list(map(_folded, names)) if horizontal else names
        lines = sum(TEXT_LINE * (name.count("\n") + 1) + BETWEEN_NAMES for name in names)
        figure, axes = panels.new_figure(
            [one.heading for one in shown],
            handles,
            arrangement=panels.arranged(width),
            extra_height=max(0.0, lines - panels.SINGLE_HEIGHT + 0.7) if horizontal else 0.0,
            note=_note(entries),
        )
        for panel, one, group in zip(axes, shown, entries, strict=True):
            _draw_panel(panel, [group], measure, styles, horizontal=horizontal)
            if named:
                ticks = panel.set_yticks if horizontal else panel.set_xticks
                ticks(range(len(names)), names, linespacing=1.0)
            else:
                _label_sizes(panel, group, swept=one.axis is not None)
        sizes = _size_words(entries[0], axis) if named else axis
        if horizontal:
            panels.label_axes(axes, f"{label} at {sizes}" if sizes else label, "")
        else:
            panels.label_axes(axes, sizes, label)
    return figure


def _note(groups: Iterable[Sequence[Entry]]) -> str:
    """Return the legend's note on dots, bars and boxes."""
    counts = {len(entry.values) for group in groups for entry in group if entry.values}
    parts = ["Dots: trials"]
    if any(n < MIN_BOXED_TRIALS for n in counts):
        parts.append("bars: medians")
    if any(n >= MIN_BOXED_TRIALS for n in counts):
        parts.append("boxes: quartiles and medians")
    return f"{'; '.join(parts)}."


def boxplot_at(
    shown: Sequence[Summary],
    sizes: Sequence[Sequence[Size]],
    measure: Measure,
    flag: Flag | None = None,
    arrangement: panels.Arrangement = panels.REPORT_ARRANGEMENT,
) -> Figure:
    """Draw a score of all solvers at the same sizes, side by side, one panel per dataset.

    Parameters
    ----------
    shown : sequence of Summary
    sizes : sequence of sequences of Size
        The sizes of each dataset; each size has a group of boxes.
    measure : Measure
    flag : Flag, optional
        Flagged trials have hollow dots.
    arrangement : Arrangement, optional
    """
    styles = styles_of(shown)
    with mpl.rc_context(RC):
        groups = [
            [[one.entries(measure)[solver, size] for solver in one.solvers] for size in panel_sizes]
            for one, panel_sizes in zip(shown, sizes, strict=True)
        ]
        flags = [flagged(one, flag) for one in shown]
        handles = _handles(styles, [group for panel_sizes in groups for group in panel_sizes])
        if flag and any(any(map(any, one.values())) for one in flags):
            handles.append(flag.handle)
        titles = [one.heading for one in shown]
        note = _note(group for panel_sizes in groups for group in panel_sizes)
        figure, axes = panels.new_figure(titles, handles, arrangement=arrangement, note=note)
        for panel, panel_groups, marked, panel_sizes in zip(
            axes, groups, flags, sizes, strict=True
        ):
            _draw_panel(panel, panel_groups, measure, styles, marked)
            ticks = [
                _first(panel_groups, number) + (len(panel_groups[0]) - 1) / 2
                for number in range(len(panel_groups))
            ]
            counts = [(short_count(size.n), size.full) for size in panel_sizes if size.n]
            texts = [f"all ({n})" if full else n for n, full in counts]
            panel.set_xticks(ticks if texts else [], texts)
        panels.label_axes(axes, all_axes(shown), panels.measure_label(measure))
    return figure


def flagged(summary: Summary, flag: Flag | None) -> dict[tuple[str, Size], tuple[bool, ...]]:
    """Return whether each finished trial of each entry is flagged; empty without the measure."""
    if flag is None or flag.measure not in summary.results.task.measures:
        return {}
    entries = summary.entries(flag.measure)
    return {at: tuple(value > 0 for value in entry.values) for at, entry in entries.items()}


def _handles(styles: Mapping[str, SolverStyle], groups: Iterable[Sequence[Entry]]) -> list[Artist]:
    """Return legend entries: a box, or a marker for solvers that have dots only."""
    trials: dict[str, int] = {}
    for entry in (entry for group in groups for entry in group):
        trials[entry.solver] = max(trials.get(entry.solver, 0), len(entry.values))
    return [
        Patch(**_face(styles[name]), label=name)
        if most >= MIN_BOXED_TRIALS
        else Line2D([], [], label=name, **_marker(styles[name]))
        for name, most in trials.items()
    ]


def _first(groups: Sequence[Sequence[Entry]], number: int) -> float:
    """Return the position of the first box of a group."""
    return number * (len(groups[0]) + BETWEEN_GROUPS)


def caption(shown: Sequence[Summary], measure: Measure) -> str:
    """Return the figure's caption."""
    axes = lowered(all_axes(shown))
    at = f", at each solver's largest finished number of {axes}" if axes else ""
    largest = [list(one.largest(measure).values()) for one in shown]
    arrows = any(far_off(measure, entries) for entries in largest)
    beyond = " An arrow, with their median, stands for trials far off the axis." if arrows else ""
    level = dict.fromkeys(e.solver for entries in largest for e in entries if e.level and e.values)
    once = f" One fit per trial, which does not use {axes}: {', '.join(map(in_sentence, level))}."
    counts = {len(e.values) for entries in largest for e in entries if e.values}
    bars = (
        " A bar marks their median."
        if min(counts, default=MIN_BOXED_TRIALS) < MIN_BOXED_TRIALS
        else ""
    )
    if max(counts, default=0) >= MIN_BOXED_TRIALS:
        bars = f" A box has the quartiles and the median of {MIN_BOXED_TRIALS} trials or more"
        bars += "; a bar marks the median of fewer." if min(counts) < MIN_BOXED_TRIALS else "."
    return f"{measure.caption}{at}; a dot is a trial.{bars}{beyond}{once if level else ''}"


def _draw_panel(
    axes: Axes,
    groups: Sequence[Sequence[Entry]],
    measure: Measure,
    styles: Mapping[str, SolverStyle],
    flags: Mapping[tuple[str, Size], tuple[bool, ...]] | None = None,
    *,
    horizontal: bool = False,
) -> None:
    """Draw the boxes of one dataset by groups."""
    entries = [entry for group in groups for entry in group]
    side = 0.6 + max(0, MIN_SLOTS - len(entries)) / 2
    last = _first(groups, len(groups) - 1) + len(groups[0]) - 1
    width = axes.get_window_extent().width / axes.figure.dpi
    slot = width / (2 * side + last)
    for number, group in enumerate(groups):
        beyond = far_off(measure, group)
        for index, entry in enumerate(group):
            place = _first(groups, number) + index
            if entry.solver in beyond:
                _draw_far_off(axes, place, measure, entry, horizontal=horizontal)
            elif entry.values:
                heights = [percents(measure, value) for value in entry.values]
                marked = (flags or {}).get((entry.solver, entry.size), ())
                _draw_box(axes, place, heights, styles[entry.solver], marked, horizontal=horizontal)
            elif horizontal:
                _draw_horizontal_status(axes, place, entry)
            else:
                _draw_status(axes, place, entry, narrow=slot < STATUS_WIDTH)
        if number:
            line = _first(groups, number) - (BETWEEN_GROUPS + 1) / 2
            axes.axvline(line, color="0.7", linewidth=0.6, linestyle=":")
    if horizontal:
        axes.set_ylim(last + side, -side)
    else:
        axes.set_xlim(-side, last + side)
    axes.grid(visible=False, axis="y" if horizontal else "x")
    axes.tick_params(axis="y" if horizontal else "x", length=0)
    has_values = any(entry.values for entry in entries)
    _set_value_axis(axes, measure if has_values else None, horizontal=horizontal)


def _set_value_axis(axes: Axes, measure: Measure | None, *, horizontal: bool) -> None:
    """Widen the value axis to the measure's least range; no ticks without a measure."""
    axis = axes.xaxis if horizontal else axes.yaxis
    if measure is None:
        axis.set_ticks([])
        return
    low, high = axis.get_view_interval()
    least = percents(measure, measure.least_range)
    if high - low < least:
        middle = (low + high) / 2
        (axes.set_xlim if horizontal else axes.set_ylim)(middle - least / 2, middle + least / 2)
    panels.set_few_ticks(axis, *([MAX_TICKS] if horizontal else []))


def _common_size(entries: Sequence[Entry], *, swept: bool) -> Size | None:
    """Return the most frequent size of the boxes."""
    sizes = Counter(entry.size for entry in entries if _is_sized(entry, swept))
    return sizes.most_common(1)[0][0] if sizes else None


def _names_below(entries: Sequence[Entry], *, swept: bool) -> list[str]:
    """Return labels of boxes: name, size if not the common one, trials if not all."""
    common = _common_size(entries, swept=swept)
    return [
        "\n".join(
            filter(
                None,
                [
                    entry.solver,
                    f"$n$ = {entry.size.n:,}"
                    if _is_sized(entry, swept) and entry.size != common
                    else "",
                    f"{entry.partial} trials" if entry.partial else "",
                ],
            )
        )
        for entry in entries
    ]


def _size_words(entries: Sequence[Entry], axis: str) -> str:
    """Return the label of the axis below named boxes: their common size."""
    common = _common_size(entries, swept=bool(axis))
    if common is None:
        return axis
    others = any(_is_sized(e, swept=True) and e.size != common for e in entries)
    return f"{common.n:,} {lowered(axis)}{' (or $n$)' if others else ''}"


def _are_wide(texts: Sequence[str]) -> bool:
    """Return whether names are too long to be printed below their boxes."""
    longest = max(len(line) for text in texts for line in text.split("\n"))
    slot = (panels.COLUMN_WIDTH - Y_AXIS_WIDTH) / max(len(texts), MIN_SLOTS)
    return longest * LETTER_WIDTH > slot


def _folded(name: str) -> str:
    """Return a label wrapped to the lines next to a box."""
    lines = (wrap(line, LINE_LETTERS, break_long_words=False) for line in name.split("\n"))
    return "\n".join(part for line in lines for part in line)


def _label_sizes(axes: Axes, entries: Sequence[Entry], *, swept: bool) -> None:
    """Print each box's size below it, or once if all boxes have the same."""
    texts = [short_count(e.size.n) if _is_sized(e, swept) else "" for e in entries]
    if len(set(filter(None, texts))) == 1:
        axes.set_xticks([(len(entries) - 1) / 2], [max(texts)])
        return
    axes.set_xticks(range(len(entries)), texts)
    low, high = axes.get_xlim()
    slot = axes.get_window_extent().width / axes.figure.dpi / (high - low)
    if max(map(len, texts)) * LETTER_WIDTH > slot:
        axes.tick_params(axis="x", labelrotation=90)


def far_off(measure: Measure, entries: Sequence[Entry]) -> list[str]:
    """Return solvers whose scores are so poor that showing them would squeeze the others' boxes.

    An example is a constant model. They are fewer than half of the solvers, at least three others
    finished, and the gap to the others exceeds both their range and the axis's least range.
    """
    sign = -1.0 if measure.better == "lower" else 1.0
    finished = [one for one in entries if one.values]
    ranges = [
        (min(sign * v for v in one.values), max(sign * v for v in one.values)) for one in finished
    ]
    order = sorted(range(len(finished)), key=lambda place: ranges[place][1])
    outliers: list[str] = []
    for count in range(1, (len(order) + 1) // 2):
        worse, rest = order[:count], order[count:]
        low = min(ranges[place][0] for place in rest)
        spread = max(ranges[place][1] for place in rest) - low
        gap = low - max(ranges[place][1] for place in worse)
        if len(rest) >= MIN_SLOTS and gap > max(spread, measure.least_range) and spread > 0:
            outliers = [finished[place].solver for place in worse]
    return outliers


def _draw_far_off(
    axes: Axes, place: float, measure: Measure, entry: Entry, *, horizontal: bool
) -> None:
    """Draw an arrow towards a box beyond the axis, with its median."""
    low = measure.better == "higher"
    value = percents(measure, median(entry.values))
    # Turned by a right angle, an arrow to the left points down.
    arrow = r"$\leftarrow$" if low else r"$\rightarrow$"
    number = f"{value:.{measure.digits}f}"
    if horizontal:
        axes.text(
            0.02 if low else 0.98,
            place,
            f"{arrow} {number}" if low else f"{number} {arrow}",
            transform=axes.get_yaxis_transform(),
            ha="left" if low else "right",
            va="center",
            fontsize=STATUS_FONT,
        )
        return
    look: dict[str, Any] = {"rotation": 90, "ha": "center", "fontsize": STATUS_FONT}
    axes.text(
        place,
        0.02 if low else 0.98,
        f"{arrow} {number}" if low else f"{number} {arrow}",
        transform=axes.get_xaxis_transform(),
        va="bottom" if low else "top",
        **look,
    )


def _draw_box(
    axes: Axes,
    place: float,
    values: Sequence[float],
    style: SolverStyle,
    flags: Sequence[bool] = (),
    *,
    horizontal: bool = False,
) -> None:
    """Draw one box, or a bar at the median of few trials, and a dot per trial.

    Dots of flagged trials are hollow.
    """
    hollow = flags if len(flags) == len(values) else [False] * len(values)
    if len(values) < MIN_BOXED_TRIALS:
        ends = [place - BOX_WIDTH / 3, place + BOX_WIDTH / 3]
        bar = _turned(ends, [median(values)] * 2, horizontal=horizontal)
        axes.plot(*bar, color=style.color, linewidth=1.3, zorder=2)
        _draw_dots(axes, place, values, hollow, _marker(style), horizontal=horizontal)
        return
    line = {"color": style.color, "linewidth": 0.9}
    # A box of equal values has no area: its median line gets the colour.
    color = style.color if isclose(min(values), max(values), rel_tol=1e-6) else "black"
    axes.boxplot(
        [list(values)],
        positions=[place],
        orientation="horizontal" if horizontal else "vertical",
        widths=BOX_WIDTH,
        patch_artist=True,
        showfliers=False,
        manage_ticks=False,
        boxprops=_face(style),
        medianprops={"color": color, "linewidth": 1.3},
        whiskerprops=line,
        capprops=line,
    )
    full = {**DOT, "markerfacecolor": color, "markeredgecolor": "white"}
    _draw_dots(axes, place, values, hollow, full, horizontal=horizontal)


def _turned(
    places: Sequence[float], values: Sequence[float], *, horizontal: bool
) -> tuple[Sequence[float], Sequence[float]]:
    """Return x and y coordinates; values of horizontal boxes are on the x axis."""
    return (values, places) if horizontal else (places, values)


def _draw_dots(
    axes: Axes,
    place: float,
    values: Sequence[float],
    hollow: Sequence[bool],
    full: dict[str, Any],
    *,
    horizontal: bool,
) -> None:
    for look, wanted in ((full, False), ({**full, **HOLLOW_MARKER}, True)):
        dots = [v for v, flag in zip(values, hollow, strict=True) if flag is wanted]
        if dots:
            at = _turned([place] * len(dots), dots, horizontal=horizontal)
            axes.plot(*at, **{"linestyle": "none", **look})


def _marker(style: SolverStyle) -> dict[str, Any]:
    """Return the look of a dot without a box."""
    look = {"color": style.color, "marker": style.marker, "markersize": 4, "linestyle": "none"}
    return {**look, "markeredgecolor": "white", "markeredgewidth": 0.4, "zorder": 3}


def _face(style: SolverStyle) -> dict[str, Any]:
    """Return the look of a box: light enough for the dots, hatched for greyscale."""
    light = tuple(0.35 * part + 0.65 for part in to_rgb(style.color))
    look = {"facecolor": light, "edgecolor": style.color, "hatch": style.hatch}
    return {**look, "linewidth": 0.9}


def _draw_status(axes: Axes, place: float, entry: Entry, *, narrow: bool) -> None:
    """Print a solver's status in place of its box, on one line in a narrow slot."""
    needs = "" if entry.needed is None else f"needs {memory_text(entry.needed)}"
    words = needs or entry.status if narrow else "\n".join(filter(None, [entry.status, needs]))
    look: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "center", "fontsize": STATUS_FONT}
    axes.text(place, 0.5, words, transform=axes.get_xaxis_transform(), **look)


def _draw_horizontal_status(axes: Axes, place: float, entry: Entry) -> None:
    """Print a solver's status in place of its horizontal box."""
    needs = "" if entry.needed is None else f"needs {memory_text(entry.needed)}"
    words = ", ".join(filter(None, [entry.status, needs]))
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": STATUS_FONT}
    axes.text(0.5, place, words, transform=axes.get_yaxis_transform(), **look)


def _is_sized(entry: Entry, swept: bool) -> bool:
    return swept and bool(entry.values) and not entry.level
