"""What is known of a solver without running it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
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
    reference : str
        Where the method was published.
    """

    name: str
    label: str
    import_path: str
    reference: str = ""

    def load(self) -> Any:
        """Import and return the estimator class."""
        module, _, attribute = self.import_path.partition(":")
        return getattr(importlib.import_module(module), attribute)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What is declared of every parameter, by name."""
        from dsgkit.solvers.parameters import parameters

        return parameters(self.load())

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the parameters, in the constructor's order."""
        return tuple(self.parameters)

    @property
    def batched(self) -> tuple[str, ...]:
        """Parameters that models of one pass may differ in: a grid is cut along all others."""
        return tuple(name for name, p in self.parameters.items() if p.per_model)

    @property
    def smoother(self) -> Mapping[str, str]:
        """Parameters whose ``larger`` or ``smaller`` values make the smoother function."""
        return {name: p.smoother for name, p in self.parameters.items() if p.smoother}

    @property
    def tasks(self) -> tuple[str, ...]:
        """Kinds of the tasks that it is for."""
        return tuple(self.load().tasks)

    @property
    def version(self) -> int | str:
        """Part of the identity of every result."""
        from dsgkit.solvers.user import version

        return version(self.load())
