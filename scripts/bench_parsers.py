"""Measure the speed of reading text files, compared with scikit-learn and pandas.

Writes a LIBSVM and a CSV file of normal numbers, then reads them in turn by this package (in
blocks, as it prepares datasets) and by ``load_svmlight_file`` or ``read_csv``. Prints medians in MB
of text per second, and the growth of memory while this package reads.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from timing import medians

from dsgkit.data import loaders, tables
from dsgkit.data.catalogue import DataFile, DatasetInfo

N_FEATURES = 28
_ROWS = 20_000


def paths_in(folder: Path) -> dict[str, Path]:
    """Return the paths of the files by format."""
    return {name: folder / name for name in ("libsvm", "delimited")}


def write_files(folder: Path, megabytes: int) -> None:
    """Write a file of each format."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_ROWS, N_FEATURES)).astype(np.float32)
    y = rng.integers(0, 2, _ROWS)
    rows = {
        "libsvm": lambda x, label: " ".join(
            [str(label), *(f"{j}:{value:.6g}" for j, value in enumerate(x, 1) if value > -0.5)]
        ),
        "delimited": lambda x, label: ",".join([*(f"{value:.9g}" for value in x), str(label)]),
    }
    for name, path in paths_in(folder).items():
        text = rows[name]
        lines = "".join(f"{text(*row)}\n" for row in zip(X.tolist(), y.tolist(), strict=True))
        with path.open("w") as file:
            for _ in range(-(-megabytes * 10**6 // len(lines))):
                file.write(lines)


def read(path: Path, loader: Any, n_features: int | None = N_FEATURES) -> None:
    """Read a file in blocks and discard them."""
    file = DataFile(str(path))
    info = DatasetInfo("made", "", loader, (file,))
    if loader == "libsvm":
        blocks = loaders.read_libsvm(path, n_features or loaders.count_libsvm([path]))
    else:
        blocks = tables.open_tables(info, [(path, file)])[0][file].blocks()
    for _ in blocks:
        pass


def memory_mib(paths: dict[str, Path]) -> float:
    """Return the growth of this process's peak memory while it reads the files."""
    for loader, path in paths.items():  # imports the libraries
        start = path.with_suffix(".start")
        with path.open("rb") as file:
            start.write_bytes(file.read(2**18).rpartition(b"\n")[0] + b"\n")
        read(start, loader)
    before = _peak_mib()
    for loader, path in paths.items():
        read(path, loader)
    return _peak_mib() - before


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _in_new_process(*arguments: object) -> str:
    command = [sys.executable, str(Path(__file__).resolve()), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@click.command(help=__doc__)
@click.option("--write", type=click.Path(path_type=Path), hidden=True)
@click.option("--memory", type=click.Path(path_type=Path), hidden=True)
@click.option("--megabytes", default=300, show_default=True, type=click.IntRange(min=1))
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(
    write: Path | None, memory: Path | None, megabytes: int, repeats: int, as_json: bool
) -> None:
    """Print the rates."""
    if write:
        write_files(write, megabytes)
    elif memory:
        click.echo(memory_mib(paths_in(memory)))
    else:
        compare(megabytes, repeats, as_json)


def compare(megabytes: int, repeats: int, as_json: bool) -> None:
    """Print the rates of this package and of the others."""
    import pandas as pd
    from sklearn.datasets import load_svmlight_file

    with tempfile.TemporaryDirectory() as name:
        # each in a process of its own: a child inherits the peak of its parent
        _in_new_process("--write", name, "--megabytes", megabytes)
        grown = float(_in_new_process("--memory", name))
        libsvm, delimited = paths_in(Path(name)).values()
        read(libsvm.with_suffix(".start"), "libsvm")
        read(delimited.with_suffix(".start"), "delimited")
        runs: dict[str, Callable[[], object]] = {
            "LIBSVM": lambda: read(libsvm, "libsvm"),
            "LIBSVM, number of features unknown": lambda: read(libsvm, "libsvm", None),
            "LIBSVM by scikit-learn": lambda: load_svmlight_file(str(libsvm), dtype=np.float32),
            "CSV": lambda: read(delimited, "delimited"),
            "CSV by pandas": lambda: pd.read_csv(delimited, header=None),
        }
        seconds = medians(runs, repeats)
        sizes = {True: libsvm.stat().st_size / 1e6, False: delimited.stat().st_size / 1e6}
    rates = {run: sizes[run.startswith("LIBSVM")] / s for run, s in seconds.items()}
    if as_json:
        click.echo(json.dumps({"mb_per_second": rates, "memory_mib": grown}))
    else:
        for run, rate in rates.items():
            click.echo(f"{run:<36}{rate:8.1f} MB/s")
        click.echo(f"{'memory':<36}{grown:8.0f} MiB")


if __name__ == "__main__":
    main()
