"""Results do not depend on how many processes and threads they were computed with."""

import numpy as np
import pytest

from dsgkit.config import load_experiment
from dsgkit.experiment.results import load_results
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.report import write_tables
from tests.experiment.runs import tables


@pytest.mark.slow
def test_results_are_the_same_for_any_number_of_jobs_and_threads(toy):
    """All four solvers: byte for byte for the jobs, and to rounding for the threads."""
    experiment = load_experiment(toy, overrides=["protocol.trials=1"])
    runs = {}
    for jobs, threads in ((1, 2), (2, 2), (2, 1)):
        folder = toy.parent / f"{jobs}-{threads}" / "toy"
        outcome = run_experiment(experiment, folder, Options(jobs=jobs, threads=threads))
        assert (outcome.computed, outcome.failures) == (12, [])
        write_tables([load_results(folder)], folder)
        runs[jobs, threads] = folder
    assert len(tables(runs[1, 2])) == 6
    assert tables(runs[1, 2]) == tables(runs[2, 2])
    two, one = (load_results(runs[2, threads]).cells for threads in (2, 1))
    assert two["auc"].nunique() > 4
    np.testing.assert_allclose(one["auc"], two["auc"], rtol=0, atol=1e-6)
    assert one["params"].tolist() == two["params"].tolist()
