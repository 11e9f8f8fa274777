"""All numbers and texts of small trials of every task, with models of a line or two.

``DSGKIT_RECORD_GOLDEN=1`` records them again: only for a change that is meant.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import DBSCAN

from dsgkit.bases import OrdinalEstimator, SimilarUnlabeledEstimator
from dsgkit.costs import Cost
from dsgkit.data.targets import Target
from dsgkit.experiment.timing import Clock
from dsgkit.system.progress import listening
from dsgkit.tasks import clustering, svm
from dsgkit.tasks.base import TASKS, get
from dsgkit.tasks.measures import STANDARD, outputs_of
from tests.data.conftest import make_dataset

RECORD = Path(__file__).with_name("record.json")


class Model(BaseEstimator):
    """Its slope depends on the labels, its cut on the unlabelled rows."""

    def __init__(self, shift=0.0, n_iterations=None):
        self.shift = shift
        self.n_iterations = n_iterations

    def settled(self, **counts):
        return type(self)(self.shift, sum(counts.values()))

    def fit(self, X, y, X_unlabeled):
        self.slope_ = np.mean(y * X[:][:, 1]) + (self.n_iterations or 0) / 1000
        self.cut_ = np.mean(X_unlabeled[:][:, 0]) + self.shift
        return self

    def decision_function(self, X):
        values = X[:][:, 0] + self.slope_ * X[:][:, 1].astype(float) - self.cut_
        return values if self.shift < 9 else np.full(len(values), np.nan)

    def fit_points(self, points, *, folds=None, **given):
        models = [type(self)(**self.get_params() | point) for point in points]
        if folds is None:
            fitted = [model.fit(**given) for model in models]
            return SimpleNamespace(
                decision_function=lambda X: np.column_stack(
                    [m.decision_function(X) for m in fitted]
                )
            )
        X, y = given.pop("X")[:], given.pop("y")
        values = np.empty((len(models), len(y)))
        for row, model in zip(values, models, strict=True):
            for fold in folds:
                kept = np.setdiff1d(np.arange(len(y)), fold)
                row[fold] = model.fit(X[kept], y[kept], **given).decision_function(X[fold])
        return values

    def cost(self, n_inputs, *, n_models=1, **counts):
        n = sum(k * count for k, count in enumerate(sorted(counts.values()), 2))
        return Cost(float(n * n_models), 8 * n + n_models, 2.0)


def cost_of_sizes(self, n, n_models=1):
    counts = (
        (n.labeled, n.unlabeled, n.sources - 1) if n.sources > 1 else (n.labeled // 2, n.unlabeled)
    )
    return Model.cost(
        self, n.inputs, n_models=n_models, **{f"n_{k}": c for k, c in enumerate(counts)}
    )


class Informed(Model):
    """It is given hidden labels."""

    def fit(self, X, y, X_unlabeled, y_unlabeled):
        return super().fit(X_unlabeled, y_unlabeled, X)


class WithLabels(Model):
    """Like a classifier of scikit-learn, it takes labelled rows alone."""

    def fit(self, X, y):
        return super().fit(X, y, X)


class Ranker(OrdinalEstimator):
    """The first feature and some of the second; or more of it with every cut."""

    per_cut = property(lambda self: self.every)

    def __init__(self, tilt=0.1, every=False, thresholds="logistic"):
        self.tilt = tilt
        self.every = every
        self.thresholds = thresholds

    def _fit(self, X, codes, X_unlabeled):
        self.coef_ = self.tilt

    def _values(self, X):
        first, second = X[:].astype(np.float64).T
        if not self.every:
            return np.full(len(first), np.nan) if self.tilt < 0 else first + self.tilt * second
        return first[:, None] + self.tilt * np.arange(len(self.classes_) - 1) * second[:, None]

    cost = cost_of_sizes


class OfPairs(SimilarUnlabeledEstimator):
    """The first feature less a threshold."""

    cost = cost_of_sizes

    def __init__(self, threshold=0.5, prior=0.6, n_iterations=50):
        self.threshold = threshold
        self.prior = prior
        self.n_iterations = n_iterations

    def _check_params(self):
        pass

    def _fit(self, S, X_unlabeled):
        self.threshold_ = self.threshold

    def _values(self, X):
        first = X[:][:, 0].astype(np.float64)
        return np.full(len(first), np.nan) if self.threshold < 0 else first - self.threshold


class Watched(OfPairs):
    """Its threshold grows along training."""

    def fit_observed(self, X_similar, X_unlabeled, *, at, observe):
        for t in at:
            share = self.threshold * t / self.n_iterations
            observe(t, t / 10, OfPairs(share).fit(X_similar, X_unlabeled))
        return self.fit(X_similar, X_unlabeled)


class Parts(BaseEstimator):
    """Cuts the first feature into parts of equal size."""

    def __init__(self, parts=3):
        self.parts = parts

    def fit(self, X, y=None):
        self.labels_ = X[:, 0].argsort().argsort() * self.parts // len(X)
        return self


class Domain(Parts):
    """In two phases, with a function in the plane."""

    def fit_domain(self, X):
        self.inside_, self.mass_, self.n_iter_, self.n_removals_ = 0.75, 2.5, 30, 4
        self.n_boundary_, self.mode_seeking_only_ = 5, False
        return self

    def fit_clusters(self, X):
        self.equilibria_, self.equilibrium_labels_ = X[:6] / 2, np.arange(6) % 3
        return super().fit(X)

    def fit(self, X, y=None):
        return self.fit_domain(X).fit_clusters(X)

    def decision_function(self, X):
        return X[:, 0] - 2 * X[:, 1] ** 2

    def cost(self, n_inputs, *, n_rows):
        return Cost(float(n_rows * n_inputs), 8 * n_rows)


def trial_of(kind, seed=3, swept=0, classes=2, d=2, n=90, **settings):
    """Return a trial on rows of which the last ones may have no label."""
    rng = np.random.default_rng(1)
    X = rng.random((n + 20, d)) * [1, 4, *[1] * (d - 2)]
    score = X[:, 0] + 0.2 * rng.normal(size=n + 20)
    y = 1 + np.digitize(score, {1: [], 2: [0.4], 5: [0.15, 0.5, 0.6, 0.9]}[classes])
    y = np.where(y > 1, 1, -1) if classes == 2 else y
    tested = (X[n:].astype(np.float32), y[n:]) if settings.pop("tested", False) else (None, None)
    known = n - settings.pop("missing", 0)
    target = {"ordinal": "ordered", "clustering": "classes"}.get(kind, "binary")
    pairs = rng.permutation(n)[:40].reshape(20, 2) if settings.pop("given", False) else None
    dataset = make_dataset(X[:n], y[:known], *tested)
    dataset = replace(dataset, target=Target(target), similar_pairs=pairs)
    task = get(kind)
    spec = task.Spec(kind=kind, **settings)
    return task(dataset, spec.swept_to(task.axes[1], swept) if swept else spec, seed)


AUC, SVM = "semi_supervised_auc", "semi_supervised_svm"
SU, ORDINAL, CLUSTERING = "similar_unlabeled", "ordinal", "clustering"
SEMI = {"labeled": 24, "folds": 3}
SHARES, BY_LABELS = {"threshold": "labeled_share"}, {"select": "labeled_rows"}
TWICE = {"repeats": 2, "tested": True}
FIVE = {"classes": 5, "labeled": 30, "folds": 3}
FEW = {"classes": 5, "labeled": 10, "folds": 2, "seed": 26}  # none of two classes
SOME = {"pairs": 12, "folds": 3, "n": 300}
BY_PRIOR = {"prior": 0.3, "select": "squared", "scale": "common", "missing": 20}
BY_SHAPE = {"classes": 5, "select": "davies_bouldin", "scale": (0, 2)}
SHIFTS = [{"shift": 0.0}, {"shift": 0.2}, {"shift": 9.0}]
TILTS = [{"tilt": 0.0}, {"tilt": 0.3}, {"tilt": -1.0}]
CUTS = [{"threshold": 0.3, "prior": p} for p in (0.6, 0.8)] + [{"threshold": -1.0, "prior": 0.6}]
PARTS = [{"parts": k} for k in (1, 2, 3, 60)]
CASES = {
    "auc": (AUC, {**SEMI, "tested": True, "missing": 20, "unlabeled": 30}, Model(), SHIFTS, {}),
    "auc swept": (AUC, {**SEMI, "swept": 24, "scale": (-1, 2)}, Model(), SHIFTS, {"labeled": 9}),
    "informed": (AUC, {**SEMI, "missing": 20}, Informed(), SHIFTS, {"unlabeled": 40}),
    "hidden": (SVM, {**SEMI, "tested": True, "missing": 20}, Model(), SHIFTS, {}),
    "shares": (SVM, SEMI | SHARES | {"missing": 20}, Informed(0.3), SHIFTS, {"unlabeled": 50}),
    "labelled": (SVM, SEMI | SHARES | BY_LABELS | TWICE, Model(0.3), SHIFTS, {"unlabeled": 40}),
    "labelled, 0": (SVM, SEMI | BY_LABELS, Model(), SHIFTS, {}),
    "hardly labelled": (SVM, SEMI | SHARES | {"missing": 64}, Model(), SHIFTS, {"unlabeled": 6}),
    "one ranking": (ORDINAL, {**FIVE, "tested": True}, Ranker(), TILTS, {}),
    "per cut": (ORDINAL, {**FIVE, "missing": 20}, Ranker(0.1, every=True), TILTS, {}),
    "few labels": (ORDINAL, FEW, Ranker(0.1, every=True), TILTS, {}),
    "common scale": (ORDINAL, {**FIVE, "scale": "common", "n": 50}, Ranker(), TILTS, {}),
    "pairs": (SU, SOME, OfPairs(0.4), CUTS, {}),
    "watched": (SU, {**SOME, "missing": 20}, Watched(0.6), CUTS, {"unlabeled": 40}),
    "prior": (SU, SOME | BY_PRIOR, OfPairs(0.5), CUTS, {}),
    "given pairs": (SU, {**SOME, "given": True, "pairs": 15}, OfPairs(), CUTS, {}),
    "with labels": (SU, {**SOME, "missing": 20, "test": 9}, WithLabels(), SHIFTS, {}),
    "clusters": (CLUSTERING, {"classes": 5, "scale": "raw"}, Parts(), PARTS, {}),
    "by shape": (CLUSTERING, BY_SHAPE, Parts(2), PARTS, {"rows": 70}),
    "no classes": (CLUSTERING, {**BY_SHAPE, "classes": 1}, Parts(), PARTS, {}),
    "noise": (CLUSTERING, {"classes": 5, "d": 5, "missing": 20}, DBSCAN(1.3), [{"eps": 1.6}], {}),
    "domain": (CLUSTERING, {"classes": 5}, Domain(), PARTS, {}),
    "many rows": (CLUSTERING, {"classes": 5, "n": 141}, Parts(), PARTS, {}),
}


def digest(value):
    """Return an array's shape, and its sum weighted by position."""
    array = np.asarray(value[:] if hasattr(value, "index") else value, np.float64)
    return [*array.shape, short(array.ravel() @ np.arange(1, array.size + 1))]


def short(number):
    return None if number is None else float(f"{number:.5g}")


def facts(trial, model, points, at):
    """Return what a trial draws and gives, what its search and its fit come to, and its texts."""
    clock, seen, spec = Clock(), [], trial.spec
    found = {
        "texts": [spec.setting, spec.protocol, spec.selection, spec.oracle, spec.chooses],
        "sizes": trial.sizes,
        "counts": trial.counts(at),
        "values": {name: np.round(value, 5).tolist() for name, value in trial.values.items()},
        "given": {name: digest(array) for name, array in trial.given(model, at).items()},
        "training": {name: digest(array) for name, array in trial.training(at).items()},
    }
    if hasattr(trial, "split"):
        drawn = {k: v for k, v in trial.split._asdict().items() if v is not None}
        found["drawn"] = {k: np.asarray(getattr(v, "index", v)).tolist() for k, v in drawn.items()}
        found["scaled"] = {k: digest(v) for k, v in drawn.items() if k.startswith("X")}
    found["search"] = [list(map(short, row)) for row in trial.search(model, at, points)]
    found["work"] = [vars(trial.search_work(model, at, 4)), vars(trial.fit_work(model, at))]
    trial.fit(model, at, clock)
    with listening(seen.append):
        judged = trial.judge(model, at, clock)
    found["scores"] = {name: short(score) for name, score in judged.scores.items()}
    found["trace"] = [{name: short(x) for name, x in step.items()} for step in judged.trace]
    found["picture"] = {name: digest(array) for name, array in judged.artefact.items()}
    return found | {"progress": list(map(short, seen)), "phases": list(clock.wall)}


def declared(kind):
    """Return a task's default settings, its words of measures, and the outputs that it can have."""
    defaults = get(kind).Spec(kind=kind).model_dump(mode="json")
    measures = (*get(kind).measures, *STANDARD)
    said = [[m.name, m.caption, m.heading, m.axis_label, m.output, m.file] for m in measures]
    outputs = [outputs_of(measures, swept=swept) for swept in (True, False)]
    return {"defaults": defaults, "measures": said, "outputs": outputs}


@pytest.mark.filterwarnings("ignore:prior .* is so close:dsgkit.errors.DsgWarning")
@pytest.mark.parametrize("name", [*CASES, *TASKS])
def test_a_small_trial_and_what_a_task_declares_are_as_recorded(name, monkeypatch):
    monkeypatch.setattr(clustering, "MAX_EXACT_ROWS", 140)
    monkeypatch.setattr(clustering, "MAX_PICTURE_POINTS", 60)
    monkeypatch.setattr(svm, "THRESHOLD_ROWS", 25)
    monkeypatch.setattr(svm, "_BLOCK_ROWS", 8)
    if name in TASKS:
        found = declared(name)
    else:
        kind, settings, model, points, at = CASES[name]
        trial = trial_of(kind, **settings)
        found = json.loads(json.dumps(facts(trial, model, points, {**trial.sizes, **at})))
    recorded = json.loads(RECORD.read_text())
    if os.environ.get("DSGKIT_RECORD_GOLDEN"):
        recorded[name] = found
        kept = [key for key in [*CASES, *TASKS] if key in recorded]
        lines = (f"{json.dumps(key)}: {json.dumps(recorded[key])}" for key in kept)
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert found == recorded[name]
