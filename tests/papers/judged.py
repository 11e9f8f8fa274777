"""Invented runs, the judgement of a criterion on them, and shipped configs."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from dsgkit.config.load import read_config
from dsgkit.experiment import frames
from dsgkit.papers.judge import Kept, Outcome, judge_criterion
from dsgkit.papers.schema import Datasets, Paper, Profiles
from dsgkit.papers.schema import criterion as criterion_of
from tests.report.runs import AUC, ERROR, TIMING, make_run

DATASETS = ("codrna", "ijcnn1", "skin", "dota2")
TRACED = replace(AUC, traced=True)


PAPER = """
number: 1
key: mine
title: A paper
citation: Somebody, 2020
task: semi_supervised_auc
suffix: s2auc
profiles: {protocol: [reference, ""], useful: [wide]}
datasets: {own: [codrna, ijcnn1, skin, dota2], absent: [higgs]}
claims:
- id: mine-01
  claim: A is as good as b.
  place: sect. 1
  kind: accuracy
  reason: Better is as good.
  judged:
  - {by: protocol, test: equal, a: own, b: other, measure: auc, margin: 0.01}
  - {by: useful, test: equal, a: own, b: other, measure: auc, margin: 0.01}
  why_not: {words: The grid is too coarse., shown_by: grids}
- id: mine-02
  claim: The error falls like 1/t.
  place: Theorem 1
  kind: convergence
  judged:
  - {by: protocol, test: rate, study: convergence, x: t, y: errors, exponent: -1, tolerance: 0.1}
"""


@cache
def config_named(name):
    """Return what a shipped config says, with its bases, unvalidated: other tests load each."""
    folder = Path(__file__).parents[2] / "configs"
    places = [folder / f"{name}.yaml", folder / "claims" / f"{name}.yaml"]
    return read_config(next(place for place in places if place.is_file())).data


def run_of(fits, of="auc", name="codrna", **settings):
    """Return a run of fits.

    ``fits`` has, for each solver and size, what its trials came to: values of ``of``, a status, or
    fields of a record.
    """
    records = {
        (key, size, trial): fields_of(of, value)
        for key, sizes in fits.items()
        for size, values in sizes.items()
        for trial, value in enumerate(values)
    }
    values = {key: {n: [0.5] * len(v) for n, v in sizes.items()} for key, sizes in fits.items()}
    settings = {"measure": TRACED, "further": (ERROR,), "records": records} | settings
    return make_run(name, **settings, **values)


def fields_of(name, value):
    """Return the fields of a record of a value, or of how a fit ended."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str):
        status, _, searching = value.partition(" ")
        told = {"message": f"{searching}: stopped"} if searching else {}
        if status == "refused":
            return {"status": "out_of_memory", "needed": 10**12} | told
        return {"status": status} | ({"timeout": 90.0} if status == "timeout" else {}) | told
    if name == "fit":
        return {"times": {"fit": value}}
    if name in ("auc", "error"):
        return {"scores": {name: value}}
    return {name: value} if name == "peak_memory" else {"diagnostics": {name: value}}


def timed(seconds, threads=1, slowdown=1.0):
    """Return the fields of a fit that took some seconds."""
    timing = TIMING | {"threads": threads, "slowdown": slowdown, "disturbed": slowdown > 1.5}
    return {"times": {"fit": seconds}, "timing": timing}


def by_dataset(*of_each):
    return dict(zip(DATASETS, of_each, strict=False))


def judged(criterion, fits=None, studies=None, missing=(), datasets=DATASETS, **settings):
    """Return the verdict on a criterion as a file has it, as text, and its points.

    ``fits`` are those on all datasets, or on each.
    """
    fits = fits or {}
    each = fits if set(fits) <= set(DATASETS) else dict.fromkeys(datasets, fits)
    of = criterion.get("measure", "fit")
    runs = {name: run_of(one, of, name, **settings) for name, one in each.items()}
    return judged_runs(criterion, runs, studies, missing)


def judged_runs(criterion, runs, studies=None, missing=()):
    """Return the verdict on a criterion by runs, and its points but for missing datasets.

    The verdict has the number of points that count only if it holds for a part of them.
    """
    configs = [*runs, *missing]
    c = criterion_of({**({"configs": configs} if configs else {}), **criterion})
    paper = Paper.model_construct(datasets=Datasets(), profiles=Profiles(protocol=[""]))
    found = judge_criterion(paper, c, Kept(runs, studies or {}))
    text, is_part = str(found.verdict), found.verdict.outcome is Outcome.IN_PART
    if found.verdict.tested and (found.verdict.remarks or not is_part):
        text = text.rpartition(" (")[0]
    return text, [point for point in found.points if point.where not in missing]


def write_kept(folder, run):
    """Write a run as kept results."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        f"name: {folder.name}\nseed: 0\ndataset: {{name: codrna}}\n"
        "protocol: {kind: semi_supervised_auc, trials: 5}\nsolvers:\n"
        + "".join(f"  {k}: {{kind: {k}, label: {label}}}\n" for k, label in run.names.items())
    )
    (folder / "task.json").write_text(run.task.model_dump_json())
    (folder / frames.FILES.fits).write_bytes(frames.packed(frames.fits_of(run.cells, ())))
