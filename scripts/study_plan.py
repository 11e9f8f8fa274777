"""Compare the processor time planned by ``dsg run --dry-run`` with that of the run.

Every config is planned and then run in its own process, with one job and one thread; the processor
time of that process and its workers is compared with the plan's. Then, for each solver, the
recorded times of training and judging are compared with the planned ones; these are wall times, so
they include other load. A class whose ratios are far from 1 should state another ``pace``
(`dsgkit.numerics.costs.Pace`).
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from kept import json_option, write_json

from dsgkit.config.schema import load_experiment
from dsgkit.data.dataset import load_dataset
from dsgkit.experiment.estimate import forecast_run, trained
from dsgkit.experiment.paces import product_speed
from dsgkit.experiment.plan import Cell, make_plan
from dsgkit.experiment.run import Options
from dsgkit.experiment.store import Record, read_records

_JUDGING = ("predict", "evaluate")

Row = dict[str, Any]


def by_solver(
    plan: Iterable[Cell], records: Mapping[str, Record], labels: Mapping[str, str], speed: float
) -> list[Row]:
    """Return planned and measured seconds of finished cells by solver and kind."""
    totals: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for cell in plan:
        record = records.get(cell.key)
        if record is None or record["status"] != "ok":
            continue
        times = record.get("times") or {}
        # a search trains and scores in one phase
        search = cell.kind == "search"
        judging = (cell.flops - cell.training) / speed
        figures = (
            1,
            cell.training / speed + (judging if search else 0),
            trained(record),
            0 if search else judging,
            sum(times.get(phase, 0) for phase in _JUDGING),
        )
        total = totals[cell.solver, cell.kind]
        total[:] = [a + b for a, b in zip(total, figures, strict=True)]
    names = ("cells", "planned_training", "training", "planned_judging", "judging")
    return [
        {"solver": labels[solver], "kind": kind, **dict(zip(names, total, strict=True))}
        for (solver, kind), total in totals.items()
    ]


def study(
    config: Path,
    profile: str | None,
    overrides: tuple[str, ...],
    timeout: float | None,
    out: Path,
) -> Row:
    """Plan and run a config; return both times."""
    experiment = load_experiment(config, profile=profile, overrides=overrides)
    folder = out / experiment.name
    options = Options(jobs=1, threads=1, fresh=True, timeout=timeout)
    planned = forecast_run(experiment, folder, options).processor
    settings = [text for one in overrides for text in ("--set", one)]
    settings += ["--profile", profile] if profile else []
    settings += ["--timeout", str(timeout)] if timeout else []
    command = [sys.executable, "-m", "dsgkit.cli", "run", str(config), *settings]
    before = _children()
    subprocess.run(
        [*command, "--jobs", "1", "--threads", "1", "--fresh", "--out", str(out)],
        check=False,
        stdout=subprocess.DEVNULL,
    )
    measured = _children() - before
    plan = make_plan(experiment, load_dataset(experiment.dataset)).cells
    records, _ = read_records(folder)
    labels = {name: spec.label for name, spec in experiment.solvers.items()}
    return {
        "config": experiment.name,
        "planned": planned,
        "measured": measured,
        "finished": sum(records.get(cell.key, {}).get("status") == "ok" for cell in plan),
        "cells": len(plan),
        "solvers": by_solver(plan, records, labels, product_speed()),
    }


def _children() -> float:
    """Return the processor seconds of all ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print(row: Row) -> None:
    ratio = row["planned"] / row["measured"]
    click.echo(
        f"{row['config']}: planned {row['planned']:.0f} s, took {row['measured']:.0f} s of "
        f"processor time (ratio {ratio:.2f}); {row['finished']} of {row['cells']} cells have a "
        "result"
    )
    for one in row["solvers"]:
        head = f"  {one['solver']:<34} {one['kind']:<6} {one['cells']:4.0f} cells"
        parts = [
            f"{word} {one[f'planned_{word}']:8.2f} s planned, {one[word]:8.2f} s"
            for word in ("training", "judging")
            if one[word]
        ]
        click.echo(f"{head}  {'; '.join(parts)}")


@click.command(help=__doc__)
@click.argument("configs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--profile", help="Profile of all the configs.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="As in `dsg run`.")
@click.option("--timeout", type=float, metavar="SECONDS", help="Time limit of every cell.")
@click.option("--out", default=Path("results/plans"), type=click.Path(path_type=Path))
@json_option
def main(
    configs: tuple[Path, ...],
    profile: str | None,
    overrides: tuple[str, ...],
    timeout: float | None,
    out: Path,
    json_file: Path | None,
) -> None:
    """Study every config in turn."""
    rows = []
    for config in configs:
        rows.append(study(config, profile, overrides, timeout, out))
        _print(rows[-1])
    write_json(json_file, "study_plan", {"configs": rows})


if __name__ == "__main__":
    main()
