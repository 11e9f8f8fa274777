"""How figures look: one colour, marker, line and hatch per solver, and sizes for print.

The colours are those of Okabe and Ito (2008), which colour-blind readers tell apart; markers,
lines and hatches do the same in greyscale.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

COLUMN_WIDTH = 3.3
PAGE_WIDTH = 6.9
DPI = 200


@dataclass(frozen=True)
class SolverStyle:
    """The look of one solver in every figure."""

    color: str
    marker: str
    linestyle: str | tuple[int, tuple[float, ...]]
    hatch: str


FIXED = {
    "qsg_s2auc": SolverStyle("#0072B2", "o", "-", ""),
    "samult": SolverStyle("#D55E00", "s", (0, (4, 1.5)), "////"),
    "pnu_auc": SolverStyle("#009E73", "^", (0, (1, 1.2)), "...."),
    "rff_s2auc": SolverStyle("#CC79A7", "D", (0, (5, 1.2, 1, 1.2)), "xxxx"),
}
SPARE = (
    SolverStyle("#E69F00", "v", (0, (3, 1, 1, 1, 1, 1)), "\\\\\\\\"),
    SolverStyle("#56B4E9", "P", (0, (6, 2)), "||||"),
    SolverStyle("#000000", "X", (0, (2, 2)), "----"),
    SolverStyle("#882255", "h", (0, (8, 1.5, 1, 1.5)), "++++"),
    SolverStyle("#999999", "*", (0, (1, 3)), "oo"),
    SolverStyle("#44AA99", "<", (0, (6, 1, 2, 1)), "//"),
    SolverStyle("#661100", ">", (0, (2, 1)), "xx"),
    SolverStyle("#332288", "p", (0, (10, 2)), "**"),
)

RC = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "legend.columnspacing": 1.2,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "0.88",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 1.8,
    "ytick.minor.size": 1.8,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "dsgkit",
    "savefig.dpi": DPI,
}


def solver_styles(solvers: Iterable[str]) -> dict[str, SolverStyle]:
    """Return the style of each solver: its own where it is a known one, else the next spare one."""
    keys = list(dict.fromkeys(solvers))
    spare = [key for key in keys if key not in FIXED]
    chosen = {key: SPARE[place % len(SPARE)] for place, key in enumerate(spare)}
    return {key: FIXED.get(key) or chosen[key] for key in keys}
