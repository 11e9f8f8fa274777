"""Learning a ranking from labelled and unlabelled rows.

Hyper-parameters are searched by cross-validation on the labelled rows, each fold with all
unlabelled ones (Shi et al., IJCAI 2019). Models are judged by AUC.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dsgkit.tasks.convergence import DISTANCE, Convergence
from dsgkit.tasks.measures import Measure
from dsgkit.tasks.metrics import auc, average_precision
from dsgkit.tasks.semi_supervised import TEST_ROWS, UNLABELED_ROWS

_JUDGES: Any = {"where": UNLABELED_ROWS, "better": "higher"}

AUC = Measure.of("auc", "AUC", "AUC", **_JUDGES)
PRECISION = Measure.of(
    "average_precision", "Average precision", "average precision", output="precision", **_JUDGES
).but(optional=True)


class SemiSupervisedAUC(Convergence):
    """The learning setting."""

    kind = "semi_supervised_auc"
    measures = (
        AUC,
        AUC.on(TEST_ROWS, "test"),
        PRECISION,
        PRECISION.on(TEST_ROWS, "test"),
        DISTANCE,
    )
    chooses = AUC.name
    outputs = ("auc_table", "time_table", "auc_curve", "auc_boxplot", "time_curve")

    def fold_score(self, y: Any, values: Any) -> float | None:
        """Return the AUC of a fold; None if it holds only one class."""
        return ranking_scores(y, values)[AUC.name]

    def score(self, y: Any, predictions: Any) -> dict[str, float | None]:
        """Return the measures of the ranking."""
        return ranking_scores(y, predictions)


def ranking_scores(y: Any, values: Any) -> dict[str, float | None]:
    """Return the measures of a ranking by name; None if the rows hold only one class."""
    both = len(np.unique(y)) == 2
    return {
        AUC.name: auc(y, values) if both else None,
        PRECISION.name: average_precision(y, values) if both else None,
    }
