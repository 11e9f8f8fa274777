"""The study of AUC against time goes on where it was cut, and says what it measured."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.data.conftest import make_dataset
from tests.scripts.conftest import invoke


@pytest.fixture
def study(script):
    """The script, with two small sizes of two methods and a dataset of its own."""
    scope = script("study_time_to_answer")
    rng = np.random.default_rng(0)
    X = rng.random((500, 3), dtype=np.float32)
    dataset = make_dataset(X, np.where(X[:, 0] * X[:, 1] > 0.2, 1, -1).astype(np.int8))
    scope = scope["main"].callback.__globals__
    method = scope["Method"]
    scope["METHODS"] = {
        "nystrom_s2auc": method("n_landmarks", {0: 9}, 0),
        "rff_s2auc": method("n_features", {5: 9, 20: 1}, 5),
    }
    scope["LAM"], scope["SIGMA"], scope["EXACT_SIZES"] = (0.01, 1.0), (0.5, 2.0), (0, 50)
    scope["load_dataset"] = lambda spec: dataset
    return scope


def run(study, folder):
    sizes = ["--trials", 2, "--labeled", 30, "--validation", 60]
    invoke(study["main"], folder, "--dataset", "d", *sizes)
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def test_it_measures_what_is_missing_and_writes_all(study, tmp_path):
    drawn, study["draw"] = study["draw"], lambda *_: None
    first = run(study, tmp_path)
    kinds = [(r["kind"], r["method"], r.get("size"), r.get("trial")) for r in first]
    assert len(set(kinds)) == len(kinds) == 3 + 2 * 4 + 1
    assert kinds[-1] == ("fit", "rff_s2auc", 20, 0)  # in fewer trials, last
    assert all(0 < r["auc"] <= 1 and r["seconds"] > 0 for r in first)
    lines = (tmp_path / "records.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_text("".join(lines[:-2]))
    study["draw"] = drawn
    again = run(study, tmp_path)
    assert again[:-2] == first[:-2] and len(again) == len(first)
    table = (tmp_path / "time_to_answer.md").read_text().splitlines()
    assert [row.split(" | ")[2] for row in table[2:]] == [
        "5 frequencies",
        "20 frequencies",
        "0 unlabelled landmarks",
        "labelled rows alone",
        "50 unlabelled rows",
    ]
    assert (tmp_path / "time_to_answer.png").stat().st_size > 10_000
    assert "| Nyström-S2AUC | 2^" in (tmp_path / "choices.md").read_text()


def test_the_rows_of_a_trial_are_apart(study, script):
    rows = study["Sizes"](30, 20_000, 60, 10_000).draw("d", 1)
    parts = rows.X, rows.X_unlabeled[:], rows.X_validation, rows.X_test
    assert [len(part) for part in parts] == [30, 293, 60, 117]
    assert len(np.unique(np.vstack(parts), axis=0)) == 500


def test_a_size_of_few_trials_is_placed_by_its_difference_in_them(script):
    report = script("time_to_answer_report")
    aucs = {(0, 0): 0.5, (0, 1): 0.7, (0, 2): 0.9, (2, 0): 0.56, (4, 0): 0.58}
    common = {"kind": "fit", "dataset": "d", "method": "samult", "seconds": 1.0}
    records = [{**common, "size": n, "trial": t, "auc": value} for (n, t), value in aucs.items()]
    small, large, largest = report["points"](records)["d", "samult"]
    assert small.auc == 0.7 and small.trials == 3
    assert large.auc == pytest.approx(0.76) and large.trials == 1
    assert small.gain == 0 and large.gain == pytest.approx(0.06)
    assert largest.auc == pytest.approx(0.78)
