"""What names mean: every solver, task, dataset and key of a config has an explanation."""

import pytest
from click.testing import CliRunner

from dsgkit.cli import cli
from dsgkit.cli.explain import _keys, explanations
from dsgkit.data.catalogue import DATASETS
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.tasks.base import TASKS
from tests.test_wrong_inputs import RIGHT, cases

OWN = """
from dsgkit.bases import PairwiseAUCEstimator
from dsgkit.tasks.semi_supervised import SemiSupervisedAUC
class Mine(PairwiseAUCEstimator):
    '''A method of my own.'''
    lam: float = 0.25
    def fit(self, X, y): return self
    def decision_function(self, X): return X[:, 0]
class Sorting(SemiSupervisedAUC):
    '''Sorting of numbers.'''
"""


def test_everything_has_an_explanation():
    for name in (*SOLVERS, *TASKS, *DATASETS):
        assert len(next(explanations(name)).split()) > 8, name
    keys = dict(_keys())
    assert len(keys) > 300
    assert [path for path, text in keys.items() if len(text.split()) < 2] == []
    assert {"extends", "protocol.labeled", "sweep.unlabeled", "dataset.target.bins"} <= {*keys}
    assert {f"solvers.{s.name}.{name}" for s in SOLVERS.values() for name in s.params} <= {*keys}
    texts = [list(explanations(name)) for name in ("QSGS2AUC", "solvers.qsg_s2auc", "qsg_s2auc")]
    assert texts[0] == texts[1] == texts[2] and len(texts[0]) == 1
    (lam,) = explanations("solvers.qsg_s2auc.lam")
    assert [*explanations("qsg_s2auc.lam")] == [lam] and lam in explanations("lam")


@pytest.mark.parametrize(("name", "texts"), cases("names with their explanations", RIGHT))
def test_explanations_fit_a_terminal_without_markup(own_modules, name, texts):
    own_modules("explained", OWN)
    out = CliRunner().invoke(cli, ["explain", name], env={"COLUMNS": "80"}).output
    words, (head, *others) = " ".join(out.split()), texts.split(" .. ")
    assert words.startswith(head) and all(text in words for text in others)
    assert max(len(line) for line in out.splitlines() if "http" not in line) <= 80
    assert not [markup for markup in ("``", "]_", "---", ">>>") if markup in out]
