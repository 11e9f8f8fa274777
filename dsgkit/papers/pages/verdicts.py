"""Claims and their verdicts as a page shows them."""

from __future__ import annotations

from typing import Any, NamedTuple

from dsgkit.papers.claims_text import EVIDENCE, counts_text, criterion_text, evidence_row
from dsgkit.papers.judging import PROTOCOL, Judged, JudgedClaim, JudgedPaper
from dsgkit.papers.verdicts import Outcome, Verdict
from dsgkit.report.formats import Cell, Layout

Context = dict[str, Any]

CLASSES = {
    Outcome.HOLDS: "holds",
    Outcome.IN_PART: "in-part",
    Outcome.FAILS: "fails",
    Outcome.UNTESTABLE: "untestable",
}
"""Of the style sheet."""


class Chip(NamedTuple):
    """A verdict in a word or two, with the class that colours it, and what is said beside it."""

    text: str
    css: str
    note: str = ""


def counts_of(paper: JudgedPaper) -> list[Chip]:
    """Return how many claims of a paper have each verdict, where any has."""
    return [Chip(f"{n} {outcome}", CLASSES[outcome]) for outcome, n in paper.counts.items() if n]


def headlines(paper: JudgedPaper) -> list[Context]:
    """Return the paper's main claims as sentences, each with its verdict."""
    claims = {one.claim.id: one for one in paper.claims}
    return [
        {"id": name, "sentence": sentence, "chips": _chips(claims[name])}
        for name, sentence in paper.paper.headlines.items()
        if name in claims
    ]


def claim_rows(paper: JudgedPaper) -> list[Context]:
    """Return what a page shows of every claim."""
    return [
        {
            "claim": one.claim,
            "chips": _chips(one),
            "why": _why(one),
            "parts": [_part(part) for part in one.parts],
        }
        for one in paper.claims
    ]


def _chips(claim: JudgedClaim) -> list[Context]:
    """Return the verdicts of a claim, each with whose settings it is by; the paper's come first."""
    alone = len(claim.verdicts) == 1
    return [
        {"by": "" if by == PROTOCOL and alone else by, "chip": _chip(verdict)}
        for by, verdict in claim.verdicts.items()
    ]


def _chip(verdict: Verdict) -> Chip:
    note = ""
    if verdict.outcome is Outcome.UNTESTABLE:
        note = "; ".join(verdict.reasons)
    elif verdict.tested:
        note = f"{verdict.counted:g} of {verdict.tested}"
    return Chip(str(verdict.outcome), CLASSES[verdict.outcome], note)


def _why(claim: JudgedClaim) -> Context | None:
    """Return the explanation of a claim that does not hold, or not in all."""
    why = claim.claim.why_not
    if why is None or all(one.outcome is Outcome.HOLDS for one in claim.verdicts.values()):
        return None
    return {"words": why.words, "shown_by": why.shown_by, "kept": claim.explained}


def _part(part: Judged) -> Context:
    """Return one judgement: the criterion, its verdict, and a table of the evidence."""
    # what has no result at all stands in the verdict's reason
    shown = [
        point for point in part.points if point.counts is not None or point.a_value is not None
    ]
    rows = [[Cell(text) for text in evidence_row(point)] for point in shown]
    kept = [i for i in range(len(EVIDENCE)) if any(row[i].text for row in rows)]
    return {
        "criterion": criterion_text(part),
        "verdict": f"{part.verdict}{counts_text(part.verdict)}",
        "table": Layout("", [EVIDENCE[i] for i in kept], [[row[i] for i in kept] for row in rows]),
    }
