"""Names, parameters and import paths of the solvers, without importing any of them."""

from __future__ import annotations

from dsgkit.errors import ConfigError
from dsgkit.hints import nearest_or_all
from dsgkit.own import is_import_path
from dsgkit.solvers.info import SolverInfo

_STOCHASTIC_S3VM = (
    "C",
    "sigma",
    "C_star",
    "loss",
    "ramp_s",
    "step",
    "batch_size",
    "n_features",
    "max_memory",
    "random_state",
)

SOLVERS = {
    info.name: info
    for info in (
        SolverInfo(
            "qsg_s2auc",
            "QSG-S2AUC",
            "dsgkit.solvers.auc.qsg_s2auc:QSGS2AUC",
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
            "dsgkit.solvers.auc.samult:SAMULT",
            ("lam", "sigma", "gamma", "max_memory"),
            ("lam", "gamma"),
            "Xie & Li, AAAI 2018",
        ),
        SolverInfo(
            "pnu_auc",
            "PNU-AUC",
            "dsgkit.solvers.auc.pnu_auc:PNUAUC",
            ("lam", "sigma", "eta", "prior", "n_centers", "max_memory", "random_state"),
            ("lam", "eta"),
            "Sakai, Niu & Sugiyama, Machine Learning 2018",
        ),
        SolverInfo(
            "rff_s2auc",
            "RFF-S2AUC",
            "dsgkit.solvers.auc.rff_s2auc:RFFS2AUC",
            ("lam", "sigma", "gamma", "n_features", "max_memory", "random_state"),
            ("lam", "gamma"),
            "the objective of QSG-S2AUC on fixed random features (Rahimi & Recht 2007)",
        ),
        SolverInfo(
            "tsgs3vm",
            "TSGS3VM",
            "dsgkit.solvers.s3vm.tsgs3vm:TSGS3VM",
            (*_STOCHASTIC_S3VM, "n_iterations"),
            ("C", "C_star", "loss", "ramp_s", "step"),
            "Geng et al., IJCAI 2019",
            tasks=("semi_supervised_svm",),
        ),
        SolverInfo(
            "frs3vm",
            "FRS3VM",
            "dsgkit.solvers.s3vm.frs3vm:FRS3VM",
            (*_STOCHASTIC_S3VM, "n_passes"),
            ("C", "C_star", "loss", "ramp_s", "step"),
            "the objective of TSGS3VM on fixed random features, by stochastic gradients",
            tasks=("semi_supervised_svm",),
        ),
        SolverInfo(
            "bgs3vm",
            "BGS3VM",
            "dsgkit.solvers.s3vm.bgs3vm:BGS3VM",
            ("C", "sigma", "C_star", "labeled_budget", "unlabeled_budget", "random_state"),
            (),
            "Le et al., UAI 2016, with the objective of Geng et al., IJCAI 2019",
            tasks=("semi_supervised_svm",),
        ),
        SolverInfo(
            "bls3vm",
            "BLS3VM",
            "dsgkit.solvers.s3vm.bls3vm:BLS3VM",
            ("C", "sigma", "C_star", "ramp_s", "balance", "max_iter", "tol", "max_memory"),
            ("C", "C_star", "ramp_s"),
            "Collobert et al., JMLR 2006",
            tasks=("semi_supervised_svm",),
        ),
        SolverInfo(
            "s3vm_light",
            "S3VMlight",
            "dsgkit.solvers.s3vm.s3vm_light:S3VMLight",
            ("C", "sigma", "C_star", "pairs_per_switch", "max_memory"),
            (),
            "Joachims, ICML 1999",
            tasks=("semi_supervised_svm",),
        ),
    )
}


def get(kind: str) -> SolverInfo:
    """Return the solver called ``kind``, or the class of one's own at an import path.

    Raises
    ------
    ConfigError
        If there is no such solver; the text names the nearest one, or what is wrong with the class.
    """
    if kind in SOLVERS:
        return SOLVERS[kind]
    if is_import_path(kind):
        # imported here because checking a class takes scikit-learn, which listing names does not
        from dsgkit.solvers.user import describe

        return describe(kind)
    raise ConfigError(f"unknown solver {kind!r}{_hint(kind)}")


def _hint(kind: str) -> str:
    module, dot, name = kind.rpartition(".")
    return f"; write {module}:{name} for a class" if dot else nearest_or_all(kind, SOLVERS)
