"""The page of a paper apart from its claims: what was run, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsgkit.data.catalogue import DATASETS
from dsgkit.experiment.results import Results
from dsgkit.papers.claims import Paper
from dsgkit.papers.criteria import MIN_TRIALS
from dsgkit.papers.evidence import Evidence
from dsgkit.papers.figures import NothingToShowError, all_papers
from dsgkit.papers.figures_drawn import file_name
from dsgkit.papers.figures_written import Look, output_of
from dsgkit.papers.judging import JudgedPaper
from dsgkit.papers.pages.verdicts import claim_rows
from dsgkit.report.formats import Cell, Layout
from dsgkit.report.html.machine import describe_code, describe_environments
from dsgkit.report.html.outcomes import count_cells, failures, limits
from dsgkit.report.html.sections import picture_of
from dsgkit.report.output import FigureOutput
from dsgkit.report.summary import Summary, summarise

Context = dict[str, Any]


def paper_content(judged: JudgedPaper, evidence: Evidence) -> Context:
    """Return what the page of a paper shows, by the names that its template uses."""
    results = results_of(judged.paper, evidence)
    shown = summarise(results)
    return {
        "least_trials": MIN_TRIALS,
        "claims": claim_rows(judged, evidence),
        "printed": printed(judged.paper, evidence),
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


def printed(paper: Paper, evidence: Evidence) -> list[Context]:
    """Return the paper's figures and tables as they come out here, in its order.

    Each is a picture, or tables, or a reason why there is nothing.
    """
    found = []
    known = [(one, shown) for one in all_papers() if one.key == paper.key for shown in one.figures]
    for figures, shown in known:
        one: Context = {"anchor": file_name(shown), "picture": None, "tables": [], "missing": None}
        try:
            output = output_of(figures, shown, evidence, Look())
        except NothingToShowError as error:
            missing = {
                "title": f"{shown.name}: {shown.title}",
                "why": f"{error.why[:1].upper()}{error.why[1:]}",
            }
            found.append(one | {"missing": missing})
            continue
        if isinstance(output, FigureOutput):
            command = ["dsg", "figure", f"{paper.key}/{shown.number}"]
            found.append(one | {"picture": picture_of(output, command)})
        elif table := output.make():
            found.append(one | {"tables": table.layouts})
    return found


def results_of(paper: Paper, evidence: Evidence) -> list[Results]:
    """Return the results that the paper is judged by, those by its own protocol first."""
    found = []
    for profiles in (paper.profiles.protocol, paper.profiles.useful):
        for dataset in paper.datasets.judged:
            case = evidence.case(dataset, f"{dataset}_{paper.suffix}", profiles)
            found += [case.results] if case else []
    return found


def runs(shown: Sequence[Summary]) -> Layout:
    """Return the table of what was run: cells by how they ended, and when."""
    numbers = [count_cells(one.results).numbers for one in shown]
    rows = [
        [
            Cell(one.results.experiment.name),
            Cell(str(one.results.trials), value=one.results.trials),
            *(Cell(f"{n:,}", value=n) for n in counts.values()),
        ]
        for one, counts in zip(shown, numbers, strict=True)
    ]
    header = list(numbers[0]) if numbers else []
    caption = "Trials of each experiment, and its cells (searches and fits) by how they ended."
    return Layout(caption, ["Experiment", "Trials", *header], rows)


def absent(paper: Paper) -> list[Context]:
    """Return the datasets of the paper that are not here, with where they are to be had."""
    return [
        {"name": name, "homepage": DATASETS[name].homepage if name in DATASETS else ""}
        for name in paper.datasets.absent
    ]
