"""Published values of the clustering paper, which reports print next to measured ones."""

from __future__ import annotations

from dsgkit.published import bsgd_svc
from dsgkit.published.audit import findings
from dsgkit.tasks.measures import Published, PublishedFigure

SOURCE = "Pham, Le & Dang (2017), who do not say how they chose parameters"

INDEX_TOLERANCE = 0.05
"""Largest difference at which a published purity, Rand index or NMI agrees with a measured one."""

_AUDITED = ("purity", "rand", "nmi")
_NAMES = {"training_seconds": "fit_seconds"}
"""Our names of the paper's measures, if different."""


def published_of(dataset: str | None) -> Published | None:
    """Return the published figures of a dataset, flagged if they cannot be right; None without.

    A flag on purity, Rand index or NMI concerns all three, as the wrong one is unknown. A time is
    flagged if it contradicts the paper's text.
    """
    if dataset not in bsgd_svc.datasets():
        return None
    figures = tuple(_figure(cell) for cell in bsgd_svc.figures() if cell.dataset == dataset)
    return Published(source=SOURCE, figures=figures)


def _figure(figure: bsgd_svc.Figure) -> PublishedFigure:
    audited = figure.measure in _AUDITED
    key = figure.dataset, figure.method
    return PublishedFigure(
        solver=bsgd_svc.key_of(figure.method),
        measure=_NAMES.get(figure.measure, figure.measure),
        value=figure.value,
        decimals=figure.decimals,
        tolerance=INDEX_TOLERANCE if audited else None,
        flag=_flag(*key) if audited else bsgd_svc.contradiction(*key, figure.measure),
    )


def _flag(dataset: str, method: str) -> str:
    """Return why the three indices of a method are meaningless; empty if they are not."""
    finding = findings()[dataset, method]
    if finding.impossible:
        return f"impossible: {'; '.join(finding.impossible)}"
    return f"the Rand index of {finding.degenerate}" if finding.degenerate else ""
