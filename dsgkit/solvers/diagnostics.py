"""Objective of a fitted function and its parts, for the records."""

from __future__ import annotations


def penalised(risk: float, penalty: float, squared_norm: float) -> dict[str, float]:
    """Return an objective and its parts.

    Parameters
    ----------
    risk : float
        Depends on the values at the training rows.
    penalty : float
        Factor of the squared norm.
    squared_norm : float
    """
    objective = risk + penalty * squared_norm
    return {"objective": objective, "risk": risk, "squared_norm": squared_norm}
