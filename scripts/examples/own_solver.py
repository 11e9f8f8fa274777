"""Your own solver in an experiment that dsgkit runs; the results as a frame, and plotted.

Linear discriminant analysis with the covariance of the unlabelled rows; beside it logistic
regression of the labelled rows. Copy this file to a folder of yours and run it there.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

from dsgkit import load_results
from dsgkit.bases import PairwiseAUCEstimator


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
  lda: {kind: "own_solver.py:SemiLDA", label: LDA, grid: {lam: 10^-5..10^-1 step 2}}
  logistic:
    kind: "sklearn.linear_model:LogisticRegression"
    label: Labelled rows alone
    grid: {C: [1, 100]}
"""

if __name__ == "__main__":
    Path("own_solver.yaml").write_text(CONFIG)
    command = [sys.executable, "-m", "dsgkit", "run", "own_solver.yaml", "--once"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    fits = load_results("results/own_solver")
    means = fits.pivot_table(index="size", columns="label", values="auc")
    means = means.bfill()  # what uses no unlabelled row is fitted once, at the largest size
    print("Mean AUC of 3 trials by the number of unlabelled rows", means.round(3), sep="\n")
    axes = means.plot(marker="o", logx=True, xlabel="unlabelled rows", ylabel="AUC")
    axes.figure.savefig("own_solver.png")
