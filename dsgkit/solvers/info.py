"""What is known of a solver without running it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SolverInfo:
    """What configs, the command line and tables need to know of a solver.

    Attributes
    ----------
    name : str
        The name used in configs.
    label : str
        The name printed in tables and figures.
    import_path : str
        ``module:class`` of the estimator.
    params : tuple of str
        Constructor parameters; a test compares them with the class.
    batched : tuple of str
        The parameters that ``fit_points`` may vary at once: a grid is
        cut along all others, and each share is trained in one pass.
    reference : str
        Where the method was published.
    tasks : tuple of str
        Kinds of the learning settings that it is for.
    version : int or str
        Part of the identity of every result: raised when a change makes the solver's results
        differ, so that they are computed again.
    """

    name: str
    label: str
    import_path: str
    params: tuple[str, ...]
    batched: tuple[str, ...]
    reference: str
    tasks: tuple[str, ...] = ("semi_supervised_auc",)
    version: int | str = 1

    @property
    def smoother(self) -> dict[str, str]:
        """Which value of a parameter makes a smoother function, the most telling first."""
        known = {"lam": "larger", "C": "smaller", "sigma": "smaller"}
        return {name: value for name, value in known.items() if name in self.params}

    def load(self) -> Any:
        """Import and return the estimator class."""
        module, _, attribute = self.import_path.partition(":")
        return getattr(importlib.import_module(module), attribute)
