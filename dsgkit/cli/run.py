"""Commands on runs: run, try, status, env."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from dsgkit.cli.common import (
    FILE,
    PATH,
    RESULTS,
    Names,
    Paths,
    check_solvers,
    message,
    names_option,
    out_option,
    print_wrapped,
    results_argument,
    tell,
)
from dsgkit.errors import DsgError, shown
from dsgkit.system.machine import Interrupted
from dsgkit.text import paragraph, terminal_width, wrapped

_COUNT = click.IntRange(1, 1024)
_SECONDS = click.FloatRange(0, 10**8, min_open=True)
_TASK = click.Choice(["auc", "svm", "ordinal", "cluster"])
_SET = "Override a setting, such as protocol.trials=3; may be repeated."
_SOLVERS = "Run only these solvers, named by their keys in the config."
_ONCE = "Time each fit once; by default, fits of up to 10 s are repeated for at least a second."
_NAME = (
    "Name of the results folder; default: the config's name, with a hash if --set changes results."
)
_TIMEOUT = "Time limit for a search or a fit, not counting loading and compilation."
_MEMORY = "Memory limit for a search or a fit, such as 4GiB, shared memory included."
_YES = "Start a run that is forecast to take more than a day, which a terminal else refuses."
_FRESH = (
    "Set finished results aside and start again (with --solvers: those of these solvers), or go on "
    "with them.  [default: --resume]"
)
_RETRY = "Run failed searches and fits again, or not.  [default: --retry-failed]"


def size(value: str) -> int:
    """Return the bytes of an option's value."""
    from pydantic import ByteSize, TypeAdapter

    with suppress(ValueError):
        if 1 <= (n_bytes := int(TypeAdapter(ByteSize).validate_python(value))) < 2**63:
            return n_bytes
    raise click.BadParameter(f"{shown(value)} is not a size; write one such as 4GiB or 500MB")


@click.command()
@click.argument("configs", nargs=-1, required=True, type=PATH)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help=_SET)
@click.option("--profile", help="Use a profile of the config, such as quick.")
@names_option("--solvers", help=_SOLVERS)
@click.option("--name", help=_NAME)
@click.option("--jobs", type=_COUNT, help="Searches run at a time; default: one per core.")
@click.option("--threads", type=_COUNT, help="Threads per timed fit; default: the config's.")
@click.option("--once", is_flag=True, envvar="DSGKIT_ONCE", help=_ONCE)
@click.option("--timeout", metavar="SECONDS", type=_SECONDS, help=_TIMEOUT)
@click.option("--memory-limit", "memory", type=size, help=_MEMORY)
@click.option("--scheduler", help="Dask scheduler to run on, such as tcp://host:8786.")
@out_option(RESULTS, "Folder for the results folders of the configs.")
@click.option("--report", "page", type=FILE, help="Also write one HTML page on all experiments.")
@click.option(
    "--dry-run", is_flag=True, help="Print the plan with its time and memory; run nothing."
)
@click.option("--yes", is_flag=True, help=_YES)
@click.option("--fresh/--resume", help=_FRESH)
@click.option("--retry-failed/--keep-failed", default=True, help=_RETRY)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
def run(
    configs: Paths, out: Path, page: Path | None, dry_run: bool, yes: bool, **settings: Any
) -> None:
    """Run the experiments of CONFIGS and write tables and figures.

    A config is a file or the name of a shipped one (see dsg list configs). Results go to
    OUT/<config name>, or OUT/<config name>-<profile> with a profile. If a run is stopped, the same
    command resumes it.

    A run consists of cells: searches for hyper-parameters, and timed fits.
    """
    from dsgkit.config.schema import load_experiment
    from dsgkit.experiment.forecast import forecast_run, totals
    from dsgkit.experiment.run import Options, default_jobs
    from dsgkit.experiment.store import check_writable
    from dsgkit.experiment.workers import DaskExecutor

    form = {key: settings.pop(key) for key in ("profile", "overrides", "name")}
    loaded = [load_experiment(path, **form) for path in configs]
    experiments = {one.name: one for one in loaded}
    if len(experiments) < len(loaded):
        raise click.UsageError("two of the configs have the same name, and would share results")
    jobs, solvers = settings.pop("jobs") or default_jobs(), settings.pop("solvers")
    options = Options(jobs=jobs, solvers=solvers or None, **settings)
    if solvers:
        check_solvers(solvers, {key: one.solvers for key, one in experiments.items()})
    if page is not None and not dry_run:
        check_writable(page.parent, "--report")
    if options.scheduler is not None and not dry_run:
        with DaskExecutor(options.scheduler):  # raises `DsgError` if none answers
            pass
    failures = dict.fromkeys(experiments, "an earlier failure stopped the run")
    forecasts = []
    asks = not yes and all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))
    for key, one in experiments.items():
        try:
            if dry_run:
                forecasts.append(forecast_run(one, out / key, options))
                click.echo(forecasts[-1].text(terminal_width()))
                failures[key] = forecasts[-1].missing
            else:
                failures[key] = _run_one(one, out / key, options, asks)
        except (DsgError, OSError) as error:
            if "--debug" in sys.argv or isinstance(error, BrokenPipeError):
                raise
            tell(error)
            failures[key] = message(error)
        if options.fail_fast and failures[key] and not dry_run:
            break
    if len(forecasts) > 1:
        print_wrapped(f"{len(forecasts)} experiments: {totals(forecasts)}")
    if page is not None and not dry_run:
        click.echo(_write_page(out, failures, page))
    raise SystemExit(int(any(failures.values())))


def _write_page(out: Path, failures: Mapping[str, str], path: Path) -> Path:
    """Write a page on experiments, with the reasons why some have no results."""
    from dsgkit.experiment.folder import CONFIG
    from dsgkit.experiment.runs import load
    from dsgkit.report.formats import write_text
    from dsgkit.report.page import page_text

    present = [name for name in failures if (out / name / CONFIG).is_file()]
    missing = [(name, why) for name, why in failures.items() if name not in present]
    return write_text(path, page_text(load(*(out / name for name in present)), missing))


def _run_one(experiment: Any, folder: Path, options: Any, asks: bool = False) -> str:
    """Run an experiment, write its report and print findings; return whether cells failed."""
    from rich import get_console

    from dsgkit.experiment.forecast import forecast_run
    from dsgkit.experiment.run import run_experiment
    from dsgkit.report.terminal import trial_text

    say = partial(get_console().out, highlight=False)  # above the progress line

    def planned(plan: Any, dataset: Any) -> None:
        if asks and (long := forecast_run(experiment, folder, options, plan).too_long):
            less = "--solvers or --profile run less, --dry-run shows the plan"
            raise DsgError(f"{experiment.name}: {long}; --yes starts it, {less}")
        if experiment.dataset.path:
            say(wrapped(dataset.summary, terminal_width()))
        for sizes in plan.too_large:
            say(wrapped(sizes.text(experiment.axis), terminal_width()))

    def trial_ended(trial: int, fits: Any) -> None:
        if fits:
            say(trial_text(experiment, trial, fits, terminal_width()))

    try:
        reporting = replace(options, planned=planned, trial_ended=trial_ended)
        outcome = run_experiment(experiment, folder, reporting)
    except Interrupted as signal:
        # with --solvers, the results to be replaced are still there, and would count
        left_out = [] if options.solvers else ["--fresh"]
        again = shlex.join(["dsg", *(word for word in sys.argv[1:] if word not in left_out)])
        finished = f"finished cells are in {folder}, and `dsg table {folder}` shows them"
        tell(f"{signal}; {finished}; continue with: {again}")
        raise SystemExit(signal.exit_code) from None
    _report(experiment, folder, options.solvers, outcome)
    return "cells failed" if outcome.failures else ""


def _report(experiment: Any, folder: Path, solvers: Names | None, outcome: Any) -> None:
    """Write the tables and figures of a run that has ended, and print findings and problems."""
    from dsgkit.experiment.folder import other_source
    from dsgkit.experiment.runs import load
    from dsgkit.experiment.status import cells, describe_endings
    from dsgkit.report import refresh_report
    from dsgkit.report.findings import findings_text

    (run,) = load(folder)
    records = [record for _, record in run.recorded]
    if (run.fits["status"] != "").any():  # none where a search ends a run at its first failure
        refresh_report(folder)
        part = run if solvers is None else run.of(solvers)
        if findings := findings_text(part, terminal_width(), without=["ending"]):
            click.echo(findings)
    done = [record for record in records if record["status"] == "ok"]
    problems = describe_endings([*outcome.ended, *done], experiment.axis)
    if bad := outcome.bad:
        lines = f"unreadable lines of records: {len(bad)}, the first is line {bad[0]}"
        problems.append(f"{lines}; their cells ran again")
    problems += other_source(records, folder)
    if outcome.left:
        problems.append(f"stopped at a failure, with {cells(outcome.left)} left")
    print_wrapped(*problems, err=True)
    what = f"tables and figures are in {folder}; `dsg report {folder}` makes one page of them"
    if not (run.fits["status"] == "ok").any():
        what = f"no fit has a result; `dsg status -v {folder}` shows where each error arose"
    print_wrapped(f"{cells(outcome.computed)} computed, {outcome.reused} reused; {what}")


@click.command(name="try")
@click.argument("file", type=PATH)
@click.option(
    "--label", metavar="COLUMN", help="Column of the labels: its name, or its number from 0."
)
@click.option("--task", type=_TASK, help="Learning setting; default: what suits the labels.")
@click.option("--positive", metavar="LABEL", help="The label that is +1; all others are -1.")
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    metavar="COLUMN",
    help="Column to leave out; may be repeated.",
)
@click.option("--unlabeled", metavar="LABEL", help="Label that marks unlabelled rows, such as -1.")
@click.option("--trials", type=click.IntRange(min=1), help="Number of random splits.")
@click.option("--labeled-rows", type=click.IntRange(min=4), help="Number of labelled rows.")
@out_option(RESULTS, "Folder in which the results folder is.")
@click.option("--dry-run", is_flag=True, help="Print the config; write nothing and run nothing.")
def try_(file: Path, out: Path, dry_run: bool, **choices: Any) -> None:
    """Compare methods on FILE, a table in delimited text.

    The labels of most rows are hidden and used for evaluation. The config is written to the current
    folder as FILE_TASK_try.yaml; edit it and run it with `dsg run`. The same `dsg try` command
    resumes its run.
    """
    from dsgkit.cli import first_look
    from dsgkit.config.schema import load_experiment
    from dsgkit.experiment.run import Options, default_jobs

    lines, text, config = first_look.draft(file, **choices)
    what = "not written (--dry-run)" if dry_run else f"edit it and run it with: dsg run {config}"
    for line in [*lines, f"config    {config}: {what}"]:
        click.echo(paragraph(line, terminal_width(), " " * 10))
    if dry_run:
        click.echo(f"\n{text}", nl=False)
        return
    config.write_text(text, "utf-8")
    experiment = load_experiment(config)
    # timed once: a first look needs times only roughly
    options = Options(jobs=default_jobs(), once=True)
    raise SystemExit(int(bool(_run_one(experiment, out / experiment.name, options))))


@click.command()
@results_argument
@click.option("-v", "--verbose", is_flag=True, help="Show the tracebacks of failures.")
def status(results: Paths, verbose: bool) -> None:
    """Show the progress of RESULTS folders, also during a run."""
    from dsgkit.experiment.status import describe_status

    for folder in results:
        print_wrapped(describe_status(folder, tracebacks=verbose))


@click.command()
def env() -> None:
    """Show versions, processor, threads and commit."""
    from dsgkit.experiment.folder import describe_environment

    click.echo(json.dumps(describe_environment(), indent=2))
