"""Predictions for new rows: a solver of a run, trained on all rows of its dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dsgkit.config.schema import Experiment, load_experiment
from dsgkit.data.dataset import Rows
from dsgkit.data.spec import resolve
from dsgkit.data.tables import read_new_rows
from dsgkit.data.targets import label_text
from dsgkit.errors import ResultsError, nearest_or_all, spelled
from dsgkit.experiment.cell import make_estimator
from dsgkit.experiment.folder import CONFIG
from dsgkit.experiment.plan import best_point, choosing_measure, make_trial
from dsgkit.experiment.runs import Run, dataset_of, load
from dsgkit.experiment.store import Record
from dsgkit.experiment.timing import Clock
from dsgkit.tasks.base import TASKS, function_of, named_by_fit, scaling_of
from dsgkit.tasks.svm import is_positive, share_cut


class Predictor:
    """A solver of a run, fitted to all rows of the run's dataset.

    Rows with a label are its labelled rows, and all others its unlabelled ones; if all rows have a
    label, they are the unlabelled rows, too. Similar pairs are those of the first trial. By default
    the solver is the one with the best mean validation ``score`` over the trials of those that are
    given nothing that no user has; ``params`` are the hyper-parameters with that score.
    """

    def __init__(self, folder: Path, solver: str | None = None) -> None:
        (run,) = load(folder)
        self.experiment = load_experiment(folder / CONFIG)
        task, self._protocol = self.experiment.task, self.experiment.protocol
        kinds = (vars(one).get("kind") for one in task.__mro__)
        self._kind = next((kind for kind in kinds if kind in TASKS), "")  # or that it derives from
        if not self._kind and task.target != "binary":
            raise ResultsError(f"{folder}: its task, {task.kind}, has no predictions of new rows")
        self.solver, self.params, self.score = _chosen(run, self.experiment, solver)
        self.dataset = dataset_of(run)
        self._scaling = scaling_of(self.dataset, getattr(self._protocol, "scale", "raw"))

    def __str__(self) -> str:
        values = "".join(f", {name} {spelled(value)}" for name, value in self.params.items())
        score = "" if self.score is None else f" (mean validation score {self.score:.4g})"
        return f"{self.solver}{values}{score}"

    def read(self, path: Path) -> NDArray[Any]:
        """Return the rows of a file with the columns of the dataset, for `predict`."""
        info, dataset = resolve(self.experiment.dataset), self.dataset
        return read_new_rows(info, path, dataset.n_features, dataset.offsets)

    def predict(self, X: NDArray[Any]) -> pd.DataFrame:
        """Return the number of every row from 0, and its score, class or cluster."""
        kind, rows = self._kind, Rows(X, None, *self._scaling)[:]
        model, cut = self._fitted()
        columns: dict[str, Any] = {"row": np.arange(len(rows))}
        if kind == "clustering":
            if not hasattr(model, "predict"):
                raise ResultsError(f"{self.solver} clusters only the rows it is fitted to")
            return pd.DataFrame(columns | {"cluster": model.predict(rows)})
        values = np.asarray(function_of(model)(rows))
        if values.ndim == 1:
            columns["score"] = values
        else:
            columns |= {f"score_{k}": column for k, column in enumerate(values.T, 1)}
        if kind == "ordinal":
            columns["class"] = self._named(model.predict(rows))
        elif kind != "semi_supervised_auc":  # a ranking has no threshold
            columns["class"] = self._named(np.where(is_positive(values, cut), 1, -1))
        return pd.DataFrame(columns)

    def _fitted(self) -> tuple[Any, float | None]:
        """Return the fitted estimator, and the threshold of its values; None for 0."""
        experiment, dataset, kind = self.experiment, self.dataset, self._kind
        trial = make_trial(experiment, dataset, 0)
        model = make_estimator(experiment, self.solver, trial, 0, self.params)
        if kind == "similar_unlabeled":
            trial.fit(model, trial.sizes, Clock())  # which knows the prior
            return model, None
        y, others = dataset.y, dataset.unlabeled_rows
        labeled = None if kind == "clustering" else np.arange(len(y))
        arrays: dict[str, Any] = {"X": Rows(dataset.X, labeled, *self._scaling)[:]}
        if kind != "clustering":
            unlabeled = others if len(others) else labeled
            arrays |= {"y": y, "X_unlabeled": Rows(dataset.X, unlabeled, *self._scaling)}
        given = named_by_fit(model, arrays)
        model.fit(**given)
        if hasattr(model, "fit_thresholds"):
            model.fit_thresholds(**given)
        if getattr(self._protocol, "threshold", "zero") == "zero":
            return model, None
        return model, share_cut(model.decision_function(arrays["X_unlabeled"]), y)

    def _named(self, classes: NDArray[Any]) -> list[str]:
        """Return classes by their labels in the file: all up to three, or the ends of a range."""
        names = {}
        for y in np.unique(self.dataset.y).tolist():
            labels = np.unique(self.dataset.labels[self.dataset.y == y]).tolist()
            texts = [label_text(label) for label in labels]
            names[y] = " or ".join(texts) if len(texts) <= 3 else f"{texts[0]} to {texts[-1]}"
        return [names[y] for y in classes.tolist()]


def _chosen(
    run: Run, experiment: Experiment, solver: str | None
) -> tuple[str, dict[str, Any], float | None]:
    if solver is not None and solver not in run.names:
        hint = nearest_or_all(solver, run.names)
        raise ResultsError(f"{run.folder}: no solver is called {spelled(solver)}{hint}")
    facts = run.task.solvers
    # those that are given nothing that no user has
    usable = [key for key in run.names if key not in facts or not facts[key].told]
    wanted = usable if solver is None else [solver]
    searches = [record for cell, record in run.recorded if cell.kind == "search"]
    found = [(key, *_best(searches, experiment, key)) for key in wanted]
    scored = [one for one in found if one[2] is not None]
    if not scored and len(found) != 1:
        known = ", ".join(run.names)
        raise ResultsError(f"{run.folder}: no search has a score; --solver names one: {known}")
    best = max if choosing_measure(experiment).better == "higher" else min
    return best(scored, key=lambda one: one[2] or 0.0) if scored else found[0]


def _best(
    searches: Sequence[Record], experiment: Experiment, solver: str
) -> tuple[dict[str, Any], float | None]:
    """Return a solver's point with the best mean score over the trials, and the score."""
    searches = [record for record in searches if record["solver"] == solver]
    if not searches:  # there is nothing to choose
        stages = experiment.solvers[solver].search
        return {name: values[0] for one in stages for name, values in one.choices.items()}, None
    # of the searches at the largest size that has been searched
    largest = max(tuple(record["at"].values()) for record in searches)
    points: dict[str, dict[str, Any]] = {}
    scores: dict[str, list[float | None]] = {}
    for record in searches:
        if record["status"] == "ok" and tuple(record["at"].values()) == largest:
            for point, folds in zip(record["points"], record["fold_scores"], strict=True):
                whole = {**(record.get("params") or {}), **point}
                name = repr(sorted(whole.items()))
                points[name] = whole
                scores.setdefault(name, []).extend(folds)
    # the last stage's points have all parameters; those that few trials tried do not count
    ranks = {name: (len(points[name]), len(folds)) for name, folds in scores.items()}
    kept = [name for name, rank in ranks.items() if rank == max(ranks.values())]
    best = best_point(
        experiment, solver, [points[name] for name in kept], [scores[name] for name in kept]
    )
    if best is None:
        raise ResultsError(f"no search of {solver} has a point with a solution")
    return best[0], best[1]
