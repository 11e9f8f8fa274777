"""Models shown along a training, at no cost to its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from dsgkit.engine.model import DSGModel
from dsgkit.system.progress import listening
from dsgkit.system.stopwatch import Stopwatch

Observer = Callable[[int, float, DSGModel], None]
"""Takes the number of iterations made, the seconds they took, and the models after them."""


class Checkpoints:
    """When a training shows its models, and to which observer; its clock starts when it is made.

    Parameters
    ----------
    at : sequence of int
        Numbers of iterations, ascending within 1..n_iterations.
    observe : callable or None
        An `Observer`; needed if there are checkpoints.
    n_iterations : int

    Raises
    ------
    ValueError
        If ``at`` does not ascend within the iterations, or if nothing observes them.
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
        """Show the models after iteration t, if that is a checkpoint; the clock stands meanwhile.

        Progress that the observer reports is not passed on: it is not training's.
        """
        if t not in self._at or self._observe is None:
            return
        seconds = self._stopwatch.seconds
        with self._stopwatch.paused(), listening(lambda fraction: None):
            self._observe(t, seconds, model())
