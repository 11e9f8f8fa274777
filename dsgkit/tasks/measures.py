"""Measures: everything that tables, figures, comparisons and choices know of a number.

A measure is plain data. It is stored with the results, so that a report of them needs neither the
task nor its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from dsgkit.text.labels import Words
from dsgkit.text.specs import LARGEST_NUMBER

Digits = Annotated[int, Field(ge=0, le=15)]
"""After the point, of a number that is printed."""

FileName = Annotated[str, Field(pattern=r"^[^./\\\x00-\x1f][^/\\\x00-\x1f]{0,99}$")]
"""The first part of names of files, in the folder that they go to."""


class Measure(BaseModel):
    """One number that is recorded of every fit.

    Attributes
    ----------
    name : str
        Key in a record's ``scores``, and column of the results.
    title : str
        Its name at the head of a table and at an axis.
    word : str
        In a sentence.
    where : str
        The rows that it is taken on; empty where the title says all.
    caution : str
        Words on what it cannot say, after its name in findings; a solver that leads in it is then
        not called the best.
    better : {"higher", "lower"} or None
        Which values are good; None where neither is.
    digits : int
        Digits after the point in tables, of percents where it is one.
    percent : bool
        Whether tables and figures show percents of 1.
    unit : {"", "seconds", "bytes"}
        Seconds are compared as ratios and drawn on log axes; of bytes the largest trial is shown.
    output : str
        Its name in a config's ``outputs``: ``<output>_table``, ``<output>_boxplot``; by
        default the name.
    file : str
        The first part of its files' names, by default the output; measures of one file are one
        table below the other.
    clock : str
        The phase of a cell whose seconds it is; empty for a score.
    optional : bool
        Whether it is left out, without a word, where no fit has a value.
    for_published : bool
        Whether it explains what was published: shown only of datasets with published figures, and
        in a terminal only by name.
    least_range : float
        Least range of the axis of a boxplot, so that chance differences stay small.
    tally : bool
        Whether it is 1 of a trial that is counted and 0 of another: tables show how many of how
        many, and there is no figure.
    traced : bool
        Whether the traces of fits have it at checkpoints along training: ``<output>_trace`` and
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
        """Return a measure by its three texts, and what differs from the defaults."""
        return cls(name=name, title=title, word=word, **others)

    def but(self, **changes: Any) -> Self:
        """Return the same measure with some changes; the output and file stay, if not changed."""
        return self.model_copy(update=changes)

    def best(self, values: Iterable[float]) -> float:
        """Return the best of some values of a measure that has a better side."""
        return max(values) if self.better == "higher" else min(values)

    @property
    def caption(self) -> str:
        """A description of the numbers."""
        where = f" on the {self.where}" if self.where else ""
        return self.title + where + (" in percent" if self.percent else "")

    @property
    def heading(self) -> str:
        """The word as it begins a sentence, or heads a column."""
        return f"{self.word[:1].upper()}{self.word[1:]}"

    @property
    def axis_label(self) -> str:
        """The words at an axis."""
        units = {"seconds": " (s)", "bytes": " (MiB)"}
        return self.title + (" (%)" if self.percent else units.get(self.unit, ""))

    def on(self, where: str, prefix: str) -> Self:
        """Return the same measure on other rows, where there are such; it shares the output.

        Parameters
        ----------
        where : str
            The rows, such as ``official test rows``.
        prefix : str
            Such as ``test``: the name becomes ``test_<name>``, the files are ``<file>_test``.
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
"""The measures of every task."""


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
"""The ways to show a measure, by the last part of an output's name, and what each is."""

SHARED = {
    PICTURES: "Figures of rows in the plane with the clusters of each solver in colour.",
    RANKS: "A figure of the solvers' mean ranks over several datasets, with Nemenyi's test.",
    GAINS: "A table of what each solver gains over the one that it is compared `against`, trial by "
    "trial, with intervals and tests.",
}
"""The outputs of any task, and what each is."""

UNASKED = {
    PARAMS_TABLE: "A table of the hyper-parameters that were chosen, next to their grids.",
    PUBLISHED_TABLE: "A table of the paper's numbers next to the measured ones.",
}
"""The outputs that every report has, and what each is."""


def place_asked(output: str, asked: Sequence[str]) -> int:
    """Return the place of a measure's first output in those of a config; behind all if in none."""
    places = (i for i, name in enumerate(asked) if name.startswith(f"{output}_"))
    return next(places, len(asked))


def is_table(output: str) -> bool:
    """Return whether an output of a config is a table; others are figures."""
    return output.endswith("_table")


def outputs_of(measures: Iterable[Measure], *, swept: bool) -> list[str]:
    """Return the tables and figures that there can be of some measures, and those of any.

    Parameters
    ----------
    measures : iterable of Measure
    swept : bool
        Whether a size is varied, against which curves can be drawn.
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
