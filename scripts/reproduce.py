"""Run every shipped config whose data are available; a later call resumes.

    python scripts/reproduce.py --profile reference

First it prints the plan: hours by config, and sources of missing data. Papers take turns, the
cheapest configs first, so that each has results early. The profile ``reference`` also runs the
configs for single claims, and some configs with the profiles for users of the methods. In the end
it judges the papers' claims and writes a page on each paper.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from dsgkit.config.load import read_config
from dsgkit.config.schema import Experiment, load_experiment
from dsgkit.errors import DataError
from dsgkit.experiment.forecast import forecast_run
from dsgkit.experiment.run import Options, default_jobs
from dsgkit.experiment.status import duration

DSG = (sys.executable, "-m", "dsgkit")
CONFIGS = Path(__file__).parents[1] / "configs"

TIMEOUT_SECONDS = 90  # of a cell, which ends exact methods on many rows

FURTHER_RUNS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "reference": {
        "wide": (
            *(f"{name}_s2auc" for name in ("codrna", "ijcnn1", "skin", "covtype_20k")),
            *(f"{name}_ordinal" for name in ("abalone", "lev", "esl", "sgemm")),
            *(f"{name}_su" for name in ("codrna", "ijcnn1", "skin", "shuttle")),
            *(f"{name}_clustering" for name in ("iris", "glass", "r15", "rings", "jain")),
        ),
        "useful": tuple(f"{name}_s3vm" for name in ("codrna", "ijcnn1", "w8a", "dota2")),
    }
}
"""Configs to run with further profiles, by the given profile."""

FITTING_PROFILES = ("wide", "useful")  # optional ones of configs for single claims


class Run(NamedTuple):
    """A config with a profile."""

    config: Path
    profile: str | None
    experiment: Experiment
    seconds: float  # of processor time that are left by the plan


@click.command(help=__doc__)
@click.option("--profile", default="reference", show_default=True)
@click.option("--out", default="results", show_default=True, type=click.Path(path_type=Path))
@click.option("--jobs", default=default_jobs(), show_default=True)
@click.option("--plan-only", is_flag=True, help="Print the plan, and run nothing.")
def main(profile: str, out: Path, jobs: int, plan_only: bool) -> None:
    options = Options(jobs=jobs, timeout=TIMEOUT_SECONDS)
    runs = in_turn(planned(wanted(profile), out, options))
    left = sum(run.seconds for run in runs)
    click.echo(
        f"{len(runs)} runs: about {duration(left)} of processor time, "
        f"{duration(left / jobs)} with {jobs} at a time"
    )
    if plan_only:
        return
    failed = []
    for number, run in enumerate(runs, start=1):
        click.echo(f"\n== {number} of {len(runs)}: {run.experiment.name}", color=True)
        profiles = ("--profile", run.profile) if run.profile else ()
        options_ = ("--out", out, "--jobs", jobs, "--timeout", TIMEOUT_SECONDS)
        command = [*DSG, "run", *map(str, (run.config, "--yes", *profiles, *options_))]
        code = subprocess.run(command, check=False).returncode
        if code < 0 or code > 128:  # stopped by a signal
            raise SystemExit(code if code > 0 else 128 - code)
        if code:
            failed.append(run.experiment.name)
    if failed:
        click.echo(f"with failures: {', '.join(failed)}", err=True)
    for conclusion in (("claims", str(out)), ("pages", str(out), "--out", str(out))):
        subprocess.run([*DSG, *conclusion], check=False)
    raise SystemExit(bool(failed))


def wanted(profile: str) -> Iterable[tuple[Path, str | None]]:
    """Yield every config with the profile, then the additional runs."""
    yield from ((config, profile) for config in sorted(CONFIGS.glob("*.yaml")))
    for further, names in FURTHER_RUNS.get(profile, {}).items():
        yield from ((CONFIGS / f"{name}.yaml", further) for name in names)
    if profile in FURTHER_RUNS:
        for path in sorted(CONFIGS.glob("claims/*.yaml")):
            profiles = (None, *read_config(path).data.get("profiles", {}))
            yield from ((path, found) for found in (None, *FITTING_PROFILES) if found in profiles)


def planned(configs: Iterable[tuple[Path, str | None]], out: Path, options: Options) -> list[Run]:
    """Print the plan or the missing data of each run, and return those that can run."""
    runs = []
    for config, profile in configs:
        experiment = load_experiment(config, profile=profile)
        try:
            forecast = forecast_run(experiment, out / experiment.name, options)
            missing = forecast.missing
        except DataError as error:
            missing = str(error)
        if missing:
            click.echo(f"{experiment.name:<44} left out: {missing}")
            continue
        processor, _ = forecast.seconds
        n_done = (forecast.cells["state"] == "finished").sum()
        click.echo(f"{experiment.name:<44} {duration(processor)}, {n_done:,} cells finished")
        runs.append(Run(config, profile, experiment, processor))
    return runs


def in_turn(runs: Iterable[Run]) -> list[Run]:
    """Return runs in order: next is the cheapest run of the setting with the least done."""
    left: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: -run.seconds):
        left.setdefault(run.experiment.protocol.kind, []).append(run)
    done = dict.fromkeys(left, 0.0)
    order = []
    while any(left.values()):
        setting = min((setting for setting in left if left[setting]), key=done.__getitem__)
        order.append(left[setting].pop())
        done[setting] += order[-1].seconds
    return order


if __name__ == "__main__":
    main()
