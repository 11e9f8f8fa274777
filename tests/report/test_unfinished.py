"""Results with fits that are to come, left out by the config, or standing at several sizes."""

import pytest

from dsgkit.config.schema import read_experiment
from dsgkit.experiment.folder import describe
from dsgkit.experiment.results import load_results
from dsgkit.experiment.status import describe_status
from dsgkit.experiment.store import seal
from dsgkit.report.gains import gains
from dsgkit.report.summary import summarise
from tests.experiment.runs import key_of, plan_text

SIZES = (100, 200, 400)
LABELS = {
    "qsg_s2auc": "QSG",
    "rff_s2auc": "RFF",
    "samult": "Exact",
    "pnu_auc": "PNU",
    "supervised": "Labelled",
}
FITS = {"qsg_s2auc": SIZES, "rff_s2auc": SIZES, "samult": (100,), "supervised": (400,)}
"""The sizes of the fits that are planned; what is left out has none."""

LEFT_OUT = [("samult", 200), ("samult", 400), *(("pnu_auc", n) for n in SIZES)]
AUCS = {"qsg_s2auc": 0.9, "rff_s2auc": 0.8, "samult": 0.7, "supervised": 0.6}


def experiment(dataset="digits"):
    solvers = {key: {"kind": key, "label": label} for key, label in LABELS.items()}
    solvers["supervised"] |= {"kind": "samult", "params": {"gamma": 1}}
    solvers["qsg_s2auc"]["against"] = "supervised"
    return read_experiment(
        {
            "name": f"{dataset}_s2auc",
            "dataset": {"name": dataset},
            "protocol": {"kind": "semi_supervised_auc", "trials": 2},
            "sweep": {"unlabeled": list(SIZES)},
            "solvers": solvers,
            "outputs": ["auc_table", "gain_table", "auc_boxplot", "time_curve", "auc_curve"],
        }
    )


def entries():
    """The plan: the fits by trial, and what is left out."""
    fits = [
        {
            "key": key_of(f"{solver}-{trial}-{n}"),
            "kind": "fit",
            "solver": solver,
            "trial": trial,
            "at": {"unlabeled": n},
            "flops": n,
            **({"also_at": [100, 200]} if solver == "supervised" else {}),
        }
        for trial in (0, 1)
        for solver, sizes in FITS.items()
        for n in sizes
    ]
    left_out = [{"kind": "left_out", "solver": s, "at": {"unlabeled": n}} for s, n in LEFT_OUT]
    return [*fits, *left_out]


def record(entry, **fields):
    auc = AUCS[entry["solver"]] + entry["trial"] / 100
    known = {k: v for k, v in entry.items() if k not in ("flops", "also_at")}
    return known | {
        "label": LABELS[entry["solver"]],
        "status": "ok",
        "params": {},
        "full": entry["at"]["unlabeled"] == 400,
        "scores": {"auc": auc, "test_auc": None},
        "times": {"fit": entry["at"]["unlabeled"] / 1000},
        "peak_memory": 1024,
        **fields,
    }


def stored(folder, wanted=lambda _: True, ended=None, dataset="digits"):
    """Results of the plan's fits that are wanted; ``ended`` are those without a value, by key."""
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(experiment(dataset).to_yaml())
    (folder / "task.json").write_text(describe(experiment(dataset)).model_dump_json())
    (folder / "plan.json").write_text(plan_text(entries()))
    fits = [entry for entry in entries() if entry["kind"] == "fit" and wanted(entry)]
    ended = {key_of(name): fields for name, fields in (ended or {}).items()}
    lines = [seal(record(entry, **ended.get(entry["key"], {}))) for entry in fits]
    (folder / "cells.jsonl").write_bytes(b"".join(lines))
    return load_results(folder)


def first_trial(entry):
    """A run that was stopped within the second trial."""
    return entry["trial"] == 0 or entry["at"]["unlabeled"] == 100


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Results of all fits that are planned."""
    return stored(tmp_path_factory.mktemp("results") / "a")


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """Results of a run that was stopped, of two datasets."""
    folder = tmp_path_factory.mktemp("results")
    return [stored(folder / name, first_trial, dataset=name) for name in ("digits", "codrna")]


def test_gains_of_unfinished_results_name_no_winner(half):
    shown = summarise(half)
    found = [gain for gain in gains(shown, half[0].task.measures[0]) if gain.size.n > 100]
    assert found and not any(gain.significant for gain in found)


REFUSED = {"status": "out_of_memory", "needed": 2**33, "scores": {}}
LIMITED = {"status": "out_of_memory", "limit": 2**33, "scores": {}}
LATE = {"status": "timeout", "scores": {}}


def ended(by_size):
    """How both trials of RFF ended, by size."""
    return {f"rff_s2auc-{trial}-{n}": how for n, how in by_size.items() for trial in (0, 1)}


def test_endings_of_fits_are_told(tmp_path):
    wanted = lambda e: e["solver"] in ("rff_s2auc", "supervised")  # noqa: E731
    stored(tmp_path / "a", wanted, ended({100: REFUSED, 200: LIMITED, 400: LATE}))
    status = describe_status(tmp_path / "a")
    assert "(2 out of memory, 2 refused, 2 timeout)" in status
