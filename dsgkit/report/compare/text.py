"""A comparison as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from dsgkit.experiment.results import Results
from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.compare.differences import Difference
from dsgkit.report.compare.effect_tables import effects_table
from dsgkit.report.compare.tables import choices_table, status_table
from dsgkit.report.compare.verdict import verdict
from dsgkit.report.compare.wording import counted
from dsgkit.report.layout import Layout, plain

WIDEST_PROSE = 100
INDENT = "  "


def comparison_text(comparison: Comparison, width: int) -> str:
    """Return a comparison for people: the verdict first, then what it rests on.

    Parameters
    ----------
    comparison : Comparison
    width : int
        Columns of the terminal. Prose keeps to it; tables leave out the tests by ranks where they
        would not fit.
    """
    prose = min(width, WIDEST_PROSE)
    parts = [
        _wrapped(verdict(comparison), prose),
        "\n".join(_side(name, one) for name, one in (("A", comparison.a), ("B", comparison.b))),
        "\n".join(_wrapped(remark, prose) for remark in _remarks(comparison)),
        *_effect_tables(comparison, width, prose),
        _choices(comparison, prose),
        *([_table(status_table(comparison).layouts[0], prose)] if comparison.mismatches else []),
        _differences("config", comparison.config, prose),
        _differences("environment", comparison.environment, prose),
    ]
    return "\n\n".join(parts)


def _side(name: str, results: Results) -> str:
    trials = counted(results.experiment.protocol.trials, "trial")
    return f"{name}: {results.folder} ({results.dataset}, {trials}, {len(results.cells):,} fits)"


def _remarks(comparison: Comparison) -> list[str]:
    """Return what has to be known before the numbers are read."""
    if comparison.paired:
        remarks = ["Trials are paired: the same splits in A and in B."]
    else:
        remarks = [f"Trials are not paired: {'; '.join(comparison.unpaired)}."]
    if 0 < comparison.identical < comparison.common:
        remarks.append(
            f"{comparison.identical:,} of {comparison.common:,} common results are identical."
        )
    if comparison.timing_problems:
        problems = "; ".join(comparison.timing_problems)
        remarks.append(f"Warning: times are not comparable: {problems}.")
    return remarks


def _effect_tables(comparison: Comparison, width: int, prose: int) -> list[str]:
    """Return the tables of effects, without the tests by ranks where they would be too wide."""
    texts = []
    for quantity, effects in comparison.effects:
        layout = effects_table(comparison, quantity, effects).layouts[0]
        if _table_width(layout) > width:
            layout = effects_table(comparison, quantity, effects, ranks=False).layouts[0]
        texts.append(_table(layout, prose))
    return texts


def _table_width(layout: Layout) -> int:
    return max(map(len, plain(replace(layout, caption="", footnotes=())).splitlines()))


def _table(layout: Layout, prose: int) -> str:
    """Return a table whose caption and footnotes keep to the width."""
    notes = [_wrapped(note, prose) for note in layout.footnotes]
    return plain(replace(layout, caption=_wrapped(layout.caption, prose), footnotes=notes)).rstrip()


def _choices(comparison: Comparison, prose: int) -> str:
    """Return the hyper-parameters that differ, or that none does."""
    if comparison.paired and not any(choice.differing for choice in comparison.choices):
        return "Chosen hyper-parameters: the same in every trial."
    return _table(choices_table(comparison).layouts[0], prose)


def _differences(name: str, members: Sequence[Difference], prose: int) -> str:
    """Return settings that differ, a line each: they are too long for a table."""
    if not members:
        return f"What differs in the {name}: nothing."
    lines = [f"{INDENT}{one.key}: {one.a} → {one.b}" for one in members]
    return "\n".join(
        [f"What differs in the {name} (A → B):", *(_wrapped(line, prose) for line in lines)]
    )


def _wrapped(text: str, width: int) -> str:
    """Return a paragraph in lines of a width; words that are longer stay whole."""
    indent = 2 * INDENT if text.startswith(INDENT) else ""
    return textwrap.fill(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
