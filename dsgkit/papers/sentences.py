"""Criteria of claims as sentences: when a claim holds, and when in part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dsgkit.experiment.runs import Run
from dsgkit.papers.schema import Bar, Best, Check, Range
from dsgkit.published import bsgd_svc
from dsgkit.report.numbers import listed


def sentence(c: Any, runs: Sequence[Run], labels: Mapping[str, str], where: Sequence[str]) -> str:
    """Return when a criterion holds.

    For example "Holds if on at least 12 of 15 datasets the purity of the best of A and B is as good
    as that of C, or higher; in part from 8 on." ``labels`` are the names of solvers by their keys,
    and ``where`` the names of datasets, configs or studies.
    """
    measures = {name: m for run in runs for m in run.task.measures for name in (m.name, m.clock)}
    measure = measures.get(name := getattr(c, "measure", None) or "")
    what = measure.word if measure else name.replace("_seconds", " time").replace("_", " ")
    of_measure = bsgd_svc.MEASURES[name] if c.test == "published" else measure and measure.better
    side = getattr(c, "better", None) or of_measure or "higher"
    text = _predicate(c, what, _names(c, labels), high=side == "higher")
    in_part = "" if c.in_part is None else f"; in part {_from(c.in_part)}"
    return f"Holds if {_pairs(c)}{_on(c.holds, c, where)}{text}{_at(c)}{in_part}."


def _names(c: Any, labels: Mapping[str, str]) -> list[str]:
    """Return both sides in words, such as ``the best of A and B``, and what is subtracted."""
    names, along = [], getattr(c, "axis", "size") != "size"
    for keys in (getattr(c, side, None) or [] for side in ("a", "b", "minus")):
        best = isinstance(keys, Best) or c.test in ("count", "published")
        every = keys.best if isinstance(keys, Best) else [keys] if isinstance(keys, str) else keys
        *most, last = [labels.get(key, key) for key in every] or [""]
        text = f"{', '.join(most)} {'and' if best or along else 'or'} {last}" if most else last
        names.append(f"the best of {text}" if best and most else text)
    return names


def _pairs(c: Any) -> str:
    """Return that pairs (or solvers) are judged one by one, if there are several."""
    sides = [getattr(c, side, None) for side in ("a", "b")]
    n_a, n_b = (len(keys) if isinstance(keys, list) else 1 for keys in sides)
    together = c.test in ("count", "published") or getattr(c, "axis", "size") != "size"
    if together or n_a * (1 if c.test == "best_of" else n_b) == 1:
        return ""
    return "for each pair " if sides[1] and c.test != "best_of" else "for each of them "


def _on(bar: Bar, c: Any, where: Sequence[str]) -> str:
    """Return where a predicate must be true, such as ``on at least 12 of 15 datasets``."""
    on, what = "on", "datasets"
    if c.test == "identity" or getattr(c, "study", None):
        on, what = "for", "numbers"
        if bar == "all":
            return ""
    elif c.test == "reproduced":
        what = "datasets and methods"
    elif c.test not in ("grows", "crosses") and getattr(c, "sizes", "largest") != "largest":
        what = "datasets and sizes"
    if bar == "all":
        return f"on all {what} " if len(where) > 1 else f"on {''.join(where)} "
    if isinstance(bar, int):
        return f"{on} at least {bar} of {len(where)} {what} "
    share = f"at least {bar:.0%}" if isinstance(bar, float) else bar
    return f"{on} {share} of the {what} "


def _from(bar: Bar) -> str:
    """Return the bar for a part, such as ``from 8 on``."""
    if isinstance(bar, str):
        return "if anywhere" if bar == "any" else f"if on {bar}"
    return f"from {bar:.0%} on" if isinstance(bar, float) else f"from {bar} on"


def _at(c: Any) -> str:
    """Return the sizes and fits that are judged, if not all."""
    sizes, text = getattr(c, "sizes", "largest"), ""
    if isinstance(sizes, Range):
        text = f", at sizes from {sizes.min:,} {f'to {sizes.max:,}' if sizes.max else 'on'}"
    elif isinstance(sizes, list):
        text = f", at sizes {listed([f'{size:,}' for size in sizes])}"
    settings = [f"{name} = {value}" for name, value in getattr(c, "leave_out", {}).items()]
    return f"{text}, without fits at {listed(settings)}" if settings else text


def _predicate(c: Any, what: str, names: Sequence[str], *, high: bool) -> str:
    a, b, minus = names
    more, less = ("higher", "lower") if high else ("lower", "higher")
    match c.test:
        case "faster":
            factor = f", by a factor of {c.factor:g}" if c.factor != 1 else ""
            return f"the {what} of {a} is significantly shorter than that of {b}{factor}"
        case "crosses":
            at = f"from some size on, {c.at_most:,} at the latest"
            return f"the {what} of {a} is significantly shorter than that of {b} {at}"
        case "sooner":
            whose, margin = b if c.of == "b" else "the better of both", f" less {c.margin:g}"
            final = f"the final {what} of {whose}{margin if c.margin else ''}"
            return f"{a} comes along its training to {final} before {b} does"
        case "ends":
            return f"{b} runs out of memory in all trials at the sizes that {a} finishes"
        case "equal":
            better = f", or {more}" if c.one_sided else ""
            return f"the {what} of {a} is that of {b} within {c.margin:g}{better}"
        case "better":
            least = f" by {c.least:g} at least" if c.least else ""
            than = f"{more} than that of {b}{least}, and nowhere significantly {less}"
            return f"the {what} of {a} is significantly {than}"
        case "count":
            return f"the {what} of {a} is as good as that of {b}, or {more}"
        case "best_of":
            return f"the {what} of {a} is {more} than that of {b} (a tie counts half)"
        case "ratio":
            return f"the {what} of {a} divided by that of {b} is {_limits(c.interval)}"
        case "within":
            around = " less the dataset's own number" if c.around else ""
            return f"the {c.of} {what} of {a}{around} is {_limits(c.interval)}"
        case "grows":
            above, of = f" above that of {minus}" if minus else "", c.axis.removeprefix("n_")
            return f"the {what} of {a}{above} grows like {of}^e with e {_limits(c.interval)}"
        case "rate":
            errors = f"{c.y} of the study {c.study}" if c.study else f"the {what} of {a}"
            limits = [None if c.one_sided else c.exponent - c.tolerance, c.exponent + c.tolerance]
            start = f", from {c.x_min:g} on" if c.x_min else ""
            end = f"; judged if it ends below {c.ends_below:g}" if c.ends_below else ""
            return f"{errors} after t iterations is like t^e with e {_limits(limits)}{start}{end}"
        case "identity":
            return f"in the study {c.study} {listed([*map(_check, c.checks)])}"
        case "published":
            than = (
                f"{more} than that of {b}" if c.strictly else f"as good as that of {b}, or {more}"
            )
            return f"the published {what} of {a} is {than}"
    measures = listed(c.measures)
    return f"the means of {measures} are the published ones within {c.margin:g}"


def _limits(interval: Sequence[float | None]) -> str:
    low, high = interval
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"from {low:g} to {high:g}"


def _check(one: Check) -> str:
    pairs = (("at least", one.at_least), ("at most", one.at_most))
    limits = [f"{words} {limit}" for words, limit in pairs if limit is not None]
    return f"{one.number} is {' and '.join(limits)}"
