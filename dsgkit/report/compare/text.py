"""A comparison as text for a terminal: whether B reproduces A, then the evidence."""

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
from dsgkit.text import paragraph

AT_LEVEL = f"at the {LEVEL:.0%} level after Holm's correction"
INDENT = "  "
MAX_NAMED = 3
"""Most differences named in the answer, the largest first."""

LONGEST_VALUES = 40
"""Longest text of two values of a setting in the answer."""

NO_FIT = (NOT_RUN, LEFT_OUT_WORDS)
DIFFERENT_ENDING = "ended differently"


def comparison_text(comparison: Comparison, width: int) -> str:
    """Return a comparison as text: the answer in a sentence, then the evidence.

    Lines have at most ``width`` columns; tables that are too wide leave out the tests by ranks.
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
    """Return whether B reproduces A, agrees up to chance, or is another experiment."""
    common, a, b = counted(comparison.common, "fit"), comparison.a, comparison.b
    if a.dataset != b.dataset and not _same_rows(a, b):
        return f"B does not repeat A: the data of B are {b.dataset}, those of A {a.dataset}."
    if comparison.identical == comparison.common:
        same = f"all {common} that both have are identical but for times"
        parts = [_judged(comparison, "B reproduces A", same)]
    else:
        parts = _agreement(comparison)
    unmatched: Counter[str] = Counter()
    for one in comparison.mismatches:
        where = (
            "in A only" if one.b in NO_FIT else "in B only" if one.a in NO_FIT else DIFFERENT_ENDING
        )
        unmatched[where] += len(one.sizes) * len(one.trials)
    parts += [f"{counted(n, 'fit')} {where}" for where, n in sorted(unmatched.items())]
    text = f"{'; '.join(parts)}."
    if comparison.changed:
        return f"{_two_experiments(comparison.changed)}. {text[0].upper()}{text[1:]}"
    return text


def _two_experiments(changed: Sequence[Difference]) -> str:
    """Return the sentence that A and B are two experiments, with the settings that differ."""
    named = ", ".join(_short(one) for one in changed[:MAX_NAMED])
    more = f" and {len(changed) - MAX_NAMED:,} more" if len(changed) > MAX_NAMED else ""
    return f"A and B differ in {named}{more}: this compares two experiments, not a reproduction"


def _short(difference: Difference) -> str:
    """Return a setting that differs, with its values unless they are long."""
    values = f"{difference.a}, {difference.b}"
    return f"{difference.key} ({values})" if len(values) <= LONGEST_VALUES else difference.key


def _judged(comparison: Comparison, judgement: str, why: str) -> str:
    """Return a judgement with its reason; for two experiments, the reason only."""
    return why if comparison.changed else f"{judgement}: {why}"


def _same_rows(a: Results, b: Results) -> bool:
    """Return whether both are known to have the same data, possibly under other names."""
    content = a.data.get("content_hash")
    return content is not None and content == b.data.get("content_hash")


def _agreement(comparison: Comparison) -> list[str]:
    """Return the tests' conclusion on scores that are not all identical."""
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
    """Return a difference with its solver and size."""
    number = percents(measure, effect.contrast.difference)
    at = f" at {effect.size.n:,}" if comparison.axis else ""
    text = difference_text(number, None, measure.digits + 1)
    return f"{measure.word} {text} ({effect.solver}{at})"


def _side(name: str, results: Results, width: int) -> str:
    trials = counted(results.experiment.protocol.trials, "trial")
    text = f"{name}: {results.folder} ({results.dataset}, {trials}, {len(results.cells):,} fits)"
    return paragraph(text, width, INDENT)


def _remarks(comparison: Comparison) -> list[str]:
    """Return remarks on pairing, common results and times."""
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
    """Return a remark if `all` is another number of rows in A than in B."""
    sides = (comparison.a.cells, comparison.b.cells)
    a, b = (sorted(set(cells.loc[cells["full"], "size"])) for cells in sides)
    if comparison.axis is None or a == b or not (len(a) == len(b) == 1):
        return []
    return [
        f"`all` is {a[0]:,} {lowered(comparison.axis.title)} in A and {b[0]:,} in B: "
        "tables call it by the number of A."
    ]


def _effect_tables(comparison: Comparison, width: int) -> list[str]:
    """Return the tables of effects; those that are too wide lack the tests by ranks."""
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
    """Return the hyper-parameters that differ, or a sentence that none does."""
    if comparison.paired and not any(choice.differing for choice in comparison.choices):
        return "Chosen hyper-parameters: the same in every trial."
    return _table(choices_table(comparison), width)


def _differences(name: str, members: Sequence[Difference], width: int) -> str:
    """Return settings that differ, one per line: they are too long for a table."""
    if not members:
        return f"What differs in the {name}: nothing."
    lines = [f"{one.key}: {one.a} → {one.b}" for one in members]
    paragraphs = (paragraph(line, width, 2 * INDENT, first=INDENT) for line in lines)
    return "\n".join([f"What differs in the {name} (A → B):", *paragraphs])


def verdict(comparison: Comparison) -> str:
    """Return the result for each measure; scores only if some differ."""
    same = comparison.identical == comparison.common
    parts = []
    for measure, effects in comparison.effects:
        if is_ratio(measure):
            parts.append(f"{measure.word}: {_time(effects, comparison)}")
        elif not same:
            parts.append(f"{measure.word}: {_score(effects, comparison)}")
    if comparison.disturbed:
        number = f"of {comparison.disturbed:,} of {counted(comparison.common, 'fit')} "
        parts.append(f"times {number}were disturbed and are not compared")
    elif not comparison.effects:
        parts.append("no fit finished in both A and B")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _score(effects: Sequence[Effect], comparison: Comparison) -> str:
    """Return the t-tests' conclusion on the differences of one score."""
    alike = sum(effect.contrast.identical for effect in effects)
    if alike == len(effects):
        return f"identical in {counted(alike, 'comparison')}"
    others = f"; {alike} more identical" if alike else ""
    tested = sum(effect.holm_t is not None for effect in effects)
    if not tested:
        number = counted(len(effects) - alike, "comparison")
        return f"not tested, for want of trials ({number}{others})"
    number = counted(tested, "comparison")
    tests = f"{'paired' if comparison.paired else 'Welch'} t-tests{others}"
    changes = [effect for effect in effects if effect.significant]
    signs = {
        "higher": [effect for effect in changes if effect.contrast.difference > 0],
        "lower": [effect for effect in changes if effect.contrast.difference < 0],
    }
    changed = " and ".join(
        f"{word} in {len(members)} ({_names(members)})"
        for word, members in signs.items()
        if members
    )
    if not changed:
        return f"no difference {AT_LEVEL} ({number}, {tests})"
    return f"B is {changed} of {number} {AT_LEVEL} ({tests})"


def _time(effects: Sequence[Effect], comparison: Comparison) -> str:
    """Return the median ratio of times, the significant ones, and whether they are comparable."""
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
    """Return the names of the effects' solvers."""
    return ", ".join(dict.fromkeys(effect.solver for effect in effects))
