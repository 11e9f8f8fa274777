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
    """Return what comes out of a comparison, AUC first."""
    same = comparison.identical == comparison.common
    parts = [f"all {comparison.common:,} common results are identical"] if same else []
    for quantity, effects in comparison.effects:
        if quantity is TIME:
            parts.append(f"{TIME.name}: {_time(effects, comparison)}")
        elif not same:
            parts.append(f"{quantity.name}: {_auc(effects, comparison.paired)}")
    if not comparison.effects:
        parts.append("no fit finished in both A and B")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _auc(effects: Sequence[Effect], paired: bool) -> str:
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
    tests = f"{'paired' if paired else 'Welch'} t-tests{beside}"
    changes = [effect.contrast.difference for effect in effects if effect.significant]
    signs = {"higher": sum(d > 0 for d in changes), "lower": sum(d < 0 for d in changes)}
    found = " and ".join(f"{word} in {n}" for word, n in signs.items() if n)
    if not found:
        return f"no difference {AT_LEVEL} ({number}, {tests})"
    return f"B is {found} of {number} {AT_LEVEL} ({tests})"


def _time(effects: Sequence[Effect], comparison: Comparison) -> str:
    """Return the typical ratio, how much of it is beyond chance, and whether it means anything."""
    if all(effect.contrast.identical for effect in effects):
        return "identical"
    ratio = ratio_text(median(effect.ratio for effect in effects))
    differing = sum(effect.significant for effect in effects) or "none"
    beyond = f", {differing} significant" if any(e.holm_t is not None for e in effects) else ""
    text = f"B takes {ratio} times as long (median over {len(effects)}{beyond})"
    return f"{text}, but times are not comparable" if comparison.timing_problems else text
