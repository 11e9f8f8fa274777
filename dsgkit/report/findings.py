"""Findings: the main results as sentences."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dsgkit.errors import in_a_line
from dsgkit.experiment.results import Results
from dsgkit.experiment.status import by_cause, places, reason
from dsgkit.report.choices import edge_choices
from dsgkit.report.contrasts import LEVEL
from dsgkit.report.crossings import crossings
from dsgkit.report.effects import Effect, adjusted, effects, pairs
from dsgkit.report.gains import Gain, gain_measures, gains
from dsgkit.report.numbers import (
    SHORTEST_TIME,
    counted,
    in_sentence,
    listed,
    p_text,
    ratio_text,
    score_text,
    seconds_text,
    value_text,
)
from dsgkit.report.old_names import grouped, run_of
from dsgkit.report.summary import Entry, Size, Summary, lowered, summarise
from dsgkit.tasks.measures import GAINS, TIME, Measure, place_asked
from dsgkit.text import paragraph

MAX_FINDING_LINES = 20
"""Most lines of one experiment's findings in a terminal."""

MAX_MEASURES = 3
MIN_RIVALS = 2
MAX_LISTED_SOLVERS = 4
"""Most solvers named in a list."""

MAX_CAUSES = 4
LONGEST_REASON = 120
"""Characters."""

MIN_EDGE_SHARE = 0.5
"""A grid should be widened if at least this share of searches chose an end of it."""

Kind = Literal[
    "progress", "best", "caution", "gain", "oracle", "time", "crossing", "ending", "edge", "test"
]


@dataclass(frozen=True)
class Finding:
    """A sentence on results, and the output with its numbers, if there is one."""

    kind: Kind
    sentence: str
    rests_on: str = ""


def findings(summary: Summary) -> list[Finding]:
    """Return the findings of one results folder, the most important first.

    While fits are to come, no solver is called the best. Solvers with data that no user has are not
    compared.
    """
    endings = list(_endings(summary))
    if not summary.finished:
        return [Finding("progress", "No fit has finished."), *endings]
    if summary.to_come:
        sentence = f"So far {summary.to_come}; none is called the best before all have."
        return [Finding("progress", sentence), *_oracles(summary), *endings]
    return [
        *_compared(summary),
        *_oracles(summary),
        *_times(summary),
        *endings,
        *_edges(summary),
    ]


def findings_text(results: Results, width: int, *, without: Sequence[Kind] = ()) -> str:
    """Return the findings on one results folder for a terminal with ``width`` columns.

    Findings past `MAX_FINDING_LINES` are only counted.
    """
    (summary,) = summarise([results])
    sentences = [one.sentence for one in findings(summary) if one.kind not in without]
    lines = [f"Findings on {summary.heading}:"]
    for number, sentence in enumerate(sentences):
        wrapped = paragraph(sentence, width, "  ", first="- ").splitlines()
        if len(lines) + len(wrapped) >= MAX_FINDING_LINES:
            lines.append(f"- and {len(sentences) - number} more, on the page of `dsg report`")
            break
        lines += wrapped
    return "\n".join(lines) if sentences else ""


@dataclass(frozen=True)
class _Lead:
    """The best of the solvers that compete in a measure, at the largest size with two of them.

    The effect is its lead over the second, above 0; None if they have no trial in common.
    """

    measure: Measure
    first: Entry
    second: Entry
    effect: Effect | None


def _compared(summary: Summary) -> Iterator[Finding]:
    """Yield the leading solver by each measure, and gains of solvers over others.

    Gains have the p-values of the table of gains.
    """
    measures = _measures(summary)
    leads = [lead for measure in measures if (lead := _lead(summary, measure))]
    gained = _gains(summary, measures[0]) if measures else []
    family = adjusted([lead.effect for lead in leads if lead.effect])
    known = iter(family)
    for lead in leads:
        effect = next(known) if lead.effect else None
        others = _elsewhere(summary, lead) if lead is leads[0] else ""
        about = _heading(summary, lead.measure) if lead is leads[0] else lead.measure.heading
        sentence = f"{about}: {_lead_text(summary, lead, effect)}{others}"
        yield Finding("best", sentence, f"{lead.measure.file}_table")
        if lead.measure.caution:
            sentence = f"The {lead.measure.word} {lead.measure.caution}."
            yield Finding("caution", sentence, f"{lead.measure.file}_table")
    yield from _gain_findings(summary, gained)
    if family or gained:
        yield Finding("test", _test_text(family, gained))


def _measures(summary: Summary) -> list[Measure]:
    """Return the first measure of each score output that the config asks for, else of any."""
    asked = summary.results.experiment.outputs
    first: dict[str, Measure] = {}
    for measure in gain_measures([summary]):
        if not (measure.tally or measure.for_published) and summary.has(measure):
            first.setdefault(measure.output, measure)
    places = {output: place_asked(output, asked) for output in first}
    wanted = sorted((o for o in first if places[o] < len(asked)), key=places.__getitem__)
    return [first[output] for output in wanted or first][:MAX_MEASURES]


def _ranked(summary: Summary, measure: Measure, size: Size) -> list[Entry]:
    """Return the entries at a size that compete in a measure, the best first.

    Entries that lack trials compete only if fewer than two entries are complete.
    """
    entries = summary.entries(measure)
    competing = [
        entry
        for key, name in summary.names.items()
        if (entry := entries[name, size]).values and not summary.oracle_data(key)
    ]
    complete = [entry for entry in competing if not entry.partial]
    competing = complete if len(complete) > 1 else competing
    return sorted(competing, key=lambda entry: entry.mean, reverse=measure.better == "higher")


def _lead(summary: Summary, measure: Measure) -> _Lead | None:
    """Return the lead at the largest size with two competitors; None without such a size."""
    for size in reversed(summary.sizes):
        first, second, *_ = [*_ranked(summary, measure, size), None, None]
        if first and second:
            return _Lead(measure, first, second, _effect(summary, measure, first, second))
    return None


def _effect(summary: Summary, measure: Measure, first: Entry, second: Entry) -> Effect | None:
    keys = {name: key for key, name in summary.names.items()}
    sides = keys[second.solver], keys[first.solver]
    sides = sides if measure.better == "higher" else sides[::-1]
    by_size = effects(pairs(summary, measure, *sides), measure)
    return next((effect for effect in by_size if effect.size.n == first.size.n), None)


def _lead_text(summary: Summary, lead: _Lead, effect: Effect | None) -> str:
    """Return a sentence on the leading solver, its lead and its significance."""
    measure, first, second = lead.measure, lead.first, lead.second
    at, score, name = _at(summary, first.size), _score(measure, first), in_sentence(first.solver)
    extreme = "highest" if measure.better == "higher" else "lowest"
    average = "mean" if len(first.values) > 1 else "value"
    has = f"{name} has the {extreme} {average}{at}, {score}"
    if effect is None:
        return f"{has}."
    if effect.contrast.identical:
        ranked = _ranked(summary, measure, first.size)
        equal = [in_sentence(entry.solver) for entry in ranked if entry.values == first.values]
        return f"{listed(equal)} come first{at}, equal in every trial, with a mean of {score}."
    by, interval = effect.change_words(measure)
    lead_over = f"ahead of {in_sentence(second.solver)} ({_score(measure, second)}) by {by}"
    tests = "; ".join(filter(None, [interval, _p(effect)]))
    tests = f" ({tests})" if tests else ""
    if len(effect.values_a) == 1:
        return f"{has}, {lead_over}{tests}; in one trial, so this may be chance."
    if effect.holm_t is None:
        return f"{has}, {lead_over} in every trial."
    if effect.holm_t >= LEVEL:
        nobody = f"no method is ahead beyond chance{at}"
        which = f"the {extreme} mean is that of {name}, {score}"
        return f"{nobody}; {which}, {lead_over}{tests}."
    unsure = summary.results.task.oracle or measure.caution
    leads = "comes first" if unsure else "is the best"
    return f"{name} {leads}{at} with a mean of {score}, {lead_over}, beyond chance{tests}."


def _heading(summary: Summary, measure: Measure) -> str:
    """Return a measure, its rows, and a remark if hidden labels chose hyper-parameters."""
    where = f" on the {measure.where}" if measure.where else ""
    oracle = summary.results.task.oracle
    remark = f" ({oracle}: none is called the best)" if oracle else ""
    return f"{measure.heading}{where}{remark}"


def _at(summary: Summary, size: Size) -> str:
    axis = summary.axis
    return f" at {size.n:,} {lowered(axis.title)}" if axis else ""


def _score(measure: Measure, entry: Entry) -> str:
    return score_text(measure, entry.mean)


def _p(effect: Effect) -> str:
    """Return the p-value of a lead; empty without a test."""
    if effect.holm_t is None:
        return ""
    p = p_text(effect.holm_t)
    return f"p < {p[1:]}" if p.startswith("<") else f"p = {p}"


def _elsewhere(summary: Summary, lead: _Lead) -> str:
    """Return a sentence on other solvers that lead at smaller sizes."""
    others: dict[str, list[int]] = {}
    for size in summary.sizes:
        ranked = _ranked(summary, lead.measure, size)
        if ranked and size.n != lead.first.size.n and ranked[0].solver != lead.first.solver:
            others.setdefault(ranked[0].solver, []).append(size.n)
    if not others:
        return ""
    texts = (
        f"{in_sentence(name)} at {listed([f'{n:,}' for n in sizes])}"
        for name, sizes in others.items()
    )
    extreme = "highest" if lead.measure.better == "higher" else "lowest"
    return f" At other sizes others have the {extreme} mean: {'; '.join(texts)}."


def _gains(summary: Summary, measure: Measure) -> list[Gain]:
    """Return the gains of a short table, without solvers with data that no user has."""
    oracles = {name for key, name in summary.names.items() if summary.oracle_data(key)}
    short = gains([summary], measure, largest=True)
    return [gain for gain in short if oracles.isdisjoint((gain.solver, gain.against))]


def _gain_findings(summary: Summary, gains: Sequence[Gain]) -> Iterator[Finding]:
    """Yield a finding for each solver with which others are compared."""
    measure = _measures(summary)[0] if gains else None
    for against, members in grouped(gains, lambda gain: gain.against).items():
        if measure and any(gain.holm_t is not None for gain in members):
            yield Finding("gain", _gain_text(summary, measure, against, members), GAINS)


def _gain_text(summary: Summary, measure: Measure, against: str, gains: Sequence[Gain]) -> str:
    """Return a sentence on the solvers that are better, worse or not different, with gains."""
    beyond = [gain for gain in gains if gain.holm_t is not None and gain.holm_t < LEVEL]
    solvers = list(dict.fromkeys(gain.solver for gain in gains))
    word, other = measure.heading, in_sentence(against)
    if not beyond:
        alone = f"{in_sentence(solvers[0])} does not differ"
        who = "no method differs" if len(solvers) > 1 else alone
        return f"{word}: {who} from {other} beyond chance."
    sides = {
        "better": [gain for gain in beyond if gain.contrast.difference > 0],
        "worse": [gain for gain in beyond if gain.contrast.difference < 0],
    }
    parts = []
    for how, side in sides.items():
        if members := _members(summary, measure, side):
            are = "are" if len(members) > 1 else "is"
            parts.append(f"{_few(members)} {are} {how} beyond chance")
    differing = {gain.solver for gain in beyond}
    even = [in_sentence(name) for name in solvers if name not in differing]
    if even:
        do = "do" if len(even) > 1 else "does"
        parts.append(f"{_few(even)} {do} not differ beyond chance")
    return f"{word}, compared with {other}: {'; '.join(parts)}."


def _members(summary: Summary, measure: Measure, gains: Sequence[Gain]) -> list[str]:
    """Return solvers with their gains at their largest sizes, and their other sizes."""
    largest = summary.sizes[-1].n
    texts = []
    for solver, members in grouped(gains, lambda gain: gain.solver).items():
        sizes = [f"{gain.size.n:,}" for gain in members]
        at = f" at {listed(sizes)}" if len(members) > 1 or members[-1].size.n != largest else ""
        by, interval = members[-1].change_words(measure)
        texts.append(f"{in_sentence(solver)}{at} (by {', '.join(filter(None, [by, interval]))})")
    return texts


def _few(texts: Sequence[str]) -> str:
    """Return the first texts as a list, and the number of further ones."""
    more = len(texts) - MAX_LISTED_SOLVERS
    return listed([*texts[:MAX_LISTED_SOLVERS], f"{more} more"] if more > 0 else texts)


def _test_text(leads: Sequence[Effect], gained: Sequence[Gain]) -> str:
    """Return a sentence on the tests and the adjustment of p-values."""
    texts = []
    if leads and leads[0].family:
        texts.append(f"for {counted(leads[0].family, 'test')} of leads")
    if gained and gained[0].family:
        texts.append(f"for {counted(gained[0].family, 'test')} of gains, as in their table")
    if not texts:
        return "One trial says nothing about chance."
    return (
        f"Chance: paired t-tests over the trials at the {LEVEL:.0%} level; p-values are adjusted "
        f"(Holm) {' and '.join(texts)}."
    )


def _oracles(summary: Summary) -> Iterator[Finding]:
    """Yield the solvers with data that no user has, and their scores."""
    measures = _measures(summary)
    groups: dict[str, list[str]] = {}
    for key, name in summary.names.items():
        if (data := summary.oracle_data(key)) and measures:
            entry = summary.largest(measures[0])[name]
            score = f" ({_score(measures[0], entry)})" if entry.values else ""
            groups.setdefault(data, []).append(f"{in_sentence(name)}{score}")
    for data, names in groups.items():
        sentence = f"Not compared, as given {data}, which no user has: {', '.join(names)}."
        yield Finding("oracle", sentence, f"{measures[0].file}_table")


def _times(summary: Summary) -> Iterator[Finding]:
    """Yield the fastest solver at the largest common size, and where time lines cross.

    Sizes at which other processes disturbed a fit are not compared.
    """
    lines = _lines(summary)
    if len(lines) < MIN_RIVALS:
        return
    entries = summary.entries(TIME).items()
    disturbed = {size.n for (name, size), entry in entries if entry.disturbed and name in lines}
    if disturbed:
        sizes = {n for line in lines.values() for n in line}
        which = listed([f"{n:,}" for n in sorted(disturbed)])
        at = "" if sizes <= disturbed else f" at {which} {lowered(_axis_title(summary))}"
        text = f"Training time: times{at} were disturbed and are not compared."
        yield Finding("time", text, "time_table")
        lines = {
            name: {n: line[n] for n in line.keys() - disturbed} for name, line in lines.items()
        }
    common = set.intersection(*(set(line) for line in lines.values()))
    level = {solver for (solver, _), entry in summary.entries(TIME).items() if entry.level}
    if common:
        yield Finding("time", _fastest(summary, lines, level, max(common)), "time_table")
    dependent = {name: line for name, line in lines.items() if name not in level}
    if len(dependent) >= MIN_RIVALS and (text := _crossed(summary, dependent)):
        yield Finding("crossing", text, "time_table")


def _lines(summary: Summary) -> dict[str, dict[int, float]]:
    """Return the times by size of competing solvers; trivial ones do not compete."""
    apart = {
        name
        for key, name in summary.names.items()
        if summary.oracle_data(key) or summary.is_trivial(key)
    }
    lines: dict[str, dict[int, float]] = {}
    for (name, size), entry in summary.entries(TIME).items():
        if entry.values and name not in apart:
            lines.setdefault(name, {})[size.n] = entry.centre
    return lines


def _fastest(
    summary: Summary, lines: Mapping[str, Mapping[int, float]], level: Container[str], n: int
) -> str:
    """Return a sentence on the fastest solver at a size, compared with the config's first.

    If the fastest does not use the swept rows (``level``), the fastest of those that do comes
    first.
    """
    times = {name: max(line[n], SHORTEST_TIME) for name, line in lines.items()}
    users = {name: seconds for name, seconds in times.items() if name not in level}
    fastest = min(times, key=times.__getitem__)
    whole = fastest in users or len(users) < MIN_RIVALS
    text = _fastest_of(times if whole else users)
    text = f"{_group(summary, '' if whole else lowered(_axis_title(summary)))}, {text}"
    if not whole:
        seconds = seconds_text(times[fastest])
        text += f"; {_group(summary, '')}, {in_sentence(fastest)} is the fastest ({seconds})"
    return f"Training time{_at(summary, Size(n, False))}: {text}."


def _axis_title(summary: Summary) -> str:
    return summary.axis.title if summary.axis else ""


def _group(summary: Summary, use: str) -> str:
    """Return the group of compared methods, such as ``of all methods``."""
    given = dict.fromkeys(filter(None, map(summary.oracle_data, summary.names)))
    parts = [*([f"use {use}"] if use else []), *(f"are not given {one}" for one in given)]
    parts += ["are not trivial"] if not use and any(map(summary.is_trivial, summary.names)) else []
    return f"of the methods that {' and '.join(parts)}" if parts else "of all methods"


def _fastest_of(times: Mapping[str, float]) -> str:
    """Return the shortest time, compared with the second and with the first solver's."""
    first, second, *_ = sorted(times, key=times.__getitem__)
    main = next(iter(times))
    text = (
        f"{in_sentence(first)} is the fastest ({seconds_text(times[first])}), "
        f"{ratio_text(times[second] / times[first])} times as fast as {in_sentence(second)}"
    )
    if main not in (first, second):
        text += (
            f" and {ratio_text(times[main] / times[first])} times as fast as {in_sentence(main)}"
        )
    return text


def _crossed(summary: Summary, lines: Mapping[str, Mapping[int, float]]) -> str:
    """Return a sentence on where the first solver's time line crosses the others'."""
    main, *rivals = lines
    axis = lowered(_axis_title(summary))
    groups: dict[tuple[str, str], list[str]] = {}
    for rival in rivals:
        common = lines[main].keys() & lines[rival].keys()
        sizes = crossings(lines[main], lines[rival]) if len(common) > 1 else None
        if sizes is None or len(sizes) > 1:
            continue
        n = max(common)
        faster = "faster" if lines[main][n] < lines[rival][n] else "more slowly"
        always = f"at every number of {axis}"
        where = f"from about {_rounded(sizes[0])} {axis} on" if sizes else always
        groups.setdefault((faster, where), []).append(in_sentence(rival))
    texts = [f"{how} than {listed(names)} {where}" for (how, where), names in groups.items()]
    return f"{in_sentence(main)} trains {'; '.join(texts)}." if texts else ""


def _rounded(n: float) -> str:
    return f"{float(f'{n:.2g}'):,.0f}"


def _endings(summary: Summary) -> Iterator[Finding]:
    """Yield a finding for each cause of missing results, the most frequent first."""
    by_size = by_cause(one for one in summary.results.records if one["status"] != "ok")
    for records in by_size[:MAX_CAUSES]:
        names = ", ".join(dict.fromkeys(in_sentence(summary.name_of(r)) for r in records))
        where = places(records, summary.axis)
        why = in_a_line(reason(records[0]), LONGEST_REASON)
        yield Finding("ending", f"Without a result: {names}, {where}: {why}")
    if more := sum(map(len, by_size[MAX_CAUSES:])):
        yield Finding("ending", f"Without a result for other causes: {counted(more, 'cell')}.")


def _edges(summary: Summary) -> Iterator[Finding]:
    """Yield the grids to widen: most searches chose an end of them."""
    often = (
        one for one in edge_choices(run_of(summary)) if one.count >= MIN_EDGE_SHARE * one.searches
    )
    edges = grouped(often, lambda one: (one.parameter, one.value, one.side))
    searches = "searches" if summary.axis and summary.axis.drawn else "trials"
    for (parameter, value, side), choices in edges.items():
        who = "; ".join(
            f"{listed([in_sentence(one.solver) for one in members])} ({n} of {total} {searches})"
            for (n, total), members in grouped(
                choices, lambda one: (one.count, one.searches)
            ).items()
        )
        at = f"{parameter} is at {value_text(value)}, the {side} end of its grid"
        way = {"lower": "downwards", "upper": "upwards"}[side]
        yield Finding("edge", f"{at}, for {who}: widen it {way}.", "params_table")
