"""Splits as CSV: scikit-learn on the rows that it names has the scores that were recorded."""

import io

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.cluster import KMeans
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, normalized_mutual_info_score, roc_auc_score

from dsgkit import load_results
from dsgkit.errors import ResultsError
from dsgkit.experiment.runs import load
from tests.experiment.runs import dsg_here

LOGISTIC = {
    "kind": "sklearn.linear_model:LogisticRegression",
    "params": {"max_iter": 1000},
    "grid": {"C": [0.1, 10.0]},
}
K_MEANS = {"kind": "sklearn.cluster:KMeans", "params": {"n_init": 1, "random_state": 3}}
K_MEANS["grid"] = {"n_clusters": [4]}
FOLDS, PRIOR = 3, 0.7


def rows_of(classes, missing=0):
    """Return a file's columns; every ``missing``-th of its 240 rows has no label."""
    rng = np.random.default_rng(5)
    y = rng.permutation(np.resize(classes, 240))
    data = pd.DataFrame(rng.normal(size=(240, 3)).round(3) + 0.7 * y[:, None], columns=[*"abc"])
    data["kind"] = [str(label) for label in y]
    if missing:
        data.loc[::missing, "kind"] = "?"
    return data


@pytest.fixture
def exported(tmp_path):
    """Run a config on a file's rows; return what `dsg` tells: splits, fits, scores of searches."""

    def run(data, protocol, solvers, target=None, **more):
        data.to_csv(tmp_path / "rows.csv", index=False)
        dataset = {"path": "rows.csv", "loader": "delimited", "header": True}
        mark = {"unlabeled": "?"} if "?" in set(data["kind"]) else {}
        dataset["label"] = {"column": "kind", **mark}
        dataset |= {"target": target} if target else {}
        config = {"dataset": dataset, "protocol": protocol, "solvers": solvers, "outputs": []}
        (tmp_path / "one.yaml").write_text(yaml.safe_dump(config | more))
        code, _, told = dsg_here(tmp_path, "run", "one.yaml", "--fresh")
        assert code == 0, told
        _, text, _ = dsg_here(tmp_path, "export", "--splits", "results/one")
        splits = pd.read_csv(io.StringIO(text))
        assert set(splits.config) == {"one"}
        (stored,) = load(tmp_path / "results/one")
        return splits, load_results(tmp_path / "results/one"), stored.searches

    return run


def scaled(data):
    X = data[[*"abc"]].to_numpy(np.float32)
    return (X - X.min(axis=0)) * (1 / (X.max(axis=0) - X.min(axis=0))).astype(np.float32)


def by(splits, trial, part, size=None, fold=None):
    """Return the rows of a part, in order."""
    found = splits[(splits.trial == trial) & (splits.part == part)]
    if fold is not None:
        found = found[(found["size"] == size) & (found.fold == fold)]
    return found.row.to_numpy()


def logistic(data, rows, labels, C, at):
    X, model = scaled(data), LogisticRegression(C=C, max_iter=1000)
    return model.fit(X[rows], labels[rows]).decision_function(X[at])


def test_a_ranking_with_rows_without_label_and_swept_labelled_rows(exported):
    data = rows_of([-1, 1], missing=7)
    protocol = {"kind": "semi_supervised_auc", "labeled": 30, "trials": 1, "folds": FOLDS}
    splits, fits, searches = exported(
        data, protocol, {"logistic": LOGISTIC}, sweep={"labeled": [18, 30]}
    )
    y = pd.to_numeric(data.kind, errors="coerce").to_numpy()
    for fit in fits.itertuples():
        labeled, others = (by(splits, fit.trial, part) for part in ("labeled", "unlabeled"))
        assert sorted([*labeled, *others]) == list(range(240))
        judged = others[~np.isnan(y[others])]
        values = logistic(data, labeled[: fit.size], y, fit.param_C, judged)
        assert roc_auc_score(y[judged], values) == pytest.approx(fit.auc, abs=1e-9)
    assert len(searches) >= 2
    for search in searches.itertuples():
        labeled = by(splits, search.trial, "labeled")[: search.size]
        for fold in range(FOLDS):
            held_out = by(splits, search.trial, "labeled_fold", search.size, fold)
            rest = labeled[~np.isin(labeled, held_out)]
            for point, scores in zip(search.points, search.fold_scores, strict=True):
                values = logistic(data, rest, y, point["C"], held_out)
                expected = roc_auc_score(y[held_out], values)
                assert expected == pytest.approx(scores[fold], abs=1e-9)


SEARCHES = {"hidden_labels": (1, "unlabeled_fold"), "labeled_rows": (2, "labeled_fold")}


@pytest.mark.parametrize("select", SEARCHES)
def test_both_searches_of_a_classifier(exported, select):
    data, (repeats, part) = rows_of([-1, 1]), SEARCHES[select]
    protocol = {"kind": "semi_supervised_svm", "labeled": 30, "trials": 1, "folds": FOLDS}
    protocol |= {"select": select, "repeats": repeats}
    solver = {**LOGISTIC, "search_at": {"unlabeled": 100}}
    splits, fits, searches = exported(data, protocol, {"logistic": solver})
    y, (fit,) = data.kind.astype(int).to_numpy(), fits.itertuples()
    labeled, others = by(splits, 0, "labeled"), by(splits, 0, "unlabeled")
    errors = np.sign(logistic(data, labeled, y, fit.param_C, others)) != y[others]
    assert fit.error == pytest.approx(errors.mean())
    for search in searches.itertuples():
        for point, scores in zip(search.points, search.fold_scores, strict=True):
            assert len(scores) == repeats * FOLDS
            for fold, score in enumerate(scores):
                chosen = by(splits, 0, part, 100, fold)
                if select == "hidden_labels":  # a part trains, the others test
                    tested = others[:100][~np.isin(others[:100], chosen)]
                    wrong = np.sign(logistic(data, labeled, y, point["C"], tested)) != y[tested]
                    assert score == pytest.approx(wrong.mean())
                    continue
                rest = labeled[~np.isin(labeled, chosen)]
                signs = np.sign(logistic(data, rest, y, point["C"], chosen))
                assert score == pytest.approx(1 - balanced_accuracy_score(y[chosen], signs))


def test_ordered_classes(exported):
    data = rows_of([1, 2, 3])
    protocol = {"kind": "ordinal", "labeled": 40, "trials": 1, "folds": FOLDS}
    ridge = {"kind": "kernel_ridge", "params": {"sigma": 2.0}, "grid": {"lam": [0.01, 1.0]}}
    splits, fits, searches = exported(data, protocol, {"ridge": ridge}, {"ordered": True})
    X, y = scaled(data), data.kind.astype(int).to_numpy()
    (fit,), (search,) = fits.itertuples(), searches.itertuples()

    def auc(rows, lam, at):
        model = KernelRidge(alpha=len(rows) * lam, kernel="rbf", gamma=2.0)
        values = model.fit(X[rows], y[rows] - y[rows].mean()).predict(X[at])
        return np.mean([roc_auc_score(y[at] > cut, values) for cut in (1, 2)])

    labeled, others = by(splits, 0, "labeled"), by(splits, 0, "unlabeled")
    assert auc(labeled, fit.param_lam, others) == pytest.approx(fit.auc, abs=1e-4)
    for fold in range(FOLDS):
        held_out = by(splits, 0, "labeled_fold", search.size, fold)
        rest = labeled[~np.isin(labeled, held_out)]
        for point, scores in zip(search.points, search.fold_scores, strict=True):
            assert auc(rest, point["lam"], held_out) == pytest.approx(scores[fold])


def test_pairs_unlabelled_rows_and_their_folds(exported):
    data = rows_of([-1, 1, 1, 1])
    protocol = {"kind": "similar_unlabeled", "pairs": 20, "prior": PRIOR, "test": 40}
    protocol |= {"trials": 1, "folds": FOLDS}
    grid, linear = {"lam": [0.1, 1.0]}, {"kernel": "linear"}
    solvers = {
        "su_sl": {"params": {**linear, "prior": "class_prior"}, "grid": grid},
        "supervised_sl": {"params": linear, "grid": grid},
    }
    splits, fits, searches = exported(data, protocol, solvers, sweep={"unlabeled": [30]})
    y, phi = data.kind.astype(int).to_numpy(), np.column_stack([scaled(data), np.ones(240)])
    similar, unlabeled, test = (by(splits, 0, part) for part in ("similar", "unlabeled", "test"))
    used = [*similar, *unlabeled, *test]
    assert len(similar) == 40 and len(set(used)) == len(used)
    assert all(y[a] == y[b] for a, b in similar.reshape(-1, 2))

    def trained(pairs, rows, lam):
        """Minimise the squared risk of pairs and unlabelled rows (`dsgkit.SUSL`)."""
        share, odds = PRIOR**2 + (1 - PRIOR) ** 2, 2 * PRIOR - 1
        right = share / odds * phi[pairs].mean(axis=0) - phi[rows].mean(axis=0) / (2 * odds)
        return np.linalg.solve(phi[rows].T @ phi[rows] / (2 * len(rows)) + lam * np.eye(4), right)

    def risk(pairs, rows, w):
        """The zero-one risk of Bao et al. (2018), Eq. 9: of wrong signs, if all were positive."""
        share, odds = PRIOR**2 + (1 - PRIOR) ** 2, 2 * PRIOR - 1
        s, u = (np.mean(phi[at] @ w < 0) for at in (pairs, rows))
        return share / odds * (2 * s - 1) + (PRIOR * (1 - u) - (1 - PRIOR) * u) / odds

    fit = fits[fits.solver == "su_sl"].iloc[0]
    w = trained(similar, unlabeled[:30], fit.param_lam)
    assert fit.accuracy == pytest.approx(np.mean(np.where(phi[test] @ w >= 0, 1, -1) == y[test]))
    for search in searches.itertuples():
        given = unlabeled[: search.size]
        labeled = given[:40]  # as many as are in pairs
        for fold in range(FOLDS):
            parts = {
                part: by(splits, 0, f"{part}_fold", search.size, fold)
                for part in ("similar", "unlabeled", "labeled")
            }
            pairs, rows = (
                every[~np.isin(every, parts[part])]
                for part, every in (("similar", similar), ("unlabeled", given))
            )
            rest = labeled[~np.isin(labeled, parts["labeled"])]
            for point, scores in zip(search.points, search.fold_scores, strict=True):
                if search.solver == "su_sl":
                    w = trained(pairs, rows, point["lam"])
                    expected = risk(parts["similar"], parts["unlabeled"], w)
                else:
                    ridge = KernelRidge(alpha=2 * len(rest) * point["lam"], kernel="linear")
                    values = ridge.fit(phi[rest], y[rest]).predict(phi[parts["labeled"]])
                    expected = np.mean(np.sign(values) != y[parts["labeled"]])
                assert scores[fold] == pytest.approx(expected)


def test_the_order_of_clustered_rows(exported):
    data = rows_of([1, 2, 3])
    protocol = {"kind": "clustering", "scale": [0, 1], "trials": 2}
    sweep, target = {"rows": [90, 240]}, {"classes": True}
    splits, fits, _ = exported(data, protocol, {"k_means": K_MEANS}, target, sweep=sweep)
    for fit in fits.itertuples():
        order = by(splits, fit.trial, "rows")[: fit.size]
        found = KMeans(4, n_init=1, random_state=3).fit(scaled(data)[order]).labels_
        expected = normalized_mutual_info_score(data.kind[order], found)
        assert fit.nmi == pytest.approx(expected, abs=1e-9)


def test_it_goes_to_a_file_and_what_has_no_splits_is_told(tmp_path, exported):
    own = "tests.experiment.own_task"
    protocol = {"kind": f"{own}:RidgeTask", "trials": 1}
    with pytest.raises(ResultsError, match=r"results/one: its task, .*:RidgeTask, does not tell"):
        exported(rows_of([-1, 1]), protocol, {"ridge": {"kind": f"{own}:Ridge"}})
    protocol = {"kind": "clustering", "select": "davies_bouldin", "trials": 2}
    splits, _, _ = exported(rows_of([0, 1]), protocol, {"k_means": K_MEANS}, {"classes": True})
    twice = "export", "--splits", "results/one", "results/one", "-o", "splits.csv"
    dsg_here(tmp_path, *twice)
    both = pd.read_csv(tmp_path / "splits.csv")
    pd.testing.assert_frame_equal(both, pd.concat([splits, splits], ignore_index=True))
    rows_of([1, 0]).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ResultsError, match="its rows are not those of the run"):
        dsg_here(tmp_path, *twice)
    assert len(pd.read_csv(tmp_path / "splits.csv")) == len(both)
