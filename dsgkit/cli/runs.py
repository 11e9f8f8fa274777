"""Commands on runs: run, try, status, env."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dsgkit.cli.messages import print_columns, print_error, print_last
from dsgkit.cli.parameters import (
    FILE,
    FOLDER,
    PATH,
    RESULTS,
    ConfigPath,
    Seconds,
    Whole,
    check_solvers,
    debug_option,
    profile_names,
    size_in_bytes,
    solvers_of_configs,
    solvers_option,
)
from dsgkit.errors import DsgError
from dsgkit.system.signals import Interrupted

MAX_JOBS = 1024
"""Processes, and threads, that a run may have."""

SECOND_LINE_INDENT = 10 * " "
"""Indent of wrapped lines about a file: the first begins with a word and spaces."""

LONGEST_TIMEOUT = 10**8
"""Seconds, three years."""


@click.command()
@click.argument("configs", nargs=-1, required=True, type=ConfigPath(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option(
    "--profile",
    shell_complete=profile_names,
    help="Use a profile of the config, such as quick.",
)
@solvers_option(
    solvers_of_configs,
    "Run these solvers only, by their keys in the config; others stay as they are.",
)
@click.option(
    "--name",
    help="Name of the results folder. By default that of the config; where --set changes results, "
    "with a short hash of the change.",
)
@click.option(
    "--jobs",
    type=Whole(min=1, max=MAX_JOBS),
    help="Hyper-parameter searches at a time; default: one per core. Timed fits always run alone.",
)
@click.option(
    "--threads",
    type=Whole(min=1, max=MAX_JOBS),
    help="Threads of a timed fit, shared by searches; default: the config's, or one per core.",
)
@click.option(
    "--once",
    is_flag=True,
    envvar="DSGKIT_ONCE",
    help="Time every fit once. By default a fit of up to 10 s is repeated: 3 times at least, and "
    "for a second in all.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=Seconds(min=0, max=LONGEST_TIMEOUT, min_open=True),
    help="Stop a cell that takes longer. On top are a minute and a second per MiB of rows for "
    "loading, and a minute for compiling, by a fit on few rows.",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    callback=size_in_bytes,
    help="Stop a cell whose process takes more memory, shared memory included, such as 4GiB.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run the cells on the workers of a Dask scheduler, such as tcp://host:8786.",
)
@click.option(
    "--out",
    default=RESULTS,
    show_default=True,
    type=FOLDER,
    help="Folder in which each config gets its results folder.",
)
@click.option(
    "--report",
    "page",
    type=FILE,
    help="Write one HTML page on all these experiments to this file, too.",
)
@click.option(
    "--dry-run", is_flag=True, help="Print the plan with its estimated cost; run nothing."
)
@click.option(
    "--resume/--fresh",
    default=True,
    show_default=True,
    help="Keep finished cells, or set them aside and compute everything again.",
)
@click.option(
    "--renew",
    is_flag=True,
    help="Recompute cells that were computed by other code, such as before an edit of a solver.",
)
@click.option(
    "--retry-failed/--keep-failed",
    default=True,
    show_default=True,
    help="Run cells again that failed before, or leave them as they are.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
@debug_option
def run(
    configs: tuple[Path, ...],
    overrides: tuple[str, ...],
    profile: str | None,
    name: str | None,
    out: Path,
    page: Path | None,
    dry_run: bool,
    **settings: Any,
) -> None:
    """Run the experiments of one or more CONFIGS and write their tables and figures.

    A config is a file, or the name of one that comes with the package (dsg list configs). Results
    go to OUT/<config name>, or OUT/<config name>-<profile> with a profile. If a run is stopped,
    the same command resumes it.
    """
    from dsgkit.config import load_experiment
    from dsgkit.experiment.folder import check_settings
    from dsgkit.users_code.rehearsal import rehearsing

    click.get_current_context().with_resource(rehearsing(settings["timeout"]))
    if name is not None and len(configs) > 1:
        raise click.UsageError("--name is for one config; run them one by one")
    experiments = [
        load_experiment(path, profile=profile, overrides=overrides, name=name) for path in configs
    ]
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise click.UsageError("two of the configs have the same name, and would share results")
    options = _run_options(**settings)
    if options.solvers is not None:
        check_solvers(options.solvers, {known.name: known.solvers for known in experiments})
    if name is None and overrides:
        _print_separate_folders(experiments, configs, profile, out)
    elif name is not None and not options.fresh:
        check_settings(out / name, experiments[0])
    if dry_run:
        good = _print_forecasts(experiments, out, options)
    else:
        _check_places(out, page, options.scheduler)
        good, reasons = _run_all(experiments, out, options)
        if len(names) == 1 and all(good):
            _print_next(out / names[0], configs[0])
        if page is not None:
            good.append(_attempt(_write_page, out, reasons, page)[0])
    if not all(good):
        raise SystemExit(1)


def _check_places(out: Path, page: Path | None, scheduler: str | None) -> None:
    """Raise `DsgError` if results or their page cannot be written, or no scheduler answers."""
    from dsgkit.experiment.store import check_writable

    check_writable(out)
    if page is not None:
        check_writable(page.parent, "the page", "--report")
    if scheduler is not None:
        from dsgkit.experiment.cluster import check_scheduler

        check_scheduler(scheduler)


def _print_separate_folders(
    experiments: Sequence[Any], configs: Sequence[Path], profile: str | None, out: Path
) -> None:
    """Print the results folders that differ from the configs' because of --set."""
    from dsgkit.config.load import plain_name

    for experiment, path in zip(experiments, configs, strict=True):
        if experiment.name != plain_name(path, profile):
            click.echo(
                f"--set changes results: they go to {out / experiment.name} (--name changes that)"
            )


def _run_options(
    jobs: int | None,
    threads: int | None,
    timeout: float | None,
    memory_limit: int | None,
    resume: bool,
    **others: Any,
) -> Any:
    from dsgkit.experiment.limits import Limits
    from dsgkit.experiment.runner import Options, default_jobs

    limits = Limits(timeout, memory_limit)
    return Options(
        jobs=jobs or default_jobs(), threads=threads, limits=limits, fresh=not resume, **others
    )


def _attempt(action: Callable[..., bool], *arguments: Any) -> tuple[bool, str]:
    """Return whether an action succeeded, and the printed error of a user's mistake if any."""
    try:
        return action(*arguments), ""
    except (DsgError, OSError) as error:
        if "--debug" in sys.argv or isinstance(error, BrokenPipeError):
            raise
        return False, print_error(error)


def _print_forecasts(experiments: Sequence[Any], out: Path, options: Any) -> list[bool]:
    """Print forecasts of runs; return for each whether it can run."""
    from dsgkit.experiment.estimate import describe_all, forecast_run
    from dsgkit.text.terminal import terminal_width, wrapped

    width = terminal_width()
    forecasts: list[Any] = []

    def forecast(experiment: Any) -> bool:
        forecasts.append(forecast_run(experiment, out / experiment.name, options))
        click.echo(forecasts[-1].text(width))
        return not forecasts[-1].missing

    good = [_attempt(forecast, experiment)[0] for experiment in experiments]
    if len(forecasts) > 1:
        click.echo(wrapped(describe_all(forecasts), width))
    return good


def _run_all(
    experiments: Sequence[Any], out: Path, options: Any
) -> tuple[list[bool], dict[str, str]]:
    """Run experiments in order; return which succeeded, and why others did not run."""
    good = []
    reasons = {experiment.name: "an earlier failure stopped the run" for experiment in experiments}
    series = _series(experiments, out, options) if len(experiments) > 1 else None
    for experiment in experiments:
        name = experiment.name
        if series is not None:
            series.begin(name)
        succeeded, reasons[name] = _attempt(
            _run_or_stop, experiment, out / name, replace(options, series=series)
        )
        good.append(succeeded)
        if series is not None and reasons[name]:
            series.drop(name)
        if options.fail_fast and not succeeded:
            break
    return good, reasons


def _series(experiments: Sequence[Any], out: Path, options: Any) -> Any:
    """Return a series with the planned times of experiments, and print their total."""
    from dsgkit.experiment.estimate import describe_all, forecast_run
    from dsgkit.experiment.series import Series
    from dsgkit.text.terminal import terminal_width, wrapped

    forecasts = {}
    for experiment in experiments:
        name = experiment.name
        with suppress(DsgError, OSError):  # reported when it runs
            forecasts[name] = forecast_run(experiment, out / name, options)
    if len(forecasts) > 1:
        click.echo(wrapped(describe_all(list(forecasts.values())), terminal_width()))
    seconds = {name: forecast.wall[1] for name, forecast in forecasts.items()}
    return Series({known.name: seconds.get(known.name, 0.0) for known in experiments})


def _run_or_stop(experiment: Any, folder: Path, options: Any) -> bool:
    """Run one experiment; if a signal stops it, print how to continue."""
    try:
        return _run_one(experiment, folder, options)
    except Interrupted as signal:
        finished = f"finished cells are in {folder}, and `dsg table {folder}` shows them"
        print_last(f"{signal}; {finished}; continue with: {_again()}")
        raise SystemExit(signal.exit_code) from None


def _run_one(experiment: Any, folder: Path, options: Any) -> bool:
    """Run one experiment, write its report, print findings; return whether no cell failed."""
    from dsgkit.experiment.results import load_results
    from dsgkit.experiment.runner import run_experiment
    from dsgkit.report import refresh_report
    from dsgkit.report.findings import findings_text
    from dsgkit.text.terminal import terminal_width

    width = terminal_width()
    outcome = run_experiment(experiment, folder, _reporting(experiment, options, width))
    if outcome.set_aside:
        click.echo(
            f"unreadable records were moved to {outcome.set_aside}, and their cells run again",
            err=True,
        )
    results = load_results(folder, outcome)
    if len(results.cells):  # none where a search ends a run at its first failure
        refresh_report(results, folder)
        # `_print_outcome` says in detail how cells ended
        shown = results if options.solvers is None else results.of(options.solvers)
        if findings := findings_text(shown, width, without=["ending"]):
            click.echo(findings)
    _print_outcome(experiment, outcome, results, width)
    return not outcome.failures


def _reporting(experiment: Any, options: Any, width: int) -> Any:
    """Return options with callbacks that print too large sizes, and sizes and trials that ended."""
    from dsgkit.experiment.status import describe_too_large
    from dsgkit.report.trials import size_text, trial_text
    from dsgkit.text.terminal import wrapped

    with_tables = options.series is None or options.series.is_first

    def size_ended(size: int, fits: Any) -> None:
        if with_tables:
            click.echo(size_text(experiment, size, fits, width))

    def trial_ended(trial: int, fits: Any) -> None:
        if trial or not with_tables:  # the tables of the first trial have its scores
            click.echo(trial_text(experiment, trial, fits, width))

    def planned(plan: Any) -> None:
        for line in describe_too_large(plan.too_large, experiment.axis):
            click.echo(wrapped(line, width))

    return replace(options, planned=planned, size_ended=size_ended, trial_ended=trial_ended)


def _print_outcome(experiment: Any, outcome: Any, results: Any, width: int) -> None:
    """Print how cells ended, what remains, and where the results are."""
    from dsgkit.experiment.status import cells, describe_endings, describe_too_large
    from dsgkit.text.terminal import wrapped

    warned = [one for one in results.records.having("warnings") if one["status"] == "ok"]
    for line in describe_endings([*outcome.ended, *warned], results.task.axis):
        click.echo(wrapped(line, width), err=True)
    if old := outcome.other_code.described(results.label, "--renew computes them again"):
        click.echo(wrapped(f"reused: {old}", width), err=True)
    if outcome.left:
        click.echo(f"stopped at a failure, with {cells(outcome.left)} left", err=True)
    if outcome.not_chosen:
        click.echo(
            f"{cells(outcome.not_chosen)} of other solvers left, for a run without --solvers"
        )
    for line in describe_too_large(outcome.too_large, experiment.axis):
        click.echo(wrapped(line, width))
    if (results.cells["status"] == "ok").any():
        what = f"tables and figures are in {results.folder}"
    else:
        what = f"no fit has a result; `dsg status -v {results.folder}` shows where each error arose"
    click.echo(
        wrapped(f"{cells(outcome.computed)} computed, {outcome.reused} reused; {what}", width)
    )


def _print_next(folder: Path, config: Path) -> None:
    """Print commands for the results, and, after a shipped config, for further runs."""
    from dsgkit.config import shipped

    where = shlex.quote(str(folder))
    steps = [
        (f"dsg table {where}", "all numbers"),
        (f"dsg plot {where}", "the figures again"),
        (f"dsg report {where}", "one HTML page"),
    ]
    if shipped.located(config).resolve().is_relative_to(shipped.folder().resolve()):
        steps += [
            ("dsg try rows.csv --label NAME", "methods compared on your own rows"),
            ("dsg list configs", "shipped configs, run by their names"),
            ("dsg run NAME --profile quick --dry-run", "forecast of its time"),
        ]
    print_columns([(f"  {command}", what) for command, what in steps])


def _write_page(out: Path, reasons: Mapping[str, str], path: Path) -> bool:
    """Write a page on experiments, with the reasons why some have no results."""
    from dsgkit.experiment.folder import CONFIG
    from dsgkit.experiment.results import load_results
    from dsgkit.report.html import write_page

    present = [name for name in reasons if (out / name / CONFIG).is_file()]
    missing = [(name, reason) for name, reason in reasons.items() if name not in present]
    click.echo(write_page([load_results(out / name) for name in present], path, missing))
    return True


def _again() -> str:
    """Return the command line that continues this run."""
    return shlex.join(["dsg", *(word for word in sys.argv[1:] if word != "--fresh")])


@click.command(name="try")
@click.argument("file", type=PATH)
@click.option("--label", metavar="COLUMN", help="Column of the labels: its name, or number from 0.")
@click.option(
    "--task",
    type=click.Choice(["auc", "svm", "ordinal", "cluster"]),
    help="Rank or classify two classes, rank ordered ones, or find clusters; the default depends "
    "on the labels.",
)
@click.option("--positive", metavar="LABEL", help="The label that is +1; all others are -1.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="Leave a column out.")
@click.option(
    "--out",
    default=RESULTS,
    show_default=True,
    type=FOLDER,
    help="Folder in which the results folder is.",
)
@click.option("--dry-run", is_flag=True, help="Print the config; write nothing and run nothing.")
@debug_option
def try_(
    file: Path,
    label: str | None,
    task: str | None,
    positive: str | None,
    ignore: tuple[str, ...],
    out: Path,
    dry_run: bool,
) -> None:
    """Compare methods on FILE, a table in delimited text, in minutes.

    The labels of most rows are hidden and used for evaluation. The config is written to the current
    folder as FILE_TASK_try.yaml; edit it and run it with `dsg run`. The same `dsg try` command
    resumes its run.
    """
    from dsgkit.cli import first_look
    from dsgkit.config import load_experiment
    from dsgkit.data.survey import survey
    from dsgkit.text.terminal import paragraph, terminal_width

    draft = first_look.draft(survey(file, label, ignore), task, positive)
    config = first_look.config_path(draft, file)
    what = "not written (--dry-run)" if dry_run else f"edit it and run it with: dsg run {config}"
    for line in [*draft.lines, f"config    {config}: {what}"]:
        click.echo(paragraph(line, terminal_width(), SECOND_LINE_INDENT))
    if dry_run:
        click.echo(f"\n{draft.text}", nl=False)
        return
    first_look.write(draft, config)
    experiment = load_experiment(config)
    # timed once: a first look needs times only roughly
    options = _run_options(None, None, None, None, True, once=True)
    if not _run_or_stop(experiment, out / experiment.name, options):
        raise SystemExit(1)
    _print_next(out / experiment.name, config)


@click.command()
@click.argument("results", nargs=-1, required=True, type=PATH)
@click.option("-v", "--verbose", is_flag=True, help="Show the tracebacks of failed cells.")
@debug_option
def status(results: tuple[Path, ...], verbose: bool) -> None:
    """Show the progress of the runs of RESULTS folders, also during a run."""
    from dsgkit.experiment.status import describe_status, read_status
    from dsgkit.text.terminal import terminal_width, wrapped

    for folder in results:
        text = describe_status(read_status(folder), tracebacks=verbose)
        click.echo(wrapped(text, terminal_width()))


@click.command()
def env() -> None:
    """Show versions, processor, threads and commit, as they are stored with results."""
    import json

    from dsgkit.experiment.environment import describe_environment

    click.echo(json.dumps(describe_environment(), indent=2))
