"""Targets from the settings in the catalogue and in configs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsgkit.data.targets.binary import Binary
from dsgkit.data.targets.bins import Bins
from dsgkit.data.targets.nominal import Nominal
from dsgkit.data.targets.numeric import Numeric
from dsgkit.data.targets.ordered import Ordered


def target_of(settings: Mapping[str, Any]) -> Binary | Bins | Ordered | Nominal | Numeric:
    """Return the target for the settings of the catalogue or a config.

    Parameters
    ----------
    settings : mapping
        ``{positive: labels}``, optionally with ``negative``; ``{bins: count}``; ``{ordered:
        labels}``, or True for ascending numbers; ``{classes: labels}``, or True for all labels;
        ``{numeric: true}``.

    Raises
    ------
    ValueError
        For anything else.
    """
    match dict(settings):
        case {"bins": count, **rest} if not rest:
            return Bins(count)
        case {"ordered": order, **rest} if not rest:
            return Ordered(None if order is True else order)
        case {"classes": labels, **rest} if not rest:
            return Nominal(None if labels is True else labels)
        case {"numeric": True, **rest} if not rest:
            return Numeric()
        case sides:
            return Binary(**sides)
