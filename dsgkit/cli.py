"""The command line: parse, call, print. Heavy imports happen inside the commands."""

from __future__ import annotations

import gc
import math
import os
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from dsgkit import __version__
from dsgkit.errors import DsgError, in_a_line, shown
from dsgkit.files import why_no_path
from dsgkit.hints import LONGEST_SHOWN_PATH
from dsgkit.origin import one_line, text_of, users_place
from dsgkit.signals import Interrupted, stopped_by_signals

if TYPE_CHECKING:
    from dsgkit.experiment.results import Results

RESULTS = Path("results")
KEPT = RESULTS / "reference"

LEAST_OPEN_FILES = 64
"""With fewer, not even all libraries can be loaded."""

LONGEST_MESSAGE = 1000
"""Characters."""

_LONGEST_NUMBER = 80
"""Characters of a whole number."""

FIGURE_FORMATS = ("pdf", "png", "svg")

MOST_JOBS = 1024
"""Of processes and of threads."""

LONGEST_TIMEOUT = 10**8
"""Seconds, three years."""

_NEW_OBJECTS = 10_000
"""After so many, Python looks for cycles among them. After 700, as is its default, that took a
second more of every command on 100,000 records, which have no cycles."""


def main() -> None:
    """Run ``dsg``: a user's mistake ends in one line and exit code 1, without a traceback."""
    try:
        code: Any = _run()
    except SystemExit as end:
        code = end.code
    written = _forget_unwritten()
    code = code if isinstance(code, int) and code else int(not written)
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Exit; user code that runs at exit cannot change the exit code of a failure."""
    from dsgkit.rehearsal import asked_users_code, leave

    if code and asked_users_code():
        leave(code)
    sys.exit(code)


def _run() -> Any:
    """Run the command, print its errors, and return its exit code."""
    debug = "--debug" in sys.argv
    gc.set_threshold(_NEW_OBJECTS)
    try:
        with stopped_by_signals():
            _check_process()
            code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        _tell(error)
        code = error.exit_code
    except Interrupted as signal:
        _say(str(signal))
        code = signal.exit_code or 1  # of a user's own code, it may be anything
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted")
        code = 130
    except (DsgError, OSError) as error:
        if debug:
            raise
        _tell(error)
        code = 1
    return code


def _check_process() -> None:
    """Have the standard streams open, and room for other files, or end here.

    The first file that is opened takes the number of a closed stream, and what is printed would go
    into it.
    """
    closed = [stream for stream in range(3) if not _is_open(stream)]
    for stream in closed:
        null = os.open(os.devnull, os.O_RDWR)
        if null != stream:
            os.dup2(null, stream)
            os.close(null)
    if 1 in closed:
        raise DsgError("standard output is closed; send it to /dev/null if nobody reads it")
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < LEAST_OPEN_FILES:
        raise DsgError(
            f"this process may open {most} files, and needs {LEAST_OPEN_FILES}: ulimit -n 1024"
        )


def _is_open(stream: int) -> bool:
    try:
        os.fstat(stream)
    except OSError:
        return False
    return True


def _tell(error: Exception) -> str:
    """Print what went wrong in one line, and return it."""
    if isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError) and not isinstance(error, DsgError):
        text = error.strerror or str(error)
        if error.filename is not None:
            text = f"{in_a_line(str(error.filename), LONGEST_SHOWN_PATH)}: {text}"
    else:
        text = text_of(error) or type(error).__name__
    line = in_a_line(" ".join(text.splitlines()), LONGEST_MESSAGE)
    _say(f"Error: {line}")
    return line


def _say(line: str) -> None:
    """Print the last word of a command, unless nobody is there: the exit code tells, too."""
    with suppress(OSError):
        click.echo(line, err=True)


def _forget_unwritten() -> bool:
    """Let go of output that cannot be written, as Python would tell it again; return if all is."""
    try:
        if sys.stdout is not None:  # as it is for a process that was started without one
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return False
    return True


class _Commands(click.Group):
    """Commands whose every end is told, also where code of a user's own has a hand in it."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command; `DsgError` where a user's own code would end it without a word."""
        try:
            return super().invoke(context)
        except (click.ClickException, click.exceptions.Exit, click.Abort, DsgError, OSError):
            raise
        except SystemExit as error:
            if type(error.code) is int and error.code > 0:
                raise
            raise DsgError(f"code of your own raises {one_line(error)}") from error
        except Exception as error:
            if not users_place(error):
                raise
            raise DsgError(f"code of your own raises {one_line(error)}") from error


class _FilePath(click.Path):
    """A path that there can be."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the path; end with a message if there can be none such."""
        if why := why_no_path(os.fspath(value)):
            self.fail(f"{shown(os.fspath(value))} {why}", parameter, context)
        return super().convert(value, parameter, context)


class _ConfigPath(_FilePath):
    """A config file, or the name of a shipped one."""

    def shell_complete(self, context: Any, parameter: Any, incomplete: str) -> list[Any]:
        """Complete files, and names."""
        names = map(CompletionItem, _config_names(context, parameter, incomplete))
        return [*names, *super().shell_complete(context, parameter, incomplete)]


class _Whole(click.IntRange):
    """A whole number in a range; one of thousands of digits is not repeated."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the number; end with a message if it is none."""
        if len(str(value)) > _LONGEST_NUMBER:
            why = f"{shown(value)} is not in the range {self.min}<=x<={self.max}"
            self.fail(why, parameter, context)
        return super().convert(value, parameter, context)


class _Seconds(click.FloatRange):
    """A time limit."""

    def convert(self, value: Any, parameter: Any, context: Any) -> Any:
        """Return the seconds; end with a message if they are none."""
        seconds = super().convert(value, parameter, context)
        if math.isnan(seconds):
            self.fail(f"{shown(value)} is no number of seconds", parameter, context)
        return seconds


def _debug_option(command: Any) -> Any:
    return click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks.")(
        command
    )


def _dataset_names(_context: object, _parameter: object, incomplete: str) -> list[str]:
    from dsgkit.data.catalogue import DATASETS

    return [name for name in DATASETS if name.startswith(incomplete)]


def _config_names(_context: object, _parameter: object, incomplete: str) -> list[str]:
    from dsgkit.config import shipped

    return [name for name in shipped.names() if name.startswith(incomplete)]


def _profile_names(context: click.Context, _parameter: object, incomplete: str) -> list[str]:
    """Return the profiles that all configs of the command line have."""
    from dsgkit.config.load import resolve
    from dsgkit.config.shipped import located

    try:
        known = [resolve(located(path)).data["profiles"] for path in context.params["configs"]]
    except (DsgError, KeyError, TypeError):
        return []
    shared = [name for name in (known or [{}])[0] if all(name in one for one in known)]
    return [name for name in shared if name.startswith(incomplete)]


def _bytes(_context: object, _parameter: object, value: str | None) -> int | None:
    """Return the bytes of a size such as 4GiB or 500MB."""
    if value is None:
        return None
    from pydantic import ByteSize, TypeAdapter, ValidationError

    try:
        size = int(TypeAdapter(ByteSize).validate_python(value))
    except ValidationError:
        size = 0
    if not 1 <= size < 2**63:
        raise click.BadParameter(f"{shown(value)} is no size; write one such as 4GiB or 500MB")
    return size


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dsg")
@_debug_option
def cli() -> None:
    """Reproduce experiments on scalable kernel methods for weakly supervised learning.

    \b
    dsg run quickstart                      a first run, on data that ships with scikit-learn
    dsg run codrna_s2auc --profile quick    a config that comes with the package, or a file
    dsg init codrna_s2auc mine.yaml         copies one to edit
    dsg list datasets                       what can be named in a config
    dsg status results/quickstart           how far a run is
    dsg plot results/quickstart             draw the figures again
    dsg report results/quickstart           one HTML page with all of it

    Shell completion: eval "$(_DSG_COMPLETE=bash_source dsg)" (or zsh_source, fish_source).
    """  # noqa: D301  click wants the \b character itself


@cli.command()
@click.argument("configs", nargs=-1, required=True, type=_ConfigPath(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting.")
@click.option(
    "--profile",
    shell_complete=_profile_names,
    help="Use a profile of the config, such as quick.",
)
@click.option(
    "--jobs",
    type=_Whole(min=1, max=MOST_JOBS),
    help="Hyper-parameter searches at a time; default: one per core. Timed fits always run alone.",
)
@click.option(
    "--threads",
    type=_Whole(min=1, max=MOST_JOBS),
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
    type=_Seconds(min=0, max=LONGEST_TIMEOUT, min_open=True),
    help="Stop a cell that takes longer. On top are a minute and a second per MiB of rows for "
    "loading, and a minute for compiling, by a fit on few rows.",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    callback=_bytes,
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
    type=_FilePath(path_type=Path, file_okay=False),
    help="Folder in which each config gets its results folder.",
)
@click.option(
    "--report",
    "page",
    type=_FilePath(path_type=Path, dir_okay=False),
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
    help="Compute cells again that other code has computed, such as before an edit of a solver.",
)
@click.option(
    "--retry-failed/--keep-failed",
    default=True,
    show_default=True,
    help="Run cells again that failed before, or leave them as they are.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failure.")
@_debug_option
def run(
    configs: tuple[Path, ...],
    overrides: tuple[str, ...],
    profile: str | None,
    out: Path,
    page: Path | None,
    dry_run: bool,
    **settings: Any,
) -> None:
    """Run the experiments of one or more CONFIGS and write their tables and figures.

    A config is a file, or the name of one that comes with the package (dsg list configs). Results
    go to OUT/<config name>, or OUT/<config name>-<profile> with a profile. Whatever stops a run,
    the same command goes on where it stopped.
    """
    from dsgkit.config import load_experiment
    from dsgkit.rehearsal import rehearsing

    click.get_current_context().with_resource(rehearsing(settings["timeout"]))
    experiments = [load_experiment(path, profile=profile, overrides=overrides) for path in configs]
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise click.UsageError("two of the configs have the same name, and would share results")
    options = _run_options(**settings)
    if dry_run:
        good = _print_forecasts(experiments, out, options)
    else:
        good = []
        reasons = dict.fromkeys(names, "an earlier failure stopped the run")
        for one in experiments:
            went_well, reasons[one.name] = _attempt(_run_or_stop, one, out / one.name, options)
            good.append(went_well)
            if options.fail_fast and not went_well:
                break
        if page is not None:
            good.append(_attempt(_write_page, out, reasons, page)[0])
    if not all(good):
        raise SystemExit(1)


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
    """Return whether an action went well, and a user's mistake, which is told; others may go on."""
    try:
        return action(*arguments), ""
    except (DsgError, OSError) as error:
        if "--debug" in sys.argv or isinstance(error, BrokenPipeError):
            raise
        return False, _tell(error)


def _print_forecasts(experiments: Sequence[Any], out: Path, options: Any) -> list[bool]:
    """Print what runs are about to take; return which of them can be planned."""
    from dsgkit.experiment.estimate import describe_all, forecast_run

    forecasts: list[Any] = []

    def forecast(experiment: Any) -> bool:
        forecasts.append(forecast_run(experiment, out / experiment.name, options))
        click.echo(forecasts[-1])
        return True

    good = [_attempt(forecast, experiment)[0] for experiment in experiments]
    if len(forecasts) > 1:
        click.echo(describe_all(forecasts))
    return good


def _run_or_stop(experiment: Any, folder: Path, options: Any) -> bool:
    """Run one experiment; stopped by a signal, say how to go on."""
    try:
        return _run_one(experiment, folder, options)
    except Interrupted as signal:
        there = f"finished cells are in {folder}, and `dsg table {folder}` shows them"
        _say(f"{signal}; {there}; go on with: {_again()}")
        raise SystemExit(signal.exit_code) from None


def _run_one(experiment: Any, folder: Path, options: Any) -> bool:
    """Run one experiment, write its report and print its tables; return whether none failed."""
    from dsgkit.experiment.endings import cells, describe_endings, describe_warnings
    from dsgkit.experiment.results import load_results
    from dsgkit.experiment.runner import run_experiment
    from dsgkit.report import refresh_report, text_table

    outcome = run_experiment(experiment, folder, options)
    if outcome.set_aside:
        click.echo(
            f"unreadable records were moved to {outcome.set_aside}, and their cells run again",
            err=True,
        )
    results = load_results(folder, outcome)
    if len(results.cells):  # none where a search ends a run at its first failure
        refresh_report(results, folder)
        click.echo(text_table([results]))
    if outcome.ended:
        click.echo(describe_endings(outcome.ended, results.task.axis), err=True)
    if warned := describe_warnings(results.records.having("warnings"), results.task.axis):
        click.echo(warned, err=True)
    if old := outcome.other_code.described(results.label, "--renew computes them again"):
        click.echo(f"reused: {old}", err=True)
    if outcome.left:
        click.echo(f"stopped at a failure, with {cells(outcome.left)} left", err=True)
    click.echo(
        f"{cells(outcome.computed)} computed, {outcome.reused} reused; "
        f"tables and figures are in {folder}"
    )
    return not outcome.failures


def _write_page(out: Path, reasons: Mapping[str, str], path: Path) -> bool:
    """Write the page on experiments by their names, with the reasons why some have no results."""
    from dsgkit.experiment.folder import CONFIG
    from dsgkit.experiment.results import load_results
    from dsgkit.report.html import write_page

    there = [name for name in reasons if (out / name / CONFIG).is_file()]
    missing = [(name, reason) for name, reason in reasons.items() if name not in there]
    click.echo(write_page([load_results(out / name) for name in there], path, missing))
    return True


def _again() -> str:
    """Return the command line that goes on where this one was stopped."""
    import shlex

    return shlex.join(["dsg", *(word for word in sys.argv[1:] if word != "--fresh")])


@cli.command()
@click.argument("results", nargs=-1, required=True, type=_FilePath(path_type=Path))
@click.option("-v", "--verbose", is_flag=True, help="Show the tracebacks of failed cells.")
@_debug_option
def status(results: tuple[Path, ...], verbose: bool) -> None:
    """Show how far the runs of RESULTS folders are, also while they go on."""
    from dsgkit.experiment.status import describe_status, read_status

    for folder in results:
        click.echo(describe_status(read_status(folder), tracebacks=verbose))


@cli.group(name="list")
def list_() -> None:
    """List what a config can name."""


@list_.command()
def datasets() -> None:
    """List the registered datasets."""
    from dsgkit.data import commands

    _print_columns(commands.overview())


@list_.command()
def tasks() -> None:
    """List the learning settings."""
    from dsgkit.tasks.catalogue import TASKS, get

    _print_columns([(kind, ", ".join(m.word for m in get(kind).measures)) for kind in TASKS])


@list_.command()
def solvers() -> None:
    """List the solvers and their parameters."""
    from dsgkit.solvers.catalogue import SOLVERS

    rows = [(s.name, s.label, ", ".join(s.params), s.reference) for s in SOLVERS.values()]
    _print_columns(rows)
    click.echo('A class of your own: kind: "my_module:MySolver" (see dsgkit/README.md)')


@list_.command()
@click.argument("folder", required=False, type=_FilePath(path_type=Path))
def configs(folder: Path | None) -> None:
    """List the config files in FOLDER, by default those that come with the package.

    The latter run by their names, `dsg run codrna_s2auc`, and `dsg init codrna_s2auc` copies one.
    """
    from dsgkit.config import list_configs, shipped

    found = list_configs(folder or shipped.folder())
    _print_columns([(c.name, c.dataset, ", ".join(c.profiles), c.description) for c in found])


@list_.command()
def kernels() -> None:
    """List the kernels."""
    from dsgkit.kernels import FAMILIES

    _print_columns([(family.pattern, family.example.formula) for family in FAMILIES.values()])


def _print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows with aligned columns; the last one is left ragged."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row[:-1], widths, strict=False)]
        click.echo("  ".join([*cells, row[-1]]).rstrip())


@cli.command()
@click.argument("name", shell_complete=_config_names)
@click.argument("file", required=False, type=_FilePath(path_type=Path))
def init(name: str, file: Path | None) -> None:
    """Copy a shipped config to FILE (default: NAME.yaml), ready to edit and run."""
    from dsgkit.config import shipped

    file = file or Path(Path(name).name).with_suffix(shipped.SUFFIX)
    shipped.copy(name, file)
    click.echo(f"{file}: edit it, then: dsg run {file}")


@cli.group()
def data() -> None:
    """Fetch, prepare and check datasets."""


def _dataset_argument(command: Any) -> Any:
    return click.argument("name", shell_complete=_dataset_names)(_debug_option(command))


@data.command()
@_dataset_argument
def fetch(name: str) -> None:
    """Make sure that the files of dataset NAME are on this machine."""
    from dsgkit.data import commands

    paths = commands.fetch(name)
    for path in paths:
        click.echo(path)
    if not paths:
        click.echo(f"{name} ships with scikit-learn; there is nothing to fetch")


@data.command()
@_dataset_argument
def prepare(name: str) -> None:
    """Parse dataset NAME into memory maps, which later runs open at once."""
    from dsgkit.data import commands

    dataset = commands.prepare(name)
    click.echo(f"{name}: {len(dataset.X):,} rows, {dataset.n_features} features, ready")


@data.command()
@_dataset_argument
def info(name: str) -> None:
    """Show what is known of dataset NAME."""
    from dsgkit.data import commands

    _print_columns([(f"{heading}:", text) for heading, text in commands.info(name)])


@data.command()
@_dataset_argument
def verify(name: str) -> None:
    """Check the files of dataset NAME against their checksums and recorded statistics."""
    from dsgkit.data import commands

    checks = commands.verify(name)
    words = {True: "ok", False: "WRONG", None: "unchecked"}
    _print_columns([(words[check.ok], check.subject, check.detail) for check in checks])
    if any(check.ok is False for check in checks):
        raise SystemExit(1)


_results_argument = click.argument(
    "results", nargs=-1, required=True, type=_FilePath(path_type=Path)
)
_kept_argument = click.argument(
    "results",
    nargs=-1,
    type=_FilePath(path_type=Path),
    callback=lambda _context, _parameter, results: results or (KEPT,),
)


def _drawing_options(what: str, example: str) -> Callable[[Any], Any]:
    """Return the arguments of a command that writes tables or figures of results."""

    def add(command: Any) -> Any:
        options = [
            _results_argument,
            click.option(
                "--out",
                type=_FilePath(path_type=Path, file_okay=False),
                help="Folder to write to; default: the results folder itself.",
            ),
            click.option(
                "--only",
                multiple=True,
                metavar="NAME",
                help=f"Make this {what} only, such as {example}; may be repeated.",
            ),
            click.option(
                "--at",
                type=_Whole(min=1, max=2**63 - 1),
                metavar="SIZE",
                help="Show only the fits at the largest size up to this one; needs --out.",
            ),
            _debug_option,
        ]
        for option in reversed(options):
            command = option(command)
        return command

    return add


@cli.command()
@_drawing_options("table", "auc_table")
def table(
    results: tuple[Path, ...], out: Path | None, only: tuple[str, ...], at: int | None
) -> None:
    """Print and write the tables of stored RESULTS; several folders are put side by side."""
    from dsgkit.report import text_table, write_tables

    _check_apart(at, out)
    target = _target(results, out, "folder")
    loaded = _loaded(results, at)
    click.echo(text_table(loaded, only))
    for path in write_tables(loaded, target, only):
        click.echo(path)


@cli.command()
@_drawing_options("figure", "time_curve")
def plot(
    results: tuple[Path, ...], out: Path | None, only: tuple[str, ...], at: int | None
) -> None:
    """Draw the figures of stored RESULTS; several folders become panels of one figure."""
    from dsgkit.report import draw_figures

    _check_apart(at, out)
    target = _target(results, out, "folder")
    for path in draw_figures(_loaded(results, at), target, only):
        click.echo(path)


@cli.command()
@click.argument("a", type=_FilePath(path_type=Path))
@click.argument("b", type=_FilePath(path_type=Path))
@click.option(
    "--out",
    type=_FilePath(path_type=Path, file_okay=False),
    help="Folder to write the tables and a figure to; default: only print.",
)
@_debug_option
def compare(a: Path, b: Path, out: Path | None) -> None:
    """Show what the results in folder B differ by from those in A, and what is beyond chance.

    Scores and training time of every solver and size are tested over trials, trial against trial
    where both folders have the same splits. The exit code says nothing of differences.
    """
    import shutil

    from dsgkit.experiment.results import load_results
    from dsgkit.report.compare import compare as compare_results
    from dsgkit.report.compare import comparison_text, write_comparison

    comparison = compare_results(load_results(a), load_results(b))
    click.echo(comparison_text(comparison, shutil.get_terminal_size((120, 24)).columns))
    if out is not None:
        click.echo()
        for path in write_comparison(comparison, out):
            click.echo(path)


@cli.command()
@_results_argument
@click.option(
    "--out",
    type=_FilePath(path_type=Path, dir_okay=False),
    help="File to write; default: report.html in the results folder.",
)
@_debug_option
def report(results: tuple[Path, ...], out: Path | None) -> None:
    """Write one HTML page on stored RESULTS that needs no other file and no network.

    Several folders get an overview and a section each.
    """
    from dsgkit.experiment.results import load_results
    from dsgkit.report.html import write_page

    target = _target(results, out, "file")
    path = target if out else target / "report.html"
    click.echo(write_page([load_results(folder) for folder in results], path))


@cli.command()
@_kept_argument
@click.option(
    "--paper", "keys", multiple=True, metavar="KEY", help="Judge this paper only, such as s2auc."
)
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="Print this claim in full, such as s2auc-01."
)
@click.option(
    "--json",
    "json_file",
    type=_FilePath(path_type=Path, dir_okay=False),
    help="Write verdicts and evidence to this file.",
)
@click.option(
    "--expect",
    type=_FilePath(path_type=Path, dir_okay=False),
    help="YAML or JSON file of verdicts by claim; exit with code 1 if one differs.",
)
@_debug_option
def claims(
    results: tuple[Path, ...],
    keys: tuple[str, ...],
    ids: tuple[str, ...],
    json_file: Path | None,
    expect: Path | None,
) -> None:
    """Judge the papers' claims by RESULTS folders, or folders of them (default: the kept ones).

    A verdict follows from results and the criterion of the claim. Studies count that stand in a
    folder `studies` beside the results.
    """
    import json
    import shutil

    from dsgkit.papers import claims_text
    from dsgkit.papers.claims import papers
    from dsgkit.papers.evidence import read_evidence
    from dsgkit.papers.judging import judge, selected

    chosen = selected(papers(), ids, keys)
    judged = judge(chosen, read_evidence(results))
    width = shutil.get_terminal_size((120, 24)).columns
    if ids:
        found = [claim for paper in judged for claim in paper.claims]
        click.echo("\n\n".join(claims_text.full_text(claim, width) for claim in found))
    else:
        click.echo(claims_text.overview(judged, width))
    if json_file is not None:
        json_file.write_text(json.dumps(claims_text.as_data(judged), indent=2) + "\n")
    differences = [] if expect is None else claims_text.unexpected(judged, expect)
    for line in differences:
        click.echo(line, err=True)
    if differences:
        raise SystemExit(1)


@cli.command()
@_kept_argument
@click.option(
    "--out",
    type=_FilePath(path_type=Path, file_okay=False),
    default=KEPT,
    show_default=True,
    help="Folder for index.html and a page for each paper.",
)
@_debug_option
def pages(results: tuple[Path, ...], out: Path) -> None:
    """Write a page for each paper on RESULTS folders, or folders of them, and an index.

    By default the kept results are shown. A page has the paper's claims with their verdicts first.
    """
    from dsgkit.papers.claims import papers
    from dsgkit.papers.evidence import read_evidence
    from dsgkit.papers.judging import judge
    from dsgkit.papers.pages import write_pages

    evidence = read_evidence(results)
    for path in write_pages(judge(papers(), evidence), evidence, out):
        click.echo(path)


def _formats(_context: object, _parameter: object, value: str) -> list[str]:
    """Return the formats of a list such as pdf,svg."""
    formats = [name.strip() for name in value.split(",")]
    for name in formats:
        if name not in FIGURE_FORMATS:
            raise click.BadParameter(
                f"{shown(name)} is no format of figures; known: {', '.join(FIGURE_FORMATS)}"
            )
    return formats


@cli.command()
@click.argument("name", metavar="PAPER/NUMBER", required=False)
@_kept_argument
@click.option("--all", "everything", is_flag=True, help="Show all solvers and datasets there are.")
@click.option(
    "--out",
    type=_FilePath(path_type=Path, file_okay=False),
    default=RESULTS / "papers",
    show_default=True,
    help="Folder in which each paper gets one.",
)
@click.option(
    "--format",
    "formats",
    default=",".join(FIGURE_FORMATS),
    show_default=True,
    callback=_formats,
    help="Formats of figures.",
)
@click.option(
    "--width",
    type=click.Choice(["column", "page"]),
    help="Width of figures; default: a page, or a column for a single panel.",
)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    help="Show results of this profile instead of the paper's protocol.",
)
@_debug_option
def figure(
    name: str | None,
    results: tuple[Path, ...],
    out: Path,
    formats: list[str],
    **look: Any,
) -> None:
    """Draw a figure, or print a table, as in a paper: s2auc/1, svc/table-2; s2auc for all of it.

    RESULTS are results folders, or folders of them (default: the kept ones). Without a name, list
    what there is.
    """
    from dsgkit.papers.figures import all_papers, chosen, listing

    if name is None:
        _print_columns(list(listing(all_papers())))
        return
    from dsgkit.papers.figures_written import Look, written

    wanted = chosen(all_papers(), name)
    made = written(wanted, results, out, formats, Look(**look))
    for text in made:
        click.echo(text)


def _check_apart(at: int | None, out: Path | None) -> None:
    """Refuse to replace the report of all sizes by that of one."""
    if at is not None and out is None:
        raise click.UsageError("--at needs --out: the results folder's own report has all sizes")


def _loaded(folders: tuple[Path, ...], at: int | None) -> list[Results]:
    """Return stored results, at one size if that is asked for."""
    from dsgkit.experiment.results import load_results

    loaded = [load_results(folder) for folder in folders]
    for bad in filter(None, (one.bad for one in loaded)):
        click.echo(f"unreadable lines of records, left out: {bad.number} ({bad.first})", err=True)
    return loaded if at is None else [one.at(at) for one in loaded]


def _target(results: tuple[Path, ...], out: Path | None, what: str) -> Path:
    """Return where to write what is made of some results."""
    if out is None and len(results) > 1:
        raise click.UsageError(f"several results folders need --out, the {what} to write to")
    return out or results[0]


@cli.command()
def env() -> None:
    """Show versions, processor, threads and commit, as they are stored with results."""
    import json

    from dsgkit.experiment.environment import describe_environment

    click.echo(json.dumps(describe_environment(), indent=2))


if __name__ == "__main__":
    main()
