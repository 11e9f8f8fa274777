"""The solvers by name, without importing any of them."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
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
    name, label : str
        The name used in configs, and that in tables and figures.
    import_path : str
        ``module:class`` of the estimator.
    reference : str
        Where the method was published.
    own : type, optional
        The class of a solver outside of the package, which may be a wrapper.
    role : {"classifier", "regressor", "clusterer"}, optional
        Of one of scikit-learn's kind.
    own_version : int or str, optional
        Version of a solver outside of the package when it was imported.
    """

    name: str
    label: str
    import_path: str
    reference: str = ""
    own: Any = None
    role: str | None = None
    own_version: int | str | None = None

    def load(self) -> Any:
        """Import and return the estimator class."""
        return self.own or pkgutil.resolve_name(self.import_path)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Declared parameters by name."""
        from dsgkit.estimators.parameters import parameters

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
        from dsgkit.estimators.adapt import tasks_of

        return tasks_of(self.load())

    def suits(self, task: type[Task]) -> bool:
        """Return whether the class is for a task, by its own or the task's declaration."""
        return task.kind in self.tasks or self.role in task.takes

    def learns_from(self, names: Sequence[str], params: Mapping[str, Any]) -> bool:
        """Return whether its fit with these parameters depends on any of the named arrays."""
        from dsgkit.tasks.base import depends_on

        return depends_on(self.load()(**params), names)

    def seed(self, seed: int) -> int:
        """Return a 64-bit seed in the class's range: scikit-learn's estimators take 32 bits."""
        return seed if self.role is None else seed % 2**32

    @property
    def version(self) -> int | str:
        """Part of the identity of every result."""
        return version_of(self.load()) if self.own_version is None else self.own_version


_SOLVERS = """
estimators.auc
  qsg_s2auc | QSG-S2AUC | QSGS2AUC | Shi et al., IJCAI 2019
  qsg_s2auc_p | QSG-S2AUC-P | QSGS2AUCP | the objective of QSG-S2AUC by block-preconditioned \
    steps (Dai et al., NIPS 2014)
  samult | SAMULT | SAMULT | Xie & Li, AAAI 2018
  pnu_auc | PNU-AUC | PNUAUC | Sakai, Niu & Sugiyama, Machine Learning 2018
  rff_s2auc | RFF-S2AUC | RFFS2AUC | the objective of QSG-S2AUC on fixed random features \
    (Rahimi & Recht 2007)
  nystrom_s2auc | Nyström-S2AUC | NystromS2AUC | the objective of QSG-S2AUC on landmarks \
    (Williams & Seeger 2001)
estimators.s3vm
  tsgs3vm | TSGS3VM | TSGS3VM | Geng et al., IJCAI 2019
  tsgs3vm_p | TSGS3VM-P | TSGS3VMP | the objective of TSGS3VM by block-preconditioned steps on \
    quadratic bounds
  frs3vm | FRS3VM | FRS3VM | the objective of TSGS3VM on fixed random features, by stochastic \
    gradients
  bgs3vm | BGS3VM | BGS3VM | Le et al., UAI 2016, with the objective of Geng et al., IJCAI 2019
  bls3vm | BLS3VM | BLS3VM | Collobert et al., JMLR 2006
  s3vm_light | S3VMlight | S3VMLight | Joachims, ICML 1999
estimators.svm
  supervised_svm | SVM (labelled rows) | SupervisedSVM | the SVM without the unlabelled rows \
    (LIBSVM: Chang & Lin, ACM TIST 2011)
  all_labels_svm | SVM (all labels) | AllLabelsSVM | the SVM with the labels that are hidden \
    from the others
  self_training | Self-training | SelfTraining | Yarowsky, ACL 1995, with an SVM
estimators.ordinal
  qs3orao | QS3ORAO | QS3ORAO | Shi et al., AAAI 2020
  qs3orao_p | QS3ORAO-P | QS3ORAOP | the objective of QS3ORAO by block-preconditioned steps \
    (Dai et al., NIPS 2014)
  exact_s2or | Exact S2OR | ExactS2OR | the objective of QS3ORAO with a kernel, exactly
  rff_s2or | RFF-S2OR | RFFS2OR | the objective of QS3ORAO on fixed random features (Rahimi & \
    Recht 2007)
  svorex | SVOREX | SVOREX | Chu & Keerthi, Neural Computation 2007, explicit thresholds
  svorim | SVORIM | SVORIM | Chu & Keerthi, Neural Computation 2007, implicit thresholds
estimators.per_cut
  m_samult | M-SAMULT | MSAMULT | SAMULT (Xie & Li, AAAI 2018) for every cut
  m_pnu_auc | M-PNU-AUC | MPNUAUC | PNU-AUC (Sakai, Niu & Sugiyama, Machine Learning 2018) for \
    every cut
estimators.labeled
  kernel_ridge | Kernel ridge | KernelRidgeOrdinal | least squares on the numbers of the classes
  all_threshold | All-threshold logistic | AllThresholdLogistic | Rennie & Srebro, IJCAI \
    workshop on preference handling 2005
  constant_median | Constant median | ConstantMedian | the median class for every row
estimators.similar
  tsgsu | TSGSU | TSGSU | Shi et al., Machine Learning 2021
  tsgsu_p | TSGSU-P | TSGSUP | the objective of TSGSU by block-preconditioned steps (Dai et \
    al., NIPS 2014)
  su_sl | SU-SL | SUSL | Bao, Niu & Sugiyama, ICML 2018, squared loss
  rff_su_sl | RFF-SU-SL | RFFSUSL | the objective of SU-SL on fixed random features (Rahimi & \
    Recht 2007)
  su_dh | SU-DH | SUDH | Bao, Niu & Sugiyama, ICML 2018, double hinge loss
  cuu | CUU | CUU | Lu et al., AISTATS 2020
estimators.labeled
  supervised_sl | Supervised | SupervisedSL | the loss of SU-SL, with labels
  majority_class | Majority class | MajorityClass | the larger class for every row
clustering.estimators
  bsgd_lmoc | BSGD-LMOC | BSGDLMOC | Pham, Le & Dang, 2017 (arXiv 1709.06444)
  sgd_lmoc | SGD-LMOC | SGDLMOC | Pham, Le, Le & Dang, Vietnam Journal of Computer Science 2017
  svc | SVC | BenHurSVC | Ben-Hur et al., JMLR 2001
  fsvc | FSVC | FSVC | Jung, Lee & Kim, Pattern Recognition 2010
"""
"""Modules, and the name, label, class and reference of each of their solvers."""


def _solvers() -> Iterator[SolverInfo]:
    module = ""
    for line in _SOLVERS.strip().splitlines():
        name, *others = (" ".join(part.split()) for part in line.split("|"))
        if others:
            label, kind, reference = others
            yield SolverInfo(name, label, f"dsgkit.{module}:{kind}", reference)
        else:
            module = name


SOLVERS = {info.name: info for info in _solvers()}


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
        # scikit-learn is imported here: listing names needs none
        from dsgkit.estimators.adapt import solver_at

        name, solver, role, version = solver_at(MOVED.get(kind, kind))
        return SolverInfo(kind, name, kind, own=solver, role=role, own_version=version)
    raise ConfigError(f"unknown solver {spelled(kind)}{_hint(kind)}")


def _hint(kind: str) -> str:
    module, dot, name = kind.rpartition(".")
    if dot:
        return f"; write {module}:{name} for a class"
    return nearest_or_all(kind, SOLVERS, "dsg list solvers")
