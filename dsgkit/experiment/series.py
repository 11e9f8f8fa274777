"""Progress of several experiments that run one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from dsgkit.experiment.status import duration


class Series:
    """Tracks which experiment of a series runs, and about how much time is left for all.

    The planned times of later experiments are scaled by actual over planned time so far.

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
        """Name of the running experiment."""
        return list(self._planned)[self._number]

    @property
    def is_first(self) -> bool:
        """Whether the first experiment is running."""
        return self._number == 0

    def begin(self, name: str) -> None:
        """Note that an experiment starts."""
        self._number = list(self._planned).index(name)

    def drop(self, name: str) -> None:
        """Note that an experiment could not run, so that its planned time does not count."""
        self._planned[name] = 0.0

    def seconds_left(self, current: float) -> float:
        """Return about how many seconds are left for all experiments.

        Parameters
        ----------
        current : float
            Seconds that are left for the running experiment.
        """
        planned = list(self._planned.values())
        begun, to_come = sum(planned[: self._number + 1]), sum(planned[self._number + 1 :])
        actual = self._clock() - self._begin + current
        return current + to_come * (actual / begun if begun else 1.0)

    def line(self, current: float) -> str:
        """Return the progress of the series as a line; ``current`` as in `seconds_left`."""
        so_far = duration(self._clock() - self._begin)
        left = duration(max(1.0, self.seconds_left(current)))
        which = f"config {self._number + 1} of {len(self._planned)}"
        return f"{which}, {so_far} so far, about {left} left"
