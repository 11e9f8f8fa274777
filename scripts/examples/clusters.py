"""Clusters: find them without labels, then name each by a few labelled rows.

Two moons of 1,000 rows. Support vector clustering finds their shapes and their number; the ten
labelled rows name the clusters. Beside it, what the ten rows alone give.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC

from dsgkit import BSGDLMOC

X, classes = make_moons(1000, noise=0.05, random_state=0)
X_labeled, y = X[:10], classes[:10]


def named(clusters):
    """Give each cluster its most frequent label, or that of all labelled rows."""
    names = np.full(len(X), np.bincount(y).argmax())
    for cluster in np.unique(clusters[:10]):
        names[clusters == cluster] = np.bincount(y[clusters[:10] == cluster]).argmax()
    return names


model = BSGDLMOC(gamma=32, C=512, budget=50, strategy="pnn").fit(X)
k_means = KMeans(2, n_init=10, random_state=0).fit_predict(X)
svm = SVC(C=100).fit(X_labeled, y)

print(f"BSGD-LMOC found {model.n_clusters_} clusters, by {len(model.equilibria_)} modes")
print("Accuracy on 990 rows, by 10 labels")
for name, predicted in {
    "BSGD-LMOC, clusters named by labels": named(model.labels_),
    "k-means (2), named by labels": named(k_means),
    "SVM, labelled rows alone": svm.predict(X),
}.items():
    print(f"{name:38}{accuracy_score(classes[10:], predicted[10:]):.3f}")
