"""The papers' pages as Markdown, with figures as small PNG files, and all verdicts as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from dsgkit.data.catalogue import DATASETS
from dsgkit.errors import ResultsError
from dsgkit.experiment.status import by_cause, places, reason
from dsgkit.papers.cases import LEAST_AUC, MARGIN
from dsgkit.papers.figures import figures_of, fill
from dsgkit.papers.judge import PROTOCOL, SCALE, SETTINGS, JudgedClaim, JudgedPaper, Kept
from dsgkit.papers.printed_figures import make
from dsgkit.papers.schema import MIN_TRIALS, Paper
from dsgkit.papers.text import about, over_datasets_lines, proof
from dsgkit.report.figures import save
from dsgkit.report.formats import (
    Cell,
    Layout,
    Table,
    csv_text,
    escape_markdown,
    markdown,
    write_text,
)
from dsgkit.report.page import OUTCOMES, cells_by_outcome

FIGURES = "figures"
SCREEN = 150  # dots per inch of the pictures on pages
READING = (
    "Each claim was tested with the paper's settings (*protocol*) and, where it matters, again "
    "with settings tuned to the data (*useful*). *8 of 16, 3 against*: of 16 comparisons, 8 "
    f"support the claim, 3 contradict it, and 5 cannot tell. {SCALE} Comparisons in which no "
    f"method learns (AUC below {LEAST_AUC:g}; error or accuracy within {MARGIN:g} of the best "
    "constant prediction) do not count; numbers with them are given, too (*in all*). *Significant* "
    "is p < 0.05 over draws of the labelled rows (or pairs), on these rows: it says nothing about "
    "other rows or datasets. Tests *over datasets* take each as one observation."
)


def write_pages(papers: Sequence[JudgedPaper], kept: Kept, folder: Path) -> list[Path]:
    """Write an index, a page for each paper, and a table of all verdicts; return the paths."""
    rows = [
        {"claim": one.claim.id, "own": one.claim.own, "settings": by}
        | {"verdict": verdict.outcome.value, "support": verdict.counted}
        | {"contradict": verdict.against, "comparisons": verdict.tested}
        | {"over_datasets": "; ".join(over_datasets_lines(one, by))}
        | {"statement": one.claim.claim}
        for paper in papers
        for one in paper.claims
        for by, verdict in one.verdicts.items()
    ]
    paths = [write_text(folder / "index.csv", csv_text(pd.DataFrame(rows)))]
    paths.append(write_text(folder / "README.md", "\n".join(_index(papers)) + "\n"))
    for one in papers:
        text = "\n".join(_page(one, kept, folder))
        paths.append(write_text(folder / f"{one.paper.key}.md", f"{text}\n"))
    return paths


def _index(papers: Sequence[JudgedPaper]) -> Iterator[str]:
    claims, checks = (sum(len(one.those(own=own)) for one in papers) for own in (False, True))
    title = "# Five papers on scalable kernel methods, reproduced"
    yield f"{title}\n\n{claims} claims, and {checks} checks of our own. {READING}"
    yield "[`index.csv`](index.csv) has all verdicts."
    for one in papers:
        page = f"{one.paper.key}.md"
        yield f"\n## [{one.paper.title}]({page})\n\n{one.paper.citation}\n"
        yield from _summary(one, page)


def _summary(judged: JudgedPaper, page: str = "") -> Iterator[str]:
    """Yield the numbers of claims by verdict, and the main claims with theirs."""
    yield f"{len(judged.those(own=False))} claims: {judged.counted}.\n"
    claims = {one.claim.id: one for one in judged.claims}
    for name, sentence in judged.paper.headlines.items():
        yield f"- [{sentence}]({page}#{name}) {_verdicts(claims[name])}"


def _verdicts(claim: JudgedClaim) -> str:
    """Return the verdicts of a claim, the paper's protocol first."""
    several = len(claim.verdicts) > 1
    return ", ".join(
        verdict.short.replace(verdict.outcome, f"**{verdict.outcome}**", 1)
        + (f" with {SETTINGS[by]}" if several or by != PROTOCOL else "")
        for by, verdict in claim.verdicts.items()
    )


def _page(judged: JudgedPaper, kept: Kept, folder: Path) -> Iterator[str]:
    paper = judged.paper
    yield f"[All papers](README.md)\n\n# {paper.title}\n\n{paper.citation}\n"
    yield from _summary(judged)
    trials = f"A comparison needs {MIN_TRIALS} finished trials of each method"
    yield f"\n## Claims\n\n{READING} {trials}, unless stated otherwise."
    for claim in judged.those(own=False):
        yield from _claim(claim)
    if checks := judged.those(own=True):
        yield "\n## Checks of our own, which the paper does not claim"
        for claim in checks:
            yield from _claim(claim)
    yield "\n## Figures and tables of the paper, as they come out here"
    yield from _printed(paper, kept, folder)
    yield from _runs(paper, kept)
    yield "\n## Errata\n\n| Place | Printed | Right, or open | Shown by |\n|---|---|---|---|"
    for one in paper.errata:
        texts = (one.place, one.printed, one.right, one.shown_by or "the paper itself")
        yield f"| {' | '.join(map(escape_markdown, texts))} |"
    yield from _left_out(paper)


def _claim(one: JudgedClaim) -> Iterator[str]:
    yield f'\n<a id="{one.claim.id}"></a>\n\n**{one.claim.id}**: {_verdicts(one)}'
    yield from (f"\n{text}" for text in about(one))
    yield "\n<details><summary>Evidence</summary>\n"
    for part in proof(one):
        yield f"{part}\n" if isinstance(part, str) else markdown(part).lstrip()
    yield "</details>"


def _printed(paper: Paper, kept: Kept, folder: Path) -> Iterator[str]:
    """Yield the paper's figures and tables, or why there is nothing to show."""
    for shown in figures_of(paper.key).values():
        yield f'\n<a id="{shown.file_name}"></a>\n'
        try:
            made = make(fill(paper, shown, kept))
        except ResultsError as error:
            why = str(error).partition(": ")[2]
            yield f"**{shown.name}**: {shown.title}. {why[:1].upper()}{why[1:]}."
            continue
        if isinstance(made, Table):
            yield from map(markdown, made.layouts)
        else:
            stem = folder / FIGURES / f"{paper.key}-{made.name}"
            save(made.draw(), stem, ["png"], dpi=SCREEN)
            yield f"![{shown.name}]({FIGURES}/{stem.name}.png)\n\n{made.caption}"


def _runs(paper: Paper, kept: Kept) -> Iterator[str]:
    """Yield the runs by which the paper is judged, and why cells have no result."""
    profiles = (paper.profiles.protocol, paper.profiles.useful)
    pairs = [(f"{name}_{paper.suffix}", of) for of in profiles for name in paper.datasets.judged]
    runs = [run for config, of in pairs if (run := kept.find(config, of))]
    rows, causes = [], []
    for run in runs:
        numbers = [run.experiment.protocol.trials, *cells_by_outcome(run).values()]
        cells = (Cell(f"{n:,}", value=n) for n in numbers)
        rows.append([Cell(run.experiment.name), *cells])
        for records in by_cause(run.unfinished):
            names = ", ".join(dict.fromkeys(run.names[one["solver"]] for one in records))
            where = places(records, run.axis)
            causes.append(f"- {run.experiment.name}: {names}, {where}: {reason(records[0])}")
    caption = "Trials of each experiment, and how its cells (searches and fits) ended."
    yield "\n## What was run\n"
    yield markdown(Layout(caption, ["Experiment", "Trials", *OUTCOMES], rows))
    if causes:
        yield "<details><summary>Cells without a result, by cause</summary>\n"
        yield from causes
        yield "\n</details>"


def _left_out(paper: Paper) -> Iterator[str]:
    """Yield the datasets that are not here, those that stand in, and remarks."""
    absent = []
    for name in paper.datasets.absent:
        page = f": {DATASETS[name].homepage}" if name in DATASETS else ""
        absent.append(f"{name}{page}")
    parts = {
        "Datasets of the paper that are not here, and where to get them": absent,
        "Datasets on which claims are tested besides the paper's": [
            f"{name}: {what}" for name, what in paper.datasets.stand_in.items()
        ],
        "Remarks on the paper and on what was tested": paper.notes,
    }
    yield "\n## What was left out, and what stands in"
    for title, lines in parts.items():
        if lines:
            yield "\n".join([f"\n{title}:\n", *(f"- {line}" for line in lines)])
