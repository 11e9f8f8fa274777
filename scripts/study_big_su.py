"""Train TSGSU with many unlabelled rows: time and memory by their number.

Writes the dataset of `make_big_data.py` into FOLDER if it is missing. Each number of unlabelled
rows is measured in its own process, on a memory map and with 5,000 similar pairs, at the paper's
setting: T = 100 iterations of batches of 1,000 and 1,000, m = 1,000. The memory is that of the
process without mapped files. Exits with code 1 if training on fifty
times the rows takes more than 1.2 times the memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import click
import make_big_data
import numpy as np
from kept import json_option, write_json

from dsgkit import TSGSU

N_PAIRS = 5000
N_INPUTS = 14
N_LABELED = 40_000
"""Number of first rows of the file, used for pairs and for the accuracy."""

PRIOR = 0.7
"""Share of positive rows, which have the highest scores."""

SIZES = (100_000, 5_000_000)
MAX_MEMORY_GROWTH = 1.2


class OwnMemory:
    """Peak memory of this process without mapped files, sampled every 5 ms."""

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._stop.wait(0.005):
            self._note()

    def _note(self) -> None:
        status = Path("/proc/self/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
        self.peak = max(self.peak, int(line.split()[1]) * 1024)

    def __enter__(self) -> OwnMemory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._note()  # the measured code may end before the first sample


def pairs_and_tested(rows: Any) -> tuple[Any, Any, Any]:
    """Return similar pairs, other rows and their classes."""
    score = make_big_data.score(rows)
    positive = score > np.quantile(score, 1 - PRIOR)
    halves = rows[: 4 * N_PAIRS].reshape(-1, 2, N_INPUTS)
    same = positive[: 4 * N_PAIRS : 2] == positive[1 : 4 * N_PAIRS : 2]
    return halves[same][:N_PAIRS], rows[4 * N_PAIRS :], positive[4 * N_PAIRS :]


def measure(folder: Path, n_unlabeled: int) -> dict[str, Any]:
    """Train with a number of unlabelled rows and return the figures."""
    X = np.load(folder / "X.npy", mmap_mode="r")
    pairs, tested, positive = pairs_and_tested(np.array(X[:N_LABELED]))
    unlabeled = X[N_LABELED:][:n_unlabeled]
    TSGSU(prior=PRIOR, n_iterations=40, batch_size=8, n_features=8).fit(
        pairs, unlabeled
    )  # compiles
    model = TSGSU(lam=2.0**-12, sigma=0.5, prior=PRIOR)
    with OwnMemory() as memory:
        start = time.perf_counter()
        model.fit(pairs, unlabeled)
        seconds = time.perf_counter() - start
    accuracy = float(np.mean((model.decision_function(tested) >= 0) == positive))
    return {
        "rows": len(unlabeled),
        "seconds": seconds,
        "memory": memory.peak,
        "accuracy": accuracy,
        "majority": float(max(positive.mean(), 1 - positive.mean())),
    }


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@json_option
@click.option("--one", type=int, hidden=True)
def main(folder: Path, json_file: Path | None, one: int | None) -> None:
    """Measure all sizes and print a table."""
    if one is not None:
        click.echo(json.dumps(measure(folder, one)))
        return
    written = make_big_data.write(folder, SIZES[-1], N_INPUTS)
    click.echo("unlabelled   fit (s)   own memory (MiB)   accuracy  (majority)")
    results = []
    for size in SIZES:
        command = [sys.executable, __file__, str(written), "--one", str(size)]
        result = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        results.append(f := json.loads(result))
        click.echo(
            f"{f['rows']:>10} {f['seconds']:>9.2f} {f['memory'] / 2**20:>18.0f}"
            f" {f['accuracy']:>10.3f} {f['majority']:>11.3f}"
        )
    write_json(json_file, "study_big_su", {"sizes": results})
    sys.exit(results[-1]["memory"] > MAX_MEMORY_GROWTH * results[0]["memory"])


if __name__ == "__main__":
    main()
