"""A comparison in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.compare.contrasts import LEVEL
from dsgkit.report.compare.effects import TIME, Effect
from dsgkit.report.compare.wording import counted, ratio_text

AT_LEVEL = f"at the {LEVEL:.0%} level after Holm's correction"


def verdict(comparison: Comparison) -> str:
    """Return what comes out of a comparison, scores first."""
    same = comparison.identical == comparison.common
    parts = [f"all {comparison.common:,} common results are identical"] if same else []
    for quantity, effects in comparison.effects:
        if quantity is TIME:
            parts.append(f"{TIME.name}: {_time(effects, comparison)}")
        elif not same:
            parts.append(f"{quantity.name}: {_score(effects, comparison)}")
    if not comparison.effects:
        parts.append("no fit finished in both A and B")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _score(effects: Sequence[Effect], comparison: Comparison) -> str:
    """Return what the t-tests say of differences."""
    alike = sum(effect.contrast.identical for effect in effects)
    if alike == len(effects):
        return f"identical in {counted(alike, 'comparison')}"
    beside = f"; {alike} more identical" if alike else ""
    tested = sum(effect.holm_t is not None for effect in effects)
    if not tested:
        number = counted(len(effects) - alike, "comparison")
        return f"not tested, for want of trials ({number}{beside})"
    number = counted(tested, "comparison")
    tests = f"{'paired' if comparison.paired else 'Welch'} t-tests{beside}"
    changes = [effect for effect in effects if effect.significant]
    signs = {
        "higher": [effect for effect in changes if effect.contrast.difference > 0],
        "lower": [effect for effect in changes if effect.contrast.difference < 0],
    }
    found = " and ".join(
        f"{word} in {len(members)} ({_names(members, comparison)})"
        for word, members in signs.items()
        if members
    )
    if not found:
        return f"no difference {AT_LEVEL} ({number}, {tests})"
    return f"B is {found} of {number} {AT_LEVEL} ({tests})"


def _time(effects: Sequence[Effect], comparison: Comparison) -> str:
    """Return the typical ratio, how much of it is beyond chance, and whether it means anything."""
    if all(effect.contrast.identical for effect in effects):
        return "identical"
    ratio = ratio_text(median(effect.ratio for effect in effects))
    parts = [f"median over {len(effects)}"]
    if any(effect.holm_t is not None for effect in effects):
        changes = [effect for effect in effects if effect.significant]
        names = f": {_names(changes, comparison)}" if changes else ""
        parts.append(f"{len(changes) or 'none'} significant{names}")
    text = f"B takes {ratio} times as long ({'; '.join(parts)})"
    return f"{text}, but times are not comparable" if comparison.timing_problems else text


def _names(effects: Sequence[Effect], comparison: Comparison) -> str:
    """Return the solvers that effects are of."""
    return ", ".join(dict.fromkeys(comparison.labels[effect.solver] for effect in effects))
