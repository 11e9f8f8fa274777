"""The figures of a report, drawn without any display or global state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from dsgkit.errors import ResultsError
from dsgkit.experiment.results import Results
from dsgkit.report.boxplots import auc_boxplot
from dsgkit.report.curves import time_curve
from dsgkit.report.panels import save
from dsgkit.report.summary import check_recorded, has_values

__all__ = ["FIGURES", "auc_boxplot", "auc_test_boxplot", "draw_figures", "time_curve"]


def auc_test_boxplot(results: Sequence[Results]) -> Figure:
    """Draw `auc_boxplot` for the AUC on the official test rows, where a dataset has them."""
    return auc_boxplot([one for one in results if has_values(one, "test_auc")], "test_auc")


# Each with the column that it needs, by the output that asks for it.
FIGURES: dict[str, dict[str, tuple[str, Callable[[Sequence[Results]], Figure]]]] = {
    "time_curve": {"time_curve": ("fit_seconds", time_curve)},
    "auc_boxplot": {
        "auc_boxplot": ("auc", auc_boxplot),
        "auc_test_boxplot": ("test_auc", auc_test_boxplot),
    },
}


def draw_figures(results: Sequence[Results], folder: Path, outputs: Sequence[str]) -> list[Path]:
    """Draw figures of one or several results folders as PDF and PNG and return their paths.

    Parameters
    ----------
    results : sequence of Results
        Several make one panel each, four in a row.
    folder : Path
        The files go to ``figures/`` in it.
    outputs : sequence of str
        Names of `FIGURES`; others (those of tables) are passed over. ``auc_boxplot`` brings
        ``auc_test_boxplot`` where a dataset has an official test part.

    Raises
    ------
    ResultsError
        If no fit has finished, or the folder cannot be written.
    """
    check_recorded(results)
    if not any(has_values(one, "fit_seconds") for one in results):
        folders = ", ".join(str(one.folder) for one in results)
        raise ResultsError(f"{folders}: no fit has finished, so there is nothing to draw")
    return [
        path
        for output in outputs
        for name, (column, draw) in FIGURES.get(output, {}).items()
        if any(has_values(one, column) for one in results)
        for path in save(draw(results), Path(folder) / "figures" / name)
    ]
