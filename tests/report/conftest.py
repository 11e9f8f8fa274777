"""Results folders made of invented records."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from dsgkit.config.schema import Experiment
from dsgkit.experiment.results import load_results

KINDS = ("qsg_s2auc", "samult", "pnu_auc", "rff_s2auc")
GRID = {"lam": [0.125, 1.0, 8.0], "sigma": [0.125, 1.0, 8.0]}
ALL = 59_335
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, ALL)


def experiment_of(dataset, *, name=None, trials=10, solvers=KINDS, labels=None, **parts):
    kinds = {key: key if key in KINDS else "qsg_s2auc" for key in solvers}
    return Experiment(
        name=name or f"{dataset}_s2auc",
        dataset={"name": dataset},
        protocol={"trials": trials},
        sweep={"unlabeled": ["all"]},
        solvers={
            key: {"kind": kind, "grid": GRID} | ({"label": labels[key]} if labels else {})
            for key, kind in kinds.items()
        },
        **parts,
    )


def record(experiment, solver, trial, n, *, full=False, **fields):
    label = experiment.solvers[solver].label
    key = f"{solver}-{trial}-{n}"
    return {
        "key": key,
        "kind": "fit",
        "solver": solver,
        "label": label,
        "trial": trial,
        "n_unlabeled": n,
        "n_labeled": 200,
        "status": "ok",
        "message": "",
        "params": {"lam": 1.0, "sigma": 0.125},
        "full": full,
        "auc": 0.9,
        "test_auc": None,
        "times": {"fit": 1.0},
        "peak_memory": 2**28,
    } | fields


def failure(experiment, solver, trial, n, status, **fields):
    made = record(experiment, solver, trial, n, status=status, **fields)
    return {name: made[name] for name in made if name not in ("full", "auc", "test_auc", "params")}


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
                        params={
                            "lam": float(rng.choice(GRID["lam"])),
                            "sigma": float(rng.choice(GRID["sigma"])),
                        }
                        if n == sizes[0]
                        else {},
                    )
                )
    return records


def results_of(folder, experiment, records):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(experiment.to_yaml())
    lines = "".join(json.dumps(one) + "\n" for one in records)
    (folder / "cells.jsonl").write_text(lines)
    return load_results(folder)


@pytest.fixture
def invent():
    """Return the functions that invent experiments and records."""
    return SimpleNamespace(
        experiment=experiment_of, record=record, failure=failure, typical=typical_records
    )


@pytest.fixture
def make(tmp_path):
    """Return a function from an experiment and its records to results."""

    def make_results(experiment, records):
        return results_of(tmp_path / "results" / experiment.name, experiment, records)

    return make_results
