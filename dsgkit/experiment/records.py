"""Schema of the records of cells, for writing and for reading them.

A results folder may come from anywhere: every value is checked for its type and bounds before it is
used. A line is a JSON object that ends in a checksum of the rest, so that damaged or edited lines
are not results. Names outside the schema are ignored: a later release may add some.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import math
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, Required, cast

from pydantic import (
    AfterValidator,
    ConfigDict,
    FailFast,
    Field,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import TypedDict

from dsgkit.config.spec import LARGEST_NUMBER
from dsgkit.errors import ResultsError, spelled
from dsgkit.system.files import open_packed
from dsgkit.tasks.measures import Axis

Record = dict[str, Any]

MAX_LINE_BYTES = 2**25
"""Bytes of the longest record: a search of 100,000 points has about 16 MiB."""

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_HASH = "[0-9a-f]"
_MAX_TEXT = 2**20
_MAX_ENTRIES = 10_000
_LARGEST_INTEGER = 2**64

Key = Annotated[str, Field(pattern=f"^{_HASH}{{32}}$")]
"""Key of a cell; also part of a file name."""

EnvironmentName = Annotated[str, Field(pattern=f"^{_HASH}{{12}}$")]
Code = Annotated[str, Field(pattern=f"^{_HASH}{{16}}$")]
"""Hash of the code that computed a cell."""

Name = Annotated[str, Field(max_length=10_000)]
Label = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")]
"""Text for figures: without control characters, which fonts lack."""

Count = Annotated[int, Field(ge=0, le=2**62)]
Bytes = Annotated[float, Field(ge=0, le=2**62)]
Number = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Amount = Annotated[float, Field(ge=0, le=LARGEST_NUMBER)]


def _value(value: Any) -> Any:
    kind = type(value)
    if kind is list:
        for item in value:
            _value(item)
    elif kind is int:
        if abs(value) > _LARGEST_INTEGER:
            raise ValueError(f"Input should be at most {float(_LARGEST_INTEGER):g} in size")
    elif kind is float:
        if not math.isfinite(value):
            raise ValueError("Input should be a finite number")
    elif not (value is None or kind is str or kind is bool):
        raise ValueError("Input should be a number, a text, or a list of these")
    return value


First = FailFast()
"""Stop at a list's first error: to collect millions of errors took minutes and 10 GiB.

pydantic has no such option for dictionaries: see `_check_entries`."""

Value = Annotated[Any, AfterValidator(_value)]
"""Value of a parameter: a number, text, true, false or null, or lists of those."""

Point = dict[Name, Value]
Scores = Annotated[list[Annotated[list[Number | None], First]], First]
Diagnostics = Annotated[dict[Annotated[str, Field(max_length=100)], Number], Field(max_length=100)]
Seconds = Annotated[list[Amount], First]


@with_config(_STRICT)
class CellSchema(TypedDict, total=False):
    """Entries that identify a cell."""

    key: Required[Key]
    kind: Required[Literal["search", "fit"]]
    solver: Required[Label]
    trial: Required[Count]
    at: Required[dict[Name, Count]]


@with_config(_STRICT)
class TimingSchema(TypedDict, total=False):
    """Reliability of a fit's times.

    ``times`` has the median over equal fits: of processor time on one thread, else of wall time.
    """

    range: dict[Name, Annotated[tuple[Amount, Amount], First]]
    """The shortest and the longest time over equal fits, by phase."""
    threads: Required[Annotated[int, Field(ge=1, le=2**20)]]
    slowdown: Required[Amount]
    """Wall time over processor time of the busiest thread, the median over equal fits."""
    disturbed: Required[bool]


@with_config(_STRICT)
class MeasurementsSchema(TypedDict, total=False):
    """Seconds of each phase in every measurement: of one fit, or averaged over short ones."""

    wall: dict[Name, Seconds]
    processor: dict[Name, Seconds]
    """Processor time of all threads of the process."""
    busiest: dict[Name, Seconds]
    """Processor time of the busiest thread."""
    load: Amount
    """The system's load average over the minute before."""


@with_config(_STRICT)
class ReportedSchema(CellSchema, total=False):
    """Entries of a record that runs and reports need."""

    status: Required[Annotated[str, Field(pattern="^[a-z_]{1,40}$")]]
    label: Label
    message: str
    traceback: str
    warnings: Annotated[list[str], First]
    params: Point
    points: Annotated[list[Point], First]
    fold_scores: Scores
    full: bool
    scores: dict[Name, Number | None]
    times: dict[Name, Amount]
    timing: TimingSchema
    peak_memory: Count
    needed: Bytes
    limit: Bytes
    timeout: Amount
    remark: str
    diagnostics: Diagnostics
    trace: Annotated[list[Point], First]
    artefact: Annotated[str, Field(pattern=rf"^artefacts/{_HASH}{{32}}\.npz$")]
    environment: EnvironmentName | None
    code: Code | None
    started: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}$")]


@with_config(_STRICT)
class RecordSchema(ReportedSchema, total=False):
    """All entries of a record."""

    dsgkit: Name
    estimator: Point
    measurements: MeasurementsSchema


_RECORD_VALIDATOR = TypeAdapter(RecordSchema).validator
_REPORTED_VALIDATOR = TypeAdapter(ReportedSchema).validator
_ANY_VALIDATOR = TypeAdapter(Any).validator
_NAMES = tuple(RecordSchema.__annotations__)

_SEAL = b', "check": "'
_SEAL_BYTES = len(_SEAL) + 12 + len(b'"}\n')


class UnreadableError(ValueError):
    """A line that is not a record; the text says why."""


def sealed(record: Record) -> bytes:
    """Return a record as a line that ends in a checksum.

    Its entries are in the order of the schema, so that copies of a record are equal lines.

    Raises
    ------
    UnreadableError
        If the record violates the schema.
    """
    known = {name: record[name] for name in _NAMES if name in record}
    try:
        text = json.dumps(known, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from error
    body = text.encode(errors="replace")  # file names may have lone surrogates
    _validated(body, _RECORD_VALIDATOR)
    return body[:-1] + _SEAL + _checksum(body) + b'"}\n'


def parse(line: bytes, *, whole: bool = False) -> Record:
    """Return the record in a line.

    Parameters
    ----------
    line : bytes
    whole : bool
        With all entries, as a copy needs them, not only those for runs and reports.

    Raises
    ------
    UnreadableError
        If the line is not a record, or was changed.
    """
    start = len(line) - _SEAL_BYTES
    if start < 0 or line[start : start + len(_SEAL)] != _SEAL:
        raise UnreadableError("it has no checksum at its end")
    body = line[:start] + b"}"
    if line[start + len(_SEAL) :] != _checksum(body) + b'"}\n':
        raise UnreadableError("it was changed after it was written")
    return _validated(body, _RECORD_VALIDATOR if whole else _REPORTED_VALIDATOR)


def _validated(body: bytes, schema: Any) -> Record:
    if len(body) > MAX_LINE_BYTES - _SEAL_BYTES:
        raise UnreadableError(f"it is longer than {MAX_LINE_BYTES >> 20} MiB")
    try:
        if len(body) > _MAX_TEXT:
            _check_entries(body)
        record = schema.validate_json(body)
    except ValidationError as error:
        raise UnreadableError(why(error)) from None
    if record["kind"] == "search" and record["status"] == "ok":
        _check_search(record)
    return cast(Record, record)


def _check_entries(body: bytes) -> None:
    """Raise `UnreadableError` for a dictionary of too many entries."""
    record = _ANY_VALIDATOR.validate_json(body)
    for part in record.values() if isinstance(record, dict) else ():
        within = part.values() if isinstance(part, dict) else ()
        for item in part if isinstance(part, list) else [part, *within]:
            if isinstance(item, dict) and len(item) > _MAX_ENTRIES:
                raise UnreadableError(f"a part of it has more than {_MAX_ENTRIES:,} entries")


def _check_search(record: Record) -> None:
    """Raise `UnreadableError` unless every point has a score on every fold."""
    points, scores = record.get("points", ()), record.get("fold_scores", ())
    if not points or len(points) != len(scores) or len(set(map(len, scores))) > 1:
        raise UnreadableError("not every point has a score on every fold")


def why(error: ValidationError) -> str:
    """Return the first problem, with its place, in one short line."""
    first = error.errors(include_url=False, include_input=False)[0]
    place, text = first["loc"], first["msg"]
    if first["type"] == "value_error":
        text = str(first["ctx"]["error"])
    for name, words in (("le", "at most"), ("ge", "at least")):
        if name in first.get("ctx", {}):
            text = f"Input should be {words} {first['ctx'][name]:g}"
    return f"{spelled('.'.join(map(str, place)))}: {text}" if place else text


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:12].encode()


def read_lines(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a file, and whether each is complete and short enough for a record.

    Longer lines come in pieces. A last line without an end may be still being written.
    """
    whole = True
    while line := file.readline(MAX_LINE_BYTES):
        ended = line.endswith(b"\n")
        yield line, whole and ended
        whole = ended


class Bad(NamedTuple):
    """Unreadable lines of a file: their number, and the first one with the reason."""

    number: int
    first: str


class Records(Mapping[str, Record]):
    """The last record of each key, in the order of first appearance.

    Records are stored as tuples, which take half the memory, and become a new dictionary at every
    look-up. Values that many records share are stored once and must not be changed in place.
    """

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}
        self._shared: dict[Any, Any] = {}

    def keep(self, record: Record) -> None:
        """Add a record, in place of an earlier one of its key; ``record`` itself is changed."""
        for name in _SHARED_ENTRIES:
            if name in record:
                # `marshal` distinguishes 1 from 1.0 and takes half the time of a text
                content = marshal.dumps(record[name], 2)
                record[name] = self._shared.setdefault(content, record[name])
        for name in _NUMBER_ENTRIES:
            if name in record:
                record[name] = self._row(record[name])
        self._rows[record["key"]] = self._row(record)

    def entry(self, key: str, name: str) -> Any:
        """Return one entry of a record; None if there is no such entry, or record."""
        row = self._rows.get(key)
        if row is None or name not in row[0]:
            return None
        value = row[row[0][name]]
        return _dictionary(value) if name in _NUMBER_ENTRIES else value

    def among(self, keys: Container[str]) -> Records:
        """Return the records of some keys."""
        selected = Records()
        selected._rows = {key: row for key, row in self._rows.items() if key in keys}
        selected._shared = self._shared
        return selected

    def _row(self, record: Record) -> _Row:
        names = tuple(record)
        if names not in self._shared:
            self._shared[names] = {name: place for place, name in enumerate(names, start=1)}
        return self._shared[names], *record.values()

    def __getitem__(self, key: str) -> Record:
        record = _dictionary(self._rows[key])
        for name in _NUMBER_ENTRIES:
            if name in record:
                record[name] = _dictionary(record[name])
        return record

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


_Row = tuple[Any, ...]
"""A dictionary as a tuple: a mapping from names to positions, which rows share, then the values."""

_SHARED_ENTRIES = ("at", "params", "points")
"""Entries with values that many records share."""

_NUMBER_ENTRIES = ("scores", "times", "diagnostics")
"""Entries that are dictionaries with different numbers in each record."""


def _dictionary(row: _Row) -> dict[str, Any]:
    values = iter(row)
    return dict(zip(next(values), values, strict=True))


def read_records(path: Path, axis: Axis | None = None) -> tuple[Records, Bad | None]:
    """Return the records of a file, with the entries that reports need.

    A run may be writing at the same time: a last line without an end is ignored. If only
    ``<path>.xz`` exists, as for archived results, that is read.

    Parameters
    ----------
    path : Path
    axis : Axis, optional
        The swept axis: records without a size on it are unreadable.

    Returns
    -------
    records : Records
    bad : Bad or None
        Unreadable lines, if any; their cells run again with the next `Store`.

    Raises
    ------
    ResultsError
        If the file cannot be read.
    """
    records = Records()
    bad: Bad | None = None
    try:
        with open_packed(path) as file:
            for number, (line, whole) in enumerate(read_lines(file), start=1):
                try:
                    record = _on_axis(parse(line), axis) if whole else None
                except UnreadableError as error:
                    first = bad.first if bad else f"{path}, line {number}: {error}"
                    bad = Bad(bad.number + 1 if bad else 1, first)
                    continue
                if record is not None:
                    records.keep(record)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read ({error.strerror})") from error
    return records, bad


def _on_axis(record: Record, axis: Axis | None) -> Record:
    if axis is not None and axis.name not in record["at"]:
        raise UnreadableError(f"it has no number of {axis.noun}")
    return record
