"""A learning setting: the arrays it gives to solvers, its protocol, its measures and its sweeps.

The runner and the reports know no setting. They move *named arrays* from a trial into an estimator,
and *named numbers* from a judgement into a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from dsgkit.data.targets import Kind
from dsgkit.tasks.given import HIDDEN, takes
from dsgkit.tasks.measures import Digits, Measure
from dsgkit.text.labels import Words
from dsgkit.text.specs import LARGEST_NUMBER, Count, Spec

Point = Mapping[str, Any]
"""A setting of some hyper-parameters."""

At = Mapping[str, int]
"""Sizes by axis: how many rows of each kind a fit is given."""

Scores = list[list[float | None]]
"""Scores of every point on every fold; None where there is none."""


class Axis(BaseModel):
    """A size that a sweep can vary.

    Attributes
    ----------
    name : str
        In configs and records, such as ``unlabeled``.
    title : str
        At axes and heads of columns, such as ``Unlabelled rows``.
    noun : str
        After a number, such as ``unlabelled``.
    drawn : bool
        If true, the trial draws ``max(sweep)`` rows, or ``protocol.<name>`` if the axis is not
        swept. Then there is no ``all``, a trial's `sizes` do not have the axis, and
        hyper-parameters are searched at each fit's own size.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Words
    title: Words
    noun: Words
    drawn: bool = False


class PublishedFigure(BaseModel):
    """A figure that a paper printed.

    Attributes
    ----------
    solver : str
        The method's key in configs.
    measure : str
        Name of a measure of the task.
    decimals : int
        Digits after the point, as printed.
    tolerance : float or None
        Largest difference at which a measured value agrees; None where agreement means nothing.
    flag : str
        In words, why the figure means nothing, or what in the paper it contradicts; else empty.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    solver: Words
    measure: Words
    value: Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
    decimals: Digits = 2
    tolerance: float | None = None
    flag: Words = ""


class Published(BaseModel):
    """Published results on a dataset.

    Attributes
    ----------
    source : str
        The paper, as captions name it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Words
    figures: tuple[PublishedFigure, ...]


class ProtocolSpec(Spec):
    """The ``protocol`` section of a config; every task adds its own settings.

    Attributes
    ----------
    kind : str
        The task.
    trials : int
        Independent repetitions: random splits, or runs.
    """

    kind: str
    trials: Count = 10

    only_for_search: ClassVar[tuple[str, ...]] = ()
    """Settings that do not affect a fit whose hyper-parameters are not searched."""

    only_for_judging: ClassVar[tuple[str, ...]] = ()
    """Settings that decide how a fit is judged, and not which rows its trial has."""

    unsaid: ClassVar[tuple[str, ...]] = ()
    """Settings whose defaults are not part of a result's identity: older results lack them."""

    _swept: str = PrivateAttr("")

    def swept_to(self, axis: Axis, most: int) -> Self:
        """Return the protocol with as many rows drawn as the largest point of a sweep has."""
        drawn = self.model_copy(update={axis.name: most})
        drawn._swept = axis.name
        return drawn

    def why_not(self, axis: Axis, size: int) -> str:
        """Return why a sweep cannot have so many rows of a drawn axis; empty if it can."""
        return ""

    def sweeps(self, axis: Axis) -> bool:
        """Return whether a sweep sets how many rows of an axis are drawn."""
        return self._swept == axis.name

    @property
    def not_of_splits(self) -> tuple[str, ...]:
        """Settings that do not affect the rows of a trial; trials pair where others are equal."""
        return ("trials", *self.only_for_search, *self.only_for_judging)

    @property
    def setting(self) -> str:
        """The setting of all fits, for captions: such as ``200 labelled rows``; may be empty."""
        return ""

    @property
    def protocol(self) -> str:
        """How rows are used, in words."""
        return self.kind

    @property
    def selection(self) -> str:
        """How hyper-parameters are chosen, in words."""
        return ""

    @property
    def chooses(self) -> str:
        """Name of the measure that they are chosen by; empty for that of the task."""
        return ""

    @property
    def oracle(self) -> str:
        """In words, what is chosen by labels that no user has, for captions; else empty."""
        return ""

    def published(self, dataset: str | None) -> Published | None:
        """Return what was published of a dataset, by its name in configs; None if nothing was."""
        return None

    def oracle_data(self, solver: Any, values: Iterable[Any]) -> str:
        """Return in words what a solver is given that no user has; empty if there is nothing.

        Parameters
        ----------
        solver : type
            The solver's class.
        values : iterable
            All values that the config sets or searches for its parameters.
        """
        return "the hidden labels" if takes(solver, HIDDEN) else ""


_OLD_NOT_OF_SPLITS = ("trials", "folds", "select", "repeats", "threshold")
"""`ProtocolSpec.not_of_splits` of all tasks in the package, when results did not keep it yet."""


class SolverFacts(BaseModel):
    """Facts about a solver that a report needs to compare it, and to advise on its grid.

    Attributes
    ----------
    told : str
        Data that it is given and no user has, in words: it is then an upper bound and not a rival.
    ends : dict
        The lowest and the highest value that each searched parameter can take, None without a
        bound that can be reached: a grid cannot be widened beyond it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    told: Words = ""
    ends: dict[Words, tuple[float | None, float | None]] = Field(default_factory=dict)


class Description(BaseModel):
    """A task as its results folder keeps it, so that a report needs nothing else.

    Attributes
    ----------
    setting, protocol, selection, oracle : str
        In words, as in `ProtocolSpec`.
    axis : Axis or None
        The size that is swept.
    chooses : str
        Name of the measure that hyper-parameters are chosen by.
    published : Published or None
        Figures to print next to the measured ones.
    not_of_splits : tuple of str
        As in `ProtocolSpec`.
    solvers : dict of str to SolverFacts
        By the solvers' keys; results of earlier releases have none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Words
    setting: Words = ""
    protocol: Words = ""
    selection: Words = ""
    oracle: Words = ""
    axis: Axis | None = None
    measures: tuple[Measure, ...]
    chooses: Words = ""
    published: Published | None = None
    not_of_splits: tuple[Words, ...] = _OLD_NOT_OF_SPLITS
    solvers: dict[Words, SolverFacts] = Field(default_factory=dict)

    @property
    def caption(self) -> str:
        """The setting of all fits and the choices made by hidden labels, for captions."""
        return ", ".join(filter(None, [self.setting, self.oracle]))


@dataclass(frozen=True)
class Work:
    """Approximate cost of a cell, as `dsgkit.numerics.costs.Cost` counts it.

    Attributes
    ----------
    training, scoring : float
        Operations of training, and of evaluating what was trained.
    memory : int
        Bytes at once.
    n_models : int
        Models that are trained.
    measuring : float
        Operations of computing the measures from the values.
    """

    training: float
    scoring: float
    memory: int
    n_models: int = 1
    measuring: float = 0.0


@dataclass
class Judgement:
    """Scores of a fit, and its trace along training.

    Attributes
    ----------
    scores : dict
        Values of the task's measures by name; None where one has no value.
    trace : list of dict, optional
        Numbers along training.
    artefact : dict of arrays, optional
        Data of a picture; kept in a file of its own.
    """

    scores: dict[str, float | None]
    trace: list[dict[str, float]] = field(default_factory=list)
    artefact: dict[str, Any] = field(default_factory=dict)


class Clock(Protocol):
    """Seconds of the named phases of a cell."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Add the time spent in the ``with`` block to a phase."""
        ...


class Trial(Protocol):
    """One repetition: rows that are drawn, searched, trained on and judged.

    Making one is cheap: rows are drawn when they are first asked for.

    It may have a method ``depends_on(estimator, axis)``: whether what an estimator learns depends
    on the size on the axis of that name. One that does not is fitted once, at the largest size of a
    sweep, and that fit stands at every size. Without the method all do.
    """

    @property
    def sizes(self) -> At:
        """The largest size on every axis of the task that is not `Axis.drawn`."""
        ...

    @property
    def words(self) -> Mapping[str, float | tuple[float, ...]]:
        """Values of parameters by the words that a config may use for them."""
        ...

    def counts(self, at: At) -> dict[str, int]:
        """Return the numbers of rows of a fit, as `Estimator.cost` takes them."""
        ...

    def training(self, at: At) -> dict[str, Any]:
        """Return the named arrays that ``fit`` takes."""
        ...

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the score of every point on every fold, by the measure that chooses.

        Parameters
        ----------
        estimator : estimator
            Its parameters have the values that all points share.
        at : mapping
            Sizes to search with.
        points : sequence of mappings
        """
        ...

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        """Return the approximate cost of `search`."""
        ...

    def fit(self, estimator: Any, at: At, clock: Clock) -> None:
        """Train an estimator; the phase ``fit`` is its time."""
        ...

    def judge(self, model: Any, at: At, clock: Clock) -> Judgement:
        """Return the scores of a fitted estimator, computed in phases of their own."""
        ...

    def fit_work(self, estimator: Any, at: At) -> Work:
        """Return the approximate cost of `fit` and `judge`."""
        ...


class Task(Protocol):
    """A learning setting, under the name that ``protocol: {kind: ...}`` gives.

    Attributes
    ----------
    kind : str
    version : int or str
        Part of every cell's identity: raised when a change makes results differ. A task of a
        user may leave it out; a hash of its file takes its place.
    Spec : type of ProtocolSpec
        Its section of a config.
    axes : tuple of Axis
        Sizes that a sweep can vary, the usual one first; none where nothing can be.
    measures : tuple of Measure
        Numbers that are recorded of a fit in addition to `measures.STANDARD`.
    chooses : str
        Name of the measure that hyper-parameters are chosen by.
    outputs : tuple of str
        Its tables and figures by default.
    words : tuple of str
        Names of `Trial.words`.
    target : {"binary", "ordered", "classes", "numeric"} or None
        Labels that it learns from, or judges by: a dataset of another target is refused.
        A file whose config names no ``target`` gets a number for ``numeric``. A user-defined task
        may leave out this and what follows.
    calls : tuple of str
        Methods that its trials call in addition to ``fit``. A class that lacks one is refused.
    gives : tuple of str
        Names of all arrays that ``fit`` can be given; empty where they are not given by name.
    takes : tuple of str
        Kinds of scikit-learn's estimators that it takes where they do not name it among their
        ``tasks``: ``classifier``, ``regressor`` and ``clusterer``. Their values are what
        ``decision_function`` returns; a regressor's are its predictions.
    extra : tuple of str
        Arrays that are more than labelled rows. Where no solver of a config says what it is
        compared ``against``, those whose ``fit`` takes any of them are compared with the first
        one that takes none.
    """

    kind: ClassVar[str]
    version: ClassVar[int | str]
    Spec: ClassVar[type[ProtocolSpec]]
    axes: ClassVar[tuple[Axis, ...]]
    measures: ClassVar[tuple[Measure, ...]]
    chooses: ClassVar[str]
    outputs: ClassVar[tuple[str, ...]]
    words: ClassVar[tuple[str, ...]]
    target: ClassVar[Kind | None] = None
    calls: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[tuple[str, ...]] = ()

    def trial(self, dataset: Any, spec: Any, seed: int) -> Trial:
        """Return a trial of a dataset.

        Raises
        ------
        DataError
            If the dataset has too few rows for it.
        """
        ...
