"""Style of figures: matplotlib's settings, sizes for print, and a look per solver.

The colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart, and some
of Tol's. Markers, lines and hatches tell solvers apart in greyscale.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import yaml

from dsgkit.experiment.runs import Run

Width = Literal["column", "page"]
"""Width of a figure: a column or the text of a two-column paper (ICML, IJCAI, AAAI)."""

COLUMN_WIDTH, PAGE_WIDTH = 3.25, 6.75
INCHES: dict[Width, float] = {"column": COLUMN_WIDTH, "page": PAGE_WIDTH}
DPI = 200
FONT, SMALL_FONT = 7.5, 6.5
TEXT_SHADE = 0.75  # light thin letters are hard to read

_TICKS = {
    "labelsize": SMALL_FONT,
    "major.width": 0.6,
    "minor.width": 0.4,
    "major.size": 3,
    "minor.size": 1.8,
}
RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": FONT,
    "text.parse_math": False,  # names may have dollar signs
    "axes.titlesize": FONT,
    "axes.labelsize": FONT,
    **{f"{axis}tick.{name}": size for axis in "xy" for name, size in _TICKS.items()},
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
    "svg.hashsalt": "dsgkit",
    "savefig.dpi": DPI,
}


@contextlib.contextmanager
def _without_settings_of_the_user() -> Iterator[None]:
    """Import matplotlib within: it reads a file of settings and MPLBACKEND, which may be broken."""
    given = {name: os.environ.pop(name, None) for name in ("MATPLOTLIBRC", "MPLBACKEND")}
    os.environ["MATPLOTLIBRC"] = os.devnull
    try:
        # a file in the current folder comes first
        with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
            yield
    finally:
        del os.environ["MATPLOTLIBRC"]
        os.environ.update({name: text for name, text in given.items() if text is not None})


with _without_settings_of_the_user():
    import matplotlib as mpl


def own_settings() -> contextlib.AbstractContextManager[None]:
    """Return a context with matplotlib's default settings and ours."""
    return mpl.rc_context({**mpl.rcParamsDefault, **RC})


@dataclass(frozen=True)
class Look:
    """The look of one solver in every figure."""

    color: str
    marker: str
    linestyle: str | tuple[int, tuple[float, ...]]
    hatch: str

    @property
    def text_color(self) -> tuple[float, ...]:
        return tuple(TEXT_SHADE * part / 255 for part in bytes.fromhex(self.color[1:]))


LOOKS = (
    Look("#0072B2", "o", "-", ""),
    Look("#D55E00", "s", (0, (4, 1.5)), "////"),
    Look("#009E73", "^", (0, (1, 1.2)), "...."),
    Look("#CC79A7", "D", (0, (5, 1.2, 1, 1.2)), "xxxx"),
    Look("#E69F00", "v", (0, (3, 1, 1, 1, 1, 1)), "\\\\\\\\"),
    Look("#56B4E9", "P", (0, (6, 2)), "||||"),
    Look("#000000", "X", (0, (2, 2)), "----"),
    Look("#882255", "h", (0, (8, 1.5, 1, 1.5)), "++++"),
    Look("#999999", "*", (0, (1, 3)), "oo"),
    Look("#44AA99", "<", (0, (6, 1, 2, 1)), "//"),
    Look("#661100", ">", (0, (2, 1)), "xx"),
    Look("#332288", "p", (0, (10, 2)), "\\\\"),
    Look("#999933", "d", (0, (3, 2, 1, 2)), "++"),
    Look("#AA4499", "H", (0, (7, 1, 1, 1, 1, 1)), ".."),
    Look("#225522", "8", (0, (1, 0.8)), "|"),
)
N_COMMON = 7  # the first looks are for the papers' methods; variants prefer later ones
FAINT_LOOK = LOOKS[8]  # hard to see: for reference methods, and when all others are taken


@cache
def places() -> Mapping[str, int]:
    """Return the indices into `LOOKS` of known solvers, by name or kind."""
    text = Path(__file__).with_name("looks.yaml").read_text(encoding="utf-8")
    return MappingProxyType(yaml.safe_load(text))


def looks_of(runs: Iterable[Run]) -> dict[str, Look]:
    """Return the look of every solver by its name, the same if only some solvers are shown."""
    kinds: dict[str, str] = {}
    for run in runs:
        specs = run.experiment.solvers
        kinds |= {run.names.get(key, spec.label): spec.kind for key, spec in specs.items()}
        kinds |= {name: kinds.get(name, "") for name in run.names.values()}
    return choose_looks(kinds)


def choose_looks(kinds: Mapping[str, str]) -> dict[str, Look]:
    """Return a distinct look for each solver: that of its name or kind, else a free one.

    If several solvers claim a look, the one named like its kind gets it, else the first by name.
    The others get free looks in the order of visibility; variants of a known kind prefer those
    that no paper's method has.

    Parameters
    ----------
    kinds : mapping of str to str
        The kind of every solver by its name, in the order of a config.
    """
    chosen: dict[str, Look] = {}
    names = sorted(kinds, key=lambda name: (_letters(name) != _letters(kinds[name]), name))
    for known_as in (dict(zip(kinds, kinds, strict=True)), kinds):
        for name in (name for name in names if name not in chosen):
            place = places().get(known_as[name])
            if place is not None and LOOKS[place] not in chosen.values():
                chosen[name] = LOOKS[place]
    visible = [look for look in LOOKS if look != FAINT_LOOK]
    for name, kind in kinds.items():
        if name not in chosen:
            first = visible[N_COMMON:] if kind in places() else visible
            wishes = itertools.chain(first, visible, [FAINT_LOOK], _mixed())
            chosen[name] = next(look for look in wishes if look not in chosen.values())
    return chosen


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _mixed() -> Iterator[Look]:
    """Yield further looks: the colour of one look and the rest of another."""
    for shift in range(1, len(LOOKS)):
        for place, look in enumerate(LOOKS):
            yield replace(look, color=LOOKS[place - shift].color)
