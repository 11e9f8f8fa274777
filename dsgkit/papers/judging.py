"""Verdicts on claims: applies their criteria to results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dsgkit.errors import DsgError, nearest_or_all, spelled
from dsgkit.papers.claims import Claim, Paper
from dsgkit.papers.criteria import Criterion, Scope
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.verdicts import Outcome, Point, Verdict, combined
from dsgkit.text import tracked

PROTOCOL, USEFUL = "protocol", "useful"


@dataclass(frozen=True)
class Judged:
    """A criterion with its verdict, its evidence, and the names of the judged experiments."""

    criterion: Criterion
    verdict: Verdict
    points: list[Point]
    folders: list[str]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its judged criteria; ``explained`` if its explanation's results were kept."""

    claim: Claim
    parts: list[Judged]
    explained: bool

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by ``protocol`` and ``useful`` profiles, if there are such criteria."""
        return {
            by: combined([part.verdict for part in self.parts if part.criterion.by == by])
            for by in (PROTOCOL, USEFUL)
            if any(part.criterion.by == by for part in self.parts)
        }

    @property
    def verdict(self) -> Verdict:
        """The verdict by the paper's protocol, else by ``useful`` profiles."""
        return next(iter(self.verdicts.values()))

    @property
    def testable(self) -> bool:
        """Whether some verdict is based on enough results."""
        return any(one.outcome is not Outcome.UNTESTABLE for one in self.verdicts.values())


@dataclass(frozen=True)
class JudgedPaper:
    """A paper with the verdicts on its claims."""

    paper: Paper
    claims: list[JudgedClaim]

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of claims by outcome, in a fixed order."""
        counts = Counter(one.verdict.outcome for one in self.claims)
        return {outcome: counts[outcome] for outcome in Outcome}


def judge(papers: Iterable[Paper], evidence: Evidence) -> list[JudgedPaper]:
    """Judge every claim of some papers."""
    return [
        JudgedPaper(paper, [judge_claim(paper, claim, evidence) for claim in paper.claims])
        for paper in tracked(list(papers), "judging claims")
    ]


def judge_claim(paper: Paper, claim: Claim, evidence: Evidence) -> JudgedClaim:
    """Judge one claim."""
    parts = [_judged(paper, criterion, evidence) for criterion in claim.judged]
    explained = claim.why_not is not None and evidence.has(claim.why_not.shown_by)
    return JudgedClaim(claim, parts, explained)


def _judged(paper: Paper, criterion: Criterion, evidence: Evidence) -> Judged:
    scope = scope_of(paper, criterion, evidence)
    verdict, points = criterion.judge(scope)
    return Judged(criterion, verdict, points, [c.results.experiment.name for c in scope.cases])


def scope_of(paper: Paper, criterion: Criterion, evidence: Evidence) -> Scope:
    """Return the results and studies for a criterion."""
    if not criterion.on_results:
        return Scope(studies=evidence.studies)
    profiles = getattr(paper.profiles, criterion.by)
    if criterion.configs is not None:
        wanted = {name: name for name in criterion.configs}
    else:
        datasets = criterion.datasets or paper.datasets.judged
        wanted = {name: f"{name}_{paper.suffix}" for name in datasets}
    cases = {name: evidence.case(name, config, profiles) for name, config in wanted.items()}
    return Scope(
        [case for case in cases.values() if case is not None],
        evidence.studies,
        [name for name, case in cases.items() if case is None],
    )


def selected(
    papers: Sequence[Paper], ids: Sequence[str] = (), keys: Sequence[str] = ()
) -> list[Paper]:
    """Return papers with some keys and claims with some ids; by default all.

    Raises
    ------
    DsgError
        If a paper or claim is unknown.
    """
    _check_known(keys, [paper.key for paper in papers], "paper")
    papers = [paper for paper in papers if not keys or paper.key in keys]
    known = [claim.id for paper in papers for claim in paper.claims]
    _check_known(ids, known, "claim")
    if not ids:
        return list(papers)
    chosen = [
        paper.model_copy(update={"claims": [one for one in paper.claims if one.id in ids]})
        for paper in papers
    ]
    return [paper for paper in chosen if paper.claims]


def _check_known(names: Iterable[str], known: Sequence[str], what: str) -> None:
    for name in names:
        if name not in known:
            raise DsgError(
                f"unknown {what} {spelled(name)}{nearest_or_all(name, known, 'dsg claims')}"
            )
