"""Compare the rules that make classes of a ranking, on the same functions of several datasets.

For each dataset and trial one function is trained (QS3ORAO at the given hyper-parameters), and its
thresholds are placed by every rule. The paper's rule, the hinge, depends on the scale of the
function; the others do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pandas as pd

from dsgkit import QS3ORAO
from dsgkit.data.catalogue import get
from dsgkit.data.datasets import open_dataset
from dsgkit.experiment.measure import Clock
from dsgkit.tasks.ordinal import TASK

RULES = ("logistic", "absolute", "share", "hinge")
COLUMNS = ("mae", "macro_mae", "accuracy", "never")


def scores_of(name: str, trials: int, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the scores of every rule in every trial on a dataset."""
    dataset = open_dataset(get(name))
    for number in range(trials):
        trial = TASK.trial(dataset, TASK.Spec(kind=TASK.kind), number)
        at = {axis: min(size, 2000) for axis, size in trial.sizes.items()}
        training = trial.training(at)
        model = QS3ORAO(**params, random_state=number).fit_function(**training)
        for rule in RULES:
            model.set_params(thresholds=rule).fit_thresholds(**training)
            judgement = trial.judge(model, at, Clock())
            yield {"dataset": name, "rule": rule, **judgement.scores}


@click.command(help=__doc__)
@click.argument("datasets", nargs=-1, default=("sgemm", "abalone", "lev"))
@click.option("--trials", default=3, show_default=True)
@click.option("--lam", default=0.125, show_default=True)
@click.option("--sigma", default=1.0, show_default=True)
@click.option("--gamma", default=0.5, show_default=True)
def main(datasets: tuple[str, ...], trials: int, lam: float, sigma: float, gamma: float) -> None:
    """Print the means over the trials."""
    params = {"lam": lam, "sigma": sigma, "gamma": gamma}
    rows = [row for name in datasets for row in scores_of(name, trials, params)]
    means = pd.DataFrame(rows).groupby(["dataset", "rule"], sort=False)[list(COLUMNS)].mean()
    click.echo(means.round(3).to_string())


if __name__ == "__main__":
    main()
