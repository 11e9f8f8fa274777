"""What names mean: every solver, task, dataset and key of a config has an explanation."""

import pytest
from click.testing import CliRunner

from dsgkit.cli import cli
from dsgkit.cli.explain import _keys, explanations
from dsgkit.data.catalogue import DATASETS
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.tasks.base import TASKS


def printed(name):
    done = CliRunner().invoke(cli, ["explain", name], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def test_everything_has_an_explanation():
    for name in (*SOLVERS, *TASKS, *DATASETS):
        assert len(next(explanations(name)).split()) > 8, name
    keys = dict(_keys())
    assert len(keys) > 300
    assert [path for path, text in keys.items() if len(text.split()) < 2] == []
    assert {"extends", "protocol.labeled", "sweep.unlabeled", "dataset.target.bins"} <= {*keys}
    assert {f"solvers.{s.name}.{name}" for s in SOLVERS.values() for name in s.params} <= {*keys}


@pytest.mark.parametrize("name", ["lam", "ordinal", "labeled", "tsgs3vm_p", "iris"])
def test_explanations_fit_a_terminal_without_markup(name):
    text = printed(name)
    assert max(len(line) for line in text.splitlines() if "http" not in line) <= 80
    assert "``" not in text and "]_" not in text and "---" not in text


def test_a_solver_and_its_keys_are_explained():
    text = printed("samult")
    assert text.startswith("samult: solver, for semi_supervised_auc\n\nSAMULT; Xie & Li, AAAI 2018")
    assert "\nlam : float > 0, default 0.125\n    Weight of the regulariser." in text
    assert ">>>" not in text
    assert printed("QSGS2AUC") == printed("solvers.qsg_s2auc") == printed("qsg_s2auc")
    assert "\nC : float, default=1.0\n    Reg" in printed("sklearn.svm:SVC")
    (one,) = explanations("solvers.qsg_s2auc.lam")
    assert list(explanations("qsg_s2auc.lam")) == [one]
    assert one in explanations("lam")
    heads = [text.partition(",")[0] for text in explanations("rows")]
    assert heads == ["dataset.rows: key of a config", "sweep.rows: key of a config"]
    assert "for semi_supervised_auc, semi_supervised_svm:\nint\n" in printed("protocol.labeled")


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


def test_a_user_defined_solver_and_task_are_explained(own_modules):
    own_modules("explained", OWN)
    assert "\nA method of my own.\n" in printed("explained.py:Mine")
    text = printed("explained.py:Sorting")
    assert text.startswith("explained:Sorting: task\n\nSorting of numbers.\n")
    assert "\nauc : higher is better\n" in text
