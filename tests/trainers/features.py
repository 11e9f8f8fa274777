"""Random features, and those in which a direct solution is that of a trainer."""

import numpy as np

from dsgkit.kernels import kernel_named
from dsgkit.trainers.blocks import RandomFeatures

BLOCKS = 4
MANY, SOME = (RandomFeatures("gaussian", 2.0, n, random_state=1) for n in (256, 64))


def features_of(trainer, rows):
    """Return the features of a trainer with SOME of them, or of the kernel that it works with."""
    if trainer.startswith(("features", "fixed")):
        return SOME.blocks().transform(rows, 0).astype(float)
    if trainer == "sweeps":
        parts = [SOME.blocks().transform(rows, t) for t in range(BLOCKS)]
        return np.hstack(parts).astype(float) / np.sqrt(BLOCKS)
    spectrum, vectors = np.linalg.eigh(kernel_named("gaussian").gram(rows, rows, 2.0))
    return vectors * np.sqrt(np.maximum(spectrum, 0))
