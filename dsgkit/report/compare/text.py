"""A comparison as text for a terminal: whether B reproduces A, then what that rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from dsgkit.experiment.results import Results
from dsgkit.report.compare.comparison import Comparison
from dsgkit.report.compare.differences import Difference
from dsgkit.report.compare.tables import choices_table, effects_layout, status_table
from dsgkit.report.contrasts import LEVEL
from dsgkit.report.effects import Effect, is_ratio
from dsgkit.report.formats import Table
from dsgkit.report.numbers import counted, difference_text, percents, ratio_text
from dsgkit.report.summary import LEFT_OUT_WORDS, NOT_RUN, lowered
from dsgkit.report.terminal import fits_whole, plain
from dsgkit.tasks.measures import Measure
from dsgkit.text.terminal import paragraph

AT_LEVEL = f"at the {LEVEL:.0%} level after Holm's correction"
INDENT = "  "
MAX_NAMED = 3
"""Differences that the answer names at most, the largest first."""

LONGEST_VALUES = 40
"""Characters of two values of a setting that the answer shows."""

NO_FIT = (NOT_RUN, LEFT_OUT_WORDS)
DIFFERENT_ENDING = "ended differently"


def comparison_text(comparison: Comparison, width: int) -> str:
    """Return a comparison for people: the answer in a sentence, then what it rests on.

    Lines have at most ``width`` columns; tables leave out the tests by ranks where they would not
    fit.
    """
    parts = [
        paragraph(answer(comparison), width),
        paragraph(verdict(comparison), width),
        "\n".join(
            _side(name, one, width) for name, one in (("A", comparison.a), ("B", comparison.b))
        ),
        "\n".join(paragraph(remark, width) for remark in _remarks(comparison)),
        *_effect_tables(comparison, width),
        _choices(comparison, width),
        *([_table(status_table(comparison), width)] if comparison.mismatches else []),
        _differences("config", comparison.config, width),
        _differences("environment", comparison.environment, width),
    ]
    return "\n\n".join(parts)


def answer(comparison: Comparison) -> str:
    """Return whether B reproduces A, or agrees with it but for chance, or is another experiment."""
    common, a, b = counted(comparison.common, "fit"), comparison.a, comparison.b
    if a.dataset != b.dataset and not _same_rows(a, b):
        return f"B does not repeat A: the data of B are {b.dataset}, those of A {a.dataset}."
    if comparison.identical == comparison.common:
        same = f"all {common} that both have are identical but for times"
        parts = [_judged(comparison, "B reproduces A", same)]
    else:
        parts = _agreement(comparison)
    apart: Counter[str] = Counter()
    for one in comparison.mismatches:
        where = (
            "in A only" if one.b in NO_FIT else "in B only" if one.a in NO_FIT else DIFFERENT_ENDING
        )
        apart[where] += len(one.sizes) * len(one.trials)
    parts += [f"{counted(n, 'fit')} {where}" for where, n in sorted(apart.items())]
    text = f"{'; '.join(parts)}."
    if comparison.changed:
        return f"{_two_experiments(comparison.changed)}. {text[0].upper()}{text[1:]}"
    return text


def _two_experiments(changed: Sequence[Difference]) -> str:
    """Return in which settings two experiments differ."""
    named = ", ".join(_short(one) for one in changed[:MAX_NAMED])
    more = f" and {len(changed) - MAX_NAMED:,} more" if len(changed) > MAX_NAMED else ""
    return f"A and B differ in {named}{more}: this compares two experiments, not a reproduction"


def _short(difference: Difference) -> str:
    """Return a setting that differs, with its values unless they are long."""
    values = f"{difference.a}, {difference.b}"
    return f"{difference.key} ({values})" if len(values) <= LONGEST_VALUES else difference.key


def _judged(comparison: Comparison, judgement: str, why: str) -> str:
    """Return a judgement with its reason; of two experiments the latter alone."""
    return why if comparison.changed else f"{judgement}: {why}"


def _same_rows(a: Results, b: Results) -> bool:
    """Return whether both are known to have the same data; only their configs' names may differ."""
    content = a.data.get("content_hash")
    return content is not None and content == b.data.get("content_hash")


def _agreement(comparison: Comparison) -> list[str]:
    """Return what the tests say of the scores of fits that are not all identical."""
    scores = [(m, one) for m, of in comparison.effects if not is_ratio(m) for one in of]
    scores.sort(key=_printed_size, reverse=True)
    changes = [one for one in scores if one[1].significant]
    judged = [one for one in scores if one[1].contrast.identical or one[1].holm_t is not None]
    most = f"largest difference {_difference(comparison, *scores[0])}" if scores else ""
    if not scores:
        return [_judged(comparison, "B does not reproduce A", "no fit finished in both")]
    if not judged:
        number = counted(len(scores), "score")
        return [f"Too few trials to tell B from A: {number} without a test", most]
    if not changes:
        of = f"0 of {len(judged):,} after Holm"
        same = f"no score differs beyond chance ({of})"
        return [_judged(comparison, "B agrees with A", same), most]
    named = ", ".join(_difference(comparison, *one) for one in changes[:MAX_NAMED])
    more = f" and {len(changes) - MAX_NAMED:,} more" if len(changes) > MAX_NAMED else ""
    differ = (
        f"{len(changes):,} of {counted(len(judged), 'score')} "
        f"{'differs' if len(changes) == 1 else 'differ'} beyond chance: {named}{more}"
    )
    return [_judged(comparison, "B does not reproduce A", differ)]


def _printed_size(score: tuple[Measure, Effect]) -> float:
    """Return a difference in units of the last digit that tables show."""
    measure, effect = score
    return abs(percents(measure, effect.contrast.difference)) * 10.0**measure.digits


def _difference(comparison: Comparison, measure: Measure, effect: Effect) -> str:
    """Return a difference with the solver and size that it is of."""
    number = percents(measure, effect.contrast.difference)
    at = f" at {effect.size.n:,}" if comparison.axis else ""
    text = difference_text(number, None, measure.digits + 1)
    return f"{measure.word} {text} ({effect.solver}{at})"


def _side(name: str, results: Results, width: int) -> str:
    trials = counted(results.trials, "trial")
    text = f"{name}: {results.folder} ({results.dataset}, {trials}, {len(results.cells):,} fits)"
    return paragraph(text, width, INDENT)


def _remarks(comparison: Comparison) -> list[str]:
    """Return what has to be known before the numbers are read."""
    if comparison.paired:
        remarks = ["Trials are paired: the same splits in A and in B."]
    else:
        remarks = [f"Trials are not paired: {'; '.join(comparison.unpaired)}."]
    remarks += _rows_of_all(comparison)
    if 0 < comparison.identical < comparison.common:
        remarks.append(
            f"{comparison.identical:,} of {comparison.common:,} common results are identical."
        )
    if comparison.timing_problems:
        problems = "; ".join(comparison.timing_problems)
        remarks.append(f"Warning: times are not comparable: {problems}.")
    return remarks


def _rows_of_all(comparison: Comparison) -> list[str]:
    """Return how many rows `all` are, where that differs."""
    sides = (comparison.a.cells, comparison.b.cells)
    a, b = (sorted(set(cells.loc[cells["full"], "size"])) for cells in sides)
    if comparison.axis is None or a == b or not (len(a) == len(b) == 1):
        return []
    return [
        f"`all` is {a[0]:,} {lowered(comparison.axis.title)} in A and {b[0]:,} in B: "
        "tables call it by the number of A."
    ]


def _effect_tables(comparison: Comparison, width: int) -> list[str]:
    """Return the tables of effects, without the tests by ranks where they would be too wide."""
    texts = []
    for measure, effects in comparison.effects:
        layout = effects_layout(comparison, measure, effects)
        if not fits_whole(layout, width):
            layout = effects_layout(comparison, measure, effects, ranks=False)
        texts.append(plain(layout, width).rstrip())
    return texts


def _table(table: Table, width: int) -> str:
    return plain(table.layouts[0], width).rstrip()


def _choices(comparison: Comparison, width: int) -> str:
    """Return the hyper-parameters that differ, or that none does."""
    if comparison.paired and not any(choice.differing for choice in comparison.choices):
        return "Chosen hyper-parameters: the same in every trial."
    return _table(choices_table(comparison), width)


def _differences(name: str, members: Sequence[Difference], width: int) -> str:
    """Return settings that differ, a line each: they are too long for a table."""
    if not members:
        return f"What differs in the {name}: nothing."
    lines = [f"{one.key}: {one.a} → {one.b}" for one in members]
    paragraphs = (paragraph(line, width, 2 * INDENT, first=INDENT) for line in lines)
    return "\n".join([f"What differs in the {name} (A → B):", *paragraphs])


def verdict(comparison: Comparison) -> str:
    """Return what comes out measure by measure; scores are left out where all are identical."""
    same = comparison.identical == comparison.common
    parts = []
    for measure, effects in comparison.effects:
        if is_ratio(measure):
            parts.append(f"{measure.word}: {_time(effects, comparison)}")
        elif not same:
            parts.append(f"{measure.word}: {_score(effects, comparison)}")
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
        f"{word} in {len(members)} ({_names(members)})"
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
        names = f": {_names(changes)}" if changes else ""
        parts.append(f"{len(changes) or 'none'} significant{names}")
    text = f"B takes {ratio} times as long ({'; '.join(parts)})"
    return f"{text}, but times are not comparable" if comparison.timing_problems else text


def _names(effects: Sequence[Effect]) -> str:
    """Return the solvers that effects are of."""
    return ", ".join(dict.fromkeys(effect.solver for effect in effects))
