"""Parameters that several S3VMs share: type, range and description of each."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import Doc

from dsgkit.solvers.parameters import PER_MODEL, POSITIVE, Range

LossName = Literal["shg", "sshg", "ramp", "da"]
"""Losses of unlabelled rows (`dsgkit.objectives.s3vm`)."""

UnlabeledLoss = Annotated[
    LossName,
    PER_MODEL,
    Doc(
        "Loss u of the unlabelled rows: symmetric hinge ``max(0, "
        "1 - |r|)``, its square ``1/2 max(0, 1 - |r|)^2``, the two ramps ``sum_{z = "
        "r, -r} max(0, 1 - z) - max(0, s - z)``, or ``exp(-5 r^2)``. At r = 0, "
        "where all rows start, the derivative is 0, the mean of the two sides: "
        "``sign(0) = 0``."
    ),
]

StepSize = Annotated[
    float | Literal["decreasing"],
    Range(0, 1, open_low=True),
    PER_MODEL,
    Doc(
        "The decreasing step ``1 / (t + C / first_move)``, or a constant one: "
        "``1/eta`` of the paper, which tries 1, 0.1, 0.01 and 0.001. With 1 the "
        "model is its last block alone. The best constant depends on C and on the "
        "iterations; the decreasing step needs no search."
    ),
]

FirstMove = Annotated[
    float,
    POSITIVE,
    PER_MODEL,
    Doc("Length of the first decreasing step, in margins; useful values are 3 to 30."),
]

Anneal = Annotated[
    bool,
    PER_MODEL,
    Doc("Whether C* grows from 0 to full in the first half of the iterations, as ``(2 t / T)^3``."),
]

Balance = Annotated[
    bool,
    PER_MODEL,
    Doc(
        "Whether to hold the mean value at the unlabelled rows at the mean of the "
        "labels. All losses are then taken at ``f + b``, with an intercept b that "
        "achieves this in every batch. The fitted model has the intercept that does "
        "so over all unlabelled rows, or 32,768 of them."
    ),
]
