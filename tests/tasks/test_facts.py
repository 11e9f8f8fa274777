"""What is kept of solvers: what they are told that no user has, and where grids must end."""

import pytest

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.description import describe


def facts(tmp_path, base, profile=None, **parts):
    """Return the facts of a config that extends a shipped base."""
    config = tmp_path / "mine.yaml"
    written = "".join(f"{name}: {text}\n" for name, text in parts.items())
    config.write_text(f"extends: base/{base}.yaml\n{written}")
    return describe(load_experiment(config, profile=profile)).solvers


@pytest.mark.parametrize(
    ("base", "dataset", "told"),
    [
        ("s2auc", "codrna", {}),
        ("s3vm", "codrna", {"all_labels": "the hidden labels"}),
        (
            "su",
            "codrna",
            dict.fromkeys(("supervised_sl", "supervised_sl_linear", "majority_class"), "labels"),
        ),
        ("ordinal", "abalone", {}),
    ],
)
def test_upper_bounds_are_the_solvers_that_are_given_what_no_user_has(
    tmp_path, base, dataset, told
):
    found = facts(tmp_path, base, dataset=f"{{name: {dataset}}}")
    assert {key: one.told for key, one in found.items() if one.told} == told


def test_the_true_number_of_clusters_is_nothing_that_a_user_has(tmp_path):
    kind = 'kind: "sklearn.cluster:KMeans"'
    solvers = f"{{one: {{{kind}, params: {{n_clusters: classes}}}}, two: {{{kind}}}}}"
    found = facts(tmp_path, "clustering", dataset="{name: iris}", solvers=solvers)
    assert (found["one"].told, found["two"].told) == ("the number of classes", "")


def test_the_ends_of_a_parameter_are_those_that_it_can_take(tmp_path):
    ends = facts(tmp_path, "s2auc", dataset="{name: codrna}")["qsg_s2auc"].ends
    assert ends["gamma"] == (0.0, 1.0)
    assert ends["sigma"] == (None, None)  # above 0 only: there is no smallest one
