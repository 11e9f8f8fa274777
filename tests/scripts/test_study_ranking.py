"""The study of what limits the AUC of QS3ORAO: its closed forms are those of the solvers."""

from __future__ import annotations

import numpy as np
import pytest

from dsgkit import MSAMULT, ExactS2OR
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.dataset import load_dataset
from dsgkit.tasks.metrics import cut_aucs
from dsgkit.tasks.ordinal import Ordinal, OrdinalSpec
from tests.scripts.conftest import invoke, numbers_of


@pytest.mark.parametrize("gammas", [(1.0,) * 4, (0.5,) * 4, (0.25, 0.75, 0.5, 1.0)])
def test_the_functions_are_those_of_the_solvers(script, gammas):
    scope = script("study_ranking")
    scope["main"].callback.__globals__.update(N_UNLABELED=30, MOST_TESTED=100)
    spec = OrdinalSpec(kind="ordinal", labeled=40, folds=2)
    trial = scope["Trial"](Ordinal(load_dataset(DATASETS["layers_5"]), spec, 0).split)
    K = trial.kernels(0.5)
    rows = {"X": trial.X, "y": trial.y.astype(int), "X_unlabeled": trial.rest}

    def auc(model):
        values = model.fit_function(**rows).score_samples(trial.tested)
        return np.mean(cut_aucs(trial.y_tested - 1, values, 5))

    one = ExactS2OR(gamma=gammas, lam=0.1, sigma=0.5)
    assert trial.one_function(K, gammas, 0.1) == pytest.approx(auc(one), abs=1e-3)
    if len(set(gammas)) == 1:
        several = MSAMULT(gamma=gammas[0], lam=0.1, sigma=0.5)
        assert trial.one_per_cut(K, gammas, 0.1) == pytest.approx(auc(several), abs=1e-3)


def test_a_short_study_keeps_its_numbers(study, tmp_path):
    main, scope = study("study_ranking")
    scope.update(N_UNLABELED=30, MOST_TESTED=100, C=(1.0,), LOGISTIC_LAM=(1e-2,))
    scope["GRIDS"] = {"paper": ([1.0], [1.0]), "wide": ([0.1], [1.0])}
    file = tmp_path / "ranking.json"
    invoke(main, "layers_5", "--trials", 2, "--labeled", 40, "--json", file)
    numbers = numbers_of(file)["layers_5"]
    assert set(numbers["paper"]) == {
        "one function", "one per cut", "one function, unlabelled rows", "SVOREX", "all-threshold"
    }  # fmt: skip
    gammas = numbers["gammas"]
    assert np.all(np.array(gammas["least_gamma"]) <= gammas["one_gamma"])
    assert np.all(np.array(gammas["one_gamma"]) <= gammas["gamma_per_cut"])
