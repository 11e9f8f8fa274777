"""Claims and their verdicts for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dsgkit.papers.judge import PROTOCOL, Judged, JudgedClaim, JudgedPaper, Outcome, Verdict
from dsgkit.papers.text import criterion_text, evidence, labels_of, share, with_labels
from dsgkit.report.formats import Cell, Layout

Context = dict[str, Any]

CLASSES = {
    Outcome.HOLDS: "holds",
    Outcome.IN_PART: "in-part",
    Outcome.FAILS: "fails",
    Outcome.UNTESTABLE: "untestable",
}
"""CSS classes."""


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


def claim_rows(paper: JudgedPaper) -> list[Context]:
    """Return the claims for a page."""
    return [_claim_row(one, labels_of(one.parts)) for one in paper.claims]


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


def _part(part: Judged, labels: Mapping[str, str]) -> Context:
    """Return a criterion, its verdict, and the tables of evidence."""
    return {
        "criterion": criterion_text(part, labels),
        "verdict": with_labels(f"{part.verdict}{share(part.verdict)}", labels),
        "tables": [
            Layout(one.title, one.heads, [[Cell(text) for text in row] for row in one.rows])
            for one in evidence(part, labels)
        ],
    }
