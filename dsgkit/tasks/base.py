"""Learning settings: what a solver is given, how it is judged, and what a sweep varies.

The runner passes *named arrays* from a task to an estimator, and *named numbers* from a judgement
to a record; runner and reports know no setting.
"""

from __future__ import annotations

import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from dsgkit.config.spec import Interval, Repetitions, Spec, validated
from dsgkit.data.targets import NEEDS, Kind
from dsgkit.errors import ConfigError, FitError, nearest_or_all, spelled
from dsgkit.linalg import checked_shape
from dsgkit.tasks.measures import FIRST_COLUMNS, LAST_COLUMNS, STANDARD, Axis, Measure
from dsgkit.user_code import calling, load, place_of

Point = Mapping[str, Any]  # values of some hyper-parameters
At = Mapping[str, int]  # sizes by axis: the numbers of rows of each kind for a fit
Scores = list[list[float | None]]  # of every point on every fold; None if a fold has no score

HIDDEN = "y_unlabeled"  # labels of unlabelled rows, passed only to a ``fit`` that names them
N_CHECKPOINTS = 14  # of an observed training, approximately


class ProtocolSpec(Spec):
    """The ``protocol`` section of a config; every task adds its own settings.

    Attributes
    ----------
    kind : str
        The learning setting: a name of ``dsg list tasks``, or a class of yours.
    trials : int
        Number of independent repetitions, each with random draws of its own.
    only_for_search, only_for_judging : tuple of str
        Settings that do not affect a fit without a search; those that affect how a fit is judged,
        but not the rows of its trial.
    unsaid : tuple of str
        Settings whose defaults are not part of a result's identity, as older results lack them.
    setting, protocol, selection, oracle : str
        Texts for captions, which may be empty: the setting of all fits, such as ``200 labelled
        rows``; how rows are used; how hyper-parameters are chosen; choices by labels that no user
        has.
    chooses : str
        Name of the measure that chooses hyper-parameters; empty for that of the task.
    told : dict of str to str
        Data that no user knows, in words, by the array of ``fit``, or the word for a parameter,
        that gives them to a solver.
    published : callable or None
        Published results (``measures.Published``, or None) by the name of a dataset in configs.
    """

    kind: str
    trials: Repetitions = 10

    only_for_search: ClassVar[tuple[str, ...]] = ()
    only_for_judging: ClassVar[tuple[str, ...]] = ()
    unsaid: ClassVar[tuple[str, ...]] = ()
    # a subclass may make properties of these
    setting: ClassVar[Any] = ""
    selection: ClassVar[Any] = ""
    oracle: ClassVar[Any] = ""
    chooses: ClassVar[Any] = ""
    told: ClassVar[Mapping[str, str]] = {HIDDEN: "the hidden labels"}
    published: ClassVar[Any] = None
    _swept: str = PrivateAttr("")

    def swept_to(self, axis: Axis, size: int) -> Self:
        """Return the protocol that draws ``size`` rows, for a sweep; ``Problem`` if it cannot."""
        drawn = validated(type(self), {**dict(self), axis.name: size})
        drawn._swept = axis.name
        return drawn

    @property
    def protocol(self) -> str:
        return f"{self.kind} with {self.setting}" if self.setting else self.kind


@dataclass(frozen=True)
class Work:
    """Approximate operations and bytes of a cell, in the units of `dsgkit.costs.Cost`."""

    training: float
    scoring: float
    memory: int
    n_models: int = 1
    measuring: float = 0.0


@dataclass
class Judgement:
    """Scores by measure (None without a value), numbers at checkpoints, arrays of a picture."""

    scores: dict[str, float | None]
    trace: list[dict[str, float]] = field(default_factory=list)
    artefact: dict[str, Any] = field(default_factory=dict)


class Task:
    """A learning setting, selected by ``protocol: {kind: ...}``; an instance is one trial.

    Construction, from a dataset, an instance of ``Spec`` and the trial's seed, is cheap: rows are
    drawn on first use. A user-defined setting is a subclass. ``clock.phase(name)`` is a context
    that adds the time spent in it to a phase of the cell.

    Attributes
    ----------
    kind, version : str, int or str
        Its name, for a user-defined task its import path; and a part of every cell's identity,
        raised when a change affects results, by default a hash of a user-defined task's file.
    Spec : type of ProtocolSpec
        Its section of a config.
    axes : tuple of Axis
        Sizes that a sweep can vary, the usual one first; may be empty.
    measures, chooses, outputs : tuple of Measure, str, tuple of str
        Numbers that are recorded of a fit in addition to ``measures.STANDARD``, the name of the one
        that chooses hyper-parameters, and the default tables and figures.
    words : tuple of str
        Words for numbers of the trial (`values`) that a config may use for parameters.
    draws : str
        The rows that a trial draws, such as ``labelled rows``. Empty if all trials see the same
        rows: then no difference is tested.
    target : {"binary", "ordered", "classes", "numeric"} or None
        Kind of labels for training or judging: datasets with another target are rejected. If the
        config of a file names no ``target``, ``numeric`` reads its labels as numbers.
    gives, extra : tuple of str
        Names of all arrays that ``fit`` can receive, empty if they are not passed by name; and of
        those other than labelled rows. If no solver of a config has ``against``, solvers whose
        ``fit`` takes any of these are compared with the first one that takes none.
    grows : dict of str to tuple of str
        Arrays that grow along an axis. A fit that uses none of them is done once, at the largest
        size of a sweep. All fits depend on an axis that is not listed.
    takes : tuple of {"classifier", "regressor", "clusterer"}
        Kinds of scikit-learn estimators that it accepts as they are. Values come from
        ``decision_function``, or from the predictions of a regressor.
    phases : dict of str to str
        Methods that train a solver that has all of them, by the phase of a cell that times them.
    sizes, n_scored : dict of str to int, int
        Largest size on every axis that is not ``Axis.drawn``, and the number of rows on which a fit
        is judged, for plans. Set by the constructor, which raises `DataError` if the dataset has
        too few rows or another kind of target.
    """

    kind: ClassVar[str] = ""
    version: ClassVar[int | str] = 1
    Spec: ClassVar[type[ProtocolSpec]] = ProtocolSpec
    axes: ClassVar[tuple[Axis, ...]] = ()
    measures: ClassVar[tuple[Measure, ...]]
    chooses: ClassVar[str]
    outputs: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[tuple[str, ...]] = ()
    draws: ClassVar[str] = "rows"
    target: ClassVar[Kind | None] = None
    gives: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[tuple[str, ...]] = ()
    grows: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    takes: ClassVar[tuple[str, ...]] = ()
    phases: ClassVar[Mapping[str, str]] = {"fit": "fit"}
    measuring_flops: ClassVar[float] = 0.0  # of a row that judges
    sizes: dict[str, int]
    n_scored = 0

    def __init__(self, dataset: Any, spec: Any, seed: int) -> None:
        self.dataset, self.spec, self.seed = dataset, spec, seed
        self.sizes = {}
        self._along: tuple[Any, list[tuple[int, float, Any]]] = (None, [])
        if self.target is not None and dataset.target.kind != self.target:
            raise dataset.error(
                f"the target is: {dataset.target.words}; set "
                f"`dataset.target`, as the task needs {NEEDS[self.target]}"
            )
        if dataset.similar_pairs is not None and "X_similar" not in self.gives:
            raise dataset.error("`pairs` are for the task similar_unlabeled")

    @property
    def values(self) -> Mapping[str, float | tuple[float, ...]]:
        """The numbers that ``words`` stand for."""
        return {}

    def drawn_rows(self) -> dict[str, Any]:
        """Return the drawn rows of the dataset by part; a fit at a smaller size takes the first."""
        return {}

    def fold_rows(self, at: At) -> dict[str, list[Any]]:
        """Return the rows of every fold of a search by part."""
        return {}

    def counts(self, at: At) -> dict[str, int]:
        """Return the numbers of rows of a fit, the arguments of a solver's ``cost``."""
        return {f"n_{axis}": size for axis, size in at.items()}

    def training(self, at: At) -> dict[str, Any]:
        """Return the named arrays for ``fit``."""
        raise NotImplementedError

    def given(self, estimator: Any, at: At) -> dict[str, Any]:
        """Return the arrays that an estimator's ``fit`` names."""
        return named_by_fit(estimator, self.training(at))

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the scores of points; the estimator has the values that all points share."""
        raise NotImplementedError

    def fit(self, estimator: Any, at: At, clock: Any) -> None:
        """Train an estimator in the phase ``fit`` or in ``phases``; see `observed`."""
        training, n_iterations = self.given(estimator, at), self.observed(estimator, at)
        self._along = estimator, []
        has_all = all(hasattr(estimator, method) for method in self.phases.values())
        for phase, method in (self.phases if has_all else Task.phases).items():
            with clock.phase(phase):
                if phase == "fit" and n_iterations is not None:
                    observe = lambda *checkpoint: self._along[1].append(checkpoint)  # noqa: E731
                    estimator.fit_observed(
                        **training, at=checkpoints(n_iterations), observe=observe
                    )
                else:
                    getattr(estimator, method)(**training)

    def observed(self, estimator: Any, at: At) -> int | None:
        """Return the iterations of a fit whose checkpoints are scored, by `trace`; else None."""
        return None

    def judge(self, model: Any, at: At, clock: Any) -> Judgement:
        """Return the scores of a fitted estimator, computed in further phases."""
        raise NotImplementedError

    def trace(self, model: Any, name: str, score: Callable[[Any], float]) -> list[dict[str, float]]:
        """Return the score at every checkpoint of the last fit, if that is the model's."""
        fitted, along = self._along
        return [
            {"iteration": t, "seconds": seconds, name: score(function)}
            for t, seconds, function in (along if fitted is model else [])
        ]

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        """Return the approximate cost of training every point on every fold."""
        folds = getattr(self.spec, "folds", 1)
        n_models, counts = n_points * folds, self.counts(at)
        cost = cost_of(estimator, self.dataset.n_features, counts, n_models, folds)
        return Work(cost.flops, 0.0, cost.memory, n_models)

    def fit_work(self, estimator: Any, at: At) -> Work:
        """Return the approximate cost of `fit` and `judge`."""
        cost = cost_of(estimator, self.dataset.n_features, self.counts(at))
        n = self.n_scored
        scoring, measuring = n * cost.flops_per_row, n * self.measuring_flops
        return Work(cost.flops, scoring, cost.memory, measuring=measuring)


TASKS = {
    "semi_supervised_auc": "dsgkit.tasks.semi_supervised:SemiSupervisedAUC",
    "semi_supervised_svm": "dsgkit.tasks.svm:SemiSupervisedSVM",
    "ordinal": "dsgkit.tasks.ordinal:Ordinal",
    "similar_unlabeled": "dsgkit.tasks.similar:SimilarUnlabeled",
    "clustering": "dsgkit.tasks.clustering:Clustering",
}  # imported on first use


def get(kind: str) -> type[Task]:
    """Return the task called ``kind``, or the user-defined one at an import path."""
    if kind in TASKS:
        return pkgutil.resolve_name(TASKS[kind])
    if ":" not in kind:
        raise ConfigError(f"unknown task {spelled(kind)}{nearest_or_all(kind, TASKS)}")
    with calling(kind):
        task = load(kind, "task", lambda x: Task in getattr(x, "__mro__", ()), "my_module:MyTask")
        measures, columns = (*task.measures, *STANDARD), [*FIRST_COLUMNS, *LAST_COLUMNS]
        for name in [axis.name for axis in task.axes] + [one.name for one in measures]:
            if name in columns:
                raise ConfigError(f"{kind}: {name!r} names another column of the results, too")
            columns.append(name)
        choosing = [measure.name for measure in task.measures if measure.better]
        if task.chooses not in choosing:
            hint = nearest_or_all(task.chooses, choosing)
            raise ConfigError(f"{kind}.chooses: no {spelled(task.chooses)}{hint}")
    task.kind = kind
    return task


def takes(estimator: Any, name: str) -> bool:
    return name in inspect.signature(estimator.fit).parameters


def named_by_fit(estimator: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some arrays that ``fit`` names; ``fit(**training)`` gets all but `HIDDEN`."""
    parameters = inspect.signature(estimator.fit).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return {
        name: array
        for name, array in arrays.items()
        if name in parameters or (takes_any and name != HIDDEN)
    }


def depends_on(estimator: Any, names: Sequence[str]) -> bool:
    """Return whether ``fit`` names any of some arrays that its method ``uses`` does not deny."""
    uses = getattr(estimator, "uses", lambda name: True)
    return any(uses(name) for name in named_by_fit(estimator, dict.fromkeys(names)))


def settled(estimator: Any, counts: Mapping[str, int]) -> Any:
    """Return an estimator whose iterations are fixed for some numbers of rows, if it can be."""
    return estimator.settled(**counts) if hasattr(estimator, "settled") else estimator


def cost_of(
    estimator: Any, n_inputs: int, counts: Mapping[str, int], n_models: int = 1, folds: int = 0
) -> Any:
    """Return the predicted cost of a fit, or of models on folds, for some numbers of rows."""
    from dsgkit.engine.problem import Sizes
    from dsgkit.estimators.base import Estimator

    if not isinstance(estimator, Estimator):
        several = {"n_models": n_models} if n_models > 1 else {}
        return estimator.cost(n_inputs, **several, **counts)
    pairs = "n_similar" in counts
    n = Sizes(
        n_inputs,
        2 * counts["n_similar"] if pairs else counts.get("n_labeled", counts.get("n_rows", 0)),
        counts.get("n_unlabeled", 0),
        1 if pairs else counts.get("n_cuts", 1) + 1,
        folds,
        pooled=pairs and folds > 0,
    )
    return estimator.cost(n, n_models)


def is_observable(estimator: Any) -> bool:
    return hasattr(estimator, "fit_observed") and hasattr(estimator, "n_iterations")


def checkpoints(n_iterations: int) -> list[int]:
    """Return the iterations of checkpoints: roughly even on a log axis, including the last."""
    powers = np.geomspace(1, n_iterations, min(N_CHECKPOINTS, n_iterations))
    return sorted({math.ceil(round(power, 6)) for power in powers})


def function_of(model: Any) -> Any:
    """Return the method with the values of a fitted function; of ordered classes, the ranking."""
    if hasattr(model, "score_samples"):  # of other classes, it may be anything
        from dsgkit.estimators.ordinal import OrdinalEstimator

        if isinstance(model, OrdinalEstimator):
            return model.score_samples
    return model.decision_function


def finite_values(model: Any, rows: Any, *shapes: tuple[int, ...]) -> NDArray[np.floating]:
    """Return a fitted function's values at rows; `FitError` unless finite and of such a shape."""
    function = function_of(model)
    method = f"{function.__name__}{place_of(function)}"
    values = checked_shape(function(rows), method, *(shapes or [(len(rows),)]))
    if not np.isfinite(values).all():
        raise FitError(f"{method} returned values that are not finite")
    return values


# an interval for every feature; or a common factor: the root mean squared norm of rows becomes 1
Scale = Interval | Literal["common"]


def scale_words(scale: tuple[float, float] | str) -> str:
    if isinstance(scale, tuple):
        return f"features scaled to [{scale[0]:g}, {scale[1]:g}]"
    words = {"common": "features on one common scale", "standard": "standardised features"}
    return words.get(scale, "unscaled features")


def scaling_of(dataset: Any, scale: tuple[float, float] | str) -> tuple[Any, Any]:
    """Return offset and factor of every feature; None for unscaled ones."""
    return (None, None) if scale == "raw" else dataset.scaling(scale)
