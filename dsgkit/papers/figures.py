"""The figures and tables of the papers as data: contents and arrangement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from dsgkit.config.spec import Count, Problem, Spec, Text
from dsgkit.data.catalogue import DATASETS, DatasetInfo
from dsgkit.errors import DsgError, ResultsError, nearest_or_all, spelled
from dsgkit.papers.schema import Paper, one_of, papers, read_strictly

Dataset = Annotated[str, one_of(DATASETS)]


class Panel(Spec):
    """A panel of a figure, or a row of a table.

    Attributes
    ----------
    title : str
        As printed.
    dataset : str or None
        Its name in the catalogue; None if the paper does not name it.
    stand_in : str or None
        Dataset to show instead if it has no results.
    """

    title: Text
    dataset: Dataset | None = None
    stand_in: Dataset | None = None

    @property
    def info(self) -> DatasetInfo | None:
        """The catalogue's entry for the paper's dataset."""
        return DATASETS[self.dataset] if self.dataset else None


class Further(Panel):
    """A panel that is not in the paper's figure."""


class Flag(Spec):
    """A mark for trials.

    Attributes
    ----------
    measure : str
        Trials with a value above 0 are marked.
    label : str
        Its label in the legend.
    means : str
        Its meaning as a sentence, for captions.
    """

    measure: Text
    label: Text
    means: Text


class Shown(Spec):
    """Base class of the figures and tables of a paper.

    Attributes
    ----------
    number : str
        ``1`` is Figure 1, ``table-1`` is Table 1.
    title : str
        Its content, in our words.
    notes : list of str
        Inferred facts that the text omits, and differences to the printed figure.
    """

    number: Annotated[str, Field(pattern=r"^(table-)?[1-9][0-9]?$")]
    title: Text
    notes: list[Text] = Field(default_factory=list)

    @property
    def name(self) -> str:
        """Its name in the paper, such as ``Figure 2``."""
        kind, _, number = self.number.rpartition("-")
        return f"{kind.capitalize() or 'Figure'} {number}"

    @property
    def is_table(self) -> bool:
        """Whether it is a table."""
        return self.number.startswith("table-")

    @property
    def datasets(self) -> list[str]:
        """Datasets whose results it needs."""
        return []

    @property
    def configs(self) -> list[str]:
        """Further configs whose results it needs."""
        return []


class Arranged(Shown):
    """Base class of figures and tables with panels of methods.

    Attributes
    ----------
    methods : list of str
        Keys of solvers, in the paper's order.
    panels : list of Panel
        Panels in the paper's arrangement.
    """

    methods: Annotated[list[Text], Field(min_length=1)]
    panels: Annotated[list[Panel], Field(min_length=1)]


class OfMethods(Arranged):
    """A figure or table of methods on datasets.

    Attributes
    ----------
    further : list of Further
        Shown on request, and if most of the paper's panels have no results.
    """

    further: list[Further] = Field(default_factory=list)

    @property
    def datasets(self) -> list[str]:
        """Datasets whose results it needs."""
        every = [*self.panels, *self.further]
        return [name for one in every for name in (one.dataset, one.stand_in) if name]


class TimeBySize(OfMethods):
    """Lines of a measure against the swept axis.

    Attributes
    ----------
    measure : str
    columns : int
        Panels in a row.
    """

    kind: Literal["time_by_size"]
    measure: Text = "fit_seconds"
    columns: Count = 4


class Flagged(OfMethods):
    """Base class of figures of trials with a mark for some.

    Attributes
    ----------
    measure : str
    flag : Flag or None
        The mark.
    columns : int
        Panels in a row.
    """

    measure: Text
    flag: Flag | None = None
    columns: Count = 4


class Boxplots(Flagged):
    """Boxes of a measure over trials, all methods at the same sizes."""

    kind: Literal["boxplots"]


class AlongTraining(Flagged):
    """A measure against training time.

    Attributes
    ----------
    size : int
        The largest size up to this one is shown.
    """

    kind: Literal["along_training"]
    size: Count
    columns: Count = 3


class Clusters(Arranged):
    """Pictures of clusters: one per dataset and method.

    Attributes
    ----------
    columns : int
        Panels in a row.
    """

    kind: Literal["clusters"]
    columns: Count = 3

    @property
    def datasets(self) -> list[str]:
        """Datasets whose results it needs."""
        return [one.dataset for one in self.panels if one.dataset]


class MeasureTable(OfMethods):
    """Table of datasets by methods, with published figures if known.

    Attributes
    ----------
    measure : str
    size : int or None
        The largest size up to this one is shown; None for the largest.
    printed : dict of str to str
        The paper's names of methods by key, for published figures without results.
    """

    kind: Literal["measure"]
    measure: Text
    size: Count | None = None
    printed: dict[str, Text] = Field(default_factory=dict)


class Growth(Spec):
    """A measured growth: the slope of log seconds or log bytes on the log of a size.

    Attributes
    ----------
    symbol : str
        Symbol of the size: ``n`` for rows, ``T`` for iterations.
    of : {"time", "memory"}
    a : str or list of str
        A solver at its sizes, or solvers that differ in a parameter.
    axis : str
        ``size`` or that parameter.
    config : str or None
        Config with these solvers; None for the datasets of the table.
    least : int
        Smaller sizes are left out.
    without : dict
        Hyper-parameters of fits to leave out.
    minus : str or None
        A solver whose median is subtracted, as the memory of a process without the method.
    """

    symbol: Text
    of: Literal["time", "memory"] = "time"
    a: Text | list[Text]
    axis: Text = "size"
    config: Text | None = None
    least: Count = 1
    without: dict[str, Any] = Field(default_factory=dict)
    minus: Text | None = None


class Complexities(Shown):
    """Table of the stated orders in ``complexities.csv`` and of measured exponents.

    Attributes
    ----------
    panels : list of Panel
        Datasets on which growth is measured.
    measured : dict
        Growths to measure, by the methods' printed names.
    """

    kind: Literal["complexities"]
    panels: list[Panel] = Field(default_factory=list)
    measured: dict[str, list[Growth]]

    @property
    def growths(self) -> list[Growth]:
        """All growths to measure."""
        return [growth for several in self.measured.values() for growth in several]

    @property
    def datasets(self) -> list[str]:
        """Datasets whose results it needs."""
        return [name for one in self.panels for name in (one.dataset, one.stand_in) if name]

    @property
    def configs(self) -> list[str]:
        """Further configs whose results it needs."""
        return list(dict.fromkeys(growth.config for growth in self.growths if growth.config))


class DatasetTable(Shown):
    """Table of published and actual sizes of datasets.

    Attributes
    ----------
    published : str
        The file in `dsgkit.published` with the table.
    """

    kind: Literal["datasets"]
    published: Annotated[str, Field(pattern=r"^[a-z0-9_]+\.csv$")]


class Stated(Shown):
    """An illustration, or a table of definitions, without measurements.

    Attributes
    ----------
    header : list of str
    rows : list of list of str
    """

    kind: Literal["stated"]
    header: list[Text] = Field(default_factory=list)
    rows: list[list[str]] = Field(default_factory=list)


Figure = Annotated[
    TimeBySize
    | Boxplots
    | AlongTraining
    | Clusters
    | MeasureTable
    | Complexities
    | DatasetTable
    | Stated,
    Field(discriminator="kind"),
]


class Figures(Spec):
    """The figures and tables of one paper.

    Attributes
    ----------
    key : str
        The paper's key.
    shared : dict
        Place for YAML anchors of common panels.
    """

    key: Text
    shared: dict[str, list[Panel]] = Field(default_factory=dict)
    figures: Annotated[list[Figure], Field(min_length=1)]

    @model_validator(mode="after")
    def _numbered(self) -> Figures:
        numbers = Counter(one.number for one in self.figures)
        repeated = [number for number, many in numbers.items() if many > 1]
        if repeated:
            raise Problem(f"two are called {repeated[0]}", "figures")
        return self

    @property
    def paper(self) -> Paper:
        """The catalogue's entry for the paper.

        Raises
        ------
        DsgError
            If there is no paper of this key.
        """
        known = {paper.key: paper for paper in papers()}
        if self.key not in known:
            raise DsgError(f"unknown paper {spelled(self.key)}{nearest_or_all(self.key, known)}")
        return known[self.key]

    @property
    def profiles(self) -> list[str]:
        """The profiles of the paper's protocol; the first one with results is shown."""
        return self.paper.profiles.protocol

    @property
    def datasets(self) -> set[str | None]:
        """The datasets of the paper's panels."""
        several = (getattr(figure, "panels", ()) for figure in self.figures)
        return {panel.dataset for panels in several for panel in panels}

    def config(self, dataset: str) -> str:
        """Return the name of the config of a dataset."""
        return f"{dataset}_{self.paper.suffix}"


class NothingToShowError(ResultsError):
    """Error for a figure or table without results.

    Parameters
    ----------
    paper : Figures
    shown : Shown
    why : str
    """

    def __init__(self, paper: Figures, shown: Shown, why: str) -> None:
        super().__init__(f"{paper.key}/{shown.number}: {why}")
        self.why = why


def read_figures(path: Path) -> Figures:
    """Read the figures and tables of one paper; errors are those of `read_strictly`."""
    return read_strictly(path, Figures, "figures")


@cache
def all_papers() -> tuple[Figures, ...]:
    """Return the figures and tables of all papers, in their order."""
    folder = Path(str(files("dsgkit.published")))
    every = map(read_figures, folder.glob("*_figures.yaml"))
    return tuple(sorted(every, key=lambda figures: figures.paper.number))


def chosen(known: Sequence[Figures], name: str) -> list[tuple[Figures, Shown]]:
    """Return the figure or table of a name such as ``s2auc/1``; all of a paper for ``s2auc``.

    Raises
    ------
    DsgError
        If the paper, figure or table is unknown.
    """
    key, _, number = name.partition("/")
    by_key = {paper.key: paper for paper in known}
    if key not in by_key:
        raise DsgError(f"unknown paper {spelled(key)}{nearest_or_all(key, by_key)}")
    paper = by_key[key]
    by_number = {figure.number: figure for figure in paper.figures}
    if not number:
        return [(paper, figure) for figure in paper.figures]
    if number not in by_number:
        hint = nearest_or_all(number, by_number)
        raise DsgError(f"{key} has no figure or table {spelled(number)}{hint}")
    return [(paper, by_number[number])]


def listing(known: Sequence[Figures]) -> Iterator[tuple[str, str]]:
    """Yield the name and title of every figure and table."""
    for paper in known:
        for figure in paper.figures:
            yield f"{paper.key}/{figure.number}", figure.title
