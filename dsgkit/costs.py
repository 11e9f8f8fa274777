"""What a fit takes, as predicted before it starts."""

from __future__ import annotations

from dataclasses import dataclass

FUNCTION_FLOPS = 20.0
"""What an exponential, or a cosine and sine together, count as."""

ENTRY_FLOPS = 300.0
"""What a kernel value and its place in memory count as, beside what its inputs take."""


@dataclass(frozen=True)
class Cost:
    """About what a fit takes; a solver that does not say counts as small.

    All count in operations of a float32 matrix product, which takes ``2 n k m``: the count over its
    speed is a time. A double-precision operation counts twice; an exponential, or a sine with its
    cosine, counts as `FUNCTION_FLOPS` operations of its precision.

    Attributes
    ----------
    flops : float
        Operations of training.
    memory : int
        Bytes that training allocates at once.
    flops_per_row : float
        Operations of evaluating the fitted function at one row.
    """

    flops: float = 1.0
    memory: int = 0
    flops_per_row: float = 0.0
