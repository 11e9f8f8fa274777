"""Every fit as a row: against the records themselves, read without the package."""

import csv
import functools
import io
import json
import lzma
import math
from pathlib import Path

import pandas as pd
import pytest
import yaml

from dsgkit import cli, load_results
from dsgkit.errors import ResultsError
from dsgkit.tasks.measures import FIRST_COLUMNS, LAST_COLUMNS

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
KEPT = {
    "lev_ordinal": ["auc", "fit_seconds"],
    "poker_su": ["accuracy", "peak_memory"],
    "iris_clustering": ["purity"],
    "skin_s3vm_labels": ["error"],
}


@functools.cache
def loaded(name):
    return load_results(REFERENCE / name)


def fits_of(folder):
    """The rows of a kept folder's fits, as texts."""
    with lzma.open(folder / "fits.csv.xz", "rt") as file:
        return [row for row in csv.DictReader(file) if row["status"]]


@pytest.mark.parametrize("name", KEPT)
def test_a_row_for_each_fit(name):
    folder = REFERENCE / name
    found, expected = loaded(name), fits_of(folder)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert len(found) == len(expected) > 0
    assert set(found["config"]) == {config["name"]}
    assert set(found["task"]) == {config["protocol"]["kind"]}
    for row, kept in zip(found.to_dict("records"), expected, strict=True):
        known = {name: text for name, text in kept.items() if text}
        assert (row["key"], row["solver"], row["trial"]) == (
            kept["key"],
            kept["solver"],
            int(kept["trial"]),
        )
        assert row["size"] == (int(kept[f"at.{row['axis']}"]) if row["axis"] else 0)
        assert row["message"] == kept.get("message", "")
        assert (row["status"] == "ok") == (kept["status"] == "ok")
        seconds = sum(float(text) for name, text in known.items() if name.startswith("times."))
        assert row["cell_seconds"] == pytest.approx(seconds)
        fixed = config["solvers"][kept["solver"]]["params"]
        for parameter, value in {**fixed, **json.loads(known.get("params", "{}"))}.items():
            assert row[f"param_{parameter}"] == value or value is None
        for measure in KEPT[name]:
            column = {"fit_seconds": "times.fit", "peak_memory": "peak_memory"}.get(measure)
            text = known.get(column or f"scores.{measure}")
            assert row[measure] == float(text) if text else math.isnan(row[measure])


def test_columns_have_one_order():
    found = load_results(*(REFERENCE / name for name in KEPT))
    names = list(found.columns)
    assert tuple(names[: len(FIRST_COLUMNS)]) == FIRST_COLUMNS
    assert tuple(names[-len(LAST_COLUMNS) :]) == LAST_COLUMNS
    parameters = [name for name in names if name.startswith("param_")]
    start = len(FIRST_COLUMNS)
    assert names[start : start + len(parameters)] == sorted(parameters)
    assert list(found["config"].unique()) == [loaded(name)["config"][0] for name in KEPT]
    assert found["auc"].isna().any()  # not a measure of every task


def test_without_a_folder_it_says_so():
    with pytest.raises(ResultsError, match="no results were named"):
        load_results()


def test_the_command_writes_the_same(tmp_path, capsys):
    def export(*arguments):
        cli.cli.main(["export", str(REFERENCE / "lev_ordinal"), *arguments], standalone_mode=False)
        return capsys.readouterr().out

    text = export()
    expected = loaded("lev_ordinal")
    read = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values={"auc": [""]})
    assert list(read.columns) == list(expected.columns)
    pd.testing.assert_series_equal(read["auc"], expected["auc"])
    path = tmp_path / "fits.csv"
    assert export("-o", str(path)).strip() == str(path)
    assert path.read_text() == text
    first = expected["solver"][0]
    chosen = pd.read_csv(io.StringIO(export("--solvers", first)))
    assert set(chosen["solver"]) == {first}
