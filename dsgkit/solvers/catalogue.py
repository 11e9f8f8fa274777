"""The solvers by name, without importing any of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsgkit.errors import ConfigError, nearest_or_all, spelled
from dsgkit.user_code import version_of

if TYPE_CHECKING:
    from dsgkit.tasks.base import Task


@dataclass(frozen=True)
class SolverInfo:
    """Names of a solver, and facts about its class, which are read by importing it.

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
        """Declared parameters by name."""
        from dsgkit.solvers.parameters import parameters

        return parameters(self.load())

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the parameters, in the constructor's order."""
        return tuple(self.parameters)

    @property
    def batched(self) -> tuple[str, ...]:
        """Parameters in which models of one pass may differ; others need a pass per grid value."""
        return tuple(name for name, p in self.parameters.items() if p.per_model)

    @property
    def smoother(self) -> Mapping[str, str]:
        """Parameters whose ``larger`` or ``smaller`` values make the function smoother."""
        return {name: p.smoother for name, p in self.parameters.items() if p.smoother}

    @property
    def tasks(self) -> tuple[str, ...]:
        """Kinds of the tasks that the solver is for."""
        from dsgkit.solvers.user import tasks_of

        return tasks_of(self.load())

    def suits(self, task: type[Task]) -> bool:
        """Return whether the class is for a task."""
        return task.kind in self.tasks

    def learns_from(self, names: Sequence[str], params: Mapping[str, Any]) -> bool:
        """Return whether its fit with these parameters depends on any of the named arrays."""
        from dsgkit.tasks.base import depends_on

        return depends_on(self.load()(**params), names)

    def check_for(self, task: type[Task]) -> None:
        """Raise `ConfigError` unless a user-defined class has the methods that a task calls."""

    def seed(self, seed: int) -> int:
        """Return a 64-bit seed in the class's range: scikit-learn's estimators take 32 bits."""
        return seed % 2**32 if self.import_path.startswith("sklearn.") else seed

    @property
    def version(self) -> int | str:
        """Part of the identity of every result."""
        return version_of(self.load())


_NEW = "dsgkit.estimators"
_CLUSTERING = "dsgkit.clustering.estimators"

SOLVERS = {
    info.name: info
    for info in (
        SolverInfo("qsg_s2auc", "QSG-S2AUC", f"{_NEW}.auc:QSGS2AUC", "Shi et al., IJCAI 2019"),
        SolverInfo(
            "qsg_s2auc_p",
            "QSG-S2AUC-P",
            f"{_NEW}.auc:QSGS2AUCP",
            "the objective of QSG-S2AUC by block-preconditioned steps (Dai et al., NIPS 2014)",
        ),
        SolverInfo("samult", "SAMULT", f"{_NEW}.auc:SAMULT", "Xie & Li, AAAI 2018"),
        SolverInfo(
            "pnu_auc",
            "PNU-AUC",
            f"{_NEW}.auc:PNUAUC",
            "Sakai, Niu & Sugiyama, Machine Learning 2018",
        ),
        SolverInfo(
            "rff_s2auc",
            "RFF-S2AUC",
            f"{_NEW}.auc:RFFS2AUC",
            "the objective of QSG-S2AUC on fixed random features (Rahimi & Recht 2007)",
        ),
        SolverInfo(
            "nystrom_s2auc",
            "Nyström-S2AUC",
            f"{_NEW}.auc:NystromS2AUC",
            "the objective of QSG-S2AUC on landmarks (Williams & Seeger 2001)",
        ),
        SolverInfo("tsgs3vm", "TSGS3VM", f"{_NEW}.s3vm:TSGS3VM", "Geng et al., IJCAI 2019"),
        SolverInfo(
            "tsgs3vm_p",
            "TSGS3VM-P",
            f"{_NEW}.s3vm:TSGS3VMP",
            "the objective of TSGS3VM by block-preconditioned steps on quadratic bounds",
        ),
        SolverInfo(
            "frs3vm",
            "FRS3VM",
            f"{_NEW}.s3vm:FRS3VM",
            "the objective of TSGS3VM on fixed random features, by stochastic gradients",
        ),
        SolverInfo(
            "bgs3vm",
            "BGS3VM",
            f"{_NEW}.s3vm:BGS3VM",
            "Le et al., UAI 2016, with the objective of Geng et al., IJCAI 2019",
        ),
        SolverInfo("bls3vm", "BLS3VM", f"{_NEW}.s3vm:BLS3VM", "Collobert et al., JMLR 2006"),
        SolverInfo("s3vm_light", "S3VMlight", f"{_NEW}.s3vm:S3VMLight", "Joachims, ICML 1999"),
        SolverInfo(
            "supervised_svm",
            "SVM, labelled rows",
            f"{_NEW}.svm:SupervisedSVM",
            "the SVM without the unlabelled rows (LIBSVM: Chang & Lin, ACM TIST 2011)",
        ),
        SolverInfo(
            "all_labels_svm",
            "SVM, all labels",
            f"{_NEW}.svm:AllLabelsSVM",
            "the SVM with the labels that are hidden from the others",
        ),
        SolverInfo(
            "self_training",
            "Self-training",
            f"{_NEW}.svm:SelfTraining",
            "Yarowsky, ACL 1995, with an SVM",
        ),
        SolverInfo("qs3orao", "QS3ORAO", f"{_NEW}.ordinal:QS3ORAO", "Shi et al., AAAI 2020"),
        SolverInfo(
            "qs3orao_p",
            "QS3ORAO-P",
            f"{_NEW}.ordinal:QS3ORAOP",
            "the objective of QS3ORAO by block-preconditioned steps (Dai et al., NIPS 2014)",
        ),
        SolverInfo(
            "exact_s2or",
            "Exact S2OR",
            f"{_NEW}.ordinal:ExactS2OR",
            "the objective of QS3ORAO with a kernel, exactly",
        ),
        SolverInfo(
            "rff_s2or",
            "RFF-S2OR",
            f"{_NEW}.ordinal:RFFS2OR",
            "the objective of QS3ORAO on fixed random features (Rahimi & Recht 2007)",
        ),
        SolverInfo(
            "svorex",
            "SVOREX",
            f"{_NEW}.ordinal:SVOREX",
            "Chu & Keerthi, Neural Computation 2007, explicit thresholds",
        ),
        SolverInfo(
            "svorim",
            "SVORIM",
            f"{_NEW}.ordinal:SVORIM",
            "Chu & Keerthi, Neural Computation 2007, implicit thresholds",
        ),
        SolverInfo(
            "m_samult",
            "M-SAMULT",
            f"{_NEW}.per_cut:MSAMULT",
            "SAMULT (Xie & Li, AAAI 2018) for every cut",
        ),
        SolverInfo(
            "m_pnu_auc",
            "M-PNU-AUC",
            f"{_NEW}.per_cut:MPNUAUC",
            "PNU-AUC (Sakai, Niu & Sugiyama, Machine Learning 2018) for every cut",
        ),
        SolverInfo(
            "kernel_ridge",
            "Kernel ridge",
            f"{_NEW}.ordinal:KernelRidgeOrdinal",
            "least squares on the numbers of the classes",
        ),
        SolverInfo(
            "all_threshold",
            "All-threshold logistic",
            f"{_NEW}.ordinal:AllThresholdLogistic",
            "Rennie & Srebro, IJCAI workshop on preference handling 2005",
        ),
        SolverInfo(
            "constant_median",
            "Constant median",
            f"{_NEW}.ordinal:ConstantMedian",
            "the median class for every row",
        ),
        SolverInfo("tsgsu", "TSGSU", f"{_NEW}.similar:TSGSU", "Shi et al., Machine Learning 2021"),
        SolverInfo(
            "tsgsu_p",
            "TSGSU-P",
            f"{_NEW}.similar:TSGSUP",
            "the objective of TSGSU by block-preconditioned steps (Dai et al., NIPS 2014)",
        ),
        SolverInfo(
            "su_sl",
            "SU-SL",
            f"{_NEW}.similar:SUSL",
            "Bao, Niu & Sugiyama, ICML 2018, squared loss",
        ),
        SolverInfo(
            "rff_su_sl",
            "RFF-SU-SL",
            f"{_NEW}.similar:RFFSUSL",
            "the objective of SU-SL on fixed random features (Rahimi & Recht 2007)",
        ),
        SolverInfo(
            "su_dh",
            "SU-DH",
            f"{_NEW}.similar:SUDH",
            "Bao, Niu & Sugiyama, ICML 2018, double hinge loss",
        ),
        SolverInfo("cuu", "CUU", f"{_NEW}.similar:CUU", "Lu et al., AISTATS 2020"),
        SolverInfo(
            "supervised_sl",
            "Supervised",
            f"{_NEW}.labeled:SupervisedSL",
            "the loss of SU-SL, with labels",
        ),
        SolverInfo(
            "majority_class",
            "Majority class",
            f"{_NEW}.labeled:MajorityClass",
            "the larger class for every row",
        ),
        SolverInfo(
            "bsgd_lmoc",
            "BSGD-LMOC",
            f"{_CLUSTERING}:BSGDLMOC",
            "Pham, Le & Dang, 2017 (arXiv 1709.06444)",
        ),
        SolverInfo(
            "sgd_lmoc",
            "SGD-LMOC",
            f"{_CLUSTERING}:SGDLMOC",
            "Pham, Le, Le & Dang, Vietnam Journal of Computer Science 2017",
        ),
        SolverInfo("svc", "SVC", f"{_CLUSTERING}:BenHurSVC", "Ben-Hur et al., JMLR 2001"),
        SolverInfo(
            "fsvc", "FSVC", f"{_CLUSTERING}:FSVC", "Jung, Lee & Kim, Pattern Recognition 2010"
        ),
    )
}


MOVED = {
    "dsgkit.solvers.clustering.fuzzy_c_means:FuzzyCMeans": "dsgkit.clustering.fuzzy:FuzzyCMeans"
}
"""New import paths of classes whose old ones stand in configs and in the keys of kept results."""


def get(kind: str) -> SolverInfo:
    """Return the solver called ``kind``, or the user-defined class at an import path.

    Raises
    ------
    ConfigError
        If there is no such solver (the message names the nearest one), or its class is unusable.
    """
    if kind in SOLVERS:
        return SOLVERS[kind]
    if ":" in kind:
        # imported here because checking a class imports scikit-learn, which listing names need not
        from dsgkit.solvers.user import describe

        return describe(MOVED.get(kind, kind))
    raise ConfigError(f"unknown solver {spelled(kind)}{_hint(kind)}")


def _hint(kind: str) -> str:
    module, dot, name = kind.rpartition(".")
    if dot:
        return f"; write {module}:{name} for a class"
    return nearest_or_all(kind, SOLVERS, "dsg list solvers")
