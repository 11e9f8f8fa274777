"""How a comparison writes numbers."""

from __future__ import annotations

from collections.abc import Sequence

NONE = "–"
_SMALLEST_FIXED = 5e-4


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, whose plural may be irregular."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def p_text(p: float | None) -> str:
    """Return a p-value."""
    if p is None:
        return NONE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def ratio_text(ratio: float) -> str:
    """Return a ratio with two digits after the point, of a small or large one two or more."""
    if ratio < 0.1:
        return f"{ratio:#.2g}"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def difference_text(difference: float, interval: tuple[float, float] | None) -> str:
    """Return a difference with its interval, all small ones in powers of ten."""
    numbers = [difference, *(interval or ())]
    form = "z.4f" if max(map(abs, numbers)) >= _SMALLEST_FIXED else ".1e"
    first, *limits = f"{difference:+{form}}", *(f"{limit:{form}}" for limit in interval or ())
    return f"{first} [{', '.join(limits)}]" if limits else first


def trials_text(trials: Sequence[int]) -> str:
    """Return trials as people count them, runs of them as ranges: ``1-3, 5``."""
    runs: list[list[int]] = []
    for trial in sorted(trials):
        if runs and trial == runs[-1][-1] + 1:
            runs[-1].append(trial)
        else:
            runs.append([trial])
    return ", ".join(
        f"{run[0] + 1}" if len(run) == 1 else f"{run[0] + 1}-{run[-1] + 1}" for run in runs
    )
