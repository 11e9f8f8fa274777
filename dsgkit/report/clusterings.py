"""Pictures of clusterings in the plane, for fits that store the arrays below.

A picture needs ``rows`` of shape (r, 2) and their ``labels``, -1 for rows in no cluster. Optional
are the true ``classes`` of the rows; ``equilibria`` of shape (e, 2)
with ``equilibrium_labels``; and ``domain``, the values of a function f at the points of ``grid_x``
and ``grid_y``, one line per y, and ``inside``, the share of rows where f >= 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsgkit.errors import ResultsError, in_a_line
from dsgkit.experiment.folder import load_artefact
from dsgkit.report.numbers import counted, value_text
from dsgkit.report.output import FigureOutput, late
from dsgkit.report.style import Width
from dsgkit.report.summary import Size, Summary, all_solvers, different
from dsgkit.system.files import folder_name
from dsgkit.tasks.measures import PICTURES

REQUIRED_ARRAYS = {"rows", "labels"}
COLUMNS = 5
MAX_PANEL_LINES = 6
"""Most lines of panels in a figure of several datasets: about a page."""

CLASSES_TITLE = "True classes"
"""Title of the panel with the true classes."""

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
"""Keeps two words on one line."""

MAX_COORDINATE = 1e30
"""Bound on coordinates: squared differences stay finite in single precision."""

_ARRAY_SHAPES: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "rows": ("fiu", ("row", 2)),
    "labels": ("iu", ("row",)),
    "classes": ("iu", ("row",)),
    "equilibria": ("fiu", ("equilibrium", 2)),
    "equilibrium_labels": ("iu", ("equilibrium",)),
    "grid_x": ("fiu", ("x",)),
    "grid_y": ("fiu", ("y",)),
    "domain": ("fiu", ("y", "x")),
    "inside": ("fiu", ()),
}
"""Dtype kinds and axes of each array; axes of the same name have the same length."""

_MIN_LENGTHS = {"row": 1, "x": 2, "y": 2}
_COMPANIONS = {"equilibria": ("equilibrium_labels",), "domain": ("grid_x", "grid_y")}


@dataclass(frozen=True)
class Picture:
    """The contents of one panel: a solver's clustering at a size, and the record of the fit."""

    solver: str
    record: Mapping[str, Any]
    size: Size
    arrays: Mapping[str, NDArray[Any]]

    @property
    def clusters(self) -> list[int]:
        """The clusters' labels."""
        return [int(label) for label in np.unique(self.arrays["labels"]) if label >= 0]

    @property
    def has_empty_domain(self) -> bool:
        """Whether f is known and negative at all rows and grid points."""
        masks = [self.arrays["domain"] >= 0] if "domain" in self.arrays else []
        masks += [self.arrays["inside"] > 0] if "inside" in self.arrays else []
        return bool(masks) and not any(one.any() for one in masks)

    @property
    def text(self) -> str:
        """The number of clusters, an empty domain, and the chosen parameters."""
        count, outside = len(self.clusters), int((self.arrays["labels"] < 0).sum())
        clusters = counted(count, "cluster")
        clusters += f", {counted(outside, 'row')} in none" if outside else ""
        clusters += ", empty domain" if self.has_empty_domain else ""
        chosen = (
            f"{in_a_line(k)}{NO_BREAK_SPACE}{in_a_line(value_text(v))}".replace("$", r"\$")
            for k, v in (self.record.get("params") or {}).items()
        )
        return "\n".join(filter(None, [clusters, ", ".join(chosen)]))


class Truth(Picture):
    """The true classes, in place of the clusters of a solver."""

    @property
    def text(self) -> str:
        """The number of classes."""
        return counted(len(self.clusters), "class", "classes")


def truth_of(pictures: Mapping[str, Picture]) -> dict[str, Picture]:
    """Return the true classes in the first picture that has them; empty if none has."""
    for picture in pictures.values():
        if "classes" in picture.arrays:
            arrays = {"rows": picture.arrays["rows"], "labels": picture.arrays["classes"]}
            return {CLASSES_TITLE: Truth(CLASSES_TITLE, {}, picture.size, arrays)}
    return {}


def has_artefacts(summary: Summary) -> bool:
    """Return whether any fit has stored arrays, without loading them."""
    return any("artefact" in record for record in _finished(summary))


def pictures_of(summary: Summary) -> dict[str, Picture]:
    """Return each solver's picture: that of the first trial at the largest size with one."""
    pictures: dict[str, Picture] = {}
    for record in sorted(_finished(summary), key=lambda one: (-_size(summary, one), one["trial"])):
        solver = summary.name_of(record)
        if solver not in pictures and "artefact" in record:
            arrays = load_artefact(summary.results.folder, record)
            if arrays.keys() >= REQUIRED_ARRAYS:
                size = Size(_size(summary, record), bool(record.get("full")))
                if why := why_no_picture(arrays):
                    path = summary.results.folder / record["artefact"]
                    raise ResultsError(f"{path}: {why}; remove it, and it is left out of pictures")
                pictures[solver] = Picture(solver, record, size, arrays)
    return {solver: pictures[solver] for solver in summary.solvers if solver in pictures}


def why_no_picture(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return why arrays lack the types and shapes of a picture; empty if they have them."""
    lengths: dict[str, int] = {}
    for name, (kinds, sides) in _ARRAY_SHAPES.items():
        if name not in arrays:
            continue
        one = arrays[name]
        if one.dtype.kind not in kinds or one.ndim != len(sides):
            return f"{name} are not a {len(sides)}-dimensional array of numbers, as in a picture"
        if not (np.abs(one.astype(np.float64)) <= MAX_COORDINATE).all():
            return f"{name} are not all finite, or too large to be drawn"
        for side, length in zip(sides, one.shape, strict=True):
            wanted = side if isinstance(side, int) else lengths.setdefault(side, length)
            if length != wanted or length < _MIN_LENGTHS.get(str(side), 0):
                return f"{name} have the shape {one.shape}, which no picture has"
    missing = [other for name, others in _COMPANIONS.items() if name in arrays for other in others]
    return next((f"{name} are missing" for name in missing if name not in arrays), "")


def _finished(summary: Summary) -> list[dict[str, Any]]:
    records = summary.results.records
    return [one for one in records if one["kind"] == "fit" and one["status"] == "ok"]


def _size(summary: Summary, record: Mapping[str, Any]) -> int:
    return int(record["at"][summary.axis.name]) if summary.axis else 0


def picture_figures(shown: Sequence[Summary], width: Width | None = None) -> Iterator[FigureOutput]:
    """Yield one figure, or one per results folder if a single one would exceed a page."""
    # without loading the arrays
    kept = [one for one in shown if has_artefacts(one)]
    lines = -(-(len(all_solvers(kept)) + 1) // COLUMNS)  # and the true classes
    together = len(kept) == 1 or len(kept) * lines <= MAX_PANEL_LINES
    names = (
        [PICTURES] if together else different(f"{PICTURES}_{folder_name(o.title)}" for o in kept)
    )
    for name, places in zip(names, [kept] if together else [[one] for one in kept], strict=True):
        if places:
            yield FigureOutput(
                name=name,
                output=PICTURES,
                shown=places,
                has=lambda one: bool(pictures_of(one)),
                draw=partial(late("pictures", "pictures"), places, width),
                own_caption=partial(late("pictures", "caption"), places),
                single=len(places) < min(2, len(shown)),
            )
