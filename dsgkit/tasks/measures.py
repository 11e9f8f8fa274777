"""Measures: metadata of the numbers in tables, figures, comparisons and choices.

A measure is plain data. It is stored with the results, so that a report needs neither the task nor
its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from dsgkit.text.labels import Words
from dsgkit.text.specs import LARGEST_NUMBER

Digits = Annotated[int, Field(ge=0, le=15)]
"""Digits after the point of a printed number."""

FileName = Annotated[str, Field(pattern=r"^[^./\\\x00-\x1f][^/\\\x00-\x1f]{0,99}$")]
"""First part of file names, without a folder."""


class Measure(BaseModel):
    """One number that is recorded of every fit.

    Attributes
    ----------
    name : str
        Key in a record's ``scores``, and column of the results.
    title : str
        Title of tables and axes.
    word : str
        Name in sentences.
    where : str
        The rows on which it is computed; empty if the title is clear without them.
    caution : str
        Text on its limits, after its name in findings; a solver that leads in it is then not called
        the best.
    better : {"higher", "lower"} or None
        Which values are better; None if neither.
    digits : int
        Digits after the point in tables, after conversion to percent.
    percent : bool
        Whether tables and figures show percent.
    unit : {"", "seconds", "bytes"}
        Seconds are compared as ratios and drawn on log axes; for bytes the largest trial is shown.
    output : str
        Its name in a config's ``outputs``: ``<output>_table``, ``<output>_boxplot``; by
        default the name.
    file : str
        First part of its file names, by default the output. Tables of measures with the same file
        are printed below each other.
    clock : str
        The phase of a cell whose seconds it is; empty for a score.
    optional : bool
        Whether it is omitted without notice if no fit has a value.
    for_published : bool
        Whether it explains published figures. It is shown only for datasets with such figures, and
        in a terminal only by name.
    least_range : float
        Smallest range of the axis of a boxplot, so that chance differences look small.
    tally : bool
        Whether it is 1 for counted trials and 0 for others: tables show ``n of m``, and there is no
        figure.
    traced : bool
        Whether traces of fits have it at checkpoints of training: ``<output>_trace`` and
        ``<output>_trace_table`` show it against training time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Words
    title: Words
    word: Words
    where: Words = ""
    caution: Words = ""
    better: Literal["higher", "lower"] | None = None
    digits: Digits = 3
    percent: bool = False
    unit: Literal["", "seconds", "bytes"] = ""
    output: Words = Field(default_factory=lambda known: known["name"])
    file: FileName = Field(default_factory=lambda known: known["output"])
    clock: Words = ""
    optional: bool = False
    for_published: bool = False
    least_range: Annotated[float, Field(ge=0, le=LARGEST_NUMBER)] = 0.0
    tally: bool = False
    traced: bool = False

    @classmethod
    def of(cls, name: str, title: str, word: str, **others: Any) -> Self:
        """Return a measure from its three texts, and attributes that differ from the defaults."""
        return cls(name=name, title=title, word=word, **others)

    def but(self, **changes: Any) -> Self:
        """Return the measure with some changes; output and file are kept unless changed."""
        return self.model_copy(update=changes)

    def best(self, values: Iterable[float]) -> float:
        """Return the best value of a measure with ``better``."""
        return max(values) if self.better == "higher" else min(values)

    @property
    def caption(self) -> str:
        """Description of the numbers."""
        where = f" on the {self.where}" if self.where else ""
        return self.title + where + (" in percent" if self.percent else "")

    @property
    def heading(self) -> str:
        """The word with a capital, to start a sentence or head a column."""
        return f"{self.word[:1].upper()}{self.word[1:]}"

    @property
    def axis_label(self) -> str:
        """Label of an axis, with the unit."""
        units = {"seconds": " (s)", "bytes": " (MiB)"}
        return self.title + (" (%)" if self.percent else units.get(self.unit, ""))

    def on(self, where: str, prefix: str) -> Self:
        """Return the measure on other, optional rows; it shares the output.

        Parameters
        ----------
        where : str
            The rows, such as ``official test rows``.
        prefix : str
            Such as ``test``: the name becomes ``test_<name>``, the files ``<file>_test``.
        """
        return self.but(
            name=f"{prefix}_{self.name}",
            word=f"{prefix} {self.word}",
            where=where,
            file=f"{self.file}_{prefix}",
            optional=True,
        )


TIME = Measure.of(
    "fit_seconds",
    "Training time",
    "training time",
    better="lower",
    unit="seconds",
    output="time",
    clock="fit",
)
MEMORY = Measure.of("peak_memory", "Peak memory", "peak memory", unit="bytes", output="time")
STANDARD = (TIME, MEMORY)
"""Measures of every task."""


PICTURES = "pictures"
RANKS = "ranks"
GAINS = "gain_table"
PARAMS_TABLE = "params_table"
PUBLISHED_TABLE = "published_table"


WAYS = {
    "table": "A table of every solver at every size, over trials.",
    "boxplot": "A figure with a box for each solver, over trials, at its largest size.",
    "curve": "A figure with a line for each solver, over trials, against the size that is swept.",
    "trace": "A figure with a line for each solver along training, against seconds.",
    "trace_table": "A table of every solver along training, by seconds.",
}
"""Descriptions of the outputs of a measure, by the last part of their names."""

SHARED = {
    PICTURES: "Figures of rows in the plane with the clusters of each solver in colour.",
    RANKS: "A figure of the solvers' mean ranks over several datasets, with Nemenyi's test.",
    GAINS: "A table of what each solver gains over the one that it is compared `against`, trial by "
    "trial, with intervals and tests.",
}
"""Descriptions of the outputs of any task."""

UNASKED = {
    PARAMS_TABLE: "A table of the hyper-parameters that were chosen, next to their grids.",
    PUBLISHED_TABLE: "A table of the paper's numbers next to the measured ones.",
}
"""Descriptions of the outputs of every report."""


def place_asked(output: str, asked: Sequence[str]) -> int:
    """Return the position of a measure's first output among a config's; last if it has none."""
    places = (i for i, name in enumerate(asked) if name.startswith(f"{output}_"))
    return next(places, len(asked))


def is_table(output: str) -> bool:
    """Return whether an output of a config is a table; others are figures."""
    return output.endswith("_table")


def outputs_of(measures: Iterable[Measure], *, swept: bool) -> list[str]:
    """Return all possible tables and figures of some measures, and those of any task.

    Parameters
    ----------
    measures : iterable of Measure
    swept : bool
        Whether a size is swept, against which curves are drawn.
    """
    names: dict[str, None] = {}
    for measure in measures:
        names[f"{measure.output}_table"] = None
        if measure.tally:
            continue
        if measure.better and not measure.unit:
            names[f"{measure.output}_boxplot"] = None
        if swept and measure.unit != "bytes":
            names[f"{measure.output}_curve"] = None
        if measure.traced:
            names[f"{measure.output}_trace"] = names[f"{measure.output}_trace_table"] = None
    return [*names, *SHARED]
