"""Names of tables and figures as users ask for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dsgkit.errors import ResultsError
from dsgkit.hints import nearest_or_all


def check_names(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raise `ResultsError` for the first name that is not a known one.

    Parameters
    ----------
    names : iterable of str
    known : sequence of str
    what : str
        What has these names, such as ``figure``.
    """
    for name in names:
        if name not in known:
            raise ResultsError(f"there is no {what} {name!r}{nearest_or_all(name, known)}")
