"""Names of datasets, solvers and outputs in tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dsgkit.experiment.results import Results


def titles(results: Sequence[Results]) -> list[str]:
    """Return a different name for each: the dataset's, or the experiment's if two share one."""
    datasets = Counter(one.dataset for one in results)
    names = [one.dataset if datasets[one.dataset] == 1 else one.experiment.name for one in results]
    seen: Counter[str] = Counter()
    different = []
    for name in names:
        seen[name] += 1
        different.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return different


def all_outputs(results: Sequence[Results]) -> list[str]:
    """Return the tables and figures that any of several experiments asks for."""
    return list(dict.fromkeys(name for one in results for name in one.experiment.outputs))


def all_labels(results: Sequence[Results]) -> dict[str, str]:
    """Return the printed name of every solver of several results, in the order of the first."""
    labels: dict[str, str] = {}
    for one in results:
        for solver in one.solvers:
            labels.setdefault(solver, one.label(solver))
    return labels
