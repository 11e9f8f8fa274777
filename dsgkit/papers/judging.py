"""Verdicts on claims: every judgement of a claim on the results that its profiles have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dsgkit.papers.claims import Claim, Paper
from dsgkit.papers.criteria import Criterion, Scope
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.verdicts import Outcome, Point, Verdict, combined
from dsgkit.system.progress import Bar
from dsgkit.text.errors import DsgError
from dsgkit.text.hints import nearest_or_all, spelled

PROTOCOL, USEFUL = "protocol", "useful"


@dataclass(frozen=True)
class Judged:
    """One judgement with its evidence, and the names of the experiments that were judged."""

    criterion: Criterion
    verdict: Verdict
    points: list[Point]
    folders: list[str]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdicts, and whether the study or config of its explanation was kept."""

    claim: Claim
    parts: list[Judged]
    explained: bool

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by the paper's protocol and by profiles that fit, where it is judged so."""
        return {
            by: combined([part.verdict for part in self.parts if part.criterion.by == by])
            for by in (PROTOCOL, USEFUL)
            if any(part.criterion.by == by for part in self.parts)
        }

    @property
    def verdict(self) -> Verdict:
        """The verdict by the paper's protocol; by profiles that fit if there is no other."""
        return next(iter(self.verdicts.values()))

    @property
    def testable(self) -> bool:
        """Whether some profile has results that tell."""
        return any(one.outcome is not Outcome.UNTESTABLE for one in self.verdicts.values())


@dataclass(frozen=True)
class JudgedPaper:
    """A paper with the verdicts on its claims."""

    paper: Paper
    claims: list[JudgedClaim]

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many claims there are of each outcome, in a fixed order."""
        found = Counter(one.verdict.outcome for one in self.claims)
        return {outcome: found[outcome] for outcome in Outcome}


def judge(papers: Iterable[Paper], evidence: Evidence) -> list[JudgedPaper]:
    """Judge every claim of some papers."""
    papers = list(papers)
    with Bar("judging claims", sum(len(paper.claims) for paper in papers)) as bar:

        def judged(paper: Paper, claim: Claim) -> JudgedClaim:
            bar.update(1)
            return judge_claim(paper, claim, evidence)

        return [JudgedPaper(one, [judged(one, claim) for claim in one.claims]) for one in papers]


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
    """Return the results and studies that a judgement looks at."""
    if not criterion.on_results:
        return Scope(studies=evidence.studies)
    profiles = getattr(paper.profiles, criterion.by)
    if criterion.configs is not None:
        wanted = {name: name for name in criterion.configs}
    else:
        datasets = criterion.datasets or paper.datasets.judged
        wanted = {name: f"{name}_{paper.suffix}" for name in datasets}
    found = {name: evidence.case(name, config, profiles) for name, config in wanted.items()}
    return Scope(
        [case for case in found.values() if case is not None],
        evidence.studies,
        [name for name, case in found.items() if case is None],
    )


def selected(
    papers: Sequence[Paper], ids: Sequence[str] = (), keys: Sequence[str] = ()
) -> list[Paper]:
    """Return papers by their keys, with claims by their ids; all where none are named.

    Raises
    ------
    DsgError
        If there is no such paper or claim.
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
