"""Base classes of user-defined solvers.

Each has what the runner calls in addition to the methods that its subclasses write:

============================ ================================= ====================================
base                         task                              a subclass writes
============================ ================================= ====================================
`PairwiseAUCEstimator`       ``semi_supervised_auc``           ``fit`` and ``decision_function``
`SemiSupervisedClassifier`   ``semi_supervised_svm``           ``fit`` and ``decision_function``
`OrdinalEstimator`           ``ordinal``                       ``_fit`` and ``_values``
`SimilarUnlabeledEstimator`  ``similar_unlabeled``             ``_fit`` and ``_values``
`LabeledEstimator`           its ``tasks`` say                 ``fit`` and ``decision_function``
`ClusteringEstimator`        ``clustering``                    the methods that its docstring lists
`Estimator`                  its ``tasks`` say                 ``fit`` and ``decision_function``
============================ ================================= ====================================

A user-defined learning setting is one class, too: derived from `dsgkit.tasks.base.Task`, or from
`dsgkit.tasks.semi_supervised.SemiSupervised`, which draws labelled and unlabelled rows.
"""

from dsgkit.clustering.estimators import ClusteringEstimator
from dsgkit.estimators.auc import PairwiseAUCEstimator
from dsgkit.estimators.base import Estimator, LabeledEstimator, SemiSupervisedEstimator
from dsgkit.estimators.ordinal import OrdinalEstimator
from dsgkit.estimators.s3vm import SemiSupervisedClassifier
from dsgkit.estimators.similar import SimilarUnlabeledEstimator

__all__ = [
    "ClusteringEstimator",
    "Estimator",
    "LabeledEstimator",
    "OrdinalEstimator",
    "PairwiseAUCEstimator",
    "SemiSupervisedClassifier",
    "SemiSupervisedEstimator",
    "SimilarUnlabeledEstimator",
]
