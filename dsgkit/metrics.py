"""Scorers for scikit-learn's model selection on labels that mark unlabelled rows.

::

    from dsgkit.metrics import labeled_scorer

    GridSearchCV(QSGS2AUC(), {"lam": [0.01, 1]}, scoring=labeled_scorer("roc_auc")).fit(X, y)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import _safe_indexing

from dsgkit.errors import DataError, did_you_mean, shown
from dsgkit.estimators.inputs import marked


@dataclass(frozen=True)
class LabeledScorer:
    """A scorer that scores the labelled rows alone; see `labeled_scorer`."""

    scoring: Any

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, **params: Any
    ) -> Any:
        score, labels = check_scoring(estimator, self.scoring), np.asarray(y)
        known = np.ones(len(labels), bool)
        for name, label in estimator.get_params().items():  # also of a pipeline's last step
            if name.rpartition("__")[2] == "unlabeled_label":
                known &= ~marked(labels, label)
        rows = np.flatnonzero(known)
        if not len(rows):
            raise DataError("there is no labelled row to score")
        if sample_weight is not None:
            params["sample_weight"] = np.asarray(sample_weight)[rows]
        return score(estimator, _safe_indexing(X, rows), labels[rows], **params)


def labeled_scorer(scoring: Any = None) -> LabeledScorer:
    """Return a scorer that leaves out the rows whose label is the estimator's ``unlabeled_label``.

    For ``GridSearchCV`` or ``cross_val_score`` on rows of which some are unlabelled. Other scorers
    count the label of these, -1 by default, as one more class: "roc_auc" is NaN.

    Parameters
    ----------
    scoring : str, callable, list, dict or None
        As for ``GridSearchCV``: for example "roc_auc", or what ``make_scorer`` returns; None is the
        ``score`` of the estimator.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``. The estimator may be a pipeline.

    Raises
    ------
    DataError
        If there is no scorer of this name.
    """
    if isinstance(scoring, str) and scoring not in (names := get_scorer_names()):
        raise DataError(
            f"unknown scorer {shown(scoring)}{did_you_mean(scoring, names)}; "
            "sklearn.metrics.get_scorer_names() lists all"
        )
    return LabeledScorer(scoring)
