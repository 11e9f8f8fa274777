"""How figures look: a colour, marker, line and hatch for every solver, and sizes for print.

The colours are those of Okabe and Ito (2008), which colour-blind readers tell apart; markers,
lines and hatches do the same in greyscale.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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


LOOKS = (
    SolverStyle("#0072B2", "o", "-", ""),
    SolverStyle("#D55E00", "s", (0, (4, 1.5)), "////"),
    SolverStyle("#009E73", "^", (0, (1, 1.2)), "...."),
    SolverStyle("#CC79A7", "D", (0, (5, 1.2, 1, 1.2)), "xxxx"),
    SolverStyle("#E69F00", "v", (0, (3, 1, 1, 1, 1, 1)), "\\\\\\\\"),
    SolverStyle("#56B4E9", "P", (0, (6, 2)), "||||"),
    SolverStyle("#000000", "X", (0, (2, 2)), "----"),
    SolverStyle("#882255", "h", (0, (8, 1.5, 1, 1.5)), "++++"),
    SolverStyle("#999999", "*", (0, (1, 3)), "oo"),
    SolverStyle("#44AA99", "<", (0, (6, 1, 2, 1)), "//"),
    SolverStyle("#661100", ">", (0, (2, 1)), "xx"),
    SolverStyle("#332288", "p", (0, (10, 2)), "**"),
)
OWN = {
    "qsg_s2auc": 0,
    "samult": 1,
    "pnu_auc": 2,
    "rff_s2auc": 3,
    "tsgs3vm": 4,
    "frs3vm": 5,
    "bgs3vm": 6,
    "bls3vm": 7,
    "s3vm_light": 8,
    "qs3orao": 0,
    "m_samult": 1,
    "m_pnu_auc": 2,
    "svorex": 3,
    "tsgsu": 0,
    "su_sl": 1,
    "su_dh": 2,
    "cuu": 3,
}
"""The places in `LOOKS` of kinds that are often drawn together; others share the places behind.

Kinds of different papers may have the same: drawn together, the first by name keeps it.
"""

TICKS = {
    "labelsize": 7.5,
    "major.width": 0.6,
    "minor.width": 0.4,
    "major.size": 3,
    "minor.size": 1.8,
}
RC = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    **{f"{axis}tick.{name}": size for axis in "xy" for name, size in TICKS.items()},
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
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.hashsalt": "dsgkit",
    "savefig.dpi": DPI,
}


def solver_styles(kinds: Mapping[str, str]) -> dict[str, SolverStyle]:
    """Return the look of each solver: that of its kind, whatever else is drawn, or by its name.

    No two share a look. Where several solvers would, the first of them by name keeps it.

    Parameters
    ----------
    kinds : mapping of str to str
        The kind of every solver by its name.
    """
    first: dict[int, str] = {}
    for name in sorted(kinds):
        if kinds[name] in OWN:
            first.setdefault(OWN[kinds[name]], name)
    chosen = {name: LOOKS[place] for place, name in first.items()}
    free = [look for look in (*LOOKS, *_mixed()) if look not in chosen.values()]
    shared = LOOKS[len({*OWN.values()}) :]
    for name in sorted(kinds.keys() - chosen.keys()):
        place = zlib.crc32(f"{kinds[name]} {name}".encode()) % len(shared)
        wishes = (*shared[place:], *shared[:place], *free)
        chosen[name] = next(look for look in wishes if look in free)
        free.remove(chosen[name])
    return chosen


def _mixed() -> Iterator[SolverStyle]:
    """Return further looks, each with the colour of one and the rest of another."""
    for shift in range(1, len(LOOKS)):
        for place, look in enumerate(LOOKS):
            yield replace(look, color=LOOKS[place - shift].color)
