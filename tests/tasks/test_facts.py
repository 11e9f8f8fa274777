"""Facts about solvers that a results folder keeps: what they are told, and where grids end."""

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.folder import describe

KMEANS = 'kind: "sklearn.cluster:KMeans"'
SOLVERS = f"solvers: {{one: {{{KMEANS}, params: {{n_clusters: classes}}}}, two: {{{KMEANS}}}}}\n"
UPPER_BOUNDS = ("supervised_sl", "supervised_sl_linear", "majority_class")
TOLD = [
    ("s2auc", "codrna", "", {}),
    ("s3vm", "codrna", "", {"all_labels": "the hidden labels"}),
    ("su", "codrna", "", dict.fromkeys(UPPER_BOUNDS, "labels")),
    ("ordinal", "abalone", "", {}),
    ("clustering", "iris", SOLVERS, {"one": "the number of classes"}),
]


@pytest.mark.parametrize(("base", "dataset", "solvers", "told"), TOLD)
def test_upper_bounds_are_told_what_no_user_has(tmp_path, base, dataset, solvers, told):
    config = tmp_path / "mine.yaml"
    config.write_text(f"extends: base/{base}.yaml\ndataset: {{name: {dataset}}}\n{solvers}")
    found = describe(load_experiment(config)).solvers
    kept = {key: found[key].told for key in (("one", "two") if solvers else found)}
    assert {key: text for key, text in kept.items() if text} == told
    if base == "s2auc":
        ends = found["qsg_s2auc"].ends
        assert ends["gamma"] == (0.0, 1.0)
        assert ends["sigma"] == (None, None)  # above 0 only: there is no smallest one
