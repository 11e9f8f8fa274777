"""Results that were computed by other code than the plan's, after an edit or an update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from dsgkit.experiment.folder import PlanEntry
from dsgkit.experiment.plan import Cell
from dsgkit.experiment.records import Records
from dsgkit.experiment.status import cells


class OtherCode(NamedTuple):
    """Cells by key whose results come from other code, and those for which this is unknown."""

    changed: dict[str, Cell | PlanEntry]
    unknown: dict[str, Cell | PlanEntry]

    def of(self, solvers: Collection[str]) -> OtherCode:
        """Return those of some solvers only."""
        parts = ({k: cell for k, cell in part.items() if cell.solver in solvers} for part in self)
        return OtherCode(*parts)

    def described(self, name_of: Callable[[str], str], remedy: str = "") -> str:
        """Return a line with the number of cells per solver; empty if there are none.

        Parameters
        ----------
        name_of : callable
            Takes the key of a solver.
        remedy : str
            Advice about results of other code.
        """
        parts = []
        if self.changed:
            counts = Counter(name_of(cell.solver) for cell in self.changed.values())
            solvers = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            parts += [f"{cells(len(self.changed))} computed by other code ({solvers})", remedy]
        if self.unknown:
            parts.append(f"{cells(len(self.unknown))} without a record of the code")
        return "; ".join(filter(None, parts))


def by_other_code(plan: Iterable[Cell | PlanEntry], records: Records) -> OtherCode:
    """Return the cells of a plan whose records were not computed by the plan's code."""
    other = OtherCode({}, {})
    for cell in plan:
        code = records.entry(cell.key, "code")
        if code is None or cell.code is None:
            if cell.key in records:
                other.unknown[cell.key] = cell
        elif code != cell.code:
            other.changed[cell.key] = cell
    return other


def to_renew(plan: Sequence[Cell], records: Records) -> set[str]:
    """Return the keys of cells from other code, and of cells that depend on them."""
    keys = set(by_other_code(plan, records).changed)
    for cell in plan:  # searches come before the cells that need them
        if not keys.isdisjoint(cell.needs):
            keys.add(cell.key)
    return keys
