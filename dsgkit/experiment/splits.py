"""The rows that the trials of a run draw, as CSV for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from dsgkit.config.schema import load_experiment
from dsgkit.errors import ResultsError
from dsgkit.experiment.folder import CONFIG
from dsgkit.experiment.plan import make_plan, make_trial
from dsgkit.experiment.runs import Run, dataset_of

HEADER = "config,trial,part,size,fold,row\n"


def splits_text(run: Run) -> Iterator[str]:
    """Open a run, and return its lines below `HEADER`, a piece for each part of a trial."""
    experiment, dataset = load_experiment(run.folder / CONFIG), dataset_of(run)
    cells = [cell for cell in make_plan(experiment, dataset).cells if cell.solver in run.names]
    searched = {cell.sizes(experiment.axis)[0]: cell.at for cell in cells if cell.kind == "search"}
    if not make_trial(experiment, dataset, 0).drawn_rows():
        raise ResultsError(f"{run.folder}: its task, {run.task.kind}, does not tell its rows")

    def pieces() -> Iterator[str]:
        for number in range(experiment.protocol.trials):
            trial = make_trial(experiment, dataset, number)
            drawn: list[tuple[Any, ...]]
            drawn = [(part, "", "", rows) for part, rows in trial.drawn_rows().items()]
            drawn += [
                (f"{part}_fold", size, fold, rows)
                for size, at in sorted(searched.items())
                for part, folds in trial.fold_rows(at).items()
                for fold, rows in enumerate(folds)
            ]
            for part, size, fold, rows in drawn:
                numbers = rows if dataset.file_rows is None else dataset.file_rows[rows]
                columns = (experiment.name, number, part, size, fold, numbers)
                table = pd.DataFrame(dict(enumerate(columns)))
                yield table.to_csv(header=False, index=False, lineterminator="\n")

    return pieces()
