"""The page of a paper without its claims: runs, figures, missing data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsgkit.data.catalogue import DATASETS
from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.figures import all_papers, fill
from dsgkit.papers.judge import JudgedPaper, Kept
from dsgkit.papers.pages.verdicts import claim_rows
from dsgkit.papers.printed_figures import make
from dsgkit.papers.schema import MIN_TRIALS, Paper
from dsgkit.report.formats import Cell, Layout, Table
from dsgkit.report.html.machine import describe_code, describe_environments
from dsgkit.report.html.outcomes import count_cells, failures, limits
from dsgkit.report.html.sections import picture_of
from dsgkit.report.summary import Summary, summarise

Context = dict[str, Any]


def paper_content(judged: JudgedPaper, kept: Kept, evidence: Evidence) -> Context:
    """Return the variables of a paper's template."""
    results = results_of(judged.paper, evidence)
    shown = summarise(results)
    return {
        "least_trials": MIN_TRIALS,
        "claims": claim_rows(judged),
        "printed": printed(judged.paper, kept),
        "runs": runs(shown),
        "unfinished": [
            {"name": one.results.experiment.name, "failures": failed, "limits": limited}
            for one in shown
            if (failed := failures(one)) + (limited := limits(one))
        ],
        "absent": absent(judged.paper),
        "stand_ins": judged.paper.datasets.stand_in,
        "remarks": judged.paper.notes,
        "environments": describe_environments(shown),
        "codes": describe_code(shown),
    }


def printed(paper: Paper, kept: Kept) -> list[Context]:
    """Return the paper's figures and tables from these results, in the paper's order.

    Each is a picture, tables, or a reason for having neither.
    """
    result = []
    known = [(one, shown) for one in all_papers() if one.key == paper.key for shown in one.figures]
    for figures, shown in known:
        one: Context = {"anchor": shown.file_name, "picture": None, "tables": [], "missing": None}
        try:
            made = make(fill(figures, shown, kept))
        except ResultsError as error:
            why = str(error).partition(": ")[2]
            missing = {
                "title": f"{shown.name}: {shown.title}",
                "why": f"{why[:1].upper()}{why[1:]}",
            }
            result.append(one | {"missing": missing})
            continue
        if isinstance(made, Table):
            result.append(one | {"tables": made.layouts})
        else:
            command = ["dsg", "figure", f"{paper.key}/{shown.number}"]
            result.append(one | {"picture": picture_of(made, command)})
    return result


def results_of(paper: Paper, evidence: Evidence) -> list[Results]:
    """Return the results by which the paper is judged, its own protocol first."""
    results = []
    for profiles in (paper.profiles.protocol, paper.profiles.useful):
        for dataset in paper.datasets.judged:
            case = evidence.case(dataset, f"{dataset}_{paper.suffix}", profiles)
            results += [case.results] if case else []
    return results


def runs(shown: Sequence[Summary]) -> Layout:
    """Return the table of runs: cells by outcome, and times."""
    numbers = [count_cells(one.results).numbers for one in shown]
    rows = [
        [
            Cell(one.results.experiment.name),
            Cell(str(trials := one.results.experiment.protocol.trials), value=trials),
            *(Cell(f"{n:,}", value=n) for n in counts.values()),
        ]
        for one, counts in zip(shown, numbers, strict=True)
    ]
    header = list(numbers[0]) if numbers else []
    caption = "Trials of each experiment, and its cells (searches and fits) by how they ended."
    return Layout(caption, ["Experiment", "Trials", *header], rows)


def absent(paper: Paper) -> list[Context]:
    """Return the paper's missing datasets, with their home pages."""
    return [
        {"name": name, "homepage": DATASETS[name].homepage if name in DATASETS else ""}
        for name in paper.datasets.absent
    ]
