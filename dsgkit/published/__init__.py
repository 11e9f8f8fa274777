"""Published figures of papers as data, and checks of their consistency."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file of this folder, such as ``complexities.csv``."""
    with files(__package__).joinpath(name).open(encoding="utf-8") as lines:
        return [*csv.DictReader(lines)]
