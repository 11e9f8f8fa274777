"""Boxplots of scores over trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from dsgkit.experiment.results import Results
from dsgkit.report import panels
from dsgkit.report.numbers import memory_text, short_count
from dsgkit.report.style import RC, SolverStyle, solver_styles
from dsgkit.report.summary import Entry, largest_finished, summarise
from dsgkit.report.titles import all_labels, titles

BOX_WIDTH = 0.6
FEWEST_SLOTS = 3
STATUS_FONT = 6.5
LETTER_WIDTH = 0.072
Y_AXIS_WIDTH = 0.5
Y_LABELS = {
    "auc": "AUC",
    "test_auc": "AUC (test part)",
    "error": "Error",
    "test_error": "Error (test part)",
}


def score_boxplot(results: Sequence[Results], column: str) -> Figure:
    """Draw a score of each solver at its largest finished size, one panel per dataset.

    Every trial is also a dot. Below each box stands its number of unlabelled rows.

    Parameters
    ----------
    results : sequence of Results
    column : str
        One of `Y_LABELS`.
    """
    labels = all_labels(results)
    styles = solver_styles(labels)
    named = len(results) == 1 and _names_fit(list(labels.values()))
    with mpl.rc_context(RC):
        columns = panels.legend_columns(list(labels.values()), panels.figure_width(len(results)))
        rows = 0 if named else -(-len(labels) // columns)
        figure, axes = panels.new_figure(titles(results), rows)
        for panel, one in zip(axes, results, strict=True):
            _draw_panel(panel, one, column, styles, named)
        panels.label_axes(axes, "" if named else "Unlabelled rows", Y_LABELS[column])
        if not named:
            handles = [_handle(styles[solver], label) for solver, label in labels.items()]
            panels.add_legend(figure, handles, columns)
    return figure


def _draw_panel(
    axes: Axes, results: Results, column: str, styles: dict[str, SolverStyle], named: bool
) -> None:
    """Draw the boxes of one dataset."""
    entries = list(largest_finished(summarise(results, column)).values())
    for place, entry in enumerate(entries):
        if entry.values:
            _draw_box(axes, place, entry.values, styles[entry.solver])
        else:
            _draw_status(axes, place, entry)
    side = 0.6 + max(0, FEWEST_SLOTS - len(entries)) / 2
    axes.set_xlim(-side, len(entries) - 1 + side)
    axes.grid(visible=False, axis="x")
    axes.tick_params(axis="x", length=0)
    if any(entry.values for entry in entries):
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    else:
        axes.set_yticks([])
    texts = [
        "\n".join([results.label(entry.solver), *_remarks(entry)]) if named else _short_size(entry)
        for entry in entries
    ]
    axes.set_xticks(range(len(entries)), texts)


def _draw_box(axes: Axes, place: int, values: Sequence[float], style: SolverStyle) -> None:
    """Draw one box with a dot for each trial."""
    axes.boxplot(
        [list(values)],
        positions=[place],
        widths=BOX_WIDTH,
        patch_artist=True,
        showfliers=False,
        manage_ticks=False,
        boxprops=_face(style),
        medianprops={"color": "black", "linewidth": 1.3},
        whiskerprops={"color": style.color, "linewidth": 0.9},
        capprops={"color": style.color, "linewidth": 0.9},
    )
    axes.plot(
        [place] * len(values),
        values,
        linestyle="none",
        marker="o",
        markersize=2.2,
        markerfacecolor="black",
        markeredgecolor="white",
        markeredgewidth=0.3,
        zorder=3,
    )


def _face(style: SolverStyle) -> dict[str, Any]:
    """Return the look of a box: light enough for the dots, hatched for greyscale."""
    light = tuple(0.35 * part + 0.65 for part in to_rgb(style.color))
    return {
        "facecolor": light,
        "edgecolor": style.color,
        "hatch": style.hatch,
        "linewidth": 0.9,
    }


def _draw_status(axes: Axes, place: int, entry: Entry) -> None:
    """Say in a box's place why there is none."""
    needs = "" if entry.needed is None else f"\nneeds {memory_text(entry.needed)}"
    axes.text(
        place,
        0.5,
        entry.status + needs,
        transform=axes.get_xaxis_transform(),
        rotation=90,
        ha="center",
        va="center",
        fontsize=STATUS_FONT,
    )


def _names_fit(labels: Sequence[str]) -> bool:
    """Tell whether the names fit side by side below the boxes of one panel."""
    slot = (panels.COLUMN_WIDTH - Y_AXIS_WIDTH) / len(labels)
    return max(map(len, labels)) * LETTER_WIDTH <= slot


def _remarks(entry: Entry) -> list[str]:
    """Return the size of a box, and its number of trials where some are missing."""
    if not entry.values:
        return [""]
    trials = [f"{entry.partial} trials"] if entry.partial else []
    return [f"$n_u$ = {entry.size.n:,}", *trials]


def _short_size(entry: Entry) -> str:
    return short_count(entry.size.n) if entry.values else ""


def _handle(style: SolverStyle, label: str) -> Patch:
    """Return a solver's entry in the legend."""
    return Patch(**_face(style), label=label)
