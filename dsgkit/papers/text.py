"""Verdicts on claims for a terminal, and as data for JSON; evidence as tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from dsgkit.papers.judge import (
    NO_RESULTS,
    PROTOCOL,
    SETTINGS,
    Judged,
    JudgedClaim,
    JudgedPaper,
    Outcome,
)
from dsgkit.papers.sentences import sentence, spaced_out
from dsgkit.papers.tests import Point
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.numbers import NO_VALUE, counted, listed, memory_text, p_text, seconds_text
from dsgkit.report.terminal import plain
from dsgkit.text import paragraph


def overview(papers: Sequence[JudgedPaper], width: int) -> str:
    """Return a table of testable claims per paper, with counts of verdicts."""
    return "\n\n".join(_paper(one, width) for one in papers)


def _paper(paper: JudgedPaper, width: int) -> str:
    title = paragraph(f"{paper.paper.key}: {paper.paper.title}", width, "  ")
    parts = [title, *_table(paper.those(own=False), width)]
    claims = counted(sum(paper.counts.values()), "claim")
    parts.append(f"{paper.paper.key}: {claims}: {paper.counted}")
    if checks := paper.those(own=True):
        parts += ["", "Checks of our own, which the paper does not claim:", *_table(checks, width)]
    return "\n".join(parts)


def _table(claims: Sequence[JudgedClaim], width: int) -> Iterator[str]:
    """Yield a table of the claims that are testable, and the names of the others."""
    rows, rest = [], []
    for one in claims:
        if {verdict.outcome for verdict in one.verdicts.values()} == {Outcome.UNTESTABLE}:
            rest.append(one.claim.id)
            continue
        about = [one.claim.id, one.claim.claim]
        for by, verdict in one.verdicts.items():
            told = verdict.short if by == PROTOCOL else f"with {SETTINGS[by]}: {verdict.short}"
            rows.append([Cell(about[0]), Cell(told), Cell(about[1])])
            about = ["", ""]
    if rows:
        yield plain(Layout("", ["Claim", "Verdict", "Statement"], rows), width).rstrip()
    if rest:
        text = f"Not testable by these results (--id {rest[0]} says why): {', '.join(rest)}"
        yield paragraph(text, width, "  ")


def full_text(one: JudgedClaim, width: int) -> str:
    by_settings = one.verdicts.items()
    verdicts = "; ".join(f"with {SETTINGS[by]}: {verdict}" for by, verdict in by_settings)
    parts = [f"{one.claim.id}: {verdicts}", *about(one), *proof(one)]
    return "\n\n".join(
        paragraph(part, width) if isinstance(part, str) else plain(part, width).rstrip()
        for part in parts
    )


def about(one: JudgedClaim) -> Iterator[str]:
    """Yield a claim in words, tests of it over datasets, and why it does not hold."""
    yield f"{one.claim.claim} ({one.claim.place})"
    if one.claim.untestable:
        yield f"Not testable here: {one.claim.untestable}."
    for by in one.verdicts:
        if lines := [*over_datasets_lines(one, by)]:
            yield f"Over datasets, with {SETTINGS[by]}: {'; '.join(lines)}."
    outcomes, why = {verdict.outcome for verdict in one.verdicts.values()}, one.claim.why_not
    if why and outcomes - {Outcome.HOLDS, Outcome.UNTESTABLE}:
        yield f"Why: {why.words} (shown by {why.shown_by})"


def over_datasets_lines(one: JudgedClaim, by: str) -> Iterator[str]:
    """Yield the test over datasets of each pair of solvers, by the parts of the claim."""
    for part in one.parts:
        names, c = names_in(part), part.criterion
        where = f" on {listed(c.configs)}" if c.configs else ""
        most = getattr(getattr(c, "sizes", None), "max", None)
        where += f", at most {most:,} rows" if most else ""
        for (a, b), verdict in part.pairs.items():
            if c.by == by and (verdict.over or verdict.over_all):
                tests = [str(verdict.over)] if verdict.over else []
                tests += [f"with all datasets {verdict.over_all}"] if verdict.over_all else []
                yield with_labels(f"{a} against {b}{where}: {', '.join(tests)}", names)


def proof(one: JudgedClaim) -> Iterator[str | Layout]:
    """Yield the reason for a claim's criteria, and each of these with its evidence."""
    if one.claim.reason:
        yield one.claim.reason
    for part in one.parts:
        names, runs = names_in(part), dict[int, list[str]]()
        for run in part.runs:
            runs.setdefault(run.experiment.protocol.trials, []).append(run.experiment.name)
        where = [*dict.fromkeys(point.where for point in part.points)]
        text = sentence(part.criterion, part.runs, names, where)
        text = f"{part.criterion.by.capitalize()}: {text}"
        for n, of in sorted(runs.items(), reverse=True):
            text += f" Based on {n} trials of {', '.join(of)}."
        if missing := dict.fromkeys(one.where for one in part.points if one.note == NO_RESULTS):
            text += f" Not run: {', '.join(missing)}."
        yield f"{text} Verdict: {with_labels(str(part.verdict), names)}."
        yield from evidence(part, names)


def names_in(part: Judged) -> dict[str, str]:
    """Return distinct names of the judged solvers by their keys."""
    labels = {key: label for run in part.runs for key, label in run.names.items()}
    uses = Counter(labels.values())
    return {k: one if uses[one] == 1 else f"{one} ({k})" for k, one in labels.items()}


def with_labels(text: str, names: Mapping[str, str]) -> str:
    """Replace solvers' keys in a text by their names."""
    return re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), text)


def evidence(part: Judged, names: Mapping[str, str]) -> Iterator[Layout]:
    """Yield a table for each pair of solvers, without empty columns."""
    for (a, b), verdict in part.pairs.items():
        points = [one for one in part.points if (one.a, one.b) == (a, b) and one.note != NO_RESULTS]
        if not any(one.where for one in points):
            continue
        groups: dict[Any, list[Point]] = {}
        for place, point in enumerate(points):  # numbers of a list that are alike share a row
            alike = replace(point, a_value=None) if point.of == "bounds" else place
            groups.setdefault(alike, []).append(point)
        rows = [_row(several, len(points), names) for several in groups.values()]
        kinds = {one.of for one in points} - {""}
        compared = kinds.pop().capitalize() if len(kinds) == 1 else "Compared"
        sides = [spaced_out(one) if "." in one else with_labels(one, names) for one in (a, b)]
        heads = ["Where", "Size", sides[0] or "Value", sides[1] or "Value", compared]
        title = f"{' and '.join(filter(None, sides))}: {with_labels(str(verdict), names)}."
        title = title if len(part.pairs) > 1 else ""
        table = Layout(title, [*heads, "Agrees", "Remark"], rows)
        columns = zip(*rows, strict=True)
        yield table.with_columns([any(cell.text for cell in column) for column in columns])


def _row(points: Sequence[Point], among: int, names: Mapping[str, str]) -> list[Cell]:
    """Return the row of a point, or of several that are alike but for their value."""
    first, values = points[0], sorted(one.a_value for one in points if one.a_value is not None)
    ends = [value_text(value, first.unit) for value in (*values[:1], *values[-1:])]
    several = first.of == "bounds" and among > 1
    numbers = [
        f"{first.size:,}" if first.size else "",
        " to ".join(dict.fromkeys(ends)),
        value_text(first.b_value, first.unit),
        _estimate(first),
    ]
    agrees = {None: NO_VALUE, 1.0: "yes", 0.0: "no" if first.against else "cannot tell"}
    remarks = [f"{len(points)} of {among} numbers" if several else with_labels(first.note, names)]
    remarks += ["nothing is learnt"] * (not first.learnt)
    texts = [agrees.get(first.counts, f"{first.counts}"), "; ".join(filter(None, remarks))]
    return [Cell(first.where), *(Cell(text, value=0) for text in numbers), *map(Cell, texts)]


def value_text(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit in ("seconds", "bytes"):
        text = seconds_text if unit == "seconds" else memory_text
        return f"{'-' if value < 0 else ''}{text(abs(value))}"
    if unit in ("percent", "points"):
        return f"{100 * value:.2f}{'%' if unit == 'percent' else ''}"
    return f"{value:.3g}"


def _estimate(point: Point) -> str:
    # ratios and slopes have no unit; differences of percents are in points
    unit = "" if point.of in ("ratio", "slope") else point.unit
    unit = "points" if unit == "percent" else unit
    low, high = value_text(point.low, unit), value_text(point.high, unit)
    interval = f"[{low}, {high}]" if low and high else ""
    if point.of == "bounds" and not interval:
        interval = f"at least {low}" if low else f"at most {high}"
    p = "" if point.p is None else f"p {p_text(point.p)}"
    points = unit if point.estimate is not None and unit == "points" else ""
    return " ".join(filter(None, [value_text(point.estimate, unit), points, interval, p]))


def as_data(papers: Sequence[JudgedPaper]) -> dict[str, Any]:
    every = [
        {"key": one.paper.key, "title": one.paper.title, "counts": one.counts}
        | {"claims": [_claim_data(claim) for claim in one.claims]}
        for one in papers
    ]
    return {"papers": every}


def _claim_data(claim: JudgedClaim) -> dict[str, Any]:
    texts = {"id", "claim", "place", "kind", "own", "reason", "untestable", "why_not"}
    return claim.claim.model_dump(include=texts) | {
        "verdicts": {by: asdict(verdict) for by, verdict in claim.verdicts.items()},
        "judged": [
            {
                "criterion": part.criterion.model_dump(exclude_defaults=True),
                "verdict": asdict(part.verdict),
                "results": [run.experiment.name for run in part.runs],
                "points": [asdict(point) for point in part.points],
            }
            for part in claim.parts
        ],
    }
