"""dsgkit: scalable kernel methods for weakly supervised learning, and the experiments on them.

The estimators are imported when first used, so that ``import dsgkit`` and the command line start
at once.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "QSGS2AUC": "dsgkit.estimators.auc",
    "QSGS2AUCP": "dsgkit.estimators.auc",
    "SAMULT": "dsgkit.estimators.auc",
    "PNUAUC": "dsgkit.estimators.auc",
    "RFFS2AUC": "dsgkit.estimators.auc",
    "NystromS2AUC": "dsgkit.estimators.auc",
    "QS3ORAO": "dsgkit.estimators.ordinal",
    "QS3ORAOP": "dsgkit.estimators.ordinal",
    "ExactS2OR": "dsgkit.estimators.ordinal",
    "RFFS2OR": "dsgkit.estimators.ordinal",
    "SVOREX": "dsgkit.estimators.ordinal",
    "SVORIM": "dsgkit.estimators.ordinal",
    "MSAMULT": "dsgkit.estimators.per_cut",
    "MPNUAUC": "dsgkit.estimators.per_cut",
    "KernelRidgeOrdinal": "dsgkit.estimators.ordinal",
    "AllThresholdLogistic": "dsgkit.estimators.ordinal",
    "ConstantMedian": "dsgkit.estimators.ordinal",
    "TSGSU": "dsgkit.estimators.similar",
    "TSGSUP": "dsgkit.estimators.similar",
    "CUU": "dsgkit.estimators.similar",
    "SUSL": "dsgkit.estimators.similar",
    "RFFSUSL": "dsgkit.estimators.similar",
    "SUDH": "dsgkit.estimators.similar",
    "SupervisedSL": "dsgkit.estimators.labeled",
    "MajorityClass": "dsgkit.estimators.labeled",
    "BSGDLMOC": "dsgkit.clustering.estimators",
    "SGDLMOC": "dsgkit.clustering.estimators",
    "BenHurSVC": "dsgkit.clustering.estimators",
    "FSVC": "dsgkit.clustering.estimators",
    "BLS3VM": "dsgkit.estimators.s3vm",
    "TSGS3VM": "dsgkit.estimators.s3vm",
    "TSGS3VMP": "dsgkit.estimators.s3vm",
    "FRS3VM": "dsgkit.estimators.s3vm",
    "S3VMLight": "dsgkit.estimators.s3vm",
    "BGS3VM": "dsgkit.estimators.s3vm",
    "SupervisedSVM": "dsgkit.estimators.svm",
    "AllLabelsSVM": "dsgkit.estimators.svm",
    "SelfTraining": "dsgkit.estimators.svm",
    "load_results": "dsgkit.report.export",
}

__all__ = [
    "BGS3VM",
    "BLS3VM",
    "BSGDLMOC",
    "CUU",
    "FRS3VM",
    "FSVC",
    "MPNUAUC",
    "MSAMULT",
    "PNUAUC",
    "QS3ORAO",
    "QS3ORAOP",
    "QSGS2AUC",
    "QSGS2AUCP",
    "RFFS2AUC",
    "RFFS2OR",
    "RFFSUSL",
    "SAMULT",
    "SGDLMOC",
    "SUDH",
    "SUSL",
    "SVOREX",
    "SVORIM",
    "TSGS3VM",
    "TSGS3VMP",
    "TSGSU",
    "TSGSUP",
    "AllLabelsSVM",
    "AllThresholdLogistic",
    "BenHurSVC",
    "ConstantMedian",
    "ExactS2OR",
    "KernelRidgeOrdinal",
    "MajorityClass",
    "NystromS2AUC",
    "S3VMLight",
    "SelfTraining",
    "SupervisedSL",
    "SupervisedSVM",
    "load_results",
]


def __getattr__(name: str) -> Any:
    """Import an exported name from its module (PEP 562)."""
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the exported names too."""
    return sorted([*globals(), *_EXPORTS])
