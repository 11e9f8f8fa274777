"""Checkpoints: models passed to an observer during training, with the clock stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from dsgkit.engine.model import DSGModel
from dsgkit.system.progress import Stopwatch, listening

Observer = Callable[[int, float, DSGModel], None]
"""Called with the number of iterations, their seconds, and the models after them."""


class Checkpoints:
    """Schedule of checkpoints and their observer; the clock starts at construction.

    Parameters
    ----------
    at : sequence of int
        Numbers of iterations, ascending within 1..n_iterations.
    observe : callable or None
        An `Observer`; required if there are checkpoints.
    n_iterations : int

    Raises
    ------
    ValueError
        If ``at`` does not ascend within the iterations, or an observer is missing.
    """

    def __init__(self, at: Sequence[int], observe: Observer | None, n_iterations: int) -> None:
        bounds = [0, *at, n_iterations + 1]
        if any(a >= b for a, b in pairwise(bounds)):
            raise ValueError(f"checkpoints must ascend within 1..{n_iterations}, got {list(at)}")
        if len(at) and observe is None:
            raise ValueError("checkpoints need an observer")
        self._at = set(at)
        self._observe = observe
        self._stopwatch = Stopwatch()

    def after(self, t: int, model: Callable[[], DSGModel]) -> None:
        """Call the observer if iteration t is a checkpoint, with the clock stopped.

        Progress that the observer reports is dropped, as it is not that of training.
        """
        if t not in self._at or self._observe is None:
            return
        seconds = self._stopwatch.seconds
        with self._stopwatch.paused(), listening(lambda fraction: None):
            self._observe(t, seconds, model())
