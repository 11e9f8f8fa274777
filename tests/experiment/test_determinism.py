"""Results do not depend on how many processes and threads they were computed with."""

import numpy as np
import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.report import write_tables
from tests.conftest import cells_in_this_process
from tests.experiment.runs import tables


@pytest.mark.slow
def test_results_are_the_same_for_any_number_of_jobs_and_threads(toy):
    """All four solvers: byte for byte for the jobs, and to rounding for the threads."""
    experiment = load_experiment(toy, overrides=["protocol.trials=1"])

    def run(name, **options):
        folder = toy.parent / name / "toy"
        outcome = run_experiment(experiment, folder, Options(once=True, **options))
        assert (outcome.computed, outcome.failures) == (12, [])
        write_tables([load_results(folder)], folder)
        return folder

    in_two_workers = run("workers", jobs=2, threads=2)
    with cells_in_this_process():
        in_none, by_one_thread = run("none", threads=2), run("thread", threads=1)
    assert len(tables(in_none)) == 6
    assert tables(in_none) == tables(in_two_workers)
    two, one = (load_results(folder).cells for folder in (in_none, by_one_thread))
    assert two["auc"].nunique() > 4
    np.testing.assert_allclose(one["auc"], two["auc"], rtol=0, atol=1e-6)
    assert one["params"].tolist() == two["params"].tolist()
