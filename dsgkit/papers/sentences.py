"""Criteria of claims as sentences: when a comparison supports a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dsgkit.experiment.runs import Run
from dsgkit.papers.cases import least_gain, margin_text
from dsgkit.papers.schema import Best, Check, Range
from dsgkit.published import bsgd_svc
from dsgkit.report.numbers import listed

FASTER = (
    "the median {what} of {a} is shorter than that of {b} (with a 95% bootstrap interval of the "
    "ratio above 1)"
)
RATE = "proportional to t^e, with e {interval}"
PREDICATES = {
    "faster": FASTER,
    "crosses": f"from some size on, {{at_most:,}} at the latest, {FASTER}",
    "sooner": "{a}, while it trains, reaches the final {what} of {b} before {b} does",
    "ends": "{b} needs more than {gib:g} GiB in all trials at the sizes that {a} finishes",
    "equal": "the {what} of {a} is within {margin} of that of {b}",
    "better": "the {what} of {a} is significantly {more} than that of {b}{by_least}, and a gain of "
    "{margin} is not excluded",
    "count": "the {what} of {a} is as good as that of {b}, or {more}",
    "best_of": "the {what} of {a} is {more} than that of {b} (a tie counts half)",
    "ratio": "the {what} of {a} divided by that of {b} is {interval}",
    "within": "the {of} of the {what} of {a} is {interval}",
    "grows": "the {what} of {a} grows like {axis}^e, with e {interval}",
    "rate": f"the {{y}} of the study {{study}} after t iterations are {RATE}",
    "traced_rate": f"the {{what}} of {{a}} after t iterations is {RATE}",
    "identity": "it is within its bounds: {checks}",
    "published": "the published {what} of {a} is as good as that of {b}, or {more}, on at least "
    "{least} datasets",
    "reproduced": "the means of {measures} are the published ones up to their tolerance",
}
"""What must be true, by test."""

CONTRADICTED = {
    "faster": "It contradicts the claim if the interval excludes a ratio of {factor:g}.",
    "better": "It contradicts the claim if this is significantly {less}, or if a gain of "
    "{margin}, the smallest that matters, is excluded.",
    "grows": "It contradicts the claim if all of the 95% bootstrap interval of e is outside of "
    "these limits.",
}
"""What contradicts a claim, where some points cannot tell, by test."""

CLAUSES = {
    ("faster", "factor"): "and the ratio is above {factor:g}",
    ("sooner", "margin"): "to within {margin:g}",
    ("sooner", "of"): "or its own, if that is better",
    ("equal", "one_sided"): "or {more}",
    ("within", "around"): "after subtracting the dataset's own number",
    ("grows", "minus"): "after subtracting that of {minus}",
    ("published", "strictly"): "where ties do not count",
    ("", "x_min"): "from t = {x_min:g} on",
    ("", "ends_below"): "and ends below {ends_below:g}",
    ("", "leave_out"): "leaving out fits with {leave_out}",
}
"""What is added for settings that are not the default, by test, or for all."""


def sentence(c: Any, runs: Sequence[Run], labels: Mapping[str, str], where: Sequence[str]) -> str:
    """Return a sentence on what supports a claim according to a criterion.

    For example "A dataset supports the claim if the purity of the best of A and B is as good as
    that of C, or higher." ``labels`` are the names of solvers by their keys, and ``where`` the
    names of datasets, configs or studies.
    """
    measures = {name: m for run in runs for m in run.task.measures for name in (m.name, m.clock)}
    measure = measures.get(name := getattr(c, "measure", None) or "")
    of_measure = bsgd_svc.MEASURES[name] if c.test == "published" else measure and measure.better
    higher = (getattr(c, "better", None) or of_measure or "higher") == "higher"
    words = {setting: getattr(c, setting) for setting in type(c).model_fields}
    words |= {side: _side(c, words[side], labels) for side in ("a", "b", "minus") if side in words}
    words["what"] = spaced_out(name.replace("_seconds", " time"))
    words["what"] = measure.word if measure else words["what"]
    words["more"], words["less"] = ("higher", "lower") if higher else ("lower", "higher")
    if limits := _interval(c):
        words["interval"] = _limits(*limits)
    words["y"] = spaced_out(words.get("y", ""))
    words["axis"] = words.get("axis", "").removeprefix("n_")
    percent = measure is not None and measure.percent
    if c.test == "better":
        words["margin"] = least_gain(c)
        words["by_least"] = f" by {margin_text(c.least, percent=percent)} or more" * (c.least > 0)
    if c.test in ("better", "equal"):
        words["margin"] = margin_text(words["margin"], percent=percent)
    lists = {
        "checks": [*map(_check, getattr(c, "checks", []))],
        "measures": getattr(c, "measures", []),
        "leave_out": [f"{one} = {value}" for one, value in getattr(c, "leave_out", {}).items()],
    }
    words |= {setting: listed(texts) for setting, texts in lists.items() if texts}
    clauses = [
        clause.format_map(words)
        for (test, setting), clause in CLAUSES.items()
        if test in ("", c.test) and getattr(c, setting, None)
        if getattr(c, setting) != type(c).model_fields[setting].default
    ]
    if (sizes := words.get("sizes", "largest")) not in ("largest", Range()):
        least = sizes.min if sizes.min > 1 else None
        clauses.insert(0, f"where the size is {_limits(least, sizes.max)}")
    text = ", ".join([PREDICATES[c.test].format_map(words), *clauses])
    point = _point(c, where)
    supports = "support" if " and a method" in point else "supports"
    against = CONTRADICTED.get(c.test, "").format_map(words)
    return f"{point} {supports} the claim if {text}. {against}".strip()


def _side(c: Any, side: Any, labels: Mapping[str, str]) -> str:
    """Return a side in words: ``each of A and B``, if these are judged one by one."""
    keys = side.best if isinstance(side, Best) else [side] if isinstance(side, str) else side or []
    names = listed([labels.get(key, key) for key in keys] or [""])
    if len(keys) < 2 or getattr(c, "axis", "size") != "size":
        return names
    one_best = isinstance(side, Best) or c.test == "published"
    return f"the best of {names}" if one_best else f"each of {names}"


def _point(c: Any, where: Sequence[str]) -> str:
    """Return what a point of a criterion is."""
    if c.test == "identity":
        return f"A number of the study {c.study}"
    if c.test in ("rate", "published"):
        return "The study" if c.test == "rate" else "The paper's table"
    thing = where[0] if len(where) == 1 else "A dataset"
    if c.test == "reproduced":
        return f"{thing} and a method"
    several = getattr(c, "sizes", "largest") != "largest" and c.test not in ("grows", "crosses")
    return f"{thing} at one size" if several else thing


def _interval(c: Any) -> Sequence[float | None]:
    if c.test not in ("rate", "traced_rate"):
        return getattr(c, "interval", ())
    return (None if c.one_sided else c.exponent - c.tolerance), c.exponent + c.tolerance


def _limits(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high:,g}"
    return f"at least {low:,g}" if high is None else f"from {low:,g} to {high:,g}"


def _check(one: Check) -> str:
    pairs = (("at least", one.at_least), ("at most", one.at_most))
    limits = [
        f"{words} {f'that of {spaced_out(limit)}' if isinstance(limit, str) else f'{limit:,g}'}"
        for words, limit in pairs
        if limit is not None
    ]
    return f"{spaced_out(one.number)} {' and '.join(limits)}"


def spaced_out(name: str) -> str:
    """Return the name of a measure, or a place in a study such as ``hinge.widths``, as words."""
    first, *rest = name.replace("_", " ").split(".")
    return f"{first} ({', '.join(rest)})" if rest else first
