"""Figures of the papers, drawn from results in the papers' arrangement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dsgkit.data.prepare import state
from dsgkit.experiment.results import Results
from dsgkit.papers.evidence import Case, Evidence, read_evidence
from dsgkit.papers.figures import (
    AlongTraining,
    Boxplots,
    Clusters,
    Figures,
    Further,
    NothingToShowError,
    OfMethods,
    Panel,
    Shown,
    TimeBySize,
)
from dsgkit.report.clusterings import has_artefacts
from dsgkit.report.numbers import from_to, letter_of
from dsgkit.report.output import FigureOutput
from dsgkit.report.style import INCHES, MAX_COLUMN_PANELS, Width
from dsgkit.report.summary import Size, Summary, different
from dsgkit.report.traces import Race, races
from dsgkit.tasks.measures import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dsgkit.report.boxplots import Flag
    from dsgkit.report.panels import Arrangement

ABSENT_STATES = ("to download", "missing")
"""States of datasets whose files are missing."""


@dataclass(frozen=True)
class Look:
    """Options for the figures of papers.

    Attributes
    ----------
    everything : bool
        Whether all solvers and further datasets are shown.
    width : {"column", "page"} or None
        None for a column with a single panel, else a page.
    profiles : sequence of str
        Profiles to show instead of the paper's protocol.
    """

    everything: bool = False
    width: Width | None = None
    profiles: Sequence[str] = ()


@dataclass(frozen=True)
class Filled:
    """The panels of a figure with their results.

    Attributes
    ----------
    shown : list of Summary
        Summaries for the panels with results.
    empty : dict
        Titles and reasons of the panels without results, by position.
    letters : list of str
        Letters of all panels; empty for a panel that is not in the paper's figure.
    """

    shown: list[Summary]
    empty: dict[int, tuple[str, str]]
    letters: list[str]

    @property
    def by_place(self) -> dict[int, Summary]:
        """The results by the positions of their panels."""
        shown = iter(self.shown)
        return {place: next(shown) for place in range(len(self.letters)) if place not in self.empty}

    def without(self, keep: Callable[[Summary], bool], why: str) -> Filled:
        """Return the panels with those that fail ``keep`` emptied."""
        dropped = {place: (one.title, why) for place, one in self.by_place.items() if not keep(one)}
        kept = [one for place, one in self.by_place.items() if place not in dropped]
        return Filled(kept, self.empty | dropped, self.letters)

    @property
    def without_empty(self) -> Filled:
        """Only the panels with results, with their letters."""
        return Filled(self.shown, {}, [self.letters[place] for place in self.by_place])

    @property
    def left_out(self) -> str:
        """The empty panels by reason, as text."""
        titles: dict[str, list[str]] = {}
        for title, why in self.empty.values():
            titles.setdefault(why.split(":")[0], []).append(title)
        return "; ".join(f"{', '.join(several)} ({why})" for why, several in titles.items())


def needed_evidence(
    wanted: Iterable[tuple[Figures, Shown]], paths: Sequence[Path], look: Look
) -> Evidence:
    """Read the results that figures need from results folders, or folders of them.

    Raises
    ------
    ResultsError
        As `read_evidence` does.
    """
    names = {name for paper, shown in wanted for name in _experiments(paper, shown, look)}
    return read_evidence(paths, names)


def _experiments(paper: Figures, shown: Shown, look: Look) -> list[str]:
    """Return the names of the experiments that a figure may show."""
    profiles = look.profiles or paper.profiles
    configs = map(paper.config, shown.datasets)
    names = [f"{config}-{profile}".rstrip("-") for config in configs for profile in profiles]
    return [*names, *shown.configs]


def filled(
    paper: Figures,
    panels: Sequence[Panel],
    methods: Sequence[str],
    evidence: Evidence,
    look: Look,
) -> Filled:
    """Return panels with the results of their dataset, else of its stand-in."""
    cases = [case_of(paper, panel, evidence, look) for panel in panels]
    names = _names([case.results for case in cases if case], methods, look)
    shown = []
    empty = {}
    for place, (panel, case) in enumerate(zip(panels, cases, strict=True)):
        if case is None:
            empty[place] = (panel.title, _why_absent(panel))
            continue
        keys = [*methods, *case.results.solvers] if look.everything else methods
        own = {key: names[key] for key in dict.fromkeys(keys) if key in case.results.solvers}
        shown.append(Summary(case.results, _title(paper, panel, case, look), own))
    letters = ["" if isinstance(one, Further) else letter_of(i) for i, one in enumerate(panels)]
    return Filled(shown, empty, letters)


def panels_of(paper: Figures, shown: OfMethods, evidence: Evidence, look: Look) -> list[Panel]:
    """Return the paper's panels and, if shown, further ones with results."""
    wanted = look.everything or is_sparse(paper, shown, evidence, look)
    further = shown.further if wanted else []
    return [*shown.panels, *(one for one in further if case_of(paper, one, evidence, look))]


def is_sparse(paper: Figures, shown: OfMethods, evidence: Evidence, look: Look) -> bool:
    """Return whether fewer than half of the paper's panels have results.

    If so, further panels are shown, and empty panels left out.
    """
    cases = [case_of(paper, panel, evidence, look) for panel in shown.panels]
    return 2 * cases.count(None) > len(cases)


def case_of(paper: Figures, panel: Panel, evidence: Evidence, look: Look) -> Case | None:
    """Return the results of a panel's dataset, else of its stand-in."""
    for dataset in filter(None, (panel.dataset, panel.stand_in)):
        profiles = look.profiles or paper.profiles
        if case := evidence.case(dataset, paper.config(dataset), profiles):
            return case
    return None


def _names(results: Sequence[Results], methods: Sequence[str], look: Look) -> dict[str, str]:
    """Return distinct names of solvers by their keys."""
    keys = dict.fromkeys(key for one in results for key in one.solvers)
    wanted = [key for key in keys if look.everything or key in methods]
    labels = {key: next(o.label(key) for o in results if key in o.solvers) for key in wanted}
    return dict(zip(labels, different(labels.values()), strict=True))


def _title(paper: Figures, panel: Panel, case: Case, look: Look) -> str:
    """Return a panel's title, with remarks on another dataset or profile than the paper's."""
    config = paper.config(case.name)
    profile = case.results.experiment.name.removeprefix(config).lstrip("-")
    usual = (look.profiles or paper.profiles)[0]
    remarks = []
    if isinstance(panel, Further):
        remarks = ["not in this figure" if panel.dataset in paper.datasets else "not in the paper"]
    remarks += [f"here {case.name}"] if case.name == panel.stand_in else []
    remarks += [profile or "all sizes"] if profile != usual else []
    return f"{panel.title} ({', '.join(remarks)})" if remarks else panel.title


def _why_absent(panel: Panel) -> str:
    if panel.info is None:
        return "the text does not name it"
    if state(panel.info) in ABSENT_STATES:
        return f"no data here:\n{panel.info.homepage}"
    return "no results here"


def figure_output(paper: Figures, shown: Shown, evidence: Evidence, look: Look) -> FigureOutput:
    """Return a figure of a paper, to be drawn from results.

    Raises
    ------
    ResultsError
        If none of its panels has results.
    """
    if isinstance(shown, Clusters):
        return _clusters(paper, shown, evidence, look)
    assert isinstance(shown, OfMethods)
    parts = filled(paper, panels_of(paper, shown, evidence, look), shown.methods, evidence, look)
    measure = measure_of(paper, shown, parts, look)
    parts = _with_values(shown, parts, measure)
    if not parts.shown:
        raise NothingToShowError(paper, shown, f"nothing to draw: {parts.left_out}")
    left_out = ""
    if is_sparse(paper, shown, evidence, look):
        left_out = f"Left out: {parts.left_out}." if parts.empty else ""
        parts = parts.without_empty
    draw, own_caption = _drawn(shown, parts, measure, look)
    return FigureOutput(
        name=file_name(shown),
        output="",
        shown=parts.shown,
        has=lambda one: one.has(measure),
        draw=draw,
        own_caption=lambda: " ".join(
            filter(
                None, [*_heading(paper, shown), own_caption(), left_out, *_remarks(parts, measure)]
            )
        ),
    )


def _with_values(shown: OfMethods, parts: Filled, measure: Measure) -> Filled:
    """Empty the panels that have no values for this kind of figure."""
    if isinstance(shown, TimeBySize):
        # a line needs two sizes
        return parts.without(lambda one: one.has_curve(measure), "results at a single size")
    if isinstance(shown, AlongTraining):
        return parts.without(
            lambda one: races_at(one, measure, shown.size) is not None, "no values along training"
        )
    return parts.without(lambda one: one.has(measure), "no fit has finished")


def _drawn(shown: OfMethods, parts: Filled, measure: Measure, look: Look) -> Parts:
    if isinstance(shown, TimeBySize):
        return _by_size(shown, parts, measure, look)
    if isinstance(shown, Boxplots):
        return _boxes(shown, parts, measure, look)
    assert isinstance(shown, AlongTraining)
    return _race(shown, parts, measure, look)


def _heading(paper: Figures, shown: Shown) -> list[str]:
    return [f"{paper.key}, {shown.name}: {shown.title}.", *shown.notes]


def _remarks(parts: Filled, measure: Measure) -> list[str]:
    """Return the remarks of finished trials, with their solvers."""
    solvers: dict[str, dict[str, None]] = {}
    for one in parts.shown:
        for entry in one.entries(measure).values():
            for remark in entry.remarks:
                solvers.setdefault(remark, {})[entry.solver] = None
    return [f"Some trials of {', '.join(names)}: {remark}." for remark, names in solvers.items()]


def file_name(shown: Shown) -> str:
    """Return the name of the files of a figure or table, without a suffix."""
    return shown.number if shown.is_table else f"figure-{shown.number}"


def measure_of(paper: Figures, shown: OfMethods, parts: Filled, look: Look) -> Measure:
    """Return the shown measure, as defined in the results."""
    name = getattr(shown, "measure", "")
    for one in parts.shown:
        for measure in one.results.task.measures:
            if measure.name == name and one.has(measure):
                return measure
    raise no_results(paper, shown, look)


def no_results(paper: Figures, shown: Shown, look: Look) -> NothingToShowError:
    """Return the error for a figure without results; it names the configs to run."""
    configs = ", ".join(map(paper.config, shown.datasets))
    profiles = " or ".join(filter(None, look.profiles or paper.profiles))
    profile = f" (profile {profiles})" if profiles else ""
    why = f"no results of its datasets; it shows those of {configs}{profile}"
    return NothingToShowError(paper, shown, why)


Parts = tuple[Callable[[], "Figure"], Callable[[], str]]
"""Functions that draw a figure and return its caption."""


def arrangement(parts: Filled, columns: int, look: Look) -> Arrangement:
    """Return the arrangement of panels at the wanted width."""
    from dsgkit.report.panels import Arrangement

    wide = look.width or ("page" if len(parts.letters) > 1 else "column")
    if wide == "column":
        columns = min(columns, MAX_COLUMN_PANELS)
    return Arrangement(
        columns=columns, width=INCHES[wide], alone=True, empty=parts.empty, letters=parts.letters
    )


def _by_size(shown: TimeBySize, parts: Filled, measure: Measure, look: Look) -> Parts:
    def draw() -> Figure:
        from dsgkit.report.curves import curve_in

        return curve_in(parts.shown, measure, arrangement(parts, shown.columns, look))

    def own_caption() -> str:
        from dsgkit.report.curves import caption

        return caption(parts.shown, measure)

    return draw, own_caption


def common_sizes(summary: Summary, measure: Measure) -> list[Size]:
    """Return the largest size that all solvers finished, and the largest that any finished.

    Solvers without a finished fit do not count.
    """
    entries = summary.entries(measure)
    by_solver = [
        {size for size in summary.sizes if entries[solver, size].values}
        for solver in summary.solvers
    ]
    finished = [sizes for sizes in by_solver if sizes]
    if not finished:
        return summary.sizes[-1:]
    common = set.intersection(*finished)
    largest = {max(common)} if common else set()
    return sorted(largest | {max(set.union(*finished))})


def _flag(shown: Boxplots | AlongTraining, parts: Filled) -> Flag | None:
    from dsgkit.report.boxplots import Flag

    if shown.flag is None:
        return None
    measures = (m for one in parts.shown for m in one.results.task.measures)
    measure = next((m for m in measures if m.name == shown.flag.measure), None)
    return Flag(measure, shown.flag.label) if measure else None


def _trials(parts: Filled) -> str:
    return f"{from_to(one.results.experiment.protocol.trials for one in parts.shown)} trials"


def _flag_words(shown: Boxplots | AlongTraining, parts: Filled) -> str:
    """Return the caption's sentence on marked trials, if the results have the measure."""
    return f" {shown.flag.means}." if shown.flag and _flag(shown, parts) else ""


def _boxes(shown: Boxplots, parts: Filled, measure: Measure, look: Look) -> Parts:
    def draw() -> Figure:
        from dsgkit.report.boxplots import boxplot_at

        sizes = [common_sizes(one, measure) for one in parts.shown]
        flag = _flag(shown, parts)
        return boxplot_at(
            parts.shown, sizes, measure, flag, arrangement(parts, shown.columns, look)
        )

    def own_caption() -> str:
        return (
            f"{measure.caption}: {_trials(parts)}, at the largest size that all methods finished "
            "and, behind a dotted line, at the largest that any did; a dot is a trial, an arrow "
            f"with a median a box far off.{_flag_words(shown, parts)}"
        )

    return draw, own_caption


def races_at(summary: Summary, measure: Measure, size: int) -> Race | None:
    """Return the race at the largest size up to ``size``, else at the smallest."""
    by_size = races(summary, measure)
    if not any(race.times(iterative=True) for race in by_size):
        return None
    return next((race for race in reversed(by_size) if race.size.n <= size), by_size[0])


def _race(shown: AlongTraining, parts: Filled, measure: Measure, look: Look) -> Parts:
    def draw() -> Figure:
        from dsgkit.report.summary import all_solvers
        from dsgkit.report.trace_figure import draw_races

        drawn = [races_at(one, measure, shown.size) for one in parts.shown]
        return draw_races(
            [race for race in drawn if race],
            measure,
            all_solvers(parts.shown),
            _flag(shown, parts),
            arrangement(parts, shown.columns, look),
        )

    def own_caption() -> str:
        return (
            f"{measure.caption} against training time, at the largest number of unlabelled rows up "
            f"to {shown.size:,}: means over {_trials(parts)} within a standard deviation; a method "
            "without iterations is a point (with an arrow and its time where it is further left), "
            f"and what is far off all the time a mark at the edge.{_flag_words(shown, parts)}"
        )

    return draw, own_caption


def _clusters(paper: Figures, shown: Clusters, evidence: Evidence, look: Look) -> FigureOutput:
    parts = filled(paper, shown.panels, shown.methods, evidence, look)
    if not any(map(has_artefacts, parts.shown)):
        raise no_results(paper, shown, look)
    pairs = [(one, solver) for one in parts.shown for solver in one.solvers]
    panels = [(one, solver, _picture_title(one, solver, parts.shown)) for one, solver in pairs]
    columns = 3 if look.everything else shown.columns

    def draw() -> Figure:
        from dsgkit.report.panels import Arrangement
        from dsgkit.report.pictures import pictures_in_rows

        letters = Arrangement(alone=True)
        lettered = [
            (one, solver, letters.title(place, title))
            for place, (one, solver, title) in enumerate(panels)
        ]
        return pictures_in_rows(lettered, columns, INCHES[look.width or "page"])

    def own_caption() -> str:
        from dsgkit.report.pictures import caption

        return caption(parts.shown)

    return FigureOutput(
        name=file_name(shown),
        output="",
        shown=parts.shown,
        has=has_artefacts,
        draw=draw,
        own_caption=lambda: " ".join([*_heading(paper, shown), own_caption()]),
    )


def _picture_title(one: Summary, solver: str, shown: Sequence[Summary]) -> str:
    """Return the title of a picture: the method, the dataset, or both if both vary."""
    several = [len(shown) > 1, any(len(each.solvers) > 1 for each in shown)]
    if several == [True, False]:
        return one.title
    return f"{solver}, {one.title}" if all(several) else solver
