"""Several experiments that run one after the other, and how long all of them take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from dsgkit.experiment.status import duration


class Series:
    """Which of several experiments runs, and about how much time is left for all.

    The planned times of those to come are scaled by what those before them took of theirs.

    Parameters
    ----------
    planned : mapping of str to float
        Seconds that each experiment is planned to take, by name, in the order of the run.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self, planned: Mapping[str, float], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._planned = dict(planned)
        self._clock = clock
        self._begin = clock()
        self._number = 0

    @property
    def name(self) -> str:
        """Name of the experiment that runs."""
        return list(self._planned)[self._number]

    @property
    def is_first(self) -> bool:
        """Whether the first experiment runs."""
        return self._number == 0

    def begin(self, name: str) -> None:
        """Note which experiment runs now."""
        self._number = list(self._planned).index(name)

    def drop(self, name: str) -> None:
        """Note that an experiment could not run: it says nothing of how long others take."""
        self._planned[name] = 0.0

    def seconds_left(self, current: float) -> float:
        """Return about how many seconds are left for all.

        Parameters
        ----------
        current : float
            Seconds that are left for the experiment that runs.
        """
        planned = list(self._planned.values())
        begun = sum(planned[: self._number + 1])
        takes = self._clock() - self._begin + current
        return current + sum(planned[self._number + 1 :]) * (takes / begun if begun else 1.0)

    def line(self, current: float) -> str:
        """Return how far all of them are; ``current`` as in `seconds_left`."""
        so_far = duration(self._clock() - self._begin)
        left = duration(max(1.0, self.seconds_left(current)))
        which = f"config {self._number + 1} of {len(self._planned)}"
        return f"{which}, {so_far} so far, about {left} left"
