"""Findings: the main results of a run as sentences."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dsgkit.errors import in_a_line
from dsgkit.experiment.folder import load_artefact
from dsgkit.experiment.runs import Run
from dsgkit.experiment.status import by_cause, places, reason
from dsgkit.report import frame
from dsgkit.report.choices import EdgeChoice, edge_choices
from dsgkit.report.frame import Entry
from dsgkit.report.numbers import (
    SHORTEST_TIME,
    counted,
    listed,
    ratio_text,
    score_text,
    seconds_text,
    value_text,
)
from dsgkit.report.stats import LEVEL, Effect, adjusted, gain_measures, gains, inference, pairs
from dsgkit.tasks.measures import TIME, Measure, place_asked
from dsgkit.text import paragraph

MAX_FINDING_LINES = 20
MAX_MEASURES = 3
LONGEST_REASON = 120


class Finding(NamedTuple):
    """A sentence on results, and what it is about, such as ``best`` or ``time``."""

    kind: str
    sentence: str


NO_BASELINE = (
    "What the other rows add cannot be said: no solver that uses them is compared with one of the "
    "labelled rows alone."
)


def findings(run: Run) -> list[Finding]:
    """Return the findings on a run; while fits are to come, no solver is called the best."""
    if not frame.finished(run):
        return [Finding("progress", "No fit has finished."), *_endings(run)]
    if to_come := frame.progress(run):
        sentence = f"So far {to_come}; methods are compared when all have."
        return [Finding("progress", sentence), *_oracles(run), *_endings(run)]
    kinds = _compared, _oracles, _clusterings, _times, _endings, _edges
    return [finding for kind in kinds for finding in kind(run)]


def findings_text(run: Run, width: int, *, without: Sequence[str] = ()) -> str:
    """Return the findings on a run for a terminal; those past `MAX_FINDING_LINES` are counted."""
    sentences = [one.sentence for one in findings(run) if one.kind not in without]
    lines = [f"Findings on {run.heading}:"]
    for number, sentence in enumerate(sentences):
        wrapped = paragraph(sentence, width, "  ", first="- ").splitlines()
        if len(lines) + len(wrapped) >= MAX_FINDING_LINES:
            lines.append(f"- and {len(sentences) - number} more, on the page of `dsg report`")
            break
        lines += wrapped
    return "\n".join(lines) if sentences else ""


def _compared(run: Run) -> Iterator[Finding]:
    """Yield the leading solver by each measure, and the gains of solvers over others."""
    measures, how = _measures(run), inference(run)
    found = [both for measure in measures if (both := _lead(run, measure))]
    leads = adjusted([lead for lead, _ in found])
    texts = map(_lead_text, leads, (ranked for _, ranked in found))
    yield from (Finding("best", text) for text in texts)
    if leads and (oracle := run.task.oracle):
        yield Finding("best", f"{oracle[:1].upper()}{oracle[1:]}.")
    gained = [gain for gain in gains([run], measures[0]) if gain.is_last] if measures else []
    n_tests = sum(one.holm is not None for one in (*leads, *gained))
    told = {name for key, name in run.names.items() if frame.oracle_data(run, key)}
    for against in dict.fromkeys(gain.against for gain in gained):
        members = [one for one in gained if one.against == against]
        members = [one for one in members if told.isdisjoint((one.name, against))]
        if members and (n_tests or not how.tested):
            gain_texts = _gain_texts(measures[0], against, members, tested=how.tested)
            yield from (Finding("gain", text) for text in gain_texts)
    if run.task.draws == "labelled rows" and not any(
        spec and spec.against for spec in run.solvers.values()
    ):
        yield Finding("gain", NO_BASELINE)
    if n_tests:
        yield Finding(
            "test",
            f"Paired t-tests over {run.experiment.protocol.trials} trials, Holm-corrected for "
            f"{counted(n_tests, 'test')}; significant is p < {LEVEL:g}. {how.words}",
        )
    elif leads and not how.tested:
        yield Finding("test", how.words)


def _measures(run: Run) -> list[Measure]:
    """Return the first measure of each score output that the config asks for, else of any."""
    first: dict[str, Measure] = {}
    for measure in gain_measures([run]):
        if not (measure.tally or measure.for_published) and frame.sizes_with(run, measure):
            first.setdefault(measure.output, measure)
    asked = run.experiment.outputs
    places = {output: place_asked(output, asked) for output in first}
    wanted = sorted((one for one in first if places[one] < len(asked)), key=places.__getitem__)
    return [first[output] for output in wanted or first][:MAX_MEASURES]


def _lead(run: Run, measure: Measure) -> tuple[Effect, list[Entry]] | None:
    """Return the lead at the largest size that two solvers finished, and all there, best first."""
    sign = 1 if measure.better == "higher" else -1
    fair = [
        e for e in frame.entries(run, measure) if e.values and not frame.oracle_data(run, e.solver)
    ]
    for size in reversed(frame.full_at(run)):
        ranked = [one for one in fair if one.size == size]
        complete = [one for one in ranked if not one.partial]
        ranked = complete if len(complete) > 1 else ranked
        if len(ranked) > 1:
            ranked.sort(key=lambda one: -sign * one.mean)
            first, second = ranked[:2]
            (both,) = pairs(run, measure, [(second.solver, first.solver)])
            a, b = sign * both.loc[both["size"] == size, ["a", "b"]].to_numpy().T
            if not len(a):
                return None
            change = inference(run).contrast(a, b)
            return Effect(run, measure, first.name, size, a, b, change, second.name), ranked
    return None


def _lead_text(lead: Effect, ranked: Sequence[Entry]) -> str:
    run, measure, change, p = lead.run, lead.measure, lead.contrast, lead.holm
    first, second = ranked[:2]
    best = "Highest" if measure.better == "higher" else "Lowest"
    where = f" on the {measure.where}" if measure.where else ""
    what = f"{measure.word}{where}{_at(run, first, measure.where)}"
    scores = [score_text(measure, one.mean) for one in ranked]
    caution = f" The {measure.word} {measure.caution}." if measure.caution else ""
    if change.same:
        equal = [one.name for one in ranked if math.isclose(one.mean, first.mean, rel_tol=1e-12)]
        return f"{best} {what}: {listed(equal)}, equal ({scores[0]}).{caution}"
    head = f"{best} {what}"
    if p is not None:
        head = f"{'Significant' if p < LEVEL else 'No significant'} difference in {what}"
    elif len(first.values) == 1:
        head += ", in one trial"
    elif inference(run).tested and change.interval:  # without variation
        head += ", in every trial"
    by = change.words(measure, p)
    text = f"{first.name} {scores[0]}, then {second.name} {scores[1]} ({by})"
    return f"{head}: {text}.{caution}"


def _at(run: Run, entry: Entry, where: str = "") -> str:
    if not run.axis:
        return ""
    rows = frame.lowered(run.axis.title)
    of_them = f" with {entry.size:,} of them in training"
    return of_them if rows == where else f" at {entry.size:,} {rows}"


def _gain_texts(
    measure: Measure, against: str, members: Sequence[Effect], *, tested: bool
) -> Iterator[str]:
    """Yield the gains of solvers; if tested, of those that are better, worse or neither."""
    higher, lower = f"Significantly higher {measure.word}", f"Significantly lower {measure.word}"
    better, worse = (higher, lower) if measure.better == "higher" else (lower, higher)
    no = f"No significant difference in {measure.word}"
    heads = {better: "than", worse: "than", no: "from"} if tested else {measure.heading: "over"}
    groups: dict[str, list[Effect]] = {head: [] for head in heads}
    for gain in members:
        how = better if gain.contrast.difference > 0 else worse
        groups[(how if gain.significant else no) if tested else measure.heading].append(gain)
    unit = "gain in points" if measure.percent else "gain"
    for head, gained in groups.items():
        if gained:
            has_interval = any(gain.contrast.interval for gain in gained)
            what = f"{unit} with {1 - LEVEL:.0%} CI" if has_interval else unit
            texts = listed([f"{gain.name} {gain.contrast.cell(measure)}" for gain in gained])
            yield f"{head} {heads[head]} {against}, {what}: {texts}."


def _oracles(run: Run) -> Iterator[Finding]:
    """Yield the solvers with data that no user has, and their scores."""
    groups: dict[str, list[str]] = {}
    for measure in _measures(run)[:1]:
        for one in frame.largest(frame.entries(run, measure)):
            if data := frame.oracle_data(run, one.solver):
                score = f" ({score_text(measure, one.mean)})" if one.values else ""
                groups.setdefault(data, []).append(f"{one.name}{score}")
    for data, names in groups.items():
        sentence = f"Not ranked, because given {data}, which no user has: {listed(names)}."
        yield Finding("oracle", sentence)


def _clusterings(run: Run) -> Iterator[Finding]:
    """Yield how many clusters each method found, and how far methods agree."""
    measure = next((one for one in run.task.measures if one.name == "clusters"), None)
    if measure is None:
        return
    found = [one for one in frame.largest(frame.entries(run, measure)) if one.values]
    by_number: dict[str, list[str]] = {}
    for one in sorted(found, key=lambda one: one.mean):
        number = f"{one.mean:.3g}" if one.mean < 100 else f"{one.mean:,.0f}"
        by_number.setdefault(number, []).append(one.name)
    if texts := [f"{number} by {listed(names)}" for number, names in by_number.items()]:
        yield Finding("clusters", f"Number of clusters, mean over trials: {'; '.join(texts)}.")
    drawn = run.fits[run.fits["artefact"] != ""].sort_values("trial").drop_duplicates("solver")
    arrays = [load_artefact(run.folder, row) for row in drawn.to_dict("records")]
    labels = [one["labels"] for one in arrays if "labels" in one]
    both = [(a, b) for a, b in itertools.combinations(labels, 2) if len(a) == len(b)]
    if both:
        from sklearn.metrics import adjusted_rand_score  # takes a second to import

        agreement = [adjusted_rand_score(a, b) for a, b in both]
        sentence = (
            f"Adjusted Rand index between the clusters of two methods: {np.mean(agreement):.2f} on "
            f"average, {min(agreement):.2f} to {max(agreement):.2f} (first trial)."
        )
        yield Finding("clusters", sentence)


def _times(run: Run) -> Iterator[Finding]:
    """Yield the fastest solver at the largest common size without disturbed times.

    Solvers that do not use the swept rows do not compete, nor those with a remark, such as that
    some rows got no weight, which makes a fit cheaper.
    """
    known = [one for one in frame.entries(run, TIME) if one.values]
    known = [one for one in known if not frame.is_trivial(run, one.solver)]
    known = [one for one in known if not frame.oracle_data(run, one.solver)]
    compete = [one for one in known if not one.level]
    names = {one.name for one in compete}
    common = [[one for one in compete if one.size == size] for size in frame.full_at(run)]
    common = [of for of in common if len(of) == len(names) > 1]
    calm = [of for of in common if not any(one.disturbed for one in of)]
    if common and not calm:
        yield Finding("time", "Training times are not compared: other processes disturbed them.")
    if not calm:
        return
    times = {one.name: max(one.centre, SHORTEST_TIME) for one in calm[-1] if not one.remarks}
    if len(times) < 2:
        return
    first, second = sorted(times, key=times.__getitem__)[:2]
    rivals = [one for one in dict.fromkeys([second, next(iter(times))]) if one != first]
    texts = [f"{ratio_text(times[one] / times[first])} times as fast as {one}" for one in rivals]
    rows = frame.lowered(frame.axis_title([run]))
    users = "" if compete == known else f" of the methods that use {rows}"
    only = ", the largest without disturbed times" if calm[-1] is not common[-1] else ""
    fastest = f"{first} ({seconds_text(times[first])}), {listed(texts)}"
    sentence = f"Fastest training{users}{_at(run, calm[-1][0])}{only}: {fastest}."
    if marked := [one for one in calm[-1] if one.remarks]:
        why = "; ".join(dict.fromkeys(text for one in marked for text in one.remarks))
        sentence += f" Left out ({why}): {listed([one.name for one in marked])}."
    yield Finding("time", sentence)


def _endings(run: Run) -> Iterator[Finding]:
    """Yield the causes of missing results, the most frequent first."""
    for records in by_cause(run.unfinished):
        names = ", ".join(dict.fromkeys(run.names[record["solver"]] for record in records))
        why = in_a_line(reason(records[0]), LONGEST_REASON)
        yield Finding("ending", f"Without a result: {names}, {places(records, run.axis)}: {why}")


def _edges(run: Run) -> Iterator[Finding]:
    """Yield the grids to widen: half of the searches or more chose an end of them."""
    ends: dict[str, list[EdgeChoice]] = {}
    for edge in edge_choices(run):
        if 2 * edge.count >= edge.searches:
            end = f"{edge.parameter} is at {value_text(edge.value)}, the {edge.side} end"
            ends.setdefault(end, []).append(edge)
    for end, edges in ends.items():
        shares = [f"{one.count} of {one.searches}" for one in edges]
        shares[0] += " searches"
        who = [f"{run.names[e.solver]} ({n})" for e, n in zip(edges, shares, strict=True)]
        key, spec = edges[0].solver, run.solvers[edges[0].solver]
        name = f"solvers.{key}.grid.{edges[0].parameter}"
        way = f"in {name} of the config"
        if spec and len(spec.search) > 1:
            way = f"in solvers.{key}.search of the config"
        elif wider := edges[0].wider:
            way = f"by `dsg run CONFIG --set {shlex.quote(f'{name}={wider}')}`"
        others = ", and likewise for the others" * (len(edges) > 1)
        sentence = f"{end} of its grid, for {listed(who)}: widen it {way}{others}."
        yield Finding("edge", sentence)
