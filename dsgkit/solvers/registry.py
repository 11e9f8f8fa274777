"""Names, parameters and import paths of the solvers, without importing any of them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from dsgkit.errors import ConfigError
from dsgkit.hints import nearest_or_all


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
        The parameters that ``cv_decision_function`` may vary at once: a grid is cut along all
        others, and each share is trained in one pass.
    reference : str
        Where the method was published.
    """

    name: str
    label: str
    import_path: str
    params: tuple[str, ...]
    batched: tuple[str, ...]
    reference: str

    def load(self) -> Any:
        """Import and return the estimator class."""
        module, _, attribute = self.import_path.partition(":")
        return getattr(importlib.import_module(module), attribute)


SOLVERS = {
    info.name: info
    for info in (
        SolverInfo(
            "qsg_s2auc",
            "QSG-S2AUC",
            "dsgkit.solvers.qsg_s2auc:QSGS2AUC",
            (
                "lam",
                "sigma",
                "gamma",
                "batch_size",
                "n_features",
                "n_iterations",
                "theta_lam",
                "t0",
                "random_state",
            ),
            ("lam", "gamma", "theta_lam", "t0"),
            "Shi et al., IJCAI 2019",
        ),
        SolverInfo(
            "samult",
            "SAMULT",
            "dsgkit.solvers.samult:SAMULT",
            ("lam", "sigma", "gamma", "max_memory"),
            ("lam", "gamma"),
            "Xie & Li, AAAI 2018",
        ),
        SolverInfo(
            "pnu_auc",
            "PNU-AUC",
            "dsgkit.solvers.pnu_auc:PNUAUC",
            ("lam", "sigma", "eta", "prior", "n_centers", "max_memory", "random_state"),
            ("lam", "eta"),
            "Sakai, Niu & Sugiyama, Machine Learning 2018",
        ),
        SolverInfo(
            "rff_s2auc",
            "RFF-S2AUC",
            "dsgkit.solvers.rff_s2auc:RFFS2AUC",
            ("lam", "sigma", "gamma", "n_features", "max_memory", "random_state"),
            ("lam", "gamma"),
            "the objective of QSG-S2AUC on fixed random features (Rahimi & Recht 2007)",
        ),
    )
}


def get(name: str) -> SolverInfo:
    """Return the solver called ``name``.

    Raises
    ------
    ConfigError
        If there is none; the text names the nearest one.
    """
    if name in SOLVERS:
        return SOLVERS[name]
    raise ConfigError(f"unknown solver {name!r}{nearest_or_all(name, SOLVERS)}")
