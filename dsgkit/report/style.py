"""Style of figures: matplotlib's settings, sizes for print, and a look per solver.

The colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart, and some
of Tol's. Markers and lines tell solvers apart in greyscale.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from dsgkit.experiment.runs import Run

INCHES = {"column": 3.25, "page": 6.75}  # of a two-column paper (ICML, IJCAI, AAAI)
DPI = 200
FONT, SMALL_FONT = 7.5, 6.5

RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": FONT,
    "text.parse_math": False,  # names may have dollar signs
    "figure.labelsize": FONT,
    "axes.titlesize": FONT,
    "xtick.labelsize": SMALL_FONT,
    "ytick.labelsize": SMALL_FONT,
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
    "pdf.fonttype": 42,
    "svg.hashsalt": "dsgkit",
}


@contextlib.contextmanager
def _without_settings_of_the_user() -> Iterator[None]:
    """Import matplotlib within: it reads a file of settings and MPLBACKEND, which may be broken."""
    given = {name: os.environ.pop(name, None) for name in ("MATPLOTLIBRC", "MPLBACKEND")}
    os.environ["MATPLOTLIBRC"] = os.devnull
    try:
        with contextlib.chdir(Path(__file__).parent):  # a file in the current folder comes first
            yield
    finally:
        del os.environ["MATPLOTLIBRC"]
        os.environ.update({name: text for name, text in given.items() if text is not None})


with _without_settings_of_the_user():
    import matplotlib as mpl


def own_settings() -> contextlib.AbstractContextManager[None]:
    """Return a context with matplotlib's default settings and ours."""
    return mpl.rc_context({**mpl.rcParamsDefault, **RC})


class Look(NamedTuple):
    """The look of one solver in every figure."""

    color: str
    marker: str
    linestyle: str | tuple[int, tuple[float, ...]]


LOOKS = (
    Look("#0072B2", "o", "-"),
    Look("#D55E00", "s", (0, (4, 1.5))),
    Look("#009E73", "^", (0, (1, 1.2))),
    Look("#CC79A7", "D", (0, (5, 1.2, 1, 1.2))),
    Look("#E69F00", "v", (0, (3, 1, 1, 1, 1, 1))),
    Look("#56B4E9", "P", (0, (6, 2))),
    Look("#000000", "X", (0, (2, 2))),
    Look("#882255", "h", (0, (8, 1.5, 1, 1.5))),
    Look("#999999", "*", (0, (1, 3))),  # faint: of reference methods
    Look("#44AA99", "<", (0, (6, 1, 2, 1))),
    Look("#661100", ">", (0, (2, 1))),
    Look("#332288", "p", (0, (10, 2))),
    Look("#999933", "d", (0, (3, 2, 1, 2))),
    Look("#AA4499", "H", (0, (7, 1, 1, 1, 1, 1))),
    Look("#225522", "8", (0, (1, 0.8))),
)


def looks_of(runs: Iterable[Run]) -> dict[str, Look]:
    """Return the look of every solver by its name, the same if only some solvers are shown.

    The first solver with a known name, or else kind, gets the look of ``looks.yaml``, the others
    the first free ones. Looks repeat only when all are taken.
    """
    kinds: dict[str, str] = {}
    for run in runs:
        specs = run.experiment.solvers
        kinds |= {run.names.get(key, spec.label): spec.kind for key, spec in specs.items()}
        kinds |= {name: kinds.get(name, "") for name in run.names.values()}
    known = yaml.safe_load(Path(__file__).with_name("looks.yaml").read_text(encoding="utf-8"))
    chosen: dict[str, Look] = {}
    for name, known_as in [*zip(kinds, kinds, strict=True), *kinds.items()]:
        look = LOOKS[known[known_as]] if known_as in known else None
        if look and name not in chosen and look not in chosen.values():
            chosen[name] = look
    free = itertools.cycle([*(look for look in LOOKS if look not in chosen.values()), *LOOKS])
    return chosen | {name: next(free) for name in kinds if name not in chosen}
