"""Verdicts on claims for a terminal, and as data for JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from dsgkit.papers.judge import (
    NO_RESULTS,
    PROTOCOL,
    Judged,
    JudgedClaim,
    JudgedPaper,
    Outcome,
    Verdict,
)
from dsgkit.papers.sentences import sentence
from dsgkit.papers.tests import Point
from dsgkit.report.numbers import NO_VALUE, counted, memory_text, p_text, seconds_text
from dsgkit.text import Column, paragraph, table

NUMBER = re.compile(r"-?[\d.,]+(e-\d+)?( (ms|s|[KMG]iB)|%)?")


def overview(papers: Sequence[JudgedPaper], width: int) -> str:
    """Return a table of testable claims per paper, with counts of verdicts."""
    return "\n\n".join(_paper(one, width) for one in papers)


def _paper(paper: JudgedPaper, width: int) -> str:
    rows, rest = [], []
    for one in paper.claims:
        verdicts = one.verdicts
        if all(verdict.outcome is Outcome.UNTESTABLE for verdict in verdicts.values()):
            rest.append(one.claim.id)
            continue
        texts = []
        for by, verdict in verdicts.items():
            text = str(verdict.outcome if verdict.outcome is Outcome.UNTESTABLE else verdict)
            texts.append(text if by == PROTOCOL else f"{by}: {text}")
        rows.append((one.claim.id, texts[0], one.claim.claim))
        rows += [("", text, "") for text in texts[1:]]
    parts = [paragraph(f"{paper.paper.key}: {paper.paper.title}", width, "  ")]
    if rows:
        parts.append(_table(("Claim", "Verdict", "Statement"), rows, width))
    if rest:
        text = f"Not testable by these results (--id {rest[0]} says why): {', '.join(rest)}"
        parts.append(paragraph(text, width, "  "))
    counts = [outcome.counted(n) for outcome, n in paper.counts.items() if n]
    claims = counted(len(paper.claims), "claim")
    return "\n".join([*parts, f"{paper.paper.key}: {claims}: {', '.join(counts)}"])


def full_text(claim: JudgedClaim, width: int) -> str:
    """Return a claim with its criteria, its verdicts and all evidence."""
    about = [
        f"{claim.claim.id}: {claim.claim.claim}",
        f"({claim.claim.kind}; {claim.claim.place})",
        *(f"{by}: {verdict}" for by, verdict in claim.verdicts.items()),
        *([claim.claim.reason] if claim.claim.reason else []),
    ]
    parts = ["\n".join(paragraph(line, width, "  ") for line in about)]
    parts += [_part(part, width) for part in claim.parts]
    why = claim.claim.why_not
    if why is not None and claim.verdict.outcome in (Outcome.FAILS, Outcome.IN_PART):
        kept = f"shown by {why.shown_by}" + ("" if claim.explained else ", not among these results")
        parts.append(paragraph(f"Why: {why.words} ({kept})", width))
    return "\n\n".join(parts)


def _part(part: Judged, width: int) -> str:
    names = labels_of([part])
    verdict = with_labels(f"{part.verdict}{share(part.verdict)}", names)
    lines = [f"{part.criterion.by}: {criterion_text(part, names)}", f"Verdict: {verdict}."]
    text = "\n".join(paragraph(line, width, "  ") for line in lines)
    tables = [(one.title, _table(one.heads, one.rows, width)) for one in evidence(part, names)]
    return "\n\n".join([text, *("\n".join(filter(None, pair)) for pair in tables)])


def criterion_text(part: Judged, names: Mapping[str, str]) -> str:
    """Return when a criterion holds, and the runs that it judges."""
    where = [*dict.fromkeys(point.where for point in part.points)]
    runs = ", ".join(run.experiment.name for run in part.runs)
    return sentence(part.criterion, part.runs, names, where) + (f" Judged: {runs}." if runs else "")


def share(verdict: Verdict) -> str:
    """Return the numbers of points that count (unless in the verdict) and that are significant."""
    texts = []
    if verdict.tested and (verdict.outcome is not Outcome.IN_PART or verdict.parts):
        texts.append(f"{verdict.counted:g} of {verdict.tested}")
    if verdict.sure:
        texts.append(f"{verdict.sure} beyond chance")
    return f" ({', '.join(texts)})" if texts else ""


def labels_of(parts: Sequence[Judged]) -> dict[str, str]:
    """Return distinct names of the judged solvers by their keys."""
    names = {key: name for part in parts for run in part.runs for key, name in run.names.items()}
    uses = Counter(names.values())
    return {key: name if uses[name] == 1 else f"{name} ({key})" for key, name in names.items()}


def with_labels(text: str, names: Mapping[str, str]) -> str:
    """Replace solvers' keys in a text by their names."""
    return re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), text)


class Evidence(NamedTuple):
    """The points of one pair as a table, with the pair's verdict if there are several pairs."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def evidence(part: Judged, names: Mapping[str, str]) -> Iterator[Evidence]:
    """Yield a table for each pair of solvers, without empty columns.

    Numbers of a list with the same bounds and outcome share a row. The verdict names datasets
    without results.
    """
    for (a, b), verdict in part.pairs.items():
        points = [one for one in part.points if (one.a, one.b) == (a, b) and one.note != NO_RESULTS]
        if not any(one.where for one in points):
            continue
        groups: dict[Any, list[Point]] = {}
        for place, point in enumerate(points):
            alike = replace(point, a_value=None) if point.of == "bounds" else place
            groups.setdefault(alike, []).append(point)
        rows = [_row(several, len(points), names) for several in groups.values()]
        kinds = {one.of for one in points} - {""}
        sides = [with_labels(one, names) for one in (a, b)]
        compared = kinds.pop().capitalize() if len(kinds) == 1 else "Compared"
        heads = ["Where", "Size", *sides, compared, "Agrees", "Remark"]
        filled = [any(texts) for texts in zip(*rows, strict=True)]
        title = f"{' and '.join(filter(None, (a, b)))}: {verdict}{share(verdict)}."
        yield Evidence(
            with_labels(title, names) if len(part.pairs) > 1 else "",
            [head or "Value" for head, some in zip(heads, filled, strict=True) if some],
            [[text for text, some in zip(row, filled, strict=True) if some] for row in rows],
        )


def _row(points: Sequence[Point], among: int, names: Mapping[str, str]) -> list[str]:
    """Return the row of a point, or of several that are alike but for their value."""
    first, values = points[0], sorted(one.a_value for one in points if one.a_value is not None)
    ends = [value_text(value, first.unit) for value in (*values[:1], *values[-1:])]
    several = first.of == "bounds" and among > 1
    return [
        first.where,
        f"{first.size:,}" if first.size else "",
        " to ".join(dict.fromkeys(ends)),
        value_text(first.b_value, first.unit),
        _estimate(first),
        {None: NO_VALUE, 1.0: "yes", 0.0: "no"}.get(first.counts, f"{first.counts}"),
        f"{len(points)} of {among} numbers" if several else with_labels(first.note, names),
    ]


def value_text(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit in ("seconds", "bytes"):
        text = seconds_text if unit == "seconds" else memory_text
        return f"{'-' if value < 0 else ''}{text(abs(value))}"
    return f"{100 * value:.2f}%" if unit == "percent" else f"{value:.3g}"


def _estimate(point: Point) -> str:
    """Return a point's estimate with its interval and p-value."""
    # ratios and slopes have no unit; differences of percents are in points
    unit = "" if point.of in ("ratio", "slope") else point.unit
    low, high = value_text(point.low, unit), value_text(point.high, unit)
    interval = f"[{low}, {high}]" if low and high else ""
    if point.of == "bounds" and not interval:
        interval = f"at least {low}" if low else f"at most {high}"
    p = "" if point.p is None else f"p {p_text(point.p)}"
    return " ".join(filter(None, [value_text(point.estimate, unit), interval, p]))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Return rows in columns that fit a terminal; numbers are not broken."""
    columns = zip(heads, zip(*rows, strict=True), strict=True)
    return table(
        [
            Column(head, texts, [bool(NUMBER.fullmatch(x)) for x in texts])
            for head, texts in columns
        ],
        width,
    )


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
    about = {name: getattr(claim.claim, name) for name in ("id", "claim", "place", "kind")}
    return about | {
        "verdicts": {by: _data(verdict) for by, verdict in claim.verdicts.items()},
        "judged": [
            {
                "criterion": part.criterion.model_dump(exclude_defaults=True),
                "verdict": _data(part.verdict),
                "results": [run.experiment.name for run in part.runs],
                "points": [asdict(point) for point in part.points],
            }
            for part in claim.parts
        ],
    }


def _data(verdict: Verdict) -> dict[str, Any]:
    return asdict(verdict) | {"text": str(verdict)}
