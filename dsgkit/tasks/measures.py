"""What a results folder stores of its task, as plain data: measures, axis, texts, facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Axis(_Stored):
    """A size that a sweep can vary: its name in configs, title, and the word after a number.

    If it is ``drawn``, the trial draws ``max(sweep)`` rows, or ``protocol.<name>`` if the axis is
    not swept: there is no ``all``, and hyper-parameters are searched at each fit's own size.
    """

    name: str
    title: str
    noun: str
    drawn: bool = False


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Measure:
    """One number that is recorded of every fit.

    Attributes
    ----------
    name, title, word : str
        Key in records and column of results, title of tables and axes, name in sentences (by
        default the title with a small letter).
    where : str
        The rows on which it is computed; empty if the title is clear without them.
    caution : str
        Its limits, for findings; a solver that leads in it is then not called the best.
    better : {"higher", "lower"} or None
        Which values are better; None if neither.
    digits, percent : int, bool
        How tables show it: digits after the point, after conversion to percent.
    unit : {"", "seconds", "bytes"}
        Seconds are compared as ratios and drawn on log axes; for bytes the largest trial is shown.
    output, file : str
        Its name in a config's ``outputs`` (``<output>_table``, ``<output>_boxplot``), by default
        the name; and the first part of file names, by default the output. Tables of measures with
        the same file are printed below each other.
    clock : str
        The phase of a cell whose seconds it is; empty for a score.
    optional, for_published : bool
        Omitted without notice if no fit has a value; shown only next to published figures.
    least_range : float
        Smallest range of the axis of a boxplot, so that small differences look small.
    tally : bool
        1 for counted trials and 0 for others: tables show ``n of m``, and there is no figure.
    traced : bool
        Measured at checkpoints of training, too, and shown against training time.
    """

    name: str
    title: str
    word: str = ""
    where: str = ""
    caution: str = ""
    better: Literal["higher", "lower"] | None = None
    digits: int = 3
    percent: bool = False
    unit: Literal["", "seconds", "bytes"] = ""
    output: str = ""
    file: str = ""
    clock: str = ""
    optional: bool = False
    for_published: bool = False
    least_range: float = 0.0
    tally: bool = False
    traced: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", self.word or self.title[:1].lower() + self.title[1:])
        object.__setattr__(self, "output", self.output or self.name)
        object.__setattr__(self, "file", self.file or self.output)

    def on(self, where: str, prefix: str) -> Self:
        """Return the measure on other, optional rows, as ``<prefix>_<name>`` in the same output."""
        return replace(
            self,
            name=f"{prefix}_{self.name}",
            word=f"{prefix} {self.word}",
            where=where,
            file=f"{self.file}_{prefix}",
            optional=True,
        )

    @property
    def caption(self) -> str:
        """Title, rows and unit of the numbers."""
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


class PublishedFigure(_Stored):
    """A number that a paper printed, by the method's key in configs and the name of a measure.

    ``tolerance`` is the largest difference at which a measured value agrees, None if the two are
    not comparable; ``flag`` says why the figure is meaningless, or what it contradicts.
    """

    solver: str
    measure: str
    value: float
    decimals: int = 2
    tolerance: float | None = None
    flag: str = ""


class Published(_Stored):
    """Published results on a dataset; ``source`` names the paper in captions."""

    source: str
    figures: tuple[PublishedFigure, ...]


# kinds of solvers that predict one class for every row: they do not compete in time
TRIVIAL = ("constant_median", "majority_class")


class SolverFacts(_Stored):
    """Facts about a solver that a report needs to compare it, and to advise on its grid.

    ``told`` names data that it is given and no user has: it is then an upper bound, not a rival.
    ``ends`` are the lowest and highest value of each searched parameter, None without a bound.
    """

    told: str = ""
    ends: dict[str, tuple[float | None, float | None]] = Field(default_factory=dict)


class Description(_Stored):
    """Description of a task in its results folder; texts are those of `tasks.base.ProtocolSpec`.

    ``not_of_splits`` are settings that do not affect the rows of a trial: trials of two runs pair
    if all others are equal.
    """

    kind: str
    setting: str = ""
    protocol: str = ""
    selection: str = ""
    oracle: str = ""
    draws: str = "rows"
    axis: Axis | None = None
    measures: tuple[Measure, ...]
    chooses: str = ""
    published: Published | None = None
    not_of_splits: tuple[str, ...] = ("trials", "folds", "select", "repeats", "threshold")
    solvers: dict[str, SolverFacts] = Field(default_factory=dict)

    @property
    def caption(self) -> str:
        """Setting of all fits and choices made by hidden labels, for captions."""
        return ", ".join(filter(None, [self.setting, self.oracle]))


_WRITTEN = yaml.safe_load(Path(__file__).with_name("measures.yaml").read_text("utf-8"))
MEASURES = {
    kind: tuple(Measure(name, **attributes) for name, attributes in measures.items())
    for kind, measures in _WRITTEN.items()
}  # of the package's tasks
TIME, MEMORY = STANDARD = MEASURES["every_task"]

# of `load_results`; parameters and measures come between these
FIRST_COLUMNS = ("config", "dataset", "task", "solver", "label", "axis", "size", "trial")
LAST_COLUMNS = ("cell_seconds", "status", "message", "remark", "key")
PICTURES, GAINS = "pictures", "gain_table"
PARAMS_TABLE, PUBLISHED_TABLE = "params_table", "published_table"


def outputs_of(measures: Iterable[Measure], *, swept: bool) -> list[str]:
    """Return all tables and figures of some measures, with curves if a size is swept."""
    names: dict[str, None] = {}
    for measure in measures:
        ways = ["table"]
        if not measure.tally:
            ways += ["boxplot"] * bool(measure.better and not measure.unit)
            ways += ["curve"] * (swept and measure.unit != "bytes")
            ways += ["trace"] * measure.traced
        names |= dict.fromkeys(f"{measure.output}_{way}" for way in ways)
    return [*names, PICTURES, GAINS]


def place_asked(output: str, asked: Sequence[str]) -> int:
    """Return the position of a measure's first output among a config's; last if it has none."""
    places = (i for i, name in enumerate(asked) if name.startswith(f"{output}_"))
    return next(places, len(asked))
