"""Solver classes outside of the package: what is found, known and refused of them."""

import hashlib
import sys
from pkgutil import resolve_name

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans

from dsgkit.engine.problem import Sizes
from dsgkit.errors import ConfigError, DsgWarning
from dsgkit.estimators.catalogue import SOLVERS, get
from dsgkit.estimators.parameters import check_parameters
from dsgkit.tasks.base import named_by_fit
from tests.estimators.brute_force import folds_of, problem

X, y, U = problem()
ARRAYS = {"X": X, "y": y, "X_unlabeled": U, "y_unlabeled": y}
BOTH = "semi_supervised_auc", "semi_supervised_svm"

SOLVER = """from dsgkit.bases import PairwiseAUCEstimator

class Mine(PairwiseAUCEstimator):
    def __init__(self, width=2, lam=0.5, *, name="a"):
        self.width, self.lam, self.name = width, lam, name

    def fit(self, X, y, X_unlabeled):
        self.coef_ = self.lam * y @ X + X_unlabeled.sum(axis=0)
        return self

    def decision_function(self, X):
        return X @ self.coef_
"""


def mine(statement):
    """Return the module with one more statement in its class."""
    return SOLVER.replace("Estimator):", f"Estimator):\n    {statement}")


MADE = """
from typing import Annotated
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from dsgkit.estimators.parameters import PER_MODEL, POSITIVE, Smoother

class Derived(LabelSpreading):
    pass

def scaled(C: Annotated[float, POSITIVE, PER_MODEL, Smoother("smaller")] = 1.0, random_state=0):
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, random_state=random_state))

def spread(gamma=1.0):
    return make_pipeline(StandardScaler(), LabelSpreading(gamma=gamma))

def clusters(n_clusters=3):
    return KMeans(n_clusters, random_state=0)
"""


def test_what_is_known_of_a_class(own_modules, tmp_path):
    own_modules("my", SOLVER)
    info = get("my:Mine")
    assert (info.name, info.label, info.reference) == ("my:Mine", "Mine", "")
    assert (info.params, info.batched) == (("width", "lam", "name"), ())
    assert info.tasks == ("semi_supervised_auc",)
    source = (tmp_path / "my.py").read_bytes()
    assert info.version == hashlib.sha256(source).hexdigest()[:16]
    assert info.load() is sys.modules["my"].Mine
    own_modules("my", mine("tasks, version = 'ordinal', '2024-05'"))
    assert (get("my:Mine").tasks, get("my:Mine").version) == (("ordinal",), "2024-05")
    own_modules("samult", SOLVER)  # the names of the package stay
    assert get("samult") is SOLVERS["samult"]


# where a solver is, its tasks, what its fit takes, and what its values are read from
SUPERVISED, SEMI = {"X", "y"}, {"X", "y", "X_unlabeled"}
KINDS = [
    ("my:Mine", BOTH[:1], SEMI, ""),
    ("sklearn.svm:SVC", BOTH, SUPERVISED, "decision_function"),
    ("sklearn.naive_bayes:GaussianNB", BOTH, SUPERVISED, "predict_proba"),
    ("sklearn.semi_supervised:LabelSpreading", BOTH, SEMI, "predict_proba"),
    ("sklearn.linear_model:Ridge", ("ordinal",), SUPERVISED, "predict"),
    ("my:Derived", BOTH, SEMI, "predict_proba"),
    ("my:scaled", BOTH, SUPERVISED, "decision_function"),
    ("my:spread", BOTH, SEMI, "predict_proba"),
]


@pytest.mark.parametrize(("kind", "tasks", "names", "own"), KINDS)
def test_kinds_of_solvers_fit_predict_and_serve_a_search(kind, tasks, names, own, own_modules):
    own_modules("my", SOLVER + MADE)
    info = get(kind)
    assert info.tasks == tasks
    solver, training = info.load(), named_by_fit(info.load()(), ARRAYS)
    assert set(training) == names
    values = solver().fit(**training).decision_function(U)
    if own:
        rows, labels = (np.vstack([X, U]), [*(y > 0), *[-1] * len(U)]) if names == SEMI else (X, y)
        told = getattr(resolve_name(kind)().fit(rows, labels), own)(U)
        np.testing.assert_allclose(values, told[:, 1] - 0.5 if told.ndim == 2 else told)
    points, folds = [{}] if own else [{"lam": 0.1}, {"lam": 10.0}], folds_of(len(y), 4)
    models = solver().fit_points(points, **training)
    alone = [solver(**point).fit(**training).decision_function(U) for point in points]
    np.testing.assert_array_equal(models.decision_function(U), np.column_stack(alone))
    searched = solver().fit_points(points, folds=folds, **training)
    for got, point in zip(searched, points, strict=True):
        for fold in folds:
            rest = np.setdiff1d(np.arange(len(y)), fold)
            model = solver(**point).fit(**training | {"X": X[rest], "y": y[rest]})
            np.testing.assert_allclose(got[fold], model.decision_function(X[fold]))
    assert (solver().cost(Sizes(3, 16, 30)).memory > 0) == bool(own)


def test_a_function_makes_solvers_of_its_parameters(own_modules):
    own_modules("my", MADE)
    info = get("my:scaled")
    assert (info.label, info.params) == ("scaled", ("C", "random_state"))
    assert (info.batched, info.smoother) == (("C",), {"C": "smaller"})
    assert info.seed(2**40 + 7) == 7  # what scikit-learn takes
    with pytest.raises(ValueError, match="must be a number > 0, got 0"):
        info.parameters["C"].parse(0)
    solver = info.load()(C=0.1)
    values = sys.modules["my"].scaled(C=0.1).fit(X, y).decision_function(U)
    np.testing.assert_array_equal(solver.fit(X, y).decision_function(U), values)
    assert vars(clone(solver)) == solver.get_params() == {"C": 0.1, "random_state": 0}
    info = get("my:clusters")
    assert info.tasks == ("clustering",)
    labels = info.load()(n_clusters=2).fit(X).labels_
    np.testing.assert_array_equal(labels, KMeans(2, random_state=0).fit(X).labels_)


def test_a_regressor_predicts_the_nearest_class():
    model = get("sklearn.linear_model:Ridge").load()().fit(X, np.resize([1, 2, 4], len(X)))
    np.testing.assert_array_equal(model.predict(X), model.classify(model.decision_function(X)))
    classes = model.classify(np.array([-9, 1.4, 1.5, 1.6, 3, 9]))
    assert classes.tolist() == [1, 1, 1, 2, 2, 4]


def test_a_point_that_a_classifier_does_not_take_has_no_solution():
    for kind, name, bad, told in (
        ("sklearn.svm:SVC", "C", -1, "C -1: The 'C' parameter"),
        ("sklearn.neighbors:KNeighborsClassifier", "n_neighbors", 17, "n_neighbors 17: Expected"),
    ):
        with pytest.warns(DsgWarning, match=f"no solution at {told}"):
            models = get(kind).load()().fit_points([{name: 1}, {name: bad}], X=X, y=y)
        missing = np.isnan(models.decision_function(X))
        np.testing.assert_array_equal(missing, np.tile([False, True], (len(X), 1)))


def test_the_version_is_that_of_the_file_in_use(own_modules, tmp_path):
    """Of the one on sys.path, of the one that defines the class, of the imported text."""
    own_modules("other.my", mine("version = 1"))
    own_modules("my", mine("version = 2"))
    assert get("my:Mine").version == 2
    own_modules("my", mine("version = 2"))
    sys.path.insert(0, str(tmp_path / "other"))
    assert get("my:Mine").version == 1
    sys.path.remove(str(tmp_path / "other"))
    own_modules("pack.deep", SOLVER)
    own_modules("pack.__init__", "from pack.deep import Mine\n")
    before = get("pack:Mine").version
    assert get("pack.deep:Mine").version == before
    edited = SOLVER.replace("width=2", "width=3")
    (tmp_path / "pack" / "deep.py").write_text(edited)
    assert get("pack:Mine").version == before
    own_modules("pack.deep", edited)
    assert get("pack:Mine").version == get("pack.deep:Mine").version != before


NEEDS = "; every parameter needs a default"
REFUSED = {
    "class Mine:\n    fit = print\n": "Mine lacks get_params, tasks; derive it from a class "
    "of dsgkit.bases, or from scikit-learn's BaseEstimator and one of its ClassifierMixin, "
    "RegressorMixin or ClusterMixin (my.py:1)",
    "from sklearn.base import BaseEstimator, ClassifierMixin\n"
    "class Mine(ClassifierMixin, BaseEstimator):\n"
    "    def fit(self, X, y, X_unlabeled): pass\n": "Mine lacks tasks; derive it from a class of",
    mine("fit = 3").replace("def fit", "def fits"): "Mine lacks fit (my.py:3)",
    SOLVER.replace("width=2", "width"): "Mine().get_params() raises TypeError: Mine.__init__() "
    f"missing 1 required positional argument: 'width'{NEEDS}, and an attribute of its name",
    SOLVER.replace("lam=0.5", "lam=len"): "the default of Mine's 'lam' must be a number, text, "
    "true, false or null, got <built-in function len>",
    "def Mine():\n    pass\n": "Mine() must return a scikit-learn classifier, regressor or "
    "clusterer, got NoneType (my.py:1)",
    "from sklearn.svm import SVC\ndef Mine(): return SVC(c=1)\n": "Mine() raises TypeError: "
    f"SVC.__init__() got an unexpected keyword argument 'c' (my.py:2){NEEDS}",
    mine("version = 1.5"): "Mine.version must be a whole number or text, got 1.5",
    mine("tasks = (3,)"): "Mine.tasks must be a tuple of task names, got (3,)",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(own_modules, text):
    dotted = "unknown solver 'my.deep.Mine'; write my.deep:Mine for a class"
    for kind, message in (("my:Mine", REFUSED[text]), ("my.deep.Mine", dotted)):
        own_modules("my", text)
        with pytest.raises(ConfigError) as error:
            get(kind)
        assert str(error.value).startswith(message) and "\n" not in str(error.value)


BEHIND_KEYWORDS = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

class Mine(ClassifierMixin, BaseEstimator):
    def __init__(self, levels=2, **kwargs):
        self.levels = levels
        self.others = {"missing": np.nan, "random_state": None} | dict(depth=levels, **kwargs)

    def get_params(self, deep=True):
        return {"levels": self.levels, **self.others}

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X[:, 0] * self.others["depth"]
"""


def test_parameters_behind_keywords_are_those_of_get_params(own_modules):
    own_modules("my", BEHIND_KEYWORDS)
    info = get("my:Mine")
    assert info.params == ("levels", "missing", "random_state", "depth")
    assert info.parameters["random_state"].parse(3) == 3
    model = clone(info.load()(levels=4, random_state=3))
    check_parameters(model)  # the default NaN is no error, as a value in a config is
    with pytest.raises(ValueError, match="must be finite, got nan"):
        info.parameters["missing"].parse(float("nan"))
    assert model.fit(X, y).model_.others["random_state"] == 3
    # the class hands depth on by itself: only what is set is given
    np.testing.assert_array_equal(model.decision_function(X), 4 * X[:, 0])
    with pytest.raises(TypeError, match="unexpected keyword argument 'depht'"):
        info.load()(depht=3)
