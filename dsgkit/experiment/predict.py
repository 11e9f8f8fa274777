"""Predictions for new rows: a solver of a run, trained on all rows of its dataset."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dsgkit.config.schema import Experiment, load_experiment
from dsgkit.data.dataset import Dataset, load_dataset, resolve
from dsgkit.data.new_rows import read_new_rows
from dsgkit.data.rows import Rows
from dsgkit.data.targets import label_text
from dsgkit.errors import ResultsError, nearest_or_all, spelled
from dsgkit.experiment.plan import best_point, choosing_measure, make_trial, solver_info
from dsgkit.experiment.results import Results, load_results
from dsgkit.experiment.timing import Clock
from dsgkit.random.seeds import derive_seed
from dsgkit.tasks.base import named_by_fit, scaling_of

_MOST_NAMED = 3
"""Labels of a class that its name lists."""


class Predictor:
    """A solver of a run, fitted to all rows of the run's dataset.

    Rows with a label are its labelled rows, and all others its unlabelled ones; if all rows have a
    label, they are the unlabelled rows, too. Similar pairs are those of the first trial.

    Parameters
    ----------
    folder : Path
        A results folder.
    solver : str, optional
        Its key in the config. By default the one with the best mean validation score of those that
        are given nothing that no user has.

    Attributes
    ----------
    solver : str
    score : float or None
        Its mean validation score over the trials; None if it was not searched.
    params : dict
        The hyper-parameters with that score.
    scaling : tuple of ndarray
        Offset and factor of every column.

    Raises
    ------
    DsgError
        If there is no such solver, none was searched, or the data or the fit fail.
    """

    def __init__(self, folder: Path, solver: str | None = None) -> None:
        results = load_results(folder)
        self.experiment: Experiment = load_experiment(folder / "config.yaml")
        self.solver, self.params, self.score = _chosen(results, self.experiment, solver)
        self.dataset: Dataset = load_dataset(self.experiment.dataset)
        if self.dataset.content_hash != results.data.get("content_hash"):
            raise ResultsError(f"dataset {self.dataset.name}: its rows are not those of the run")
        self._trial = make_trial(self.experiment, self.dataset, 0)
        protocol: Any = self.experiment.protocol  # of a task with a scaling
        self.scaling = scaling_of(self.dataset, protocol.scale)

    @property
    def model(self) -> Any:
        """The estimator, fitted on first use."""
        return self._fitted[0]

    @cached_property
    def _fitted(self) -> tuple[Any, Mapping[str, Any]]:
        """The fitted estimator and the arrays that it was fitted to."""
        info = solver_info(self.experiment, self.solver)
        words = self._trial.values
        params = {**self.experiment.solvers[self.solver].params, **self.params}
        params = {k: words.get(v, v) if isinstance(v, str) else v for k, v in params.items()}
        if "random_state" in info.params and "random_state" not in params:
            params["random_state"] = info.seed(derive_seed(self.experiment.seed, "solver", 0))
        model = info.load()(**params)
        if self.experiment.protocol.kind == "similar_unlabeled":
            self._trial.fit(model, self._trial.sizes, Clock())  # which knows the prior
            return model, {}
        y = self.dataset.y
        labeled, others = np.arange(len(y)), self.dataset.unlabeled_rows
        if not len(others):
            others = np.arange(len(y))
        arrays = {
            "X": Rows(self.dataset.X, labeled, *self.scaling)[:],
            "y": y[labeled],
            "X_unlabeled": Rows(self.dataset.X, others, *self.scaling),
        }
        if self.experiment.protocol.kind == "clustering":
            arrays = {"X": Rows(self.dataset.X, None, *self.scaling)[:]}
        given = named_by_fit(model, arrays)
        model.fit(**given)
        if hasattr(model, "fit_thresholds"):
            model.fit_thresholds(**given)
        return model, arrays

    def __str__(self) -> str:
        values = "".join(f", {name} {spelled(value)}" for name, value in self.params.items())
        score = "" if self.score is None else f" (mean validation score {self.score:.4g})"
        return f"{self.solver}{values}{score}"

    def read(self, path: Path) -> NDArray[Any]:
        """Return the rows of a file with the columns of the dataset, for `predict`."""
        info, dataset = resolve(self.experiment.dataset), self.dataset
        return read_new_rows(info, path, dataset.n_features, dataset.offsets)

    def predict(self, X: NDArray[Any]) -> pd.DataFrame:
        """Return the number of every row from 0, and its score, class or cluster.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Rows in the units of the dataset.
        """
        kind, model = self.experiment.protocol.kind, self.model
        rows = Rows(X, None, *self.scaling)[:]
        columns: dict[str, Any] = {"row": np.arange(len(rows))}
        if kind == "clustering":
            if not hasattr(model, "predict"):
                raise ResultsError(f"{self.solver} clusters only the rows it is fitted to")
            return pd.DataFrame(columns | {"cluster": model.predict(rows)})
        values = np.asarray(model.decision_function(rows))
        if values.ndim == 1:
            columns["score"] = values
        else:
            columns |= {f"score_{k}": column for k, column in enumerate(values.T, 1)}
        if kind != "semi_supervised_auc":  # a ranking has no threshold
            names = self._names()
            columns["class"] = [names[y] for y in self._classes(rows, values)]
        return pd.DataFrame(columns)

    def _classes(self, rows: NDArray[Any], values: NDArray[Any]) -> list[int]:
        """Return the classes as the dataset's target has them."""
        if self.experiment.protocol.kind == "ordinal":
            return [int(y) for y in self.model.predict(rows)]
        cut = None
        if getattr(self.experiment.protocol, "threshold", "zero") == "labeled_share":
            from dsgkit.tasks.svm import share_cut

            model, arrays = self._fitted
            at_training = model.decision_function(arrays["X_unlabeled"])
            cut = share_cut(at_training, arrays["y"])
        return [1 if v else -1 for v in (values >= 0 if cut is None else values > cut)]

    def _names(self) -> dict[int, str]:
        """Return the name of every class: its labels in the file."""
        y, labels = self.dataset.y, self.dataset.labels
        found = {int(c): np.unique(labels[y == c]) for c in np.unique(y)}
        return {c: _name(of, self.dataset.target.bins is not None) for c, of in found.items()}


def _name(labels: NDArray[Any], is_range: bool) -> str:
    texts = [label_text(label) for label in labels.tolist()]
    if is_range and len(texts) > 1:
        return f"{texts[0]} to {texts[-1]}"
    more = " or others" if len(texts) > _MOST_NAMED else ""
    return " or ".join(texts[:_MOST_NAMED]) + more


def _chosen(
    results: Results, experiment: Experiment, solver: str | None
) -> tuple[str, dict[str, Any], float | None]:
    """Return a solver, its best hyper-parameters and their score."""
    if solver is not None and solver not in results.solvers:
        hint = nearest_or_all(solver, results.solvers)
        raise ResultsError(f"{results.folder}: no solver is called {spelled(solver)}{hint}")
    better = choosing_measure(experiment).better
    candidates = [solver] if solver is not None else _of_users(results)
    found = {key: _best(results, experiment, key, better) for key in candidates}
    scored = {key: score for key, (_, score) in found.items() if score is not None}
    if scored:
        best = (max if better == "higher" else min)(scored, key=lambda key: scored[key])
    elif len(found) == 1:
        (best,) = found
    else:
        known = ", ".join(results.solvers)
        raise ResultsError(f"{results.folder}: no search has a score; --solver names one: {known}")
    return best, *found[best]


def _of_users(results: Results) -> list[str]:
    """Return the solvers that are given nothing that no user has."""
    facts = results.task.solvers
    return [key for key in results.solvers if key not in facts or not facts[key].told]


def _best(
    results: Results, experiment: Experiment, solver: str, better: str | None
) -> tuple[dict[str, Any], float | None]:
    """Return a solver's point with the best mean score over the trials, and the score.

    Scores are those of the searches at the largest size that has been searched. Points that only
    some trials tried, as later stages of a search do, count if no point was tried in more.
    """
    searches = [r for r in results.records if (r["kind"], r["solver"]) == ("search", solver)]
    if not searches:  # there is nothing to choose
        stages = experiment.solvers[solver].search
        return {name: values[0] for one in stages for name, values in one.choices.items()}, None
    axis = results.task.axis
    sizes = [record["at"][axis.name] if axis else 0 for record in searches]
    scores: dict[str, list[float | None]] = {}
    points: dict[str, dict[str, Any]] = {}
    for record, size in zip(searches, sizes, strict=True):
        if record["status"] == "ok" and size == max(sizes):
            for point, folds in zip(record["points"], record["fold_scores"], strict=True):
                whole = {**(record.get("params") or {}), **point}
                name = repr(sorted(whole.items()))
                points[name] = whole
                scores.setdefault(name, []).extend(folds)
    if not points:
        raise ResultsError(f"{results.folder}: no search of {solver} has a result")
    names = max(len(point) for point in points.values())  # the last stage has all parameters
    known = {name for name, point in points.items() if len(point) == names}
    most = max(len(scores[name]) for name in known)
    kept = [name for name in points if name in known and len(scores[name]) == most]
    smoother = solver_info(experiment, solver).smoother
    best = best_point(
        [points[name] for name in kept],
        [scores[name] for name in kept],
        better=better,
        smoother=smoother,
    )
    if best is None:
        raise ResultsError(f"{results.folder}: no point of {solver} has a solution on every fold")
    return dict(best[0]), best[1]
