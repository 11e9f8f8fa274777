"""Runs of invented fits: `make_run(auc={"A": [.9, .8], "B": {500: [.7], 1000: [.8]}})`."""

import itertools
from pathlib import Path

from dsgkit.config.schema import Experiment, _StoredProtocol
from dsgkit.config.spec import validated
from dsgkit.experiment import frames
from dsgkit.experiment.plan import Cell, LeftOut
from dsgkit.experiment.runs import new_run
from dsgkit.tasks.measures import STANDARD, Axis, Description, Measure, SolverFacts

UNLABELED = Axis(name="unlabeled", title="Unlabelled rows", noun="unlabelled")
AUC = Measure("auc", title="AUC", word="AUC", where="unlabelled rows", better="higher")
ERROR = Measure("error", title="Error", better="lower", digits=2, percent=True)
TIMING = {"threads": 1, "slowdown": 1.0, "disturbed": False, "range": {}}


def make_run(
    name="toy",
    measure=AUC,
    seconds=None,
    records=None,
    solvers=None,
    trials=None,
    left_out=(),
    told=None,
    outputs=("auc_table", "auc_boxplot", "auc_curve", "time_table", "time_curve"),
    further=(),
    data=None,
    also_at=(),
    searches=None,
    draws="labelled rows",
    inference="these_rows",
    **values,
):
    """Return a run of fits with invented values of a measure.

    ``values`` has the values of a solver by its key: of each trial, or a mapping from sizes to
    these; None is a planned fit that has not run. ``seconds`` has times in the same form, by
    default 1. ``records`` updates the record of (solver, size, trial), and ``solvers`` has the
    entries of a config for solvers, such as ``against``, and ``searches`` a search of each trial.
    Fits hold at the sizes ``also_at``, too. A trial draws the rows ``draws``, which are none if it
    is empty.
    """
    swept = any(isinstance(one, dict) for one in values.values())
    of_size = {key: one if isinstance(one, dict) else {0: one} for key, one in values.items()}
    cells = []
    for key, by_size in of_size.items():
        for size, trial_values in by_size.items():
            for trial, value in enumerate(trial_values):
                at = {"unlabeled": size} if swept else {"rows": 1}
                cell = Cell(f"{key}-{size}-{trial}", "fit", key, trial, at, also_at=(*also_at,))
                record = None
                if value is not None:
                    time = 1.0
                    if seconds and key in seconds:
                        one = seconds[key]
                        time = (one[size] if isinstance(one, dict) else one)[trial]
                    record = {"status": "ok", "label": key.upper(), "message": "", "params": {}}
                    record |= {"scores": {measure.name: value}, "times": {"fit": time}}
                    record |= {"timing": TIMING, "peak_memory": 2**20, "environment": "e"}
                    record |= (records or {}).get((key, size, trial), {})
                cells.append((cell, record))
    for key, shares in (searches or {}).items():
        for trial, share in enumerate(shares):
            cell = Cell(f"{key}-search-{trial}", "search", key, trial, {"rows": 1})
            cells.append((cell, {"status": "ok", "label": key, "message": "", **share}))
    most = max(len(one) for by_size in of_size.values() for one in by_size.values())
    entries = {
        key: {"kind": key, "label": key.upper(), **(solvers or {}).get(key, {})} for key in values
    }
    experiment = validated(
        Experiment,
        {
            "name": name,
            "dataset": {"name": name},
            "protocol": validated(
                _StoredProtocol, {"kind": "toy", "trials": trials or most, "labeled": 5}, "protocol"
            ),
            "solvers": entries,
            "outputs": [*outputs],
            "inference": inference,
            "sweep": {"unlabeled": sorted({*itertools.chain(*of_size.values())})} if swept else {},
        },
    )
    task = Description(
        kind="toy",
        protocol="toy",
        draws=draws,
        axis=UNLABELED if swept else None,
        measures=(measure, *further, *STANDARD),
        solvers={key: SolverFacts(told=data) for key, data in (told or {}).items()},
    )
    left = [LeftOut(key, {"unlabeled": size}) for key, size in left_out]
    run = new_run(Path(name), experiment, task, data or {}, frames.fits_of(cells, left), cells)
    return run.named(run.names, name)


def lines(axes):
    """Return the points of the lines of a figure, by their labels."""
    known = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {line.get_label(): [*map(tuple, line.get_xydata())] for line in known}
