"""dsgkit: scalable kernel methods for weakly supervised learning, and the experiments on them.

The estimators are imported when first used, so that ``import dsgkit`` and the command line start
at once.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsgkit.clustering.estimators import BSGDLMOC as BSGDLMOC
    from dsgkit.clustering.estimators import FSVC as FSVC
    from dsgkit.clustering.estimators import SGDLMOC as SGDLMOC
    from dsgkit.clustering.estimators import BenHurSVC as BenHurSVC
    from dsgkit.estimators.auc import PNUAUC as PNUAUC
    from dsgkit.estimators.auc import QSGS2AUC as QSGS2AUC
    from dsgkit.estimators.auc import QSGS2AUCP as QSGS2AUCP
    from dsgkit.estimators.auc import RFFS2AUC as RFFS2AUC
    from dsgkit.estimators.auc import SAMULT as SAMULT
    from dsgkit.estimators.auc import NystromS2AUC as NystromS2AUC
    from dsgkit.estimators.labeled import AllThresholdLogistic as AllThresholdLogistic
    from dsgkit.estimators.labeled import ConstantMedian as ConstantMedian
    from dsgkit.estimators.labeled import KernelRidgeOrdinal as KernelRidgeOrdinal
    from dsgkit.estimators.labeled import MajorityClass as MajorityClass
    from dsgkit.estimators.labeled import SupervisedSL as SupervisedSL
    from dsgkit.estimators.ordinal import QS3ORAO as QS3ORAO
    from dsgkit.estimators.ordinal import QS3ORAOP as QS3ORAOP
    from dsgkit.estimators.ordinal import RFFS2OR as RFFS2OR
    from dsgkit.estimators.ordinal import SVOREX as SVOREX
    from dsgkit.estimators.ordinal import SVORIM as SVORIM
    from dsgkit.estimators.ordinal import ExactS2OR as ExactS2OR
    from dsgkit.estimators.per_cut import MPNUAUC as MPNUAUC
    from dsgkit.estimators.per_cut import MSAMULT as MSAMULT
    from dsgkit.estimators.s3vm import BGS3VM as BGS3VM
    from dsgkit.estimators.s3vm import BLS3VM as BLS3VM
    from dsgkit.estimators.s3vm import FRS3VM as FRS3VM
    from dsgkit.estimators.s3vm import TSGS3VM as TSGS3VM
    from dsgkit.estimators.s3vm import TSGS3VMP as TSGS3VMP
    from dsgkit.estimators.s3vm import S3VMLight as S3VMLight
    from dsgkit.estimators.similar import CUU as CUU
    from dsgkit.estimators.similar import RFFSUSL as RFFSUSL
    from dsgkit.estimators.similar import SUDH as SUDH
    from dsgkit.estimators.similar import SUSL as SUSL
    from dsgkit.estimators.similar import TSGSU as TSGSU
    from dsgkit.estimators.similar import TSGSUP as TSGSUP
    from dsgkit.estimators.svm import AllLabelsSVM as AllLabelsSVM
    from dsgkit.estimators.svm import SelfTraining as SelfTraining
    from dsgkit.estimators.svm import SupervisedSVM as SupervisedSVM
    from dsgkit.report.export import load_results as load_results

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import an exported name from its module (PEP 562)."""
    if name == "__all__":
        return sorted(_exports())
    if not name.startswith("_") and name in _exports():
        return getattr(importlib.import_module(_exports()[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the exported names too."""
    return sorted([*globals(), *_exports()])


@functools.cache
def _exports() -> dict[str, str]:
    """Return the module of each exported name."""
    from dsgkit.estimators.catalogue import SOLVERS

    places = (info.import_path.split(":") for info in SOLVERS.values())
    return {name: module for module, name in places} | {"load_results": "dsgkit.report.export"}
