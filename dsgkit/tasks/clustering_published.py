"""Published values of the clustering paper, which reports print next to measured ones."""

from __future__ import annotations

from dsgkit.published import bsgd_svc
from dsgkit.published.audit import findings
from dsgkit.tasks.base import Published, PublishedFigure

SOURCE = "Pham, Le & Dang (2017), who do not say how they chose parameters"

INDEX_TOLERANCE = 0.05
"""Within which a published purity, Rand index or NMI agrees with a measured one."""

_AUDITED = ("purity", "rand", "nmi")
_NAMES = {"training_seconds": "fit_seconds"}
"""Our names of measures, where the paper has others."""


def published_of(dataset: str | None) -> Published | None:
    """Return the figures of a dataset, with a remark on each that cannot be right; None of others.

    The remark of a purity, Rand index or NMI is on all three: which one is wrong is unknown.
    That of a time is where it contradicts the paper's text.
    """
    if dataset not in bsgd_svc.datasets():
        return None
    figures = tuple(_figure(one) for one in bsgd_svc.figures() if one.dataset == dataset)
    return Published(source=SOURCE, figures=figures)


def _figure(figure: bsgd_svc.Figure) -> PublishedFigure:
    audited = figure.measure in _AUDITED
    where = figure.dataset, figure.method
    return PublishedFigure(
        solver=bsgd_svc.key_of(figure.method),
        measure=_NAMES.get(figure.measure, figure.measure),
        value=figure.value,
        decimals=figure.decimals,
        tolerance=INDEX_TOLERANCE if audited else None,
        flag=_remark(*where) if audited else bsgd_svc.contradiction(*where, figure.measure),
    )


def _remark(dataset: str, method: str) -> str:
    """Return why the three indices of a method say nothing of its clusters, if they do not."""
    finding = findings()[dataset, method]
    if finding.impossible:
        return f"impossible: {'; '.join(finding.impossible)}"
    return f"the Rand index of {finding.degenerate}" if finding.degenerate else ""
