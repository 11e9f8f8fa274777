"""What one solver does to what it is given changes nothing of what the others get."""

import copy
import os
import pickle
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import yaml
from scipy import sparse

from dsgkit.config.schema import load_experiment
from dsgkit.experiment.read_only import guarded, read_only
from dsgkit.experiment.runner import Options, run_experiment
from dsgkit.solvers import catalogue as solvers
from dsgkit.users_code.rehearsal import rehearsing
from tests.conftest import change_toy
from tests.experiment.runs import stored, without_measurements

pytestmark = pytest.mark.usefixtures("in_process")

RUDE = """
import numpy as np
from dsgkit.numerics.costs import Cost

class Rude:
    tasks = (
        "semi_supervised_auc", "semi_supervised_svm", "ordinal", "similar_unlabeled", "clustering",
        "tests.experiment.own_task:RidgeTask",
    )
    version = 1
    classes_ = np.array([1, 2, 3])
    def __init__(self, fit="pass", decide="pass", folds_too="pass", lam=1.0):
        self.fit_code, self.decide, self.folds_too, self.lam = fit, decide, folds_too, lam
    def get_params(self, deep=True):
        return dict(fit=self.fit_code, decide=self.decide, folds_too=self.folds_too, lam=self.lam)
    def set_params(self, **params): return self
    def cost(self, n_inputs, **counts): return Cost()
    def _rude(self, code, **arrays): exec(code, {"np": np}, arrays)
    def decision_function(self, X):
        self._rude(self.decide, X=X)
        return np.asarray(X)[:, 0]
    def predict(self, X):
        return np.ones(len(X), int)
    def fit_points(self, points, folds=None, **training):
        self._rude(self.folds_too, folds=folds, **training)
        self.fit(**training)
        if folds is None:
            return Several(len(points))
        if "X_similar" in training:
            shapes = training["X_similar"].shape[:2], training["X_unlabeled"].shape[:1]
            return tuple(np.zeros((len(points), *shape)) for shape in shapes)
        return np.tile(training["X"][:, 0], (len(points), 1))

class Several:
    def __init__(self, count): self.count = count
    def decision_function(self, X): return np.tile(X[:, :1], (1, self.count))

class Labels(Rude):
    def fit(self, X, y, X_unlabeled, y_unlabeled=None):
        self._rude(self.fit_code, X=X, y=y, X_unlabeled=X_unlabeled, y_unlabeled=y_unlabeled)
        return self

class Labeled(Rude):
    def fit(self, X, y):
        self._rude(self.fit_code, X=X, y=y)
        return self

class Pairs(Rude):
    def fit(self, X_similar, X_unlabeled):
        self._rude(self.fit_code, X_similar=X_similar, X_unlabeled=X_unlabeled)
        return self

class Target(Rude):
    def fit(self, X, target):
        self._rude(self.fit_code, X=X, target=target)
        return self

class Clusters(Rude):
    def fit(self, X):
        self._rude(self.fit_code, X=X)
        self.labels_ = np.zeros(len(X), int)
        return self
"""

GRID = {"lam": [0.5, 1.0]}
LABELED = {"labeled": 30, "folds": 3}
SETTINGS = {
    "semi_supervised_auc": (
        *("Labels", {"positive": [1]}, LABELED),
        {
            "rff_s2auc": {"params": {"n_features": 10, "sigma": 1.0}, "grid": GRID},
            "samult": {"params": {"sigma": 1.0}, "grid": GRID},
            "pnu_auc": {"params": {"prior": "class_proportion", "sigma": 1.0}, "grid": GRID},
        },
    ),
    "semi_supervised_svm": (
        *("Labels", {"positive": [1]}, LABELED),
        {"supervised_svm": {"params": {"sigma": 1.0}, "grid": {"C": [1.0, 10.0]}}},
    ),
    "ordinal": (
        *("Labels", {"bins": 3}, LABELED),
        {"kernel_ridge": {"params": {"sigma": 1.0}, "grid": GRID}},
    ),
    "similar_unlabeled": (
        *("Pairs", {"positive": [1]}, {"pairs": 30, "folds": 3, "prior": 0.7}),
        {"su_sl": {"params": {"prior": "class_prior", "sigma": 1.0}, "grid": GRID}},
    ),
    "clustering": (
        *("Clusters", {"classes": True}, {"scale": "raw"}),
        {"kmeans": {"kind": "sklearn.cluster:KMeans", "grid": {"n_clusters": [2, 3]}}},
    ),
    "tests.experiment.own_task:RidgeTask": (
        *("Target", {"positive": [1]}, {}),
        {"ridge": {"kind": "tests.experiment.own_task:Ridge", "grid": GRID}},
    ),
}
"""By task: the rude class, the target, the protocol, and other solvers, with searches."""


@pytest.fixture
def run(toy, own_modules):
    """Run a setting's solvers after rude ones: the records of these by name, and the others'."""

    def run(kind, rude):
        own_modules("rude", RUDE)
        name, target, protocol, others = SETTINGS[kind]
        solvers = {
            key: {"kind": f"rude:{of or name}", "params": ways} for key, (of, ways) in rude.items()
        }
        if kind != "clustering":  # where a point with an error is one without a solution
            for solver in solvers.values():
                solver["grid"] = {"lam": [1.0, 2.0]}
        config = {
            "dataset": {"path": "toy.csv", "loader": "delimited", "target": target},
            "protocol": {"kind": kind, "trials": 1, **protocol},
            "solvers": solvers | others,
            "outputs": [],
        }
        if target == {"bins": 3}:
            config["dataset"]["label_column"] = 0
        path = toy.parent / "isolated.yaml"
        path.write_text(yaml.safe_dump(config))
        folder = toy.parent / ("rude" if rude else "alone") / "results"
        run_experiment(load_experiment(path), folder, Options(once=True))
        records = without_measurements(stored(folder))
        of_rude = {key: [r for r in records.values() if r["solver"] == key] for key in rude}
        return of_rude, {k: one for k, one in records.items() if one["solver"] not in rude}

    return run


CASES = {
    "semi_supervised_auc": {
        "fit": (
            *("y *= -1", "y.sort()", "y_unlabeled *= -1", "X[:] = 0"),
            *("X_unlabeled.index[:] = 0", "X_unlabeled.factor[:] = 0"),
        ),
        "decide": ("X.index.sort()",),
        "folds_too": ("folds[0][:] = 0", "y[:] = 1"),
    },
    "semi_supervised_svm": {"fit": ("y *= -1", "y_unlabeled[:] = 1"), "folds_too": ("y *= -1",)},
    "ordinal": {
        "fit": ("y[:] = 1", "X_unlabeled.offset[:] = 9"),
        "folds_too": ("folds[0][:] = 0",),
    },
    "similar_unlabeled": {
        "fit": ("X_similar[:] = 0", "X_unlabeled.index[:] = 0"),
        "folds_too": ("folds[0][0][:] = 0",),
    },
    "clustering": {"fit": ("X[:] = 0",)},
    "tests.experiment.own_task:RidgeTask": {
        "fit": ("target *= -1", "X[:] = 0"),
        "decide": ("X[:] = 0",),
    },
}
"""By task, what is written where."""


RESET = """
import locale, os, random, sys, warnings
np.seterr(all="raise")
np.set_printoptions(precision=1)
warnings.simplefilter("error")
os.environ["OMP_NUM_THREADS"] = "7"
os.chdir("/")
np.random.seed(0)
random.seed(0)
"""


@pytest.mark.parametrize("kind", CASES)
def test_a_write_is_the_error_of_the_solver_that_writes(run, kind, tmp_path):
    """And settings that one changes are restored before the next cell."""
    ways = [(place, code) for place, codes in CASES[kind].items() for code in codes]
    rude = {f"rude_{n}": ("", {place: code}) for n, (place, code) in enumerate(ways)}
    if kind == "similar_unlabeled":  # labels, for the upper bound on pairs
        rude["labels"] = ("Labeled", {"fit": "y *= -1"})
    if ":" not in kind:  # a task of the package, which minds no errors of NumPy's
        rude["reset"] = ("", {"fit": RESET})
    records, others = run(kind, rude)
    assert {one["status"] for one in records.pop("reset", [])} <= {"ok"}
    for name, of_rude in records.items():
        fits = {one["status"] for one in of_rude if one["kind"] == "fit"}
        assert fits == {"failed"}, rude[name]
        assert any("read-only" in one["message"] for one in of_rude), rude[name]
    assert np.geterr()["divide"] == "warn"
    assert os.environ.get("OMP_NUM_THREADS") != "7"
    assert Path.cwd() == tmp_path
    assert others == run(kind, {})[1]
    assert {one["status"] for one in others.values()} == {"ok"}


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_matrices_are_read_only_in_all_their_arrays(form):
    matrix = sparse.random_array((6, 4), density=0.5, format=form, rng=0)
    before = matrix.toarray()
    given = read_only(matrix)
    arrays = [part for value in vars(given).values() for part in _arrays(value)]
    assert len(arrays) >= 2
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    assert np.array_equal(given.toarray(), before)
    matrix.data[:] = 1  # whoever owns it still may


def _arrays(value):
    parts = value if isinstance(value, tuple) else (value,)
    return [part for part in parts if isinstance(part, np.ndarray)]


class Buffered:
    """Writes into arrays of its own, through methods of its own."""

    tasks: ClassVar = ()

    def fill(self, out):
        out[:] = 1

    def fit(self, X):
        own = np.zeros(3)
        self.fill(own)
        self.filled_ = own
        return self


def test_a_solver_may_write_into_arrays_of_its_own():
    model = guarded(Buffered)().fit(np.zeros((3, 2)))
    assert model.filled_.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        model.fill(np.zeros(2))


def test_copies_of_a_guarded_solver_are_of_its_class():
    model = guarded(Buffered)().fit(np.zeros((3, 2)))
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(copied) is Buffered
        assert copied.filled_.tolist() == [1, 1, 1]


def test_settings_that_a_module_changes_when_it_is_imported_are_not_those_of_the_run(
    toy, own_modules
):
    own_modules("rude", "import numpy as np\nnp.seterr(all='raise')\n" + RUDE)
    with rehearsing(None):
        solvers.get("rude:Labels")
    assert np.geterr()["divide"] == "warn"


DRAWING = """
import random
import numpy as np
from dsgkit.solvers.base import PairwiseAUCEstimator

class Drawing(PairwiseAUCEstimator):
    def __init__(self, lam=1.0): self.lam = lam
    def fit(self, X, y, X_unlabeled):
        self.coef_ = np.random.rand(X.shape[1]) - random.random()
        return self
    def decision_function(self, X): return X[:] @ self.coef_
"""


def test_numbers_drawn_from_the_process_are_the_same_whatever_ran_before(toy, own_modules):
    own_modules("drawing", DRAWING)
    change_toy(toy, solvers={"drawing": {"kind": "drawing:Drawing"}}, outputs=["auc_table"])
    scores = []
    for sizes in ("[40, all]", "[50, all]"):
        folder = toy.parent / sizes / "results"
        run_experiment(
            load_experiment(toy, overrides=[f"sweep.unlabeled={sizes}"]), folder, Options(once=True)
        )
        of_all = [one for one in stored(folder) if one["at"]["unlabeled"] == 120]
        scores.append({one["trial"]: one["scores"]["auc"] for one in of_all})
        np.random.seed(1)  # noqa: NPY002  as another cell might
    assert scores[0] == scores[1]
    assert scores[0][0] != scores[0][1]
