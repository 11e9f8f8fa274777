"""Base classes of learning settings: arrays for solvers, protocol, measures and sweeps.

The runner and the reports are independent of the setting. They pass *named arrays* from a trial to
an estimator, and *named numbers* from a judgement to a record.
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
"""Values of some hyper-parameters."""

At = Mapping[str, int]
"""Sizes by axis: the numbers of rows of each kind for a fit."""

Scores = list[list[float | None]]
"""Scores of every point on every fold; None if a fold has no score."""


class Axis(BaseModel):
    """A size that a sweep can vary.

    Attributes
    ----------
    name : str
        Name in configs and records, such as ``unlabeled``.
    title : str
        Title of axes and columns, such as ``Unlabelled rows``.
    noun : str
        Word after a number, such as ``unlabelled``.
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
        Largest difference at which a measured value agrees; None if the two are not comparable.
    flag : str
        Reason why the figure is meaningless, or what in the paper it contradicts; else empty.
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
        The paper, as named in captions.
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
    """Settings that affect how a fit is judged, but not the rows of its trial."""

    unsaid: ClassVar[tuple[str, ...]] = ()
    """Settings whose defaults are not part of a result's identity, as older results lack them."""

    _swept: str = PrivateAttr("")

    def swept_to(self, axis: Axis, most: int) -> Self:
        """Return the protocol that draws ``most`` rows, for the largest point of a sweep."""
        drawn = self.model_copy(update={axis.name: most})
        drawn._swept = axis.name
        return drawn

    def why_not(self, axis: Axis, size: int) -> str:
        """Return why a sweep cannot have ``size`` rows of a drawn axis; empty if it can."""
        return ""

    def sweeps(self, axis: Axis) -> bool:
        """Return whether a sweep sets the number of drawn rows of an axis."""
        return self._swept == axis.name

    @property
    def not_of_splits(self) -> tuple[str, ...]:
        """Settings that do not affect the rows of a trial; trials pair if all others are equal."""
        return ("trials", *self.only_for_search, *self.only_for_judging)

    @property
    def setting(self) -> str:
        """Setting of all fits, for captions, such as ``200 labelled rows``; may be empty."""
        return ""

    @property
    def protocol(self) -> str:
        """Description of how rows are used."""
        return self.kind

    @property
    def selection(self) -> str:
        """Description of how hyper-parameters are chosen."""
        return ""

    @property
    def chooses(self) -> str:
        """Name of the measure that chooses them; empty for that of the task."""
        return ""

    @property
    def oracle(self) -> str:
        """Choices made by labels that no user has, for captions; else empty."""
        return ""

    def published(self, dataset: str | None) -> Published | None:
        """Return published results on a dataset, by its name in configs; None if there are none."""
        return None

    def oracle_data(self, solver: Any, values: Iterable[Any]) -> str:
        """Return a text on the data of a solver that no user has; empty if there is none.

        Parameters
        ----------
        solver : type
            The solver's class.
        values : iterable
            All values that the config sets or searches for its parameters.
        """
        return "the hidden labels" if takes(solver, HIDDEN) else ""


_OLD_NOT_OF_SPLITS = ("trials", "folds", "select", "repeats", "threshold")
"""`ProtocolSpec.not_of_splits` for results of earlier releases, which did not store it."""


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
    """Description of a task in its results folder, so that a report needs nothing else.

    Attributes
    ----------
    setting, protocol, selection, oracle : str
        Texts as in `ProtocolSpec`.
    axis : Axis or None
        The swept size.
    chooses : str
        Name of the measure that chooses hyper-parameters.
    published : Published or None
        Figures to print next to the measured ones.
    not_of_splits : tuple of str
        As in `ProtocolSpec`.
    solvers : dict of str to SolverFacts
        Facts by the solvers' keys; results of earlier releases have none.
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
        """Setting of all fits and choices made by hidden labels, for captions."""
        return ", ".join(filter(None, [self.setting, self.oracle]))


@dataclass(frozen=True)
class Work:
    """Approximate cost of a cell, in the units of `dsgkit.numerics.costs.Cost`.

    Attributes
    ----------
    training, scoring : float
        Operations of training, and of evaluating the trained models.
    memory : int
        Peak bytes.
    n_models : int
        Number of trained models.
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
        Values of the task's measures by name; None for a measure without a value.
    trace : list of dict, optional
        Numbers at checkpoints of training.
    artefact : dict of arrays, optional
        Data of a picture; kept in a separate file.
    """

    scores: dict[str, float | None]
    trace: list[dict[str, float]] = field(default_factory=list)
    artefact: dict[str, Any] = field(default_factory=dict)


class Clock(Protocol):
    """Clock of the named phases of a cell."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Add the time spent in the ``with`` block to a phase."""
        ...


class Trial(Protocol):
    """One repetition: draws rows, searches, trains and judges.

    Construction is cheap: rows are drawn on first use.

    It may have a method ``depends_on(estimator, axis)``, which returns whether a fit depends on the
    size on the axis of that name. An estimator that does not is fitted only once, at the largest
    size of a sweep, and that fit is used at every size. Without the method, all depend on it.
    """

    @property
    def sizes(self) -> At:
        """Largest size on every axis of the task that is not `Axis.drawn`."""
        ...

    @property
    def words(self) -> Mapping[str, float | tuple[float, ...]]:
        """Values of the words that a config may use for parameters."""
        ...

    def counts(self, at: At) -> dict[str, int]:
        """Return the numbers of rows of a fit, the arguments of `Estimator.cost`."""
        ...

    def training(self, at: At) -> dict[str, Any]:
        """Return the named arrays for ``fit``."""
        ...

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the score of every point on every fold, by the measure that chooses.

        Parameters
        ----------
        estimator : estimator
            With the parameter values that all points share.
        at : mapping
            Sizes to search with.
        points : sequence of mappings
        """
        ...

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        """Return the approximate cost of `search`."""
        ...

    def fit(self, estimator: Any, at: At, clock: Clock) -> None:
        """Train an estimator, in the phase ``fit``."""
        ...

    def judge(self, model: Any, at: At, clock: Clock) -> Judgement:
        """Return the scores of a fitted estimator, computed in further phases."""
        ...

    def fit_work(self, estimator: Any, at: At) -> Work:
        """Return the approximate cost of `fit` and `judge`."""
        ...


class Task(Protocol):
    """A learning setting, selected by ``protocol: {kind: ...}``.

    Attributes
    ----------
    kind : str
    version : int or str
        Part of every cell's identity, raised when a change affects results. A user-defined task may
        omit it; a hash of its file is then used.
    Spec : type of ProtocolSpec
        Its section of a config.
    axes : tuple of Axis
        Sizes that a sweep can vary, the usual one first; may be empty.
    measures : tuple of Measure
        Numbers that are recorded for a fit in addition to `measures.STANDARD`.
    chooses : str
        Name of the measure that chooses hyper-parameters.
    outputs : tuple of str
        Default tables and figures.
    words : tuple of str
        Names of `Trial.words`.
    target : {"binary", "ordered", "classes", "numeric"} or None
        Kind of labels for training or judging: datasets with another target are rejected. If the
        config of a file names no ``target``, ``numeric`` reads its labels as numbers. A
        user-defined task may omit this and the following attributes.
    calls : tuple of str
        Methods that its trials call in addition to ``fit``. Classes that lack one are rejected.
    gives : tuple of str
        Names of all arrays that ``fit`` can receive; empty if they are not passed by name.
    takes : tuple of str
        Kinds of scikit-learn estimators that it accepts even if they do not list it in their
        ``tasks``: ``classifier``, ``regressor`` and ``clusterer``. Values come from
        ``decision_function``, or from the predictions of a regressor.
    extra : tuple of str
        Arrays other than labelled rows. If no solver of a config has ``against``, solvers whose
        ``fit`` takes any of them are compared with the first one that takes none.
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
