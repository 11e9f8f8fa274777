"""What a run says about differences, from its config to its findings."""

import json

import numpy as np
import pytest
import yaml

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.folder import read_task
from dsgkit.experiment.run import Options, run_experiment
from dsgkit.experiment.runs import load
from dsgkit.report.compare import compare, comparison_text
from dsgkit.report.findings import findings
from dsgkit.report.tables import text_tables
from tests.report.runs import make_run

RANDOM = np.random.default_rng(0)
Y = RANDOM.random(120) < 0.5
ROWS = RANDOM.normal(size=(120, 6)) + 0.5 * np.outer(Y, [1, 1, 0, 1, 1, 0])
SIDES = """
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

def of(columns):
    return make_pipeline(ColumnTransformer([("k", "passthrough", columns)]), LogisticRegression())

def left():
    return of([0, 1, 2])

def right():
    return of([3, 4, 5])
"""
RANKING = {
    "dataset": {"path": "rows.csv", "loader": "delimited"},
    "protocol": {"kind": "semi_supervised_auc", "labeled": 40, "trials": 4},
    "solvers": {
        "left": {"kind": "sides:left"},
        "right": {"kind": "sides:right", "against": "left"},
    },
}
AGAIN = {"left": {"kind": "sides:left"}, "again": {"kind": "sides:left", "against": "left"}}
K_MEANS = {"kind": "sklearn.cluster:KMeans", "params": {"n_clusters": 2}}
WARD = {"kind": "sklearn.cluster:AgglomerativeClustering", "params": {"n_clusters": 3}}
CLUSTERING = {
    "dataset": {"path": "rows.csv", "loader": "delimited", "target": {"classes": True}},
    "protocol": {"kind": "clustering", "trials": 3},
    "solvers": {"k_means": K_MEANS, "ward": WARD | {"against": "k_means"}},
}
CASES = {
    "twins": (RANKING, "of the labelled rows from this dataset", {"significant", "p = ", "95%"}),
    "new rows": (RANKING | {"inference": "new_rows"}, "about new rows", {"95%"}),
    "order": (CLUSTERING, "all trials use the same rows.", set()),
    "part": (CLUSTERING | {"sweep": {"rows": [60]}}, "use samples of the same rows.", set()),
    "same": (RANKING | {"solvers": AGAIN}, "from this dataset", set()),
}


@pytest.fixture
def run(tmp_path, monkeypatch, own_modules, in_process):
    """A function that runs a config on made-up rows, and returns its results."""
    monkeypatch.setenv("DSGKIT_CACHE", str(tmp_path / "cache"))
    np.savetxt(tmp_path / "rows.csv", np.column_stack([ROWS, Y]), delimiter=",", fmt="%.5f")
    own_modules("sides", SIDES)

    def run(config):
        (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
        experiment = load_experiment(tmp_path / "c.yaml")
        assert run_experiment(experiment, tmp_path / "r", Options(once=True)).failures == []
        return load(tmp_path / "r")[0]

    return run


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_is_not_tested_has_no_p_value_and_every_text_says_why(run, case):
    config, about, words = CASES[case]
    found = run(config)
    said = " ".join(one.sentence for one in findings(found))
    texts = text_tables([found], ["gain_table"]), comparison_text(compare(found, found), 100)
    table, other = (" ".join(text.split()) for text in texts)
    assert about in table and about in other and (about in said or case == "same")
    for word in ("significant", "p = ", "95%"):
        assert (word in said) == (word in words), (word, said)
    assert [("p:" in text, "t-test" in text) for text in (table, other)] == (
        [(True, True), (False, True)] if case in ("twins", "same") else [(False, False)] * 2
    )
    assert "chance" not in said + table
    if case == "same":
        assert "Highest" in said and "equal" in said and "trial" not in said


@pytest.mark.parametrize(
    ("kind", "draws"), [("clustering", ""), ("ordinal", "labelled rows"), ("mine:Gone", "rows")]
)
@pytest.mark.parametrize("old", [{}, {"draws": None}])
def test_results_that_do_not_say_what_trials_draw_are_about_what_their_task_draws(
    kind, draws, old, tmp_path
):
    task = make_run(a=[0.5]).task.model_dump(mode="json", exclude={"draws"})
    (tmp_path / "task.json").write_text(json.dumps(task | {"kind": kind} | old))
    assert read_task(tmp_path)[0].draws == draws
