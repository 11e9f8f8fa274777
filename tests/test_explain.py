"""What names mean: every name and key there is has an explanation."""

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from dsgkit.cli import cli
from dsgkit.cli.explanations import explain, known_names
from dsgkit.config import load_experiment, shipped
from dsgkit.config.schema import Experiment
from dsgkit.config.solvers import SOLVER_KEYS, Stage
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.spec import DatasetSpec, TargetSpec
from dsgkit.kernels import FAMILIES
from dsgkit.solvers.catalogue import SOLVERS
from dsgkit.tasks import catalogue as tasks
from dsgkit.tasks.catalogue import TASKS
from dsgkit.tasks.measures import STANDARD, UNASKED
from dsgkit.text.docstrings import descriptions, docstring_of


def printed(name):
    done = CliRunner().invoke(cli, ["explain", name], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def keys():
    """The dotted keys that a config can have, from its schemas."""
    yield from ("extends", "profiles", *Experiment.model_fields)
    yield from (f"dataset.{name}" for name in DatasetSpec.model_fields)
    yield from (f"dataset.target.{name}" for name in TargetSpec.model_fields)
    yield from (f"solvers.mine.{name}" for name in SOLVER_KEYS)
    yield from (f"solvers.mine.search.{name}" for name in Stage.model_fields)
    for kind in TASKS:
        yield from (f"protocol.{name}" for name in tasks.get(kind).Spec.model_fields)
        yield from (f"sweep.{axis.name}" for axis in tasks.get(kind).axes)
    for solver in SOLVERS.values():
        yield from (f"solvers.{solver.name}.{name}" for name in solver.params)


CATALOGUED = {
    "solver": SOLVERS,
    "task": TASKS,
    "dataset": DATASETS,
    "kernel": FAMILIES,
    "measure": {m.name for kind in TASKS for m in (*tasks.get(kind).measures, *STANDARD)},
}


@pytest.mark.slow
def test_every_name_of_a_catalogue_and_every_key_is_explained():
    for what, names in CATALOGUED.items():
        for name in names:
            (*_, one) = [one for one in explain(name) if one.what == what]
            assert all(one.paragraphs), name
            for title in ("Parameters", "Keys under protocol"):
                for item in one.lists.get(title, ()):
                    assert item.facts and item.text, (name, item.name)
    for name in keys():
        for one in explain(name):
            assert any(one.facts) and all(one.paragraphs), name


def test_explanations_fit_a_terminal():
    for name in ("lam", "auc", "ordinal", "labeled", "sgemm", "matern", "tsgs3vm_p", "wide"):
        text = printed(name)
        assert max(map(len, text.splitlines())) <= 80, name
        assert "``" not in text and "]_" not in text, name


def test_a_solver_is_explained_with_its_parameters():
    text = printed("samult")
    assert text.startswith(
        "samult: solver, for semi_supervised_auc\n  SAMULT\n  Xie & Li, AAAI 2018"
    )
    assert "\n  lam: a number > 0; default 0.125\n      Weight of the regulariser." in text
    assert "base/s2auc" in text
    assert "base/s2auc" not in printed("svorex")


def test_a_parameter_is_found_by_as_much_of_its_key_as_is_given():
    (one,) = explain("solvers.qsg_s2auc.lam")
    assert one.names == ("solvers.qsg_s2auc.lam",)
    whole = ("params", "grid", "search.grid")
    for same in ("qsg_s2auc.lam", *(f"solvers.qsg_s2auc.{part}.lam" for part in whole)):
        assert explain(same) == [one]
    names = [name for each in explain("lam") for name in each.names]
    assert {f"solvers.{s.name}.lam" for s in SOLVERS.values() if "lam" in s.params} == set(names)
    assert len(names) == len(set(names))


def test_several_things_of_one_name_are_told_apart():
    assert [one.tasks for one in explain("auc")] == [
        ("semi_supervised_auc", "semi_supervised_svm"),
        ("ordinal",),
    ]
    assert {one.names[0] for one in explain("rows")} == {"dataset.rows", "sweep.rows"}
    assert {one.facts for one in explain("protocol.labeled")} == {
        ("int; >= 1; default 200",),
        ("int; >= 1; default 500",),
    }


def test_a_shipped_config_is_explained_by_its_comment_and_what_it_names():
    text = printed("quickstart")
    assert text.startswith(
        "quickstart: config\n  dataset layers_2\n  task semi_supervised_auc\n"
        "  run it by: dsg run quickstart\n\n  A first run, of about a minute: "
    )
    solvers = load_experiment("quickstart").solvers
    for key, solver in solvers.items():
        assert f"\n  {key}: {solver.label}\n" in text
    assert text.endswith("\nProfiles:\n  quick, reference, wide\n")
    assert printed("quickstart.yaml") == text
    assert "to be extended: base/s2auc.yaml" in printed("base/s2auc")


def test_profiles_are_explained_by_the_comments_of_the_configs():
    text = printed("reference")
    assert text.startswith("reference: profile\n  dsg run CONFIG --profile reference ")
    assert "\n  base/s2auc\n      The paper's methods, most of its sizes, and its grids" in text


def test_outputs_are_explained():
    assert [one.tasks for one in explain("auc_table")] == [
        ("semi_supervised_auc", "semi_supervised_svm"),
        ("ordinal",),
    ]
    asked = {name for config in shipped.names() for name in load_experiment(config).outputs}
    for name in {*asked, *UNASKED}:
        for one in explain(name):
            assert (one.what, len(one.paragraphs)) == ("output", 1), name


def test_a_miss_names_what_is_near_or_where_names_are_listed():
    def told(name):
        return str(CliRunner().invoke(cli, ["explain", name]).exception)

    assert told("QSGS2AUK") == "nothing is called 'QSGS2AUK' (did you mean 'QSGS2AUC'?)"
    assert told("qqq").startswith("nothing is called 'qqq'; `dsg list solvers` (or tasks, ")
    assert "did you mean" not in told("rmse") and "dsg explain FILE.py:NAME" in told("rmse")
    assert {"protocol.labeled", "labeled", "iris", "purity"} <= set(known_names())


def test_a_solver_is_known_by_its_class_and_its_label_and_may_be_scikit_learns():
    for name in ("QSGS2AUC", "QSG-S2AUC", "solvers.qsg_s2auc"):
        assert printed(name) == printed("qsg_s2auc")
    assert "\n  C: float; default 1.0\n      Reg" in printed("sklearn.svm:SVC")


def test_keys_and_labels_of_the_solvers_of_configs_are_explained():
    solvers = {
        (key, solver.label, solver.kind)
        for config in shipped.names()
        for key, solver in load_experiment(config).solvers.items()
    }
    assert len(solvers) > 50
    for key, label, kind in solvers:
        for name in (key, label):
            told = [text for one in explain(name) for text in (*one.names, *one.facts)]
            assert any(kind in text for text in told), (name, kind)
    assert printed("DBSCAN").startswith("dbscan: solver of a config\n  DBSCAN\n  kind sklearn.")
    assert "\n  Labelled rows alone, exact\n  kind samult, see: " in printed("supervised")
    assert "did you mean 'supervised'" in str(
        CliRunner().invoke(cli, ["explain", "supervsed"]).exception
    )


OWN = """'''Sorting of numbers.'''
from dsgkit.bases import PairwiseAUCEstimator
from dsgkit.tasks.semi_supervised_auc import SemiSupervisedAUC
class Mine(PairwiseAUCEstimator):
    '''A method of my own.'''
    lam: float = 0.25
    def fit(self, X, y): return self
    def decision_function(self, X): return X[:, 0]
class Sorting(SemiSupervisedAUC):
    pass
SORTING = Sorting()
"""


def test_a_solver_and_a_task_of_ones_own_are_explained(own_modules):
    own_modules("explained", OWN)
    for file in ("explained", "explained.py"):
        text = printed(f"{file}:Mine")
        assert "\n  A method of my own.\n" in text
        assert "\n  lam: a number; default 0.25\n" in text
        text = printed(f"{file}:SORTING")
        assert text.startswith("explained:SORTING: task\n\n  Sorting of numbers.\n")
        assert "\n  auc: higher is better\n" in text


class Base(BaseModel):
    """A base.

    Attributes
    ----------
    a, b : int
        Two `dsgkit.solvers.sigma.scale_of` numbers [1]_,
        in ``code``.
    c : str
        Text.
    """


class Derived(Base):
    """Derived.

    More.

    Attributes
    ----------
    c : list

    References
    ----------
    .. [1] Me, "Title",
       2020.
    .. [2] You.
    """


def test_what_docstrings_say():
    words = descriptions(Derived)
    assert words["a"] == words["b"] == ("int", "Two scale_of numbers [1], in code.")
    assert words["c"] == ("str", "Text.")
    doc = docstring_of(Derived)
    assert doc.paragraphs == ["Derived.", "More."]
    assert doc.references == ['[1] Me, "Title", 2020.', "[2] You."]
