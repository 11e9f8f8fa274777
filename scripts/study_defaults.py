"""Compare the estimators with their defaults with `SVC()` and `LogisticRegression()` with theirs.

On scikit-learn's digits (3 against 5), breast cancer and wine, in [0, 1], standardised and as they
are. Rankers, classifiers and ordinal estimators get 50 labelled rows, drawn by class, and half of
the rest without labels; the other half is for testing. Similar-unlabelled estimators get 50 similar
pairs (25 for wine) and the class prior; digits have only so many 5s that 70% are 3s. The supervised
ones get the labels of all points of pairs. A cell is the mean over the seeds of the test AUC (two
classes; for wine, the first against the others), of its mean over the cuts (ordinal, wine only), of
the accuracy (similar-unlabelled), or the adjusted Rand index of all rows (clusterings, one seed;
also for unscaled groups in a plane and for iris). "refused" is a fit that raised an error, which is
printed below. Constant predictors are left out. Prints Markdown.

``--sigma`` replaces the sigma of all estimators that have one: ``variance`` is the inverse of the
sum of the columns' variances, ``entries`` is scikit-learn's ``gamma="scale"``, ``median`` is the
inverse of the median squared distance.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, adjusted_rand_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale, scale
from sklearn.svm import SVC

import dsgkit
from dsgkit.errors import DsgError, DsgWarning
from dsgkit.linalg import Array
from dsgkit.risks.similar import similar_share
from dsgkit.tasks.base import function_of
from dsgkit.tasks.metrics import cut_aucs

Codes = NDArray[np.int64]
Make = Callable[[str], Any]
"""Returns a new estimator of a name."""

N_LABELED = 50
N_PAIRS = {"digits": 50, "breast cancer": 50, "wine": 25}

SCALES: dict[str, Callable[[Array], Array]] = {
    "[0, 1]": minmax_scale,
    "standard": scale,
    "raw": np.asarray,
}

RANKERS = ("QSGS2AUC", "QSGS2AUCP", "SAMULT", "PNUAUC", "RFFS2AUC", "NystromS2AUC")
SEMI_SUPERVISED_SVMS = ("TSGS3VM", "TSGS3VMP", "FRS3VM", "BGS3VM", "BLS3VM", "S3VMLight")
ORDINAL = (
    *("QS3ORAO", "QS3ORAOP", "ExactS2OR", "RFFS2OR", "SVOREX", "SVORIM", "MSAMULT", "MPNUAUC"),
    *("KernelRidgeOrdinal", "AllThresholdLogistic"),
)
SIMILAR = ("TSGSU", "TSGSUP", "CUU", "SUSL", "RFFSUSL", "SUDH")
CLUSTERINGS = ("BSGDLMOC", "SGDLMOC", "BenHurSVC", "FSVC")
PEERS: dict[str, Callable[[], Any]] = {"SVC()": SVC, "LogisticRegression()": LogisticRegression}

RULES: dict[str, Callable[[Array], float]] = {
    "variance": lambda X: 1 / X.var(axis=0).sum(),
    "entries": lambda X: 1 / (X.shape[1] * X.var()),
    "median": lambda X: 1 / np.median(pdist(X[:: 1 + len(X) // 500], "sqeuclidean")),
}


class Case(NamedTuple):
    """Rows of one dataset on one scale, drawn by one seed, and their classes from 0."""

    name: str
    X: Array
    y: Codes
    seed: int

    @property
    def binary(self) -> Codes:
        """Labels of two classes, 1 for the larger one."""
        return (self.y > 0).astype(np.int64)


class Score(NamedTuple):
    """Score of an estimator on a case, with its seconds and error."""

    name: str
    value: float
    seconds: float
    error: str


def datasets() -> Iterator[tuple[str, Array, Codes]]:
    """Yield names, unscaled rows, and classes from 0."""
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 5))
    yield "digits", X[kept], (y[kept] == 3).astype(np.int64)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)


def planes() -> Iterator[tuple[str, Array, Codes]]:
    """Yield names, rows and classes of datasets for clusterings only."""
    drawn: dict[str, Any] = {"n_samples": 500, "random_state": 0}
    yield "moons", *make_moons(noise=0.05, **drawn)
    yield "circles", *make_circles(factor=0.5, noise=0.05, **drawn)
    yield "3 blobs", *make_blobs(centers=3, **drawn)
    yield "5 blobs", *make_blobs(centers=5, cluster_std=0.6, **drawn)
    X, y = make_blobs(500, random_state=170)
    yield "anisotropic", X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y
    yield "iris", *load_iris(return_X_y=True)


def scaled(title: str) -> Iterator[tuple[str, str, Array, Codes]]:
    """Yield names, scales, rows and classes of the cases of a study."""
    for name, raw, y in datasets():
        for label, transform in SCALES.items():
            yield name, label, transform(raw), y
    if STUDIES[title] is clustered:
        for name, X, y in planes():
            yield name, "raw", X, y


def split(case: Case, y: Codes) -> tuple[Array, ...]:
    """Return labelled, unlabelled and test rows, and the labels of each."""
    drawn: dict[str, Any] = {"random_state": case.seed}
    X, rest, of_labeled, of_rest = train_test_split(
        case.X, y, train_size=N_LABELED, stratify=y, **drawn
    )
    unlabeled, test, of_unlabeled, of_test = train_test_split(
        rest, of_rest, train_size=0.5, stratify=of_rest, **drawn
    )
    return X, unlabeled, test, of_labeled, of_unlabeled, of_test


def two_classes(case: Case, make: Make) -> Iterator[Score]:
    """Yield the test AUC of rankers, classifiers and their peers."""
    X, X_unlabeled, X_test, y, y_unlabeled, y_test = split(case, case.binary)

    def auc(model: Any, *arrays: Array) -> float:
        return float(roc_auc_score(y_test, model.fit(*arrays).decision_function(X_test)))

    for name, peer in PEERS.items():
        yield scored(name, auc, peer(), X, y)
    for name in (*RANKERS, *SEMI_SUPERVISED_SVMS, "SelfTraining"):
        yield scored(name, auc, make(name), X, y, X_unlabeled)
    yield scored("SupervisedSVM", auc, make("SupervisedSVM"), X, y)
    yield scored("AllLabelsSVM", auc, make("AllLabelsSVM"), X, y, X_unlabeled, y_unlabeled)


class PerCut:
    """A separate peer for every cut between ordered classes."""

    def __init__(self, peer: Callable[[], Any]) -> None:
        self._peer = peer

    def fit(self, X: Array, y: Codes, X_unlabeled: Array) -> PerCut:
        """Fit the peers to the labelled rows."""
        self._fitted = [self._peer().fit(X, y >= cut) for cut in np.unique(y)[1:]]
        return self

    def decision_function(self, X: Array) -> Array:
        """Return a column per cut."""
        return np.column_stack([peer.decision_function(X) for peer in self._fitted])


def ordered(case: Case, make: Make) -> Iterator[Score]:
    """Yield the mean AUC over the cuts of ordinal estimators, and of peers for each cut."""
    if case.y.max() < 2:
        return
    X, X_unlabeled, X_test, y, _, y_test = split(case, case.y)

    def auc(model: Any) -> float:
        values = function_of(model.fit(X, y, X_unlabeled))(X_test)
        return float(np.mean(np.array(cut_aucs(y_test, values, int(case.y.max()) + 1), float)))

    for name, peer in PEERS.items():
        yield scored(f"{name} per cut", auc, PerCut(peer))
    for name in ORDINAL:
        yield scored(name, auc, make(name))


def pairs_of(case: Case) -> tuple[Any, ...]:
    """Return points of similar pairs, their labels, other rows, test rows and the prior."""
    rng = np.random.default_rng(case.seed)
    y = case.binary
    positive, negative = (rng.permutation(np.flatnonzero(y == code)) for code in (1, 0))
    if case.name == "digits":  # equally many 3s and 5s would make pairs uninformative
        negative = negative[: round(len(positive) * 3 / 7)]
    prior = len(positive) / (len(positive) + len(negative))
    n_pairs = N_PAIRS[case.name]
    n_positive = round(n_pairs * prior**2 / similar_share(prior))
    points = np.r_[positive[: 2 * n_positive], negative[: 2 * (n_pairs - n_positive)]]
    left = positive[2 * n_positive :], negative[2 * (n_pairs - n_positive) :]
    # pairs take more of the larger class: drop rows of the other until the prior is restored
    n = int(min(len(left[0]) / prior, len(left[1]) / (1 - prior)))
    kept = np.r_[left[0][: round(n * prior)], left[1][: n - round(n * prior)]]
    unlabeled, test = train_test_split(
        kept, train_size=0.5, stratify=y[kept], random_state=case.seed
    )
    return case.X[points], y[points], case.X[unlabeled], case.X[test], y[test], prior


def similar(case: Case, make: Make) -> Iterator[Score]:
    """Yield the test accuracy of similar-unlabelled estimators, and of others with labels."""
    S, y, X_unlabeled, X_test, y_test, prior = pairs_of(case)

    def accuracy(model: Any, *arrays: Array) -> float:
        positive = model.fit(*arrays).predict(X_test) == 1
        return float(accuracy_score(y_test == 1, positive))

    for name, peer in PEERS.items():
        yield scored(f"{name} with labels", accuracy, peer(), S, y)
    yield scored("SupervisedSL with labels", accuracy, make("SupervisedSL"), S, y)
    pairs = S.reshape(-1, 2, S.shape[1])
    for name in SIMILAR:
        yield scored(name, accuracy, make(name).set_params(prior=prior), pairs, X_unlabeled)


def clustered(case: Case, make: Make) -> Iterator[Score]:
    """Yield the adjusted Rand index of clusterings of all rows."""
    if case.seed:
        return

    def rand(model: Any) -> float:
        return float(adjusted_rand_score(case.y, model.fit(case.X).labels_))

    yield scored("KMeans, number known", rand, KMeans(case.y.max() + 1, n_init=10, random_state=0))
    for name in CLUSTERINGS:
        yield scored(name, rand, make(name))


def scored(name: str, score: Callable[..., float], *given: Any) -> Score:
    """Return the score of a fit; NaN and the error's text if it was refused."""
    start, error = time.perf_counter(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of LogisticRegression on raw rows
        warnings.simplefilter("ignore", DsgWarning)  # of few pairs
        try:
            value = score(*given)
        except DsgError as refused:
            value, error = np.nan, str(refused)
    return Score(name, value, time.perf_counter() - start, error)


def maker(rule: str | None, X: Array) -> Make:
    """Return a function that makes an estimator by name, with defaults except perhaps sigma."""

    def make(name: str) -> Any:
        model = getattr(dsgkit, name)()
        if rule is not None and "sigma" in model.get_params():
            model.set_params(sigma=float(RULES[rule](X)))
        return model

    return make


STUDIES: dict[str, Callable[[Case, Make], Iterator[Score]]] = {
    "two classes, AUC": two_classes,
    "ordered classes, mean AUC over the cuts": ordered,
    "similar pairs, accuracy": similar,
    "clusters, adjusted Rand index": clustered,
}


def shown(mean: float) -> str:
    """Return a mean as text."""
    return "refused" if np.isnan(mean) else f"{mean:.3f}"


def table(title: str, rule: str | None, seeds: int) -> Iterator[str]:
    """Yield the lines of one study's table and errors."""
    scores: dict[str, dict[str, list[Score]]] = defaultdict(lambda: defaultdict(list))
    for name, label, X, y in scaled(title):
        for seed in range(seeds):
            for score in STUDIES[title](Case(name, X, y, seed), maker(rule, X)):
                scores[score.name][f"{name} {label}"].append(score)
    columns = list(next(iter(scores.values())))
    yield f"| {title} | {' | '.join(columns)} | least | seconds, at most |"
    yield "|---" * (len(columns) + 3) + "|"
    for name, row in scores.items():
        means = [float(np.mean([score.value for score in row[column]])) for column in columns]
        seconds = max(score.seconds for column in columns for score in row[column])
        cells = map(shown, [*means, min(means)])
        yield f"| {name} | {' | '.join(cells)} | {seconds:.1f} |"
    every = [score for row in scores.values() for column in row.values() for score in column]
    yield from dict.fromkeys(f"- {s.name}: {s.error}" for s in every if s.error)


@click.command(help=__doc__)
@click.option("--seeds", default=5, show_default=True)
@click.option("--sigma", "rule", type=click.Choice(list(RULES)))
@click.option("--only", multiple=True, type=click.Choice(list(STUDIES)), default=list(STUDIES))
def main(seeds: int, rule: str | None, only: tuple[str, ...]) -> None:
    """Print the tables."""
    for title in only:
        click.echo("\n".join(table(title, rule, seeds)) + "\n")


if __name__ == "__main__":
    main()
