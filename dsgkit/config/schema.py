"""What an experiment is made of, with every check that needs no data."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from dsgkit.config.parameters import (
    LARGEST_INTEGER,
    Scalar,
    is_finite,
    parse_like,
    parse_parameter,
)
from dsgkit.config.ranges import parse_values
from dsgkit.config.yaml_loader import dump
from dsgkit.errors import ConfigError
from dsgkit.files import folder_name
from dsgkit.hints import nearest_or_all, shown
from dsgkit.solvers import catalogue
from dsgkit.solvers.info import SolverInfo

METRICS = {"semi_supervised_auc": "auc", "semi_supervised_error": "error"}
"""The metric of each kind of protocol."""

SCORE_OUTPUTS = {
    "auc": ("auc_table", "auc_boxplot"),
    "error": ("error_table", "error_boxplot", "balance_table"),
}
OUTPUTS = (*itertools.chain(*SCORE_OUTPUTS.values()), "time_table", "time_curve")
"""The tables and figures that a run can write; some are for one metric."""


def problem(text: str, *at: str | int, cause: BaseException | None = None) -> PydanticCustomError:
    """Return an error for a validator to raise; ``at`` leads from the validated value to it."""
    return PydanticCustomError("problem", "{text}", {"text": text, "at": at, "cause": cause})


def _row_count(value: Any) -> Any:
    if value == "all":
        return value
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise problem(f"must be a whole number >= 1 or 'all', got {shown(value)}")
    if value > LARGEST_INTEGER:
        raise problem(f"must be <= {LARGEST_INTEGER}, got {shown(value)}")
    return value


def _interval(value: Any) -> tuple[float, float]:
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(is_finite, value)):
        low, high = map(float, value)
        if low < high:
            return low, high
    raise problem(f"must be two increasing numbers, such as [0, 1], got {shown(value)}")


def _folder_name(value: str) -> str:
    if not value or value != folder_name(value):
        raise problem(
            f"a name starts with a letter or digit and holds no slash, got {shown(value)}"
        )
    return value


Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
Column = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
RowCount = Annotated[int | Literal["all"], PlainValidator(_row_count)]


class _Spec(BaseModel):
    """Settings of every part: unknown keys are errors, types are not converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True
    )


class DatasetSpec(_Spec):
    """Either a dataset of the catalogue, by ``name``, or a local file, by ``path``.

    Attributes
    ----------
    name : str, optional
        A name of `dsgkit.data.catalogue`; with a path, what tables call the file.
    path : str, optional
        A file; a relative one is looked for beside the config.
    loader : {"libsvm", "delimited"}, optional
        The format of the file.
    test_path : str, optional
        A file of test rows in the same format.
    positive : list, optional
        The labels that are +1; all others are -1. By default what the catalogue says, and for a
        file the larger of two.
    n_features : int, optional
        Columns of a LIBSVM file, where the file itself may not show them all.
    delimiter : str, optional
        What separates the columns of delimited text.
    header : bool
        Whether the first line of delimited text names the columns.
    label_column : int
        Column of the label in delimited text, 0-based; negative counts from the end.
    """

    name: Annotated[str, AfterValidator(_folder_name)] | None = None
    path: str | None = None
    loader: Literal["libsvm", "delimited"] | None = None
    test_path: str | None = None
    positive: list[Any] | None = None
    n_features: Count | None = None
    delimiter: Text | None = None
    header: bool = False
    label_column: Column = -1

    @field_validator("positive")
    @classmethod
    def _labels(cls, value: list[Any] | None) -> list[Any] | None:
        for i, label in enumerate(value or []):
            if not isinstance(label, str) and not is_finite(label):
                raise problem(f"a label is a finite number or text, got {shown(label)}", i)
        if value == []:
            raise problem("must hold at least one label")
        return value

    @model_validator(mode="after")
    def _one_source(self) -> DatasetSpec:
        if self.path is None and self.name is None:
            raise problem("needs the name of a known dataset or the path of a file")
        if self.path is None:
            self._only({"name", "positive"}, "comes with the named dataset; leave it out")
        elif self.loader is None:
            raise problem("a path needs its loader: libsvm or delimited", "loader")
        elif self.loader == "libsvm":
            delimited = {"delimiter", "header", "label_column"}
            self._only(set(DatasetSpec.model_fields) - delimited, "is for the delimited loader")
        return self

    def _only(self, allowed: set[str], why: str) -> None:
        for name in sorted(self.model_fields_set - allowed):
            if getattr(self, name) != DatasetSpec.model_fields[name].default:
                raise problem(why, name)


class ProtocolSpec(_Spec):
    """How rows are split, scaled and scored.

    Attributes
    ----------
    kind : {"semi_supervised_auc", "semi_supervised_error"}
        The rows outside of the labelled ones serve as unlabelled rows and as test rows. The first
        learns a ranking, and searches by cross-validation on the labelled rows. The second learns
        a classifier, and searches by training on the labelled rows and one of ``folds`` parts of
        the unlabelled ones and testing on the others.
    labeled : int
        Labelled rows.
    scale : tuple of float
        The interval that every feature is mapped to.
    trials : int
        Random splits.
    folds : int
        Folds of the search.
    metric : {"auc", "error"}
        What hyper-parameters are chosen by and what is reported: that of the kind.
    """

    kind: Literal["semi_supervised_auc", "semi_supervised_error"] = "semi_supervised_auc"
    labeled: Count = 200
    scale: Annotated[tuple[float, float], BeforeValidator(_interval)] = (0.0, 1.0)
    trials: Count = 10
    folds: Annotated[int, Field(ge=2, le=LARGEST_INTEGER)] = 5
    metric: Literal["auc", "error"] = "auc"

    @model_validator(mode="before")
    @classmethod
    def _metric_of_kind(cls, value: Any) -> Any:
        if isinstance(value, dict) and "metric" not in value and value.get("kind") in METRICS:
            return {**value, "metric": METRICS[value["kind"]]}
        return value

    @model_validator(mode="after")
    def _consistent(self) -> ProtocolSpec:
        if self.metric != METRICS[self.kind]:
            raise problem(f"{self.kind} goes with the metric {METRICS[self.kind]}", "metric")
        if self.labeled < self.folds:
            raise problem(f"{self.labeled} rows cannot be cut into {self.folds} folds", "labeled")
        return self


class SweepSpec(_Spec):
    """What is varied from fit to fit.

    Attributes
    ----------
    unlabeled : list of int or "all"
        Numbers of unlabelled rows, ascending.
    """

    unlabeled: list[RowCount] = ["all"]

    @field_validator("unlabeled")
    @classmethod
    def _ascending(cls, value: list[int | str]) -> list[int | str]:
        sizes = [float("inf") if size == "all" else float(size) for size in value]
        if not sizes:
            raise problem("must hold at least one number of rows, or all")
        for i, (before, after) in enumerate(itertools.pairwise(sizes), start=1):
            if after <= before:
                raise problem("must be ascending without repeats, 'all' last", i)
        return value


class SolverSpec(_Spec):
    """One line of the comparison.

    Attributes
    ----------
    kind : str
        A name of `dsgkit.solvers.catalogue`, which in a config defaults to the solver's key, or the
        import path ``module:class`` of a class of one's own.
    label : str
        The name in tables and figures; defaults to the solver's own, or the name of the class.
    params : dict
        Fixed parameters.
    grid : dict
        Parameters chosen by cross-validation, each with the values to choose from.
    then : dict
        Parameters chosen in the same way afterwards, at the best values of ``grid``; while that is
        searched, they have their value in ``params``, or their default.
    search_unlabeled : int or "all"
        Unlabelled rows used while choosing.
    max_unlabeled : int, optional
        Sweep points above it are not fitted.
    """

    kind: str
    label: Text
    params: dict[str, Any] = {}
    grid: dict[str, Any] = {}
    then: dict[str, Any] = {}
    search_unlabeled: RowCount = "all"
    max_unlabeled: Count | None = None

    @field_validator("kind")
    @classmethod
    def _known(cls, value: str, info: ValidationInfo) -> str:
        _solver_info(value, info)
        return value

    @field_validator("params")
    @classmethod
    def _scalars(cls, value: dict[str, Any], info: ValidationInfo) -> dict[str, Scalar]:
        parse = _parser(info)
        return {name: _checked(parse, name, scalar, name) for name, scalar in value.items()}

    @field_validator("grid", "then")
    @classmethod
    def _lists(cls, value: dict[str, Any], info: ValidationInfo) -> dict[str, list[Scalar]]:
        parse = _parser(info)
        return {name: _grid_values(parse, name, entry) for name, entry in value.items()}

    @model_validator(mode="after")
    def _fits_solver(self, info: ValidationInfo) -> SolverSpec:
        if solver := _solver_info(self.kind, info):
            self._check_names(solver.params)
        for part, others in (("grid", ("params",)), ("then", ("grid",))):
            for name in getattr(self, part):
                for other in others:
                    if name in getattr(self, other):
                        raise problem(f"{name!r} is in {other} too; keep one of them", part, name)
        if self.then and all(len(values) == 1 for values in self.grid.values()):
            raise problem("is searched after the grid, which leaves nothing to choose", "then")
        return self

    def _check_names(self, known: tuple[str, ...]) -> None:
        for part in ("params", "grid", "then"):
            for name in getattr(self, part):
                if name not in known:
                    hint = nearest_or_all(name, known) if known else ""
                    raise problem(f"{self.kind} has no parameter {name!r}{hint}", part, name)


class Experiment(_Spec):
    """A validated config.

    Attributes
    ----------
    name : str
        Name of the results folder: the config's file name, with ``-<profile>`` for a profile.
    seed : int
        Where every random choice starts.
    dataset, protocol, sweep : DatasetSpec, ProtocolSpec, SweepSpec
    solvers : dict of str to SolverSpec
    outputs : list of str
        Tables and figures to write, of `OUTPUTS`; by default all of the metric.
    """

    name: Annotated[str, AfterValidator(_folder_name)]
    seed: Annotated[int, Field(ge=0, le=2**64 - 1)] = 0
    dataset: DatasetSpec
    protocol: ProtocolSpec = ProtocolSpec()
    sweep: SweepSpec = SweepSpec()
    solvers: dict[str, SolverSpec]
    outputs: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def _outputs_of_metric(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "outputs" in value:
            return value
        protocol = value.get("protocol")
        kind = protocol.get("kind") if isinstance(protocol, dict) else None
        metric = METRICS.get(kind, "auc") if isinstance(kind, str) else "auc"
        return {**value, "outputs": [*SCORE_OUTPUTS[metric], "time_table", "time_curve"]}

    @field_validator("outputs")
    @classmethod
    def _known_outputs(cls, value: list[str]) -> list[str]:
        for i, name in enumerate(value):
            if name not in OUTPUTS:
                raise problem(f"unknown output {name!r}{nearest_or_all(name, OUTPUTS)}", i)
            if name in value[:i]:
                raise problem(f"{name!r} is listed twice", i)
        return value

    @field_validator("solvers", mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        labels = Counter(_plain_label(key, solver) for key, solver in value.items())
        return {key: _with_defaults(key, solver, labels) for key, solver in value.items()}

    @field_validator("solvers")
    @classmethod
    def _distinct(cls, value: dict[str, SolverSpec]) -> dict[str, SolverSpec]:
        if not value:
            raise problem("must hold at least one solver")
        keys: dict[str, str] = {}
        for key, solver in value.items():
            if not re.fullmatch(r"\w[\w+-]*", key):
                raise problem("a solver's key is made of letters, digits, _, + and -", key)
            if solver.label in keys:
                same = keys[solver.label]
                raise problem(f"has the label of {same!r}: {solver.label!r}", key, "label")
            keys[solver.label] = key
        return value

    @model_validator(mode="after")
    def _one_metric(self, info: ValidationInfo) -> Experiment:
        metric = self.protocol.metric
        for i, name in enumerate(self.outputs):
            other = next((m for m, names in SCORE_OUTPUTS.items() if name in names), metric)
            if other != metric:
                raise problem(f"{name} is for the metric {other}, not {metric}", "outputs", i)
        for key, spec in self.solvers.items():
            solver = _solver_info(spec.kind, info)
            if solver and metric not in solver.metrics:
                learns = " or ".join(solver.metrics)
                raise problem(
                    f"{spec.kind} is for the metric {learns}, not {metric}", "solvers", key
                )
        return self

    def to_yaml(self) -> str:
        """Return the experiment as a config that needs no other file and loads as an equal one."""
        data = self.model_dump(mode="json")
        defaults = {name: info.default for name, info in DatasetSpec.model_fields.items()}
        data["dataset"] = {k: v for k, v in data["dataset"].items() if v != defaults[k]}
        return dump(data)


Parser = Callable[[str, Any], Scalar]
"""From a parameter's name and its value as written to the value that the solver gets."""


def _solver_info(kind: str, info: ValidationInfo) -> SolverInfo | None:
    """Return what is known of a solver; None for a class of one's own in a stored config."""
    if catalogue.is_import_path(kind) and info.context and info.context["stored"]:
        return None
    try:
        return catalogue.get(kind)
    except ConfigError as error:
        raise problem(str(error), cause=error.__cause__) from None


def _parser(info: ValidationInfo) -> Parser:
    """Return how a solver's parameters are read: the rules are for the registered ones."""
    kind = info.data.get("kind", "")
    if not catalogue.is_import_path(kind):
        return parse_parameter
    solver = _solver_info(kind, info)
    defaults = solver.load()().get_params() if solver else {}
    return lambda name, value: parse_like(defaults.get(name), value)


def _checked(parse: Parser, name: str, value: Any, *at: str | int) -> Scalar:
    try:
        return parse(name, value)
    except ValueError as error:
        raise problem(str(error), *at) from None


def _grid_values(parse: Parser, name: str, entry: Any) -> list[Scalar]:
    """Return the values of one grid entry, checked one by one."""
    try:
        values = parse_values(entry)
    except ValueError as error:
        raise problem(str(error), name) from None
    at = range(len(values)) if isinstance(entry, list) else [None] * len(values)
    checked = [
        _checked(parse, name, value, name, *([] if i is None else [i]))
        for i, value in zip(at, values, strict=True)
    ]
    if not checked:
        raise problem("must hold at least one value", name)
    if len(set(checked)) < len(checked):
        raise problem("holds a value twice", name)
    return checked


def _plain_label(key: Any, solver: Any) -> str:
    """Return the label that a solver states or, its key aside, would have."""
    settings = solver if isinstance(solver, dict) else {}
    kind = str(settings.get("kind", key))
    known = catalogue.SOLVERS.get(kind)
    return str(settings.get("label", known.label if known else kind.rpartition(":")[2] or kind))


def _with_defaults(key: Any, solver: Any, labels: Counter[str]) -> Any:
    """Return a solver's mapping with its kind and label filled in from its key."""
    if not isinstance(solver, dict) or not isinstance(key, str):
        return solver
    kind = solver.get("kind", key)
    label = _plain_label(key, solver)
    plain = labels[label] == 1 if catalogue.is_import_path(str(kind)) else kind == key
    return {"kind": kind, "label": label if plain else f"{label} ({key})", **solver}
