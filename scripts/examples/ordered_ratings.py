"""Ordered ratings: five grades of the progression of diabetes, 40 patients with a grade.

The AUC is the mean over the cuts between grades; a grade off by two counts twice in the error.
Here the patients without a grade add nothing, which only the lines below the first one can tell.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error, roc_auc_score

from dsgkit import QS3ORAO, SVORIM, ConstantMedian

X, progression = load_diabetes(return_X_y=True)
X = X / X.std(axis=0)
grades = np.digitize(progression, np.quantile(progression, [0.2, 0.4, 0.6, 0.8]))
order = np.random.default_rng(0).permutation(len(X))
labeled, others = order[:40], order[40:]

print("402 patients without a grade             AUC   mean absolute error")
for name, model in {
    "QS3ORAO": QS3ORAO(sigma=0.01, lam=0.01, gamma=0.5),
    "QS3ORAO, labelled rows alone": QS3ORAO(sigma=0.01, lam=0.01, gamma=1),
    "SVORIM, labelled rows alone": SVORIM(sigma=0.001, C=10),
    "The median grade": ConstantMedian(),
}.items():
    model.fit(X[labeled], grades[labeled], X[others])
    values, predicted = model.score_samples(X[others]), model.predict(X[others])
    auc = np.mean([roc_auc_score(grades[others] > cut, values) for cut in range(4)])
    error = mean_absolute_error(grades[others], predicted)
    print(f"{name:38}{auc:.3f}   {error:.3f}")
