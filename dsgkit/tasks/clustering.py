"""Clustering without labels; if the dataset has classes, clusters are evaluated by them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dsgkit.config.spec import Interval
from dsgkit.costs import ENTRY_FLOPS, Cost
from dsgkit.data.dataset import Rows
from dsgkit.errors import FOREIGN_ERRORS, DsgError, FitError, warn_of_point
from dsgkit.published.bsgd_svc import published_of
from dsgkit.seeds import derive_seed, permutation
from dsgkit.tasks import base, metrics
from dsgkit.tasks.base import At, Judgement, Point, Scores, Task, Work, cost_of
from dsgkit.tasks.measures import MEASURES, PICTURES, Axis

ROWS = Axis(name="rows", title="Rows", noun="rows")
CLASSES = "classes"  # in configs: the true number of clusters

MIN_CLUSTERS, MAX_CLUSTERS = 2, 50  # in a choice without labels
MAX_EXACT_ROWS = 20_000  # for which all pairs within clusters are measured, else some
SAMPLED_PAIRS = 200_000
MAX_PICTURE_POINTS = 2000  # rows, and equilibria, in a picture
GRID, GRID_MARGIN = 120, 0.08  # points per side for f, and the margin by the range of the rows

# measures of solvers with a domain, by the fitted attribute that holds them
FITTED = {
    "inside_": "inside",
    "mass_": "mass",
    "n_iter_": "steps",
    "n_removals_": "removals",
    "n_boundary_": "boundary",
    "mode_seeking_only_": "mode_seeking",
}


class ClusteringSpec(base.ProtocolSpec):
    """Protocol of a clustering: scaling, and the choice of parameters.

    Attributes
    ----------
    scale : {"raw", "standard"} or tuple of float
        Unscaled rows, z-scores, or the interval that every feature is mapped to.
    select : {"nmi", "davies_bouldin"}
        The highest NMI with the classes, which no user has; or, without labels, the lowest
        Davies-Bouldin index among the points with 2 to 50 clusters, a weak criterion.
    """

    scale: Literal["raw", "standard"] | Interval = "standard"
    select: Literal["nmi", "davies_bouldin"] = "nmi"

    only_for_search: ClassVar[tuple[str, ...]] = ("select",)
    told: ClassVar[Mapping[str, str]] = {CLASSES: "the number of classes"}
    published = staticmethod(published_of)

    @property
    def setting(self) -> str:
        blind = ", parameters chosen without labels by the Davies-Bouldin index, a weak criterion"
        return base.scale_words(self.scale) + blind * (self.select != "nmi")

    @property
    def oracle(self) -> str:
        chosen = "parameters chosen by NMI with the true classes, which no user has"
        return chosen * (self.select == "nmi")

    @property
    def protocol(self) -> str:
        return f"{self.kind} of all rows, {self.setting}"

    @property
    def selection(self) -> str:
        if self.select == "nmi":
            return "the highest NMI with the true classes, which no user has"
        return (
            "without labels: the lowest Davies-Bouldin index among the points with "
            f"{MIN_CLUSTERS} to {MAX_CLUSTERS} clusters, a weak criterion"
        )


class Clustering(Task):
    """Clustering without labels; if the dataset has classes, clusters are evaluated by them.

    A trial is a run on all rows in a random order; smaller points take the first ones. Solvers with
    two phases, ``fit_domain`` and ``fit_clusters``, are timed by phase; others, such as
    scikit-learn's, need only ``fit`` and ``labels_`` (Pham, Le & Dang, 2017).

    Rows without a cluster, which some solvers label -1, do not count in the number of clusters. All
    indices treat them as one more cluster.
    """

    kind = "clustering"
    Spec = ClusteringSpec
    axes = (ROWS,)
    measures = MEASURES[kind]
    chooses = "choice"
    outputs = (
        *("purity_table", "rand_table", "nmi_table", "davies_bouldin_table", "compactness_table"),
        *("clusters_table", "domain_table", "hypotheses_table", "time_table", "nmi_boxplot"),
        PICTURES,
    )
    words = (CLASSES,)
    draws = ""
    target = "classes"
    phases: ClassVar = {"fit": "fit_domain", "clustering": "fit_clusters"}

    def __init__(self, dataset: Any, spec: Any, seed: int) -> None:
        super().__init__(dataset, spec, seed)
        if len(dataset.X) < MIN_CLUSTERS:
            raise dataset.error("one row alone makes no clusters")
        self._judged = bool(np.ptp(dataset.y))
        if spec.select == "nmi" and not self._judged:
            raise dataset.error(
                "there are no classes to choose parameters by; set "
                "`protocol.select: davies_bouldin`"
            )
        self.sizes = {"rows": len(dataset.X)}

    @functools.cached_property
    def values(self) -> Mapping[str, float | tuple[float, ...]]:
        return {CLASSES: len(np.unique(self.dataset.y))}

    @functools.cached_property
    def _order(self) -> NDArray[np.int64]:
        return permutation(len(self.dataset.X), derive_seed(self.seed, "order"))

    @functools.cached_property
    def _rows(self) -> Rows:
        return Rows(self.dataset.X, self._order, *base.scaling_of(self.dataset, self.spec.scale))

    def drawn_rows(self) -> dict[str, Any]:
        return {"rows": self._order}

    def training(self, at: At) -> dict[str, Any]:
        return {"X": self._rows[: at["rows"]]}

    def classes(self, at: At) -> NDArray[Any]:
        """Return the classes of the rows that have one."""
        order, y = self._order[: at["rows"]], self.dataset.y
        return np.asarray(y[order[order < len(y)]])

    def _compared(self, at: At, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the classes of the rows that have one, and their clusters."""
        return self.classes(at), labels[self._order[: len(labels)] < len(self.dataset.y)]

    def search(self, estimator: Any, at: At, points: Sequence[Point]) -> Scores:
        """Return the score of every point, on all rows."""
        X = self.training(at)["X"]
        return [[self._score(estimator, point, X, at)] for point in points]

    def _score(self, estimator: Any, point: Point, X: NDArray[Any], at: At) -> float | None:
        """Return the score of a point; None if it has no solution, or one that has no score."""
        from sklearn.base import clone

        model = clone(estimator).set_params(**point)
        try:
            model.fit(X)
        except FitError as error:
            if error.status != FitError.status:
                raise  # a limit of this machine is no property of the point
            return None
        except DsgError:
            raise
        except FOREIGN_ERRORS as error:
            warn_of_point(point, error)
            return None
        labels = checked_labels(model, len(X))
        if self.spec.select == "nmi":
            return metrics.nmi(*self._compared(at, labels))
        if not MIN_CLUSTERS <= len(np.unique(labels[labels >= 0])) <= MAX_CLUSTERS:
            return None
        index = metrics.davies_bouldin(metrics.Clusters(X, labels))
        return None if index is None else -index

    def _cost(self, estimator: Any, at: At) -> Cost:
        """Return the cost of a fit; without `cost`, that of a kernel value per pair of rows."""
        d, n = self.dataset.n_features, at["rows"]
        default = Cost(flops=n**2 * (ENTRY_FLOPS + 3.0 * d))
        return cost_of(estimator, d, {"n_rows": n}) if hasattr(estimator, "cost") else default

    def search_work(self, estimator: Any, at: At, n_points: int) -> Work:
        cost = self._cost(estimator, at)
        return Work(n_points * cost.flops, 0.0, cost.memory, n_points)

    def fit_work(self, estimator: Any, at: At) -> Work:
        cost, n = self._cost(estimator, at), at["rows"]
        pairs = 3 * n**2 if n <= MAX_EXACT_ROWS else 0
        return Work(cost.flops, float(pairs * self.dataset.n_features), cost.memory)

    def judge(self, model: Any, at: At, clock: Any) -> Judgement:
        X = self.training(at)["X"]
        labels = checked_labels(model, len(X))
        scores: dict[str, float | None] = {m.name: None for m in self.measures if not m.clock}
        scores["clusters"] = float(len(np.unique(labels[labels >= 0])))
        scores["unassigned"] = float(np.mean(labels < 0))
        many = len(X) > MAX_EXACT_ROWS
        with clock.phase("evaluate"):
            clusters = metrics.Clusters(X, labels)
            drawn: dict[str, Any] = {
                "n_pairs": SAMPLED_PAIRS if many else math.inf,
                "seed": self.seed,
            }
            scores["davies_bouldin"] = metrics.davies_bouldin(clusters)
            scores["compactness"] = metrics.compactness(clusters, **drawn)
            scores["compactness_unweighted"] = metrics.compactness(
                clusters, weighted=False, **drawn
            )
            if not many:
                scores["davies_bouldin_diameter"] = metrics.davies_bouldin(clusters, "diameter")
            if self._judged:
                scores |= metrics.class_indices(*self._compared(at, labels))
        if all(hasattr(model, method) for method in self.phases.values()):
            known = {name: vars(model).get(held) for held, name in FITTED.items()}
            if hasattr(model, "equilibria_"):
                n = len(model.equilibria_)
                known |= {"equilibria": n, "equilibria_share": n / len(X)}
            scores |= {name: float(value) for name, value in known.items() if value is not None}
        all_known = self._judged and not len(self.dataset.unlabeled_rows)
        classes = self.classes(at) if all_known else None
        return Judgement(scores, artefact=picture(model, X, labels, classes))


def checked_labels(model: Any, n_rows: int) -> NDArray[np.int64]:
    """Return a fitted model's labels, -1 for all rows without a cluster."""
    labels = np.asarray(getattr(model, "labels_", None))
    if labels.shape != (n_rows,) or labels.dtype.kind not in "iu":
        raise FitError(
            f"labels_ must be a whole number for each of {n_rows:,} rows, got {labels.dtype} of "
            f"shape {labels.shape}"
        )
    return np.maximum(labels.astype(np.int64), -1)


def picture(model: Any, X: Any, labels: Any, classes: Any = None) -> dict[str, Any]:
    """Return the arrays of a picture, in two principal components if rows have more columns.

    Of rows in a random order, shape (n, d), the first are shown: ``rows`` (r, 2) float32 and
    ``labels`` (r,). If available, ``classes`` (r,) int32, numbered from 0; ``equilibria`` (e, 2)
    and ``equilibrium_labels`` (e,); for two columns, ``grid_x``, ``grid_y`` and ``domain``, f on
    their grid; and ``inside``, the share of all rows with f >= 0.
    """
    shown = X[:MAX_PICTURE_POINTS]
    if X.shape[1] < 2:
        return {}
    center, axes = np.zeros(2), np.eye(2)
    if X.shape[1] > 2:
        from sklearn.decomposition import PCA

        n = min(2, len(shown))  # one row has one component
        with np.errstate(invalid="ignore"):  # equal rows, and one row, have no variance
            plane = PCA(n, svd_solver="full").fit(np.asarray(shown, np.float64))
        center, axes = plane.mean_, np.pad(plane.components_.T, ((0, 0), (0, 2 - n)))
    rows = (shown - center) @ axes
    arrays = {"rows": rows.astype(np.float32), "labels": labels[: len(rows)]}
    if classes is not None:
        numbers = np.unique(classes, return_inverse=True)[1]
        arrays["classes"] = numbers[: len(rows)].astype(np.int32)
    if hasattr(model, "equilibria_") and hasattr(model, "equilibrium_labels_"):
        equilibria = (model.equilibria_[:MAX_PICTURE_POINTS] - center) @ axes
        arrays["equilibria"] = equilibria.astype(np.float32)
        arrays["equilibrium_labels"] = np.asarray(model.equilibrium_labels_)[: len(equilibria)]
    if X.shape[1] == 2 and hasattr(model, "decision_function"):
        low, high = shown.min(axis=0), shown.max(axis=0)
        margin = GRID_MARGIN * np.maximum(high - low, np.finfo(np.float32).tiny)
        x, y = (np.linspace(a, b, GRID) for a, b in zip(low - margin, high + margin, strict=True))
        values = model.decision_function(np.column_stack([v.ravel() for v in np.meshgrid(x, y)]))
        domain = np.asarray(values).reshape(GRID, GRID).astype(np.float32)
        arrays |= {"grid_x": x, "grid_y": y, "domain": domain}
    if hasattr(model, "inside_"):
        arrays["inside"] = np.float64(model.inside_)
    return arrays
