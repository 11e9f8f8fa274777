"""Parameters that several estimators share: type, range and description of each."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import Doc

from dsgkit.kernels import kernel_named
from dsgkit.solvers.parameters import (
    COUNT,
    NOT_NEGATIVE,
    PER_MODEL,
    POSITIVE,
    SEED,
    SHARE,
    LegacyDefault,
    OnePer,
    Range,
    Smoother,
    Text,
)

# Regularisation and weights of the parts of an objective

Lam = Annotated[float, POSITIVE, PER_MODEL, Smoother("larger"), Doc("Weight of the regulariser.")]

Gamma = Annotated[
    float,
    SHARE,
    PER_MODEL,
    Doc("Weight of the supervised risk, that of the labelled pairs; 1 uses no unlabelled row."),
]

GammaPerCut = Annotated[
    float | tuple[float, ...],
    SHARE,
    PER_MODEL,
    OnePer("n_cuts"),
    Doc(
        "Weight of the supervised risk, that of the labelled pairs; 1 uses no unlabelled row. A "
        "tuple has one number per cut, beginning with the cut above the lowest class."
    ),
]

OwnHingeWeight = Annotated[
    float,
    POSITIVE,
    Smoother("smaller"),
    Doc(
        "Weight of the mean hinge loss of the labelled rows. scikit-learn's `SVC` "
        "weighs the sum: its C is ``C / n_l``."
    ),
]
"""Without `PER_MODEL`, as the next two: for SVMs that are trained one at a time."""

OwnCStar = Annotated[
    float | None,
    NOT_NEGATIVE,
    Doc("Weight C* of the mean loss of the unlabelled rows; None is the paper's ``C n_l / n_u``."),
]

OwnCStarRatio = Annotated[
    float | None,
    NOT_NEGATIVE,
    LegacyDefault(None),
    Doc(
        "The same weight as a multiple of C, ``C* / C``, if ``C_star`` is None. 1 weighs the two "
        "means equally; the paper's default is ``n_l / n_u``, which makes many unlabelled rows "
        "count for next to nothing."
    ),
]

HingeWeight = Annotated[
    OwnHingeWeight,
    PER_MODEL,
    Doc(
        "Weight of the mean hinge loss of the labelled rows. Programs such as scikit-learn's `SVC` "
        "and UniverSVM weigh the sum: their C is ``C / n_l``."
    ),
]

CStar = Annotated[OwnCStar, PER_MODEL]

CStarRatio = Annotated[OwnCStarRatio, PER_MODEL]

RampS = Annotated[
    float, Range(-1, 0, open_low=True), PER_MODEL, Doc("Where the ramp ends, s: see ``loss``.")
]

# Kernels


def _check_fourier_kernel(name: str) -> None:
    if not kernel_named(name).shift_invariant:
        raise ValueError("this kernel has no random frequencies")


def _check_kernel_with_features(name: str) -> None:
    if not kernel_named(name).has_random_features:
        raise ValueError("this kernel has no random features; dot_product(1) with sigma = 1 has")


Sigma = Annotated[
    float | Literal["scale"],
    POSITIVE,
    Smoother("smaller"),
    Doc('Parameter of the kernel. "scale" fits it to the rows (`dsgkit.solvers.sigma.scale_of`).'),
]

KernelName = Annotated[
    str,
    Text(_check_kernel_with_features, "the name of a kernel"),
    LegacyDefault("gaussian"),  # the only kernel of older results
    Doc(
        'Kernel with the parameter ``sigma``: "gaussian", "laplacian" or "dot_product(p)", '
        "with a number for p (``dsg list kernels``)."
    ),
]
"""A kernel with random features."""

FourierKernelName = Annotated[
    str,
    Text(_check_fourier_kernel, "the name of a shift-invariant kernel"),
    LegacyDefault("gaussian"),
    Doc('Kernel with the parameter ``sigma``: "gaussian" or "laplacian".'),
]
"""A kernel with random Fourier features."""

GramKernelName = Annotated[
    str,
    Text(kernel_named, "the name of a kernel"),
    LegacyDefault("gaussian"),
    Doc(
        'Kernel with the parameter ``sigma``: "gaussian", "laplacian" or "dot_product(p)", '
        'with a number for p; or "linear", which has no sigma.'
    ),
]
"""A kernel whose exact values are computed."""

GaussianOrLinear = Annotated[
    Literal["gaussian", "linear"],
    LegacyDefault("gaussian"),
    Doc("The kernel ``exp(-sigma ||x - x'||^2)``, or ``<x, x'> + 1``, which has no sigma."),
]

LinearOrKernel = Annotated[
    str,
    Text(kernel_named, "linear or the name of a kernel"),
    Doc('"linear" (with a bias), or a kernel such as "gaussian" or "dot_product(3)".'),
]

# Random features and iterations

FeaturesPerIteration = Annotated[
    int, COUNT, Doc("Random frequencies m per iteration (each is a cosine and a sine).")
]

FeaturesPerBlock = Annotated[
    int,
    COUNT,
    Doc(
        "Random frequencies m per block (each is a cosine and a sine). The time of a step grows "
        "with m^3, its memory with m^2."
    ),
]

FixedFeatures = Annotated[int, COUNT, Doc("Random frequencies; each gives a cosine and a sine.")]

Frequencies = Annotated[
    Literal["independent", "structured"],
    LegacyDefault("independent"),
    Doc(
        "How the frequencies of a block are drawn: independently, or (Gaussian kernel only) with "
        "structure, which takes less time from 256 columns on (`dsgkit.features.structured`)."
    ),
]

NBlocks = Annotated[int, COUNT, Doc("Blocks T.")]

NSweeps = Annotated[int, COUNT, Doc("Sweeps S over all blocks.")]

SweepBatch = Annotated[
    int, COUNT, Doc("Unlabelled rows b per step; all labelled ones are in every batch.")
]

PassIterations = Annotated[
    int | None,
    COUNT,
    Doc("Iterations T; None is one pass over the unlabelled rows, at least 200 and at most 2,000."),
]

ThetaLam = Annotated[
    float,
    POSITIVE,
    PER_MODEL,
    Doc(
        "``theta * lam`` of the step ``theta / (t + t0)``; the theory wants it in (1, 2) or a "
        "positive integer."
    ),
]

T0 = Annotated[
    float | Literal["stable"],
    NOT_NEGATIVE,
    PER_MODEL,
    Doc(
        'Offset of the step; 0 is the paper\'s rule. "stable" is the smallest offset with which no '
        "step is longer than the inverse of the risk's curvature, which is measured on the "
        "labelled and some unlabelled rows. With a small ``lam`` the paper's first steps are so "
        "long that the iterates overflow, or need many iterations to recover."
    ),
]

RandomState = Annotated[int, SEED, Doc("Seed of everything that is drawn at random.")]

# Similar-unlabelled learning

DeltaName = Literal["abs", "relu", "leaky_relu", "none"]

Delta = Annotated[
    DeltaName,
    PER_MODEL,
    Doc(
        "Correction function: the absolute value (the paper's), ``max(0, r)``, a line of slope "
        "``leak`` below 0, or no correction."
    ),
]

Leak = Annotated[
    float,
    Range(-1, 0),
    PER_MODEL,
    Doc("Slope of the leaky ReLU below 0: -1 is the absolute value, 0 is ReLU."),
]

Theta = Annotated[float, POSITIVE, PER_MODEL, Smoother("smaller"), Doc("Factor of the step.")]

Prior = Annotated[
    float | Literal["estimate"],
    Range(0, 1, open_low=True, open_high=True),
    PER_MODEL,
    Doc(
        "The share pi of the class 1 among unlabelled rows, not 1/2; ``estimate`` estimates it "
        "and makes 1 the larger class (`dsgkit.priors.checked_similar_prior`)."
    ),
]

# Ordinal regression

ThresholdRule = Literal["logistic", "absolute", "share", "hinge"]

Thresholds = Annotated[
    ThresholdRule,
    Doc(
        "Rule that places the thresholds between the classes on the function's values "
        '(`dsgkit.estimators.thresholds`). "hinge" is that of the paper on QS3ORAO; it is '
        "the only one that depends on the scale of the function."
    ),
]

# All settings

MaxMemory = Annotated[
    float | None, POSITIVE, Doc("Limit in GiB; None is 80% of the available memory.")
]

Tolerance = Annotated[
    float,
    POSITIVE,
    Doc("Violation of the optimality conditions, in units of f, at which a problem is solved."),
]

UnlabeledLabel = Annotated[
    int | float | str,
    Doc("Label of the unlabelled rows in ``y``, if ``X_unlabeled`` is not passed."),
]
