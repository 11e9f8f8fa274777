"""What a run leaves, read as evidence."""

import json

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.papers.criteria import Scope
from dsgkit.papers.evidence import read_evidence
from tests.conftest import cells_in_this_process, write_toy
from tests.papers.conftest import judged

pytestmark = pytest.mark.slow

TRIALS = 5
NAME = "toy_s2auc"


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """Return the evidence of a small run of two solvers, one of which is left out at `all`."""
    folder = tmp_path_factory.mktemp("run")
    config = write_toy(folder)
    changes = [f"name={NAME}", f"protocol.trials={TRIALS}", "threads=1"]
    changes += ["solvers.rff_s2auc.at_most={unlabeled: 40}"]
    changes += ["solvers.qsg_s2auc=null", "solvers.pnu_auc=null"]
    with cells_in_this_process(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSGKIT_CACHE", str(folder / "cache"))
        experiment = load_experiment(config, overrides=changes)
        run_experiment(experiment, folder / "kept" / NAME, Options(once=True))
    return read_evidence([folder / "kept"])


@pytest.fixture
def case(evidence):
    return evidence.case("toy", NAME, ["reference", ""])


def records(case):
    lines = (case.results.folder / "cells.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_a_config_is_found_by_its_profiles(evidence):
    assert list(evidence.folders) == [NAME]
    assert evidence.case("toy", NAME, ["reference"]) is None
    assert evidence.case("toy", "other", [""]) is None


def test_of_a_folder_of_results_those_with_some_names_are_read(evidence):
    folder = next(iter(evidence.folders.values())).folder
    assert list(read_evidence([folder.parent], {NAME}).folders) == [NAME]
    assert not read_evidence([folder.parent], {"other"}).folders
    assert list(read_evidence([folder], {"other"}).folders) == [NAME]


def test_values_are_those_of_the_records(case):
    fits = [r for r in records(case) if r["kind"] == "fit" and r["solver"] == "samult"]
    at_40 = {r["trial"]: r for r in fits if r["at"]["unlabeled"] == 40}
    for name, value in (
        ("auc", lambda record: pytest.approx(record["scores"]["auc"])),
        ("fit", lambda record: record["times"]["fit"]),
        ("objective", lambda record: record["diagnostics"]["objective"]),
    ):
        expected = {trial: value(record) for trial, record in at_40.items()}
        assert case.sample("samult", 40, name).values == expected
    assert case.settings("samult", 40, "gamma") == {0.5}
    assert case.settings("rff_s2auc", 40, "n_features") == {20}


def test_a_search_takes_the_seconds_of_all_its_shares(case):
    seconds = dict.fromkeys(range(TRIALS), 0.0)
    for record in records(case):
        if (record["kind"], record["solver"]) == ("search", "samult"):
            seconds[record["trial"]] += record["times"]["search"]
    assert case.sample("samult", 40, "search").values == pytest.approx(seconds)


def test_sizes_and_what_is_left_out(case):
    assert case.sizes == [40, case.full]
    assert case.note("rff_s2auc", case.full) == "rff_s2auc is left out"
    assert case.note("rff_s2auc", 40) == "rff_s2auc: 5 trials"
    assert case.note("pnu_auc", 40) == "pnu_auc was not run"


def test_a_judgement_is_made_at_the_largest_common_size(case):
    criterion = {"test": "equal", "a": "samult", "b": "rff_s2auc", "measure": "auc", "margin": 0.5}
    verdict, (point,) = judged(criterion, Scope([case]))
    assert (str(verdict), point.size) == ("holds", 40)
    full, (point,) = judged(criterion | {"sizes": "full"}, Scope([case]))
    assert str(full) == "not testable here: rff_s2auc is left out (toy)"
