"""Verdicts on the papers' claims, by the tests of their criteria on kept results.

Of n points with evidence, y support a claim, x contradict it, and the others cannot tell. One scale
makes the verdict of these numbers (`on_scale`), for all claims of all papers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from dsgkit.errors import DsgError, ResultsError, nearest_or_all, spelled
from dsgkit.experiment.folder import CONFIG
from dsgkit.experiment.frames import FILES
from dsgkit.experiment.runs import Run, load
from dsgkit.experiment.store import CELLS
from dsgkit.papers.cases import Case
from dsgkit.papers.schema import Claim, Criterion, Paper
from dsgkit.papers.tests import GAIN, TESTS, Point, chosen_sizes
from dsgkit.published import bsgd_svc
from dsgkit.report.numbers import counted
from dsgkit.report.stats import LEVEL
from dsgkit.text import tracked

STUDIES = "studies"  # folder next to results with the JSON files of studies
MIN_DATASETS = 3  # tested for a verdict, or all of a claim with fewer
MIN_RANKED = 6  # datasets of a signed-rank test
NO_RESULTS = "no results"  # note on a dataset without a results folder
PROTOCOL, USEFUL = "protocol", "useful"
SETTINGS = {PROTOCOL: "the paper's settings", USEFUL: "tuned settings"}


class Outcome(StrEnum):
    """The possible verdicts on a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    HARDLY = "hardly"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNTESTABLE = "not testable here"

    @property
    def plural(self) -> str:
        """What several claims do, such as ``hold``."""
        return self.replace("hardly", "hardly hold").replace("holds", "hold").replace("does", "do")

    def counted(self, n: int) -> str:
        """Return the outcome with a number of claims: ``1 holds``, ``2 hold``."""
        return f"{n} {self if n == 1 else self.plural}"


@dataclass(frozen=True)
class OverDatasets:
    """A test over datasets, which takes the mean difference of each as one observation.

    The Wilcoxon signed-rank test; a sign test for fewer than six datasets with a difference
    (Demsar, Statistical comparisons of classifiers over multiple data sets, 2006).
    """

    gains: int  # datasets with a gain
    datasets: int
    mean: float
    p: float
    worse: bool = False  # whether losses outweigh gains, by their ranks (or numbers)
    percent: bool = False  # of a measure in percent

    def __str__(self) -> str:
        mean = f"{100 * self.mean:+.2g} points" if self.percent else f"{self.mean:+.2g}"
        return f"{self.gains} of {self.datasets} datasets gain, {mean} on average, " + (
            "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        )


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim, or on a part of it."""

    outcome: Outcome
    counted: float = 0  # points that support the claim
    tested: int = 0  # points with evidence
    remarks: tuple[str, ...] = ()  # why it is not testable, or how many parts hold
    against: float = 0  # points that contradict it
    all_counted: float = 0  # with the points at which nothing is learnt
    all_tested: int = 0
    over: OverDatasets | None = None
    over_all: OverDatasets | None = None  # with datasets where nothing is learnt
    learnt_at: tuple[str, ...] = ()  # the datasets where something is learnt
    needed: int = 0  # of them, for a verdict that does not name their number

    def __str__(self) -> str:
        remarks = f": {'; '.join(self.remarks)}" if self.remarks else ""
        return f"{self.outcome}{remarks}{f' ({self.share})' if self.all_tested else ''}"

    @property
    def share(self) -> str:
        """How many points support the claim, as ``6 of 12``, and the others as far as needed."""
        if not self.tested:
            return f"nothing is learnt in any of {self.all_tested}"
        text = f"{self.counted:g} of {self.tested}"
        if self.tested < self.all_tested:
            text += " where something is learnt"
        if self.tested < self.all_tested and len(self.learnt_at) < self.needed:
            text += f", on {counted(len(self.learnt_at), 'dataset')}"
        if self.counted + self.against < self.tested:
            text += f", {self.against:g} against"
        if self.tested < self.all_tested:
            text += f"; {self.all_counted:g} of {self.all_tested} in all"
        return text

    @property
    def short(self) -> str:
        """The verdict without reasons why it is not testable."""
        return str(self.outcome if self.outcome is Outcome.UNTESTABLE else self)


IN_PART_IF = Outcome.HOLDS, Outcome.IN_PART
CLEAREST_FIRST = Outcome.FAILS, Outcome.HARDLY, Outcome.UNDECIDED


def untestable(*reasons: str) -> Verdict:
    return Verdict(Outcome.UNTESTABLE, remarks=tuple(dict.fromkeys(filter(None, reasons))))


def on_scale(yes: float, no: float, n: int, *, opposed: bool = False) -> Outcome:
    """Return the verdict of n points, of which some say yes or no, and the others cannot tell."""
    if 10 * yes >= 8 * n > 0:
        return Outcome.HOLDS
    if 2 * yes >= n > 0:
        return Outcome.IN_PART
    if 2 * no >= n > 0 or opposed:
        return Outcome.FAILS
    return Outcome.HARDLY if 2 * (yes + no) >= n > 0 else Outcome.UNDECIDED


SCALE = (
    "A claim *holds* if at least 80% of the comparisons support it, and *holds in part* if at "
    "least half do. It *does not hold* if at least half contradict it, or if the test over "
    "datasets shows the opposite. It is *undecided* if most comparisons cannot tell; otherwise it "
    "*hardly* holds. Of several parts, or pairs of methods, all must hold; the claim holds in part "
    "if some hold, or hold in part. Else the clearest verdict on one of them counts, in the order "
    "*does not hold*, *hardly*, *undecided*."
)


def over_datasets(points: Sequence[Point]) -> OverDatasets | None:
    """Return the test over datasets of the gains of points; None for other points."""
    found: dict[str, list[float]] = {}
    for point in points:
        if point.of == GAIN and point.estimate is not None:
            found.setdefault(point.where, []).append(point.estimate)
    means = [sum(several) / len(several) for several in found.values()]
    some = [mean for mean in means if mean]
    if len(means) < 2 or not some:
        return None
    from scipy.stats import binomtest, rankdata, wilcoxon  # takes a second to import

    gains = sum(mean > 0 for mean in means)
    if len(some) < MIN_RANKED:
        p, balance = binomtest(gains, len(some)).pvalue, np.sign(some).sum()
    else:
        p, balance = wilcoxon(some).pvalue, (np.sign(some) * rankdata(np.abs(some))).sum()
    percent = any(point.unit == "percent" for point in points)
    mean = sum(means) / len(means)
    return OverDatasets(gains, len(means), mean, float(p), bool(balance < 0), percent)


def judged(points: Sequence[Point], claimed: int) -> Verdict:
    """Return the verdict on the points of one pair, of ``claimed`` datasets (0 for a study)."""
    tested = [point for point in points if point.counts is not None]
    datasets = len({point.where for point in tested})
    if not tested or datasets < min(MIN_DATASETS, claimed):
        return untestable(*_why_untestable(points, datasets, claimed))
    told = [point for point in tested if point.learnt]
    yes, no = sum(point.yes for point in told), sum(point.no for point in told)
    over = over_datasets(told)
    # whether the test over datasets shows the opposite of the claim
    opposed = over is not None and over.p < LEVEL and over.worse
    outcome = on_scale(yes, no, len(told), opposed=opposed)
    in_all = sum(point.yes for point in tested), len(tested)
    over_all = over_datasets(tested) if len(told) < len(tested) else None
    learnt_at = tuple(sorted({point.where for point in told}))
    at = learnt_at, min(MIN_DATASETS, claimed)
    return Verdict(outcome, yes, len(told), (), no, *in_all, over, over_all, *at)


def _why_untestable(points: Iterable[Point], datasets: int, claimed: int) -> list[str]:
    where: dict[str, dict[str, None]] = {}
    for point in points:
        if point.counts is None:
            where.setdefault(point.note, {})[point.where] = None
    notes = [f"{note} ({', '.join(names)})" for note, names in where.items()]
    enough = f"{datasets} of {claimed} datasets have enough results" if datasets else ""
    return [enough, *notes] if notes else [enough or NO_RESULTS]


def combined(verdicts: Sequence[Verdict], of: str = "parts") -> Verdict:
    """Return the verdict on a claim from those on its parts (or pairs), which must all hold.

    If some of them hold, or hold in part, the claim holds in part; else the clearest verdict
    counts. An untestable part makes a claim untestable that would hold otherwise.
    """
    known = [verdict for verdict in verdicts if verdict.outcome is not Outcome.UNTESTABLE]
    reasons = [reason for one in verdicts if one not in known for reason in one.remarks]
    counts = Counter(verdict.outcome for verdict in known)
    n_hold = counts[Outcome.HOLDS]
    if len(verdicts) == 1:
        return verdicts[0]
    if n_hold == len(known) and (reasons or not known):
        return untestable(f"{n_hold} of {len(verdicts)} {of} hold" if known else "", *reasons)
    names = ("counted", "tested", "against", "all_counted", "all_tested")
    sums: dict[str, Any] = {name: sum(getattr(one, name) for one in known) for name in names}
    sums["learnt_at"] = tuple(sorted({name for one in known for name in one.learnt_at}))
    sums["needed"] = max(one.needed for one in known)
    by_sums = on_scale(sums["counted"], sums["against"], sums["tested"])
    if len(counts) == 1 and len(known) == len(verdicts) and by_sums is known[0].outcome:
        return Verdict(by_sums, **sums)
    outcome = next(one for one in (*IN_PART_IF, *CLEAREST_FIRST) if one in counts)
    parts = f"{counts[outcome]} of {len(verdicts)} {of} {outcome.plural}"
    if left := len(verdicts) - len(known):
        parts += f", {left} not testable"
    return Verdict(Outcome.IN_PART if outcome in IN_PART_IF else outcome, remarks=(parts,), **sums)


# --- kept results


@dataclass(frozen=True)
class Kept:
    """Runs by the names of their experiments, and the numbers of studies by file name."""

    runs: Mapping[str, Run] = field(default_factory=dict)
    studies: Mapping[str, Any] = field(default_factory=dict)
    _cases: dict[tuple[str, str], Case] = field(default_factory=dict, init=False, repr=False)

    def find(self, config: str, profiles: Iterable[str]) -> Run | None:
        """Return the run of a config by the first profile with results; ``""`` is none."""
        names = (f"{config}-{profile}" if profile else config for profile in profiles)
        runs = (self.runs[name] for name in names if name in self.runs)
        return next((run for run in runs if (run.fits["status"] != "").any()), None)

    def case(self, name: str, config: str, profiles: Iterable[str]) -> Case | None:
        """Return the run of a config as evidence on ``name``: its dataset or the config."""
        if (run := self.find(config, profiles)) is None:
            return None
        key = name, run.experiment.name
        if key not in self._cases:
            self._cases[key] = Case(name, run)
        return self._cases[key]


def read_kept(paths: Sequence[Path], names: Container[str] | None = None) -> Kept:
    """Read results folders, and all (or the named ones) in folders of them, with their studies."""
    runs: dict[str, Run] = {}
    studies: dict[str, Any] = {"published_bounds": bsgd_svc.bounds()}
    inside = {path: results_folders(path, names) for path in paths}
    every = [folder for folders in inside.values() for folder in folders]
    for folder in tracked(every, "reading results"):
        (run,) = load(folder)
        if other := runs.get(name := run.experiment.name):
            text = f"{folder}: holds {name}, as {other.folder} does; name one of them"
            raise ResultsError(text)
        runs[name] = run
    for path, folders in inside.items():
        parent = path.parent if folders == [path] else path
        for file in sorted((parent / STUDIES).glob("*.json")):
            try:
                studies[file.stem] = json.loads(file.read_text(encoding="utf-8"))["numbers"]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise ResultsError(f"{file}: is not what a study writes with --json") from error
    return Kept(runs, studies)


def results_folders(path: Path, names: Container[str] | None) -> list[Path]:
    """Return a results folder itself, or the results folders in a folder."""
    if (path / CONFIG).is_file():
        return [path]
    if not path.is_dir():
        raise ResultsError(f"{path}: no such folder; name results folders, or a folder of them")
    folders = [one for one in sorted(path.iterdir()) if (one / CONFIG).is_file()]
    folders = [one for one in folders if [*one.glob(f"{CELLS}*"), *one.glob(FILES.fits)]]
    if names is not None:
        return [one for one in folders if one.name in names]
    if not folders:
        raise ResultsError(f"{path}: neither a results folder nor one of folders with records")
    return folders


# --- judging


@dataclass(frozen=True)
class Judged:
    """A criterion with its evidence, its runs, and the verdict on each pair of solvers."""

    criterion: Criterion
    points: list[Point]
    runs: list[Run]
    pairs: dict[tuple[str, str], Verdict]

    @property
    def verdict(self) -> Verdict:
        """The verdict on all pairs, which must all hold."""
        of = "pairs" if hasattr(self.criterion, "b") else "parts"
        return combined([*self.pairs.values()], of)


@dataclass(frozen=True)
class JudgedClaim:
    """A claim and the verdicts on its criteria."""

    claim: Claim
    parts: list[Judged]

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts by ``protocol`` and ``useful`` profiles, if there are such criteria."""
        verdicts: dict[str, list[Verdict]] = {PROTOCOL: [], USEFUL: []}
        for part in self.parts:
            verdicts[part.criterion.by].append(part.verdict)
        told = {by: combined(several) for by, several in verdicts.items() if several}
        return told or {PROTOCOL: untestable(self.claim.untestable or "")}

    @property
    def verdict(self) -> Verdict:
        """The verdict by the paper's protocol, else by ``useful`` profiles."""
        return next(iter(self.verdicts.values()))


@dataclass(frozen=True)
class JudgedPaper:
    """A paper with the verdicts on its claims."""

    paper: Paper
    claims: list[JudgedClaim]

    def those(self, *, own: bool) -> list[JudgedClaim]:
        """Return the claims of the paper, or the checks of our own."""
        return [one for one in self.claims if one.claim.own == own]

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of the paper's claims by outcome, in a fixed order."""
        counts = Counter(one.verdict.outcome for one in self.those(own=False))
        return {outcome: counts[outcome] for outcome in Outcome}

    @property
    def counted(self) -> str:
        return ", ".join(outcome.counted(n) for outcome, n in self.counts.items() if n)


def judge(papers: Iterable[Paper], kept: Kept) -> list[JudgedPaper]:
    judged_papers = []
    for paper in tracked([*papers], "judging claims"):
        claims = [
            JudgedClaim(claim, [judge_criterion(paper, one, kept) for one in claim.judged])
            for claim in paper.claims
        ]
        judged_papers.append(JudgedPaper(paper, claims))
    return judged_papers


def judge_criterion(paper: Paper, c: Criterion, kept: Kept) -> Judged:
    """Judge a claim by one criterion: pair by pair of solvers, which must all hold."""
    found: dict[str, Case | None] = {}
    if c.on_results:
        configs = {name: name for name in c.configs or ()} or {
            name: f"{name}_{paper.suffix}" for name in c.datasets or paper.datasets.judged
        }
        profiles = getattr(paper.profiles, c.by)
        found = {name: kept.case(name, config, profiles) for name, config in configs.items()}
    missing = [Point(name, note=NO_RESULTS) for name, case in found.items() if case is None]
    cases = [case for case in found.values() if case is not None]
    runs = [case.run for case in cases]
    if hasattr(c, "sizes"):  # datasets without those of the claim are left out
        cases = [case for case in cases if chosen_sizes(c.sizes, case.sizes)]
    if runs and not cases and not missing:
        return Judged(c, [], runs, {("", ""): untestable("no dataset has such a size")})
    try:
        points = TESTS[c.test](c, cases, kept.studies)
    except ResultsError as error:  # of a study
        return Judged(c, [], runs, {("", ""): untestable(str(error))})
    pairs: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        pairs.setdefault((point.a, point.b), []).append(point)
    verdicts = {
        pair: judged([*several, *missing], len(cases) + len(missing))
        for pair, several in (pairs or {("", ""): []}).items()
    }
    return Judged(c, [*points, *missing], runs, verdicts)


def selected(
    papers: Sequence[Paper], ids: Sequence[str] = (), keys: Sequence[str] = ()
) -> list[Paper]:
    """Return papers with some keys and claims with some ids; by default all."""
    of_papers = [paper for paper in papers if not keys or paper.key in keys]
    ids_known = [claim.id for paper in of_papers for claim in paper.claims]
    known = (("paper", keys, [paper.key for paper in papers]), ("claim", ids, ids_known))
    for what, names, there in known:
        if unknown := [name for name in names if name not in there]:
            told = nearest_or_all(unknown[0], there, "dsg claims")
            raise DsgError(f"unknown {what} {spelled(unknown[0])}{told}")
    claims = [[one for one in paper.claims if not ids or one.id in ids] for paper in of_papers]
    pairs = zip(of_papers, claims, strict=True)
    return [paper.model_copy(update={"claims": several}) for paper, several in pairs if several]
