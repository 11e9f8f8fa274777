"""Facts that a rewrite may not change, recorded from the program of tag ``before-diet``.

The recorded facts are in ``tests/data/golden``. ``DSGKIT_RECORD_GOLDEN=1`` records them again: only
for a change that is meant, and named in the commit. What needs real data runs where
``DSGKIT_DATA`` is set.
"""

import hashlib
import json
import lzma
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dsgkit import load_results
from dsgkit.config import load
from dsgkit.config.schema import load_experiment
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.dataset import load_dataset
from dsgkit.data.spec import DatasetSpec
from dsgkit.errors import DataError
from dsgkit.experiment.plan import make_plan

ROOT = Path(__file__).parents[1]
CONFIGS, KEPT = ROOT / "configs", ROOT / "results" / "reference"
GOLDEN = Path(__file__).parent / "data" / "golden"
RECORD = bool(os.environ.get("DSGKIT_RECORD_GOLDEN"))
DATA = os.environ.get("DSGKIT_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="needs the real data of DSGKIT_DATA")


# What the facts are read with: the only part that knows names of the program.


def resolved_document(path, profile):
    """Return a config's settings before validation, and the place of each key."""
    document = load.resolve(path, profile)

    def place(key):
        while key not in document.places:
            key = key[:-1]
        return document.places[key]

    return document.data, place


def profiles(path):
    return list(load.read_config(path).data.get("profiles", {}))


def planned(cell):
    """Return what a plan says of a cell, without its predicted cost."""
    return {
        "key": cell.key,
        "kind": cell.kind,
        "solver": cell.solver,
        "trial": cell.trial,
        "at": dict(cell.at),
        "also_at": list(cell.also_at),
        "needs": list(cell.needs),
        "points": [list(points) for points in cell.stages],
    }


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Parse data anew, and download none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSGKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("DSGKIT_OFFLINE", "1")
        yield


# Comparing with what is recorded.


def recorded(name, value):
    """Return the recorded value of a name; this one, if it is to be recorded."""
    path = GOLDEN / f"{name.replace(' ', '_')}.json.xz"
    if RECORD:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(json.dumps(value, separators=(",", ":")).encode(), preset=9))
    return json.loads(lzma.decompress(path.read_bytes()))


def same(name, value):
    """Compare with the recorded value of that name, or record it."""
    golden, value = recorded(name, value), json.loads(json.dumps(value))
    if isinstance(golden, dict):
        assert list(value) == list(golden)
        differing = {key: (golden[key], value[key]) for key in golden if golden[key] != value[key]}
        assert not differing
    assert value == golden


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def plain(value):
    """Return a value of a table, whatever type pandas keeps it in."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    return float(value)


def frame_digests(frame):
    """Return a digest of each column."""
    return {str(name): digest(plain(frame[name].tolist())) for name in frame}


def places(data, place, key=()):
    """Yield every key of a resolved config with its place."""
    yield [list(key), place(key).replace(f"{CONFIGS}/", "")]
    children = enumerate(data) if isinstance(data, list) else dict.items(data)
    for name, value in children:
        if isinstance(value, list | dict):
            yield from places(value, place, (*key, name))
        else:
            yield [[*key, name], place((*key, name)).replace(f"{CONFIGS}/", "")]


# Configs.


def test_resolved_configs_and_the_places_of_their_keys():
    found = {}
    for path in sorted([*CONFIGS.glob("*.yaml"), *CONFIGS.glob("base/*.yaml")]):
        for profile in (None, *profiles(path)):
            data, place = resolved_document(path, profile)
            name = " ".join([str(path.relative_to(CONFIGS)), *filter(None, [profile])])
            data = json.loads(json.dumps(data).replace(f"{CONFIGS}/", ""))
            found[name] = [digest(data), digest(list(places(data, place)))]
    same("configs", found)


# Plans: kept folders, and configs with a profile and overrides.

MADE = {
    "quickstart": ("quickstart.yaml",),
    "quickstart wide": ("quickstart.yaml", "wide"),
    "layers_2_s2auc_labels": (),
    "layers_5_ordinal_labels-wide": (),
    "gaussians_2_s3vm_labels": (),
    "rings_clustering_choice": (),
    "moons": ("moons_clustering.yaml", "quick"),
    "layers_2 su": ("codrna_su.yaml", None, "dataset.name=layers_2", "sweep.unlabeled=[300, all]"),
}
REAL = {
    "codrna_s2auc": (),
    "ijcnn1_s3vm-useful": (),
    "abalone_ordinal-wide": (),
    "skin_su": (),
    "glass_clustering-wide": (),
    "codrna_s3vm": ("codrna_s3vm.yaml", "reference", "protocol.trials=1"),
    "sgemm_ordinal": ("sgemm_ordinal.yaml",),
}


def experiment_of(name, config=None, profile=None, *overrides):
    if config is None:
        return load_experiment(KEPT / name / "config.yaml")
    return load_experiment(CONFIGS / config, profile=profile, overrides=overrides)


@pytest.mark.parametrize("name", [*MADE, *(pytest.param(name, marks=needs_data) for name in REAL)])
def test_plans(name):
    experiment = experiment_of(name, *{**MADE, **REAL}[name])
    plan = make_plan(experiment, load_dataset(experiment.dataset)).cells
    cells = [planned(cell) for cell in plan]
    order = {cell["key"]: place for place, cell in enumerate(cells)}
    columns = {column: [cell[column] for cell in cells] for column in cells[0]}
    columns["needs"] = [[order[key] for key in keys] for keys in columns["needs"]]
    columns["points"] = list(map(digest, columns["points"]))
    hashed = digest(columns)
    columns["key"] = [key[:8] for key in columns["key"]]
    columns["points"] = [points[:6] for points in columns["points"]]
    same(f"plan {name}", {"number": len(cells), "hash": hashed} | columns)
    costs = [[float(f"{x:.3g}") for x in (cell.flops, cell.memory)] for cell in plan]
    golden = np.array(recorded(f"costs {name}", costs))
    negligible = np.array([1e8, 2**27])  # operations, bytes
    ratio = (np.array(costs) + negligible) / (golden + negligible)
    assert ratio.min() > 0.5 and ratio.max() < 2


# Datasets.


def specs():
    """Return every dataset part of the configs and of kept folders, and of the catalogue."""
    paths = sorted([*CONFIGS.glob("*.yaml"), *KEPT.glob("*/config.yaml")])
    parts = [resolved_document(path, None)[0]["dataset"] for path in paths]
    parts += [{"name": name} for name in DATASETS]
    return {json.dumps(part, sort_keys=True): part for part in parts}


def facts(spec):
    """Return the identity, shape and digests of a dataset; None if it is not here."""
    try:
        dataset = load_dataset(spec)
    except DataError:
        return None
    labels = [dataset.y, dataset.y_test]
    labels = [None if y is None else y.astype(float).tobytes() for y in labels]
    return {
        "identity": dataset.identity,
        "shape": list(dataset.X.shape),
        "labels": [y and hashlib.sha256(y).hexdigest()[:16] for y in labels],
        "extremes": digest([dataset.minimum.tolist(), dataset.maximum.tolist()]),
        "described": digest(dataset.describe()),
    }


@pytest.mark.parametrize(
    "group", ["made", pytest.param("real", marks=[needs_data, pytest.mark.slow])]
)
def test_content_of_datasets(group):
    found = {}
    for name, part in specs().items():
        made = DATASETS[part["name"]].loader == "bundled"
        if made == (group == "made") and (known := facts(DatasetSpec(**part))):
            found[name] = known
    same(f"datasets {group}", found)


# Kept results: one folder of every paper column by column, and all as users get them.

FOLDERS = (
    "codrna_s2auc",
    "gaussians_2_s3vm_labels",
    "lev_ordinal_convergence",
    "ijcnn1_su",
    "iris_clustering_choice",
)


@pytest.mark.parametrize("name", FOLDERS)
def test_tables_of_kept_results(name):
    same(f"tables {name}", frame_digests(load_results(KEPT / name)))


@pytest.mark.slow
def test_every_kept_folder_opens():
    folders = sorted(path.parent for path in KEPT.glob("*/fits.csv*"))
    tables = {folder.name: load_results(folder) for folder in folders}
    found = {name: [len(fits), digest(frame_digests(fits))] for name, fits in tables.items()}
    same("kept", found)


# A run of the quickstart: its cells but for times.


@pytest.mark.slow
def test_cells_of_the_quickstart(tmp_path):
    command = [sys.executable, "-m", "dsgkit", "run", CONFIGS / "quickstart.yaml"]
    environment = {**os.environ, "DSGKIT_ONCE": "1"}
    subprocess.run([*command, "--out", tmp_path], check=True, env=environment, capture_output=True)
    lines = (tmp_path / "quickstart" / "cells.jsonl").read_text().splitlines()
    records = {record["key"]: record for record in map(json.loads, lines)}
    measured = (
        "times",
        "environment",
        "started",
        "peak_memory",
        "timing",
        "measurements",
        "check",
        "code",
        "source",
    )
    clock = ("seconds", "memory")
    values = {}
    for key, record in records.items():
        for name in measured:
            record.pop(name, None)
        for group in ("scores", "diagnostics"):
            numbers = record.pop(group, None) or {}
            values |= {f"{key} {k}": v for k, v in numbers.items() if not k.endswith(clock)}
    assert {record["status"] for record in records.values()} == {"ok"}
    same("quickstart", dict(sorted(records.items())))
    golden = recorded("quickstart values", values)
    # other processors round otherwise; the logistic regression of scikit-learn ends elsewhere
    loose = [key for key, record in records.items() if record["solver"] == "logistic"]
    for name, value in values.items():
        tolerance = 0.01 if name.split()[0] in loose else 1e-4
        assert value is golden[name] is None or value == pytest.approx(golden[name], rel=tolerance)
