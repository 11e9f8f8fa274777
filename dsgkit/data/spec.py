"""Schema of a config's dataset: one of the catalogue, or a user's file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dsgkit.config.spec import Count, FolderName, Problem, Spec, is_finite
from dsgkit.data.catalogue import DATASETS, DataFile, DatasetInfo
from dsgkit.data.targets import MOST_CLASSES, Target, are_numbers, label_text
from dsgkit.errors import DataError, spelled


def _delimiter(value: str) -> str:
    is_sign = value == "\t" or (value.isascii() and not value.isalnum())
    if len(value) != 1 or not is_sign or value in '".+-\n\r\0':
        raise Problem(
            "must be one character that no number contains, such as ',', ';' or a tab; leave it "
            f"out for white space, got {spelled(value)}"
        )
    return value


def _column(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Problem(f"a column is a whole number or a name, got {spelled(value)}")
    return value


def _distinct(what: str, value: list[Any], least: int = 1) -> list[Any]:
    texts = [*map(label_text, value)]
    for i, text in enumerate(texts):
        if text in texts[:i]:
            raise Problem(f"{what} {text} is listed twice", i)
    if not least <= len(value) <= MOST_CLASSES:
        raise Problem(f"must hold {least} to {MOST_CLASSES} {what}s, got {len(value):,}")
    return value


def _labels(value: list[Any], least: int = 1) -> list[Any]:
    for i, label in enumerate(value):
        if not isinstance(label, str) and not is_finite(label):
            raise Problem(f"a label is a finite number or text, got {spelled(label)}", i)
    return _distinct("label", value, least)


def _all_labels(what: str, value: Any) -> Any:
    if value is True:
        return value
    if not isinstance(value, list):
        raise Problem(f"must be true or {what}, got {spelled(value)}")
    return _labels(value, least=2)


Column = Annotated[int | str, BeforeValidator(_column)]
Columns = Annotated[list[Column], AfterValidator(partial(_distinct, "column"))]
Labels = Annotated[list[Any], AfterValidator(_labels)]
Order = Annotated[Any, BeforeValidator(partial(_all_labels, "the labels from low to high"))]
AllLabels = Annotated[Any, BeforeValidator(partial(_all_labels, "all labels"))]

_OF_TEXT = {"delimiter", "decimal", "header", "label_column", "label_columns", "categorical"}
_OF_TEXT |= {"ignored", "by_share", "dates", "fill"}
_AS_WRITTEN = {"loader", "n_features", "delimiter", "decimal", "header", "categorical", "ignored"}
_AS_WRITTEN |= {"by_share", "dates", "fill", "components", "rows", "double"}
_REFUSED: dict[str | None, set[str]] = {
    None: {"loader", "test_path", "n_features", "label", *_OF_TEXT},
    "delimited": {"components"},
    "libsvm": {"components", *_OF_TEXT},
    "reviews": {"n_features", "label", *_OF_TEXT},
}
"""Keys that are not for a loader; None is that of a named dataset."""


class TargetSpec(Spec):
    """Conversion of labels to targets; a config sets exactly one of the attributes.

    Attributes
    ----------
    positive : list, optional
        The labels that are +1; all others are -1.
    bins : int, optional
        Number of classes of equal frequency into which numeric labels are cut.
    ordered : True or list, optional
        The labels are ordered classes: ascending numbers, or as listed.
    classes : True or list, optional
        The labels are classes for evaluation only, not for training: all, or those listed.
    numeric : True, optional
        The labels are numbers to predict.
    """

    positive: Labels | None = None
    bins: Annotated[int, Field(ge=2, le=MOST_CLASSES)] | None = None
    ordered: Order | None = None
    classes: AllLabels | None = None
    numeric: Literal[True] | None = None

    @model_validator(mode="after")
    def _one(self) -> TargetSpec:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise Problem(
                "needs one of positive: [labels], bins: count, ordered: true, classes: true and "
                "numeric: true"
            )
        return self


class LabelSpec(Spec):
    """The column of the label, and the value that marks rows without one.

    Attributes
    ----------
    column : int or str
        As ``label_column`` of delimited text.
    unlabeled : label, optional
        Rows with this label have none, like those whose label is empty.
    """

    column: Column = -1
    unlabeled: int | float | str | None = None


class DatasetSpec(Spec):
    """Either a dataset of the catalogue, by ``name``, or a local file, by ``path``.

    Attributes
    ----------
    name : str, optional
        A name of `dsgkit.data.catalogue`; with a path, the name of the file in tables.
    path : str, optional
        A file; relative paths start at the config's folder.
    loader : {"libsvm", "delimited", "reviews"}, optional
        The format of the file.
    test_path : str, optional
        A file of test rows in the same format.
    target : TargetSpec, optional
        By default the catalogue's, the ordered stars of reviews, or the larger of two labels is +1.
    positive : list, optional
        Short for ``target: {positive: ...}``.
    n_features : int, optional
        Number of columns of a LIBSVM file, if the file may not use all of them.
    delimiter : str, optional
        Delimiter between the columns of delimited text.
    decimal : {".", ","}
        Decimal sign of delimited text; a comma needs another delimiter.
    header : bool
        Whether the first line of delimited text names the columns.
    label_column : int, str or None
        Column of the label in delimited text: its name, or its number from 0, negative from the
        end. None for rows without labels.
    label : LabelSpec, optional
        Instead of ``label_column``, if a value marks rows without a label.
    label_columns : list of int or str, optional
        Several columns, whose mean is the label.
    categorical : list of int or str, optional
        Categorical columns of delimited text; each becomes a feature per category.
    ignored : list of int or str, optional
        Columns of delimited text to leave out, such as row numbers.
    by_share : list of int or str, optional
        Columns of text with many values; each becomes the share of rows that have its text.
    dates : mapping of column to str, optional
        Columns of dates with their format, such as ``ISO8601`` or ``%d/%m/%Y``; they become days.
    fill : {"median"}, optional
        Fill missing numbers; where more than 5% are missing, another column marks them.
    components : int, optional
        Number of features made from review texts, 1000 by default.
    rows : int, optional
        Number of training rows to read from the start.
    double : float, optional
        Repeat every training row with noise of this standard deviation in its first feature, in
        units of that feature's range.
    pairs : str, optional
        A file of similar pairs for the task ``similar_unlabeled``: in every line the numbers of two
        training rows of the file, from 0. By default pairs are drawn.
    """

    name: FolderName | None = None
    path: str | None = None
    loader: Literal["libsvm", "delimited", "reviews"] | None = None
    test_path: str | None = None
    target: TargetSpec | None = None
    positive: Labels | None = None
    n_features: Count | None = None
    delimiter: Annotated[str, AfterValidator(_delimiter)] | None = None
    decimal: Literal[".", ","] = "."
    header: bool = False
    label_column: Column | None = -1
    label: LabelSpec | None = None
    label_columns: Columns | None = None
    categorical: Columns | None = None
    ignored: Columns | None = None
    by_share: Columns | None = None
    dates: dict[Column, str] | None = None
    fill: Literal["median"] | None = None
    components: Count | None = None
    rows: Count | None = None
    double: Annotated[float, Field(gt=0)] | None = None
    pairs: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> DatasetSpec:
        if self.path is None and self.name is None:
            raise Problem("needs the name of a known dataset or the path of a file")
        if self.path is not None and self.loader is None:
            raise Problem("a path needs its loader: libsvm, delimited or reviews", "loader")
        why = f"is not for the loader {self.loader}"
        if self.path is None:
            why = "comes with the named dataset; leave it out"
        for key in sorted(self.model_fields_set & _REFUSED[self.loader if self.path else None]):
            if getattr(self, key) != DatasetSpec.model_fields[key].default:
                raise Problem(why, key)
        if self.positive is not None and self.target is not None:
            raise Problem("is short for target: {positive: ...}; leave one of them out", "positive")
        if self.decimal == "," and self.delimiter in (None, ","):
            raise Problem("needs a `delimiter` other than commas, such as ';' or a tab", "decimal")
        mark = None if self.label is None else self.label.unlabeled
        if self.loader == "libsvm" and mark is not None and not are_numbers([mark]):
            raise Problem(f"labels of LIBSVM text are numbers, got {spelled(mark)}", "label")
        if self.label_column is None and (self.target or self.positive):
            raise Problem("rows without labels have no target; leave it out", "target")
        for key in ("label_columns", "label"):
            if getattr(self, key) is not None and self.label_column != -1:
                raise Problem("replaces label_column; leave one of them out", key)
        return self


def resolve(spec: DatasetSpec) -> DatasetInfo:
    """Return the description of the dataset of a config; `DataError` for settings that conflict."""
    target = None if spec.target is None else Target.of(spec.target.model_dump(exclude_none=True))
    if spec.positive is not None:
        target = Target.of({"positive": spec.positive})
    if spec.path is None:
        info = DATASETS[str(spec.name)]
        changes: dict[str, Any] = {"rows": spec.rows, "double": spec.double, "target": target}
        if spec.components is not None:
            if info.loader != "reviews":
                raise DataError(f"dataset {info.name} holds no reviews: `components` is for these")
            changes |= {"components": spec.components, "n_features": spec.components}
        return replace(info, **{key: x for key, x in changes.items() if x is not None})
    path = Path(spec.path).expanduser().absolute()
    if spec.name in DATASETS:
        raise DataError(f"{spec.name!r} is a registered dataset; call the file by another name")
    found = [DataFile(str(path))]
    if spec.test_path is not None:
        found += [DataFile(str(Path(spec.test_path).expanduser().absolute()), "test")]
    column = spec.label_column if spec.label is None else spec.label.column
    labels: tuple[Any, ...] = tuple(spec.label_columns or (column,))
    target = target or Target("ordered" if spec.loader == "reviews" else "binary")
    if labels == (None,):
        labels, target = (), Target("classes")  # all rows get the same label
    named = (target.positive or ()) + (target.negative or ()) + (target.labels or ())
    return DatasetInfo(
        name=spec.name or path.name,
        title=path.name,
        files=tuple(found),
        target=target,
        label_columns=labels,
        text_labels=not are_numbers(named),
        unlabeled=None if spec.label is None else spec.label.unlabeled,
        local=True,
        **spec.model_dump(include=_AS_WRITTEN, exclude_none=True),
    )
