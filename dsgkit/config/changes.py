"""Settings that results depend on, and a short hash for changes of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

_WITHOUT_EFFECT = ("name", "threads", "outputs")
_WITHOUT_EFFECT_IN_SOLVERS = ("label", "against")

_HASH_LENGTH = 6


def of_results(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a config, or of a part of one, that results depend on."""
    settings = {name: value for name, value in data.items() if name not in _WITHOUT_EFFECT}
    if isinstance(solvers := settings.get("solvers"), dict):
        settings["solvers"] = {key: _of_solver(solver) for key, solver in solvers.items()}
    return settings


def _of_solver(solver: Any) -> Any:
    if not isinstance(solver, dict):
        return solver
    return {k: value for k, value in solver.items() if k not in _WITHOUT_EFFECT_IN_SOLVERS}


def short_hash(change: Mapping[str, Any]) -> str:
    """Return a few hexadecimal digits that name a change of settings."""
    settings = of_results(change)
    if isinstance(solvers := settings.get("solvers"), dict):  # a new label alone is no change
        settings["solvers"] = {k: v for k, v in solvers.items() if v or not change["solvers"][k]}
    settings = {name: value for name, value in settings.items() if value != {}}
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def first_difference(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """Return the dotted key of the first setting that makes results differ; empty if none does."""
    return next(_differing(of_results(ours), of_results(theirs), ""), "")


def _differing(ours: Any, theirs: Any, key: str) -> Iterator[str]:
    if not (isinstance(ours, Mapping) and isinstance(theirs, Mapping)):
        if ours != theirs:
            yield key
        return
    for name in dict.fromkeys([*ours, *theirs]):
        dotted = f"{key}.{name}" if key else name
        if name in ours and name in theirs:
            yield from _differing(ours[name], theirs[name], dotted)
        else:
            yield dotted
