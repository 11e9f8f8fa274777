"""Verdicts as text for a terminal, as data, and compared with expected ones."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dsgkit.config.yaml import Document, read_document
from dsgkit.errors import did_you_mean, spelled
from dsgkit.papers.judging import PROTOCOL, Judged, JudgedClaim, JudgedPaper
from dsgkit.papers.verdicts import NO_RESULTS, Outcome, Point, Verdict, merged
from dsgkit.report.numbers import NO_VALUE, counted, memory_text, p_text, seconds_text
from dsgkit.text import Column, paragraph, table

EVIDENCE = ("Where", "Size", "a", "b", "a's", "b's", "Compared", "Agrees", "Remark")
"""Columns of `evidence_row`."""

_FIRST_SETTINGS = ("test", "by", "datasets", "configs")
_HEAD_SETTINGS = ("a", "b")
"""Settings printed first in a criterion; also columns of evidence."""

_NUMBERS = ("Size", "a's", "b's")
"""Columns of numbers, which are not wrapped."""

_BARS = ("holds", "in_part")


def overview(papers: Sequence[JudgedPaper], width: int) -> str:
    """Return a table of testable claims per paper, with counts of verdicts."""
    return "\n\n".join(_paper_table(one, width) for one in papers)


def _paper_table(paper: JudgedPaper, width: int) -> str:
    rows = [(one.claim.id, _verdicts(one), one.claim.claim) for one in paper.claims if one.testable]
    rest = [one.claim.id for one in paper.claims if not one.testable]
    parts = [paragraph(f"{paper.paper.key}: {paper.paper.title}", width, "  ")]
    if rows:
        parts.append(_table(("Claim", "Verdict", ""), rows, width))
    if rest:
        untestable = f"Not testable by these results (--id {rest[0]} says why): {', '.join(rest)}"
        parts.append(paragraph(untestable, width, "  "))
    return "\n".join([*parts, summary_line(paper)])


def summary_line(paper: JudgedPaper) -> str:
    """Return the counts of a paper's verdicts in one line."""
    counts = [outcome.counted(n) for outcome, n in paper.counts.items() if n]
    return f"{paper.paper.key}: {counted(len(paper.claims), 'claim')}: {', '.join(counts)}"


def _verdicts(claim: JudgedClaim) -> str:
    """Return the verdicts of a claim in short, without reasons."""
    return "\n".join(
        _short(verdict) if by == PROTOCOL else f"{by}: {_short(verdict)}"
        for by, verdict in claim.verdicts.items()
    )


def _short(verdict: Verdict) -> str:
    untestable = verdict.outcome is Outcome.UNTESTABLE
    return str(verdict.outcome if untestable else verdict)


def full_text(claim: JudgedClaim, width: int) -> str:
    """Return a claim with its criteria, its verdicts and all evidence."""
    about = [
        f"{claim.claim.id}: {claim.claim.claim}",
        f"({claim.claim.kind}; {claim.claim.place})",
        *(f"{by}: {verdict}" for by, verdict in claim.verdicts.items()),
    ]
    about = [paragraph(line, width, "  ") for line in about]
    parts = [_part_text(part, width) for part in claim.parts]
    return "\n\n".join(["\n".join(about), *parts, *_explanation(claim, width)])


def _explanation(claim: JudgedClaim, width: int) -> Iterator[str]:
    why = claim.claim.why_not
    if why is not None and claim.verdict.outcome in (Outcome.FAILS, Outcome.IN_PART):
        kept = f"shown by {why.shown_by}" + ("" if claim.explained else ", not among these results")
        yield paragraph(f"Why: {why.words} ({kept})", width)


def _part_text(part: Judged, width: int) -> str:
    # the verdict has the reason for a missing study or folder
    shown = [point for point in merged(part.points) if point.where and point.note != NO_RESULTS]
    about = [criterion_text(part), f"{part.verdict}{counts_text(part.verdict)}"]
    lines = [paragraph(line, width, "  ") for line in about]
    return "\n".join(
        [*lines, *([_evidence_table(list(map(evidence_row, shown)), width)] if shown else [])]
    )


def counts_text(verdict: Verdict) -> str:
    """Return the numbers of points that count (unless in the verdict) and that are significant."""
    share = f"{verdict.counted:g} of {verdict.tested}" if verdict.tested else ""
    if verdict.outcome is Outcome.IN_PART:
        share = ""
    details = ", ".join(
        filter(None, [share, f"{verdict.sure} beyond chance" if verdict.sure else ""])
    )
    return f" ({details})" if details else ""


def criterion_text(part: Judged) -> str:
    """Return a criterion in one line, close to its notation in the file, without defaults."""
    settings = part.criterion.model_dump(exclude_defaults=True, exclude=set(_FIRST_SETTINGS))
    names = sorted(settings, key=lambda name: (name in _BARS, name not in _HEAD_SETTINGS))
    values = "; ".join(_named(name, settings[name]) for name in names)
    on = f"; on {', '.join(part.folders)}" if part.folders else ""
    return f"[{part.criterion.by}] {getattr(part.criterion, 'test', '')}: {values}{on}"


def _named(name: str, value: Any) -> str:
    """Return a setting with its name, or as a phrase such as ``at most 5``."""
    if value is True:
        return name
    if name == "interval":
        low, high = (None if one is None else f"{one:g}" for one in value)
        if low is None or high is None:
            return f"at most {high}" if low is None else f"at least {low}"
        return f"from {low} to {high}"
    return f"{name} {_setting(value)}"


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_setting(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(_setting, value))
    return f"{value:g}" if isinstance(value, float) else spelled(value).strip("'")


def evidence_row(point: Point) -> tuple[str, ...]:
    """Return a point as a row of the table of evidence."""
    a_values = [point.a_value] if point.up_to is None else [point.a_value, point.up_to]
    return (
        point.where,
        f"{point.size:,}" if point.size else "",
        point.a,
        point.b,
        " to ".join(dict.fromkeys(_value(one, point.unit) for one in a_values)),
        _value(point.b_value, point.unit),
        _estimate(point),
        {None: NO_VALUE, 1.0: "yes", 0.0: "no"}.get(point.counts, f"{point.counts}"),
        point.note,
    )


def _value(value: float | None, unit: str) -> str:
    if value is None or not math.isfinite(value):
        return ""
    if unit in ("seconds", "bytes"):
        text = seconds_text if unit == "seconds" else memory_text
        return f"{'-' if value < 0 else ''}{text(abs(value))}"
    return f"{100 * value:.2f}%" if unit == "percent" else f"{value:.3g}"


def _estimate(point: Point) -> str:
    """Return a point's estimate with its interval and p-value."""
    # ratios and slopes have no unit; differences of percents are in points
    unit = "" if point.of in ("ratio", "slope") else point.unit
    first = "" if point.estimate is None else _value(point.estimate, unit)
    low, high = ("" if one is None else _value(one, unit) for one in (point.low, point.high))
    interval = f"[{low}, {high}]" if low and high else ""
    if point.of == "bounds" and not interval:
        interval = f"at least {low}" if low else f"at most {high}"
    p = "" if point.p is None else f"p {p_text(point.p)}"
    return " ".join(filter(None, [point.of, first, interval, p]))


def _evidence_table(rows: Sequence[Sequence[str]], width: int) -> str:
    """Return points in columns that fit a terminal.

    Empty columns are left out, and columns of `_HEAD_SETTINGS` with a single value.
    """
    columns = [
        Column(head, entries, [head in _NUMBERS] * len(rows))
        for head, entries in zip(EVIDENCE, zip(*rows, strict=True), strict=True)
        if any(entries) and not (head in _HEAD_SETTINGS and len(set(entries)) == 1)
    ]
    return table(columns, width)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> str:
    """Return rows in columns that fit a terminal; the first column is not wrapped."""
    grid = Table(box=None, pad_edge=False, header_style="", padding=(0, 2, 0, 0))
    for number, head in enumerate(heads):
        grid.add_column(head, no_wrap=number == 0, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    text = io.StringIO()
    Console(file=text, width=width, color_system=None, highlight=False).print(grid)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def as_data(papers: Sequence[JudgedPaper]) -> dict[str, Any]:
    """Return verdicts and evidence as plain data for JSON."""
    return {
        "papers": [
            {
                "key": one.paper.key,
                "title": one.paper.title,
                "counts": {str(outcome): n for outcome, n in one.counts.items()},
                "claims": [_claim_data(claim) for claim in one.claims],
            }
            for one in papers
        ]
    }


def _claim_data(claim: JudgedClaim) -> dict[str, Any]:
    return {
        "id": claim.claim.id,
        "claim": claim.claim.claim,
        "place": claim.claim.place,
        "kind": claim.claim.kind,
        "verdicts": {by: _data(verdict) for by, verdict in claim.verdicts.items()},
        "judged": [
            {
                "criterion": part.criterion.model_dump(exclude_defaults=True),
                "verdict": _data(part.verdict),
                "results": part.folders,
                "points": [asdict(point) for point in part.points],
            }
            for part in claim.parts
        ],
    }


def _data(verdict: Verdict) -> dict[str, Any]:
    return asdict(verdict) | {"text": str(verdict)}


def unexpected(papers: Sequence[JudgedPaper], path: Path) -> list[str]:
    """Return a line for each claim with an unexpected verdict.

    Parameters
    ----------
    papers : sequence of JudgedPaper
    path : Path
        YAML or JSON: a verdict per id, or one each for ``protocol`` and ``useful``.

    Raises
    ------
    ConfigError
        If a claim was not judged, or a verdict is unknown.
    """
    document = read_document(path)
    claims = {one.claim.id: one for paper in papers for one in paper.claims}
    lines = []
    for name, wanted in document.data.items():
        if name not in claims:
            raise document.error((name,), f"no such claim was judged{did_you_mean(name, claims)}")
        actual = claims[name].verdicts
        by_profile = wanted if isinstance(wanted, dict) else {next(iter(actual)): wanted}
        for by, outcome in by_profile.items():
            _check_expected(document, name, by, outcome, actual)
            if actual[by].outcome != outcome:
                lines.append(f"{name} ({by}): expected {outcome}, found {actual[by]}")
    return lines


def _check_expected(
    document: Document, name: str, by: str, outcome: object, actual: Mapping[str, Verdict]
) -> None:
    if by not in actual:
        raise document.error((name, by), f"is not judged by {spelled(by)}; by {', '.join(actual)}")
    if outcome not in list(Outcome):
        known = ", ".join(f"'{one}'" for one in Outcome)
        raise document.error((name,), f"no verdict: {spelled(outcome)}; there are {known}")
