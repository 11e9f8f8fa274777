"""Style of figures: a colour, marker, line and hatch per solver, and sizes for print.

The colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart. Markers,
lines and hatches tell solvers apart in greyscale.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import yaml

if TYPE_CHECKING:
    from dsgkit.report.summary import Summary

COLUMN_WIDTH = 3.25
PAGE_WIDTH = 6.75
DPI = 200
DEFAULT_FORMATS = ("pdf", "png")
"""Default formats of figures."""

Width = Literal["column", "page"]
"""Width of a figure: a column or the text of a two-column paper (ICML, IJCAI, AAAI)."""

INCHES: dict[Width, float] = {"column": COLUMN_WIDTH, "page": PAGE_WIDTH}

MAX_COLUMN_PANELS = 2
"""Most panels side by side in a column."""


TEXT_SHADE = 0.75
"""Factor that darkens colours of texts: light thin letters are hard to read."""


@dataclass(frozen=True)
class SolverStyle:
    """The look of one solver in every figure."""

    color: str
    marker: str
    linestyle: str | tuple[int, tuple[float, ...]]
    hatch: str

    @property
    def text_color(self) -> tuple[float, ...]:
        """The colour of the solver's name."""
        parts = bytes.fromhex(self.color[1:])
        return tuple(TEXT_SHADE * part / 255 for part in parts)


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
    SolverStyle("#332288", "p", (0, (10, 2)), "\\\\"),
    SolverStyle("#999933", "d", (0, (3, 2, 1, 2)), "++"),
    SolverStyle("#AA4499", "H", (0, (7, 1, 1, 1, 1, 1)), ".."),
    SolverStyle("#225522", "8", (0, (1, 0.8)), "|"),
)


@cache
def places() -> Mapping[str, int]:
    """Return the indices into `LOOKS` of known solvers, by name or kind."""
    text = Path(__file__).with_name("looks.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text))


N_COMMON = 7
"""The first looks are for the papers' methods; variants of them prefer later looks."""

FAINT_LOOK = LOOKS[8]
"""A look that is hard to see: for reference methods, and when all others are taken."""

FONT = 8
SMALL_FONT = 7
"""Smallest font in a figure, in points."""

TICKS = {
    "labelsize": SMALL_FONT,
    "major.width": 0.6,
    "minor.width": 0.4,
    "major.size": 3,
    "minor.size": 1.8,
}
RC = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    "font.size": FONT,
    "axes.titlesize": FONT,
    "axes.labelsize": FONT,
    **{f"{axis}tick.{name}": size for axis in "xy" for name, size in TICKS.items()},
    "legend.fontsize": SMALL_FONT,
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


def styles_of(shown: Iterable[Summary]) -> dict[str, SolverStyle]:
    """Return the look of every solver of some results.

    Solvers that are not drawn are included, so that a solver has the same look in every figure.
    """
    return solver_styles(kinds_of(shown))


def kinds_of(shown: Iterable[Summary]) -> dict[str, str]:
    """Return the kind of every solver by its name in the configs' order, with left out ones."""
    kinds: dict[str, str] = {}
    for one in shown:
        results = one.results
        for key, spec in (results.every_solver or results.experiment.solvers).items():
            name = one.names.get(key, spec.label)
            kinds[name] = one.solvers.get(name, spec.kind)
        kinds |= one.solvers
    return kinds


def solver_styles(kinds: Mapping[str, str]) -> dict[str, SolverStyle]:
    """Return a distinct look for each solver: that of its name or kind, else a free one.

    If several solvers claim a look, the one named like its kind gets it, else the first by name.
    The remaining solvers get free looks in the order of visibility; variants of a known kind prefer
    looks that no paper's method has.

    Parameters
    ----------
    kinds : mapping of str to str
        The kind of every solver by its name, in the order of a config.
    """
    chosen: dict[str, SolverStyle] = {}
    names = sorted(kinds, key=lambda name: (_letters(name) != _letters(kinds[name]), name))
    for known_as in (dict(zip(kinds, kinds, strict=True)), kinds):
        for name in (name for name in names if name not in chosen):
            place = places().get(known_as[name])
            if place is not None and LOOKS[place] not in chosen.values():
                chosen[name] = LOOKS[place]
    visible = [look for look in LOOKS if look != FAINT_LOOK]
    rare = [look for look in LOOKS[N_COMMON:] if look != FAINT_LOOK]
    for name, kind in kinds.items():
        if name not in chosen:
            first = rare if kind in places() else visible
            wishes = itertools.chain(first, visible, [FAINT_LOOK], _mixed())
            chosen[name] = next(look for look in wishes if look not in chosen.values())
    return chosen


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _mixed() -> Iterator[SolverStyle]:
    """Yield further looks: the colour of one look and the rest of another."""
    for shift in range(1, len(LOOKS)):
        for place, look in enumerate(LOOKS):
            yield replace(look, color=LOOKS[place - shift].color)
