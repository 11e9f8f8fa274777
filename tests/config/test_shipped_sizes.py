"""Every shipped config can be planned for as many rows as the catalogue says that it has."""

from pathlib import Path

import numpy as np
import pytest

from dsgkit.config import list_configs, load_experiment
from dsgkit.data.catalogue import DATASETS
from dsgkit.data.datasets import Dataset
from dsgkit.data.targets import Binary, Nominal, Ordered, target_of
from dsgkit.experiment.plan import make_plan

CONFIGS = Path(__file__).parents[2] / "configs"
N_CLASSES = 5


def labels_of(target, n):
    """Return labels that a target takes; of two classes 5 of 12 rows are positive."""
    is_positive = np.arange(n) % 12 < 5
    if isinstance(target, Binary) and target.positive:
        positive = target.positive[0]
        others = "another" if isinstance(positive, str) else -99
        return np.where(is_positive, positive, target.negative[0] if target.negative else others)
    if isinstance(target, Binary):
        return is_positive.astype(float)
    named = target.order if isinstance(target, Ordered) else None
    named = target.labels if isinstance(target, Nominal) else named
    if named:
        return np.array(named)[np.arange(n) % len(named)]
    if isinstance(target, Ordered | Nominal):
        return np.arange(n) % N_CLASSES + 1.0
    return np.arange(n, dtype=float)  # to be cut into bins


def dataset_of(experiment):
    """Return rows of zeros, as many as the catalogue has, with made labels."""
    info = DATASETS[experiment.dataset.name]
    n_rows = (experiment.dataset.rows or info.n_rows) * (1 if info.double is None else 2)
    given = experiment.dataset.target
    target = info.target if given is None else target_of(given.settings)
    n_features = info.n_features or 1
    return Dataset(
        name=info.name,
        title=info.title,
        X=np.broadcast_to(np.float32(0), (n_rows, n_features)),
        X_test=None,
        labels=labels_of(target, n_rows),
        labels_test=None,
        target=target,
        minimum=np.zeros(n_features),
        maximum=np.ones(n_features),
        mean_square=1.0,
        made="",
        content_hash="0",
    )


@pytest.mark.parametrize("summary", list_configs(CONFIGS), ids=lambda summary: summary.name)
def test_every_profile_can_be_planned(summary):
    for profile in (None, *summary.profiles):
        experiment = load_experiment(summary.path, profile=profile, overrides=["protocol.trials=1"])
        assert make_plan(experiment, dataset_of(experiment)), profile
