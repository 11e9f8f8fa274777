"""Results made of invented records."""

import json
import math
from typing import Any

import numpy as np
import pytest
import yaml
from pydantic import BaseModel

from dsgkit.config.schema import Stage
from dsgkit.experiment import results as stored
from dsgkit.experiment.folder import cell_of
from dsgkit.experiment.plan import Plan
from dsgkit.tasks.measures import STANDARD, Axis, Description, Measure

KINDS = ("qsg_s2auc", "samult", "pnu_auc", "rff_s2auc")
LABELS = dict(zip(KINDS, ("QSG-S2AUC", "SAMULT", "PNU-AUC", "RFF-S2AUC"), strict=True))
GRID = {"lam": [0.125, 1.0, 8.0], "sigma": [0.125, 1.0, 8.0]}
ALL = 59_335
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, ALL)

AUC = Measure(
    name="auc",
    title="AUC",
    word="AUC",
    where="unlabelled rows",
    better="higher",
    output="auc",
    file="auc",
)
TEST_AUC = AUC.on("official test rows", "test")
ERROR = Measure(
    name="error",
    title="Error",
    word="error",
    where="unlabelled rows",
    better="lower",
    digits=2,
    percent=True,
    output="error",
    file="error",
)
BALANCE = Measure(
    name="positive",
    title="Unlabelled rows taken for positive",
    word="share of positives",
    digits=2,
    percent=True,
    output="balance",
    file="balance",
)
RMSE = Measure(
    name="rmse",
    title="RMSE",
    word="RMSE",
    where="held-out rows",
    better="lower",
    output="rmse",
    file="rmse",
)

UNLABELED = Axis(name="unlabeled", title="Unlabelled rows", noun="unlabelled")
RANKING = Description(
    kind="semi_supervised_auc",
    setting="200 labelled rows",
    protocol="semi_supervised_auc with 200 labelled rows, features scaled to [0, 1]",
    selection="5-fold cross-validation by AUC",
    axis=UNLABELED,
    measures=(AUC, TEST_AUC, *STANDARD),
)
CLASSES = RANKING.model_copy(
    update={
        "kind": "semi_supervised_svm",
        "selection": "trained on one of 5 parts, tested on the others, by error",
        "measures": (ERROR, ERROR.on("official test rows", "test"), BALANCE, *STANDARD),
    }
)
REGRESSION = Description(
    kind="tests:RIDGE",
    protocol="rows in two halves",
    measures=(RMSE, *STANDARD),
)
"""A task of nobody's: lower is better, and nothing is swept."""


class Solver(BaseModel):
    kind: str
    label: str
    params: dict[str, Any] = {}
    search: tuple[Stage, ...] = ()
    search_at: dict[str, int | str] = {}
    at_most: dict[str, int] = {}
    against: str | None = None


class Dataset(BaseModel):
    name: str | None = None
    path: str | None = None


class Protocol(BaseModel):
    kind: str
    trials: int
    labeled: int = 200
    scale: tuple[float, float] = (0.0, 1.0)
    folds: int = 5


class Sweep(BaseModel):
    sizes: tuple[int | str, ...] = ("all",)


class Invented(BaseModel):
    """What reports use of an experiment."""

    name: str
    seed: int = 0
    dataset: Dataset
    protocol: Protocol
    sweep: Sweep = Sweep()
    solvers: dict[str, Solver]
    outputs: tuple[str, ...]

    @property
    def sizes(self):
        return self.sweep.sizes

    def to_yaml(self):
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)


def solver_of(kind, label=None, *grids, **settings):
    stages = tuple(Stage(grid=grid) for grid in grids if grid)
    return Solver(kind=kind, label=label or LABELS.get(kind, kind), search=stages, **settings)


def experiment_of(
    dataset="codrna", *, name=None, trials=10, solvers=KINDS, labels=None, task=RANKING, **parts
):
    """Return an experiment: ``solvers`` are kinds, or `Solver` by key; ``protocol`` settings."""
    settings = {"kind": task.kind, "trials": trials} | parts.pop("protocol", {})
    if not isinstance(solvers, dict):
        labels = labels or {}
        solvers = {key: solver_of(key, labels.get(key), GRID) for key in solvers}
    outputs = [f"{one.output}_table" for one in task.measures]
    outputs += [f"{m.output}_boxplot" for m in task.measures if m.better and not m.unit]
    outputs += ["time_curve"] if task.axis else []
    return Invented(
        name=name or f"{dataset}_s2auc",
        dataset=Dataset(name=dataset),
        protocol=Protocol(**settings),
        solvers=solvers,
        **{"outputs": tuple(dict.fromkeys(outputs))} | parts,
    )


def record(experiment, solver, trial, n=0, *, full=False, **fields):
    """Return the record of a fit; fields that are names of measures are its scores."""
    names = [name for name in fields if name in ("auc", "test_auc", "error", "positive", "rmse")]
    scores = {"auc": 0.9, "test_auc": None} | {name: fields.pop(name) for name in names}
    return {
        "key": f"{solver}-{trial}-{n}",
        "kind": "fit",
        "solver": solver,
        "label": experiment.solvers[solver].label,
        "trial": trial,
        "at": {"unlabeled": n} if n else {},
        "status": "ok",
        "message": "",
        "params": {"lam": 1.0, "sigma": 0.125},
        "full": full,
        "scores": scores,
        "times": {"fit": 1.0},
        "peak_memory": 2**28,
    } | fields


def failure(experiment, solver, trial, n, status, **fields):
    made = record(experiment, solver, trial, n, status=status, **fields)
    return {name: made[name] for name in made if name not in ("full", "scores", "params")}


def typical_records(experiment, *, sizes=SIZES, limit=12_000, seed=0, test=False):
    """Fast methods that scale, exact ones that run out of memory above ``limit`` rows."""
    rng = np.random.default_rng(seed)
    level = rng.uniform(0.7, 0.97)
    records = []
    for place, solver in enumerate(experiment.solvers):
        exact = experiment.solvers[solver].kind in ("samult", "pnu_auc")
        for trial in range(experiment.protocol.trials):
            for n in sizes:
                if exact and n > limit:
                    refusal = {"message": "out of memory limit", "needed": 8 * n * n}
                    records.append(
                        failure(experiment, solver, trial, n, "out_of_memory", **refusal)
                    )
                    continue
                noise = float(np.exp(0.1 * rng.standard_normal()))
                seconds = 3e-11 * n**3 + 0.01 if exact else (2e-5 * n + 0.05) / (place + 1)
                auc = level + 0.01 * np.log10(n / 500) - 0.012 * place + 0.01 * rng.normal()
                chosen = {name: float(rng.choice(values)) for name, values in GRID.items()}
                records.append(
                    record(
                        experiment,
                        solver,
                        trial,
                        n,
                        full=n == max(sizes),
                        auc=float(min(auc, 1.0)),
                        test_auc=float(min(auc, 1.0)) - 0.01 if test else None,
                        times={"fit": seconds * noise * (1.4 if place == 2 else 1)},
                        params=chosen if n == sizes[0] else {},
                    )
                )
    return records


def results_of(folder, experiment, records, task=RANKING, *, data=None, files=None, plan=None):
    """Return the results that a folder would hold: the one place that knows how they are made.

    ``files`` are the environments by name, that of the last run under ``""``.
    """
    files = files or {}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(experiment.to_yaml())
    (folder / "cells.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (folder / "plan.json").write_text(json.dumps(plan or []))
    if plan is not None:
        by_key = {one["key"]: one for one in records}
        records = [by_key[entry["key"]] | entry for entry in plan if entry["key"] in by_key]
    names = dict.fromkeys(one.get("environment") for one in records)
    return stored.Results(
        folder=folder,
        experiment=experiment,
        task=task,
        data=data or {},
        environment=files.get("", {}),
        environments={name: files.get(name, {}) for name in names if name},
        records=list(records),
        plan=None if plan is None else Plan([*map(cell_of, records)], [], []),
    )


def records_of(experiment, values, of="auc", full=False):
    """Return records from ``values``: by solver and size, what each trial came to.

    Sizes are left out where nothing is swept. A trial is a value of ``of``, the fields of a record,
    the status of a fit without a value (alone, or as ``status`` among fields), or None: no record.
    """
    by_size = {key: v if isinstance(v, dict) else {0: v} for key, v in values.items()}
    largest = max((n for sizes in by_size.values() for n in sizes), default=0)
    return [
        record_of(experiment, key, trial, n, value, of, full=full and n == largest)
        for key, sizes in by_size.items()
        for n, trials in sizes.items()
        for trial, value in enumerate(trials)
        if value is not None
    ]


def record_of(experiment, key, trial, n, value, of, full):
    fields = {"status": value} if isinstance(value, str) else value
    if not isinstance(fields, dict):
        fields = {"times": {"fit": value}} if of == "fit" else {of: value}
    if "status" in fields:
        fields = dict(fields)
        return failure(experiment, key, trial, n, fields.pop("status"), **fields)
    return record(experiment, key, trial, n, full=full, **fields)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function from an experiment and its records to results, which commands find."""
    made = {}
    monkeypatch.setattr(stored, "load_results", lambda folder: made[str(folder)])

    def make_results(experiment, records, task=RANKING, name=None, **stored_besides):
        folder = tmp_path / "results" / (name or experiment.name)
        made[str(folder)] = results_of(folder, experiment, records, task, **stored_besides)
        return made[str(folder)]

    return make_results


@pytest.fixture
def fits(make):
    """Return a function that makes results from values as `records_of` takes them.

    ``solvers`` are those that are not as their keys say: `Solver` by key. ``stored`` is what the
    folder has besides, the rest are parts of the experiment.
    """

    def make_fits(
        values, of="auc", *, full=False, task=RANKING, solvers=None, stored=None, **parts
    ):
        experiment = experiment_for(values, task, solvers or {}, **parts)
        return make(experiment, records_of(experiment, values, of, full), task, **(stored or {}))

    return make_fits


def experiment_for(values, task=RANKING, solvers=None, dataset="codrna", **parts):
    """Return the experiment of values as `records_of` takes them."""
    lists = [
        v for one in values.values() for v in (one.values() if isinstance(one, dict) else [one])
    ]
    specs = {key: (solvers or {}).get(key) or solver_of(key, None, GRID) for key in values}
    trials = parts.pop("trials", max(map(len, lists), default=1))
    return experiment_of(dataset, trials=trials, solvers=specs, task=task, **parts)


@pytest.fixture
def typical(make):
    """Return a function that makes results of `typical_records`."""

    def make_typical(dataset="codrna", *, task=RANKING, stored=None, trials=2, **parts):
        of_records = ("sizes", "limit", "seed", "test")
        fields = {name: parts.pop(name) for name in of_records if name in parts}
        experiment = experiment_of(dataset, trials=trials, task=task, **parts)
        return make(experiment, typical_records(experiment, **fields), task, **(stored or {}))

    return make_typical


@pytest.fixture
def regression(fits):
    """Return a function that makes results of a task that sweeps nothing, from RMSEs by solver."""

    def make_regression(values, name="bikes_ridge", dataset="bikes", **stored):
        solvers = {key: solver_of(f"mine:{key}", key.title(), GRID) for key in values}
        timed = {
            key: [timed_rmse(value, trial) for trial, value in enumerate(trials)]
            for key, trials in values.items()
        }
        parts = {"task": REGRESSION, "solvers": solvers, "stored": stored}
        return fits(timed, dataset=dataset, name=name, **parts)

    return make_regression


def timed_rmse(value, trial):
    if math.isnan(value):
        return "diverged"
    return {"rmse": value, "times": {"fit": 1.0 + 0.01 * trial}}
