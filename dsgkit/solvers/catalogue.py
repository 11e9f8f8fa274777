"""Names, parameters and import paths of the solvers, without importing any of them."""

from __future__ import annotations

from dsgkit.errors import ConfigError
from dsgkit.hints import nearest_or_all
from dsgkit.own import is_import_path
from dsgkit.solvers.info import SolverInfo

SOLVERS = {
    info.name: info
    for info in (
        SolverInfo(
            "qsg_s2auc",
            "QSG-S2AUC",
            "dsgkit.solvers.auc.qsg_s2auc:QSGS2AUC",
            "Shi et al., IJCAI 2019",
        ),
        SolverInfo(
            "samult",
            "SAMULT",
            "dsgkit.solvers.auc.samult:SAMULT",
            "Xie & Li, AAAI 2018",
        ),
        SolverInfo(
            "pnu_auc",
            "PNU-AUC",
            "dsgkit.solvers.auc.pnu_auc:PNUAUC",
            "Sakai, Niu & Sugiyama, Machine Learning 2018",
        ),
        SolverInfo(
            "rff_s2auc",
            "RFF-S2AUC",
            "dsgkit.solvers.auc.rff_s2auc:RFFS2AUC",
            "the objective of QSG-S2AUC on fixed random features (Rahimi & Recht 2007)",
        ),
        SolverInfo(
            "tsgs3vm",
            "TSGS3VM",
            "dsgkit.solvers.s3vm.tsgs3vm:TSGS3VM",
            "Geng et al., IJCAI 2019",
        ),
        SolverInfo(
            "frs3vm",
            "FRS3VM",
            "dsgkit.solvers.s3vm.frs3vm:FRS3VM",
            "the objective of TSGS3VM on fixed random features, by stochastic gradients",
        ),
        SolverInfo(
            "bgs3vm",
            "BGS3VM",
            "dsgkit.solvers.s3vm.bgs3vm:BGS3VM",
            "Le et al., UAI 2016, with the objective of Geng et al., IJCAI 2019",
        ),
        SolverInfo(
            "bls3vm",
            "BLS3VM",
            "dsgkit.solvers.s3vm.bls3vm:BLS3VM",
            "Collobert et al., JMLR 2006",
        ),
        SolverInfo(
            "s3vm_light",
            "S3VMlight",
            "dsgkit.solvers.s3vm.s3vm_light:S3VMLight",
            "Joachims, ICML 1999",
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
