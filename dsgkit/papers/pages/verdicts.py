"""Claims and their verdicts for a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dsgkit.papers.claims_text import EVIDENCE, counts_text, criterion_text, evidence_row
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.judging import PROTOCOL, Judged, JudgedClaim, JudgedPaper
from dsgkit.papers.verdicts import Outcome, Point, Verdict, merged
from dsgkit.report.formats import Cell, Layout

Context = dict[str, Any]

CLASSES = {
    Outcome.HOLDS: "holds",
    Outcome.IN_PART: "in-part",
    Outcome.FAILS: "fails",
    Outcome.UNTESTABLE: "untestable",
}
"""CSS classes."""

KEY = re.compile(r"[A-Za-z_]\w*")
"""Pattern of a solver's key."""


class Chip(NamedTuple):
    """A short verdict with its CSS class and the text next to it."""

    text: str
    css: str
    note: str = ""


def counts_of(paper: JudgedPaper) -> list[Chip]:
    """Return the paper's verdicts with their numbers of claims."""
    return [Chip(outcome.counted(n), CLASSES[outcome]) for outcome, n in paper.counts.items() if n]


def headlines(paper: JudgedPaper) -> list[Context]:
    """Return the paper's main claims as sentences, each with its verdict."""
    claims = {one.claim.id: one for one in paper.claims}
    return [
        {"id": name, "sentence": sentence, "chips": _chips(claims[name])}
        for name, sentence in paper.paper.headlines.items()
        if name in claims
    ]


def claim_rows(paper: JudgedPaper, evidence: Evidence) -> list[Context]:
    """Return the claims for a page."""
    return [_claim_row(one, labels_of(one.parts, evidence)) for one in paper.claims]


def _claim_row(claim: JudgedClaim, labels: Mapping[str, str]) -> Context:
    return {
        "claim": claim.claim,
        "css": CLASSES[claim.verdict.outcome],
        "chips": _chips(claim),
        "reasons": [
            (by, with_labels("; ".join(verdict.reasons), labels))
            for by, verdict in claim.verdicts.items()
            if verdict.reasons
        ],
        "why": _why(claim),
        "parts": [_part(part, labels) for part in claim.parts],
    }


def _chips(claim: JudgedClaim) -> list[Context]:
    """Return the verdicts of a claim with their settings, the paper's protocol first."""
    alone = len(claim.verdicts) == 1
    return [
        {"by": "" if by == PROTOCOL and alone else by, "chip": _chip(verdict)}
        for by, verdict in claim.verdicts.items()
    ]


def _chip(verdict: Verdict) -> Chip:
    testable = verdict.tested and verdict.outcome is not Outcome.UNTESTABLE
    note = f"{verdict.counted:g} of {verdict.tested}" if testable else ""
    return Chip(str(verdict.outcome), CLASSES[verdict.outcome], note)


def _why(claim: JudgedClaim) -> Context | None:
    """Return the explanation of a claim that does not fully hold."""
    why = claim.claim.why_not
    explained = {Outcome.FAILS, Outcome.IN_PART}
    if why is None or not any(one.outcome in explained for one in claim.verdicts.values()):
        return None
    return {"words": why.words, "shown_by": why.shown_by, "kept": claim.explained}


def labels_of(parts: Sequence[Judged], evidence: Evidence) -> dict[str, str]:
    """Return distinct names of the judged solvers by their keys."""
    names = dict.fromkeys(name for part in parts for name in part.folders)
    folders = [evidence.folders[name] for name in names if name in evidence.folders]
    labels = {key: one.label(key) for one in folders for key in one.solvers}
    uses = Counter(labels.values())
    return {key: label if uses[label] == 1 else f"{label} ({key})" for key, label in labels.items()}


def with_labels(text: str, labels: Mapping[str, str]) -> str:
    """Replace solvers' keys in a text by their names."""
    return KEY.sub(lambda word: labels.get(word[0], word[0]), text)


def _part(part: Judged, labels: Mapping[str, str]) -> Context:
    """Return a criterion, its verdict, and the table of evidence."""
    return {
        "criterion": with_labels(criterion_text(part), labels),
        "verdict": with_labels(f"{part.verdict}{counts_text(part.verdict)}", labels),
        "table": evidence_table(part.points, labels),
    }


def _row(point: Point, labels: Mapping[str, str]) -> list[Cell]:
    """Return a point as a row of `EVIDENCE`, with solvers' names for keys."""
    texts = list(evidence_row(point))
    for column in ("a", "b", "Remark"):
        place = EVIDENCE.index(column)
        texts[place] = with_labels(texts[place], labels)
    values = dict.fromkeys(EVIDENCE) | {
        "Size": point.size or None,
        "a's": point.a_value,
        "b's": point.b_value,
    }
    return [Cell(text, value=values[name]) for text, name in zip(texts, EVIDENCE, strict=True)]


def evidence_table(points: Sequence[Point], labels: Mapping[str, str]) -> Layout:
    """Return points as a table without empty columns.

    A solver that is the same in all rows becomes the header of the column with its values.
    """
    # the verdict's reason names datasets without any result
    shown = [
        point for point in merged(points) if point.counts is not None or point.a_value is not None
    ]
    rows = [_row(point, labels) for point in shown]
    header = list(EVIDENCE)
    kept = [any(row[place].text for row in rows) for place in range(len(EVIDENCE))]
    for side, value in (("a", "a's"), ("b", "b's")):
        name_column, value_column = EVIDENCE.index(side), EVIDENCE.index(value)
        names = {row[name_column].text for row in rows}
        if kept[value_column] and len(names) == 1 and "" not in names:
            (header[value_column],) = names
            kept[name_column] = False
    return Layout("", header, rows).with_columns(kept)
