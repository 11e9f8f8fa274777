"""The tables and the figure of `study_time_to_answer.py`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dsgkit.estimators.catalogue import SOLVERS
from dsgkit.report.style import DPI, PAGE_WIDTH, RC, SolverStyle, solver_styles

Record = dict[str, Any]

EXACT = "samult"
LABELLED_BELOW = ("qsg_s2auc_p", "rff_s2auc")
"""Methods with sizes written below their points."""

NOUNS = {
    "qsg_s2auc": "iterations",
    "qsg_s2auc_p": "blocks of 256 frequencies",
    "rff_s2auc": "frequencies",
    "nystrom_s2auc": "unlabelled landmarks",
    "samult": "unlabelled rows",
}


@dataclass(frozen=True)
class Point:
    """A method at one size on one dataset.

    Attributes
    ----------
    size, trials : int
    auc : float
        Median over all trials; for a size with fewer trials, that of the next smaller size plus
        the mean difference to it in the same trials.
    low, high : float
        Range over its trials.
    seconds : float
        Median over its trials.
    gain : float
        Mean difference to the exact solution on the labelled rows alone, trial by trial.
    """

    size: int
    trials: int
    auc: float
    low: float
    high: float
    seconds: float
    gain: float


def points(records: Iterable[Record]) -> dict[tuple[str, str], list[Point]]:
    """Return the points of each dataset and method, ascending in size."""
    found: dict[tuple[str, str], dict[int, list[Record]]] = {}
    for record in records:
        if record["kind"] == "fit":
            curve = found.setdefault((record["dataset"], record["method"]), {})
            curve.setdefault(record["size"], []).append(record)
    order = sorted(found, key=lambda place: (place[0], list(NOUNS).index(place[1])))
    alone = {
        dataset: {record["trial"]: record["auc"] for record in sizes.get(0, [])}
        for (dataset, method), sizes in found.items()
        if method == EXACT
    }
    return {place: _curve(found[place], alone.get(place[0], {})) for place in order}


def _curve(sizes: dict[int, list[Record]], alone: dict[int, float]) -> list[Point]:
    curve: list[Point] = []
    before: dict[int, float] = {}
    for size in sorted(sizes):
        aucs = {record["trial"]: record["auc"] for record in sizes[size]}
        middle = statistics.median(aucs.values())
        if curve and len(aucs) < curve[0].trials:
            changes = [aucs[trial] - before[trial] for trial in aucs]
            middle = curve[-1].auc + statistics.mean(changes)
        seconds = statistics.median(record["seconds"] for record in sizes[size])
        low, high = min(aucs.values()), max(aucs.values())
        gains = [value - alone[trial] for trial, value in aucs.items() if trial in alone]
        gain = statistics.mean(gains) if gains else np.nan
        curve.append(Point(size, len(aucs), middle, low, high, seconds, gain))
        before = aucs
    return curve


def _size(point: Point, method: str) -> str:
    if method == EXACT and point.size == 0:
        return "labelled rows alone"
    return f"{point.size:,} {NOUNS[method]}"


def write_tables(records: Sequence[Record], folder: Path) -> None:
    """Write ``time_to_answer.md`` and ``choices.md``."""
    (folder / "time_to_answer.md").write_text(_measurements(records))
    (folder / "choices.md").write_text(_choices(records))


def _measurements(records: Sequence[Record]) -> str:
    head = ("dataset", "method", "size", "AUC", "range", "gain", "seconds", "trials")
    rows = [
        (
            dataset,
            SOLVERS[method].label,
            _size(p, method),
            f"{p.auc:.4f}",
            f"{p.low:.4f} to {p.high:.4f}",
            f"{p.gain:+.4f}",
            f"{p.seconds:.2g}",
            str(p.trials),
        )
        for (dataset, method), curve in points(records).items()
        for p in curve
    ]
    return _markdown(head, rows)


def _choices(records: Sequence[Record]) -> str:
    head = ("dataset", "method", "lam", "sigma", "gamma", "validation AUC", "seconds of the search")
    rows = [
        (
            record["dataset"],
            SOLVERS[record["method"]].label,
            f"2^{np.log2(record['setting']['lam']):g}",
            f"2^{np.log2(record['setting']['sigma']):g}",
            f"{record['setting']['gamma']:g}",
            f"{record['auc']:.4f}",
            f"{record['seconds']:.0f}",
        )
        for record in sorted(records, key=lambda r: (r["dataset"], r["method"]))
        if record["kind"] == "choice"
    ]
    return _markdown(head, rows)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def draw(records: Sequence[Record], path: Path) -> None:
    """Draw AUC against the seconds of a fit, a panel for each dataset.

    Sizes with fewer trials have hollow markers.
    """
    curves = points(records)
    datasets = list(dict.fromkeys(dataset for dataset, _ in curves))
    methods = [method for method in NOUNS if any(m == method for _, m in curves)]
    looks = solver_styles({method: method for method in methods})
    with mpl.rc_context(RC):
        n_rows = -(-len(datasets) // 2)
        figure = Figure(figsize=(PAGE_WIDTH, 0.6 + 2.5 * n_rows), layout="constrained")
        panels = figure.subplots(n_rows, 2, squeeze=False).ravel()
        for axes, dataset in zip(panels, datasets, strict=False):
            for method in methods:
                curve = curves.get((dataset, method), [])
                if method == EXACT:
                    _draw_reference(axes, curve)
                else:
                    _draw_curve(axes, method, curve, looks[method])
            axes.set(xscale="log", title=dataset)
            axes.margins(0.08)
        for axes in panels[len(datasets) :]:
            axes.remove()
        figure.supxlabel("Seconds of one fit, one thread", size=RC["axes.labelsize"])
        figure.supylabel("AUC of test rows", size=RC["axes.labelsize"])
        handles = panels[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=3)
        figure.savefig(path, dpi=DPI)


def _draw_reference(axes: Axes, curve: Sequence[Point]) -> None:
    for p, style in zip(curve, (":", "--"), strict=False):
        label = f"{SOLVERS[EXACT].label} ({_size(p, EXACT)})"
        axes.axhline(p.auc, label=label, color="0.35", ls=style, lw=0.9)


def _draw_curve(axes: Axes, method: str, curve: Sequence[Point], look: SolverStyle) -> None:
    x, y = [p.seconds for p in curve], [p.auc for p in curve]
    label = f"{SOLVERS[method].label} ({NOUNS[method]})"
    axes.plot(x, y, color=look.color, ls=look.linestyle, marker=look.marker, label=label)
    few = [p for p in curve if p.trials < curve[0].trials]
    x, y = [p.seconds for p in few], [p.auc for p in few]
    axes.plot(x, y, marker=look.marker, mfc="white", mec=look.color, ls="")
    for p in curve:
        axes.annotate(
            f"{p.size}",
            (p.seconds, p.auc),
            (0, -7.5 if method in LABELLED_BELOW else 4),
            textcoords="offset points",
            ha="center",
            size=5.5,
            color=look.color,
        )
