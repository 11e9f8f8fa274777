"""Two results folders put side by side."""

from __future__ import annotations

from dataclasses import dataclass

from dsgkit.experiment.results import Results
from dsgkit.report.compare.choices import Choice, choices
from dsgkit.report.compare.coverage import Mismatch, mismatches
from dsgkit.report.compare.differences import (
    Difference,
    config_differences,
    environment_differences,
    timing_problems,
)
from dsgkit.report.compare.effects import QUANTITIES, Effect, Quantity, effects
from dsgkit.report.compare.matching import identical, match, split_differences
from dsgkit.report.titles import all_labels


@dataclass(frozen=True)
class Comparison:
    """What two results folders differ by.

    Attributes
    ----------
    a, b : Results
    unpaired : list of str
        Why equal trials are different splits; empty if trials are paired.
    common, identical : int
        Fits that both have, and those of them with the same status, scores and hyper-parameters.
    effects : list of (Quantity, list of Effect)
        Only quantities that both have.
    choices : list of Choice
        Of hyper-parameters.
    mismatches : list of Mismatch
        Statuses that differ, fits that one side has not.
    config, environment : list of Difference
    timing_problems : list of str
        Why times cannot be compared; empty if they can.
    """

    a: Results
    b: Results
    unpaired: list[str]
    common: int
    identical: int
    effects: list[tuple[Quantity, list[Effect]]]
    choices: list[Choice]
    mismatches: list[Mismatch]
    config: list[Difference]
    environment: list[Difference]
    timing_problems: list[str]

    @property
    def paired(self) -> bool:
        """Whether equal trials are the same splits."""
        return not self.unpaired

    @property
    def labels(self) -> dict[str, str]:
        """The printed name of every solver: that in A, where it has one."""
        return all_labels([self.a, self.b])


def compare(a: Results, b: Results) -> Comparison:
    """Put two results folders side by side.

    Parameters
    ----------
    a, b : Results

    Raises
    ------
    ResultsError
        If no fit is in both.
    """
    matched = match(a, b)
    unpaired = split_differences(a, b)
    found = [(one, effects(matched, one, paired=not unpaired)) for one in QUANTITIES]
    return Comparison(
        a=a,
        b=b,
        unpaired=unpaired,
        common=int(matched["common"].sum()),
        identical=int(identical(matched).sum()),
        effects=[(quantity, members) for quantity, members in found if members],
        choices=choices(a, b),
        mismatches=mismatches(matched),
        config=config_differences(a, b),
        environment=environment_differences(a, b),
        timing_problems=timing_problems(a, b),
    )
