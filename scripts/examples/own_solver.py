"""Your own solver in an experiment that dsgkit runs; the results as a frame, and plotted.

Linear discriminant analysis with the covariance of the unlabelled rows; beside it logistic
regression of the labelled rows. The results are written to the current folder.
"""

from pathlib import Path

import numpy as np

from dsgkit import load_results
from dsgkit.bases import PairwiseAUCEstimator
from dsgkit.config.schema import load_experiment
from dsgkit.experiment.run import Options, run_experiment


class SemiLDA(PairwiseAUCEstimator):
    """Class means of the labelled rows, covariance of the others."""

    lam: float = 0.1

    def fit(self, X, y, X_unlabeled):
        covariance = np.cov(X_unlabeled, rowvar=False) + self.lam * np.eye(X.shape[1])
        self.coef_ = np.linalg.solve(covariance, X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0))
        return self

    def decision_function(self, X):
        return X[:] @ self.coef_


CONFIG = """
dataset: {name: layers_2}  # generated: 4,000 rows in two parallel layers
protocol: {kind: semi_supervised_auc, labeled: 30, trials: 3}
sweep: {unlabeled: [50, 500, all]}
solvers:
  lda: {kind: "own_solver:SemiLDA", label: LDA, grid: {lam: 10^-5..10^-1 step 2}}
  logistic:
    kind: "sklearn.linear_model:LogisticRegression"
    label: Labelled rows alone
    grid: {C: [1, 100]}
"""

RESULTS = Path("results/own_solver")

if __name__ == "__main__":
    Path("own_solver.yaml").write_text(CONFIG)
    # as `dsg run own_solver.yaml --once` does in the folder of this file
    run_experiment(load_experiment("own_solver.yaml"), RESULTS, Options(once=True))
    fits = load_results(RESULTS)
    means = fits.pivot_table(index="size", columns="label", values="auc")
    means = means.bfill()  # what uses no unlabelled row is fitted once, at the largest size
    print("Mean AUC of 3 trials by the number of unlabelled rows", means.round(3), sep="\n")
    axes = means.plot(marker="o", logx=True, xlabel="unlabelled rows", ylabel="AUC")
    axes.figure.savefig("own_solver.png")
