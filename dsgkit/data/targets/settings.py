"""Targets as the catalogue and configs describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsgkit.data.targets.binary import Binary
from dsgkit.data.targets.bins import Bins
from dsgkit.data.targets.nominal import Nominal
from dsgkit.data.targets.numeric import Numeric
from dsgkit.data.targets.ordered import Ordered


def target_of(settings: Mapping[str, Any]) -> Binary | Bins | Ordered | Nominal | Numeric:
    """Return the target that the catalogue or a config describes.

    Parameters
    ----------
    settings : mapping
        ``{positive: labels}``, with ``negative`` if need be; ``{bins: count}``; ``{ordered:
        labels}``, where True stands for ascending numbers; ``{classes: labels}``, where True stands
        for all that there are; ``{numeric: true}``.

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
