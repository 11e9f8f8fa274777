"""The figures and tables of the papers as in `dsgkit/published/KEY_figures.yaml`, with results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from dsgkit.config.spec import Count, Spec, Text
from dsgkit.errors import DsgError, ResultsError, nearest_or_all, spelled
from dsgkit.experiment.runs import Run, distinct
from dsgkit.papers.judge import Kept, read_kept
from dsgkit.papers.schema import Paper, papers, read_strictly
from dsgkit.report.frame import sizes_with
from dsgkit.tasks.measures import Measure


class Panel(Spec):
    """A panel of a figure, or a row of a table: its title as printed, and its dataset."""

    title: Text
    dataset: Text | None = None  # None if the paper does not name it
    stand_in: Text | None = None  # for a dataset without results
    config: Text | None = None  # of the results, if it is not the paper's usual one


class Growth(Spec):
    """A measured growth: the slope of log seconds or log bytes on the log of a size."""

    symbol: Text  # of the size: n for rows, T for iterations
    of: Literal["time", "memory"] = "time"
    a: Text | list[Text]  # a solver at its sizes, or solvers that differ in a parameter, the axis
    axis: Text = "size"
    config: Text | None = None  # with these solvers; by default the datasets of the table
    least: Count = 1  # smaller sizes are left out, and fits with the hyper-parameters `without`
    without: dict[str, Any] = Field(default_factory=dict)
    minus: Text | None = None  # whose median is subtracted, as the memory of a bare process


class Shown(Spec):
    """A figure or table of a paper: its content, and the arrangement of its panels or rows."""

    number: Text  # "1" is Figure 1, "table-1" is Table 1; no paper has `convergence` and `labels`
    title: Text  # in our words
    kind: Text  # a key of `printed_figures.MAKERS`
    notes: list[Text] = Field(default_factory=list)  # inferred facts, differences to the paper's
    methods: list[Text] = Field(default_factory=list)  # keys of solvers, in the paper's order
    panels: list[Panel] = Field(default_factory=list)
    ending: str = ""  # of the names of its configs
    measure: Text = "fit_seconds"
    flag: str = ""  # trials with a value of this measure above 0 are marked
    size: Count | None = None  # the largest size up to this one is shown
    least: Count = 1  # no smaller size is shown
    x: Literal["seconds", "iteration"] = "seconds"  # along training
    leave_out: dict[str, dict[str, Any]] = Field(default_factory=dict)  # parameters, by solver
    measured: dict[str, list[Growth]] = Field(default_factory=dict)  # by names in complexities.csv
    published: str = ""  # file of the sizes of datasets
    header: list[Text] = Field(default_factory=list)
    rows: list[list[str]] = Field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name in the paper, such as ``Figure 2``."""
        kind, _, number = self.number.rpartition("-")
        named = number.isdigit()
        return f"{kind.capitalize() or 'Figure'} {number}" if named else number.capitalize()

    @property
    def file_name(self) -> str:
        """The name of the figure's files, without a suffix."""
        return f"figure-{self.number}" if self.number.isdigit() else self.number


class _File(Spec):
    key: Text
    figures: list[Shown]


@cache
def figures_of(key: str) -> dict[str, Shown]:
    """Return the figures and tables of a paper by their numbers."""
    path = Path(str(files("dsgkit.published") / f"{key}_figures.yaml"))
    return {one.number: one for one in read_strictly(path, _File, "figures").figures}


def chosen(name: str) -> list[tuple[Paper, Shown]]:
    """Return the figure or table of a name such as ``s2auc/1``; all of a paper for ``s2auc``."""
    key, _, number = name.partition("/")
    by_key = {paper.key: paper for paper in papers()}
    if key not in by_key:
        raise DsgError(f"unknown paper {spelled(key)}{nearest_or_all(key, by_key)}")
    by_number = figures_of(key)
    if number and number not in by_number:
        hint = nearest_or_all(number, by_number)
        raise DsgError(f"{key} has no figure or table {spelled(number)}{hint}")
    return [(by_key[key], one) for one in by_number.values() if number in ("", one.number)]


def listing() -> list[tuple[str, str]]:
    """Return the name and title of every figure and table."""
    return [
        (f"{paper.key}/{number}", one.title)
        for paper in papers()
        for number, one in figures_of(paper.key).items()
    ]


@dataclass(frozen=True)
class Printed:
    """A figure or table of a paper, with the results that it shows."""

    paper: Paper
    shown: Shown
    kept: Kept
    profiles: Sequence[str]  # the first one with results is shown
    width: float | None
    runs: Mapping[str, Run]  # by the titles of panels; their own say what is shown instead
    names: Mapping[str, str]  # of shown solvers by their keys, in the paper's order

    def measure(self) -> Measure:
        """Return the measure, as defined in the results; raise `ResultsError` without values."""
        for run in self.runs.values():
            for measure in run.task.measures:
                if measure.name == self.shown.measure and sizes_with(run, measure):
                    return measure
        configs = [config_of(self.paper, self.shown, panel) for panel in self.shown.panels]
        which = f"{', '.join(filter(None, configs))} ({' or '.join(filter(None, self.profiles))})"
        raise self.error(f"no results of its datasets; it shows those of {which}")

    def error(self, why: str) -> ResultsError:
        return ResultsError(f"{self.paper.key}/{self.shown.number}: {why}")

    def caption(self, *sentences: str) -> str:
        heading = f"{self.paper.key}, {self.shown.name}: {self.shown.title}."
        return " ".join(filter(None, [heading, *sentences]))


def config_of(paper: Paper, shown: Shown, panel: Panel, dataset: str | None = None) -> str:
    """Return the name of the config of a panel, or of its stand-in; empty without a dataset."""
    name = dataset or panel.dataset
    return panel.config or (f"{name}_{paper.suffix}{shown.ending}" if name else "")


def read_needed(
    wanted: Sequence[tuple[Paper, Shown]], paths: Sequence[Path], profiles: Sequence[str]
) -> Kept:
    """Read the results that figures need from results folders, or folders of them."""
    names: set[str] = set()
    for paper, shown in wanted:
        configs = [config_of(paper, shown, one, one.stand_in) for one in shown.panels]
        configs += [config_of(paper, shown, one) for one in shown.panels]
        configs += [one.config or "" for several in shown.measured.values() for one in several]
        ends = ["", *(f"-{one}" for one in profiles or paper.profiles.protocol if one)]
        names |= {f"{config}{end}" for config in configs if config for end in ends}
    return read_kept(paths, names)


def fill(
    paper: Paper,
    shown: Shown,
    kept: Kept,
    profiles: Sequence[str] = (),
    width: float | None = None,
) -> Printed:
    profiles = profiles or paper.profiles.protocol
    usual = [*profiles[: profiles.index("") + 1]] if "" in profiles else ["", profiles[0]]
    runs: dict[str, Run] = {}
    for panel in shown.panels:
        for dataset in filter(None, (panel.stand_in, panel.dataset)):
            config = config_of(paper, shown, panel, dataset)
            if run := kept.find(config, profiles):
                profile = run.experiment.name.removeprefix(config).lstrip("-")
                remarks = [f"here {dataset}"] * (dataset != panel.dataset)
                remarks += [profile] * (profile not in usual)
                title = f"{panel.title} ({', '.join(remarks)})" if remarks else panel.title
                runs[panel.title] = replace(run, title=title)
    labels = {key: name for run in reversed(runs.values()) for key, name in run.names.items()}
    keys = [key for key in shown.methods if key in labels] or [*labels]
    names = dict(zip(keys, distinct(labels[key] for key in keys), strict=True))
    for title, run in runs.items():
        own = {key: name for key, name in names.items() if key in run.names}
        runs[title] = run.named(own, run.title)
    return Printed(paper, shown, kept, profiles, width, runs, names)


def at_most(sizes: Sequence[int], most: int | None) -> int:
    """Return the largest of some ascending sizes up to a limit, else the smallest."""
    return max((n for n in sizes if most is None or n <= most), default=sizes[0])
