"""Solver classes outside of the package: what is found, known and refused of them."""

import hashlib
import sys
from pkgutil import resolve_name

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge

from dsgkit.engine.problem import Sizes
from dsgkit.errors import ConfigError, DsgWarning
from dsgkit.estimators.catalogue import SOLVERS, get
from dsgkit.estimators.parameters import check_parameters
from dsgkit.tasks.base import named_by_fit
from tests.estimators.brute_force import folds_of, problem

BASE = "from dsgkit.bases import PairwiseAUCEstimator\n"
SOLVER = (
    BASE
    + """
class Mine(PairwiseAUCEstimator):
    def __init__(self, width=2, lam=0.5, *, name="a"):
        self.width, self.lam, self.name = width, lam, name

    def fit(self, X, y, X_unlabeled):
        return self

    def decision_function(self, X):
        return X[:, 0]
"""
)


def mine(statement):
    """Return the module with one more statement in its class."""
    return SOLVER.replace(
        "Mine(PairwiseAUCEstimator):", f"Mine(PairwiseAUCEstimator):\n    {statement}"
    )


DECLARED = """from typing import Annotated
from dsgkit.estimators.parameters import COUNT, PER_MODEL, POSITIVE, Smoother
""" + mine(
    """width: Annotated[int, COUNT, PER_MODEL]
    lam: Annotated[float, POSITIVE, PER_MODEL, Smoother("larger")]"""
)


@pytest.fixture
def message(own_modules):
    """A function that returns what is wrong with ``my:Mine`` in a module of that text."""

    def of(text, kind="my:Mine"):
        own_modules("my", text)
        with pytest.raises(ConfigError) as error:
            get(kind)
        assert "\n" not in str(error.value)
        return str(error.value)

    return of


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
    own_modules("my", DECLARED)
    info = get("my:Mine")
    assert (info.batched, info.smoother) == (("width", "lam"), {"lam": "larger"})
    with pytest.raises(ValueError, match="must be a whole number >= 1, got 0"):
        info.parameters["width"].parse(0)
    own_modules("samult", SOLVER)  # the names of the package stay
    assert get("samult") is SOLVERS["samult"]


def test_a_class_with_a_fit_of_its_own_serves_a_search(own_modules):
    fitted = "self.coef_ = self.lam * y @ X + X_unlabeled.sum(axis=0)\n        return self"
    own_modules("my", SOLVER.replace("return self", fitted).replace("X[:, 0]", "X @ self.coef_"))
    solver, (X, y, U) = get("my:Mine").load(), problem()
    training = {"X": X, "y": y, "X_unlabeled": U}
    points, folds = [{"lam": 0.1}, {"lam": 10.0}], folds_of(len(y), 4)
    values = solver().fit_points(points, folds=folds, **training)
    for row, point in zip(values, points, strict=True):
        for fold in folds:
            train = np.setdiff1d(np.arange(len(y)), fold)
            model = solver(**point).fit(X[train], y[train], U)
            np.testing.assert_array_equal(row[fold], model.decision_function(X[fold]))
    models = solver().fit_points(points, **training)
    expected = [solver(**point).fit(**training).decision_function(U) for point in points]
    np.testing.assert_array_equal(models.decision_function(U), np.column_stack(expected))
    assert solver().cost(Sizes(3, 16, 30)).memory == 0


@pytest.mark.parametrize(
    ("kind", "names", "own"),
    [
        ("sklearn.svm:SVC", {"X", "y"}, "decision_function"),
        ("sklearn.naive_bayes:GaussianNB", {"X", "y"}, "predict_proba"),
        ("sklearn.semi_supervised:LabelSpreading", {"X", "y", "X_unlabeled"}, "predict_proba"),
    ],
)
def test_classifiers_of_scikit_learn_are_taken_as_they_are(kind, names, own):
    info = get(kind)
    assert info.tasks == ("semi_supervised_auc", "semi_supervised_svm")
    solver = info.load()
    classifier = resolve_name(kind)
    X, y, U = problem()
    training = named_by_fit(solver(), {"X": X, "y": y, "X_unlabeled": U, "y_unlabeled": y})
    assert set(training) == names
    rows, labels = (X, y) if len(names) == 2 else (np.vstack([X, U]), [*(y > 0), *[-1] * len(U)])
    told = getattr(classifier().fit(rows, labels), own)(U)
    expected = told if own == "decision_function" else told[:, 1] - 0.5
    np.testing.assert_allclose(solver().fit(**training).decision_function(U), expected)
    folds = folds_of(len(y), 4)
    values = solver().fit_points([{}], folds=folds, **training)
    rest = np.setdiff1d(np.arange(len(y)), folds[1])
    model = solver().fit(**{**training, "X": X[rest], "y": y[rest]})
    np.testing.assert_allclose(values[0, folds[1]], model.decision_function(X[folds[1]]))
    assert solver().cost(Sizes(3, 16, 30)).flops > 0


def test_what_a_classifier_of_ones_own_has_to_have(message, own_modules):
    own = SOLVER.replace("class Mine(Pair", "class Mine(ClassifierMixin, BaseEstimator):  #")
    own = "from sklearn.base import BaseEstimator, ClassifierMixin\n" + own
    assert message(own).startswith("Mine lacks tasks; derive it from")
    supervised = own.replace(", X_unlabeled", "").replace("decision_function", "predict_proba")
    own_modules("my", supervised)
    assert get("my:Mine").load()().cost(Sizes(3, 16, 30)).flops > 0
    derived = (
        "from sklearn.semi_supervised import LabelSpreading\nclass Mine(LabelSpreading): pass\n"
    )
    own_modules("my", derived)
    X, y, U = problem()
    arrays = {"X": X, "y": y, "X_unlabeled": U, "y_unlabeled": y}
    assert set(named_by_fit(get("my:Mine").load()(), arrays)) == {"X", "y", "X_unlabeled"}


def test_a_regressor_ranks_rows_and_predicts_the_nearest_class():
    info = get("sklearn.linear_model:Ridge")
    assert info.tasks == ("ordinal",)
    X, _, _ = problem()
    y = np.array([1, 2, 4] * len(X))[: len(X)]
    model = info.load()(alpha=0.5).fit(X, y)
    values = Ridge(alpha=0.5).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.decision_function(X), values)
    nearest = model.classes_[np.abs(values[:, None] - model.classes_).argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(X), nearest)
    np.testing.assert_array_equal(
        model.classify(np.array([-9, 1.4, 1.5, 1.6, 3, 9])), [1, 1, 1, 2, 2, 4]
    )


MADE = """
from typing import Annotated
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from dsgkit.estimators.parameters import POSITIVE

def scaled(C: Annotated[float, POSITIVE] = 1.0, random_state=0):
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, random_state=random_state))

def spread(gamma=1.0):
    return make_pipeline(StandardScaler(), LabelSpreading(gamma=gamma))

def clusters(n_clusters=3):
    return KMeans(n_clusters, random_state=0)
"""


def test_a_function_makes_solvers_of_its_parameters(own_modules):
    own_modules("my", MADE)
    info = get("my:scaled")
    assert (info.label, info.params) == ("scaled", ("C", "random_state"))
    assert info.tasks == ("semi_supervised_auc", "semi_supervised_svm")
    assert info.seed(2**40 + 7) == 7  # what scikit-learn takes
    with pytest.raises(ValueError, match="must be a number > 0, got 0"):
        info.parameters["C"].parse(0)
    X, y, U = problem()
    solver, made = info.load()(C=0.1), sys.modules["my"].scaled(C=0.1)
    np.testing.assert_array_equal(
        solver.fit(X, y).decision_function(U), made.fit(X, y).decision_function(U)
    )
    again = clone(solver)
    assert (again.get_params(), vars(again)) == ({"C": 0.1, "random_state": 0}, again.get_params())
    values = solver.fit_points([{"C": 1.0}], X=X, y=y).decision_function(U)
    np.testing.assert_array_equal(values[:, 0], info.load()().fit(X, y).decision_function(U))


def test_functions_make_semi_supervised_classifiers_and_clusterings(own_modules):
    own_modules("my", MADE)
    X, y, U = problem()
    spread = get("my:spread").load()()
    given = named_by_fit(spread, {"X": X, "y": y, "X_unlabeled": U, "y_unlabeled": y})
    assert set(given) == {"X", "y", "X_unlabeled"}
    assert spread.fit(**given).decision_function(U).shape == (len(U),)
    info = get("my:clusters")
    assert info.tasks == ("clustering",)
    labels = info.load()(n_clusters=2).fit(X).labels_
    np.testing.assert_array_equal(labels, KMeans(2, random_state=0).fit(X).labels_)


def test_a_point_that_a_classifier_does_not_take_has_no_solution():
    X, y, _ = problem()
    with pytest.warns(DsgWarning, match="no solution at C -1: The 'C' parameter"):
        models = get("sklearn.svm:SVC").load()().fit_points([{"C": -1}], X=X, y=y)
    assert np.isnan(models.decision_function(X)).all()
    points = [{"n_neighbors": n} for n in (1, len(y) + 1)]
    neighbours = get("sklearn.neighbors:KNeighborsClassifier").load()()
    with pytest.warns(DsgWarning, match=f"no solution at n_neighbors {len(y) + 1}: Expected"):
        values = neighbours.fit_points(points, X=X, y=y).decision_function(X)
    np.testing.assert_array_equal(np.isnan(values).any(axis=0), [False, True])


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


def test_the_version_of_a_class_derived_from_a_solver_of_the_package_is_its_own(own_modules):
    """Otherwise edits of the class went unseen."""
    versions = []
    for statement in ("LAM = 1", "LAM = 2", "LAM = 1; version = 7", "LAM = 2; version = 7"):
        own_modules("my", f"from dsgkit import SAMULT\n\nclass Mine(SAMULT):\n    {statement}\n")
        versions.append(get("my:Mine").version)
    assert versions[0] != versions[1] and versions[2:] == [7, 7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # its methods and constructor
        (
            "class Mine:\n    def fit(self): pass\n",
            "Mine lacks get_params, tasks; derive it from a class of dsgkit.bases, or from "
            "scikit-learn's BaseEstimator and one of its ClassifierMixin, RegressorMixin or "
            "ClusterMixin (my.py:1)",
        ),
        (mine("fit = 3").replace("def fit", "def fits"), "Mine lacks fit (my.py:3)"),
        (
            SOLVER.replace("width=2", "width"),
            "Mine().get_params() raises TypeError: Mine.__init__() missing 1 required positional "
            "argument: 'width'; every parameter needs a default, and an attribute of its name",
        ),
        (
            SOLVER.replace("lam=0.5", "lam=len"),
            "the default of Mine's 'lam' must be a number, text, true, false or null, got "
            "<built-in function len>",
        ),
        # functions
        (
            "def Mine():\n    pass\n",
            "Mine() must return a scikit-learn classifier, regressor or clusterer, got NoneType "
            "(my.py:1)",
        ),
        (
            "from sklearn.linear_model import Perceptron\n"
            "def Mine(C=1):\n    return Perceptron(C=C)\n",
            "Mine() raises TypeError: Perceptron.__init__() got an unexpected keyword argument 'C' "
            "(my.py:3); every parameter needs a default",
        ),
        # what it says of itself
        (mine("version = 1.5"), "Mine.version must be a whole number or text, got 1.5"),
        (mine("tasks = (3,)"), "Mine.tasks must be a tuple of task names, got (3,)"),
    ],
)
def test_what_is_refused(message, text, expected):
    assert message(text) == expected
    dotted = "unknown solver 'my.deep.Mine'; write my.deep:Mine for a class"
    assert message(SOLVER, "my.deep.Mine") == dotted


BEHIND_KEYWORDS = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Boosted(ClassifierMixin, BaseEstimator):
    def __init__(self, *, objective="binary", **kwargs):
        known = {"depth": None, "missing": np.nan, "random_state": None}
        unknown = kwargs.keys() - known.keys()
        if unknown:
            raise TypeError(f"unknown {unknown}")
        self.objective, self.others = objective, {**known, **kwargs}

    def get_params(self, deep=True):
        return {"objective": self.objective, **self.others}

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X[:, 0] * (self.others["depth"] or 1)


class Mine(Boosted):
    def __init__(self, levels=2, **kwargs):
        super().__init__(depth=levels, **kwargs)
        self.levels = levels

    def get_params(self, deep=True):
        return {"levels": self.levels, **super().get_params()}
"""


def test_parameters_behind_keywords_are_those_of_get_params(own_modules):
    own_modules("my", BEHIND_KEYWORDS)
    info = get("my:Boosted")
    assert info.params == ("objective", "depth", "missing", "random_state")
    assert info.parameters["depth"].parse(3) == 3
    model = clone(info.load()(depth=3))
    check_parameters(model)  # the default NaN is no error, as a value in a config is
    with pytest.raises(ValueError, match="must be finite, got nan"):
        info.parameters["missing"].parse(float("nan"))
    X = np.ones((2, 1))
    assert model.fit(X, np.array([-1, 1])).model_.others["depth"] == 3
    np.testing.assert_array_equal(model.decision_function(X), 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'depht'"):
        info.load()(depht=3)
    # a class that sets one of them by itself
    model = get("my:Mine").load()(levels=4).fit(X, np.array([-1, 1]))
    np.testing.assert_array_equal(model.decision_function(X), 4)
