"""Findings: the main results of a run as sentences."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dsgkit.errors import in_a_line
from dsgkit.experiment.folder import load_artefact
from dsgkit.experiment.runs import Run
from dsgkit.experiment.status import by_cause, places, reason
from dsgkit.report.choices import edge_choices
from dsgkit.report.frame import (
    Entry,
    axis_title,
    entries,
    finished,
    full_at,
    largest,
    lowered,
    oracle_data,
    progress,
    sizes_with,
)
from dsgkit.report.numbers import (
    SHORTEST_TIME,
    counted,
    in_sentence,
    listed,
    ratio_text,
    score_text,
    seconds_text,
    value_text,
)
from dsgkit.report.stats import LEVEL, Contrast, Gain, contrast, gain_measures, gains, holm, pairs
from dsgkit.tasks.measures import TIME, TRIVIAL, Measure, place_asked
from dsgkit.text import paragraph

MAX_FINDING_LINES = 20
MAX_MEASURES = 3
MAX_LISTED = 4
MAX_CAUSES = 4
LONGEST_REASON = 120


class Finding(NamedTuple):
    """A sentence on results, and what it is about, such as ``best`` or ``time``."""

    kind: str
    sentence: str


def findings(run: Run) -> list[Finding]:
    """Return the findings on a run, the most important first.

    While fits are to come, no solver is called the best. Solvers with data that no user has are
    not ranked.
    """
    if not finished(run):
        first = [Finding("progress", "No fit has finished.")]
        return [*first, *_endings(run)]
    if to_come := progress(run):
        sentence = f"So far {to_come}; none is called the best before all have."
        return [Finding("progress", sentence), *_oracles(run), *_endings(run)]
    return [
        *_compared(run),
        *_oracles(run),
        *_clusterings(run),
        *_times(run),
        *_endings(run),
        *_edges(run),
    ]


def findings_text(run: Run, width: int, *, without: Sequence[str] = ()) -> str:
    """Return the findings on a run for a terminal with ``width`` columns.

    Findings past `MAX_FINDING_LINES` are only counted.
    """
    sentences = [one.sentence for one in findings(run) if one.kind not in without]
    lines = [f"Findings on {run.heading}:"]
    for number, sentence in enumerate(sentences):
        wrapped = paragraph(sentence, width, "  ", first="- ").splitlines()
        if len(lines) + len(wrapped) >= MAX_FINDING_LINES:
            lines.append(f"- and {len(sentences) - number} more, on the page of `dsg report`")
            break
        lines += wrapped
    return "\n".join(lines) if sentences else ""


class _Lead(NamedTuple):
    """The solvers that compete in a measure, the best first, and the lead of the first."""

    measure: Measure
    ranked: list[Entry]
    contrast: Contrast | None


def _compared(run: Run) -> Iterator[Finding]:
    """Yield the leading solver by each measure, and the gains of solvers over others."""
    measures = _measures(run)
    leads = [lead for measure in measures if (lead := _lead(run, measure))]
    gained = [gain for gain in gains([run], measures[0]) if gain.is_last] if measures else []
    adjusted = holm([lead.contrast.p if lead.contrast else None for lead in leads])
    for lead, p in zip(leads, adjusted, strict=True):
        heading = _heading(run, lead.measure) if lead is leads[0] else lead.measure.heading
        yield Finding("best", f"{heading}: {_lead_text(run, lead, p)}")
        if lead.measure.caution:
            yield Finding("caution", f"The {lead.measure.word} {lead.measure.caution}.")
    against = dict.fromkeys(gain.against for gain in gained)
    for name in against:
        members = [gain for gain in gained if gain.against == name and _is_fair(run, gain)]
        if any(gain.holm is not None for gain in members):
            yield Finding("gain", _gain_text(measures[0], name, members))
    if tests := [p for p in (*adjusted, *(gain.holm for gain in gained)) if p is not None]:
        protocol = run.experiment.protocol
        trials, drawn = protocol.trials, "labeled" in protocol.model_dump()
        yield Finding(
            "test",
            f"Significant at the {LEVEL:.0%} level, by paired t-tests over {trials} trials, "
            f"corrected by Holm's method ({counted(len(tests), 'test')}): over "
            f"{'draws of the labelled rows' if drawn else 'the trials'}, on these rows.",
        )


def _is_fair(run: Run, gain: Gain) -> bool:
    told = {run.names[key] for key in run.names if oracle_data(run, key)}
    return told.isdisjoint((gain.name, gain.against))


def _measures(run: Run) -> list[Measure]:
    """Return the first measure of each score output that the config asks for, else of any."""
    asked = run.experiment.outputs
    first: dict[str, Measure] = {}
    for measure in gain_measures([run]):
        if not (measure.tally or measure.for_published) and sizes_with(run, measure):
            first.setdefault(measure.output, measure)
    wanted = {
        output: place for output in first if (place := place_asked(output, asked)) < len(asked)
    }
    return [first[output] for output in sorted(wanted, key=wanted.__getitem__) or first][
        :MAX_MEASURES
    ]


def _lead(run: Run, measure: Measure) -> _Lead | None:
    """Return the lead at the largest size with two competitors; None without such a size."""
    every = entries(run, measure)
    for size in reversed(full_at(run)):
        ranked = [
            one
            for one in every
            if one.size == size and one.values and not oracle_data(run, one.solver)
        ]
        complete = [one for one in ranked if not one.partial]
        ranked = complete if len(complete) > 1 else ranked
        if len(ranked) > 1:
            ranked.sort(key=lambda one: one.mean, reverse=measure.better == "higher")
            both = pairs(run, measure, ranked[1].solver, ranked[0].solver)
            both = both[both["size"] == size]
            sign = 1 if measure.better == "higher" else -1
            a, b = (sign * both[side].to_numpy(float) for side in ("a", "b"))
            return _Lead(measure, ranked, contrast(a, b) if len(a) else None)
    return None


def _lead_text(run: Run, lead: _Lead, p: float | None) -> str:
    """Return who leads by how much, and whether that is significant."""
    measure, (first, second) = lead.measure, lead.ranked[:2]
    at, score = _at(run, first.size), score_text(measure, first.mean)
    name, other = in_sentence(first.name), in_sentence(second.name)
    if lead.contrast is None:
        return f"{name} comes first{at} ({score})."
    if lead.contrast.same:
        equal = [in_sentence(one.name) for one in lead.ranked if _are_same(one, first)]
        return f"{listed(equal)} come first{at}, equal in every trial ({score})."
    by = lead.contrast.words(measure, p)
    then = f"{name} {score}, then {other} {score_text(measure, second.mean)} ({by})"
    if p is None:
        how = "in one trial, so this may be chance" if len(first.values) == 1 else "in every trial"
        return f"{then}{at}, {how}."
    if p >= LEVEL:
        return f"no significant difference{at}: {then}."
    first_is = "comes first" if run.task.oracle or measure.caution else "is significantly the best"
    then = then.removeprefix(f"{name} ")
    return f"{name} {first_is}{at}: {then}{', significantly' * (first_is == 'comes first')}."


def _are_same(one: Entry, other: Entry) -> bool:
    return len(one.values) == len(other.values) and np.allclose(one.values, other.values, 1e-12, 0)


def _heading(run: Run, measure: Measure) -> str:
    """Return a measure, its rows, and a remark if hidden labels chose hyper-parameters."""
    where = f" on the {measure.where}" if measure.where else ""
    remark = f" ({run.task.oracle}: none is called the best)" if run.task.oracle else ""
    return f"{measure.heading}{where}{remark}"


def _at(run: Run, size: int) -> str:
    return f" at {size:,} {lowered(run.axis.title)}" if run.axis else ""


def _gain_text(measure: Measure, against: str, members: Sequence[Gain]) -> str:
    """Return which solvers are better, worse or not different, with gains."""
    parts = []
    for how, sign in (("better", 1), ("worse", -1)):
        beyond = [gain for gain in members if gain.significant]
        side = [gain for gain in beyond if sign * gain.contrast.difference > 0]
        texts = [f"{in_sentence(gain.name)} ({gain.contrast.words(measure)})" for gain in side]
        if texts:
            parts.append(f"{_few(texts)} {'are' if len(texts) > 1 else 'is'} significantly {how}")
    even = [in_sentence(gain.name) for gain in members if not gain.significant]
    if even:
        do = "do" if len(even) > 1 else "does"
        parts.append(f"{_few(even)} {do} not differ significantly")
    return f"{measure.heading}, compared with {in_sentence(against)}: {'; '.join(parts)}."


def _few(texts: Sequence[str]) -> str:
    """Return the first texts as a list, and the number of further ones."""
    more = len(texts) - MAX_LISTED
    return listed([*texts[:MAX_LISTED], f"{more} more"] if more > 0 else texts)


def _oracles(run: Run) -> Iterator[Finding]:
    """Yield the solvers with data that no user has, and their scores."""
    measures = _measures(run)
    scores = {e.solver: e for e in largest(entries(run, measures[0]))} if measures else {}
    groups: dict[str, list[str]] = {}
    for key, name in run.names.items():
        if (data := oracle_data(run, key)) and key in scores:
            found = scores[key].values
            score = f" ({score_text(measures[0], scores[key].mean)})" if found else ""
            groups.setdefault(data, []).append(f"{in_sentence(name)}{score}")
    for data, names in groups.items():
        sentence = f"Not ranked, since given {data}, which no user has: {', '.join(names)}."
        yield Finding("oracle", sentence)


def _clusterings(run: Run) -> Iterator[Finding]:
    """Yield how many clusters each method found, and how far methods agree."""
    measure = next((m for m in run.task.measures if m.name == "clusters"), None)
    if measure is None:
        return
    numbers = [one for one in largest(entries(run, measure)) if one.values]
    texts = [f"{in_sentence(one.name)} {one.mean:.3g}" for one in numbers]
    if texts:
        yield Finding("clusters", f"Clusters found, mean over trials: {', '.join(texts)}.")
    from sklearn.metrics import adjusted_rand_score  # takes a second to import

    drawn = run.fits[run.fits["artefact"] != ""].sort_values("trial").drop_duplicates("solver")
    labels = {
        row["name"]: arrays["labels"]
        for row in drawn.to_dict("records")
        if "labels" in (arrays := load_artefact(run.folder, row))
    }
    agreement = {
        pair: adjusted_rand_score(*(labels[name] for name in pair))
        for pair in itertools.combinations(labels, 2)
        if len({len(labels[name]) for name in pair}) == 1
    }
    if len(agreement) > 1:
        ends = [pick(agreement, key=agreement.__getitem__) for pick in (max, min)]
        most, least = (f"{listed([*map(in_sentence, e)])} ({agreement[e]:.2f})" for e in ends)
        sentence = (
            "Agreement of two methods, adjusted Rand index in the first trial: "
            f"{np.mean([*agreement.values()]):.2f} on average, from {least} to {most}."
        )
        yield Finding("clusters", sentence)


def _times(run: Run) -> Iterator[Finding]:
    """Yield the fastest solver at the largest common size without disturbed times."""
    compete = [
        one
        for one in entries(run, TIME)
        if one.values and not oracle_data(run, one.solver) and not _is_trivial(run, one.solver)
    ]
    disturbed = {one.size for one in compete if one.disturbed}
    sizes = [
        {one.size for one in compete if one.name == name} for name in {e.name for e in compete}
    ]
    if len(sizes) < 2:
        return
    if disturbed:
        yield Finding("time", f"Training times{_where(run, disturbed, sizes)} were disturbed.")
    common = set.intersection(*sizes) - disturbed
    if common:
        here = [one for one in compete if one.size == max(common)]
        text = _fastest([one for one in here if not one.level] or here)
        users = f" of the methods that use {lowered(axis_title([run]))}," if run.axis else ""
        users *= any(one.level for one in here)
        most = min(here, key=lambda one: one.centre)
        rest = f"; of all, {in_sentence(most.name)} ({seconds_text(most.centre)})" * most.level
        yield Finding("time", f"Training time{_at(run, max(common))}:{users} {text}{rest}.")


def _is_trivial(run: Run, key: str) -> bool:
    spec = run.solvers[key]
    return spec is not None and spec.kind in TRIVIAL


def _where(run: Run, disturbed: set[int], sizes: Sequence[set[int]]) -> str:
    """Return the sizes of disturbed times; empty if these are all."""
    if set.union(*sizes) <= disturbed:
        return ""
    return f" at {listed([f'{n:,}' for n in sorted(disturbed)])} {lowered(axis_title([run]))}"


def _fastest(found: Sequence[Entry]) -> str:
    """Return the shortest time, compared with the second and with the first solver's."""
    times = {one.name: max(one.centre, SHORTEST_TIME) for one in found}
    first, *others = sorted(times, key=times.__getitem__)
    main = next(iter(times))
    rivals = dict.fromkeys([*others[:1], *([main] if main != first else [])])
    texts = [
        f"{ratio_text(times[one] / times[first])} times as fast as {in_sentence(one)}"
        for one in rivals
    ]
    fastest = f"{in_sentence(first)} is the fastest ({seconds_text(times[first])})"
    return ", ".join([fastest, listed(texts)] if texts else [fastest])


def _endings(run: Run) -> Iterator[Finding]:
    """Yield the causes of missing results, the most frequent first."""
    causes = by_cause(run.unfinished)
    for records in causes[:MAX_CAUSES]:
        names = dict.fromkeys(in_sentence(run.names[record["solver"]]) for record in records)
        why = in_a_line(reason(records[0]), LONGEST_REASON)
        where = places(records, run.axis)
        yield Finding("ending", f"Without a result: {', '.join(names)}, {where}: {why}")
    if more := sum(map(len, causes[MAX_CAUSES:])):
        yield Finding("ending", f"Without a result for other causes: {counted(more, 'cell')}.")


def _edges(run: Run) -> Iterator[Finding]:
    """Yield the grids to widen: half of the searches or more chose an end of them."""
    groups: dict[tuple[str, float, str], list[str]] = {}
    settings: dict[tuple[str, float, str], str] = {}
    for edge in edge_choices(run):
        if 2 * edge.count >= edge.searches:
            place = (edge.parameter, edge.value, edge.side)
            who = f"{in_sentence(run.names[edge.solver])} ({edge.count} of {edge.searches})"
            groups.setdefault(place, []).append(who)
            settings.setdefault(place, f"--set solvers.{edge.solver}.grid.{edge.parameter}=[..]")
    for (parameter, value, side), names in groups.items():
        yield Finding(
            "edge",
            f"{parameter} is at {value_text(value)}, the {side} end of its grid, for "
            f"{', '.join(names)}: widen it, by {settings[parameter, value, side]}.",
        )
